#include "frontend/data/storage.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace relay::frontend::data {
namespace {

constexpr Storage kStorages[] = {
    {18, "FLOAT8E4M3FNUZ", 8, kUInt8, SmallFloat{8, 3, 8, Special::kSignOnly}},
    {20, "FLOAT8E5M2FNUZ", 8, kUInt8, SmallFloat{8, 2, 16, Special::kSignOnly}},
    {23, "FLOAT4E2M1", 4, kUInt8, SmallFloat{4, 1, 1, Special::kNone}},
    {24, "FLOAT8E8M0", 8, kUInt8, SmallFloat{8, 0, 127, Special::kScale}},
    {25, "UINT2", 2, kUInt8, {}},
    {26, "INT2", 2, kInt8, {}},
    {27, "FLOAT6E2M3", 6, kUInt8, SmallFloat{6, 3, 1, Special::kNone}},
    {28, "FLOAT6E3M2", 6, kUInt8, SmallFloat{6, 2, 3, Special::kNone}},
};

constexpr uint8_t sign_bit(const SmallFloat& f) { return static_cast<uint8_t>(1u << (f.bits - 1)); }

}  // namespace

uint8_t SmallFloat::largest() const {
  const uint8_t ones = static_cast<uint8_t>(sign_bit(*this) - 1);
  switch (special) {
    case Special::kNone:
    case Special::kSignOnly: return ones;
    case Special::kIeee: return static_cast<uint8_t>(ones - (1u << mantissa));
    case Special::kAllOnes: return static_cast<uint8_t>(ones - 1);
    case Special::kScale: return 0xfe;
  }
  __builtin_unreachable();
}

uint8_t SmallFloat::nan() const {
  const uint8_t sign = sign_bit(*this), ones = static_cast<uint8_t>(sign - 1);
  switch (special) {
    case Special::kNone:
    case Special::kSignOnly: return sign;
    case Special::kIeee: return static_cast<uint8_t>(ones - (1u << mantissa) + 1 + (1u << (mantissa - 1)));
    case Special::kAllOnes: return ones;
    case Special::kScale: return 0xff;
  }
  __builtin_unreachable();
}

uint8_t SmallFloat::beyond(bool negative) const {
  const uint8_t sign = negative ? sign_bit(*this) : 0;
  switch (special) {
    case Special::kNone: return static_cast<uint8_t>(sign | largest());
    case Special::kIeee: return static_cast<uint8_t>(sign | (largest() + 1));
    case Special::kAllOnes: return static_cast<uint8_t>(sign | nan());
    case Special::kSignOnly:
    case Special::kScale: return nan();
  }
  __builtin_unreachable();
}

double SmallFloat::value(uint8_t pattern) const {
  pattern = static_cast<uint8_t>(pattern & (sign_bit(*this) * 2u - 1));
  if (special == Special::kScale) return pattern == nan() ? NAN : std::ldexp(1.0, pattern - bias);
  if (special == Special::kSignOnly && pattern == nan()) return NAN;
  const uint8_t magnitude = static_cast<uint8_t>(pattern & (sign_bit(*this) - 1));
  const double sign = magnitude == pattern ? 1 : -1;
  if (magnitude > largest()) {
    return special == Special::kIeee && magnitude == largest() + 1 ? sign * INFINITY : NAN;
  }
  const int exponent = magnitude >> mantissa, fraction = magnitude & ((1 << mantissa) - 1);
  const int whole = exponent == 0 ? fraction : fraction + (1 << mantissa);
  return sign * std::ldexp(whole, std::max(exponent, 1) - bias - mantissa);
}

const Storage* storage_of_onnx(int64_t code) {
  const auto* found = std::find_if(std::begin(kStorages), std::end(kStorages),
                                   [&](const Storage& s) { return s.code == code; });
  return found == std::end(kStorages) ? nullptr : found;
}

}  // namespace relay::frontend::data
