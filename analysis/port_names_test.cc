#include "analysis/port_names.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "op/operators.h"

namespace relay::analysis {
namespace {

using Names = std::vector<std::string>;

// The names of inputs, and of three outputs.
std::pair<Names, Names> names(const std::string& attributes) {
  Diagnostics diagnostics;
  ParseOptions options;
  const Result<Module> m = parse("test", "def @main(%x: int32, %y: int32" + attributes + ") { (%x, %y, %x) }",
                                 diagnostics, op::operators(), options);
  EXPECT_TRUE(m.ok()) << diagnostics.render(options.into.context().sources());
  const Fn& fn = *m->function("main");
  return {input_names(fn), output_names(fn, 3)};
}

TEST(PortNames, AreThoseOfTheModel) {
  const auto [inputs, outputs] = names(R"(, input_names=["in 0", "in 1"], output_names=["a", "b", "c"])");
  EXPECT_EQ(inputs, (Names{"in 0", "in 1"}));
  EXPECT_EQ(outputs, (Names{"a", "b", "c"}));
}

TEST(PortNames, WithoutAreNumbers) {
  const auto [inputs, outputs] = names("");
  EXPECT_EQ(inputs, (Names{"x", "y"}));
  EXPECT_EQ(outputs, (Names{"output_0", "output_1", "output_2"}));
  EXPECT_EQ(output_name(0, 1), "output");
}

TEST(PortNames, TooFewAndTooManyAreNoMistake) {
  const auto [inputs, outputs] = names(R"(, input_names=["one", "two", "three"], output_names=["a"])");
  EXPECT_EQ(inputs, (Names{"one", "two"}));
  EXPECT_EQ(outputs, (Names{"a", "output_1", "output_2"}));
  const auto [wrong, none] = names(R"(, input_names="x", output_names=3)");
  EXPECT_EQ(wrong, (Names{"x", "y"}));
  EXPECT_EQ(none, (Names{"output_0", "output_1", "output_2"}));
}

}  // namespace
}  // namespace relay::analysis
