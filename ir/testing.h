// For the tests of programs as data: a module to make expressions in, and operators that have
// nothing but a name. OpDef and `name` stand for those of op/, which these tests do not link.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/builder.h"
#include "ir/module.h"

namespace relay::op {

struct OpDef {
  std::string name;
};
// A hash has names of operators in it only if this is linked (ir/hash.cc): no test calls it itself.
[[gnu::used]] inline std::string_view name(const OpDef& op) { return op.name; }

}  // namespace relay::op

namespace relay {

inline const op::OpDef kAdd{"add"}, kMultiply{"multiply"};

// An empty module, its context, and a builder of expressions in it.
struct WithModule : testing::Test {
  Module m;
  Context& c = m.context();
  Builder b{m.context()};
};

}  // namespace relay
