#include "tests/property/watch.h"

#include "kernel/walk.h"
#include "tests/property/run.h"

namespace relay::property {

void Watch::ran(const passes::StepReport& report, Diagnostics&) {
  if (!report.changed()) return;
  if (report.step().pass == &passes::kBlockChannels)
    winograd_ |= text_of(report.after).find("winograd") != std::string::npos;
  if (report.step().pass != &passes::kLower) return;
  for (const auto& [name, k] : report.after.kernels()) {
    kernel::visit(k->body, [this](kernel::Stmt s) {
      const auto* loop = s->as<kernel::For>();
      parallel_ |= loop && loop->how == kernel::ForKind::kParallel;
    });
  }
}

}  // namespace relay::property
