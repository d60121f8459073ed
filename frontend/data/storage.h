// Storage: the dtypes of ONNX that no dtype of Relay is.
//
// ONNX has numbers of 2, 4, 6 and 8 bits that few operators compute with. A tensor of them travels
// as a tensor of its *carrier*, one element each:
//
//   a float:          uint8, with the bit pattern; unused high bits are 0
//   UINT2 and INT2:   uint8 and int8, with the value
//
// FLOAT8E4M3FN, FLOAT8E5M2, UINT4 and INT4 are dtypes of Relay and need no carrier.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/dtype.h"

namespace relay::frontend::data {

// What the patterns of a small float mean besides numbers.
enum class Special : uint8_t {
  kNone,      // nothing: every pattern is a number
  kIeee,      // the all-ones exponent is infinity, and NaN with a mantissa
  kAllOnes,   // all ones behind the sign are NaN
  kSignOnly,  // the sign alone is NaN: there is no -0
  kScale,     // powers of two without a sign; all ones are NaN
};

// A binary floating format of at most 8 bits.
struct SmallFloat {
  uint8_t bits, mantissa;
  int8_t bias;
  Special special;

  constexpr bool has_sign() const { return special != Special::kScale; }
  constexpr bool has_negative_zero() const { return has_sign() && special != Special::kSignOnly; }
  // The magnitudes are the patterns 0 to this one, in ascending order.
  uint8_t largest() const;
  // The pattern of NaN. Without one it is that of -0, as the reference implementation has it.
  uint8_t nan() const;
  // What a finite number beyond the range, or infinity, becomes if it does not saturate.
  uint8_t beyond(bool negative) const;
  double value(uint8_t pattern) const;  // bits above the format's do not count
};

inline constexpr SmallFloat kFormatE4M3{8, 3, 7, Special::kAllOnes}, kFormatE5M2{8, 2, 15, Special::kIeee};

struct Storage {
  int32_t code;  // of TensorProto.DataType
  std::string_view name;
  uint8_t bits;
  DType carrier;
  std::optional<SmallFloat> real;  // nothing: an integer
};

// Null for the code of a dtype of Relay, and for one that is not known.
const Storage* storage_of_onnx(int64_t code);

}  // namespace relay::frontend::data
