// Real trained models on every engine, and against the outputs of an independent runtime.
//
// Those that may be are under examples/models; the others are among the shared ones, and skipped
// with a printed reason where these are not.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/cat.h"
#include "driver/verifier.h"
#include "frontend/data/inputs.h"
#include "tests/conformance/shared_models.h"
#include "tools/model.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

struct RealModel {
  const char* name;
  bool example;                 // under examples/models
  const char* skipped_by = "";  // the engines that may skip it
  tools::ModelOptions known = {};
  const char* how = "";  // of several rows for one model
};

// The models with a bound that is not capped (passes::ErrorBound::uncapped), by their name in this
// test. Such a bound holds little, so each has a reason.
struct Uncapped {
  std::string_view model, why;
};
constexpr Uncapped kUncapped[] = {
    {"ultraface_rfb320_qdq", "quantised"},  // it computes in integers of 8 bits
};

std::string_view uncapped_of(const std::string& model) {
  for (const Uncapped& u : kUncapped) {
    if (u.model == model) return u.why;
  }
  return "";
}

class RealModels : public ::testing::TestWithParam<RealModel> {};

TEST_P(RealModels, EnginesAgreeWithEachOtherAndWithAnother) {
  const RealModel& m = GetParam();
  const std::string folder = m.example ? cat("examples/models/", m.name) : cat(shared_models(), "/", m.name);
  if (!fs::exists(folder + "/model.onnx")) GTEST_SKIP() << "there is no " << folder << "/model.onnx";

  tools::Session session;
  tools::ModelOptions read = m.known;
  read.path = folder + "/model.onnx";
  Result<driver::Model> model = tools::load_model(read, session);
  ASSERT_TRUE(model.ok());
  const Result<std::vector<Value>> args = tools::make_inputs(*model, {.inputs = folder + "/inputs"}, session);
  ASSERT_TRUE(args.ok());
  model = tools::specialise(*model, *args, session);
  ASSERT_TRUE(model.ok());
  Diagnostics diagnostics;
  const Result<frontend::data::NamedTensors> expected = frontend::data::read_named(
      folder + "/outputs", model->output_names, frontend::data::Role::kOutput, {}, diagnostics);
  ASSERT_TRUE(expected.ok());

  driver::VerifyOptions options;
  options.levels = {2};
  const std::vector<driver::VerifyRow> rows = driver::Verifier(*model, options).run(*args, &*expected);
  std::printf("%s\n%s", m.name, show(rows).c_str());
  for (const driver::VerifyRow& row : rows) {
    EXPECT_TRUE(row.ok) << row.label() << ": " << row.trouble();
    const bool may_skip = std::string_view(m.skipped_by).find(row.engine) != std::string_view::npos;
    EXPECT_EQ(!row.skipped.empty(), may_skip) << row.engine << ": " << row.skipped;
    if (row.skipped.empty()) {
      EXPECT_EQ(row.uncapped, uncapped_of(cat(m.name, m.how)))
          << row.label() << ": kUncapped lists the bounds";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RealModels,
    ::testing::Values(
        RealModel{"mnist_8", true}, RealModel{"yunet_n_320", true}, RealModel{"ultraface_rfb320", true},
        RealModel{"super_resolution_10", false}, RealModel{"ppocrv2_cls", false},
        RealModel{"bert_tiny_dyn", false}, RealModel{"magika_v3_3", false},
        RealModel{"ultraface_rfb320_qdq", false}, RealModel{"dtln_1", false},
        RealModel{"gtcrn_simple", false},
        // One model for two rates, one for each of two branches.
        RealModel{
            "silero_vad_v5", false, "", {.input_shapes = {"input:1x512"}, .fixed_inputs = {"sr=16000"}}},
        // Both branches: the one that is not taken is wrong for the extents of the input.
        RealModel{"silero_vad_v5", false, "graph", {}, "_open"}, RealModel{"charrnn_loop", false, "graph"}),
    [](const auto& info) { return cat(info.param.name, info.param.how); });

}  // namespace
}  // namespace relay::tests
