#include "frontend/data/written_value.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "base/cat.h"
#include "base/counted.h"
#include "base/trimmed.h"
#include "frontend/data/inputs.h"

namespace relay::frontend::data {
namespace {

constexpr std::string_view kBlanks = " ";

bool is_truth(std::string_view text) { return text == "true" || text == "false"; }

// The whole text as a number. False if it is none, or none that a T holds.
template <class T>
bool read(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // What is too large for any dtype is a number nevertheless.
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

// Stores an element; false if the dtype does not hold it.
bool store(std::string_view text, Tensor& to, int64_t at) {
  const DType dtype = to.dtype();
  if (dtype.is_bool()) {
    if (is_truth(text)) to.set_int(at, text == "true");
    return is_truth(text);
  }
  if (dtype == kUInt64) {
    uint64_t value = 0;
    if (!read(text, value)) return false;
    to.set_int(at, static_cast<int64_t>(value));
    return true;
  }
  if (dtype.is_int()) {
    int64_t value = 0;
    if (!read(text, value)) return false;
    to.set_int(at, value);
    return to.get_int(at) == value;
  }
  double value = 0;
  if (!read(text, value)) return false;
  to.set(at, value);
  return std::isfinite(to.get(at)) || !std::isfinite(value);
}

}  // namespace

std::optional<WrittenValue> parse_value(std::string_view text) {
  text = trimmed(text, kBlanks);
  WrittenValue out;
  if (is_tensor_file(text)) {
    out.file = text;
    return out;
  }
  out.is_list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (out.is_list) text = trimmed(text.substr(1, text.size() - 2), kBlanks);
  if (out.is_list && text.empty()) return out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(out.is_list ? text.find(',', begin) : text.size(), text.size());
    const std::string_view element = trimmed(text.substr(begin, end - begin), kBlanks);
    if (!is_truth(element) && !is_number(element)) return std::nullopt;
    out.elements.emplace_back(element);
    begin = end + 1;
  }
  return out;
}

std::string show(const WrittenValue& value) {
  if (!value.file.empty()) return cat("`", value.file, "`");
  return value.is_list ? cat("[", join(value.elements, ", "), "]") : value.elements[0];
}

std::string make_tensor(const WrittenValue& value, DType dtype, const Shape& shape, Tensor& out) {
  if (!value.file.empty()) {
    out = value.tensor;
    const bool same = out.dtype() == dtype && out.shape() == shape;
    return same ? std::string()
                : cat("it holds Tensor[", relay::show(out.shape()), ", ", out.dtype().name(),
                      "], not Tensor[", relay::show(shape), ", ", dtype.name(), "]");
  }
  out = Tensor(dtype, shape);
  if (value.is_list && value.elements.size() != static_cast<uint64_t>(out.size()))
    return cat("it has ", counted(out.size(), "element"), " and the list ", value.elements.size());
  for (int64_t i = 0; i < out.size(); ++i) {
    const std::string& element = value.elements[value.is_list ? static_cast<size_t>(i) : 0];
    if (!store(element, out, i)) return cat("`", element, "` is no ", dtype.name());
  }
  return {};
}

}  // namespace relay::frontend::data
