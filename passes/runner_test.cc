// The runner against passes that are wrong: it names them, and leaves what is needed
// to see it again.
#include "passes/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/cat.h"
#include "base/file.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "ir/text/parser.h"
#include "op/apply.h"
#include "op/operators.h"
#include "op/ops.h"
#include "passes/dumps.h"
#include "passes/plan_memory.h"

namespace relay::passes {
namespace {

constexpr std::string_view kProgram =
    "def @main(%x: Tensor[(2), float32]) { let %y = add(%x, 1f); multiply(%y, 2f) }";

Module parsed(std::string_view text) {
  Diagnostics diagnostics;
  ParseOptions options;
  Result<Module> m = parse("m.relay", std::string(text), diagnostics, op::operators(), options);
  EXPECT_TRUE(m) << diagnostics.render(options.into.context().sources());
  return m ? *m : Module();
}

// Replaces every constant by another of the same type.
Module doubled(const Module& m, const PassContext&) {
  return rewrite(m, [](Builder& b, Expr e) -> Expr {
    const auto* c = e->as<Constant>();
    return c ? b.scalar(kFloat32, 2 * c->value->get(0)) : e;
  });
}

// Replaces every constant by one that fits nowhere.
Module reshaped(const Module& m, const PassContext&) {
  return rewrite(m, [](Builder& b, Expr e) -> Expr {
    return e->as<Constant>() ? b.constant(Tensor(kFloat32, {3})) : e;
  });
}

// Binds a variable twice: both functions have it.
Module copied(const Module& m, const PassContext&) {
  Module out = m;
  out.set_function("copy", m.function("main"));
  return out;
}

Module unchanged(const Module& m, const PassContext&) { return m; }

Module complaining(const Module& m, const PassContext& context) {
  context.diagnostics.error(m.function("main")->span, "bad-argument", "this pass never likes what it sees");
  return m;
}

// Gives a program that divides by zero instead.
Module trapping(const Module&, const PassContext&) {
  return parsed(
      "def @main(%x: Tensor[(2), float32]) { multiply(%x, cast(divide(1, 0), dtype=\"float32\")) }");
}

// Takes numbers of another kind.
Module of_integers(const Module&, const PassContext&) {
  return parsed("def @main(%x: Tensor[(2), int32]) { cast(multiply(%x, 2), dtype=\"float32\") }");
}

constexpr std::string_view kOfTwo =
    "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) { multiply(%x, %x) }";

// Takes one input less, which was of no use, or one more, or a longer one.
Module of_one(const Module&, const PassContext&) {
  return parsed("def @main(%x: Tensor[(2), float32]) { multiply(%x, %x) }");
}
Module of_two(const Module&, const PassContext&) { return parsed(kOfTwo); }
Module of_longer(const Module&, const PassContext&) {
  return parsed(
      "def @main(%x: Tensor[(3), float32]) { strided_slice(multiply(%x, %x), begin=[0], end=[2]) }");
}

const Pass kOfOne{.name = "of-one", .doc = "", .run = of_one};
const Pass kOfTwoInputs{.name = "of-two", .doc = "", .run = of_two};
const Pass kOfLonger{.name = "of-longer", .doc = "", .run = of_longer};
const Pass kRoughOfTwo{.name = "rough-of-two", .doc = "", .approximates = true, .run = of_two};
const Pass kOfIntegers{.name = "of-integers", .doc = "", .run = of_integers};
const Pass kDoubled{.name = "doubled", .doc = "", .run = doubled};
const Pass kReshaped{.name = "reshaped", .doc = "", .run = reshaped};
const Pass kCopied{.name = "copied", .doc = "", .run = copied};
const Pass kUnchanged{.name = "unchanged", .doc = "", .run = unchanged};
const Pass kComplaining{.name = "complaining", .doc = "", .run = complaining};
const Pass kTrapping{.name = "trapping", .doc = "", .run = trapping};
const Pass kRough{.name = "rough", .doc = "", .approximates = true, .run = doubled};
const Pass kRoughTrapping{.name = "rough-trapping", .doc = "", .approximates = true, .run = trapping};

struct Ran {
  bool ok;
  std::string messages;
  std::vector<std::string> slugs;
};

Ran run(const Module& m, const std::vector<const Pass*>& passes, const RunnerOptions& options) {
  Pipeline steps;
  for (const Pass* p : passes) steps.push_back(step(*p));
  Diagnostics diagnostics;
  Ran out;
  out.ok = run_pipeline(m, steps, options, diagnostics).ok();
  out.messages = diagnostics.render(m.context().sources());
  for (const Diagnostic& d : diagnostics.all()) out.slugs.emplace_back(d.slug().name());
  return out;
}

RunnerOptions semantics() {
  Tensor x(kFloat32, {2});
  x.set(0, 1);
  x.set(1, -4);
  return {.verify = Verify::kSemantics, .sample_inputs = {Value(x)}};
}

bool has(const Ran& ran, std::string_view slug) {
  return std::find(ran.slugs.begin(), ran.slugs.end(), slug) != ran.slugs.end();
}

TEST(Runner, SoundPassesPassEveryVerification) {
  for (const Verify verify : {Verify::kNone, Verify::kTypes, Verify::kSemantics}) {
    RunnerOptions options = semantics();
    options.verify = verify;
    const Ran ran =
        run(parsed(kProgram), {&kUnchanged, find_pass("fold-constants"), find_pass("dead-code")}, options);
    EXPECT_TRUE(ran.ok) << ran.messages;
    EXPECT_EQ(ran.messages, "");
  }
}

// Tangents and other extents: the program is run with inputs that fit.
TEST(Runner, PassesMayChangeWhatMainTakes) {
  for (const char* name : {"forward-gradient", "change-batch{from=2,to=3}"}) {
    Diagnostics diagnostics;
    const Module m = parsed("def @main(%x: Tensor[(2), float32]) { multiply(%x, %x) }");
    EXPECT_TRUE(run_pipeline(m, cat(name, ",inline,fold-constants"), semantics(), diagnostics).ok())
        << name << "\n"
        << diagnostics.render(m.context().sources());
  }
  // Later passes are checked with the inputs that fit, and may not change them again.
  const Module square = parsed("def @main(%x: Tensor[(2), float32]) { multiply(%x, %x) }");
  EXPECT_TRUE(run(square, {&kRoughOfTwo, &kUnchanged, &kOfTwoInputs}, semantics()).ok);
  const Ran ran = run(square, {&kRoughOfTwo, &kOfOne}, semantics());
  EXPECT_FALSE(ran.ok);
  EXPECT_NE(ran.messages.find("after pass `of-one`"), std::string::npos) << ran.messages;
}

// The answers are equal, but whoever calls the program has other inputs.
TEST(Runner, APassThatDoesNotApproximateLeavesWhatMainTakes) {
  RunnerOptions two = semantics();
  two.sample_inputs.push_back(two.sample_inputs[0]);
  const Module square = parsed("def @main(%x: Tensor[(2), float32]) { multiply(%x, %x) }");
  EXPECT_TRUE(run(square, {&kOfOne}, semantics()).ok);
  for (const Ran& ran : {run(parsed(kOfTwo), {&kOfOne}, two), run(square, {&kOfTwoInputs}, semantics()),
                         run(square, {&kOfLonger}, semantics()), run(square, {&kOfIntegers}, semantics())}) {
    EXPECT_FALSE(ran.ok);
    EXPECT_EQ(ran.slugs, std::vector<std::string>{"pass-changed-answer"}) << ran.messages;
    EXPECT_NE(ran.messages.find("do not fit"), std::string::npos) << ran.messages;
  }
}

// A program whose constant of 32 MiB sets `freed` when its bytes go.
Module with_large_constant(bool& freed) {
  constexpr int64_t kCount = int64_t{8} << 20;
  const auto bytes = std::make_shared<std::vector<float>>(static_cast<size_t>(kCount), 1.0f);
  const std::shared_ptr<const void> owner(bytes->data(), [bytes, &freed](const void*) { freed = true; });
  Module m;
  Builder b(m.context());
  const Var* x = b.var("x", m.context().tensor_type(Shape{1}, kFloat32));
  const Expr large = b.constant(Tensor(kFloat32, {kCount}, bytes->data(), owner));
  m.set_function("main", b.fn({&x, 1}, op::call(b, op::kAdd, {x, large})));
  return m;
}

// Sees after each pass whether the bytes are there.
class Freed : public Observer {
 public:
  explicit Freed(const bool& freed) : freed_(freed) {}
  void ran(const StepReport&, Diagnostics&) override { seen.push_back(freed_); }
  std::vector<bool> seen;

