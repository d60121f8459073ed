#include "tools/pass_report.h"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/cat.h"
#include "kernel/count.h"

namespace relay::tools {
namespace {

// A program of more functions has the rest counted.
constexpr size_t kMostFunctions = 40;

std::string work_text(size_t kernels, double multiply_adds, double bytes) {
  return fmt::format("{}, each counted once: {:.3f} million multiply-adds, {:.3f} MB touched\n",
                     kernels == 1 ? "1 kernel" : cat(kernels, " kernels"), multiply_adds / 1e6, bytes / 1e6);
}

}  // namespace

PassReport::Work PassReport::work_of(const Module& m) {
  Work out{.kernels = m.kernels().size()};
  for (const auto& [name, kernel] : m.kernels()) {
    const std::optional<kernel::Count> count = kernel::count(*kernel);
    out.uncounted += !count;
    if (!count) continue;
    out.multiply_adds += count->flops / 2;
    out.bytes += count->total_bytes();
  }
  return out;
}

void PassReport::begins(const passes::Pipeline&, const Module& m, Diagnostics&) {
  before_ = analysis::size_of(m);
  features_ = analysis::features_of(m, "main");
  calls_ = function_graph(m);
}

void PassReport::ran(const passes::StepReport& r, Diagnostics&) {
  const bool changed = r.changed();
  const analysis::ModuleSize now = changed          ? analysis::size_of(r.after)
                                   : lines_.empty() ? before_
                                                    : lines_.back().after;
  lines_.push_back({passes::show(r.step()), r.pass_ms + r.check_ms, now, changed, r.rules});
}

std::string PassReport::program_text() const {
  std::string out = "the program\n";
  size_t used = 0;
  for (size_t i = 0; i < features_.size(); ++i) {
    used += features_[i];
    if (features_[i] > 0)
      out +=
          fmt::format("  {:<24} {:9}\n", analysis::name_of(static_cast<analysis::Feature>(i)), features_[i]);
  }
  if (used == 0) out += "  static dataflow: operators alone\n";
  if (calls_.names.size() < 2) return out;
  out += "functions, and those that they mention\n";
  for (size_t i = 0; i < std::min(calls_.names.size(), kMostFunctions); ++i) {
    const auto name = [&](size_t k) { return cat("@", calls_.names[k].text()); };
    const std::vector<size_t>& mentions = calls_.mentions[i];
    out += cat("  ", name(i), mentions.empty() ? "" : " -> ", join(mentions, ", ", name), "\n");
  }
  if (calls_.names.size() > kMostFunctions)
    out += cat("  and ", calls_.names.size() - kMostFunctions, " more\n");
  return out;
}

std::string PassReport::passes_text() const {
  std::string out = fmt::format("{:<32} {:>12} {:>12} {:>10} {:>8}\n", "passes", "time", "expressions",
                                "functions", "kernels");
  const auto row = [&](std::string_view name, std::string_view time, const analysis::ModuleSize& s,
                       std::string_view note) {
    out += fmt::format("  {:<30} {:>12} {:>12} {:>10} {:>8}{}\n", name, time, s.expressions, s.functions,
                       s.kernels, note);
  };
  row("(the program)", "", before_, "");
  for (const Line& l : lines_) {
    row(l.pass, fmt::format("{:.2f} ms", l.ms), l.after, l.changed ? "" : "   unchanged");
    for (const auto& [rule, times] : l.rules) out += fmt::format("    rule {:<50} {:>6}\n", rule, times);
  }
  return out;
}

nlohmann::ordered_json PassReport::json(const Work& work) const {
  nlohmann::ordered_json out;
  nlohmann::ordered_json& features = out["features"] = nlohmann::ordered_json::object();
  for (size_t i = 0; i < features_.size(); ++i)
    features[std::string(analysis::name_of(static_cast<analysis::Feature>(i)))] = features_[i];
  nlohmann::ordered_json& calls = out["mentions"] = nlohmann::ordered_json::object();
  for (size_t i = 0; i < calls_.names.size(); ++i) {
    nlohmann::ordered_json& of = calls[calls_.names[i].str()] = nlohmann::ordered_json::array();
    for (size_t k : calls_.mentions[i]) of.push_back(calls_.names[k].str());
  }
  out["expressions"] = before_.expressions;
  nlohmann::ordered_json& passes = out["passes"] = nlohmann::ordered_json::array();
  for (const Line& l : lines_) {
    passes.push_back({{"pass", l.pass},
                      {"ms", l.ms},
                      {"changed", l.changed},
                      {"rules", l.rules},
                      {"expressions", l.after.expressions},
                      {"functions", l.after.functions},
                      {"kernels", l.after.kernels}});
  }
  out["kernels"] = work.kernels;
  out["uncounted_kernels"] = work.uncounted;
  out["multiply_adds"] = work.multiply_adds;
  out["bytes"] = work.bytes;
  return out;
}

void PassReport::print(const Module& done) const {
  const Work work = work_of(done);
  if (session_.json) {
    session_.print_json(json(work));
    return;
  }
  session_.print(program_text() + passes_text());
  if (work.kernels > 0) session_.print(work_text(work.kernels, work.multiply_adds, work.bytes));
  if (work.uncounted > 0)
    session_.print(
        cat("  without ", work.uncounted, " whose extents a run tells, or that are C functions\n"));
}

}  // namespace relay::tools
