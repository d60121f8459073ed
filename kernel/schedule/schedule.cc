#include "kernel/schedule/schedule.h"

#include <charconv>
#include <optional>

#include "base/cat.h"
#include "kernel/schedule/primitives.h"

namespace relay::kernel::schedule {
namespace {

using Words = std::vector<std::string_view>;

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// BLOCK.DEPTH
std::optional<LoopName> loop_name(std::string_view text) {
  const size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::optional<int64_t> depth = number(text.substr(dot + 1));
  if (!depth) return std::nullopt;
  return LoopName{std::string(text.substr(0, dot)), static_cast<size_t>(*depth)};
}

Outcome not_understood(const Words& step) {
  return Outcome::refused(cat("`", join(step, " "), "` is not understood"));
}

template <Outcome (*f)(const Kernel&, const LoopName&)>
Outcome on_loop(const Kernel& k, const Words& step) {
  const auto loop = step.size() == 2 ? loop_name(step[1]) : std::nullopt;
  return loop ? f(k, *loop) : not_understood(step);
}
template <Outcome (*f)(const Kernel&, std::string_view)>
Outcome on_block(const Kernel& k, const Words& step) {
  return step.size() == 2 ? f(k, step[1]) : not_understood(step);
}
Outcome do_split(const Kernel& k, const Words& step) {
  const auto loop = step.size() == 3 ? loop_name(step[1]) : std::nullopt;
  const auto factor = step.size() == 3 ? number(step[2]) : std::nullopt;
  return loop && factor ? split(k, *loop, *factor) : not_understood(step);
}
Outcome do_reorder(const Kernel& k, const Words& step) {
  if (step.size() < 2) return not_understood(step);
  std::vector<size_t> order;
  for (size_t i = 2; i < step.size(); ++i) {
    const auto depth = number(step[i]);
    if (!depth) return not_understood(step);
    order.push_back(static_cast<size_t>(*depth));
  }
  return reorder(k, step[1], order);
}
Outcome do_compute_at(const Kernel& k, const Words& step) {
  const auto loop = step.size() == 3 ? loop_name(step[2]) : std::nullopt;
  return loop ? compute_at(k, step[1], *loop) : not_understood(step);
}

struct Row {
  std::string_view name;
  Outcome (*apply)(const Kernel&, const Words&);
};
constexpr Row kPrimitives[] = {
    {"cache_write", on_loop<cache_write>},
    {"compute_at", do_compute_at},
    {"compute_inline", on_block<compute_inline>},
    {"decompose_reduction", on_loop<decompose_reduction>},
    {"fuse", on_loop<fuse>},
    {"parallel", on_loop<parallel>},
    {"reorder", do_reorder},
    {"reverse_compute_inline", on_block<reverse_compute_inline>},
    {"split", do_split},
    {"unroll", on_loop<unroll>},
    {"vectorize", on_loop<vectorize>},
};

Words words(std::string_view text) {
  Words out;
  while (true) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return out;
    text.remove_prefix(begin);
    const size_t end = std::min(text.find(' '), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

std::vector<std::string_view> primitives() {
  std::vector<std::string_view> out;
  for (const Row& row : kPrimitives) out.push_back(row.name);
  return out;
}

Outcome apply(const Kernel& k, std::string_view step) {
  const Words parts = words(step);
  if (parts.empty()) return Outcome::refused("an empty step");
  for (const Row& row : kPrimitives) {
    if (row.name == parts[0]) return row.apply(k, parts);
  }
  return Outcome::refused(cat("there is no primitive `", parts[0], "`"));
}

std::string Schedule::apply(std::string_view step) {
  const Outcome outcome = schedule::apply(kernel_, step);
  if (!outcome) return outcome.reason();
  kernel_ = *outcome;
  trace_ += cat(join(words(step), " "), "\n");
  return {};
}

std::string Schedule::replay(std::string_view trace) {
  while (!trace.empty()) {
    const size_t end = std::min(trace.find('\n'), trace.size());
    const std::string_view line = trace.substr(0, end);
    trace.remove_prefix(std::min(end + 1, trace.size()));
    if (words(line).empty()) continue;
    if (std::string reason = apply(line); !reason.empty()) return cat(line, ": ", reason);
  }
  return {};
}

}  // namespace relay::kernel::schedule
