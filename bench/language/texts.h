// Large programs, by what they mostly consist of.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace relay::bench {

struct Text {
  std::string_view name, doc;
  std::string (*make)(int nodes);  // about so many expressions
};

std::span<const Text> texts();

}  // namespace relay::bench
