// sparse_fill_empty_rows(j, v, s, default) = (j', v', empty): each row without an element gets one,
//     default at the index (row, 0, .., 0)
//
//   (Tensor[(n, m), i], Tensor[(n), d], Tensor[(m), e], Tensor[(), d]) -> (Tensor[(?, m), i],
//       Tensor[(?), d], Tensor[(?), int64])
//   C1: j and s are integers.   C2: j has rank 2, v and s have rank 1, the default has rank 0.
//   C3: there are as many elements as index vectors.   C4: s has m elements.
//   C5: m is known, and not 0.   C6: the default has the dtype of v.
//
// j has the index vector of each element of a sparse tensor, v its value, and s is the tensor's
// shape. A row is what the first index says; there are s[0]. The result's elements are in the order
// of their rows, as those of j have to be: else the program traps, as for a row that is not there,
// or less than no rows. empty[r] is 1 if row r had no element, else 0.
#include "base/failure.h"
#include "base/reasons.h"
#include "op/domain.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

constexpr auto kOutOfOrder = "the elements are not in the order of their rows";
constexpr auto kNegative = "the number of rows is negative";
constexpr int64_t kMost = int64_t{1} << 40;  // rows that no memory holds

Type relate(Relation& r, const NoAttrs&) {
  for (const int arg : {0, 2}) require(r, arg, Domain::kInteger);  // C1
  r.require_rank(0, 2);                                            // C2
  r.require_rank(1, 1);                                            // C2
  r.require_rank(2, 1);                                            // C2
  r.require_rank(3, 0);                                            // C2
  const TensorType &j = r.tensor(0), &v = r.tensor(1);
  r.same(v.dims[0], j.dims[0], 1, "number of elements", 0);                         // C3
  const Dim axes = r.same(r.tensor(2).dims[0], j.dims[1], 2, "number of axes", 0);  // C4
  r.require(axes.is_const() && axes.value() > 0, 0,
            "expected index vectors of which it is known how long they are, and not 0");  // C5
  r.require_same_dtype(3, 1);                                                             // C6
  const Dim many = Dim::unknown();
  return r.tuple_of(
      {r.tensor_of({many, axes}, j.dtype), r.tensor_of({many}, v.dtype), r.tensor_of({many}, kInt64)});
}

void evaluate(const NoAttrs&, Args in, Results out) {
  const Tensor &j = in[0], &v = in[1];
  const int64_t n = v.size(), axes = j.shape()[1], rows = index_of(in[2], 0);
  if (rows < 0) throw Trap(kNegative);
  if (rows > kMost) throw Exhausted(kTooManyRows);
  const auto row = [&](int64_t e) { return index_of(j, e * axes); };
  int64_t full = 0;
  for (int64_t e = 0; e < n; ++e) {
    if (row(e) < 0 || row(e) >= rows) throw Trap(kIndexOutOfRange);
    if (e > 0 && row(e) < row(e - 1)) throw Trap(kOutOfOrder);
    full += e == 0 || row(e) != row(e - 1);
  }
  const int64_t count = n + rows - full;
  out[0] = Tensor(j.dtype(), {count, axes});
  out[1] = Tensor(v.dtype(), {count});
  out[2] = Tensor(kInt64, {rows});
  int64_t e = 0, to = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const bool empty = e == n || row(e) != r;
    out[2].set_int(r, empty);
    if (empty) {
      for (int64_t d = 0; d < axes; ++d) out[0].set_int(to * axes + d, d == 0 ? r : 0);
      copy_element(in[3], 0, out[1], to++);
    }
    for (; e < n && row(e) == r; ++e, ++to) {
      for (int64_t d = 0; d < axes; ++d) copy_element(j, e * axes + d, out[0], to * axes + d);
      copy_element(v, e, out[1], to);
    }
  }
}

// What both kernels ask of the elements.
struct Elements {
  kernel::Builder& k;
  kernel::Tensor indices;

  kernel::Expr count() const { return indices.dim(0); }
  kernel::Expr row(kernel::Expr e) const {
    const std::vector<kernel::Expr> at{e, k.index(0)};
    return index_at(indices, at);
  }
  // The row before, or -1: all rows are larger.
  kernel::Expr row_before(kernel::Expr e) const {
    return select(equal(e, k.index(0)), k.index(-1), row(max(e - 1, k.index(0))));
  }
  // 1 if the element is the first one of its row, else 0.
  kernel::Expr begins(kernel::Expr e) const {
    return select(equal(row(e), row_before(e)), k.index(0), k.index(1));
  }
};

