// Real trained models with outputs of an independent runtime.
//
// Those that may be are under examples/models; the others are read from ../shared where it is there (or from
// $RELAY_SHARED), and skipped with a printed reason where it is not.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "base/cat.h"
#include "tests/conformance/models.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

std::string shared_models() {
  if (const char* given = std::getenv("RELAY_SHARED")) return cat(given, "/models");
  // From the sources: the link in the test's folder leads there.
  std::error_code ignored;
  const fs::path here = fs::canonical("tests/conformance/passes.txt", ignored);
  for (fs::path at = here; at.has_relative_path(); at = at.parent_path()) {
    if (fs::exists(at.parent_path() / "shared/models", ignored))
      return (at.parent_path() / "shared/models").string();
  }
  return "../shared/models";
}

struct Model {
  const char* name;
  double absolute;  // what the largest error may be: the outputs were made in float32, ours are
  bool example;     // under examples/models
};

class RealModel : public ::testing::TestWithParam<Model> {};

TEST_P(RealModel, Agrees) {
  const Model& m = GetParam();
  const std::string folder = m.example ? cat("examples/models/", m.name) : cat(shared_models(), "/", m.name);
  if (!fs::exists(folder + "/model.onnx")) GTEST_SKIP() << "there is no " << folder << "/model.onnx";
  const Verdict v =
      run_model(folder + "/model.onnx", folder + "/inputs", folder + "/outputs", {}, {m.absolute, 1e-4});
  std::printf("%-22s worst error %.3g where %.3g is allowed  %s\n", m.name, v.worst, v.bound,
              v.reason.c_str());
  EXPECT_EQ(v.kind, Verdict::Kind::kPass) << v.reason;
}

INSTANTIATE_TEST_SUITE_P(
    All, RealModel,
    ::testing::Values(Model{"mnist_8", 1e-2, true}, Model{"yunet_n_320", 1e-4, true},
                      Model{"ultraface_rfb320", 1e-4, true}, Model{"super_resolution_10", 1e-4, false},
                      Model{"ppocrv2_cls", 1e-4, false}, Model{"bert_tiny_dyn", 1e-4, false},
                      Model{"magika_v3_3", 1e-4, false}, Model{"ultraface_rfb320_qdq", 1e-4, false},
                      Model{"dtln_1", 1e-4, false}, Model{"gtcrn_simple", 1e-4, false},
                      Model{"silero_vad_v5", 1e-4, false}, Model{"charrnn_loop", 1e-4, false}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace relay::tests
