// Artifacts through their C interface: what relay.h promises to a program that loads one.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "aot/artifact_testing.h"
#include "base/cat.h"
#include "base/file.h"

namespace relay::aot {
namespace {

TEST(Artifact, RunsInPlace) {
  Opened r(embedded());
  ASSERT_EQ(r.status, RELAY_OK) << r.error;
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  EXPECT_EQ(r.said(), "");
  for (int row = 0; row < 4; ++row) {
    float sum = 0;
    for (int i = 0; i < 64; ++i) sum += r.y[static_cast<size_t>(row * 64 + i)];
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  EXPECT_EQ(r.q, (std::vector<int32_t>{1, 0, 0, 0, 0, 0, 0, 0}));  // 7 / (7 + i)
}

TEST(Artifact, AnOutputWithoutDataIsHeldByTheContext) {
  Opened r(embedded());
  ASSERT_EQ(r.go(), RELAY_OK);
  for (DLTensor& t : r.out) t = {};
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  ASSERT_EQ(r.out[0].ndim, 2);
  EXPECT_EQ(r.out[0].shape[1], 64);
  EXPECT_EQ(r.out[1].dtype.code, kDLInt);
  EXPECT_EQ(std::memcmp(r.out[0].data, r.y.data(), r.y.size() * sizeof(float)), 0);
}

// C: who calls wrongly is told what is wrong with which tensor, and may call again.
TEST(Artifact, WrongTensorsAreRefused) {
  Opened r(embedded());
  const auto refused = [&](std::string_view why) {
    EXPECT_EQ(r.go(), RELAY_USAGE) << why;
    EXPECT_NE(r.said().find(why), std::string::npos) << r.said();
  };
  const DLTensor x = r.in[0], y = r.out[0];
  int64_t wrong_shape[] = {4, 63}, strides[] = {1, 4};
  r.in[0].shape = wrong_shape;
  refused("input `x` must have shape (4, 64), it has (4, 63)");
  r.in[0] = x, r.in[0].ndim = 1;
  refused("input `x` must have shape (4, 64)");
  r.in[0] = x, r.in[0].ndim = INT32_MIN;
  refused("input `x` must have shape (4, 64), it has rank -2147483648");
  r.in[0] = x, r.in[0].shape = nullptr;
  refused("input `x` must have shape (4, 64), it has none: `shape` is null");
  r.in[0] = x, r.in[0].dtype.bits = 64;
  refused("input `x` must be float32, it is float64");
  r.in[0] = x, r.in[0].dtype.lanes = 2;
  refused("input `x` must be float32, it is float32x2");
  r.in[0] = x, r.in[0].dtype = {kDLBool, 8, 1};
  refused("input `x` must be float32, it is bool");
  r.in[0] = x, r.in[0].dtype = {kDLFloat8_e4m3, 8, 1};
  refused("input `x` must be float32, it is of dtype code 8 with 8 bits");
  r.in[0] = x, r.in[0].strides = strides;
  refused("input `x` is not dense and row-major");
  r.in[0] = x, r.in[0].device.device_type = kDLCUDA;
  refused("input `x` is on device 2");
  r.in[0] = x, r.in[0].data = nullptr;
  refused("input `x` has no data");
  r.in[0] = x, r.in[0].byte_offset = 1;
  refused("input `x` has data that is not aligned");
  r.in[0] = x;
  r.out[0].dtype.code = kDLInt;
  refused("output `output_0` must be float32");
  r.out[0] = y;
  EXPECT_EQ(r.go(), RELAY_OK) << r.said();
}

TEST(Artifact, WrongNumbersOfTensorsAndNullPointersAreRefused) {
  Opened r(embedded());
  const DLTensor* inputs[] = {&r.in[0], nullptr};
  DLTensor* outputs[] = {&r.out[0], &r.out[1]};
  EXPECT_EQ(r.api->run(r.context, inputs, 1, outputs, 2), RELAY_USAGE);
  EXPECT_NE(r.said().find("2 inputs and 2 outputs, 1 and 2 were given"), std::string::npos) << r.said();
  EXPECT_EQ(r.api->run(r.context, inputs, 2, outputs, 2), RELAY_USAGE);
  EXPECT_NE(r.said().find("is null"), std::string::npos) << r.said();
  EXPECT_EQ(r.api->run(r.context, nullptr, 2, outputs, 2), RELAY_USAGE);
  EXPECT_EQ(r.api->run(r.context, inputs, 2, nullptr, 2), RELAY_USAGE);
  EXPECT_EQ(r.api->run(nullptr, inputs, 2, outputs, 2), RELAY_USAGE);
  EXPECT_EQ(r.api->model_open(nullptr, nullptr), RELAY_USAGE);
  EXPECT_EQ(r.api->context_create(nullptr, nullptr), RELAY_USAGE);
  relay_model* model = r.model;
  relay_open_options unset = {};
  EXPECT_EQ(r.api->model_open(&unset, &model), RELAY_USAGE);
  EXPECT_EQ(model, nullptr);
  r.api->context_free(nullptr);
  EXPECT_EQ(r.api->model_close(nullptr), RELAY_OK);
  r.api->cancel(nullptr);
}

TEST(Artifact, ATrapIsReportedAndTheContextLivesOn) {
  Opened r(embedded());
  r.n[3] = -3;
  EXPECT_EQ(r.go(), RELAY_TRAP);
  EXPECT_NE(r.said().find("division by zero"), std::string::npos) << r.said();
  r.n[3] = 7;
  EXPECT_EQ(r.go(), RELAY_OK);
  EXPECT_EQ(r.said(), "");
}

TEST(Artifact, CancelStopsOneRun) {
  Opened r(embedded());
  r.api->cancel(r.context);
  EXPECT_EQ(r.go(), RELAY_CANCELLED);
  EXPECT_EQ(r.said(), "the run was cancelled");
  EXPECT_EQ(r.go(), RELAY_OK);
}

TEST(Artifact, ARunThatMayTakeNoTimeIsTimedOut) {
  Opened r(embedded());
  EXPECT_EQ(r.api->set_timeout(r.context, 1), RELAY_OK);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(r.go(), RELAY_TIMED_OUT);
    EXPECT_EQ(r.said(), "the run took longer than its limit of 1 ns");
  }
  EXPECT_EQ(r.api->set_timeout(r.context, -1), RELAY_USAGE);
  EXPECT_NE(r.said().find("-1 ns"), std::string::npos) << r.said();
  EXPECT_EQ(r.go(), RELAY_TIMED_OUT) << "the limit is as it was";
  // A request to stop is told from the time that is over, and comes first.
  r.api->cancel(r.context);
  EXPECT_EQ(r.go(), RELAY_CANCELLED);
  for (const int64_t enough : {INT64_MAX, int64_t{3600} * 1000000000, int64_t{0}}) {
    EXPECT_EQ(r.api->set_timeout(r.context, enough), RELAY_OK);
    EXPECT_EQ(r.go(), RELAY_OK) << enough << ": " << r.said();
  }
  EXPECT_EQ(r.api->set_timeout(nullptr, 1), RELAY_USAGE);
}

TEST(Artifact, AModelWithContextsIsBusy) {
  Opened r(embedded());
  EXPECT_EQ(r.api->model_close(r.model), RELAY_BUSY);
  EXPECT_EQ(r.go(), RELAY_OK);
}

TEST(Artifact, MemoryComesFromTheCallerAndGoesBack) {
  Counting memory{-1};
  {
    Opened r(embedded(), {.allocator = &memory.api});
    ASSERT_EQ(r.go(), RELAY_OK);
    const int64_t live = memory.live;
    EXPECT_GT(live, 0);
    ASSERT_EQ(r.go(), RELAY_OK);
    EXPECT_EQ(memory.live, live);  // a run allocates nothing
  }
  EXPECT_EQ(memory.live, 0);
}

TEST(Artifact, WithoutMemoryThereIsALimitAndNoLeak) {
  int refusals = 0;
  for (int nth = 0;; ++nth) {
    Counting memory{nth};
    {
      Opened r(embedded(), {.threads = 2, .allocator = &memory.api});
      for (DLTensor& t : r.out) t = {};
      const relay_status status = r.status == RELAY_OK ? r.go() : r.status;
      if (memory.left >= 0) break;  // the request that was to be refused never came
      EXPECT_EQ(status, RELAY_LIMIT);
      ++refusals;
    }
    EXPECT_EQ(memory.live, 0);
  }
  EXPECT_GE(refusals, 5);  // the model, its threads, a context, two outputs
}

TEST(Artifact, OptionsOfAnOlderProgramAreUnderstood) {
  relay_open_options options = {};
  options.struct_size = offsetof(relay_open_options, weights_path);
  options.threads = 1;
  options.weights_path = "beyond the end of an older structure";
  relay_model* model = nullptr;
  EXPECT_EQ(embedded().api->model_open(&options, &model), RELAY_OK);
  EXPECT_EQ(embedded().api->model_close(model), RELAY_OK);
}

// C: structures begin with their size, also those that options point to.
TEST(Artifact, AllocatorsAndLoopsOfNoVersionAreRefused) {
  const auto refused = [](const relay_open_options& options, std::string_view what) {
    Opened r(embedded(), options);
    EXPECT_EQ(r.status, RELAY_USAGE) << what;
    EXPECT_EQ(r.model, nullptr);
    EXPECT_NE(std::string(r.error).find(what), std::string::npos) << r.error;
  };
  Counting memory{-1};
  relay_allocator allocator = memory.api;
  allocator.struct_size = 0;
  refused({.allocator = &allocator}, "`allocator` of the options is of no version");
  allocator = memory.api, allocator.release = nullptr;
  refused({.allocator = &allocator}, "`allocator` of the options has a function that is null");
  relay_parallel parallel = {sizeof(relay_parallel) - 1, nullptr,
                             [](void*, int64_t extent, int32_t (*body)(void*, int64_t, int64_t),
                                void* closure) { return body(closure, 0, extent); }};
  refused({.parallel = &parallel}, "`parallel` of the options is of no version");
  parallel.struct_size = sizeof parallel, parallel.run = nullptr;
  refused({.parallel = &parallel}, "`parallel` of the options has a function that is null");
  // A later version has more at the end.
  allocator = memory.api, allocator.struct_size += 8;
  Opened r(embedded(), {.allocator = &allocator});
  EXPECT_EQ(r.status, RELAY_OK) << r.error;
  EXPECT_GE(memory.requests, 2);
}

TEST(Artifact, WhyThereIsNoContextIsSaidToTheLog) {
  std::vector<std::string> said;
  relay_open_options options = {};
  options.log_self = &said;
  options.log = [](void* self, relay_log_level level, const char* text) {
    if (level == RELAY_LOG_WARNING) static_cast<std::vector<std::string>*>(self)->push_back(text);
  };
  const Compiled two("def @main(%x: Tensor[(4, 64), float32]) { cumsum(cumsum(%x, axis=0), axis=1) }");
  for (int left : {1, 2}) {  // the model is what is asked for first
    Counting memory{left};
    options.allocator = &memory.api;
    Opened r(two, options);
    EXPECT_EQ(r.status, RELAY_LIMIT);
  }
  ASSERT_EQ(said.size(), 2);
  EXPECT_EQ(said[0], "there is no memory for a context");
  EXPECT_NE(said[1].find("for the workspace of a context ("), std::string::npos) << said[1];
}

TEST(Artifact, LoopsRunOnThreadsOfTheCaller) {
  int calls = 0;
  const relay_parallel backwards = {
      sizeof(relay_parallel), &calls,
      [](void* self, int64_t extent, int32_t (*body)(void*, int64_t, int64_t), void* closure) {
        ++*static_cast<int*>(self);
        int32_t status = 0;
        for (int64_t i = extent; i-- > 0;) {
          if (const int32_t s = body(closure, i, i + 1)) status = s;
        }
        return status;
      }};
  Opened ours(embedded()), theirs(embedded(), {.parallel = &backwards});
  ASSERT_EQ(ours.go(), RELAY_OK);
  ASSERT_EQ(theirs.go(), RELAY_OK);
  EXPECT_EQ(ours.y, theirs.y);
}

TEST(Artifact, DescribesItself) {
  Opened r(embedded());
  const nlohmann::json d = nlohmann::json::parse(r.api->model_describe(r.model));
  EXPECT_EQ(d["abi_version"], RELAY_ABI_VERSION);
  EXPECT_EQ(d["inputs"][0], (nlohmann::json{{"name", "x"}, {"dtype", "float32"}, {"dims", {4, 64}}}));
  EXPECT_EQ(d["inputs"][1]["name"], "n");
  EXPECT_EQ(d["outputs"][1]["dims"], nlohmann::json({8}));
  EXPECT_EQ(d["weights"], "embedded");
  const Sources licensed = sources_of(kProgram, {kAnyProcessor}, {.licence = "ours */ \" \\ \n"});
  EXPECT_EQ(nlohmann::json::parse(licensed.description)["licence"], "ours */ \" \\ \n");
  // The page that users read says what each key means.
  std::string page;
  ASSERT_EQ(read_file("docs/artifacts.md", 1 << 20, page), "");
  for (const auto& [key, value] : d.items())
    EXPECT_NE(page.find(cat("`", key, "`")), std::string::npos) << "docs/artifacts.md lacks " << key;
}

// __builtin_cpu_supports takes a literal, and a name that compilers know.
std::string absent_feature() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("xop")) return "xop";
  return __builtin_cpu_supports("avx512f") ? "" : "avx512f";
}

