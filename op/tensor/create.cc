// Tensors out of little: full, zeros, ones and their `_like` forms; iota, arange, one_hot.
#include <cmath>

#include "base/cat.h"
#include "base/failure.h"
#include "base/reasons.h"
#include "op/domain.h"
#include "op/ops.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

// --- full, zeros, ones ---------------------------------------------------------------------------

struct InitAttrs {
  std::vector<Dim> shape = {};
  MaybeDType dtype = {};
  static constexpr auto kFields =
      fields(field("shape", &InitAttrs::shape, "of the result").required(),
             field("dtype", &InitAttrs::dtype, "of the result; None: the value's, or float32"));
};

void require_shape(Relation& r, std::span<const Dim> shape) {
  for (Dim d : shape) {
    r.require(!d.is_unknown() && !(d.is_const() && d.value() < 0), kAttributes,
              cat("shape must hold extents, not ", relay::show(d)));
  }
}

// full(v)[i] = v
//
//   (Tensor[(), d]) -> Tensor[shape, dtype]
//   C1: the shape holds extents.
//   C2: the value has rank 0.
Type relate_full(Relation& r, const InitAttrs& a) {
  require_shape(r, a.shape);  // C1
  r.require_rank(0, 0);       // C2
  return r.tensor_of(a.shape, a.dtype.value_or(r.tensor(0).dtype));
}

Expr expand_full(Builder& b, const InitAttrs& a, const Site& c) {
  Expr value = c.args[0];
  const DType have = c.tensor(0).dtype, want = a.dtype.value_or(have);
  if (have != want) value = call(b, kCast, {value}, {{"dtype", want}});
  return call(b, kBroadcastTo, {value}, {{"shape", a.shape}});
}

// zeros()[i] = 0
// ones()[i] = 1
//
//   () -> Tensor[shape, dtype]   C1: the shape holds extents.
Type relate_init(Relation& r, const InitAttrs& a) {
  require_shape(r, a.shape);  // C1
  return r.tensor_of(a.shape, a.dtype.value_or(kFloat32));
}

template <int value>
Expr expand_init(Builder& b, const InitAttrs& a, const Site&) {
  return call(b, kBroadcastTo, {scalar_of(b, a.dtype.value_or(kFloat32), value)}, {{"shape", a.shape}});
}

// --- full_like, zeros_like, ones_like ------------------------------------------------------------

// zeros_like(x)[i] = 0
// ones_like(x)[i] = 1
//
//   (Tensor[s, d]) -> Tensor[s, d]   C1: the argument is a tensor.
Type relate_like(Relation& r, const NoAttrs&) { return &r.tensor(0); }  // C1

template <int value>
void evaluate_like(const NoAttrs&, Args, Results out) {
  for (int64_t i = 0; i < out[0].size(); ++i) out[0].set_int(i, value);
}
template <int value>
std::vector<kernel::Tensor> lower_like(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  return {k.compute("constant", c.dtype(), c.shape(),
                    [&](kernel::Indices) { return k.constant(c.dtype(), value); })};
}

std::vector<Expr> no_gradient(Builder&, const NoAttrs&, const Site&) { return {nullptr}; }

// full_like(x, v)[i] = v
//
//   (Tensor[s, d], Tensor[(), d]) -> Tensor[s, d]
//   C1: both are tensors of one dtype.
//   C2: the value has rank 0.
Type relate_full_like(Relation& r, const NoAttrs&) {
  r.require_same_dtype(1, 0);  // C1
  r.require_rank(1, 0);        // C2
  return &r.tensor(0);
}

Expr expand_full_like(Builder& b, const NoAttrs&, const Site& c) {
  return call(b, kBroadcastToLike, {c.args[1], c.args[0]});
}

// --- iota ----------------------------------------------------------------------------------------

