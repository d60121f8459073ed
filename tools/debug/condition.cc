#include "tools/debug/condition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/cat.h"
#include "tools/debug/refused.h"
#include "tools/debug/statistics.h"
#include "tools/debug/words.h"

namespace relay::tools::debug {
namespace {

constexpr std::array<std::string_view, 7> kWhats{"nan", "inf", "min", "max", "mean", "std", "absmax"};
// In the order of Condition::Is; the longer of two that begin alike is tried first.
constexpr std::array<std::string_view, 6> kSigns{"<", "<=", ">", ">=", "==", "!="};
constexpr std::string_view kForm =
    "a condition is nan, inf, or min, max, mean, std or absmax with < <= > >= == != and a number, like `max "
    "> 1e3`; `nan|inf` is either of two";

}  // namespace

Condition Condition::parse(std::string_view text) {
  Condition out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('|', begin), text.size());
    out.any_.push_back(parse_one(trimmed(text.substr(begin, end - begin))));
    begin = end + 1;
  }
  return out;
}

Condition::One Condition::parse_one(std::string_view text) {
  if (text.empty()) throw Refused(cat("a condition must follow `if` and `|`; ", kForm));
  const size_t end = text.find_first_of(" \t<>=!");
  const std::string_view word = text.substr(0, end);
  const auto found = std::find(kWhats.begin(), kWhats.end(), word);
  if (found == kWhats.end()) throw Refused(cat("there is no condition `", text, "`; ", kForm));
  One c;
  c.what = static_cast<What>(found - kWhats.begin());
  std::string_view rest = end == std::string_view::npos ? std::string_view() : trimmed(text.substr(end));
  if (c.what == What::kNan || c.what == What::kInf) {
    if (!rest.empty()) throw Refused(cat("`", rest, "` after `", word, "` means nothing; ", kForm));
    return c;
  }
  size_t length = 0;
  for (size_t i = 0; i < kSigns.size(); ++i) {
    if (!rest.starts_with(kSigns[i]) || kSigns[i].size() < length) continue;
    c.is = static_cast<Is>(i);
    length = kSigns[i].size();
  }
  if (length == 0) throw Refused(cat("`", word, "` must be compared with a number; ", kForm));
  rest = trimmed(rest.substr(length));
  if (rest.starts_with('+')) rest.remove_prefix(1);
  const auto [stop, wrong] = std::from_chars(rest.data(), rest.data() + rest.size(), c.bound);
  if (rest.empty() || wrong != std::errc() || stop != rest.data() + rest.size() || std::isnan(c.bound))
    throw Refused(cat("`", rest, "` is no number to compare with; ", kForm));
  return c;
}

bool Condition::holds(const Value& v) const {
  if (v.is_tensor()) return holds(v.tensor());
  const auto tensors = distinct_tensors_in(v);
  return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor* t) { return holds(*t); });
}

bool Condition::holds(const Tensor& t) const {
  return std::any_of(any_.begin(), any_.end(), [&](const One& c) { return c.holds(t); });
}

bool Condition::One::holds(const Tensor& t) const {
  if (what == What::kNan || what == What::kInf) {
    if (!t.dtype().is_float()) return false;
    for (int64_t i = 0; i < t.size(); ++i) {
      if (what == What::kNan ? std::isnan(t.get(i)) : std::isinf(t.get(i))) return true;
    }
    return false;
  }
  const Statistics s = statistics_of(t);
  const double v = what == What::kMin    ? s.min
                   : what == What::kMax  ? s.max
                   : what == What::kMean ? s.mean
                   : what == What::kStd  ? s.std
                                         : s.absmax;
  if (std::isnan(v)) return false;
  switch (is) {
    case Is::kLess: return v < bound;
    case Is::kLessEqual: return v <= bound;
    case Is::kGreater: return v > bound;
    case Is::kGreaterEqual: return v >= bound;
    case Is::kEqual: return v == bound;
    case Is::kNotEqual: break;
  }
  return v != bound;
}

std::string Condition::text() const {
  return join(any_, " | ", [](const One& c) { return c.text(); });
}

std::string Condition::One::text() const {
  const std::string_view name = kWhats[static_cast<size_t>(what)];
  if (what == What::kNan || what == What::kInf) return std::string(name);
  return cat(name, " ", kSigns[static_cast<size_t>(is)], " ", bound);
}

}  // namespace relay::tools::debug
