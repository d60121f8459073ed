// sort, argsort, topk: the elements along an axis in order. op/sort/order.h says which one.
#include "base/cat.h"
#include "op/domain.h"
#include "op/ops.h"
#include "op/sort/order.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

// --- sort ----------------------------------------------------------------------------------------

struct OrderAttrs {
  int64_t axis = -1;
  bool is_ascend = true;
  static constexpr auto kFields =
      fields(field("axis", &OrderAttrs::axis, "from the end if negative"),
             field("is_ascend", &OrderAttrs::is_ascend, "the smallest one first, else the largest one"));
};

struct SortAttrs : OrderAttrs {
  MaybeDType dtype = {};
  static constexpr auto kFields = std::tuple_cat(
      OrderAttrs::kFields,
      fields(field("dtype", &SortAttrs::dtype, "accepted, but it changes nothing: indices have one")));
};

// sort(x)[a.., i, c..] = the element of x[a.., :, c..] that comes i-th
//
// Equal elements keep their order. NaN comes last, ascending or not: PyTorch counts it as the
// largest number instead. A line of n elements takes n log2 n comparisons, one after the other.
//
//   (Tensor[s, d]) -> Tensor[s, d]
//   C1: d is numeric.   C2: axis is in [-rank, rank).
Type relate_sort(Relation& r, const SortAttrs& a) {
  require(r, 0, Domain::kNumber);      // C1
  r.axis(a.axis, r.tensor(0).rank());  // C2
  return &r.tensor(0);
}

void evaluate_sort(const SortAttrs& a, Args in, Results out) {
  for_each_order(in[0], from_front(a.axis, in[0].rank()), a.is_ascend,
                 [&](const Line& line, const Line& order) {
                   for (size_t i = 0; i < line.size(); ++i)
                     copy_element(in[0], line[static_cast<size_t>(order[i])], out[0], line[i]);
                 });
}

// x with the index along the axis replaced by where the element stands that comes there in order.
kernel::Expr element_in_order(const kernel::Tensor& x, const Order& order, kernel::Indices i) {
  std::vector<kernel::Expr> from = copy_of(i);
  from[order.axis] = order.at(i);
  return x.at(from);
}

std::vector<kernel::Tensor> lower_sort(kernel::Builder& k, const SortAttrs& a, const Lowering& c) {
  const Order order = order_along(k, c.in[0], from_front(a.axis, c.in[0].rank()), a.is_ascend);
  return {k.compute("sort", c.dtype(), c.shape(),
                    [&](kernel::Indices i) { return element_in_order(c.in[0], order, i); })};
}

// The gradient of what was chosen along the axis by its places: dy goes where they say.
Expr put_back(Builder& b, Expr x, Expr places, Expr dy, int64_t axis) {
  return call(b, kScatterElements, {call(b, kZerosLike, {x}), places, dy}, {{"axis", axis}});
}

std::vector<Expr> differentiate_sort(Builder& b, const SortAttrs& a, const Site& c) {
  const Expr places =
      call(b, kArgsort, {c.args[0]}, {{"axis", a.axis}, {"is_ascend", a.is_ascend}, {"dtype", kInt64}});
  return {put_back(b, c.args[0], places, c.dy, a.axis)};
}

// --- argsort -------------------------------------------------------------------------------------

struct ArgsortAttrs : OrderAttrs {
  MaybeDType dtype = {};
  static constexpr auto kFields = std::tuple_cat(
      OrderAttrs::kFields, fields(field("dtype", &ArgsortAttrs::dtype, "of the result; None: int32")));
};

// argsort(x)[a.., i, c..] = where in x[a.., :, c..] the element stands that comes i-th
//
// The order is that of sort.
//
//   (Tensor[s, d]) -> Tensor[s, dtype]
//   C1: d is numeric.   C2: axis is in [-rank, rank).   C3: dtype is numeric.
Type relate_argsort(Relation& r, const ArgsortAttrs& a) {
  require(r, 0, Domain::kNumber);  // C1
  const TensorType& x = r.tensor(0);
  r.axis(a.axis, x.rank());  // C2
  const DType dtype = a.dtype.value_or(kInt32);
  r.require(holds(Domain::kNumber, dtype), kAttributes,
            cat("dtype must be numeric, not ", dtype.name()));  // C3
  return r.tensor_of(dims_of(x), dtype);
}

void set_place(Tensor& to, int64_t i, int64_t place) {
  if (to.dtype().is_float()) {
    to.set(i, static_cast<double>(place));
  } else {
    to.set_int(i, place);
  }
}

void evaluate_argsort(const ArgsortAttrs& a, Args in, Results out) {
  for_each_order(in[0], from_front(a.axis, in[0].rank()), a.is_ascend,
                 [&](const Line& line, const Line& order) {
                   for (size_t i = 0; i < line.size(); ++i) set_place(out[0], line[i], order[i]);
                 });
}

std::vector<kernel::Tensor> lower_argsort(kernel::Builder& k, const ArgsortAttrs& a, const Lowering& c) {
  const Order order = order_along(k, c.in[0], from_front(a.axis, c.in[0].rank()), a.is_ascend);
  return {k.compute("argsort", c.dtype(), c.shape(),
                    [&](kernel::Indices i) { return cast(c.dtype(), order.at(i)); })};
}

// --- topk ----------------------------------------------------------------------------------------

struct TopkAttrs {
  int64_t k = 1;
  int64_t axis = -1;
  std::string ret_type = "both";
  bool is_ascend = false;
  MaybeDType dtype = {};
  static constexpr auto kFields =
      fields(field("k", &TopkAttrs::k, "how many; less than 1: all"),
             field("axis", &TopkAttrs::axis, "from the end if negative"),
             field("ret_type", &TopkAttrs::ret_type, "\"both\", \"values\" or \"indices\""),
             field("is_ascend", &TopkAttrs::is_ascend, "the smallest ones, else the largest ones"),
             field("dtype", &TopkAttrs::dtype, "of the indices; None: int32"));
};

