#include "frontend/onnx/stored.h"

#include <cmath>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/movers.h"

namespace relay::frontend {

using namespace op;
using data::SmallFloat;
using data::Special;
using data::Storage;

Refusal no_arithmetic(const Storage& storage) {
  return {"unsupported-dtype",
          cat("elements of type ", storage.name,
              " have no meaning for it: only operators that move or "
              "convert elements take them"),
          "make them FLOAT before, with Cast or DequantizeLinear"};
}

// --- Operators that move elements ----------------------------------------------------------------

Moved admit_storage(Node& n) {
  const Mover* mover = find_mover(full_name(n.proto()));
  if (!mover) return {};
  const Storage* storage = nullptr;
  for (size_t i = 0; i < n.inputs(); ++i) {
    if (!n.storage(i)) continue;
    if (!mover->moves(i)) throw no_arithmetic(*n.storage(i));
    storage = n.storage(i);
  }
  if (!storage) return {};
  for (size_t i = 0; i < n.inputs(); ++i) {
    if (mover->moves(i) && n.has(i) && n.storage(i) != storage)
      n.invalid(cat("it mixes elements of type ", storage->name, " with others"));
  }
  if (mover->name == "Pad" && !n.has(2) && n.text("mode", "constant") == "constant" && storage->real &&
      storage->real->special == Special::kScale) {
    n.unsupported(cat("it pads with 0, which no element of type ", storage->name, " is"),
                  "give it the value to pad with");
  }
  n.admit_carriers();
  return {storage, mover->results};
}

// --- Elements ------------------------------------------------------------------------------------

unsigned Element::narrow_bits() const {
  if (storage) return storage->real ? 0 : storage->bits;
  return dtype.is_int() && dtype.bits < 8 ? dtype.bits : 0;
}

Element element_of(Node& n, int64_t code) {
  if (const Storage* storage = data::storage_of_onnx(code)) return {storage->carrier, storage};
  if (const std::optional<DType> dtype = data::dtype_of_onnx(code)) return {*dtype, nullptr};
  n.unsupported(cat("elements of type ", data::onnx_dtype_name(code), " are not supported"));
}

Element element_at(Node& n, size_t i) { return {type_of(n.carrier(i)).dtype, n.storage(i)}; }

void store(Node& n, size_t result, const Element& element) { n.store(result, element.storage); }

namespace {

// The low bits of an integer, as an integer with a sign or without.
Expr low_bits(Node& n, Expr e, unsigned bits) {
  const DType dtype = type_of(e).dtype;
  const auto number = [&](int64_t v) -> Expr { return n.builder().constant(Tensor::scalar_int(dtype, v)); };
  if (!dtype.is_signed_int()) return n.call(kBitwiseAnd, {e, number((int64_t{1} << bits) - 1)});
  const Expr shift = number(dtype.bits - static_cast<int64_t>(bits));
  return n.call(kRightShift, {n.call(kLeftShift, {e, shift}), shift});
}

}  // namespace

Expr numbers_at(Node& n, size_t i) {
  const Element from = element_at(n, i);
  const Expr e = n.carrier(i);
  if (!from.storage) return e;
  return from.small_float() ? decoded(n, e, *from.small_float()) : low_bits(n, e, from.storage->bits);
}

Expr as_elements(Node& n, Expr numbers, const Element& to, const Encoding& encoding) {
  if (to.small_float()) return encoded(n, numbers, *to.small_float(), encoding);
  const DType from = type_of(numbers).dtype;
  if (const unsigned bits = to.narrow_bits()) {
    if (from == to.dtype && !to.storage) return numbers;
    // Out of range ONNX leaves a number with a fraction undefined. It has its low bits here, as an
    // integer has by definition.
    if (from.is_float()) numbers = n.cast(numbers, kInt32);
    return to.storage ? low_bits(n, n.cast(numbers, to.dtype), bits) : n.cast(numbers, to.dtype);
  }
  if (!encoding.saturate || (to.dtype != kFloat8E4M3 && to.dtype != kFloat8E5M2) || from == to.dtype)
    return n.cast(numbers, to.dtype);
  const SmallFloat& format = to.dtype == kFloat8E4M3 ? data::kFormatE4M3 : data::kFormatE5M2;
  const double most = format.value(format.largest());
  const Expr wide = from == kFloat64 ? numbers : n.cast(numbers, kFloat32);
  return n.cast(n.call(kClip, {wide}, {{"a_min", -most}, {"a_max", most}}), to.dtype);
}

// --- Patterns ------------------------------------------------------------------------------------

Expr decoded(Node& n, Expr patterns, const SmallFloat& format) {
  Tensor table(kFloat32, {256});
  for (int64_t p = 0; p < 256; ++p)
    table.as<float>()[static_cast<size_t>(p)] = static_cast<float>(format.value(static_cast<uint8_t>(p)));
  return n.call(kTake, {n.builder().constant(std::move(table)), n.cast(patterns, kInt32)},
                {{"axis", int64_t{0}}});
}

namespace {

// The next number of a dtype above x.
double above(double x, DType wide) {
  if (wide == kFloat64) return std::nextafter(x, INFINITY);
  return static_cast<double>(std::nextafter(static_cast<float>(x), INFINITY));
}

// Powers of two. Numbers outside of their range are judged before they are rounded.
Steps steps_of_scales(const SmallFloat& format, const Encoding& encoding, DType wide) {
  Steps out{format.nan(), {}};
  const auto value = [&](int p) { return format.value(static_cast<uint8_t>(p)); };
  const int last = format.largest();
  out.from.emplace_back(encoding.saturate ? 0.0 : value(0), 0);
  for (int p = 0; p < last; ++p) {
    const double first = encoding.round == RoundMode::kUp     ? above(value(p), wide)
                         : encoding.round == RoundMode::kDown ? value(p + 1)
                                                              : 1.5 * value(p);  // ties go up
    out.from.emplace_back(first, p + 1);
  }
  if (!encoding.saturate) out.from.emplace_back(above(value(last), wide), format.nan());
  out.from.emplace_back(NAN, format.nan());
  return out;
}

}  // namespace

Steps steps_of(const SmallFloat& format, const Encoding& encoding, DType wide) {
  if (!format.has_sign()) return steps_of_scales(format, encoding, wide);
  const int last = format.largest();
  const auto sign = static_cast<uint8_t>(1u << (format.bits - 1));
  const auto value = [&](int p) { return format.value(static_cast<uint8_t>(p)); };
  // The middle between p and the number after it, which behind the last one would be as far away.
  const auto middle = [&](int p) {
    return p < last ? (value(p) + value(p + 1)) / 2 : value(p) + (value(p) - value(p - 1)) / 2;
  };
  const auto negative = [&](int p) -> uint8_t {
    if (p > last) return format.beyond(true);
    return static_cast<uint8_t>(p == 0 && !format.has_negative_zero() ? 0 : sign | p);
  };
  const bool saturates = encoding.saturate || format.special == Special::kNone;
  const int most = saturates ? last - 1 : last;  // the last p whose middle is an end
  Steps out{negative(most + 1), {}};
  // A tie goes to the even one of p and p + 1.
  for (int p = most; p >= 0; --p)
    out.from.emplace_back(p % 2 == 0 ? -middle(p) : above(-middle(p), wide), negative(p));
  out.from.emplace_back(0.0, 0);
  for (int p = 0; p <= most; ++p) {
    const uint8_t pattern = p == last ? format.beyond(false) : static_cast<uint8_t>(p + 1);
    out.from.emplace_back(p % 2 == 0 ? above(middle(p), wide) : middle(p), pattern);
  }
  out.from.emplace_back(NAN, format.nan());
  return out;
}

Expr encoded(Node& n, Expr numbers, const SmallFloat& format, const Encoding& encoding) {
  const DType from = type_of(numbers).dtype;
  // Every integer that matters is a float64. Scales reach down to where float32 is denormal, which
  // engines may take for 0.
  const bool wider = !format.has_sign() || from == kFloat64 || (from.is_int() && from.bits > 16);
  const DType wide = wider ? kFloat64 : kFloat32;
  const Expr x = n.cast(numbers, wide);
  const Steps steps = steps_of(format, encoding, wide);
  const auto count = static_cast<int64_t>(steps.from.size());
  Tensor ends(wide, {count}), patterns(kUInt8, {count + 1});
  patterns.set_int(0, steps.below);
  for (int64_t i = 0; i < count; ++i) {
    const auto& [end, pattern] = steps.from[static_cast<size_t>(i)];
    ends.set(i, end);
    patterns.set_int(i + 1, pattern);
  }
  const Expr place =
      n.call(kSearchSorted, {n.builder().constant(std::move(ends)), x}, {{"right", true}, {"dtype", kInt32}});
  const Expr found =
      n.call(kTake, {n.builder().constant(std::move(patterns)), place}, {{"axis", int64_t{0}}});
  if (!format.has_negative_zero() || !from.is_float()) return found;
  const Expr zero = n.scalar(wide, 0);
  const Expr below = n.call(kLess, {n.call(kDivide, {n.scalar(wide, 1), x}), zero});
  const Expr negative_zero = n.call(kLogicalAnd, {n.call(kEqual, {x, zero}), below});
  const Expr pattern = n.builder().constant(Tensor::scalar_int(kUInt8, int64_t{1} << (format.bits - 1)));
  return n.call(kWhere, {negative_zero, pattern, found});
}

}  // namespace relay::frontend
