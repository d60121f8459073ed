// Refused: what the user typed cannot be done. The message names the culprit and the remedy; the
// session goes on.
#pragma once

#include <stdexcept>
#include <string>

namespace relay::tools::debug {

struct Refused : std::runtime_error {
  explicit Refused(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace relay::tools::debug