// topk(x).0[a.., i, c..] = sort(x)[a.., i, c..], for i < k
// topk(x).1[a.., i, c..] = argsort(x)[a.., i, c..], for i < k
//
// The whole line is put in order, as sort does it. NaN comes last, so it is taken only where there
// are fewer than k numbers.
//
//   (Tensor[s, d]) -> (Tensor[s with k at the axis, d], Tensor[s with k at the axis, dtype])
//   C1: d is numeric.   C2: axis is in [-rank, rank).   C3: k is at most the extent of the axis.
//   C4: ret_type is "both", "values" or "indices".   C5: dtype is numeric.
Type relate_topk(Relation& r, const TopkAttrs& a) {
  require(r, 0, Domain::kNumber);  // C1
  const TensorType& x = r.tensor(0);
  const size_t axis = r.axis(a.axis, x.rank());  // C2
  r.require(a.ret_type == "both" || a.ret_type == "values" || a.ret_type == "indices", kAttributes,
            cat("ret_type must be \"both\", \"values\" or \"indices\", not \"", a.ret_type, "\""));  // C4
  const DType dtype = a.dtype.value_or(kInt32);
  r.require(holds(Domain::kNumber, dtype), kAttributes,
            cat("dtype must be numeric, not ", dtype.name()));  // C5
  std::vector<Dim> out = dims_of(x);
  if (a.k >= 1) {
    const Dim extent = out[axis];
    if (extent.is_const()) {
      r.require(a.k <= extent.value(), kAttributes,
                cat("k is ", a.k, ", and the axis has ", extent.value(), " elements"));  // C3
    } else {
      r.same(min(extent, Dim(a.k)), Dim(a.k), 0, "elements that are taken");  // C3
    }
    out[axis] = Dim(a.k);
  }
  const Type values = r.tensor_of(out, x.dtype), indices = r.tensor_of(out, dtype);
  if (a.ret_type == "both") return r.tuple_of({values, indices});
  return a.ret_type == "values" ? values : indices;
}

void evaluate_topk(const TopkAttrs& a, Args in, Results out) {
  const size_t axis = from_front(a.axis, in[0].rank());
  const auto most = static_cast<size_t>(out[0].shape()[axis]);
  Tensor* values = a.ret_type == "indices" ? nullptr : &out[0];
  Tensor* indices = a.ret_type == "values" ? nullptr : &out[out.size() - 1];
  // Of the results, whose lines are shorter, the element i of line number n.
  int64_t inner = 1;
  for (size_t d = axis + 1; d < in[0].rank(); ++d) inner *= in[0].shape()[d];
  int64_t n = 0;
  for_each_order(in[0], axis, a.is_ascend, [&](const Line& line, const Line& order) {
    for (size_t i = 0; i < most; ++i) {
      const int64_t to =
          (n / inner * static_cast<int64_t>(most) + static_cast<int64_t>(i)) * inner + n % inner;
      if (values) copy_element(in[0], line[static_cast<size_t>(order[i])], *values, to);
      if (indices) set_place(*indices, to, order[i]);
    }
    ++n;
  });
}

std::vector<kernel::Tensor> lower_topk(kernel::Builder& k, const TopkAttrs& a, const Lowering& c) {
  const Order order = order_along(k, c.in[0], from_front(a.axis, c.in[0].rank()), a.is_ascend);
  std::vector<kernel::Tensor> out;
  if (a.ret_type != "indices") {
    out.push_back(k.compute("values", c.dtype(0), c.shape(0),
                            [&](kernel::Indices i) { return element_in_order(c.in[0], order, i); }));
  }
  if (a.ret_type != "values") {
    const size_t result = out.size();
    out.push_back(k.compute("indices", c.dtype(result), c.shape(result),
                            [&](kernel::Indices i) { return cast(c.dtype(result), order.at(i)); }));
  }
  return out;
}

std::vector<Expr> differentiate_topk(Builder& b, const TopkAttrs& a, const Site& c) {
  if (a.ret_type == "indices") return {nullptr};
  const Expr places = call(b, kTopk, {c.args[0]},
                           {{"k", a.k},
                            {"axis", a.axis},
                            {"ret_type", std::string("indices")},
                            {"is_ascend", a.is_ascend},
                            {"dtype", kInt64}});
  const Expr dy = a.ret_type == "both" ? b.proj(c.dy, 0) : c.dy;
  return {put_back(b, c.args[0], places, dy, a.axis)};
}

}  // namespace

const OpDef kSort = define<SortAttrs>({
    .name = "sort",
    .doc = "The elements along an axis in order.",
    .params = {{"data", "the input"}},
    .relate = relate_sort,
    .evaluate = evaluate_sort,
    .differentiate = differentiate_sort,
    .lower = lower_sort,
});

const OpDef kArgsort = define<ArgsortAttrs>({
    .name = "argsort",
    .doc = "The places of the elements along an axis, in the elements' order.",
    .params = {{"data", "the input"}},
    .not_differentiable = "the result holds positions",
    .relate = relate_argsort,
    .evaluate = evaluate_argsort,
    .lower = lower_argsort,
});

const OpDef kTopk = define<TopkAttrs>({
    .name = "topk",
    .doc = "The largest or smallest elements along an axis, and where they stand.",
    .params = {{"data", "the input"}},
    .relate = relate_topk,
    .evaluate = evaluate_topk,
    .differentiate = differentiate_topk,
    .lower = lower_topk,
});

}  // namespace relay::op
