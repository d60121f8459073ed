// A case of the sweep: one operator call as a program, its arguments, and what the interpreter
// gives for them.
#pragma once

#include <string>
#include <vector>

#include "driver/engines.h"
#include "driver/tolerance.h"
#include "ir/module.h"
#include "tests/property/bytes.h"
#include "tests/sweep/seeds.h"

namespace relay::sweep {

struct Case {
  Module module;  // checked; @main is the call
  std::vector<Value> args;
  driver::Outcome want;
  driver::Wanted wanted;     // if that is a value: what engines have to give
  bool is_symbolic = false;  // some extents of parameters are shape variables
  std::string wrong = {};    // the checker refuses what the relation takes; nothing else is set then
};

// The case that the bytes stand for, in the context of `empty`. `id` goes into the names of shape
// variables, so that cases can be joined to one program.
Case make_case(const Module& empty, const std::vector<Seed>& seeds, const property::Bytes& bytes, size_t id);

// The case as a file of tests/exec.
std::string reproducer(const Case& c, const std::string& about);

}  // namespace relay::sweep
