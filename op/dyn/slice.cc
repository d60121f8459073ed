// dyn.strided_slice(x, begin, end, strides)[i] = x[begin + i * strides], along some axes
//
//   (Tensor[s, d], Tensor[(n), e], Tensor[(n), e], Tensor[(n), e]) -> Tensor[(?, ..), d]
//   C1: begin, end and strides are vectors of integers of one known length, at most the rank.
//   C2: axes are in [-rank, rank) and distinct, as many as there are bounds.
//   C3: slice_mode is "end" or "size".
//   C4: the attributes begin, end and strides are empty.
//
// Bounds mean what they mean to strided_slice. A run traps if a stride is 0.
#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "op/dyn/shapes.h"
#include "op/ops.h"
#include "op/tensor/slice.h"

namespace relay::op {
namespace {

struct DynSliceAttrs {
  std::optional<std::vector<Dim>> begin = {}, end = {}, strides = {};
  std::string slice_mode = "end";
  std::optional<std::vector<int64_t>> axes = {};
  static constexpr auto kFields = fields(
      field("begin", &DynSliceAttrs::begin, "must be empty: the argument of that name stands for it"),
      field("end", &DynSliceAttrs::end, "likewise"), field("strides", &DynSliceAttrs::strides, "likewise"),
      field("slice_mode", &DynSliceAttrs::slice_mode,
            "\"end\", or \"size\": end is the number of elements, -1: all that follow, and strides are 1"),
      field("axes", &DynSliceAttrs::axes,
            "the axes that are sliced, from the end if negative; None: the first ones"));
};

constexpr std::string_view kNoStride = "a stride is 0";
constexpr int64_t kFar = INT32_MAX;              // a bound from here on is the end of any axis
constexpr int64_t kFarthest = int64_t{1} << 62;  // beyond it sums could overflow, and nothing would change

Type relate(Relation& r, const DynSliceAttrs& a) {
  const TensorType& x = r.tensor(0);
  const size_t n = known_length(r, 1, "bounds");  // C1
  for (int i : {2, 3})
    r.require(known_length(r, i, "bounds") == n, i, cat("expected ", n, " of them, as of begin"));  // C1
  r.require(n <= x.rank(), 1, cat("expected at most ", x.rank(), " bounds, found ", n));            // C1
  if (a.axes) {
    r.require(a.axes->size() == n, kAttributes, cat("expected ", n, " axes, as there are bounds"));  // C2
    distinct_axes(r, *a.axes, x.rank());                                                             // C2
  }
  r.require(a.slice_mode == "end" || a.slice_mode == "size", kAttributes,
            cat("slice_mode must be \"end\" or \"size\", not \"", a.slice_mode, "\""));  // C3
  require_empty(r, a.begin, "begin");                                                    // C4
  require_empty(r, a.end, "end");                                                        // C4
  require_empty(r, a.strides, "strides");                                                // C4
  return sized_by_data(r, x.rank(), x.dtype);
}

size_t axis_of(const DynSliceAttrs& a, size_t bound, size_t rank) {
  return a.axes ? from_front((*a.axes)[bound], rank) : bound;
}

void evaluate(const DynSliceAttrs& a, Args in, Results out) {
  const auto near = [](const Tensor& t) {
    std::vector<int64_t> numbers = elements_of(t);
    for (int64_t& n : numbers) n = std::clamp(n, -kFarthest, kFarthest);
    return numbers;
  };
  StridedSliceAttrs known;
  for (int64_t n : near(in[1])) known.begin.emplace_back(n);
  for (int64_t n : near(in[2])) known.end.emplace_back(n);
  known.strides = near(in[3]);
  known.slice_mode = a.slice_mode;
  known.axes = a.axes;
  Shape shape = in[0].shape();
  const std::vector<Dim> dims(shape.begin(), shape.end());
  std::vector<int64_t> begin(shape.size(), 0), stride(shape.size(), 1), from(shape.size());
  for (int64_t s : *known.strides) {
    if (s == 0 && a.slice_mode == "end") throw Trap(std::string(kNoStride));
  }
  for (const SliceRange& range : slice_ranges(known, dims)) {
    shape[range.axis] = extent_of(range.size, "the number of elements of a slice");
    begin[range.axis] = extent_of(range.begin, "a bound of a slice");
    stride[range.axis] = range.stride;
  }
  out[0] = sized(in[0].dtype(), shape);
  fill_from(in[0], out[0], [&](const std::vector<int64_t>& i) -> const std::vector<int64_t>& {
    for (size_t d = 0; d < from.size(); ++d) from[d] = begin[d] + i[d] * stride[d];
    return from;
  });
}

// What is taken along one axis, as slice_ranges says it of bounds that are known.
struct Range {
  kernel::Expr begin, size, stride;
};

kernel::Expr near(kernel::Expr bound) {
  kernel::ExprPool& pool = *bound->pool;
  return min(max(bound, pool.integer(-kFarthest)), pool.integer(kFarthest));
}

// ceil(a / b), where b is positive.
kernel::Expr steps(kernel::Expr a, kernel::Expr b) { return floor_div(a + b - 1, b); }

Range range_of(kernel::Builder& k, const DynSliceAttrs& a, const Lowering& c, size_t bound) {
  const kernel::Expr extent = c.in[0].dim(axis_of(a, bound, c.in[0].rank()));
  const kernel::Expr zero = k.index(0), one = k.index(1), far = k.index(kFar), last_place = extent - 1;
  const kernel::Expr begin = near(element_of(k, c.in[1], bound)), end = near(element_of(k, c.in[2], bound));
  const auto counted = [&](kernel::Expr e) { return select(less(e, zero), e + extent, e); };
  const kernel::Expr first = max(counted(begin), zero);
  if (a.slice_mode == "size") {
    const kernel::Expr last = select(less(end, zero), extent, min(first + end, extent));
    return {first, max(last - first, zero), one};
  }
  const kernel::Expr stride = near(element_of(k, c.in[3], bound));
  k.require(not_equal(stride, zero), kNoStride);
  const kernel::Expr last = select(less_equal(far, end), extent, min(counted(end), extent));
  const kernel::Expr step = max(max(stride, -stride), one);
  const kernel::Expr forward = max(steps(last - first, step), zero);
  const auto place = [&](kernel::Expr e) {  // in [-1, extent - 1]
    const kernel::Expr inner = min(max(counted(e), k.index(-1)), last_place);
    return select(less_equal(far, e), last_place, select(less_equal(e, -far), k.index(-1), inner));
  };
  const kernel::Expr from = place(begin), to = place(end);
  const kernel::Expr backward = max(steps(from - to, step), zero), is_forward = less(zero, stride);
  return {select(is_forward, first, from), select(is_forward, forward, backward), stride};
}

kernel::Tensor extents(kernel::Builder& k, const DynSliceAttrs& a, const Lowering& c) {
  return extents_vector(k, c.in[0].rank(), [&] {
    std::vector<kernel::Expr> shape = c.in[0].shape();
    const auto bounds = static_cast<size_t>(c.arg_types[1]->dims[0].value());
    for (size_t n = 0; n < bounds; ++n) shape[axis_of(a, n, shape.size())] = range_of(k, a, c, n).size;
    return shape;
  });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const DynSliceAttrs& a, const Lowering& c) {
  const kernel::Tensor& x = c.in[0];
  return {k.compute("slice", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> from = copy_of(i);
    const auto bounds = static_cast<size_t>(c.arg_types[1]->dims[0].value());
    for (size_t n = 0; n < bounds; ++n) {
      const size_t axis = axis_of(a, n, x.rank());
      const Range range = range_of(k, a, c, n);
      // What the extents say is inside; the bounds of memory hold whatever they say.
      from[axis] = min(max(i[axis] * range.stride + range.begin, k.index(0)), x.dim(axis) - 1);
    }
    return x.at(from);
  })};
}

}  // namespace

const OpDef kDynStridedSlice = define<DynSliceAttrs>({
    .name = "dyn.strided_slice",
    .doc = "Every so many elements between two positions that only a run tells.",
    .params = {{"data", "any tensor"},
               {"begin", "first position along each axis"},
               {"end", "position after the last"},
               {"strides", "steps; unused by slice_mode \"size\""}},
    .effects = Effects::kTraps,
    .not_differentiable = "where elements came from is data; `strided_slice` has a gradient",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
    .extents = extents,
});

}  // namespace relay::op
