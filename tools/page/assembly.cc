#include "tools/page/assembly.h"

#include <cctype>
#include <charconv>
#include <map>
#include <set>

#include "base/cat.h"

namespace relay::tools {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && is_blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_blank(s.back())) s.remove_suffix(1);
  return s;
}

// Takes a word off the front.
std::string_view take_word(std::string_view& s) {
  s = trimmed(s);
  size_t end = 0;
  while (end < s.size() && !is_blank(s[end])) ++end;
  const std::string_view word = s.substr(0, end);
  s = trimmed(s.substr(end));
  return word;
}

size_t number_of(std::string_view s) {
  size_t out = 0;
  std::from_chars(s.data(), s.data() + s.size(), out);
  return out;
}

bool is_symbol(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
}

class Parser {
 public:
  explicit Parser(std::string_view source) : source_(source) {}

  std::vector<AssemblyLine> run(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      line(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    std::vector<AssemblyLine> out;
    for (AssemblyLine& l : lines_) {
      const bool is_label = l.text.ends_with(':');
      if (!is_label || mentioned_.contains(l.text.substr(0, l.text.size() - 1))) out.push_back(std::move(l));
    }
    return out;
  }

 private:
  void line(std::string_view whole) {
    const size_t mark = whole.find('#');
    const std::string_view comment = mark == std::string_view::npos ? "" : whole.substr(mark + 1);
    std::string_view rest = whole;
    const std::string_view word = take_word(rest);
    if (word.empty() || word.front() == '#') return;
    if (word.front() == '.' && !word.ends_with(':')) {
      directive(word, rest, comment);
    } else if (in_code_) {
      const std::string_view code = trimmed(whole.substr(0, mark));
      if (code.ends_with(':')) {
        lines_.push_back({std::string(code), 0});
      } else if (!code.empty()) {
        instruction(code);
      }
    }
  }

  void directive(std::string_view word, std::string_view rest, std::string_view comment) {
    if (word == ".text") {
      in_code_ = true;
    } else if (word == ".section") {
      in_code_ = rest.starts_with(".text");
    } else if (word == ".data" || word == ".bss") {
      in_code_ = false;
    } else if (word == ".type" && rest.ends_with("@function")) {
      mentioned_.insert(std::string(rest.substr(0, rest.find(','))));
    } else if (word == ".file") {
      file(rest);
    } else if (word == ".loc") {
      const size_t number = number_of(take_word(rest));
      const size_t line = number_of(take_word(rest));
      now_ = files_[number] ? line : 0;
      if (const size_t around = inlined_into(comment)) now_ = around;
    }
  }

  // .file 0 "/folder" "name" md5 0x..., or .file 1 "name"
  void file(std::string_view rest) {
    std::string_view number = take_word(rest);
    if (number.empty() || !std::isdigit(static_cast<unsigned char>(number.front()))) return;
    const size_t end = rest.rfind('"');
    const size_t begin = end == 0 || end == std::string_view::npos ? end : rest.rfind('"', end - 1);
    if (begin == std::string_view::npos) return;
    files_[number_of(number)] = rest.substr(begin + 1, end - begin - 1) == source_;
  }

  // The line of the source at the end of a chain: 40 of "a.h:3:7 @[ k.cc:9:1 @[ k.cc:40:2 ] ]".
  // 0 if there is none.
  size_t inlined_into(std::string_view comment) const {
    const size_t last = comment.rfind("@[ ");
    if (last == std::string_view::npos) return 0;
    std::string_view place = comment.substr(last + 3);
    const size_t colon = place.find(':');
    if (colon == std::string_view::npos || place.substr(0, colon) != source_) return 0;
    return number_of(place.substr(colon + 1));
  }

  void instruction(std::string_view code) {
    std::string text = "  ";
    for (char c : code) text += c == '\t' ? ' ' : c;
    for (size_t i = 0; i < code.size();) {
      size_t end = i;
      while (end < code.size() && is_symbol(code[end])) ++end;
      if (end > i) mentioned_.insert(std::string(code.substr(i, end - i)));
      i = end + 1;
    }
    lines_.push_back({std::move(text), now_});
  }

  std::string_view source_;
  std::map<size_t, bool> files_;     // by number: is it the source?
  std::set<std::string> mentioned_;  // names of functions, and what instructions mention
  std::vector<AssemblyLine> lines_;
  bool in_code_ = false;
  size_t now_ = 0;
};

}  // namespace

std::vector<AssemblyLine> parse_assembly(std::string_view text, std::string_view source) {
  return Parser(source).run(text);
}

}  // namespace relay::tools
