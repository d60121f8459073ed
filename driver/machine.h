// Runs on the interpreter's machine: the engine `interp`, and those that only compute its operators
// otherwise.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "driver/engines.h"
#include "interp/machine.h"
#include "ir/module.h"
#include "jit/operators.h"
#include "runtime/value.h"

namespace relay::driver {

// What the machine is told under these options.
interp::Options machine_options(const Options& options);

// Runs of the module's @main on the machine, which computes with these.
std::function<Outcome(const std::vector<Value>& args)> run_with(
    std::shared_ptr<jit::CompiledOperators> operators, Module m, const Options& options);

}  // namespace relay::driver
