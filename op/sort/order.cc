#include "op/sort/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "op/reduce/reduction.h"

namespace relay::op {

using kernel::Expr;

bool comes_before(const Tensor& x, int64_t i, const Tensor& y, int64_t j, bool ascending) {
  if (x.dtype().is_float()) {
    const double p = x.get(i), q = y.get(j);
    if (std::isnan(p) || std::isnan(q)) return !std::isnan(p);
    return ascending ? p < q : q < p;
  }
  const int64_t p = x.get_int(i), q = y.get_int(j);
  if (x.dtype().is_signed_int()) return ascending ? p < q : q < p;
  const auto u = static_cast<uint64_t>(p), v = static_cast<uint64_t>(q);
  return ascending ? u < v : v < u;
}

Expr comes_before(Expr x, Expr y, bool ascending) {
  const Expr before = ascending ? less(x, y) : less(y, x);
  if (!x->dtype.is_float()) return before;
  const auto is_nan = [](Expr e) { return math(kernel::Math::kIsNan, e); };
  return logical_or(before, logical_and(is_nan(y), logical_not(is_nan(x))));
}

void for_each_order(const Tensor& x, size_t axis, bool ascending,
                    const std::function<void(const Line& line, const Line& order)>& f) {
  std::vector<bool> along(x.rank());
  along[axis] = true;
  const Groups g = groups(x.shape(), along);
  Line line(g.step.size()), order(g.step.size());
  for (const int64_t start : g.start) {
    for (size_t i = 0; i < line.size(); ++i) line[i] = start + g.step[i];
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) {
      return comes_before(x, line[static_cast<size_t>(p)], x, line[static_cast<size_t>(q)], ascending);
    });
    f(line, order);
  }
}

Expr digits_of(kernel::Builder& k, Expr number) {
  constexpr int64_t kMost = 40;
  const Expr zero = k.index(0), one = k.index(1), counted = max(number, zero);
  Expr digits = zero;
  for (int64_t d = 0; d < kMost; ++d) digits = digits + min(floor_div(counted, int64_t{1} << d), one);
  return digits;
}

Expr Order::at(kernel::Indices i) const {
  std::vector<Expr> at(i.begin(), i.end());
  at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
  at.push_back(slot);
  at.push_back(i[axis]);
  return places.at(at);
}

// Each line has three slots. One holds, for each element of the merged runs, where it stood before
// the merge; from the last one it follows how much of both runs is merged. The other two hold the
// places in order, before and after the merge in turns.
Order order_along(kernel::Builder& k, const kernel::Tensor& x, size_t axis, bool ascending) {
  const Expr n = x.dim(axis), zero = k.index(0), one = k.index(1), last = max(n - 1, zero);
  const Expr merges = digits_of(k, n - 1);
  std::vector<Expr> shape = x.shape();
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const size_t lines = shape.size();
  std::vector<Expr> steps = shape;
  for (const Expr extent : {k.index(3), n}) shape.push_back(extent);
  for (const Expr extent : {merges, k.index(2), n}) steps.push_back(extent);

  const auto place = [&](kernel::Indices r, Expr slot, Expr i) {
    std::vector<Expr> at(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(lines));
    at.push_back(slot);
    at.push_back(i);
    return at;
  };
  // Of the slots for places: in which a merge finds them, and where it leaves them.
  const auto found = [&](Expr merge) { return one + floor_mod(merge, 2); };
  const auto left = [&](Expr merge) { return k.index(2) - floor_mod(merge, 2); };
  const auto where = [&](kernel::Indices r) {
    const Expr merge = r[lines], second = r[lines + 1], i = r[lines + 2];
    return place(r, select(equal(second, zero), zero, left(merge)), i);
  };
  const auto value = [&](kernel::Tensor self, kernel::Indices r) {
    const Expr merge = r[lines], second = r[lines + 1], i = r[lines + 2], next = merge + 1;
    const Expr width = shift_left(one, merge), begin = shift_left(shift_right(i, next), next);
    const Expr middle = min(begin + width, n), end = min(middle + width, n);
    // What is not merged yet begins at p in the first run, and at q in the second one.
    const Expr before = self.at(place(r, zero, max(i - 1, zero)));
    const Expr p =
        select(equal(i, begin), begin, select(less(before, middle), before + 1, i - before - 1 + middle));
    const Expr q = middle + i - p;
    const auto element = [&](Expr of_run) {
      std::vector<Expr> at(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(lines));
      at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis),
                self.at(place(r, found(merge), min(of_run, last))));
      return x.at(at);
    };
    const Expr from_second = logical_or(
        less_equal(middle, p), logical_and(less(q, end), comes_before(element(q), element(p), ascending)));
    const Expr moved = self.at(place(r, found(merge), self.at(place(r, zero, i))));
    return select(equal(second, zero), select(from_second, q, p), moved);
  };
  const kernel::Tensor places =
      k.update("order", kInt64, shape, [&](kernel::Indices i) { return i[lines + 1]; }, steps, where, value);
  return {places, axis, found(merges)};
}

}  // namespace relay::op
