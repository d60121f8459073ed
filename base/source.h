// Source texts, and the spans that point into them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace relay {

// A range of bytes of one source text. Line and column are computed only when
// something is rendered.
struct Span {
  uint32_t file = 0;  // 0 is "nowhere": the compiler made it
  uint32_t begin = 0;
  uint32_t end = 0;

  static Span none() { return {}; }
  bool known() const { return file != 0; }
  friend bool operator==(const Span&, const Span&) = default;
};

// The smallest span that covers both; the other one if one is unknown.
inline Span cover(Span a, Span b) {
  if (!a.known()) return b;
  if (!b.known() || a.file != b.file) return a;
  return {a.file, a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

class SourceMap {
 public:
  struct Position {
    size_t line = 1, column = 1;  // both from 1; columns count bytes
    std::string_view text;        // the whole line, without its end
  };

  // Returns the file number for spans. The text is kept for as long as the map.
  uint32_t add(std::string name, std::string text);

  std::string_view name(uint32_t file) const;
  std::string_view text(uint32_t file) const;
  Position position(uint32_t file, uint32_t offset) const;  // O(log lines) after the first call for a file
  std::string place(Span at) const;                         // "net.relay:3:7"; empty if `at` is nowhere

 private:
  struct File {
    std::string name, text;
    mutable std::deque<uint32_t> line_starts;
  };
  std::deque<File> files_;
};

}  // namespace relay
