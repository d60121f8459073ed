// DType: the type of a tensor's elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace relay {

enum class DTypeCode : uint8_t { kBool, kInt, kUInt, kFloat, kBFloat, kFloat8E4M3, kFloat8E5M2 };

struct DType {
  DTypeCode code = DTypeCode::kFloat;
  uint8_t bits = 32;

  friend constexpr bool operator==(DType, DType) = default;
  friend constexpr auto operator<=>(DType, DType) = default;

  constexpr bool is_bool() const { return code == DTypeCode::kBool; }
  constexpr bool is_int() const { return code == DTypeCode::kInt || code == DTypeCode::kUInt; }
  constexpr bool is_signed_int() const { return code == DTypeCode::kInt; }
  constexpr bool is_unsigned_int() const { return code == DTypeCode::kUInt; }
  constexpr bool is_float() const { return code >= DTypeCode::kFloat; }

  // Bytes of one element in memory. 4-bit integers take a byte each (sign- or zero-extended).
  constexpr size_t bytes() const { return bits < 8 ? 1 : bits / 8; }
  // u, the unit round-off, of a floating type; 0 for the others.
  double unit_roundoff() const;

  std::string name() const;  // "float32", "bool", "int8", "bfloat16", "float8_e4m3"
  static std::optional<DType> parse(std::string_view name);
};

inline constexpr DType kBool{DTypeCode::kBool, 8};
inline constexpr DType kInt4{DTypeCode::kInt, 4}, kInt8{DTypeCode::kInt, 8}, kInt16{DTypeCode::kInt, 16},
    kInt32{DTypeCode::kInt, 32}, kInt64{DTypeCode::kInt, 64};
inline constexpr DType kUInt4{DTypeCode::kUInt, 4}, kUInt8{DTypeCode::kUInt, 8},
    kUInt16{DTypeCode::kUInt, 16}, kUInt32{DTypeCode::kUInt, 32}, kUInt64{DTypeCode::kUInt, 64};
inline constexpr DType kFloat16{DTypeCode::kFloat, 16}, kFloat32{DTypeCode::kFloat, 32},
    kFloat64{DTypeCode::kFloat, 64}, kBFloat16{DTypeCode::kBFloat, 16};
inline constexpr DType kFloat8E4M3{DTypeCode::kFloat8E4M3, 8}, kFloat8E5M2{DTypeCode::kFloat8E5M2, 8};

// The number of small floating formats, as raw bits. Rounding is to nearest, ties to even;
// float8_e4m3 has no infinity and saturates to NaN, as in the OCP specification of 8-bit floats.
float float_of_bits(DType dtype, uint16_t bits);
uint16_t bits_of_float(DType dtype, float value);
uint16_t bits_of_double(DType dtype, double value);  // one rounding, straight from double

// Conversions between integers and floating point. An integer is held as int64, a
// uint64 by its bits.
//
// The value of an integer of dtype `from` in the floating dtype `to`: rounded once, to
// nearest, ties to even.
double real_of_integer(DType to, DType from, int64_t value);
// A number as an integer of dtype `to`, 4 bits included: truncated. NaN is 0, and beyond the
// dtype's range is its nearest end.
int64_t integer_of_real(DType to, double value);

}  // namespace relay
