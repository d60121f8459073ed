// Names and texts of a model within C++ source. Whatever is in them, they stay where they are put.
#pragma once

#include <string>
#include <string_view>

#include "runtime/dtype.h"

namespace relay::aot {

std::string c_literal(std::string_view text);     // a string literal, with its quotes
std::string comment_safe(std::string_view text);  // what could end a comment is `_`
int dlpack_code(DType d);                         // DLDataTypeCode

}  // namespace relay::aot
