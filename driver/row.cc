#include "driver/row.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "base/cat.h"

namespace relay::driver {

std::vector<EngineAt> engines_at(const VerifyOptions& options) {
  std::vector<EngineAt> out;
  for (const Engine& e : engines()) {
    const auto& only = options.engines;
    if (only.empty() ? e.for_device && !options.target.vta
                     : std::find(only.begin(), only.end(), e.name) == only.end())
      continue;
    if (!e.compiles) out.push_back({&e});
    for (int level : e.compiles ? options.levels : std::vector<int>()) out.push_back({&e, level});
  }
  return out;
}

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAgrees: return "agrees";
    case Verdict::kDiffers: return "differs";
    case Verdict::kFailed: return "failed";
    case Verdict::kSkipped: return "skipped";
  }
  return "";
}

Verdict VerifyRow::verdict() const {
  if (!skipped.empty()) return Verdict::kSkipped;
  if (!failed.empty()) return Verdict::kFailed;
  return ok ? Verdict::kAgrees : Verdict::kDiffers;
}

std::string VerifyRow::label() const { return level ? cat(engine, " -O", *level) : engine; }

std::string VerifyRow::trouble() const {
  switch (verdict()) {
    case Verdict::kAgrees: return "";
    case Verdict::kDiffers:
      return engine == kExpected ? cat("output `", output, "` ", show_theirs(worst, shape))
                                 : show(worst, shape);
    case Verdict::kFailed: return failed;
    case Verdict::kSkipped: return skipped;
  }
  return "";
}

void VerifyRow::prepare(const Prepared& prepared) {
  skipped = prepared.skipped;
  if (prepared.refusal.all().empty()) return;
  const Diagnostic& why = prepared.refusal.all().front();
  if (prepared.run) {
    weaker = why.message();
  } else {
    slug = why.slug().name();
  }
}

void VerifyRow::add(const Comparison& c, const std::string& name, const Shape& of_shape) {
  ok &= c.ok;
  const bool graver = c.ok != worst.ok ? !c.ok : c.needed > worst.needed;
  if (!output.empty() && !graver) return;
  worst = c;
  output = name;
  shape = of_shape;
}

void VerifyRow::add(const Wanted& wanted, size_t i, const Tensor& got, const std::string& name) {
  add(wanted.compare(i, got), name, wanted.own[i].shape());
  if (uncapped.empty()) uncapped = wanted.uncapped[i];
}

std::string show_theirs(const Comparison& c, const Shape& shape) {
  if (c.worst < 0) return c.reason.empty() ? "there are no elements" : c.reason;
  std::vector<int64_t> at(shape.size());
  int64_t rest = c.worst;
  for (size_t d = shape.size(); d-- > 0; rest /= std::max<int64_t>(shape[d], 1))
    at[d] = rest % std::max<int64_t>(shape[d], 1);
  const auto number = [](double v) { return std::isnan(v) ? std::string("nan") : fmt::format("{:g}", v); };
  return fmt::format("at [{}]: theirs {}, ours {}, {:.3g} times the bound {:.3g}{}", join(at, ", "),
                     number(c.got), number(c.want), c.needed, c.bound,
                     c.reason.empty() ? "" : "; " + c.reason);
}

VerifyRow row_of(const EngineAt& at) {
  VerifyRow row;
  row.engine = at.engine->name;
  row.level = at.shown_level();
  return row;
}

std::string show(const std::vector<VerifyRow>& rows) {
  std::string out = fmt::format("{:<14} {:>11} {:>11} {:>11} {:>9}  {}\n", "engine", "time", "error", "bound",
                                "needed", "verdict");
  for (const VerifyRow& r : rows) {
    const Verdict verdict = r.verdict();
    if (verdict == Verdict::kSkipped) {
      out += fmt::format("{:<14} {:>11} {:>11} {:>11} {:>9}  skipped: {}\n", r.label(), "", "", "", "",
                         r.skipped);
      continue;
    }
    std::string said = verdict == Verdict::kFailed   ? "FAILED: " + r.trouble()
                       : verdict == Verdict::kAgrees ? "ok"
                                                     : "DIFFERS: " + r.trouble();
    if (!r.weaker.empty()) said += cat("; not lowered: ", r.weaker);
    if (r.interpreted_calls > 0) said += cat("; ", r.interpreted_calls, " operator calls interpreted");
    const std::string time = r.seconds > 0 ? fmt::format("{:.3f} ms", r.seconds * 1e3) : "";
    out += fmt::format("{:<14} {:>11} {:>11.3g} {:>11.3g} {:>9.3g}  {}\n", r.label(), time, r.worst.error,
                       r.worst.bound, r.worst.needed, said);
  }
  return out;
}

}  // namespace relay::driver
