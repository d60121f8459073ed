// Values of tensors as people write them: 16000, true, [1, 2.5, -3].
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor.h"

namespace relay::data {

struct WrittenValue {
  std::vector<std::string> elements;  // numbers, `true`, `false`
  bool is_list = false;               // in brackets; otherwise it is the value of every element
};

// Nothing if the text is neither a number, a truth value nor a list of them.
std::optional<WrittenValue> parse_value(std::string_view text);
std::string show(const WrittenValue& value);  // as it was written

// The tensor of this dtype and shape, whose elements a list gives in row-major order. Returns why there is none, or an empty
// text: an element that the dtype does not hold, or a list of another length.
std::string make_tensor(const WrittenValue& value, DType dtype, const Shape& shape, Tensor& out);

}  // namespace relay::data