 private:
  const bool& freed_;
};

TEST(Runner, LargeConstantsThatAPassReplacedAreFreedBeforeTheNextPass) {
  bool freed = false;
  Freed observer(freed);
  Diagnostics diagnostics;
  const Pipeline steps{step(kDoubled), step(kUnchanged)};
  const auto done = run_pipeline(with_large_constant(freed), steps, {.observers = {&observer}}, diagnostics);
  ASSERT_TRUE(done) << diagnostics.render({});
  EXPECT_EQ(observer.seen, (std::vector<bool>{false, true}));
  EXPECT_EQ(well_formed(*done), std::vector<std::string>());
}

TEST(Runner, ConstantsOfAModuleThatSomebodyKeepsStay) {
  bool freed = false;
  Freed observer(freed);
  Diagnostics diagnostics;
  const Pipeline steps{step(kDoubled), step(kUnchanged)};
  const Module kept = with_large_constant(freed);
  EXPECT_TRUE(run_pipeline(kept, steps, {.observers = {&observer}}, diagnostics));
  EXPECT_EQ(observer.seen, (std::vector<bool>{false, false}));
  EXPECT_FALSE(freed);
}

TEST(Runner, APassThatBreaksTypesIsNamedWithoutBeingAsked) {
  const Ran ran = run(parsed(kProgram), {&kUnchanged, &kReshaped, &kUnchanged}, {});
  EXPECT_FALSE(ran.ok);
  EXPECT_TRUE(has(ran, "pass-broke-types")) << ran.messages;
  EXPECT_NE(ran.messages.find("after pass `reshaped`"), std::string::npos) << ran.messages;
  EXPECT_NE(ran.messages.find("`add`"), std::string::npos) << ran.messages;
}

TEST(Runner, APassThatBreaksTheModuleIsNamedIfTypesAreVerified) {
  const Ran ran = run(parsed(kProgram), {&kUnchanged, &kCopied}, {.verify = Verify::kTypes});
  EXPECT_FALSE(ran.ok);
  EXPECT_TRUE(has(ran, "pass-broke-module")) << ran.messages;
  EXPECT_NE(ran.messages.find("after pass `copied`"), std::string::npos) << ran.messages;
}

TEST(Runner, AnswersAreComparedWithThoseAfterAPassThatApproximates) {
  Ran ran = run(parsed(kProgram), {&kUnchanged, &kRough, &kUnchanged}, semantics());
  EXPECT_TRUE(ran.ok) << ran.messages;
  ran = run(parsed(kProgram), {&kRough, &kDoubled}, semantics());
  EXPECT_FALSE(ran.ok);
  EXPECT_NE(ran.messages.find("pass `doubled` changed the answer"), std::string::npos) << ran.messages;
  ran = run(parsed(kProgram), {&kRoughTrapping}, semantics());
  EXPECT_FALSE(ran.ok);
  EXPECT_EQ(ran.slugs, std::vector<std::string>{"pass-changed-answer"}) << ran.messages;
}

TEST(Runner, TheFirstPassThatChangesTheAnswerIsNamedWithTheDifference) {
  const Ran ran = run(parsed(kProgram), {&kUnchanged, &kDoubled, &kDoubled}, semantics());
  EXPECT_FALSE(ran.ok);
  EXPECT_EQ(ran.slugs, std::vector<std::string>{"pass-changed-answer"}) << ran.messages;
  EXPECT_NE(ran.messages.find("pass `doubled`"), std::string::npos) << ran.messages;
  // (1 + 2) * 4 and (-4 + 2) * 4 where (1 + 1) * 2 and (-4 + 1) * 2 were.
  EXPECT_NE(ran.messages.find("got 12, wanted 4"), std::string::npos) << ran.messages;
}

TEST(Runner, APassThatMakesTheProgramTrapChangesTheAnswer) {
  const Ran ran = run(parsed(kProgram), {&kTrapping}, semantics());
  EXPECT_FALSE(ran.ok);
  EXPECT_TRUE(has(ran, "pass-changed-answer")) << ran.messages;
  EXPECT_NE(ran.messages.find("`trapping`"), std::string::npos) << ran.messages;
}

TEST(Runner, AnswersAreOnlyComparedIfThatIsVerified) {
  EXPECT_TRUE(run(parsed(kProgram), {&kDoubled}, {.verify = Verify::kTypes}).ok);
}

TEST(Runner, AnErrorOfAPassStopsThePipeline) {
  const Ran ran = run(parsed(kProgram), {&kComplaining, &kReshaped}, {});
  EXPECT_FALSE(ran.ok);
  EXPECT_EQ(ran.slugs, std::vector<std::string>{"bad-argument"}) << ran.messages;
}

// --- reproducers ---------------------------------------------------------------------------------

class Reproducer : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(folder_.make(), ""); }

