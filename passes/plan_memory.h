// plan-memory: a lowered function as a list of steps over values with fixed locations.
//
// What the graph runtime executes and the ahead-of-time compiler prints. Static dataflow only:
// kernel calls, shape changes, tuples and projections over tensors. Anything else is refused by
// its name. Shapes are constant, or of extents that follow from shape variables of the inputs, for
// who asks for that.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/module.h"
#include "kernel/simplify.h"
#include "passes/locations.h"

namespace relay::passes {

// A value of the plan has the bytes of one tensor, in one location.
enum class Storage : uint8_t {
  kInput,      // the caller's, by index
  kOutput,     // the caller's, by index
  kConstant,   // of Plan::constants, by index
  kWorkspace,  // at an offset, or in a slot
};

struct PlanValue {
  Storage storage;
  uint64_t at;  // index or byte offset
  const TensorType* type;
  uint64_t bytes;  // 0 if the shape is not constant
};

struct PlanStep {
  // The kernel to run, or null: copy inputs[0] to outputs[0] (an output that is an input, a
  // constant, or the same tensor as another output).
  const kernel::Kernel* kernel;
  std::vector<uint32_t> inputs, outputs, temporaries;  // indices into Plan::values
  Expr origin;                                         // the call, for messages and profiles
  std::vector<kernel::Expr> extents = {};  // the kernel's shape variables, over those of the plan's inputs
};

struct PlanPort {
  std::string name;
  const TensorType* type;
};

// The output may have the memory of the input, which it then replaces (passes/in_place.h).
struct InPlacePair {
  uint32_t output, input;  // indices into Plan::outputs and Plan::inputs
  friend auto operator<=>(const InPlacePair&, const InPlacePair&) = default;
};

struct Plan {
  std::vector<PlanPort> inputs, outputs;
  std::vector<Tensor> constants;
  std::vector<PlanValue> values;
  std::vector<PlanStep> steps;
  uint64_t workspace_bytes = 0;
  uint64_t workspace_bytes_without_sharing = 0;  // what the workspace would be if no two values shared memory
  bool tuple_result = false;  // the function gives a tuple (even of one) rather than a tensor
  // Not all shapes are constant. Then each value of the workspace has a slot instead of an offset:
  // the values of a slot are alive one after the other, and it is as large as the largest of them.
  bool dynamic = false;
  std::vector<std::vector<uint32_t>> slots;
  std::vector<InPlacePair> in_place;  // sorted
};

enum class Shapes : uint8_t { kConstant, kSymbolic };

// Reports "not-static-dataflow" or "dynamic-shape", naming the construct and the
// engine to use instead.
Result<Plan> plan_memory(const Module& m, std::string_view function, Diagnostics& diagnostics,
                         Shapes shapes = Shapes::kConstant);

// The bytes of the workspace: of a dynamic plan over the shape variables of its inputs, and exactly
// what a run takes. Unknown if no 64 bits hold the number.
Dim workspace_formula(const Plan& plan);
// The most that it can be where shape variables have these bounds; nothing if there
// is no such number.
std::optional<uint64_t> most_workspace_bytes(const Plan& plan, const kernel::Bounds& bounds);

// The steps and locations as text, for --emit=plan and goldens.
std::string show(const Plan& plan);

}  // namespace relay::passes
