// Slug: the stable name of one kind of diagnostic, as `unknown-variable`.
//
// base/slugs.txt registers each slug with its cause and its remedy. A literal becomes a Slug when
// the compiler runs, so a word that is not registered does not compile. Code that passes a slug on
// has the type Slug, and never a string.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace relay {

// What is at fault. Of several errors the last of these counts: what is unsupported may be why the
// rest looks wrong.
enum class Fault : uint8_t {
  kModel,        // it does not parse, type check or hold together
  kUnsupported,  // it is right, but something in it, or on this machine, is not supported
  kUsage,        // what the user says of it: options, names, shapes
  kLimit,        // a limit was reached, or a result could not be written
  kBug,          // Relay
};

}  // namespace relay

#include "base/slug_names.inc"

namespace relay {

// Is not constexpr: a compiler that reports a call of it found a word that base/slugs.txt lacks.
void this_word_is_not_in_base_slugs_txt();

class Slug {
 public:
  template <size_t N>
  consteval Slug(const char (&word)[N]) : Slug(checked({word, N - 1})) {}

  // Returns nullopt if no such slug is registered.
  static constexpr std::optional<Slug> find(std::string_view word) {
    const auto at = std::lower_bound(kSlugNames.begin(), kSlugNames.end(), word);
    if (at == kSlugNames.end() || *at != word) return std::nullopt;
    return Slug(static_cast<uint16_t>(at - kSlugNames.begin()));
  }
  static constexpr std::span<const std::string_view> all_names() { return kSlugNames; }  // sorted

  constexpr std::string_view name() const { return kSlugNames[index_]; }
  constexpr Fault fault() const { return kSlugFaults[index_]; }
  std::string_view cause() const;   // one line: what is wrong
  std::string_view remedy() const;  // one line: what the user can do

  friend constexpr bool operator==(Slug a, Slug b) { return a.index_ == b.index_; }

 private:
  explicit constexpr Slug(uint16_t index) : index_(index) {}

  static constexpr Slug checked(std::string_view word) {
    const std::optional<Slug> found = find(word);
    if (!found) this_word_is_not_in_base_slugs_txt();
    return *found;
  }

  uint16_t index_;
};

}  // namespace relay
