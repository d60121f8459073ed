#include "base/json_text.h"

#include <nlohmann/json.hpp>

namespace relay {
namespace {

constexpr char kDelete = 0x7f;

// DEL is the only control character that JSON leaves as it is. It can stand in strings alone.
template <class Json>
std::string dumped(const Json& value, int indent, typename Json::error_handler_t on_error) {
  std::string out = value.dump(indent, ' ', false, on_error);
  for (size_t at = out.find(kDelete); at != std::string::npos; at = out.find(kDelete, at))
    out.replace(at, 1, "\\u007f");
  return out;
}

template <class Json>
std::optional<std::string> exactly_dumped(const Json& value) {
  try {
    return dumped(value, -1, Json::error_handler_t::strict);
  } catch (const typename Json::type_error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string json_text(const nlohmann::json& value, int indent) {
  return dumped(value, indent, nlohmann::json::error_handler_t::replace);
}
std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return dumped(value, indent, nlohmann::ordered_json::error_handler_t::replace);
}
std::optional<std::string> exact_json_text(const nlohmann::json& value) { return exactly_dumped(value); }
std::optional<std::string> exact_json_text(const nlohmann::ordered_json& value) {
  return exactly_dumped(value);
}

}  // namespace relay
