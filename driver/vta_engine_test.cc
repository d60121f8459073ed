#include "driver/vta_engine.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "driver/driver.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "target/host.h"
#include "target/machines.h"
#include "typecheck/check.h"
#include "vta/sim/cycles.h"

namespace relay::driver {
namespace {

// Two products with an exact shift to int8, and a softmax, which is none of a VTA.
constexpr std::string_view kNetwork = R"(
def @main(%x: Tensor[(1, 16, 4, 4), int8]) {
  %0 = nn.conv2d(%x, cast(full(3, shape=[32, 16, 1, 1], dtype="int32"), dtype="int8"), out_dtype="int32");
  %1 = nn.relu(qnn.rescale(%0, shift=5));
  %2 = nn.conv2d(%1, cast(full(-2, shape=[16, 32, 1, 1], dtype="int32"), dtype="int8"), out_dtype="int32");
  %3 = qnn.rescale(%2, shift=6);
  (nn.softmax(cast(%3, dtype="float32")), %3)
}
)";

class VtaEngine : public testing::Test {
 protected:
  Module checked(std::string_view text) {
    Diagnostics d;
    const Result<Module> parsed = parse("net.relay", std::string(text), d, op::operators(), {});
    Result<Module> out = parsed ? typecheck::check(*parsed, d) : Result<Module>(kReported);
    EXPECT_TRUE(out.ok()) << d.render({});
    return out ? *out : Module();
  }
  static Value input(const Shape& shape) {
    Tensor t(kInt8, shape);
    for (int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>(i * 37 % 251 - 125));
    return Value(t);
  }
  // The same on the engine and on the interpreter.
  static void expect_the_meaning(const Module& m, const Prepared& prepared, const std::vector<Value>& args) {
    ASSERT_TRUE(prepared.run) << prepared.skipped;
    const Outcome want = find_engine("interp")->prepare(m, "main", {}).run(args), got = prepared.run(args);
    ASSERT_EQ(got.kind, want.kind) << got.message;
    ASSERT_EQ(got.kind, Outcome::Kind::kValue) << got.message;
    EXPECT_EQ(got.value.fields()[1].tensor().doubles(), want.value.fields()[1].tensor().doubles());
  }
};

TEST_F(VtaEngine, LayersRunOnTheDeviceAndTheRestOnTheProcessor) {
  const Module m = checked(kNetwork);
  for (const int level : {1, 2}) {
    const Prepared prepared = prepare_vta(m, "main", {.opt_level = level});
    expect_the_meaning(m, prepared, {input({1, 16, 4, 4})});
    ASSERT_TRUE(prepared.vta);
    EXPECT_EQ(prepared.vta->parts.layers.size(), 2u) << level;
    for (const LayerRuns& runs : prepared.vta->runs) EXPECT_EQ(runs.count, 1u) << level;
    ASSERT_TRUE(prepared.run({input({1, 16, 4, 4})}).kind == Outcome::Kind::kValue);
    for (const LayerRuns& runs : prepared.vta->runs) EXPECT_EQ(runs.count, 2u) << level;
  }
}

// 16 positions of 16 to 32 channels and back, in blocks of 16.
TEST_F(VtaEngine, CountersAreTheProductsOfTheLayers) {
  const Module m = checked(kNetwork);
  const Prepared prepared = prepare_vta(m, "main", {.target = target::target_of("vta")});
  expect_the_meaning(m, prepared, {input({1, 16, 4, 4})});
  const VtaProgram& program = *prepared.vta;
  ASSERT_EQ(program.runs.size(), 2u);
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(program.runs[k].last.gemm, 16u * 1 * 2) << k;
    const vta::Cycles cycles =
        vta::count_cycles(program.layout, program.parts.layers[k].code.instructions, program.schedule.timing);
    EXPECT_EQ(cycles.gemm, program.runs[k].last.gemm) << k;
    EXPECT_EQ(cycles.bytes, program.runs[k].last.bytes) << k;
  }
}

TEST_F(VtaEngine, EveryVtaGivesTheSame) {
  const Module m = checked(kNetwork);
  for (const char* text : {"vta{block=8,uop=16K,inp=16K,wgt=64K,acc=64K}", "vta{batch=2}", "vta{threads=1}",
                           "vta{inp=4K,wgt=8K,acc=8K}"}) {
    const Prepared prepared = prepare_vta(m, "main", {.target = target::target_of(text)});
    expect_the_meaning(m, prepared, {input({1, 16, 4, 4})});
    EXPECT_EQ(prepared.vta->target, target::target_of(text));
  }
}

TEST_F(VtaEngine, ATargetWithoutAVtaIsItsProcessor) {
  const Module m = checked(kNetwork);
  const target::Target host = target::baseline(target::kHere);
  const Prepared prepared = prepare_vta(m, "main", {.target = host});
  expect_the_meaning(m, prepared, {input({1, 16, 4, 4})});
  EXPECT_EQ(target::host_of(prepared.vta->target), host);
  EXPECT_EQ(prepared.vta->target, target::with_vta(host));
}

TEST_F(VtaEngine, AProgramWithoutLayersIsSkippedWithTheReason) {
  const Module floats = checked("def @main(%x: Tensor[(2, 3), float32]) { nn.dense(%x, %x) }");
  const Prepared prepared = prepare_vta(floats, "main", {});
  EXPECT_FALSE(prepared.run);
  EXPECT_TRUE(prepared.skipped.starts_with("nothing of it is for a VTA: ")) << prepared.skipped;
  EXPECT_EQ(vta_skips(floats, "main", {}), prepared.skipped);
  const Module none = checked("def @main(%x: Tensor[(2), float32]) { negative(%x) }");
  EXPECT_TRUE(vta_skips(none, "main", {}).starts_with("nothing of it is for a VTA: "));
  EXPECT_EQ(vta_skips(checked(kNetwork), "main", {}), "");
}

TEST_F(VtaEngine, ATargetThatItCannotHaveIsSkippedWithTheReason) {
  const Module m = checked(kNetwork);
  EXPECT_NE(vta_skips(m, "main", {.target = target::target_of("cuda")}).find("is a GPU"), std::string::npos);
  const target::Target foreign =
      target::baseline(target::kHere == target::Isa::kX86_64 ? target::Isa::kAarch64 : target::Isa::kX86_64);
  const Prepared prepared = prepare_vta(m, "main", {.target = target::with_vta(foreign)});
  EXPECT_NE(prepared.skipped.find(foreign.text), std::string::npos) << prepared.skipped;
  // The scratchpad has no room for two weight tiles.
  const Prepared small = prepare_vta(m, "main", {.target = target::target_of("vta{wgt=256}")});
  EXPECT_FALSE(small.run);
  EXPECT_NE(small.skipped.find("LOG_WGT_BUFF_SIZE"), std::string::npos) << small.skipped;
  EXPECT_TRUE(small.refusal.has_errors());
}

TEST_F(VtaEngine, LimitsOfTheMachineHold) {
  Options options;
  options.limits.fuel = 3;
  const Prepared prepared = prepare_vta(checked(kNetwork), "main", options);
  ASSERT_TRUE(prepared.run) << prepared.skipped;
  EXPECT_EQ(prepared.run({input({1, 16, 4, 4})}).kind, Outcome::Kind::kExhausted);
}

}  // namespace
}  // namespace relay::driver
