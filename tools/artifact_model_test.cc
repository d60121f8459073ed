// Artifacts as models, beside what tests/cli shows of the command: what is compiled for
// an emulated GPU.
#include "tools/artifact_model.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "typecheck/check.h"

namespace relay::tools {
namespace {

TEST(ArtifactModel, AnEmulatedGpuRunsLikeAnyOther) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  Diagnostics diagnostics;
  const Result<Module> parsed =
      parse("m.relay", "def @main(%x: Tensor[(2, 3), float32]) { (exp(%x), sum(%x, axis=[1])) }", diagnostics,
            op::operators());
  const Result<Module> checked = typecheck::check(*parsed, diagnostics);
  ASSERT_TRUE(checked);
  const driver::Prepared engine =
      driver::find_engine("aot-cuda")->prepare(*checked, "main", {.libraries = folder.path()});
  ASSERT_TRUE(engine.run) << engine.skipped;

  Session session{.quiet = true};
  ModelOptions options;
  options.path = folder.path() + "/aot-cuda.so";
  const Result<ArtifactModel> artifact = open_artifact(options, {}, session);
  ASSERT_TRUE(artifact);
  const Result<std::vector<Value>> args = make_inputs(artifact->model, {.fill = "range"}, session);
  ASSERT_TRUE(args);
  const driver::Outcome wanted = engine.run(*args), got = artifact->prepared.run(*args);
  ASSERT_EQ(got.kind, driver::Outcome::Kind::kValue) << got.message;
  const frontend::data::NamedTensors outputs = driver::name_outputs(artifact->model, got.value);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].name, "output_0");
  EXPECT_EQ(outputs[1].value.doubles(), (std::vector<double>{3, 12}));
  EXPECT_EQ(outputs[0].value.doubles(), wanted.value.fields()[0].tensor().doubles());
}

}  // namespace
}  // namespace relay::tools
