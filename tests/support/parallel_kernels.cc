#include "tests/support/parallel_kernels.h"

#include "ir/module.h"
#include "kernel/walk.h"

namespace relay::tests {
namespace {

bool has_parallel_loop(const kernel::Kernel& k) {
  bool found = false;
  kernel::visit(k.body, [&](kernel::Stmt s) {
    const auto* loop = s->as<kernel::For>();
    found |= loop && loop->how == kernel::ForKind::kParallel;
  });
  return found;
}

}  // namespace

void ParallelKernels::ran(const passes::StepReport& report, Diagnostics&) {
  if (report.step().pass != &passes::kLower) return;
  for (const auto& [name, k] : report.after.kernels()) {
    ++all_;
    parallel_ += has_parallel_loop(*k);
  }
}

driver::Options on_threads(driver::Options options, int threads, ParallelKernels& count) {
  options.threads = threads;
  if (threads == 1) return options;
  options.worth_threads = 1;
  options.observers.push_back(&count);
  return options;
}

}  // namespace relay::tests
