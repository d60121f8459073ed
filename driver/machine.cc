#include "driver/machine.h"

#include <utility>

#include "driver/nonfinite.h"

namespace relay::driver {

interp::Options machine_options(const Options& options) {
  interp::Options out{options.limits};
  if (options.trap_nan) out.observe = trap_nan;
  return out;
}

std::function<Outcome(const std::vector<Value>& args)> run_with(
    std::shared_ptr<jit::CompiledOperators> operators, Module m, const Options& options) {
  return [m = std::move(m), operators = std::move(operators),
          run = machine_options(options)](const std::vector<Value>& args) {
    interp::Options machine = run;
    operators->use_in(machine);
    const size_t before = operators->interpreted_calls();
    Outcome outcome = outcome_of([&] { return interp::Machine(m, machine).call("main", args); });
    outcome.interpreted_calls = operators->interpreted_calls() - before;
    return outcome;
  };
}

}  // namespace relay::driver