struct IotaAttrs {
  std::vector<Dim> shape = {};
  int64_t axis = 0;
  DType dtype = kInt64;
  static constexpr auto kFields =
      fields(field("shape", &IotaAttrs::shape, "of the result").required(),
             field("axis", &IotaAttrs::axis, "whose index is given, from the end if negative"),
             field("dtype", &IotaAttrs::dtype, "of the result"));
};

// iota()[.., i, ..] = i, where i is the index along `axis`
//
//   () -> Tensor[shape, dtype]
//   C1: the shape holds extents.   C2: axis is in [-rank, rank).   C3: the dtype is a number's.
Type relate_iota(Relation& r, const IotaAttrs& a) {
  require_shape(r, a.shape);       // C1
  r.axis(a.axis, a.shape.size());  // C2
  r.require(holds(Domain::kNumber, a.dtype), kAttributes,
            cat("dtype must be numeric, not ", a.dtype.name()));  // C3
  return r.tensor_of(a.shape, a.dtype);
}

void evaluate_iota(const IotaAttrs& a, Args, Results out) {
  const size_t axis = from_front(a.axis, out[0].rank());
  int64_t n = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& i) {
    if (a.dtype.is_float()) {
      out[0].set(n++, static_cast<double>(i[axis]));
    } else {
      out[0].set_int(n++, i[axis]);
    }
  });
}

std::vector<Expr> no_arguments(Builder&, const IotaAttrs&, const Site&) { return {}; }

std::vector<kernel::Tensor> lower_iota(kernel::Builder& k, const IotaAttrs& a, const Lowering& c) {
  const size_t axis = from_front(a.axis, a.shape.size());
  return {k.compute("iota", c.dtype(), c.shape(),
                    [&](kernel::Indices i) { return kernel::cast(c.dtype(), i[axis]); })};
}

// --- arange --------------------------------------------------------------------------------------

struct ArangeAttrs {
  MaybeDType dtype = {};
  static constexpr auto kFields =
      fields(field("dtype", &ArangeAttrs::dtype, "of the result; None: that of start"));
};

// arange(start, stop, step)[i] = start + i * step, for i < ceil((stop - start) / step)
//
//   (Tensor[(), d], Tensor[(), d], Tensor[(), d]) -> Tensor[(?), dtype]
//   C1: start, stop and step have rank 0 and one dtype, a number's.
Type relate_arange(Relation& r, const ArangeAttrs& a) {
  for (int i = 0; i < 3; ++i) {
    r.require_rank(i, 0);            // C1
    r.require_same_dtype(i, 0);      // C1
    require(r, i, Domain::kNumber);  // C1
  }
  return r.tensor_of({Dim::unknown()}, a.dtype.value_or(r.tensor(0).dtype));
}

constexpr double kMost = 1e12;  // elements that no memory holds
constexpr std::string_view kStepIsZero = "the step of a range is 0";
constexpr std::string_view kBoundIsNotFinite = "a range has a bound that is not finite";

void evaluate_arange(const ArangeAttrs& a, Args in, Results out) {
  const DType dtype = a.dtype.value_or(in[0].dtype());
  if (in[2].get(0) == 0) throw Trap(std::string(kStepIsZero));
  if (in[0].dtype().is_int()) {
    // 128 bits: neither the difference nor the rounding up may overflow.
    const auto whole = [](const Tensor& t) -> __int128 {
      return t.dtype() == kUInt64 ? static_cast<__int128>(static_cast<uint64_t>(t.get_int(0))) : t.get_int(0);
    };
    const __int128 start = whole(in[0]), stop = whole(in[1]), step = whole(in[2]);
    const __int128 way = step > 0 ? stop - start : start - stop, stride = step > 0 ? step : -step;
    const __int128 count = way <= 0 ? 0 : (way + stride - 1) / stride;
    if (count > static_cast<__int128>(kMost)) throw Exhausted(kRangeTooLong);
    out[0] = Tensor(dtype, {static_cast<int64_t>(count)});
    for (int64_t i = 0; i < out[0].size(); ++i) {
      const auto number = static_cast<int64_t>(start + i * step);
      if (dtype.is_float()) {
        out[0].set(i, real_of_integer(dtype, in[0].dtype(), number));
      } else {
        out[0].set_int(i, number);
      }
    }
    return;
  }
  const double start = in[0].get(0), stop = in[1].get(0), step = in[2].get(0);
  const double count = std::ceil((stop - start) / step);
  if (!std::isfinite(start) || !std::isfinite(stop) || std::isnan(step))
    throw Trap(std::string(kBoundIsNotFinite));
  if (count > kMost) throw Exhausted(kRangeTooLong);
  out[0] = Tensor(dtype, {count > 0 ? static_cast<int64_t>(count) : 0});
  for (int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, start + static_cast<double>(i) * step);
}

