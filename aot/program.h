// What an artifact runs: a plan of static dataflow, or functions over values.
//
// A program that is more than static dataflow becomes C++ functions, one for each function of the
// language, over values that count their references (support/values.cc). What is computed with
// tensors stays kernels. Calls in the last place of a function take no space; others use the
// thread's stack, whose end is an error of the run. Closures bring along what they mention.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "aot/device_library.h"
#include "aot/extents.h"
#include "aot/interface.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/module.h"
#include "op/relation.h"
#include "passes/plan_memory.h"

namespace relay::aot {

// What an operator that changes only the shape asks and gives, in extents that a run knows.
struct View {
  struct Opened {
    size_t arg, axis;
    kernel::Expr variable;
  };
  std::vector<Opened> opened;  // the dims of arguments that their types do not know
  std::vector<Dim> dims;       // of the result
  std::vector<op::DimCheck> checks;
};

// An extent of an argument that may be another one than its type says (analysis/typed_extents.h).
struct DoubtedExtent {
  size_t arg, axis;
  Dim dim;
};

struct Program {
  Module module;  // keeps what the others refer to
  // Inputs, outputs and constants; and the steps, unless there are functions. With functions,
  // inputs and outputs are the tensors that are no part of a data type.
  passes::Plan plan;
  std::vector<const kernel::Kernel*> kernels;  // that are called
  // The functions that are reached; the first one is run.
  std::vector<Symbol> functions;
  std::unordered_map<Expr, size_t> constants = {};  // of functions: places in plan.constants
  std::unordered_map<Expr, View> views = {};        // the calls of functions that are none of kernels
  // Kernels whose arguments are not proved to have the extents that they ask for: these are
  // compared at each call.
  std::unordered_set<const kernel::Kernel*> compared = {};
  // What calls compare where they stand: those of views, and of kernels whose calls are deferred.
  std::unordered_map<Expr, std::vector<DoubtedExtent>> doubted = {};
  Interface interface = {};
  // Why there are functions and no plan, as a sentence; empty if there is a plan.
  std::string not_planned = {};
};

// The lowered module's function as a program: a plan if it is static dataflow, of constant shapes
// where `plans` says so, else functions. Reports "not-ahead-of-time", naming the construct and
// the engine to use
// instead, what plan_memory reports of shapes, and "cannot-compile" for a kernel that cannot be.
Result<Program> make_program(const Module& lowered, std::string_view function, Diagnostics& diagnostics,
                             passes::Shapes plans = passes::Shapes::kSymbolic);

// The functions, and `run_main` that calls the first one with arguments that it takes away. Names
// begin with `prefix`; constant i lies at `offset` of it in the weights.
std::string print_functions(const Program& program, std::string_view prefix, DeviceLibrary& device_library,
                            const std::function<uint64_t(size_t)>& offset);
// The most arguments that a function of the program takes, at least 1.
size_t most_arguments(const Program& program);
// The most inputs and outputs of a kernel whose calls are deferred (support/batches.cc); 0 if there
// is no such kernel.
size_t most_operands(const Program& program);

}  // namespace relay::aot
