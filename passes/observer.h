// Who is told what a pipeline does: progress, times, dumps, where kernels come from.
#pragma once

#include <map>
#include <string>

#include "base/diagnostics.h"
#include "ir/module.h"
#include "passes/pipeline.h"

namespace relay::passes {

// A step that has run, and the type check behind it.
struct StepReport {
  const Pipeline& steps;
  size_t done;  // steps[done - 1] has run
  const Module &before, &after;
  double pass_ms, check_ms;
  const std::map<std::string, size_t>& rules;  // how often each rule that applied did

  const Step& step() const { return steps[done - 1]; }
  bool changed() const { return !after.same(before); }
};

// Each function may be left out. An error that one reports to `d` ends the pipeline. What a module
// points at may be gone after the next step, unless the observer keeps a copy of the module.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begins(const Pipeline& steps, const Module& m, Diagnostics& d);
  virtual void ran(const StepReport& report, Diagnostics& d);
  // The first step of `rest` went wrong on `m`.
  virtual void failed(const Pipeline& rest, const Module& m, Diagnostics& d);
  virtual void ended();  // without an error
  // `lower` has put the kernel in the place of the call: of a primitive function, or of a kernel of
  // the program. Equal functions share a kernel, which then comes several times.
  virtual void lowered(Symbol kernel, const Call& replaced);
};

}  // namespace relay::passes
