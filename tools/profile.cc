#include "tools/profile.h"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/cat.h"
#include "base/counted.h"
#include "kernel/count.h"
#include "tools/median.h"

namespace relay::tools {
namespace {

std::string fitted(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

// k3 of k3_nn_conv2d_add; a kernel that `lower` did not number has its whole name.
std::string number_of(const std::string& kernel) {
  const size_t end = kernel.find_first_not_of("0123456789", 1);
  const bool is_numbered = kernel.starts_with('k') && end > 1 && end < kernel.size() && kernel[end] == '_';
  return is_numbered ? kernel.substr(0, end) : kernel;
}

// What tells kernels apart comes first: their number, the value and its shape, then
// what they compute.
std::string label(const ProfileRow& r) {
  const std::string number = number_of(r.kernel);
  if (r.result.empty()) return r.kernel;
  return cat(number, " ", r.name == r.kernel ? "" : cat(r.name, " "), r.result, " ", r.origin);
}

std::string rate(double amount, double seconds) {
  return seconds > 0 ? fmt::format("{:.1f}", amount / seconds / 1e9) : "-";
}

std::string share_of_roof(const ProfileRow& r) {
  if (r.roof_seconds <= 0 || r.seconds <= 0) return "-";
  return fmt::format("{:3.0f}% {:<6}", 100 * r.roof_seconds / r.seconds, r.by_memory ? "memory" : "arith");
}

std::string line(const ProfileRow& r, double all, size_t width, const std::string& name) {
  return fmt::format("{:<{}} {:>5} {:>8.3f} {:>5.1f}% {:>7} {:>8.2f} {:>6} {:>11}\n", name, width, r.calls,
                     r.seconds * 1e3, all > 0 ? 100 * r.seconds / all : 0.0, rate(r.flops, r.seconds),
                     r.bytes / 1e6, r.bytes > 0 ? fmt::format("{:.1f}", r.flops / r.bytes) : "-",
                     share_of_roof(r));
}

void add(ProfileRow& to, const ProfileRow& r) {
  to.calls += r.calls;
  to.seconds += r.seconds;
  to.flops += r.flops;
  to.bytes += r.bytes;
  to.roof_seconds += r.roof_seconds;
}

}  // namespace

Profile::Profile(const passes::Plan& plan, std::vector<std::string> names, const Roofs* roofs,
                 const target::Target& target, unsigned threads)
    : plan_(plan), names_(std::move(names)), has_roofs_(roofs != nullptr), seconds_(plan.steps.size()) {
  for (const Tensor& t : plan.constants) constant_bytes_ += static_cast<double>(t.bytes());
  for (const passes::PlanStep& s : plan.steps) costs_.push_back(cost_of(s, roofs, target, threads));
}

// Arithmetic at the peak; bytes at the bandwidth of the memory that they can be in at best. Each
// run goes through all weights, so they are where all of them fit; what kernels hand on may be
// wherever one kernel's bytes fit.
Profile::StepCost Profile::cost_of(const passes::PlanStep& s, const Roofs* roofs,
                                   const target::Target& target, unsigned threads) const {
  StepCost out;
  double weights = 0;
  std::vector<uint32_t> values = s.inputs;
  values.insert(values.end(), s.outputs.begin(), s.outputs.end());
  values.insert(values.end(), s.temporaries.begin(), s.temporaries.end());
  std::vector<double> bytes;
  if (s.kernel) {
    const std::optional<kernel::Count> count = kernel::count(*s.kernel);
    if (!count) return out;
    out.flops = count->flops;
    bytes = count->bytes;
  } else {
    bytes.assign(2, static_cast<double>(plan_.values[s.inputs[0]].bytes));
  }
  for (size_t i = 0; i < bytes.size() && i < values.size(); ++i) {
    out.bytes += bytes[i];
    if (plan_.values[values[i]].storage == passes::Storage::kConstant) weights += bytes[i];
  }
  const double peak = roofs ? roofs->peak(target, threads) : 0;
  if (peak <= 0) return out;
  const double arithmetic = out.flops / peak / 1e9;
  const double memory = weights / roofs->bandwidth(std::max(constant_bytes_, out.bytes), threads) / 1e9 +
                        (out.bytes - weights) / roofs->bandwidth(out.bytes, threads) / 1e9;
  out.by_memory = memory > arithmetic;
  out.roof_seconds = std::max(memory, arithmetic);
  return out;
}

std::string Profile::kernel_of(const passes::PlanStep& s) const {
  return s.kernel ? s.kernel->name.str() : "copy";
}

double Profile::since_start() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void Profile::begin_run() {
  if (runs_.empty()) start_ = Clock::now();
  runs_.push_back({0, since_start(), 0});
}

void Profile::step(const passes::PlanStep& s, double seconds) {
  const auto index = static_cast<size_t>(&s - plan_.steps.data());
  seconds_[index].push_back(seconds);
  events_.push_back({index, since_start() - seconds, seconds});
}

void Profile::end_run() { runs_.back().seconds = since_start() - runs_.back().begin; }

std::vector<ProfileRow> Profile::rows() const {
  std::vector<ProfileRow> out;
  std::unordered_map<const kernel::Kernel*, size_t> index;
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const passes::PlanStep& s = plan_.steps[i];
    const auto [at, is_new] = index.emplace(s.kernel, out.size());
    if (is_new) {
      const Shape shape = *plan_.values[s.outputs[0]].type->static_shape();
      out.push_back({kernel_of(s), names_[i], join(shape, "x"), s.kernel ? s.kernel->origin.str() : ""});
    }
    const StepCost& c = costs_[i];
    add(out[at->second], {.calls = 1,
                          .seconds = median(seconds_[i]),
                          .flops = c.flops,
                          .bytes = c.bytes,
                          .roof_seconds = c.roof_seconds});
    out[at->second].by_memory = c.by_memory;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return out;
}

ProfileRow Profile::total() const {
  ProfileRow out{"total"};
  double by_memory = 0;
  for (const ProfileRow& r : rows()) {
    add(out, r);
    by_memory += r.by_memory ? r.roof_seconds : 0;
  }
  out.by_memory = by_memory > out.roof_seconds / 2;
  return out;
}

double Profile::run_seconds() const {
  std::vector<double> all;
  for (const Event& r : runs_) all.push_back(r.seconds);
  return median(std::move(all));
}

std::string Profile::table(size_t width, size_t most_rows) const {
  constexpr size_t kNumbers = 58;  // columns besides the kernel's
  const size_t name_width = std::max<size_t>(width, kNumbers + 16) - kNumbers;
  std::string out = fmt::format("{:<{}} {:>5} {:>8} {:>6} {:>7} {:>8} {:>6} {:>11}\n", "kernel", name_width,
                                "calls", "ms", "share", "GFLOP/s", "MB", "FLOP/B", "roof       ");
  const std::vector<ProfileRow> all = rows();
  const ProfileRow sum = total();
  ProfileRow rest;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i >= most_rows && all.size() > most_rows + 1) {
      add(rest, all[i]);
      continue;
    }
    out += line(all[i], sum.seconds, name_width, fitted(label(all[i]), name_width));
  }
  if (rest.calls > 0) {
    const size_t kernels = all.size() - most_rows;
    ProfileRow shown = rest;
    shown.roof_seconds = 0;
    out += line(shown, sum.seconds, name_width, counted(kernels, "more kernel"));
  }
  out += std::string(name_width + kNumbers, '-') + "\n" + line(sum, sum.seconds, name_width, "total");
  return out;
}