  // Runs into the fault, reads what is left, and runs that: the same fault must be there, and
  // nothing before it.
  void reproduces(const std::vector<const Pass*>& passes, RunnerOptions options, std::string_view pipeline,
                  std::string_view slug) {
    const std::string path = folder_.path() + "/repro.relay";
    Dumps dumps({.reproducer = path});
    options.observers = {&dumps};
    const Ran first = run(parsed(kProgram), passes, options);
    EXPECT_FALSE(first.ok);
    EXPECT_TRUE(has(first, slug)) << first.messages;
    EXPECT_NE(first.messages.find(path), std::string::npos) << first.messages;
    std::string text;
    ASSERT_EQ(read_file(path, 1 << 20, text), "");
    EXPECT_EQ(pipeline_of_reproducer(text), pipeline);
    const Module again = parsed(text);
    EXPECT_TRUE(alpha_equal(again, parsed(kProgram))) << text;
    options.observers.clear();
    const std::vector<const Pass*> rest(passes.begin() + 1, passes.end());
    const Ran second = run(again, rest, options);
    EXPECT_FALSE(second.ok);
    EXPECT_TRUE(has(second, slug)) << second.messages;
  }

  TemporaryFolder folder_;
};

TEST_F(Reproducer, ShowsAPassThatBreaksTypes) {
  reproduces({&kUnchanged, &kReshaped, find_pass("dead-code")}, {}, "reshaped,dead-code", "pass-broke-types");
}

