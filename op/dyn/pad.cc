// dyn.nn.pad(data, pad_width, pad_value) = nn.pad(data, pad_value, pad_width=pad_width)
//
//   (Tensor[s, d], Tensor[(rank, 2), e], Tensor[(), f]) -> Tensor[(?, ..), d]
//   C1: pad_width is a matrix of integers with a row for each axis: before it and after it.
//   C2: the attribute pad_width is empty.
//   C3: what else nn.pad asks of the value and of pad_mode.
//
// A run traps if a width is negative, or if an axis has too few elements for the mode.
#include "op/nn/pad.h"
#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "op/dyn/shapes.h"
#include "op/ops.h"

namespace relay::op {
namespace {

struct DynPadAttrs {
  std::optional<std::vector<Dim>> pad_width = {};
  std::string pad_mode = "constant";
  static constexpr auto kFields = fields(
      field("pad_width", &DynPadAttrs::pad_width, "must be empty: the argument of that name stands for it"),
      field("pad_mode", &DynPadAttrs::pad_mode, "as for nn.pad"));
  bool mirrors() const { return pad_mode == "reflect" || pad_mode == "symmetric"; }
  // Of a mode that mirrors: does the element at an end come again right behind it?
  int64_t repeated() const { return pad_mode == "symmetric" ? 1 : 0; }
  // How many elements an axis needs that so many are added to, on the side with more.
  int64_t needed(int64_t added) const {
    if (pad_mode == "constant" || added == 0) return 0;
    return mirrors() ? added + 1 - repeated() : 1;
  }
};

constexpr std::string_view kNegativeWidth = "a width of the padding is negative";
constexpr std::string_view kTooFew = "an axis has too few elements to be padded";
constexpr int64_t kWidest = int64_t{1} << 62;  // beyond it sums could overflow; no memory holds as much

Type relate(Relation& r, const DynPadAttrs& a) {
  const TensorType& x = r.tensor(0);
  r.require_rank(1, 2);  // C1
  const TensorType& width = r.tensor(1);
  r.require(width.dtype.is_int(), 1, cat("expected integers, found ", width.dtype.name()));  // C1
  r.same(width.dims[0], Dim(static_cast<int64_t>(x.rank())), 1, "the number of axes");       // C1
  r.same(width.dims[1], Dim(2), 1, "the number of sides of an axis");                        // C1
  require_empty(r, a.pad_width, "pad_width");                                                // C2
  const std::vector<std::pair<Dim, Dim>> none(x.rank(), {Dim(0), Dim(0)});
  const std::vector<Type> args{r.type(0), r.type(2)};
  Relation of_pad(r.context(), args);
  r.require_rank(2, 0);  // C3
  kPad.relate(of_pad, r.context().attrs(
                          {{"pad_width", pad_width(r.context(), none)}, {"pad_mode", a.pad_mode}}));  // C3
  return sized_by_data(r, x.rank(), x.dtype);
}

void evaluate(const DynPadAttrs& a, Args in, Results out, Sums sums) {
  Shape shape = in[0].shape();
  std::vector<std::pair<Dim, Dim>> widths;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto row = static_cast<int64_t>(2 * d);
    const int64_t before = std::min(index_of(in[1], row), kWidest),
                  after = std::min(index_of(in[1], row + 1), kWidest);
    if (before < 0 || after < 0) throw Trap(std::string(kNegativeWidth));
    if (shape[d] < a.needed(std::max(before, after))) throw Trap(std::string(kTooFew));
    widths.emplace_back(before, after);
    if (__builtin_add_overflow(shape[d], before, &shape[d]) ||
        __builtin_add_overflow(shape[d], after, &shape[d]))
      shape[d] = INT64_MAX;
  }
  out[0] = sized(in[0].dtype(), shape);
  Context scratch;
  const std::vector<Tensor> args{in[0], in[2]};
  evaluate_as(kPad, {{"pad_width", pad_width(scratch, widths)}, {"pad_mode", a.pad_mode}}, args, out, sums);
}

// How many elements are added before (0) or after (1) an axis.
kernel::Expr width_of(kernel::Builder& k, const Lowering& c, size_t axis, size_t side) {
  const std::vector<kernel::Expr> at{k.index(static_cast<int64_t>(axis)),
                                     k.index(static_cast<int64_t>(side))};
  return min(index_at(c.in[1], at), k.index(kWidest));
}

kernel::Tensor extents(kernel::Builder& k, const DynPadAttrs& a, const Lowering& c) {
  const kernel::Tensor& x = c.in[0];
  return extents_vector(k, x.rank(), [&] {
    std::vector<kernel::Expr> shape;
    const kernel::Expr zero = k.index(0), most = k.index(INT64_MAX);
    const auto sum = [&](kernel::Expr e, kernel::Expr width) {  // neither is negative
      return select(less(most - width, e), most, e + width);
    };
    for (size_t d = 0; d < x.rank(); ++d) {
      const kernel::Expr before = width_of(k, c, d, 0), after = width_of(k, c, d, 1),
                         widest = max(before, after);
      k.require(less_equal(zero, min(before, after)), kNegativeWidth);
      if (a.pad_mode != "constant") {
        const kernel::Expr needed = a.mirrors() ? widest + (1 - a.repeated()) : k.index(1);
        k.require(logical_or(equal(widest, zero), less_equal(needed, x.dim(d))), kTooFew);
      }
      shape.push_back(sum(sum(x.dim(d), max(before, zero)), max(after, zero)));
    }
    return shape;
  });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const DynPadAttrs& a, const Lowering& c) {
  const kernel::Tensor& x = c.in[0];
  return {k.compute("pad", c.dtype(), c.shape(), [&](kernel::Indices i) {
    const kernel::Expr zero = k.index(0);
    kernel::Expr inside = k.constant(kBool, 1);
    std::vector<kernel::Expr> at(i.begin(), i.end());
    for (size_t d = 0; d < x.rank(); ++d) {
      const kernel::Expr last = x.dim(d) - 1;
      at[d] = i[d] - width_of(k, c, d, 0);
      if (a.pad_mode == "constant") {
        inside = logical_and(inside, logical_and(less_equal(zero, at[d]), less_equal(at[d], last)));
      } else if (a.mirrors()) {
        at[d] = min(max(at[d], -at[d] - a.repeated()), last * 2 + a.repeated() - at[d]);
      }
      if (a.pad_mode != "constant") at[d] = min(max(at[d], zero), last);
    }
    return a.pad_mode == "constant" ? select(inside, x.at(at), cast(c.dtype(), c.in[2]())) : x.at(at);
  })};
}

}  // namespace

const OpDef kDynPad = define<DynPadAttrs>({
    .name = "dyn.nn.pad",
    .doc = "Elements before and after each axis, as many as a run tells.",
    .params = {{"data", "any tensor"},
               {"pad_width", "how many elements before and after each axis"},
               {"pad_value", "of rank 0; unused by other modes than constant"}},
    .effects = Effects::kTraps,
    .not_differentiable = "how far elements were moved is data; `nn.pad` has a gradient",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
    .extents = extents,
});

}  // namespace relay::op
