#include "driver/driver.h"

#include <gtest/gtest.h>

#include "analysis/testing.h"
#include "aot/listing.h"
#include "base/cat.h"
#include "base/file.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "target/host.h"

namespace relay::driver {
namespace {

using analysis::testing::checked;

constexpr std::string_view kProgram =
    "def @other(%x: Tensor[(2), float32]) { %x }\n"
    "def @net(%x: Tensor[(n), float32]) { nn.relu(%x * 2f) }\n";

class Driver : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(folder_.make(), ""); }
  std::string path(std::string_view name) const { return cat(folder_.path(), "/", name); }
  std::string written(std::string_view name, std::string_view text) const {
    EXPECT_EQ(write_file_atomically(path(name), text), "");
    return path(name);
  }
  // With constant extents, as compiled engines want it.
  Model model() {
    LoadOptions options{.function = "net"};
    options.known.shapes["x"] = {{2, {}}};
    const Result<Model> out = load(written("net.relay", kProgram), options, diagnostics_);
    EXPECT_TRUE(out.ok()) << diagnostics_.render(options.into.context().sources());
    return out ? *out : Model();
  }
  // The only error, by its slug.
  void expect_error(std::string_view slug) {
    ASSERT_EQ(diagnostics_.errors(), 1u);
    EXPECT_NE(diagnostics_.render({}).find(slug), std::string::npos) << diagnostics_.render({});
  }

  TemporaryFolder folder_;
  Diagnostics diagnostics_;
};

Value vector(std::vector<float> values) {
  return Value(Tensor::of<float>(kFloat32, {static_cast<int64_t>(values.size())}, values));
}

TEST_F(Driver, LoadsAModelWithWhatIsKnownOfIt) {
  const Model m = model();
  EXPECT_EQ(m.input_names, std::vector<std::string>{"x"});
  EXPECT_EQ(show(m.entry().params[0]->type), "Tensor[(2), float32]");
  EXPECT_EQ(m.files, std::vector<std::string>{path("net.relay")});
}

TEST_F(Driver, EveryEngineGivesTheSame) {
  for (const std::string_view engine : {"interp", "jit", "graph", "aot-cpp", "aot-cuda"}) {
    const Result<Executable> program = prepare(model(), engine, {}, diagnostics_);
    ASSERT_TRUE(program.ok()) << engine;
    const Outcome outcome = program->run({vector({-1, 3})});
    ASSERT_EQ(outcome.kind, Outcome::Kind::kValue) << outcome.message;
    EXPECT_EQ(outcome.value.tensor().get(1), 6) << engine;
  }
}

TEST_F(Driver, StagesAreValues) {
  const Options options{.target = target::target_of("avx2")};
  const passes::Pipeline whole = passes::default_pipeline(2, options.target);
  const Result<Module> fused = optimise(model(), passes::until(whole, passes::kLower), options, diagnostics_),
                       lowered = optimise(model(), whole, options, diagnostics_);
  ASSERT_TRUE(fused && lowered);
  EXPECT_EQ(op::text_of(*fused).find("kernel @"), std::string::npos);
  EXPECT_NE(op::text_of(*lowered).find("kernel @"), std::string::npos);
  EXPECT_FALSE(lowered->function("other")) << "nothing reaches it";
}

TEST_F(Driver, GradIsExpandedWhoeverCheckedTheTypes) {
  const Module m = checked(
      "def @f(%x: float32, Gradient=\"back\") -> float32 { multiply(%x, %x) }\n"
      "def @back(%x: float32, %dy: float32) { (multiply(%dy, 7f),) }\n"
      "def @g(%x: float32) { @f(%x) }\n"
      "def @main(%x: float32) { grad(@g)(%x).1.0 }\n");
  const Result<Module> lowered = optimise(m, "main", {}, diagnostics_);
  ASSERT_TRUE(lowered) << diagnostics_.render(m.context().sources());
  for (const Engine& engine : engines()) {
    if (engine.for_device) continue;
    const Prepared program = engine.prepare(m, "main", {});
    ASSERT_TRUE(program.run) << engine.name << ": " << program.skipped;
    EXPECT_EQ(program.run({Value(Tensor::scalar(kFloat32, 3))}).value.tensor().get(0), 7) << engine.name;
  }
}

