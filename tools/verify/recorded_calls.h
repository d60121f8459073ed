// The calls of operators and kernels that the interpreter really evaluates in a run, with the
// values that they had.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "op/op_def.h"
#include "runtime/value.h"

namespace relay::tools {

// Calls that compile alike: of one operator or kernel, with the same attributes, types of arguments
// and constants among them.
struct RecordedCall {
  const op::OpDef* op = nullptr;           // or
  const kernel::Kernel* kernel = nullptr;  // of the module, its own or a C function's
  Attrs attrs;                             // concrete: no shape variables
  const Call* site = nullptr;              // where the first of them is
  // Of the arguments, tuples taken apart: the constant that the program has there, null for what it
  // computes. A call of constants only has none, so that engines compute it too.
  std::vector<const Tensor*> constants;
  struct Run {
    std::vector<Value> args;
    Value result;
  };
  std::vector<Run> runs;   // the first few
  uint64_t evaluated = 0;  // how often, at all places
};

struct Recording {
  std::vector<RecordedCall> calls;  // in the order in which each was evaluated first
  uint64_t evaluated = 0;           // calls of operators and kernels in the whole run
  std::string stopped;              // the trap or limit that ended the run before its end
};

// Of calls that compile alike, this many are kept with their values: loops have millions.
inline constexpr size_t kMostRecordedRuns = 3;

Recording record_calls(const Module& m, std::string_view function, const std::vector<Value>& args);

// A module whose @main makes these calls and gives the tensors of their results in a row: of one
// call as the operator gives them, of several as a tuple. Its parameters are what is not constant,
// call after call (`inputs_of`).
Module module_of(const Module& m, const std::vector<const RecordedCall*>& calls);
// The arguments of that @main for one run of a call.
void append_inputs(const RecordedCall& call, const RecordedCall::Run& run, std::vector<Value>& out);

}  // namespace relay::tools
