// Names for generated text: each identifier (base/escape.h) means one thing.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace relay::kernel::print {

// True if the identifier occurs in the text as a whole word, and not as a member of something.
bool has_word(std::string_view text, std::string_view word);

// Hands out identifiers, each only once.
class Names {
 public:
  std::string unique(std::string_view wanted);
  // Nobody is given this one.
  void take(std::string_view name) { taken_.try_emplace(std::string(name), 2); }

 private:
  std::unordered_map<std::string, int> taken_;  // and the number to try next
};

}  // namespace relay::kernel::print
