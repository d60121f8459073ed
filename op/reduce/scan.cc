// cumsum(x)[.., i, ..] = x[.., 0, ..] + ... + x[.., i, ..] along one axis
// cumprod(x)[.., i, ..] = x[.., 0, ..] * ... * x[.., i, ..] along one axis
//
//   (Tensor[s, d]) -> Tensor[s, dtype]; with axis=None the input counts as one long row:
//   Tensor[(product of s), dtype]
//   C1: d and dtype are numeric.   C2: axis is in [-rank, rank).
//
// With `exclusive` the element itself is left out: y[0] is 0, or 1 for a product.
#include "op/define.h"
#include "op/domain.h"
#include "op/reduce/reduction.h"
#include "op/tensor/attributes.h"
#include "op/term.h"

namespace relay::op {
namespace {

struct ScanAttrs {
  std::optional<int64_t> axis;
  MaybeDType dtype;
  bool exclusive = false;
  static constexpr auto kFields =
      fields(field("axis", &ScanAttrs::axis, "from the end if negative; None is all elements in a row"),
             field("dtype", &ScanAttrs::dtype, "of the result; None is the input's"),
             field("exclusive", &ScanAttrs::exclusive, "leave the element itself out"));
};

Type relate(Relation& r, const ScanAttrs& a) {
  require(r, 0, Domain::kNumber);  // C1
  const TensorType& x = r.tensor(0);
  const DType d = a.dtype.value_or(x.dtype);
  r.require(!d.is_bool(), kAttributes, "dtype must be numeric");  // C1
  if (a.axis) {
    r.axis(*a.axis, x.rank());  // C2
    return r.context().tensor_type(x.dims, d);
  }
  Dim product = 1;
  for (const Dim extent : x.dims) product = product * extent;
  return r.tensor_of({product}, d);
}

// The axes that are scanned, as those of a reduction.
std::vector<bool> scanned(const ScanAttrs& a, size_t rank) {
  ReduceAttrs reduce;
  if (a.axis) reduce.axis = {*a.axis};
  return reduced_axes(reduce, rank);
}

template <bool product>
void evaluate(const ScanAttrs& a, Args in, Results out, Sums sums) {
  const Tensor x = in[0].converted(out[0].dtype());
  const Groups g = groups(x.shape(), scanned(a, x.rank()));
  const auto scan = [&](auto identity, const auto& get, const auto& set) {
    for (const int64_t start : g.start) {
      auto running = identity;
      for (const int64_t step : g.step) {
        const auto before = running;
        running = product ? running * get(start + step) : running + get(start + step);
        set(start + step, a.exclusive ? before : running);
      }
    }
  };
  if (x.dtype().is_float()) {
    with_zero(sums, x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      scan(
          T(product), [&](int64_t i) { return static_cast<T>(x.get(i)); },
          [&](int64_t i, T v) { out[0].set(i, v); });
    });
  } else {
    scan(
        uint64_t{product}, [&](int64_t i) { return static_cast<uint64_t>(x.get_int(i)); },
        [&](int64_t i, uint64_t v) { out[0].set_int(i, static_cast<int64_t>(v)); });
  }
}

// dx[i] = dy[i] + ... + dy[last], summed from the end: a total less what comes before would cancel.
std::vector<Expr> differentiate_sum(Builder& b, const ScanAttrs& a, const Site& c) {
  const auto& x = c.tensor(0);
  const DType d = a.dtype.value_or(x.dtype);
  if (!x.dtype.is_float() || !d.is_float()) return {nullptr};
  const int64_t axis = a.axis.value_or(0);
  const Term dy(b, c.dy);
  const auto reversed = [&](Term x) { return x.apply(kReverse, {x}, {{"axis", axis}}); };
  const Term back = reversed(dy);
  Term dx = reversed(back.apply(kCumsum, {back}, {{"axis", axis}, {"exclusive", a.exclusive}}));
  if (!a.axis) dx = dx.apply(kReshapeLike, {dx, c.args[0]});
  if (d != x.dtype) dx = dx.apply(kCast, {dx}, {{"dtype", x.dtype}});
  return {dx};
}

template <bool product>
std::vector<kernel::Tensor> lower(kernel::Builder& k, const ScanAttrs& a, const Lowering& c) {
  const kernel::Tensor& x = c.in[0];
  const DType wide = accumulator(c.dtype());
  const kernel::Expr neutral = k.constant(wide, product ? 1 : 0), zero = k.index(0), one = k.index(1);
  const auto combine = [](kernel::Expr p, kernel::Expr q) { return product ? p * q : p + q; };
  const std::vector<kernel::Expr> shape = c.shape();
  // Where the result is one row, element n of it is element n of the input, wherever that stands.
  const auto element = [&](kernel::Indices at) {
    if (a.axis) return cast(wide, cast(c.dtype(), x.at(at)));
    std::vector<kernel::Expr> place(x.rank());
    kernel::Expr rest = at[0];
    for (size_t d = x.rank(); d-- > 0;) {
      place[d] = d == 0 ? rest : floor_mod(rest, x.dim(d));
      if (d > 0) rest = floor_div(rest, x.dim(d));
    }
    return cast(wide, cast(c.dtype(), x.at(place)));
  };
  const size_t axis =
      a.axis ? static_cast<size_t>(*a.axis < 0 ? *a.axis + static_cast<int64_t>(x.rank()) : *a.axis) : 0;
  // The element before; never outside of the tensor, even where it is not looked at.
  const auto before = [&](kernel::Indices at) {
    std::vector<kernel::Expr> out(at.begin(), at.end());
    out[axis] = max(out[axis] - one, zero);
    return out;
  };
  const kernel::Tensor y = k.update(
      product ? "cumprod" : "cumsum", wide, shape, [&](kernel::Indices) { return neutral; }, shape,
      [](kernel::Indices r) { return std::vector<kernel::Expr>(r.begin(), r.end()); },
      [&](kernel::Tensor self, kernel::Indices r) {
        const std::vector<kernel::Expr> previous = before(r);
        const kernel::Expr so_far = select(equal(r[axis], zero), neutral, self.at(previous));
        if (!a.exclusive) return combine(so_far, element(r));
        return select(equal(r[axis], zero), neutral, combine(self.at(previous), element(previous)));
      });
  if (wide == c.dtype()) return {y};
  return {k.compute("end", c.dtype(), shape, [&](kernel::Indices i) { return cast(c.dtype(), y.at(i)); })};
}

int64_t scanned_length(std::span<const Type> args, const Attrs& attrs) {
  const ScanAttrs a = read_attrs<ScanAttrs>(attrs);
  ReduceAttrs reduce;
  if (a.axis) reduce.axis = {*a.axis};
  return reduced_length(reduce, *args[0]->as<TensorType>());
}

}  // namespace

const OpDef kCumsum = define<ScanAttrs>({
    .name = "cumsum",
    .doc = "The sums of all elements up to each, along an axis.",
    .params = {{"data", "the input"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = scanned_length},
    .relate = relate,
    .evaluate = evaluate<false>,
    .differentiate = differentiate_sum,
    .lower = lower<false>,
});

const OpDef kCumprod = define<ScanAttrs>({
    .name = "cumprod",
    .doc = "The products of all elements up to each, along an axis.",
    .params = {{"data", "the input"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction,
                  .length = scanned_length,
                  .magnitude = Tolerance::Magnitude::kResult},
    .not_differentiable = "its gradient takes quadratic work where an element is zero",
    .relate = relate,
    .evaluate = evaluate<true>,
    .lower = lower<true>,
});

}  // namespace relay::op
