// QuantizeLinear and DequantizeLinear in blocks: so many neighbours along an axis have one scale.
#include "base/cat.h"
#include "frontend/onnx/quantised.h"

namespace relay::frontend {
namespace {

using namespace op;

// A scale or zero point, repeated for each element of x.
Expr for_each_element(Node& n, size_t i, Expr x) {
  const TensorType &t = type_of(x), &own = n.tensor(i);
  const int64_t block = n.integer("block_size", 0);
  n.require(block >= 1, "its attribute `block_size` is negative");
  n.require(own.rank() == t.rank(), "its scale and zero point need as many dimensions as its input");
  const size_t axis = n.axis(n.integer("axis", 1), t.rank());
  const Dim extent = t.dims[axis], blocks = own.dims[axis];
  if (!extent.is_const() || !blocks.is_const())
    n.unsupported("quantisation in blocks needs a known extent", "fix the dynamic axis with --input-shapes");
  const int64_t wanted = extent.value() / block + (extent.value() % block == 0 ? 0 : 1);
  if (blocks.value() != wanted) {
    n.invalid(cat(extent.value(), " elements in blocks of ", block, " need ", wanted, " scales, not ",
                  blocks.value()));
  }
  const auto a = static_cast<int64_t>(axis);
  Expr e = n.input(i);
  if (block > extent.value()) {  // there is one, or none
    e = n.call(kRepeat, {e}, {{"repeats", extent.value()}, {"axis", a}});
  } else {
    e = n.call(kRepeat, {e}, {{"repeats", block}, {"axis", a}});
    if (extent.value() % block != 0) e = n.slice(e, axis, 0, extent.value());
  }
  return e;
}

}  // namespace

Expr quantised_in_blocks(Node& n, DType dtype, DType precision) {
  const Expr x = n.input(0);
  const Expr scaled =
      n.call(kDivide, {n.cast(x, precision), n.cast(for_each_element(n, 1, x), precision)});
  // A float16 has no room for the sum of a large number and a zero point.
  Expr whole = n.cast(n.call(kRound, {scaled}), precision.bits < 32 ? kFloat32 : precision);
  const DType wide = type_of(whole).dtype;
  if (n.has(2)) whole = n.call(kAdd, {whole, n.cast(for_each_element(n, 2, x), wide)});
  const int bits = dtype.bits;
  const double low = dtype.is_signed_int() ? -static_cast<double>(int64_t{1} << (bits - 1)) : 0;
  const double high = static_cast<double>((int64_t{1} << (dtype.is_signed_int() ? bits - 1 : bits)) - 1);
  return n.cast(n.call(kClip, {whole}, {{"a_min", low}, {"a_max", high}}), dtype);
}

Expr dequantised_in_blocks(Node& n, DType dtype) {
  const Expr x = n.input(0);
  Expr whole = n.cast(x, kInt32);
  if (n.has(2)) whole = n.call(kSubtract, {whole, n.cast(for_each_element(n, 2, x), kInt32)});
  return n.call(kMultiply, {n.cast(whole, dtype), n.cast(for_each_element(n, 1, x), dtype)});
}

}  // namespace relay::frontend
