// Names for generated text: whatever a model calls things, what is printed is an identifier or a comment.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace relay::kernel {

// Letters, digits and underscores of the text, at most 48 of them; something else becomes an underscore, and a text
// without a single letter or digit becomes "unnamed". Not a keyword, and not a name that the prelude may use.
std::string identifier(std::string_view text);

// The text on one line of printable ASCII that cannot end a comment or continue it on the next line.
std::string comment(std::string_view text);

// The text as a C string literal, quotes included.
std::string quoted(std::string_view text);

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

}  // namespace relay::kernel
