#include "op/vision/suppression.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace relay::op {
namespace {

constexpr DType kIndex = kInt32;  // of boxes, in tables: half the memory of int64

kernel::Expr last_of(kernel::Indices i) { return i.back(); }
kernel::Indices row_of(kernel::Indices i) { return i.first(i.size() - 1); }

// Is score a before score b? The one of box i, before that of box j.
kernel::Expr is_before(kernel::Expr a, kernel::Expr b, kernel::Expr i, kernel::Expr j) {
  const kernel::Expr a_is_nan = math(kernel::Math::kIsNan, a), b_is_nan = math(kernel::Math::kIsNan, b);
  const kernel::Expr same = logical_or(equal(a, b), logical_and(a_is_nan, b_is_nan));
  const kernel::Expr better = logical_or(less(b, a), logical_and(b_is_nan, logical_not(a_is_nan)));
  return logical_or(better, logical_and(same, less(i, j)));
}

// Box i goes to place `place(i)` of its row, where it is chosen. The places of all others
// stay as they are.
kernel::Tensor at_places(kernel::Builder& k, std::string_view name, const Candidates& c,
                         const std::function<kernel::Expr(kernel::Indices row, kernel::Expr box)>& place) {
  const std::vector<kernel::Expr> shape = with(c.rows, c.count);
  const auto where = [&](kernel::Indices r) {
    return with(row_of(r), safe(place(row_of(r), last_of(r)), c.count));
  };
  return k.update(
      name, kIndex, shape, [&](kernel::Indices) { return k.pool().integer(-1, kIndex); }, shape, where,
      [&](kernel::Tensor self, kernel::Indices r) {
        return select(c.is_candidate(row_of(r), last_of(r)), cast(kIndex, last_of(r)), self.at(where(r)));
      });
}

}  // namespace

std::vector<int64_t> ranked(int64_t count, const std::function<bool(int64_t)>& is_candidate,
                            const std::function<double(int64_t)>& score) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) {
    if (is_candidate(i)) out.push_back(i);
  }
  std::stable_sort(out.begin(), out.end(), [&](int64_t i, int64_t j) {
    const double a = score(i), b = score(j);
    return a > b || (std::isnan(b) && !std::isnan(a));
  });
  return out;
}

std::vector<int64_t> survivors(const std::vector<int64_t>& candidates,
                               const std::function<bool(int64_t better, int64_t worse)>& suppresses) {
  std::vector<int64_t> out;
  for (const int64_t worse : candidates) {
    const auto suppressed = [&](int64_t better) { return suppresses(better, worse); };
    if (std::none_of(out.begin(), out.end(), suppressed)) out.push_back(worse);
  }
  return out;
}

std::vector<kernel::Expr> with(kernel::Indices row, kernel::Expr last) {
  std::vector<kernel::Expr> out(row.begin(), row.end());
  out.push_back(last);
  return out;
}

kernel::Expr safe(kernel::Expr index, kernel::Expr count) {
  return between(index, whole(count, 0), max(count - 1, whole(count, 0)));
}

kernel::Tensor order_of(kernel::Builder& k, const Candidates& c) {
  const kernel::Tensor rank = k.reduce("rank", kIndex, with(c.rows, c.count), {c.count}, k.sum(kIndex),
                                       [&](kernel::Indices i, kernel::Indices r) {
                                         const kernel::Indices row = row_of(i);
                                         const kernel::Expr before = is_before(
                                             c.score(row, r[0]), c.score(row, last_of(i)), r[0], last_of(i));
                                         return cast(kIndex, logical_and(c.is_candidate(row, r[0]), before));
                                       });
  return at_places(k, "order", c, [&](kernel::Indices row, kernel::Expr box) {
    return cast(kInt64, rank.at(with(row, box)));
  });
}

kernel::Tensor gathered(kernel::Builder& k, const Candidates& c) {
  const kernel::Tensor chosen = k.compute("chosen", kBool, with(c.rows, c.count), [&](kernel::Indices i) {
    return c.is_candidate(row_of(i), last_of(i));
  });
  const kernel::Tensor place = counted_before(k, chosen);
  return at_places(k, "order", c, [&](kernel::Indices row, kernel::Expr box) {
    return cast(kInt64, place.at(with(row, box)));
  });
}

kernel::Tensor survivors_of(kernel::Builder& k, const Candidates& c, const kernel::Tensor& order,
                            const std::function<kernel::Expr(kernel::Indices row, kernel::Expr better,
                                                             kernel::Expr worse)>& suppresses) {
  const auto box_at = [&](kernel::Indices row, kernel::Expr place) {
    return cast(kInt64, order.at(with(row, place)));
  };
  const kernel::Expr zero = k.index(0);
  return k.update(
      "survives", kBool, with(c.rows, c.count),
      [&](kernel::Indices i) { return less_equal(zero, box_at(row_of(i), last_of(i))); },
      with(with(c.rows, c.count), c.count),
      [&](kernel::Indices r) {
        const kernel::Indices place = r.first(r.size() - 1);
        return std::vector<kernel::Expr>(place.begin(), place.end());
      },
      [&](kernel::Tensor self, kernel::Indices r) {
        const kernel::Indices place = r.first(r.size() - 1), row = row_of(place);
        const kernel::Expr worse = last_of(place), better = last_of(r);
        // Places before this one are settled: their turns are over.
        const kernel::Expr both_left =
            logical_and(less(better, worse), logical_and(self.at(place), self.at(with(row, better))));
        const kernel::Expr suppressed =
            suppresses(row, safe(box_at(row, better), c.count), safe(box_at(row, worse), c.count));
        return select(both_left, logical_not(suppressed), self.at(place));
      });
}

kernel::Tensor counted_before(kernel::Builder& k, const kernel::Tensor& holds) {
  const std::vector<kernel::Expr> shape = holds.shape();
  const kernel::Expr zero = k.index(0), none = k.constant(kIndex, 0);
  return k.update(
      "before", kIndex, shape, [&](kernel::Indices) { return none; }, shape,
      [](kernel::Indices r) { return std::vector<kernel::Expr>(r.begin(), r.end()); },
      [&](kernel::Tensor self, kernel::Indices r) {
        const std::vector<kernel::Expr> last = with(row_of(r), max(last_of(r) - 1, zero));
        return select(less(zero, last_of(r)), self.at(last) + cast(kIndex, holds.at(last)), none);
      });
}

kernel::Tensor counted(kernel::Builder& k, const kernel::Tensor& holds) {
  std::vector<kernel::Expr> rows = holds.shape();
  const kernel::Expr count = rows.back();
  rows.pop_back();
  return k.reduce("counted", kIndex, rows, {count}, k.sum(kIndex), [&](kernel::Indices i, kernel::Indices r) {
    return cast(kIndex, holds.at(with(i, r[0])));
  });
}

}  // namespace relay::op
