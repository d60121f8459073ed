#include "aot/c_text.h"

#include <fmt/format.h>

namespace relay::aot {

std::string c_literal(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?' || byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string comment_safe(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f || c == '*' || c == '/' || c == '\\' ? '_' : c;
  }
  return out;
}

int dlpack_code(DType d) {
  switch (d.code) {
    case DTypeCode::kInt: return 0;          // kDLInt
    case DTypeCode::kUInt: return 1;         // kDLUInt
    case DTypeCode::kFloat: return 2;        // kDLFloat
    case DTypeCode::kBFloat: return 4;       // kDLBfloat
    case DTypeCode::kBool: return 6;         // kDLBool
    case DTypeCode::kFloat8E4M3: return 10;  // kDLFloat8_e4m3fn
    case DTypeCode::kFloat8E5M2: return 12;  // kDLFloat8_e5m2
  }
  return 0;
}

}  // namespace relay::aot
