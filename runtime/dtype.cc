#include "runtime/dtype.h"

#include <bit>
#include <cmath>

namespace relay {
namespace {

// A small binary floating format: 1 sign bit, `exponent` bits, `mantissa` bits.
struct Format {
  int exponent, mantissa;
  bool infinity;  // false: the all-ones exponent holds numbers, and all ones everywhere is NaN
};

Format format_of(DType d) {
  switch (d.code) {
    case DTypeCode::kBFloat: return {8, 7, true};
    case DTypeCode::kFloat8E4M3: return {4, 3, false};
    case DTypeCode::kFloat8E5M2: return {5, 2, true};
    default: return {5, 10, true};
  }
}

}  // namespace

double DType::unit_roundoff() const {
  switch (code) {
    case DTypeCode::kFloat: return bits == 64 ? 0x1p-53 : bits == 32 ? 0x1p-24 : 0x1p-11;
    case DTypeCode::kBFloat: return 0x1p-8;
    case DTypeCode::kFloat8E4M3: return 0x1p-4;
    case DTypeCode::kFloat8E5M2: return 0x1p-3;
    default: return 0;
  }
}

std::string DType::name() const {
  switch (code) {
    case DTypeCode::kBool: return "bool";
    case DTypeCode::kInt: return "int" + std::to_string(bits);
    case DTypeCode::kUInt: return "uint" + std::to_string(bits);
    case DTypeCode::kFloat: return "float" + std::to_string(bits);
    case DTypeCode::kBFloat: return "bfloat16";
    case DTypeCode::kFloat8E4M3: return "float8_e4m3";
    case DTypeCode::kFloat8E5M2: return "float8_e5m2";
  }
  return "unknown";
}

std::optional<DType> DType::parse(std::string_view name) {
  static constexpr DType kAll[] = {kBool,    kInt4,    kInt8,     kInt16,      kInt32,     kInt64,
                                   kUInt4,   kUInt8,   kUInt16,   kUInt32,     kUInt64,    kFloat16,
                                   kFloat32, kFloat64, kBFloat16, kFloat8E4M3, kFloat8E5M2};
  for (DType d : kAll) {
    if (d.name() == name) return d;
  }
  if (name == "int") return kInt32;
  if (name == "uint") return kUInt32;
  if (name == "float") return kFloat32;
  return std::nullopt;
}

float float_of_bits(DType dtype, uint16_t bits) {
  const Format f = format_of(dtype);
  const int width = 1 + f.exponent + f.mantissa;
  const bool negative = (bits >> (width - 1)) & 1;
  const int exponent = (bits >> f.mantissa) & ((1 << f.exponent) - 1);
  const int mantissa = bits & ((1 << f.mantissa) - 1);
  const int bias = (1 << (f.exponent - 1)) - 1;
  const int top = (1 << f.exponent) - 1;
  float magnitude;
  if (exponent == top && f.infinity) {
    magnitude = mantissa ? NAN : INFINITY;
  } else if (exponent == top && !f.infinity && mantissa == (1 << f.mantissa) - 1) {
    magnitude = NAN;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), 1 - bias - f.mantissa);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa + (1 << f.mantissa)), exponent - bias - f.mantissa);
  }
  return negative ? -magnitude : magnitude;
}

uint16_t bits_of_double(DType dtype, double value) {
  const Format f = format_of(dtype);
  const int width = 1 + f.exponent + f.mantissa;
  const int bias = (1 << (f.exponent - 1)) - 1;
  const int top = (1 << f.exponent) - 1;
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 1 << (width - 1) : 0);
  const auto nan = static_cast<uint16_t>(f.infinity ? (top << f.mantissa) | (1 << (f.mantissa - 1))
                                                    : (1 << (width - 1)) - 1);
  const auto beyond = static_cast<uint16_t>(f.infinity ? top << f.mantissa : nan);
  if (std::isnan(value)) return sign | nan;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(value)) return sign | beyond;
  int exponent;
  std::frexp(magnitude, &exponent);                    // magnitude = [0.5, 1) * 2^exponent
  const int scale = std::max(exponent - 1, 1 - bias);  // subnormal below 1 - bias
  const double units = std::nearbyint(std::ldexp(magnitude, f.mantissa - scale));  // ties to even
  auto whole = static_cast<int64_t>(units);
  int64_t encoded;
  if (whole < (int64_t{1} << f.mantissa)) {
    encoded = whole;  // subnormal
  } else {
    encoded = (static_cast<int64_t>(scale + bias) << f.mantissa) + whole - (int64_t{1} << f.mantissa);
  }
  const int64_t largest = f.infinity ? (static_cast<int64_t>(top) << f.mantissa) - 1 : (1 << (width - 1)) - 2;
  if (encoded > largest) return sign | beyond;
  return sign | static_cast<uint16_t>(encoded);
}

uint16_t bits_of_float(DType dtype, float value) { return bits_of_double(dtype, value); }

double real_of_integer(DType to, DType from, int64_t value) {
  const bool upper = from.is_unsigned_int() && value < 0;  // of uint64
  const auto bits = static_cast<uint64_t>(value);
  if (to == kFloat64) return upper ? static_cast<double>(bits) : static_cast<double>(value);
  if (to == kFloat32) return upper ? static_cast<float>(bits) : static_cast<float>(value);
  // A double holds 53 bits. Of a larger number it gets the first ones and, in the last place,
  // whether others follow ("rounded to odd"): rounding that again is rounding once.
  const uint64_t magnitude = upper || value >= 0 ? bits : 0 - bits;
  const uint64_t odd = (magnitude >> 11) | ((magnitude & 2047) != 0);
  const double wide =
      magnitude >> 53 ? std::ldexp(static_cast<double>(odd), 11) : static_cast<double>(magnitude);
  return float_of_bits(to, bits_of_double(to, upper || value >= 0 ? wide : -wide));
}

int64_t integer_of_real(DType to, double value) {
  if (std::isnan(value)) return 0;
  const bool is_signed = to.is_signed_int();
  const double end = std::ldexp(1.0, to.bits - is_signed);  // the first number that is too large
  const uint64_t most = ~uint64_t{0} >> (64 - to.bits + is_signed);
  if (value >= end) return static_cast<int64_t>(most);
  if (is_signed) return value <= -end ? -static_cast<int64_t>(most) - 1 : static_cast<int64_t>(value);
  return value <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(value));
}

}  // namespace relay
