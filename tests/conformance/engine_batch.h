// Small programs on an engine, many of them compiled as one.
//
// A C++ compiler takes longer to start than to compile one operator, so tests of the same
// context are joined to one program (tools/verify/batches.h). A test whose module has more than
// its @main is never joined.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "driver/row.h"
#include "driver/tolerance.h"
#include "ir/module.h"
#include "runtime/value.h"

namespace relay::tests {

// A program with arguments, and what the tensors of its result have to be.
struct EngineTest {
  std::string name;
  Module module;  // checked; its entry is @main
  std::vector<Value> args;
  driver::Wanted wanted = {};
};

// Is told how one test went, and the tensors of its result; there are none if there is no result.
using OnEngineRow =
    std::function<void(const EngineTest& test, const driver::VerifyRow& row, std::span<const Tensor> got)>;

// Runs every test once and tells its row. The tests share one context. Throws nothing of an
// engine's: a test that fails has a row that says so. Tests that are `alone` are not joined: one
// that the engine skips would have its batch taken apart, and compiled again in parts.
void run_on_engine(const driver::Engine& engine, const driver::Options& options,
                   std::span<const EngineTest> tests, const OnEngineRow& on_row,
                   const std::function<bool(const EngineTest&)>& alone = {});

}  // namespace relay::tests
