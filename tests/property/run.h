// Running generated programs: outcomes, and whether two of them are the same.
#pragma once

#include <functional>
#include <string>

#include "base/diagnostics.h"
#include "base/result.h"
#include "driver/engines.h"
#include "ir/module.h"
#include "runtime/compare.h"
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

// What an engine gives, which must not be a limit.
Run run_of(const driver::Outcome& outcome);

// Compares number i of the tensors of a value, taken apart in order, whose dtype and shape are the
// wanted ones.
using CompareTensors = std::function<Comparison(size_t i, const Tensor& got, const Tensor& want)>;
// Bit for bit.
Comparison same_tensors(size_t i, const Tensor& got, const Tensor& want);

// How they differ; empty if they do not. Constructors are compared by name: the modules may
// be different ones.
std::string difference(const Value& got, const Value& want, const CompareTensors& compare = same_tensors);
std::string difference(const Run& got, const Run& want, const CompareTensors& compare = same_tensors);

// The module with types; the message of what is wrong with it otherwise.
Result<Module> checked(const Module& m, std::string& wrong);

// The whole module as a text, all constants in it.
std::string text_of(const Module& m);
// The text read back; the message otherwise.
Result<Module> read_back(const std::string& text, std::string& wrong);

}  // namespace relay::property
