// Tensors side by side: concatenate, stack, split.
#include "op/tensor/join.h"

#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "op/ops.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

// --- concatenate ---------------------------------------------------------------------------------

// concatenate((x_0, ..))[a.., i, c..] = x_j[a.., i - b, c..], where b is the sum of the extents of
//     x_0 to x_(j-1) along `axis`, and j the last one with b <= i
//
//   (Tensor[(a.., n_0, c..), d], ..) -> Tensor[(a.., n_0 + .., c..), d]
//   C1: there is at least one tensor.
//   C2: axis is in [-rank, rank).
//   C3: all have the same rank and dtype.
//   C4: they agree in every dimension but that of the axis.
Type relate_concatenate(Relation& r, const ConcatenateAttrs& a) {
  const std::vector<const TensorType*> xs = r.tensors(0);
  r.require(!xs.empty(), 0, "expected at least one tensor");  // C1
  std::vector<Dim> out = dims_of(*xs[0]);
  const size_t axis = r.axis(a.axis, out.size());  // C2
  for (size_t n = 1; n < xs.size(); ++n) {
    const TensorType& x = *xs[n];
    if (x.rank() != out.size())
      r.fail(0, cat("tensor ", n, " has rank ", x.rank(), ", the first one ", out.size()));  // C3
    if (x.dtype != xs[0]->dtype) {
      r.fail(0, cat("tensor ", n, " has dtype ", x.dtype.name(), ", the first one ",
                    xs[0]->dtype.name()));  // C3
    }
    for (size_t d = 0; d < out.size(); ++d) {
      out[d] = d == axis ? out[d] + x.dims[d]
                         : r.same(out[d], x.dims[d], 0, cat("dimension ", d, " of tensor ", n));  // C4
    }
  }
  return r.tensor_of(out, xs[0]->dtype);
}

void evaluate_concatenate(const ConcatenateAttrs& a, Args in, Results out) {
  const size_t axis = from_front(a.axis, out[0].rank());
  int64_t begin = 0;
  std::vector<int64_t> to;
  for (const Tensor& x : in) {
    int64_t n = 0;
    for_each_index(x.shape(), [&](const std::vector<int64_t>& i) {
      to = i;
      to[axis] += begin;
      copy_element(x, n++, out[0], offset_of(out[0].shape(), to));
    });
    begin += x.shape()[axis];
  }
}

std::vector<Expr> differentiate_concatenate(Builder& b, const ConcatenateAttrs& a, const Site& c) {
  const auto& tuple = *c.type(0)->as<TupleType>();
  std::vector<Expr> parts;
  Dim begin(0);
  for (Type t : tuple.fields) {
    const TensorType& x = *t->as<TensorType>();
    const size_t axis = from_front(a.axis, x.rank());
    const Dim end = begin + x.dims[axis];
    parts.push_back(sliced(b, c.dy, static_cast<int64_t>(axis), begin, end));
    begin = end;
  }
  return {b.tuple(parts)};
}

std::vector<kernel::Tensor> lower_concatenate(kernel::Builder& k, const ConcatenateAttrs& a,
                                              const Lowering& c) {
  const size_t axis = from_front(a.axis, c.in[0].rank());
  return {k.compute("concatenate", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> begin{k.index(0)};
    for (const kernel::Tensor& x : c.in) begin.push_back(begin.back() + x.dim(axis));
    const auto element = [&](size_t n) {
      std::vector<kernel::Expr> at = copy_of(i);
      at[axis] = i[axis] - begin[n];
      return c.in[n].at(at);
    };
    const auto choose = [&](size_t n, kernel::Expr before, kernel::Expr from) {
      return kernel::select(kernel::less(i[axis], begin[n]), before, from);
    };
    // i < end_0 ? x_0[i] : i < end_1 ? x_1[i - end_0] : ... for each so many tensors.
    constexpr size_t kMostInARow = 64;
    std::vector<std::pair<size_t, kernel::Expr>> parts;  // the first tensor, and the choice from there
    for (size_t first = 0; first < c.in.size(); first += kMostInARow) {
      size_t n = std::min(c.in.size(), first + kMostInARow) - 1;
      kernel::Expr value = element(n);
      for (; n > first; --n) value = choose(n, element(n - 1), value);
      parts.emplace_back(first, value);
    }
    // Between these by halves, so that what is chosen from thousands is not thousands deep.
    while (parts.size() > 1) {
      std::vector<std::pair<size_t, kernel::Expr>> halves;
      for (size_t p = 0; p < parts.size(); p += 2) {
        const auto [first, value] = parts[p];
        const bool alone = p + 1 == parts.size();
        halves.emplace_back(first, alone ? value : choose(parts[p + 1].first, value, parts[p + 1].second));
      }
      parts = std::move(halves);
    }
    return parts[0].second;
  })};
}

