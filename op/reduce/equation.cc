#include "op/reduce/equation.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/cat.h"
#include "op/relation.h"

namespace relay::op {
namespace {

[[noreturn]] void wrong(std::string reason) { throw RelationError{kAttributes, std::move(reason)}; }

constexpr std::string_view kDots = "...";

// The letters of one term, with '.' for the dots.
std::string letters_of(std::string_view term) {
  std::string out;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term.substr(i, kDots.size()) == kDots && out.find('.') == std::string::npos) {
      out += '.';
      i += kDots.size() - 1;
    } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      out += term[i];
    } else {
      wrong("a term of the equation holds what is neither a letter nor the only `...`");
    }
  }
  return out;
}

// The letters of the terms, and those of the result; of an equation without an arrow, none yet.
struct Letters {
  std::vector<std::string> terms;
  std::optional<std::string> result;

  explicit Letters(std::string text) {
    std::erase_if(text, [](char c) { return c == ' '; });
    std::string_view rest = text;
    if (const size_t arrow = rest.find("->"); arrow != std::string_view::npos) {
      result = letters_of(rest.substr(arrow + 2));
      rest = rest.substr(0, arrow);
    }
    for (;;) {
      const size_t comma = rest.find(',');
      terms.push_back(letters_of(rest.substr(0, comma)));
      if (comma == std::string_view::npos) return;
      rest = rest.substr(comma + 1);
    }
  }
  // How often a letter occurs in the terms.
  int64_t count(char letter) const {
    int64_t n = 0;
    for (const std::string& term : terms) n += std::count(term.begin(), term.end(), letter);
    return n;
  }
  std::string result_letters() const {
    if (result) return *result;
    std::string out = count('.') > 0 ? "." : "";
    for (int c = 'A'; c <= 'z'; ++c) {
      const auto letter = static_cast<char>(c);
      if (std::isalpha(c) && count(letter) == 1) out += letter;
    }
    return out;
  }
};

}  // namespace

std::vector<size_t> Equation::summed() const {
  std::vector<size_t> out;
  for (size_t label = 0; label < labels; ++label) {
    if (std::find(result.begin(), result.end(), label) == result.end()) out.push_back(label);
  }
  return out;
}

Equation read_equation(const std::string& text, const std::vector<size_t>& ranks) {
  const Letters letters(text);
  if (letters.terms.size() != ranks.size())
    wrong(cat("equation has ", letters.terms.size(), " terms for ", ranks.size(), " tensors"));
  const std::string result = letters.result_letters();
  // How many axes the dots stand for: in each term, and at most.
  std::vector<size_t> dots(ranks.size(), 0);
  size_t most = 0;
  for (size_t n = 0; n < ranks.size(); ++n) {
    const std::string& term = letters.terms[n];
    const bool has_dots = term.find('.') != std::string::npos;
    const size_t named = term.size() - (has_dots ? 1 : 0);
    if (has_dots ? named > ranks[n] : named != ranks[n])
      wrong(cat("term ", n, " of the equation has ", named, " letters, tensor ", n, " has rank ", ranks[n]));
    dots[n] = ranks[n] - named;
    most = std::max(most, dots[n]);
  }
  Equation out;
  out.labels = most;
  std::array<size_t, 128> label_of{};
  const auto labels = [&](const std::string& term, size_t dotted, bool known) {
    std::vector<size_t> list;
    for (const char letter : term) {
      if (letter == '.') {
        for (size_t d = most - dotted; d < most; ++d) list.push_back(d);
        continue;
      }
      size_t& label = label_of[static_cast<size_t>(letter)];
      if (label == 0 && known)
        wrong(cat("no term of the equation has the `", std::string(1, letter), "` of its result"));
      if (label == 0) label = ++out.labels;
      list.push_back(label - 1);
    }
    return list;
  };
  for (size_t n = 0; n < ranks.size(); ++n) out.terms.push_back(labels(letters.terms[n], dots[n], false));
  out.result = labels(result, most, true);
  std::vector<size_t> sorted = out.result;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    wrong("the result of the equation has a letter twice");
  if (most > 0 && result.find('.') == std::string::npos)
    wrong("the result of the equation has no `...`, and a term has");
  return out;
}

}  // namespace relay::op
