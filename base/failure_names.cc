#include "base/failure_names.h"

#include <algorithm>

#include "base/failure.h"
#include "base/reasons.h"

namespace relay {
namespace {

struct Named {
  std::string_view text, name;
};

// How messages begin whose rest differs between engines.
constexpr Named kBeginnings[] = {
    {kWrongShape, "shape-mismatch"},
    {kNoArm, "match-not-exhaustive"},
};

constexpr Named kReasons[] = {
    {kDivisionByZero, "division-by-zero"},     {kQuotientTooLarge, "integer-overflow"},
    {kShiftTooWide, "shift-out-of-range"},     {kShiftOutOfRange, "shift-out-of-range"},
    {kIndexOutOfRange, "index-out-of-range"},  {kBoxOutOfRange, "index-out-of-range"},
    {kRegionOutOfRange, "index-out-of-range"},
};

// How messages begin.
constexpr Named kLimits[] = {
    {kFuelReached, "limit-fuel"},
    {kDepthReached, "limit-depth"},
    {kTimeReached, "limit-time"},
    {kMemoryReached, "limit-memory"},
    {kCancelled, "cancelled"},
    {kNotEnoughMemory, "limit-memory"},
    {kThereIsNotEnoughMemory, "limit-memory"},
    {kThereIsNoMemory, "limit-memory"},
    {kRangeTooLong, "limit-memory"},
    {kTooManyRows, "limit-memory"},
    {kShapeTooLarge, "limit-memory"},
};

// Takes the beginning away, and says whether it was there.
bool take(std::string_view& text, std::string_view beginning) {
  if (!text.starts_with(beginning)) return false;
  text.remove_prefix(beginning.size());
  return true;
}

// Takes everything up to the end of a name away: "`take`: ".
void take_place(std::string_view& text) {
  const size_t end = text.find(kEndOfPlace);
  if (end != std::string_view::npos) text.remove_prefix(end + std::string_view(kEndOfPlace).size());
}

// Of a kernel of the user, what its checks found: "`i + 1` is out of range of dim 0 of `x`".
bool is_about_index(std::string_view text) {
  if (take(text, "`")) {
    text.remove_prefix(std::min(text.size(), text.find('`')));
    if (!take(text, "`")) return false;
  } else if (!take(text, kAnIndex)) {
    return false;
  }
  return text.starts_with(kOutOfRangeOfDim);
}

// The name of a reason, whose place follows if it is one of a kernel. Empty if it has none.
std::string_view name_of_reason(std::string_view text, bool in_kernel) {
  for (const Named& n : kReasons) {
    std::string_view rest = text;
    if (!take(rest, n.text)) continue;
    if (in_kernel ? rest.starts_with(kInPlace) : rest.empty()) return n.name;
  }
  return in_kernel && is_about_index(text) ? "index-out-of-range" : "";
}

}  // namespace

std::string_view name_of_trap(std::string_view message) {
  for (const Named& n : kBeginnings) {
    if (message.starts_with(n.text)) return n.name;
  }
  const bool in_kernel = message.starts_with(kOfKernel);
  std::string_view reason = message;
  if (message.starts_with("`") || in_kernel) take_place(reason);
  const std::string_view name = name_of_reason(reason, in_kernel);
  return name.empty() ? "requirement-failed" : name;
}

std::string_view name_of_limit(std::string_view message) {
  for (const Named& n : kLimits) {
    if (message.starts_with(n.text)) return n.name;
  }
  return "limit-reached";
}

}  // namespace relay
