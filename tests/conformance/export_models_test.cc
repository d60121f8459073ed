// Real models, exported and read again: their outputs keep every bit.
#include <gtest/gtest.h>

#include <filesystem>

#include "driver/driver.h"
#include "exporter/onnx/export.h"
#include "frontend/onnx/import.h"
#include "interp/machine.h"
#include "op/apply.h"
#include "passes/runner.h"
#include "runtime/compare.h"
#include "tests/conformance/shared_models.h"
#include "tools/model.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

struct RealModel {
  const char* name;
  bool example;  // under examples/models
  tools::ModelOptions known = {};
};

class ExportedModels : public ::testing::TestWithParam<RealModel> {};

std::vector<Tensor> outputs_of(const Module& m, const std::vector<Value>& args) {
  const Value v = interp::Machine(m).call("main", args);
  return op::flatten(std::span<const Value>(&v, 1));
}

// The model is not specialised: what is open stays open in the file.
TEST_P(ExportedModels, GiveTheSameBits) {
  const RealModel& m = GetParam();
  const std::string folder = (m.example ? std::string("examples/models") : shared_models()) + "/" + m.name;
  if (!std::filesystem::exists(folder + "/model.onnx")) GTEST_SKIP() << "there is no " << folder;
  tools::Session session;
  tools::ModelOptions read = m.known;
  read.path = folder + "/model.onnx";
  const Result<driver::Model> model = tools::load_model(read, session);
  ASSERT_TRUE(model.ok());
  const Result<std::vector<Value>> args = tools::make_inputs(*model, {.inputs = folder + "/inputs"}, session);
  ASSERT_TRUE(args.ok());

  Diagnostics d;
  const Result<Module> inlined = passes::run_pipeline(model->module, exporter::kBeforeExport, {}, d);
  ASSERT_TRUE(inlined.ok()) << d.render(model->module.context().sources());
  const Result<exporter::OnnxModel> onnx =
      exporter::export_onnx(*inlined, "main", {model->input_names, model->output_names}, d);
  ASSERT_TRUE(onnx.ok()) << d.render(model->module.context().sources());
  const Module empty;
  const Result<Module> imported = frontend::import_onnx(onnx->bytes, "again.onnx", nullptr, empty, {}, d);
  const Result<Module> again = imported ? typecheck::check(*imported, d) : Result<Module>(kReported);
  ASSERT_TRUE(again.ok()) << d.render(empty.context().sources());

  const std::vector<Tensor> want = outputs_of(model->module, *args), got = outputs_of(*again, *args);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const Comparison c = compare_exact(got[i], want[i]);
    EXPECT_TRUE(c.ok) << model->output_names[i] << ": " << c.reason << show(c, want[i].shape());
  }
}

// charrnn_loop is no static dataflow: it has a loop.
INSTANTIATE_TEST_SUITE_P(All, ExportedModels,
                         ::testing::Values(RealModel{"mnist_8", true}, RealModel{"yunet_n_320", true},
                                           RealModel{"ultraface_rfb320", true},
                                           RealModel{"super_resolution_10", false},
                                           RealModel{"ppocrv2_cls", false}, RealModel{"bert_tiny_dyn", false},
                                           RealModel{"magika_v3_3", false},
                                           RealModel{"ultraface_rfb320_qdq", false},
                                           RealModel{"dtln_1", false}, RealModel{"gtcrn_simple", false},
                                           RealModel{"silero_vad_v5",
                                                     false,
                                                     {.input_shapes = {"input:1x512", "state:2x1x128"},
                                                      .fixed_inputs = {"sr=16000"}}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace relay::tests
