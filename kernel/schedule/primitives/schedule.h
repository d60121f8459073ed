// Schedule: a kernel being scheduled, step by step, and the trace of the steps.
//
// A step is text: the name of a primitive and its arguments, as in `split conv.2 8`, where conv.2
// is the loop at depth 2 around block conv. The trace of all steps, one a line, replays to the same
// kernel: it is what a database of schedules keeps. docs/schedules.md lists the primitives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/schedule/primitives/primitive.h"

namespace relay::kernel::schedule::primitives {

// The names of all primitives, in alphabetical order.
std::vector<std::string_view> primitives();
// What follows the name in a step: "BLOCK.DEPTH FACTOR". Empty if there is no such primitive.
std::string_view arguments_of(std::string_view primitive);

// The kernel after one step, or why the step was refused or not understood. What a primitive has
// made is validated (kernel/validate.h), so that a kernel which cannot be shown to be well formed
// is never given out.
Outcome apply(const Kernel& k, std::string_view step);

class Schedule {
 public:
  explicit Schedule(const Kernel& k) : kernel_(k) {}

  const Kernel& kernel() const { return kernel_; }
  // Empty if the step was done; else the reason, and the kernel is as it was.
  [[nodiscard]] std::string apply(std::string_view step);
  // The steps that were done, one a line.
  const std::string& trace() const { return trace_; }
  // Applies a trace; stops at the first step that is refused and gives its line, the step and the
  // reason. Empty lines, and what follows a `#`, say nothing.
  [[nodiscard]] std::string replay(std::string_view trace);

 private:
  Kernel kernel_;
  std::string trace_;
};

}  // namespace relay::kernel::schedule::primitives
