// Running generated programs: outcomes, and whether two of them are the same.
#pragma once

#include <string>

#include "base/diagnostics.h"
#include "base/result.h"
#include "driver/engines.h"
#include "ir/module.h"
#include "runtime/value.h"
#include "tests/property/generate.h"

namespace relay::property {

struct Run {
  enum class Kind { kValue, kTrap, kExhausted } kind = Kind::kValue;
  Value value = {};
  std::string message = {};  // of a trap
  // All floats on the way were small integers: then results do not depend on the
  // order of summation.
  bool exact = true;
  double largest = 0;           // of the magnitudes of floats on the way
  std::string wrong_type = {};  // an expression whose value is not of its type, if types were looked at
};

// Interprets @main. Programs end, but not all of them soon: those that take too many
// steps are given up.
Run interpret(const Module& m, const std::vector<Value>& args, bool look_at_types = false);

// The same, with the result compared with the type of @main, as engines do (driver/results.h).
Run result_of_engine(const Module& m, const std::vector<Value>& args);

// How far floats of another run may be away: not at all, but for an inexact run of a smooth
// program. A wrong element is mostly away by more than this share of the largest number.
double slack(const Program& p, const Run& want);
// May results be compared, although floats are combined in another order?
bool comparable(const Program& p, const Run& want);

// How they differ; empty if they do not. Constructors are compared by name: the modules may
// be different ones.
std::string difference(const Run& got, const Run& want, double slack = 0);
std::string difference(const Value& got, const Value& want, double slack = 0);
// The same for what an engine gives, which must not come to a limit.
std::string difference(const driver::Outcome& got, const Run& want, double slack);

// The module with types; the message of what is wrong with it otherwise.
Result<Module> checked(const Module& m, std::string& wrong);

// The whole module as a text, all constants in it.
std::string text_of(const Module& m);
// The text read back; the message otherwise.
Result<Module> read_back(const std::string& text, std::string& wrong);

}  // namespace relay::property