DType computed_in(DType bounds) {
  return bounds.is_float() ? kFloat64 : bounds == kUInt64 ? kUInt64 : kInt64;
}

// How many elements there are. What no memory holds becomes an extent that no memory holds either.
kernel::Tensor extents_of_arange(kernel::Builder& k, const ArangeAttrs&, const Lowering& c) {
  const bool floating = c.in[0].dtype().is_float();
  const DType dtype = computed_in(c.in[0].dtype());
  const kernel::Expr too_many = k.index(INT64_MAX);
  return k.compute("extents", kInt64, {k.index(1)}, [&](kernel::Indices) {
    const kernel::Expr start = cast(dtype, c.in[0]()), stop = cast(dtype, c.in[1]()),
                       step = cast(dtype, c.in[2]()), zero = k.constant(dtype, 0);
    k.require(not_equal(step, zero), kStepIsZero);
    if (floating) {
      const auto is = [](kernel::Math property, kernel::Expr e) { return math(property, e); };
      k.require(logical_and(is(kernel::Math::kIsFinite, start), is(kernel::Math::kIsFinite, stop)),
                kBoundIsNotFinite);
      k.require(logical_not(is(kernel::Math::kIsNan, step)), kBoundIsNotFinite);
      const kernel::Expr count = math(kernel::Math::kCeil, (stop - start) / step);
      return select(less(k.constant(dtype, kMost), count), too_many,
                    select(less(zero, count), cast(kInt64, count), k.index(0)));
    }
    // Without signs: neither the difference nor the rounding up may overflow.
    const auto bits = [](kernel::Expr e) { return cast(kUInt64, e); };
    const kernel::Expr none = k.constant(kUInt64, 0), one = k.constant(kUInt64, 1), up = less(zero, step);
    const kernel::Expr way = select(up, bits(stop) - bits(start), bits(start) - bits(stop)),
                       stride = max(select(up, bits(step), none - bits(step)), one);
    const kernel::Expr count = floor_div(way - one, stride) + one;
    const kernel::Expr any = select(up, less(start, stop), less(stop, start));
    return select(any, select(less(k.constant(kUInt64, kMost), count), too_many, cast(kInt64, count)),
                  k.index(0));
  });
}

std::vector<kernel::Tensor> lower_arange(kernel::Builder& k, const ArangeAttrs&, const Lowering& c) {
  const DType dtype = computed_in(c.in[0].dtype());
  return {k.compute("arange", c.dtype(), c.shape(), [&](kernel::Indices i) {
    return cast(c.dtype(), cast(dtype, c.in[0]()) + cast(dtype, i[0]) * cast(dtype, c.in[2]()));
  })};
}

// |start| + |i step|: the sum of the two may be far smaller.
void terms_of_arange(const Attrs&, Args in, Results out) {
  const double start = std::fabs(in[0].get(0)), step = std::fabs(in[2].get(0));
  for (int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, start + static_cast<double>(i) * step);
}
int64_t one_product(std::span<const Type>, const Attrs&) { return 1; }