TEST_F(Driver, GradThatHasNoExpansionIsReported) {
  const Module m = checked("def @main(%f: fn(float32) -> float32, %x: float32) { grad(%f)(%x) }");
  EXPECT_FALSE(optimise(m, "main", {}, diagnostics_));
  ASSERT_EQ(diagnostics_.errors(), 1u);
  EXPECT_TRUE(diagnostics_.all()[0].slug() == "not-differentiable");
  for (const Engine& engine : engines()) {
    if (engine.for_device) continue;
    const Prepared program = engine.prepare(m, "main", {});
    EXPECT_FALSE(program.run) << engine.name;
    EXPECT_NE(program.skipped.find("`grad` takes a function that is known"), std::string::npos)
        << engine.name;
  }
}

// The user's function is no kernel, as its kernel may fail in the middle.
TEST_F(Driver, AWeakerFormIsAWarning) {
  const Model weak{
      checked("kernel @root(x: float32[2]) -> (y: float32[2]) {\n"
              "  for i in 2 {\n"
              "    block y {\n"
              "      spatial vi in 2 = i;\n"
              "      reads x[vi];\n"
              "      writes y[vi];\n"
              "      require(x[vi] >= 0f, \"negative\");\n"
              "      y[vi] = sqrt(x[vi]);\n"
              "    }\n"
              "  }\n"
              "}\n"
              "def @main(%x: Tensor[(2), float32]) {\n"
              "  fn (%p: Tensor[(2), float32], Primitive=True) -> Tensor[(2), float32] {\n"
              "    negative(@root(%p))\n"
              "  }(%x)\n"
              "}\n")};
  const Result<Executable> program = prepare(weak, "jit", {}, diagnostics_);
  ASSERT_TRUE(program.ok()) << diagnostics_.render({});
  EXPECT_EQ(program->run({vector({4, 9})}).value.tensor().get(1), -3);
  ASSERT_EQ(diagnostics_.all().size(), 1u);
  EXPECT_EQ(diagnostics_.errors(), 0u);
  EXPECT_TRUE(diagnostics_.last().slug() == "cannot-lower");
  EXPECT_TRUE(diagnostics_.last().message().starts_with(
      "engine `jit` compiles operators one by one: cannot lower @root + negative"))
      << diagnostics_.last().message();
  // The graph runtime has no weaker form: it refuses, and warns of nothing.
  EXPECT_FALSE(prepare(weak, "graph", {}, diagnostics_));
  EXPECT_EQ(diagnostics_.all().size(), 2u);
  EXPECT_EQ(diagnostics_.errors(), 1u);
  // What becomes kernels is no reason for a warning.
  Diagnostics quiet;
  EXPECT_TRUE(prepare(model(), "jit", {}, quiet));
  EXPECT_TRUE(quiet.all().empty()) << quiet.render({});
}

TEST_F(Driver, AFunctionThatRunsByItsBodyIsAWarning) {
  const Model own{
      checked("def @main(%x: Tensor[(2), float32]) { @f(%x) }\n"
              "def @f(%x: Tensor[(2), float32], Compiler=\"dnl\") { exp(%x) }")};
  ASSERT_TRUE(prepare(own, "graph", {}, diagnostics_));
  ASSERT_EQ(diagnostics_.all().size(), 1u);
  EXPECT_TRUE(diagnostics_.last().message().starts_with("engine `graph`: @f runs by its body: "))
      << diagnostics_.last().message();
}