kernel::Tensor extents(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  const Elements elements{k, c.in[0]};
  const std::vector<kernel::Expr> first{k.index(0)};
  const kernel::Expr rows = index_at(c.in[2], first);
  const kernel::Tensor full = k.reduce(
      "full", kInt64, {}, {elements.count()}, k.sum(kInt64), [&](kernel::Indices, kernel::Indices e) {
        const kernel::Expr row = elements.row(e[0]);
        k.require(less_equal(k.index(0), rows), kNegative);
        k.require(logical_and(less_equal(k.index(0), row), less(row, rows)), kIndexOutOfRange);
        k.require(less_equal(elements.row_before(e[0]), row), kOutOfOrder);
        return elements.begins(e[0]);
      });
  return k.compute("extents", kInt64, {k.index(3)}, [&](kernel::Indices i) {
    k.require(less_equal(k.index(0), rows), kNegative);
    return select(equal(i[0], k.index(2)), rows, elements.count() + rows - full());
  });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  const Elements elements{k, c.in[0]};
  const kernel::Expr n = elements.count(), zero = k.index(0), one = k.index(1), none = k.index(-1);
  const kernel::Expr count = c.shape(1)[0], rows = c.shape(2)[0];
  const auto same_place = [](kernel::Indices i) { return copy_of(i); };
  const auto before = [&](kernel::Tensor self, kernel::Expr i, kernel::Expr first) {
    return select(equal(i, zero), first, self(max(i - 1, zero)));
  };
  const auto zeros = [&](kernel::Indices) { return zero; };
  // How many rows with elements there are up to that of an element.
  const kernel::Tensor full =
      k.update("full", kInt64, {n}, zeros, {n}, same_place, [&](kernel::Tensor self, kernel::Indices e) {
        return before(self, e[0], zero) + elements.begins(e[0]);
      });
  const auto checked = [&](kernel::Expr i, kernel::Expr end) {
    k.require(logical_and(less_equal(zero, i), less(i, end)), kIndexOutOfRange);
    return i;
  };
  // The element that comes to a place of the result; -1: a default.
  const kernel::Tensor from = k.update(
      "from", kInt64, {count}, [&](kernel::Indices) { return none; }, {n},
      [&](kernel::Indices e) {
        const kernel::Expr empty_before = elements.row(e[0]) - full.at(e) + 1;
        return std::vector<kernel::Expr>{checked(e[0] + empty_before, count)};
      },
      [&](kernel::Tensor, kernel::Indices e) { return e[0]; });
  const auto is_default = [&](kernel::Expr i) { return less(from(i), zero); };
  const kernel::Tensor row = k.update(
      "row", kInt64, {count}, zeros, {count}, same_place, [&](kernel::Tensor self, kernel::Indices i) {
        const kernel::Expr begins = select(is_default(i[0]), one, elements.begins(max(from.at(i), zero)));
        return before(self, i[0], none) + begins;
      });
  const kernel::Tensor indices = k.compute("indices", c.dtype(0), c.shape(0), [&](kernel::Indices i) {
    const std::vector<kernel::Expr> at{max(from(i[0]), zero), i[1]};
    return select(is_default(i[0]), cast(c.dtype(0), select(equal(i[1], zero), row(i[0]), zero)),
                  c.in[0].at(at));
  });
  const kernel::Tensor values = k.compute("values", c.dtype(1), c.shape(1), [&](kernel::Indices i) {
    return select(is_default(i[0]), c.in[3](), c.in[1](max(from.at(i), zero)));
  });
  const kernel::Tensor empty = k.update(
      "empty", kInt64, {rows}, [&](kernel::Indices) { return one; }, {n},
      [&](kernel::Indices e) { return std::vector<kernel::Expr>{checked(elements.row(e[0]), rows)}; },
      [&](kernel::Tensor, kernel::Indices) { return zero; });
  return {indices, values, empty};
}

}  // namespace

const OpDef kSparseFillEmptyRows = define<NoAttrs>({
    .name = "sparse_fill_empty_rows",
    .doc = "A sparse tensor with an element in each row.",
    .params = {{"sparse_indices", "the index vector of each element, in the order of rows"},
               {"sparse_values", "the elements"},
               {"dense_shape", "the shape of the sparse tensor"},
               {"default_value", "the element of rows that have none"}},
    .effects = Effects::kTraps,
    .not_differentiable = "how many elements it gives depends on integers; differentiate sparse_to_dense",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
    .extents = extents,
});

}  // namespace relay::op
