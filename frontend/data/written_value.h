// Values of tensors as people write them: 16000, true, [1, 2.5, -3], or w.npy, a
// file that holds it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor.h"

namespace relay::frontend::data {

struct WrittenValue {
  std::vector<std::string> elements;  // numbers, `true`, `false`
  bool is_list = false;               // in brackets; otherwise it is the value of every element
  std::string file = {};              // the value itself if it is not empty, with no elements
  Tensor tensor = {};                 // what the file holds: to be read by who uses the value
};

// Nothing if the text is neither a number, a truth value, a list of them nor the path of a file of
// tensors. No file is read.
std::optional<WrittenValue> parse_value(std::string_view text);
std::string show(const WrittenValue& value);  // as it was written

// The tensor of this dtype and shape, whose elements a list gives in row-major order. Returns why
// there is none, or an empty text: an element that the dtype does not hold, a list of another
// length, or a file that holds something else.
std::string make_tensor(const WrittenValue& value, DType dtype, const Shape& shape, Tensor& out);

}  // namespace relay::frontend::data