// --- stack ---------------------------------------------------------------------------------------

struct StackAttrs {
  int64_t axis = 0;
  static constexpr auto kFields =
      fields(field("axis", &StackAttrs::axis, "where the new axis stands in the result"));
};

// stack((x_0, ..))[a.., j, c..] = x_j[a.., c..], where j is the index along `axis`
//
//   (Tensor[(a.., c..), d], ..) -> Tensor[(a.., their number, c..), d]
//   C1: there is at least one tensor.
//   C2: axis is in [-rank - 1, rank].
//   C3: all have the same dtype and shape.
Type relate_stack(Relation& r, const StackAttrs& a) {
  const std::vector<const TensorType*> xs = r.tensors(0);
  r.require(!xs.empty(), 0, "expected at least one tensor");  // C1
  std::vector<Dim> out = dims_of(*xs[0]);
  const size_t axis = r.axis(a.axis, out.size() + 1);  // C2
  for (size_t n = 1; n < xs.size(); ++n) {
    const TensorType& x = *xs[n];
    if (x.rank() != out.size() || x.dtype != xs[0]->dtype) {
      r.fail(0, cat("tensor ", n, " is ", relay::show(&x, 80), ", the first one ",
                    relay::show(xs[0], 80)));  // C3
    }
    for (size_t d = 0; d < out.size(); ++d)
      out[d] = r.same(out[d], x.dims[d], 0, cat("dimension ", d, " of tensor ", n));  // C3
  }
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), Dim(static_cast<int64_t>(xs.size())));
  return r.tensor_of(out, xs[0]->dtype);
}

Expr expand_stack(Builder& b, const StackAttrs& a, const Site& c) {
  const auto& types = *c.type(0)->as<TupleType>();
  const auto* tuple = c.args[0]->as<Tuple>();
  const size_t rank = types.fields[0]->as<TensorType>()->rank() + 1;
  const auto axis = static_cast<int64_t>(from_front(a.axis, rank));
  std::vector<Expr> parts;
  for (uint32_t n = 0; n < types.fields.size(); ++n) {
    const Expr part = tuple ? tuple->fields[n] : b.proj(c.args[0], n);
    parts.push_back(call(b, kExpandDims, {part}, {{"axis", axis}}));
  }
  return call(b, kConcatenate, {b.tuple(parts)}, {{"axis", axis}});
}

// --- split ---------------------------------------------------------------------------------------

// Where each part begins, and the end of the last.
std::vector<Dim> boundaries(const SplitAttrs& a, Dim extent) {
  const Cuts& cuts = a.indices_or_sections;
  std::vector<Dim> out{Dim(0)};
  for (int64_t n = 1; n < cuts.parts; ++n) out.push_back(floor_div(extent, Dim(cuts.parts)) * Dim(n));
  for (Dim at : cuts.positions) out.push_back(at);
  out.push_back(extent);
  return out;
}

