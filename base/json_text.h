// Values as JSON: the only place that prints any. Texts from outside may hold any bytes
// (base/escape.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace relay {

// Bytes that are not UTF-8 become U+FFFD: a description is for reading. A negative
// indent: one line.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

// For files that are read back. Returns nullopt if some text is not UTF-8.
std::optional<std::string> exact_json_text(const nlohmann::json& value);
std::optional<std::string> exact_json_text(const nlohmann::ordered_json& value);

}  // namespace relay
