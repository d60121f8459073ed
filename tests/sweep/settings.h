// The engines that a case runs on, and how a run of one differs from the interpreter's.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tests/sweep/case.h"

namespace relay::sweep {

struct Setting {
  std::string_view engine;
  int level;
  std::string name() const;  // "jit -O2"
};

// Runs the cases, which share a context, and tells each finding: the case's index and what is
// wrong. Those that give values are compiled as one program, traps one by one, the first `traps`
// of them.
void run_cases(const Setting& setting, std::span<const Case> cases, size_t traps,
               const std::function<void(size_t index, const std::string& wrong)>& on_finding);

}  // namespace relay::sweep
