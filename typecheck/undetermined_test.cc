// A remedy that a message spells out works when it is pasted.
#include <gtest/gtest.h>

#include "base/cat.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "op/registry.h"
#include "typecheck/check.h"

namespace relay::typecheck {
namespace {

Diagnostics messages_of(const std::string& text) {
  Diagnostics diagnostics;
  Result<Module> m = parse("test.relay", text, diagnostics, op::operators(), {});
  if (m) static_cast<void>(infer(*m, diagnostics));
  return diagnostics;
}

// The function that the message about `operand` spells out; empty if there is none.
std::string remedy(const std::string& operand) {
  const Diagnostics diagnostics = messages_of(cat("def @main() { grad(", operand, ") }"));
  for (const Diagnostic& d : diagnostics.all()) {
    for (const std::string& note : d.notes()) {
      const size_t begin = note.find("`fn (");
      if (begin != std::string::npos && note.find("...") == std::string::npos)
        return note.substr(begin + 1, note.size() - begin - 2);
    }
  }
  return {};
}

TEST(Undetermined, FunctionsAroundOperatorsAreOfTypesThatTheyTake) {
  size_t spelled = 0;
  for (const op::OpDef* op : op::all_ops()) {
    const std::string function = remedy(op->name);
    if (function.empty()) continue;
    ++spelled;
    const Diagnostics pasted = messages_of(cat("def @main() { ", function, " }"));
    for (const Diagnostic& d : pasted.all()) ADD_FAILURE() << function << ": " << d.slug().name();
  }
  EXPECT_GT(spelled, 50u);
}

TEST(Undetermined, NoFunctionIsSpelledOutForOtherTypes) {
  EXPECT_EQ(remedy("add"), "fn (%lhs: float32, %rhs: float32) { add(%lhs, %rhs) }");
  for (const char* op : {"concatenate", "reshape", "logical_not", "nn.dense"})
    EXPECT_EQ(remedy(op), "") << op;
}

}  // namespace
}  // namespace relay::typecheck
