// Programs are not only read, but checked and run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/source.h"
#include "interp/machine.h"
#include "ir/module.h"
#include "runtime/value.h"
#include "tests/fuzz/readers.h"

namespace relay::fuzz {

// What every reader promises of its diagnostics.
Outcome judge(bool accepted, const Diagnostics& diagnostics, const SourceMap& sources);

// Values that a function of a checked module takes; their data are what operators find hard.
// Nothing if none can be made or they would be large.
std::optional<std::vector<Value>> arguments_of(const Module& m, const Fn& fn, Random& random);

// Calls of functions of a checked module that are small enough to be made.
struct RunnableCall {
  std::string function;
  std::vector<Value> args;
};
std::vector<RunnableCall> runnable_calls(const Module& checked, uint64_t seed);

// What a run of programs on the interpreter may take.
interp::Options run_limits();

// Checks the module and runs its functions on the interpreter. Data depend on `seed` alone.
Outcome check_and_run(const Module& m, uint64_t seed, Diagnostics& diagnostics);

// The readers whose results are run.
Outcome run_text(std::string_view bytes);
Outcome run_model(std::string_view bytes);
Outcome run_graph(std::string_view bytes);

}  // namespace relay::fuzz
