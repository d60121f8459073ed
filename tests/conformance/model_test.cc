// Real trained models on every engine, and against the outputs of an independent runtime. On two
// threads each engine gives the same bits.
//
// Those that may be are under examples/models; the others are among the shared ones, and skipped
// with a printed reason where these are not.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/cat.h"
#include "driver/verifier.h"
#include "frontend/data/inputs.h"
#include "passes/reference.h"
#include "tests/conformance/shared_models.h"
#include "tests/support/own_cache.h"
#include "tests/support/parallel_kernels.h"
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

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// Each engine whose kernels run on threads gives on two of them what it gave on one (`row`), bit
// for bit.
void expect_same_bits_on_two_threads(const driver::Model& model, const std::vector<Value>& args,
                                     const driver::VerifyRow& row) {
  const Module module = compact(model.module);
  ParallelKernels kernels;
  const driver::Prepared prepared =
      driver::find_engine(row.engine)
          ->prepare(module, model.function, {.threads = 2, .observers = {&kernels}});
  ASSERT_TRUE(prepared.run) << row.engine << ": " << prepared.skipped;
  std::vector<Value> own;
  for (const Value& v : args) own.push_back(passes::in_module(v, module));
  const driver::Outcome outcome = prepared.run(own);
  ASSERT_EQ(outcome.kind, driver::Outcome::Kind::kValue) << row.engine << ": " << outcome.message;
  EXPECT_GT(kernels.parallel(), 0u) << row.engine;
  const std::vector<Tensor> one = passes::tensors_of(row.result), two = passes::tensors_of(outcome.value);
  ASSERT_EQ(one.size(), two.size()) << row.engine;
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_TRUE(same_bits(one[i], two[i])) << row.engine << ": output " << i << " differs on two threads";
  std::printf("%s on two threads: %zu of %zu kernels have a parallel loop\n", row.engine.c_str(),
              kernels.parallel(), kernels.all());
}

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
  // Two threads run what was compiled for one.
  [[maybe_unused]] static const bool kept = (keep_what_is_compiled(), true);
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
    const bool has_threads = row.engine == "jit" || row.engine == "graph" || row.engine == "aot-cpp";
    if (has_threads && row.ok && row.skipped.empty()) expect_same_bits_on_two_threads(*model, *args, row);
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