// y_i = start + i step, so that dy_i / dstart = 1 and dy_i / dstep = i = (y_i - start) / step
std::vector<Expr> differentiate_arange(Builder& b, const ArangeAttrs&, const Site& c) {
  const DType of_bounds = c.tensor(0).dtype, dtype = tensor_type_of(c.y).dtype;
  if (!of_bounds.is_float() || !dtype.is_float()) return {nullptr, nullptr, nullptr};
  const auto as = [&](Expr e, DType to) {
    return to == tensor_type_of(e).dtype ? e : call(b, kCast, {e}, {{"dtype", to}});
  };
  const Term y(b, as(c.y, of_bounds)), dy(b, as(c.dy, of_bounds)), start(b, c.args[0]), step(b, c.args[2]);
  return {call(b, kSum, {dy}), nullptr, call(b, kSum, {dy * (y - start) / step})};
}

// --- one_hot -------------------------------------------------------------------------------------

struct OneHotAttrs {
  int64_t depth = 1;
  int64_t axis = -1;
  MaybeDType dtype = {};
  static constexpr auto kFields =
      fields(field("depth", &OneHotAttrs::depth, "extent of the new axis").required(),
             field("axis", &OneHotAttrs::axis, "where the new axis stands, from the end if negative"),
             field("dtype", &OneHotAttrs::dtype, "of the result; None: that of on_value"));
};

// one_hot(indices, on, off)[a.., k, c..] = on where indices[a.., c..] = k, off elsewhere,
//     where k is the index along `axis`
//
//   (Tensor[s, e], Tensor[(), d], Tensor[(), d]) -> Tensor[s with depth at the axis, dtype]
//   C1: indices are integers.   C2: on_value and off_value have rank 0 and one dtype.
//   C3: axis is in [-rank - 1, rank].   C4: the depth is not negative.
Type relate_one_hot(Relation& r, const OneHotAttrs& a) {
  const TensorType& indices = r.tensor(0);
  require(r, 0, Domain::kInteger);                                     // C1
  r.require_rank(1, 0);                                                // C2
  r.require_rank(2, 0);                                                // C2
  r.require_same_dtype(2, 1);                                          // C2
  const size_t axis = r.axis(a.axis, indices.rank() + 1);              // C3
  r.require(a.depth >= 0, kAttributes, "depth must not be negative");  // C4
  std::vector<Dim> out = dims_of(indices);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), Dim(a.depth));
  return r.tensor_of(out, a.dtype.value_or(r.tensor(1).dtype));
}

void evaluate_one_hot(const OneHotAttrs& a, Args in, Results out) {
  const size_t axis = from_front(a.axis, out[0].rank());
  const Tensor on = in[1].converted(out[0].dtype()), off = in[2].converted(out[0].dtype());
  int64_t n = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& i) {
    std::vector<int64_t> from = i;
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(axis));
    const bool hit = in[0].get_int(offset_of(in[0].shape(), from)) == i[axis];
    copy_element(hit ? on : off, 0, out[0], n++);
  });
}

std::vector<Expr> differentiate_one_hot(Builder& b, const OneHotAttrs& a, const Site& c) {
  const DType dtype = tensor_type_of(c.y).dtype, of_values = c.tensor(1).dtype;
  if (!dtype.is_float() || !of_values.is_float()) return {nullptr, nullptr, nullptr};
  const auto share = [&](double on, double off) {
    const Expr mask = call(b, kOneHot, {c.args[0], scalar_of(b, dtype, on), scalar_of(b, dtype, off)},
                           {{"depth", a.depth}, {"axis", a.axis}});
    const Expr sum = call(b, kSum, {call(b, kMultiply, {c.dy, mask})});
    return dtype == of_values ? sum : call(b, kCast, {sum}, {{"dtype", of_values}});
  };
  return {nullptr, share(1, 0), share(0, 1)};
}

