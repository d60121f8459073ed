// collapse_sum_like, collapse_sum_to, broadcast_to_like: between a shape and one that broadcasts to
// it. Each is the other's gradient.
//
//   collapse_sum_like(x, like): x summed down to the shape of `like`
//     (Tensor[s, d], Tensor[t, e]) -> Tensor[t, d]   C1: d is numeric.   C2: t broadcasts to s.
//   broadcast_to_like(x, like): x repeated up to the shape of `like`
//     (Tensor[s, d], Tensor[t, e]) -> Tensor[t, d]   C1: s broadcasts to t.
#include "base/cat.h"
#include "base/failure.h"
#include "op/broadcast.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/reduce/reduction.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

// Fails unless argument `small` broadcasts to argument `large`.
void require_broadcast(Relation& r, int small, int large) {
  const TensorType &from = r.tensor(small), &to = r.tensor(large);
  const auto wrong = [&] {
    r.fail(small, cat(relay::show(&from), " does not broadcast to ", relay::show(&to)), large,
           "bad-argument");
  };
  if (from.rank() > to.rank()) wrong();
  for (size_t d = 0; d < from.rank(); ++d) {
    r.broadcasts_to(from.dims[d], to.dims[d + to.rank() - from.rank()], small,
                    cat("shapes do not broadcast: dimension ", d), large);
  }
}

Type relate_collapse(Relation& r, const NoAttrs&) {
  require(r, 0, Domain::kNumber);  // C1
  require_broadcast(r, 1, 0);      // C2
  return r.context().tensor_type(r.tensor(1).dims, r.tensor(0).dtype);
}

// y = x summed down to the shape of y.
void collapse(const Tensor& x, Tensor& y, Sums sums) {
  const std::vector<int64_t> to = broadcast_elements(y.shape(), x.shape());
  if (x.dtype().is_float()) {
    with_zero(sums, x.dtype(), [&](auto zero) {
      auto totals = work_list<decltype(zero)>(y.size());
      for (int64_t i = 0; i < x.size(); ++i)
        totals[static_cast<size_t>(to[static_cast<size_t>(i)])] += static_cast<decltype(zero)>(x.get(i));
      for (size_t o = 0; o < totals.size(); ++o) y.set(static_cast<int64_t>(o), totals[o]);
    });
    return;
  }
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t o = to[static_cast<size_t>(i)];
    const auto sum = static_cast<uint64_t>(y.get_int(o)) + static_cast<uint64_t>(x.get_int(i));
    y.set_int(o, static_cast<int64_t>(sum));
  }
}

void evaluate_collapse(const NoAttrs&, Args in, Results out, Sums sums) { collapse(in[0], out[0], sums); }

std::vector<Expr> differentiate_collapse(Builder& b, const NoAttrs&, const Site& c) {
  return {call(b, kBroadcastToLike, {c.dy, c.args[0]}), nullptr};
}

std::vector<kernel::Tensor> lower_collapse(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  const kernel::Tensor& x = c.in[0];
  const std::vector<kernel::Expr> shape = c.shape();
  const size_t leading = x.rank() - shape.size();
  const kernel::Expr zero = k.index(0), one = k.index(1);
  // A dimension is summed where the result's extent is 1, which may only be known when
  // the kernel runs.
  std::vector<kernel::Expr> extents;
  std::vector<int> summed(x.rank(), -1);  // number of the reduction index
  for (size_t d = 0; d < x.rank(); ++d) {
    const kernel::Expr extent = d < leading ? one : shape[d - leading];
    if (d >= leading && (extent == x.dim(d) || (extent->kind == kernel::ExprKind::kInt && !extent.is_int(1))))
      continue;
    summed[d] = static_cast<int>(extents.size());
    extents.push_back(extent.is_int(1) ? x.dim(d) : select(equal(extent, one), x.dim(d), one));
  }
  const DType wide = accumulator(x.dtype());
  const auto element = [&](kernel::Indices i, kernel::Indices r) {
    std::vector<kernel::Expr> at;
    for (size_t d = 0; d < x.rank(); ++d) {
      const kernel::Expr outer = d < leading ? zero : i[d - leading];
      const kernel::Expr extent = d < leading ? one : shape[d - leading];
      if (summed[d] < 0) {
        at.push_back(outer);
      } else {
        const kernel::Expr inner = r[static_cast<size_t>(summed[d])];
        // Extents that data tell may be any, as far as this kernel knows.
        at.push_back(extent.is_int(1) ? inner
                                      : select(equal(extent, one), inner, min(outer, x.dim(d) - one)));
      }
    }
    return x.at(at);
  };
  if (extents.empty())
    return {k.compute("same", c.dtype(), shape, [&](kernel::Indices i) { return element(i, {}); })};
  const kernel::Tensor sum =
      k.reduce("sum", wide, shape, extents, k.sum(wide),
               [&](kernel::Indices i, kernel::Indices r) { return cast(wide, element(i, r)); });
  if (wide == c.dtype()) return {sum};
  return {k.compute("end", c.dtype(), shape, [&](kernel::Indices i) { return cast(c.dtype(), sum.at(i)); })};
}

int64_t collapsed_length(std::span<const Type> args, const Attrs&) {
  const std::optional<Shape> from = args[0]->as<TensorType>()->static_shape(),
                             to = args[1]->as<TensorType>()->static_shape();
  const int64_t results = to ? element_count(*to).value_or(1) : 1;
  return from && results > 0 ? element_count(*from).value_or(1) / results : 1;
}

// --- collapse_sum_to -----------------------------------------------------------------------------

constexpr auto kDoesNotCollapse = "data does not collapse to this shape";