TEST(Artifact, AFeatureThatTheProcessorLacksIsNamedWhenTheModelIsOpened) {
  const std::string absent = absent_feature();
  if (absent.empty()) GTEST_SKIP() << "this processor has every feature that is asked for";
  const Compiled c(kProgram, {}, {{"sse2", absent}});
  char error[256] = "";
  relay_open_options options = {};
  options.struct_size = sizeof options;
  options.error = error;
  options.error_size = sizeof error;
  relay_model* model = nullptr;
  EXPECT_EQ(c.api->model_open(&options, &model), RELAY_UNSUPPORTED);
  EXPECT_EQ(model, nullptr);
  EXPECT_NE(std::string(error).find("this processor has no " + absent), std::string::npos) << error;
}

TEST(Artifact, OfSeveralVariantsTheFirstThatTheProcessorCanRunDoes) {
  const std::string absent = absent_feature();
  if (absent.empty()) GTEST_SKIP() << "this processor has every feature that is asked for";
  const Compiled c(kProgram, {}, {{"sse2", absent}, {"sse2", "sse"}, {"sse2"}});
  std::vector<std::string> said;
  relay_open_options options = {};
  options.log_self = &said;
  options.log = [](void* self, relay_log_level, const char* text) {
    static_cast<std::vector<std::string>*>(self)->push_back(text);
  };
  Opened several(c, options), one(embedded());
  ASSERT_EQ(several.status, RELAY_OK) << several.error;
  ASSERT_EQ(several.go(), RELAY_OK);
  ASSERT_EQ(one.go(), RELAY_OK);
  EXPECT_EQ(several.y, one.y);
  EXPECT_EQ(several.q, one.q);
  EXPECT_EQ(said.back(), "runs the code for sse2+sse");
}

TEST(Artifact, VariantsShareTheWeightsThatAreTheSame) {
  const auto bytes = [](const std::vector<std::vector<std::string>>& features) {
    return sources_of(kProgram, features, {}).weights.size();
  };
  EXPECT_EQ(bytes({{"sse2"}}), bytes({{"sse2", "sse"}, {"sse2"}}));
}

TEST(Artifact, WhatOpensAModelRunsOnAnyProcessor) {
  for (const SourceFile& f : sources_of(kProgram, {{"sse2", "sse"}}, {}).files) {
    EXPECT_EQ(f.target.has_value(), f.name.find("kernels_") != std::string::npos) << f.name;
  }
}

}  // namespace
}  // namespace relay::aot