TEST_F(Reproducer, ShowsAPassThatBreaksTheModule) {
  reproduces({&kUnchanged, &kCopied}, {.verify = Verify::kTypes}, "copied", "pass-broke-module");
}

TEST_F(Reproducer, ShowsAPassThatChangesTheAnswer) {
  reproduces({&kUnchanged, &kDoubled}, semantics(), "doubled", "pass-changed-answer");
}

TEST_F(Reproducer, ShowsAPassThatReportsAnError) {
  reproduces({&kUnchanged, &kComplaining}, {}, "complaining", "bad-argument");
}

TEST_F(Reproducer, KeepsTheParametersOfPasses) {
  Diagnostics diagnostics;
  const Module m = parsed(
      "def @main(%x: Tensor[(3), float32]) {\n"
      "  %0 = fn (%y: Tensor[(3), float32], Primitive=1) { nn.leaky_relu(%y) };\n"
      "  %0(%x)\n"
      "}");
  const std::string path = folder_.path() + "/repro.relay";
  Dumps dumps({.reproducer = path});
  EXPECT_FALSE(
      run_pipeline(m, "dead-code,lower,fuse{max-ops=3},dead-code", {.observers = {&dumps}}, diagnostics));
  EXPECT_EQ(diagnostics.all().front().slug().name(), "cannot-lower");
  std::string text;
  ASSERT_EQ(read_file(path, 1 << 20, text), "");
  EXPECT_EQ(pipeline_of_reproducer(text), "lower,fuse{max-ops=3},dead-code");
}

TEST_F(Reproducer, ThatCannotBeWrittenIsAnErrorToo) {
  const std::string nowhere = folder_.path() + "/none/repro.relay";
  Dumps dumps({.reproducer = nowhere});
  const Ran ran = run(parsed(kProgram), {&kReshaped}, {.observers = {&dumps}});
  EXPECT_TRUE(has(ran, "pass-broke-types") && has(ran, "cannot-write")) << ran.messages;
  EXPECT_NE(ran.messages.find(nowhere), std::string::npos) << ran.messages;
}