std::vector<kernel::Tensor> lower_one_hot(kernel::Builder& k, const OneHotAttrs& a, const Lowering& c) {
  const size_t axis = from_front(a.axis, c.in[0].rank() + 1);
  return {k.compute("one_hot", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> from = copy_of(i);
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(axis));
    return kernel::select(kernel::equal(index_at(c.in[0], from), i[axis]), kernel::cast(c.dtype(), c.in[1]()),
                          kernel::cast(c.dtype(), c.in[2]()));
  })};
}

}  // namespace

const OpDef kFull = define<InitAttrs>({
    .name = "full",
    .doc = "A tensor of a given shape with one value everywhere.",
    .params = {{"fill_value", "the value, of rank 0"}},
    .fusion = Fusion::kBroadcast,
    .relate = relate_full,
    .expand = expand_full,
});

const OpDef kZeros = define<InitAttrs>({
    .name = "zeros",
    .doc = "A tensor of zeros.",
    .params = {},
    .fusion = Fusion::kBroadcast,
    .relate = relate_init,
    .expand = expand_init<0>,
});

const OpDef kOnes = define<InitAttrs>({
    .name = "ones",
    .doc = "A tensor of ones.",
    .params = {},
    .fusion = Fusion::kBroadcast,
    .relate = relate_init,
    .expand = expand_init<1>,
});

const OpDef kFullLike = define<NoAttrs>({
    .name = "full_like",
    .doc = "One value everywhere, in the shape of another tensor.",
    .params = {{"data", "only its shape matters"}, {"fill_value", "the value, of rank 0"}},
    .fusion = Fusion::kBroadcast,
    .relate = relate_full_like,
    .expand = expand_full_like,
});

const OpDef kZerosLike = define<NoAttrs>({
    .name = "zeros_like",
    .doc = "Zeros in the shape and dtype of another tensor.",
    .params = {{"data", "only its type matters"}},
    .fusion = Fusion::kElementwise,
    .relate = relate_like,
    .evaluate = evaluate_like<0>,
    .differentiate = no_gradient,
    .lower = lower_like<0>,
});

const OpDef kOnesLike = define<NoAttrs>({
    .name = "ones_like",
    .doc = "Ones in the shape and dtype of another tensor.",
    .params = {{"data", "only its type matters"}},
    .fusion = Fusion::kElementwise,
    .relate = relate_like,
    .evaluate = evaluate_like<1>,
    .differentiate = no_gradient,
    .lower = lower_like<1>,
});

const OpDef kIota = define<IotaAttrs>({
    .name = "iota",
    .doc = "Each element is its own index along an axis.",
    .params = {},
    .fusion = Fusion::kInjective,
    .relate = relate_iota,
    .evaluate = evaluate_iota,
    .differentiate = no_arguments,
    .lower = lower_iota,
});

const OpDef kArange = define<ArangeAttrs>({
    .name = "arange",
    .doc = "The numbers from start up to, but without, stop, in steps.",
    .params = {{"start", "the first number"}, {"stop", "not reached"}, {"step", "not 0"}},
    .effects = Effects::kTraps,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = one_product, .terms = terms_of_arange},
    .relate = relate_arange,
    .evaluate = evaluate_arange,
    .differentiate = differentiate_arange,
    .lower = lower_arange,
    .extents = extents_of_arange,
});

const OpDef kOneHot = define<OneHotAttrs>({
    .name = "one_hot",
    .doc = "Each index becomes a row with one value at the index and another one elsewhere.",
    .params = {{"indices", "an index outside [0, depth) gives a row without on_value"},
               {"on_value", "of rank 0"},
               {"off_value", "of rank 0"}},
    .fusion = Fusion::kInjective,
    .relate = relate_one_hot,
    .evaluate = evaluate_one_hot,
    .differentiate = differentiate_one_hot,
    .lower = lower_one_hot,
});

}  // namespace relay::op
