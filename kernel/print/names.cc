#include "kernel/print/names.h"

#include "base/cat.h"
#include "base/escape.h"

namespace relay::kernel::print {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; }

}  // namespace

bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || (!is_word(text[at - 1]) && text[at - 1] != '.')) &&
        (end == text.size() || !is_word(text[end])))
      return true;
  }
  return false;
}

std::string Names::unique(std::string_view wanted) {
  const std::string name = c_identifier(wanted);
  std::string candidate = name;
  if (!taken_.try_emplace(name, 2).second) {
    int& next = taken_[name];
    do {
      candidate = cat(name, "_", next++);
    } while (taken_.contains(candidate));
    taken_.emplace(candidate, 2);
  }
  return candidate;
}

}  // namespace relay::kernel::print
