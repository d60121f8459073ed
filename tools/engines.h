// The engines: everything that runs a program. One row each in engines.cc.
//
// An engine may skip a program, with a reason; it may never differ (docs/adding-an-engine.md).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "ir/module.h"
#include "kernel/schedule/cpu.h"
#include "runtime/value.h"

namespace relay::tools {

struct EngineOptions {
  int opt_level = 2;
  int threads = 1;
  std::string target = "native";  // processor features: sse2, avx2, avx512, native
};

// How a run ended.
struct Outcome {
  enum class Kind { kValue, kTrap, kExhausted };
  Kind kind = Kind::kValue;
  Value value = {};
  std::string message = {};  // of a trap, or the limit
};

// A program made ready to run.
struct Prepared {
  std::function<Outcome(const std::vector<Value>& args)> run;  // null if it is skipped
  std::string skipped = {};                                    // why
};

struct Engine {
  std::string_view name, doc;
  bool compiles;  // opt levels, threads and targets mean something
  Prepared (*prepare)(const Module& checked, std::string_view function, const EngineOptions& options);
};

std::span<const Engine> engines();
const Engine* find_engine(std::string_view name);

// The module with `function` as its @main, and nothing that it does not reach.
Module with_entry(const Module& m, std::string_view function);

// What schedules are made for. Reports an unknown name as an empty text's opposite: the reason.
std::string parse_target(std::string_view target, kernel::schedule::CpuOptions& options);

}  // namespace relay::tools
