// cat(a, b, ...): the text of its arguments, one after the other: texts, numbers, bools and chars.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace relay {

// What `cat` takes: a text, which must live until it is appended, or a value. Most files include
// this, so the work is done elsewhere: no call makes a formatter of its own.
class Piece {
 public:
  Piece(std::string_view text) : kind_(Kind::kText), text_(text) {}
  Piece(const std::string& text) : Piece(std::string_view(text)) {}
  Piece(const char* text) : Piece(std::string_view(text)) {}
  // No pointer is a bool here.
  Piece(std::same_as<bool> auto value)
      : Piece(value ? std::string_view("true") : std::string_view("false")) {}
  Piece(char value) : kind_(Kind::kChar), char_(value) {}
  Piece(std::signed_integral auto value) : kind_(Kind::kSigned), signed_(value) {}
  Piece(std::unsigned_integral auto value)
    requires(!std::same_as<decltype(value), bool>)
      : kind_(Kind::kUnsigned), unsigned_(value) {}
  Piece(float value) : kind_(Kind::kFloat), float_(value) {}
  Piece(double value) : kind_(Kind::kDouble), double_(value) {}

  void append_to(std::string& out) const;

 private:
  enum class Kind : uint8_t { kText, kChar, kSigned, kUnsigned, kFloat, kDouble };
  Kind kind_;
  union {
    std::string_view text_;
    char char_;
    int64_t signed_;
    uint64_t unsigned_;
    float float_;  // written with as few digits as tell it from other floats
    double double_;
  };
};

std::string concatenate(std::initializer_list<Piece> pieces);

template <class... Args>
std::string cat(const Args&... args) {
  return concatenate({Piece(args)...});
}

// join({"a", "b"}, ", ") == "a, b"; `show` turns an item into something that cat takes.
template <class Items, class Show>
std::string join(const Items& items, std::string_view separator, Show&& show) {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    const auto& shown = show(item);
    Piece(shown).append_to(out);
  }
  return out;
}
template <class Items>
std::string join(const Items& items, std::string_view separator) {
  return join(items, separator, [](const auto& item) -> const auto& { return item; });
}

}  // namespace relay