TEST_F(Reproducer, IsNotWrittenForSoundPasses) {
  const std::string path = folder_.path() + "/repro.relay";
  Dumps dumps({.reproducer = path});
  EXPECT_TRUE(run(parsed(kProgram), {&kUnchanged}, {.observers = {&dumps}}).ok);
  std::string text;
  EXPECT_NE(read_file(path, 1 << 20, text), "");
}

TEST_F(Reproducer, OtherTextsHaveNoPipeline) {
  EXPECT_EQ(pipeline_of_reproducer(kProgram), "");
  EXPECT_EQ(pipeline_of_reproducer(""), "");
  EXPECT_EQ(pipeline_of_reproducer("// relay-pipeline: \n"), "");
}

// --- what observers see --------------------------------------------------------------------------

TEST_F(Reproducer, DumpsThatCannotBeWrittenStopThePipeline) {
  ASSERT_EQ(write_file_atomically(folder_.path() + "/file", ""), "");
  Dumps dumps({.folder = folder_.path() + "/file"});
  const Ran ran = run(parsed(kProgram), {&kUnchanged}, {.observers = {&dumps}});
  EXPECT_FALSE(ran.ok);
  EXPECT_EQ(ran.slugs, std::vector<std::string>{"cannot-write"}) << ran.messages;
  EXPECT_NE(ran.messages.find("/file/00-input.relay"), std::string::npos) << ran.messages;
}

// Writes down what it is told.
class Listener : public Observer {
 public:
  void begins(const Pipeline& steps, const Module&, Diagnostics&) override {
    told.push_back("begins " + show(steps));
  }
  void ran(const StepReport& r, Diagnostics& d) override {
    told.push_back("ran " + show(r.step()) + (r.changed() ? ", changed" : ""));
    if (r.step().pass->name == stop_after) d.error(Span::none(), "bad-argument", "enough");
  }
  void failed(const Pipeline& rest, const Module&, Diagnostics&) override {
    told.push_back("failed " + show(rest));
  }
  void ended() override { told.push_back("ended"); }

  std::vector<std::string> told;
  std::string_view stop_after;
};

TEST(Observers, AreToldOfEachStep) {
  Listener first, second;
  EXPECT_TRUE(run(parsed(kProgram), {&kUnchanged, &kDoubled}, {.observers = {&first, &second}}).ok);
  EXPECT_EQ(first.told, (std::vector<std::string>{"begins unchanged,doubled", "ran unchanged",
                                                  "ran doubled, changed", "ended"}));
  EXPECT_EQ(second.told, first.told);
}

TEST(Observers, AreToldWhatIsLeftWhereAPassFails) {
  Listener o;
  EXPECT_FALSE(run(parsed(kProgram), {&kUnchanged, &kReshaped, &kDoubled}, {.observers = {&o}}).ok);
  EXPECT_EQ(o.told, (std::vector<std::string>{"begins unchanged,reshaped,doubled", "ran unchanged",
                                              "failed reshaped,doubled"}));
}

TEST(Observers, EndThePipelineByAnError) {
  Listener o;
  o.stop_after = "unchanged";
  const Ran ran = run(parsed(kProgram), {&kUnchanged, &kDoubled}, {.observers = {&o}});
  EXPECT_FALSE(ran.ok);
  EXPECT_EQ(ran.slugs, std::vector<std::string>{"bad-argument"});
  EXPECT_EQ(o.told, (std::vector<std::string>{"begins unchanged,doubled", "ran unchanged"}));
}

TEST(Plan, OfAnUnknownFunctionNamesThoseThereAre) {
  const Module m = parsed("def @f(%x: int32) { %x }\ndef @g(%x: int32) { %x }");
  Diagnostics diagnostics;
  EXPECT_FALSE(plan_memory(m, "main", diagnostics));
  ASSERT_EQ(diagnostics.errors(), 1u);
  EXPECT_EQ(diagnostics.all().front().slug().name(), "no-such-function");
  const std::string messages = diagnostics.render(m.context().sources());
  EXPECT_NE(messages.find("@main"), std::string::npos) << messages;
  EXPECT_NE(messages.find("f, g"), std::string::npos) << messages;
}

}  // namespace
}  // namespace relay::passes
