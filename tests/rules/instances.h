// Instances: the examples of rules as typed programs, one for each dtype that they are for.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "passes/rules/engine.h"

namespace relay::passes::rules::testing {

struct Instance {
  const Rule* rule;
  const Example* example;
  DType dtype;       // that T stands for
  std::string text;  // of the program
  Module module;     // typed
  Expr left;         // the result of @main, to which the rule applies
};

// The dtypes that a word of an example stands for: a name, several with `|` between them, or a
// group ("int", "signed", "unsigned", "float", "any").
std::vector<DType> dtypes_of(const std::string& words);

// All instances of an example. What is wrong with its text is a failure of the test.
std::vector<Instance> instances_of(const Rule& rule, const Example& example);

// The module in which the right side is the result of @main; nothing if the rule does not apply.
std::optional<Module> applied(const Instance& i, bool fold);

}  // namespace relay::passes::rules::testing
