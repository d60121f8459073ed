#include "tools/pass_output.h"

#include <fmt/format.h>

#include "base/cat.h"
#include "base/escape.h"
#include "op/operators.h"

namespace relay::tools {

void PassOutput::ran(const passes::StepReport& r, Diagnostics&) {
  lines_.push_back({passes::show(r.step()), r.pass_ms, r.check_ms});
  const bool changed = r.changed();
  if (!after_.contains("all") && !after_.contains(std::string(r.step().pass->name)) &&
      !(changed && after_.contains("changed")))
    return;
  const std::string head =
      line_comment("//", cat("after ", lines_.back().name, changed ? "" : ": unchanged"));
  session_.say(cat(head, "\n", changed ? op::text_of(r.after) : ""));
}

void PassOutput::ended() {
  if (!time_) return;
  Line sum{"all passes", 0, 0};
  for (const Line& l : lines_) {
    sum.pass_ms += l.pass_ms;
    sum.check_ms += l.check_ms;
  }
  const double all = sum.pass_ms + sum.check_ms;
  std::string out;
  lines_.push_back(sum);
  for (const Line& l : lines_) {
    out += fmt::format("{:<24} {:9.2f} ms   type check {:9.2f} ms   {:5.1f} %\n", l.name, l.pass_ms,
                       l.check_ms, all > 0 ? 100 * (l.pass_ms + l.check_ms) / all : 0.0);
  }
  lines_.clear();
  session_.say(out);
}

}  // namespace relay::tools