nlohmann::ordered_json Profile::json() const {
  const auto one = [&](const ProfileRow& r) {
    nlohmann::ordered_json j = {{"kernel", r.kernel}, {"name", r.name},   {"result", r.result},
                                {"origin", r.origin}, {"calls", r.calls}, {"seconds", r.seconds},
                                {"flops", r.flops},   {"bytes", r.bytes}};
    if (r.roof_seconds > 0) {
      j["roof_seconds"] = r.roof_seconds;
      j["limit"] = r.by_memory ? "memory" : "arithmetic";
    }
    return j;
  };
  nlohmann::ordered_json j = {
      {"runs", runs_.size()}, {"run_seconds", run_seconds()}, {"total", one(total())}};
  j["kernels"] = nlohmann::ordered_json::array();
  for (const ProfileRow& r : rows()) j["kernels"].push_back(one(r));
  return j;
}

nlohmann::ordered_json Profile::trace() const {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  const auto slice = [&](const std::string& name, const char* category, const Event& e) {
    return nlohmann::ordered_json{
        {"name", name},        {"cat", category},       {"ph", "X"}, {"pid", 1}, {"tid", 1},
        {"ts", e.begin * 1e6}, {"dur", e.seconds * 1e6}};
  };
  for (size_t i = 0; i < runs_.size(); ++i) events.push_back(slice(cat("run ", i), "run", runs_[i]));
  for (const Event& e : events_) {
    const passes::PlanStep& s = plan_.steps[e.step];
    nlohmann::ordered_json j = slice(names_[e.step], "kernel", e);
    j["args"] = {{"step", e.step},
                 {"kernel", kernel_of(s)},
                 {"flops", costs_[e.step].flops},
                 {"bytes", costs_[e.step].bytes}};
    if (s.kernel) j["args"]["origin"] = s.kernel->origin.str();
    events.push_back(std::move(j));
  }
  return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

}  // namespace relay::tools
