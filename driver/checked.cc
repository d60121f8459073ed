#include "driver/checked.h"

#include "passes/expand_grad.h"
#include "typecheck/check.h"

namespace relay::driver {

Result<Module> checked(const Module& read, Diagnostics& diagnostics) {
  const Result<Module> typed = typecheck::check(read, diagnostics);
  return typed ? passes::without_grad(*typed, diagnostics) : Result<Module>(kReported);
}

}  // namespace relay::driver
