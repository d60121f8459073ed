// QuantizeLinear and DequantizeLinear: with a scale for the tensor, for each index of an axis, or
// for each block along an axis; to and from integers of 2 to 16 bits and small floats.
#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/stored.h"
#include "op/tensor/common.h"

namespace relay::frontend {
namespace {

using namespace op;

// A scale or zero point: a scalar, or a tensor. A list of one is a scalar.
Expr parameter_of(Node& n, Expr e) {
  const TensorType& t = type_of(e);
  return t.rank() == 1 && t.dims[0] == Dim(1) ? n.reshape(e, {}) : e;
}

// Which elements share a scale and a zero point that are no scalars.
struct Granularity {
  int64_t axis = 1, block = 0;  // of 0: all with the same index of the axis

  explicit Granularity(Node& n) : axis(n.integer("axis", 1)), block(n.integer("block_size", 0)) {
    n.require(block >= 0, "its attribute `block_size` is negative");
  }
  // A scale or a zero point. If the data have no such axis, there is one for all: a run compares.
  Expr parameter(Node& n, Expr e) const {
    e = parameter_of(n, e);
    const auto rank = static_cast<int64_t>(type_of(n.carrier(0)).rank());
    const bool has_axis = axis >= -rank && axis < rank;
    if (has_axis || type_of(e).rank() != 1 || type_of(e).dims[0].is_const()) return e;
    return n.reshape(n.importer().match_extents(e, {Dim(1)}, "parameter"), {});
  }
  size_t axis_of(Node& n) const { return n.axis(axis, type_of(n.carrier(0)).rank()); }
  // For the operators that have one scale for each index of an axis.
  int64_t axis_of(Node& n, Expr scale) const {
    return type_of(scale).rank() == 0 ? -1 : static_cast<int64_t>(axis_of(n));
  }
};

// A block's parameter at each element of the block.
Expr repeated(Node& n, Expr e, size_t axis, int64_t block) {
  const std::vector<Dim> data = dims_of(n.carrier(0)), own = dims_of(e);
  n.require(own.size() == data.size(), "in blocks, scale and zero point need as many dimensions as the data");
  for (size_t i = 0; i < data.size(); ++i) {
    n.require(i == axis || own[i] == data[i] || !own[i].is_const() || !data[i].is_const(),
              cat("its scale or zero point has ", show(own[i]), " indices along axis ", i, " and the data ",
                  show(data[i])));
  }
  const Dim extent = data[axis], blocks = own[axis], needed = ceil_div(extent, Dim(block));
  if (any_unknown(data))
    n.unsupported("how its blocks divide the axis depends on the data",
                  "fix the dynamic axes with --input-shapes");
  n.require(prove_equal(blocks, needed) != kernel::Proof::kRefuted,
            cat("an axis of ", show(extent), " in blocks of ", block, " needs ", show(needed),
                " scales, not ", show(blocks)));
  if (extent.is_const() && blocks.is_const()) {
    const int64_t times = std::min(block, std::max<int64_t>(extent.value(), 1));
    const Expr all = n.call(kRepeat, {e}, {{"repeats", times}, {"axis", static_cast<int64_t>(axis)}});
    return n.slice(all, axis, 0, extent.value());
  }
  std::vector<Dim> wanted = data;
  wanted[axis] = needed;
  const Expr size = n.builder().constant(Tensor::scalar_int(kInt64, block));
  return n.call(
      kTake,
      {n.importer().match_extents(e, wanted, "parameter"), n.call(kFloorDivide, {n.places({extent}), size})},
      {{"axis", static_cast<int64_t>(axis)}, {"mode", std::string("fast")}});
}

// A parameter so that it broadcasts with the data, and does not make it larger.
Expr spread(Node& n, const Granularity& g, Expr e) {
  if (type_of(e).rank() == 0) return e;
  const size_t axis = g.axis_of(n), rank = type_of(n.carrier(0)).rank();
  const Dim extent = dims_of(n.carrier(0))[axis];
  if (g.block > 0) return repeated(n, e, axis, g.block);
  n.require(type_of(e).rank() == 1, "its scale and zero point must have at most one dimension");
  const Dim own = type_of(e).dims[0];
  n.require(own == extent || !own.is_const() || !extent.is_const(),
            cat("its axis has ", show(extent), " indices, and its scale or zero point has ", show(own)));
  return axis + 1 == rank ? e : n.expand_dims(e, 1, static_cast<int64_t>(rank - axis - 1));
}

bool same(const Element& a, const Element& b) { return a.dtype == b.dtype && a.storage == b.storage; }

void require_quantised(Node& n, const Element& e, bool also_int32) {
  const data::SmallFloat* small = e.small_float();
  const bool ok = e.storage ? !small || small->has_sign()
                  : e.is_float()
                      ? e.dtype.bits == 8
                      : e.dtype.is_int() && (e.dtype.bits <= 16 || (also_int32 && e.dtype == kInt32));
  if (ok) return;
  n.unsupported(cat("quantisation to ", e.storage ? e.storage->name : e.dtype.name(), " is not supported"),
                "integers of 2 to 16 bits and signed floats of 4 to 8 bits are");
}

// --- QuantizeLinear ------------------------------------------------------------------------------

Element target_of(Node& n) {
  const int64_t code = n.integer("output_dtype", 0);
  if (!n.has(2)) return code ? element_of(n, code) : Element{kUInt8};
  const Element zero = element_at(n, 2);
  n.require(!code || same(zero, element_of(n, code)),
            "its attribute `output_dtype` is not the type of its zero point");
  return zero;
}

// What the division is computed in. ONNX leaves open what it is for scales that are integers
// (float64 here) and powers of two (float32).
DType precision_of(Node& n) {
  if (const int64_t code = n.integer("precision", 0)) {
    const Element asked = element_of(n, code);
    n.require(!asked.storage && asked.is_float() && asked.dtype.bits >= 16,
              "its attribute `precision` is not FLOAT, FLOAT16, BFLOAT16 or DOUBLE");
    return asked.dtype;
  }
  const Element scale = element_at(n, 1);
  return scale.storage ? kFloat32 : scale.is_float() ? scale.dtype : kFloat64;
}

// The ends of an integer of at most 16 bits.
std::pair<double, double> ends_of(const Element& e) {
  const int bits = e.storage ? e.storage->bits : e.dtype.bits;
  if (e.dtype.is_signed_int()) return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  return {0, std::ldexp(1.0, bits) - 1};
}

Results quantize_linear(Node& n) {
  const Element to = target_of(n);
  require_quantised(n, to, false);
  store(n, 0, to);
  const Granularity g(n);
  const Encoding encoding{.saturate = n.integer("saturate", 1) != 0, .round = RoundMode::kUp};
  const DType precision = precision_of(n);
  const Expr scale = n.cast(g.parameter(n, numbers_at(n, 1)), precision);
  const Expr x = n.cast(n.input(0), precision);
  // ONNX Runtime's own operator divides in float32.
  const bool plain = precision == kFloat32 || precision == kFloat64 || !is_of_onnx(n.proto());
  if (plain && to.dtype.is_int() && !to.storage && to.dtype.bits >= 8 && g.block == 0) {
    const Expr zero = n.has(2) ? g.parameter(n, n.input(2)) : n.call(kZerosLike, {scale});
    return {n.call(kQnnQuantize, {x, scale, n.cast(zero, kInt32)},
                   {{"axis", g.axis_of(n, scale)}, {"out_dtype", to.dtype}})};
  }
  Expr q = n.call(kDivide, {x, spread(n, g, scale)});
  if (to.is_float()) {
    if (n.has(2)) {
      const Expr zero = n.cast(spread(n, g, g.parameter(n, numbers_at(n, 2))), precision);
      q = n.call(kAdd, {q, zero});
    }
    return {as_elements(n, q, to, encoding)};
  }
  q = n.call(kRound, {q});
  if (precision.bits < 32) q = n.cast(q, kFloat32);
  if (n.has(2)) {
    const Expr zero = spread(n, g, g.parameter(n, numbers_at(n, 2)));
    q = n.call(kAdd, {q, n.cast(zero, type_of(q).dtype)});
  }
  const auto [low, high] = ends_of(to);
  return {as_elements(n, n.call(kClip, {q}, {{"a_min", low}, {"a_max", high}}), to, {})};
}

// --- DequantizeLinear ----------------------------------------------------------------------------

DType result_of(Node& n) {
  const int64_t code = n.integer("output_dtype", 0);
  const Element out = code ? element_of(n, code) : element_at(n, 1);
  n.require(!out.storage && out.is_float() && out.dtype.bits >= 16,
            code ? "its attribute `output_dtype` is no floating-point type"
                 : "the type of its scale is no type of results: it needs the attribute `output_dtype`");
  return out.dtype;
}

Results dequantize_linear(Node& n) {
  const Element from = element_at(n, 0);
  require_quantised(n, from, true);
  const Granularity g(n);
  const DType out = result_of(n);
  n.require(!n.has(2) || same(from, element_at(n, 2)), "its zero point has another type than its data");
  const Expr scale = g.parameter(n, numbers_at(n, 1));
  const Expr x = numbers_at(n, 0);
  const DType wide = out == kFloat64 ? kFloat64 : kFloat32, steps = from.is_float() ? wide : kInt32;
  const Expr zero = n.has(2) ? n.cast(g.parameter(n, numbers_at(n, 2)), steps) : nullptr;
  if (!from.is_float() && !n.storage(1) && g.block == 0) {
    const Expr point = zero ? zero : n.cast(n.call(kZerosLike, {scale}), kInt32);
    return {n.call(kQnnDequantize, {x, scale, point}, {{"axis", g.axis_of(n, scale)}, {"out_dtype", out}})};
  }
  Expr d = n.cast(x, steps);
  if (zero) d = n.call(kSubtract, {d, spread(n, g, zero)});
  const Expr y = n.call(kMultiply, {n.cast(d, wide), n.cast(spread(n, g, scale), wide)});
  return {n.cast(y, out)};
}

constexpr Row kRows[] = {
    {"DequantizeLinear", 10, dequantize_linear},
    {"QuantizeLinear", 10, quantize_linear},
    {"com.microsoft.DequantizeLinear", 1, dequantize_linear},
    {"com.microsoft.QuantizeLinear", 1, quantize_linear},
};

}  // namespace

std::span<const Row> linear_quantisation_rows() { return kRows; }

}  // namespace relay::frontend
