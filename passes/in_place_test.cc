// Which outputs of whole programs may lie on their inputs.
#include "passes/in_place.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/runner.h"

namespace relay::passes {
namespace {

// "output<-input" of each pair of the program's plan.
std::string pairs_of(std::string_view program) {
  Diagnostics diagnostics;
  ParseOptions parsing;
  const Result<Module> parsed = parse("test", std::string(program), diagnostics, op::operators(), parsing);
  const Result<Module> lowered =
      parsed ? run_pipeline(*parsed, default_pipeline(2), {}, diagnostics) : Result<Module>(kReported);
  const Result<Plan> plan =
      lowered ? plan_memory(*lowered, "main", diagnostics, Shapes::kSymbolic) : Result<Plan>(kReported);
  EXPECT_TRUE(plan.ok()) << diagnostics.render(parsing.into.context().sources());
  if (!plan) return "none";
  return join(plan->in_place, " ", [](const InPlacePair& p) { return cat(p.output, "<-", p.input); });
}

TEST(InPlacePairs, AStepOfGradientDescent) {
  EXPECT_EQ(pairs_of("def @main(%w: Tensor[(8, 8), float32], %g: Tensor[(8, 8), float32]) {"
                     "  subtract(%w, multiply(%g, 0.1f))"
                     "}"),
            "0<-0 0<-1");
}

// The new parameter is computed of the new velocity, which its kernel reads where it was written.
TEST(InPlacePairs, AStepWithMomentum) {
  EXPECT_EQ(pairs_of("def @main(%w: Tensor[(8, 8), float32], %v: Tensor[(8, 8), float32],"
                     "          %x: Tensor[(8, 8), float32]) {"
                     "  let %g = nn.matmul(%x, %w);"
                     "  let %next = add(multiply(%v, 0.9f), %g);"
                     "  (subtract(%w, %next), %next)"
                     "}"),
            "0<-0 1<-1");
}

TEST(InPlacePairs, AnInputThatALaterStepReads) {
  EXPECT_EQ(pairs_of("def @main(%w: Tensor[(8, 8), float32], %x: Tensor[(8, 8), float32]) {"
                     "  let %next = exp(%w);"
                     "  (%next, nn.matmul(%w, nn.matmul(%next, %x)))"
                     "}"),
            "");
}

TEST(InPlacePairs, ElementsThatAreReadElsewhere) {
  EXPECT_EQ(pairs_of("def @main(%x: Tensor[(8, 8), float32]) { transpose(%x, axes=[1, 0]) }"), "");
  EXPECT_EQ(pairs_of("def @main(%x: Tensor[(8, 8), float32]) { reverse(%x, axis=0) }"), "");
  EXPECT_EQ(pairs_of("def @main(%x: Tensor[(8, 8), float32]) { nn.softmax(%x) }"), "0<-0")
      << "a row is read before it is replaced";
  EXPECT_EQ(pairs_of("def @main(%x: Tensor[(8, 8), float32], %y: Tensor[(8), float32]) { add(%y, %x) }"),
            "0<-0");
}

TEST(InPlacePairs, AnInputThatIsGivenBack) {
  EXPECT_EQ(pairs_of("def @main(%x: Tensor[(8), float32], %y: Tensor[(8), float32]) { (%x, exp(%y)) }"),
            "0<-0 1<-1");
  EXPECT_EQ(pairs_of("def @main(%x: Tensor[(8), float32]) { (%x, exp(%x)) }"), "0<-0")
      << "the copy at the end reads what `exp` would have replaced";
}

TEST(InPlacePairs, AnotherDTypeOrShape) {
  EXPECT_EQ(pairs_of("def @main(%x: Tensor[(8), float32]) { cast(%x, dtype=\"int32\") }"), "");
  EXPECT_EQ(pairs_of("def @main(%x: Tensor[(8), float32]) { broadcast_to(%x, shape=[4, 8]) }"), "");
  EXPECT_EQ(pairs_of("def @main(%x: Tensor[(2, 4), float32]) { exp(reshape(%x, newshape=[8])) }"), "0<-0");
}

TEST(InPlacePairs, ExtentsThatOnlyARunKnows) {
  EXPECT_EQ(pairs_of("def @main(%x: Tensor[(n), float32], %y: Tensor[(m), float32]) { (exp(%x), sqrt(%y)) }"),
            "0<-0 1<-1");
}

TEST(InPlacePairs, TheParametersThatMayBeOneMemory) {
  Diagnostics diagnostics;
  ParseOptions parsing;
  const Result<Module> parsed =
      parse("test", "def @main(%w: Tensor[(64), float32], %s: float32) { (multiply(%w, %s), exp(%s)) }",
            diagnostics, op::operators(), parsing);
  ASSERT_TRUE(parsed);
  const Result<Module> lowered = run_pipeline(*parsed, default_pipeline(2), {}, diagnostics);
  ASSERT_TRUE(lowered);
  const Result<Plan> plan = plan_memory(*lowered, "main", diagnostics);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->in_place, (std::vector<InPlacePair>{{0, 0}, {1, 1}}));
  const SharedParameters all = shared_parameters(*plan, plan->in_place);
  ASSERT_EQ(all.size(), 2u);
  const SharedParameters first = shared_parameters(*plan, {{0, 0}});
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first.begin()->second, (std::set<size_t>{0, 2})) << "not the factor";
  EXPECT_TRUE(shared_parameters(*plan, {}).empty());
}

}  // namespace
}  // namespace relay::passes
