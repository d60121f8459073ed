// What is wrong with a test file, or with a value that is written in one.
#pragma once

#include <stdexcept>

namespace relay::tools {

// The message names the file, or the text and the place in it.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace relay::tools