// split(x).j[a.., i, c..] = x[a.., p_j + i, c..], where part j begins at p_j along `axis`
//
//   (Tensor[(a.., n, c..), d]) -> (Tensor[(a.., p_1, c..), d], ..)
//   C1: axis is in [-rank, rank).   C2: the extent divides into that many equal parts.
//   C3: positions do not decrease and lie within the axis.
Type relate_split(Relation& r, const SplitAttrs& a) {
  constexpr int64_t kMost = 65536;  // parts: a type of that many fields is nobody's model
  const TensorType& x = r.tensor(0);
  const size_t axis = r.axis(a.axis, x.rank());  // C1
  const int64_t parts = a.indices_or_sections.parts;
  if (parts > kMost) r.fail(kAttributes, cat("at most ", kMost, " parts, not ", parts));
  const Dim extent = x.dims[axis];
  if (parts > 0 && !extent.is_unknown()) {
    r.same(extent, floor_div(extent, Dim(parts)) * Dim(parts), 0,
           cat("dimension ", axis, " cut into ", parts, " equal parts"));  // C2
  }
  const std::vector<Dim> at = boundaries(a, extent);
  std::vector<Type> out;
  for (size_t n = 0; n + 1 < at.size(); ++n) {
    std::vector<Dim> dims = dims_of(x);
    dims[axis] = parts > 0 ? floor_div(extent, Dim(parts)) : at[n + 1] - at[n];
    if (dims[axis].is_const() && dims[axis].value() < 0) {
      r.fail(kAttributes,
             cat("positions must not decrease nor leave the axis: ", relay::show(at[n]), ", then ",
                 relay::show(at[n + 1])));  // C3
    }
    // What cannot be seen here is looked at when the program runs.
    r.same(dims[axis], clamp_to_zero(dims[axis]), 0, cat("the extent of part ", n));  // C3
    out.push_back(r.tensor_of(dims, x.dtype));
  }
  return r.tuple_of(out);
}

void evaluate_split(const SplitAttrs& a, Args in, Results out) {
  const size_t axis = from_front(a.axis, in[0].rank());
  const std::vector<Dim> at = boundaries(a, Dim(in[0].shape()[axis]));
  std::vector<int64_t> from;
  for (size_t n = 0; n < out.size(); ++n) {
    const int64_t begin = extent_of(at[n], "a position of split");
    fill_from(in[0], out[n], [&](const std::vector<int64_t>& i) -> const std::vector<int64_t>& {
      from = i;
      from[axis] += begin;
      return from;
    });
  }
}

std::vector<Expr> differentiate_split(Builder& b, const SplitAttrs& a, const Site& c) {
  std::vector<Expr> parts;
  for (uint32_t n = 0; n < c.dy->type->as<TupleType>()->fields.size(); ++n) parts.push_back(b.proj(c.dy, n));
  return {call(b, kConcatenate, {b.tuple(parts)}, {{"axis", a.axis}})};
}

std::vector<kernel::Tensor> lower_split(kernel::Builder& k, const SplitAttrs& a, const Lowering& c) {
  const kernel::Tensor x = c.in[0];
  const size_t axis = from_front(a.axis, x.rank());
  const std::vector<Dim> at = boundaries(a, c.arg_types[0]->dims[axis]);
  std::vector<kernel::Tensor> out;
  for (size_t n = 0; n < c.out_types.size(); ++n) {
    const kernel::Expr begin = at[n].expr(c.pool);
    out.push_back(k.compute("split", c.dtype(n), c.shape(n), [&](kernel::Indices i) {
      std::vector<kernel::Expr> from = copy_of(i);
      from[axis] = i[axis] + begin;
      return x.at(from);
    }));
  }
  return out;
}

}  // namespace

const OpDef kConcatenate = define<ConcatenateAttrs>({
    .name = "concatenate",
    .doc = "Tensors one after the other along an axis.",
    .params = {{"data", "a tuple of tensors"}},
    .fusion = Fusion::kInjective,
    .relate = relate_concatenate,
    .evaluate = evaluate_concatenate,
    .differentiate = differentiate_concatenate,
    .lower = lower_concatenate,
});

const OpDef kStack = define<StackAttrs>({
    .name = "stack",
    .doc = "Tensors of one shape one after the other along a new axis.",
    .params = {{"data", "a tuple of tensors"}},
    .fusion = Fusion::kInjective,
    .relate = relate_stack,
    .expand = expand_stack,
});

const OpDef kSplit = define<SplitAttrs>({
    .name = "split",
    .doc = "Cut a tensor along an axis; the result is the tuple of the parts.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kInjective,
    .relate = relate_split,
    .evaluate = evaluate_split,
    .differentiate = differentiate_split,
    .lower = lower_split,
});

}  // namespace relay::op