TEST_F(Driver, AnArtifactHasCodeForEachTarget) {
  const std::vector<target::Target> targets{target::target_of("avx2{l2=512K}"), target::target_of("sse2")};
  const aot::EmitOptions emit_options{.model_name = "net"};
  const Result<aot::Sources> sources = emit(model(), targets, emit_options, diagnostics_);
  ASSERT_TRUE(sources.ok());
  EXPECT_NE(sources->description.find("cpu:avx2{l2=512K},cpu:sse2"), std::string::npos);
  EXPECT_FALSE(aot::listing(*sources).empty());
  const auto paths = build(*sources, emit_options, target::kHere, path("net.so"), diagnostics_);
  ASSERT_TRUE(paths.ok());
  EXPECT_EQ(*paths, (std::vector<std::string>{path("net.h"), path("net.so")}));
}

TEST_F(Driver, VerifyComparesEnginesWithTheInterpreter) {
  const std::vector<VerifyRow> rows =
      verify(model(), {vector({-1, 3})}, {.engines = {"jit", "graph"}, .levels = {0, 2}});
  ASSERT_EQ(rows.size(), 4u);
  for (const VerifyRow& row : rows) EXPECT_TRUE(row.ok) << row.label() << ": " << row.trouble();
}

// One branch is wrong for two elements. Whether that matters is known when the model runs.
TEST_F(Driver, ExtentsStayOpenWhereAWayIsWrongForThem) {
  const std::string text =
      "def @main(%x: Tensor[(n), float32], %c: bool) {\n"
      "  if (%c) { sum(add(%x, ones(shape=[3], dtype=\"float32\"))) } else { sum(%x) }\n}\n";
  const Result<Model> open = load(written("ways.relay", text), {.function = "main"}, diagnostics_);
  ASSERT_TRUE(open.ok());
  const auto args = [&](bool c) {
    return std::vector<Value>{vector({1, 2}), Value(Tensor::scalar_int(kBool, c ? 1 : 0))};
  };
  const Result<Model> same = specialise(*open, args(false), diagnostics_);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(show(same->entry().params[0]->type), "Tensor[(n), float32]");
  EXPECT_EQ(diagnostics_.errors(), 0u);
  ASSERT_EQ(diagnostics_.all().size(), 1u);
  EXPECT_EQ(diagnostics_.last().severity(), Severity::kWarning);
  for (const std::string_view engine : {"interp", "jit"}) {
    const Result<Executable> program = prepare(*same, engine, {}, diagnostics_);
    ASSERT_TRUE(program.ok()) << engine;
    EXPECT_EQ(program->run(args(false)).kind, Outcome::Kind::kValue) << engine;
    EXPECT_EQ(program->run(args(true)).kind, Outcome::Kind::kTrap) << engine;
  }
}

TEST_F(Driver, WhatIsNoModelIsReported) {
  EXPECT_FALSE(load(path("none.relay"), {}, diagnostics_));
  expect_error("[file-unreadable]");
  diagnostics_.clear();
  EXPECT_FALSE(load(path("net.so"), {}, diagnostics_));
  expect_error("[model-form-unknown]");
  diagnostics_.clear();
  EXPECT_FALSE(load(written("net.relay", kProgram), {}, diagnostics_));
  expect_error("[no-such-function]");
  EXPECT_EQ(diagnostics_.fault(), Fault::kUsage);
}

TEST_F(Driver, WhatAnEngineDoesNotTakeIsReported) {
  EXPECT_FALSE(prepare(model(), "grpah", {}, diagnostics_));
  expect_error("[engine-skips]");
  EXPECT_NE(diagnostics_.all()[0].message().find("did you mean `graph`?"), std::string::npos);
  diagnostics_.clear();
  EXPECT_FALSE(prepare(model(), "jit", {.target = target::target_of("cuda")}, diagnostics_));
  expect_error("[engine-skips]");
  EXPECT_EQ(diagnostics_.fault(), Fault::kUnsupported);
}

}  // namespace
}  // namespace relay::driver