// collapse_sum_to(x, shape): x summed down to the shape that a vector holds
//
// The shape is known when it runs. Each of its extents is 1 or that of the axis of data; they are
// aligned at the last one. Else it traps.
//
//   (Tensor[s, d], Tensor[(m), e]) -> Tensor[(?, ..), d]
//   C1: d is numeric.   C2: the shape holds integers, in one axis of constant extent.
//   C3: it has at least one entry, and at most one for each axis of data.
Type relate_collapse_to(Relation& r, const NoAttrs&) {
  require(r, 0, Domain::kNumber);   // C1
  require(r, 1, Domain::kInteger);  // C2
  r.require_rank(1, 1);             // C2
  const auto rank = static_cast<int64_t>(r.tensor(0).rank());
  const Dim entries = r.tensor(1).dims[0];
  r.require(entries.is_const(), 1,
            cat("the rank of the shape must be a constant, found ", relay::show(entries)));  // C2
  r.require(entries.value() >= 1 && entries.value() <= rank, 1,
            cat("has ", entries.value(), " entries for a tensor of rank ", rank));  // C3
  return r.tensor_of(std::vector<Dim>(static_cast<size_t>(entries.value()), Dim::unknown()),
                     r.tensor(0).dtype);
}

void evaluate_collapse_to(const NoAttrs&, Args in, Results out, Sums sums) {
  const Tensor &x = in[0], &shape = in[1];
  Shape to;
  for (int64_t i = 0; i < shape.size(); ++i) {
    const int64_t extent = index_of(shape, i),
                  whole = x.shape()[x.rank() - static_cast<size_t>(shape.size() - i)];
    if (extent != 1 && extent != whole) throw Trap(kDoesNotCollapse);
    to.push_back(extent);
  }
  out[0] = Tensor(x.dtype(), to);
  collapse(x, out[0], sums);
}

kernel::Tensor extents_of_collapse(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  const kernel::Tensor &x = c.in[0], &shape = c.in[1];
  const auto entries = static_cast<size_t>(c.arg_types[1]->dims[0].value());
  return k.compute("extents", kInt64, {k.index(static_cast<int64_t>(entries))}, [&](kernel::Indices i) {
    const kernel::Expr extent = index_at(shape, i);
    kernel::Expr whole = x.dim(x.rank() - 1);
    for (size_t d = 0; d + 1 < entries; ++d)
      whole = select(equal(i[0], k.index(static_cast<int64_t>(d))), x.dim(x.rank() - entries + d), whole);
    k.require(logical_or(equal(extent, k.index(1)), equal(extent, whole)), kDoesNotCollapse);
    return extent;
  });
}

// Every element of data may be a term of one sum.
int64_t collapsed_to_length(std::span<const Type> args, const Attrs&) {
  const std::optional<Shape> from = args[0]->as<TensorType>()->static_shape();
  return from ? element_count(*from).value_or(1) : 1;
}

// --- broadcast_to_like ---------------------------------------------------------------------------

Type relate_broadcast(Relation& r, const NoAttrs&) {
  require_broadcast(r, 0, 1);  // C1
  return r.context().tensor_type(r.tensor(1).dims, r.tensor(0).dtype);
}

void evaluate_broadcast(const NoAttrs&, Args in, Results out) {
  const Tensor& x = in[0];
  const std::vector<int64_t> from = broadcast_elements(x.shape(), out[0].shape());
  for (int64_t i = 0; i < out[0].size(); ++i) {
    const int64_t n = from[static_cast<size_t>(i)];
    if (x.dtype().is_float()) {
      out[0].set(i, x.get(n));
    } else {
      out[0].set_int(i, x.get_int(n));
    }
  }
}

std::vector<Expr> differentiate_broadcast(Builder& b, const NoAttrs&, const Site& c) {
  return {collapse_to(b, c.dy, c.args[0]), nullptr};
}

std::vector<kernel::Tensor> lower_broadcast(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  const std::vector<kernel::Expr> shape = c.shape();
  return {k.compute("broadcast", c.dtype(), shape,
                    [&](kernel::Indices i) { return broadcast_at(c.in[0], i, shape); })};
}

}  // namespace

const OpDef kCollapseSumLike = define<NoAttrs>({
    .name = "collapse_sum_like",
    .doc = "The sum over what broadcasting would repeat: the gradient of broadcasting.",
    .params = {{"data", "the input"}, {"collapse_type", "has the shape of the result"}},
    .fusion = Fusion::kReduction,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = collapsed_length},
    .relate = relate_collapse,
    .evaluate = evaluate_collapse,
    .differentiate = differentiate_collapse,
    .lower = lower_collapse,
});

const OpDef kCollapseSumTo = define<NoAttrs>({
    .name = "collapse_sum_to",
    .doc = "The sum over what broadcasting would repeat, down to a shape that is known when it runs.",
    .params = {{"data", "the input"}, {"shape", "of the result"}},
    .effects = Effects::kTraps,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = collapsed_to_length},
    .relate = relate_collapse_to,
    .evaluate = evaluate_collapse_to,
    .differentiate = differentiate_collapse,
    .lower = lower_collapse,
    .extents = extents_of_collapse,
});

const OpDef kBroadcastToLike = define<NoAttrs>({
    .name = "broadcast_to_like",
    .doc = "The input, repeated up to the shape of another tensor.",
    .params = {{"data", "the input"}, {"broadcast_type", "has the shape of the result"}},
    .fusion = Fusion::kBroadcast,
    .relate = relate_broadcast,
    .evaluate = evaluate_broadcast,
    .differentiate = differentiate_broadcast,
    .lower = lower_broadcast,
});

}  // namespace relay::op
