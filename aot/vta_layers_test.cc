// Artifacts whose layers run on a VTA, through the C interface and the simulator.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "aot/vta_testing.h"
#include "toolchain/subprocess.h"

namespace relay::aot {
namespace {

TEST(VtaArtifact, ComputesWhatTheInterpreterDoes) {
  for (const CompiledOnVta* c : {&plan_on_vta(), &functions_on_vta()}) {
    Board board;
    {
      LayerRun r(*c, &board.api);
      ASSERT_EQ(r.status, RELAY_OK) << r.error;
      for (int again = 0; again < 2; ++again) {
        ASSERT_EQ(r.go(), RELAY_OK) << r.said();
        EXPECT_EQ(r.z, r.wanted(c->on_vta));
        r.x = random_bytes(static_cast<int64_t>(r.x.size()), 4);
      }
    }
    EXPECT_EQ(board.live, 0);
  }
}

// All of BATCH and BLOCK, and what they leave over of 3 images and 21 channels.
TEST(VtaArtifact, ComputesTheSameOnOtherParameters) {
  const std::vector<vta::Params> all = vta::testing::usual_params();
  for (const size_t k : {2u, 7u}) {
    const CompiledOnVta c(plan_text(), all[k], {.weights = Weights::kFile});
    Board board(all[k]);
    LayerRun r(c, &board.api);
    ASSERT_EQ(r.status, RELAY_OK) << r.error;
    ASSERT_EQ(r.go(), RELAY_OK) << r.said();
    EXPECT_EQ(r.z, r.wanted(c.on_vta));
  }
}

TEST(VtaArtifact, HasNoWeightsThatOnlyTheVtaReads) {
  const std::string data = plan_on_vta().sources.weights.text();
  const std::string_view as_written(reinterpret_cast<const char*>(conv_weights().data()),
                                    conv_weights().size());
  EXPECT_EQ(data.find(as_written), std::string_view::npos);
  EXPECT_EQ(plan_on_vta().sources.kernels, 1u);  // bitwise_xor
}

TEST(VtaArtifact, SaysWhatItNeeds) {
  const relay_vta_params* needed = plan_on_vta().api->needed_vta();
  ASSERT_NE(needed, nullptr);
  EXPECT_EQ(vta::params_of(*needed), vta::Params());
  const auto d = nlohmann::json::parse(plan_on_vta().sources.description);
  EXPECT_EQ(d["vta"]["layers"], nlohmann::json::parse(R"(["layer 0: conv", "layer 1: maximum"])"));
  EXPECT_EQ(d["vta"]["parameters"]["LOG_BLOCK"], 4);
  const Compiled without("def @main(%x: Tensor[(2), int8]) { negative(%x) }");
  EXPECT_EQ(without.api->needed_vta(), nullptr);
}

TEST(VtaArtifact, IsNotOpenedWithoutADriver) {
  LayerRun r(plan_on_vta(), nullptr);
  EXPECT_EQ(r.status, RELAY_UNSUPPORTED);
  EXPECT_STREQ(r.error, "layers of the model run on a VTA: give its driver as `vta` of the options");
  EXPECT_EQ(r.go(), RELAY_USAGE);  // without a context
}

// A program that was compiled before there were drivers has shorter options.
TEST(VtaArtifact, IsNotOpenedByAnOlderProgram) {
  Board board;
  relay_open_options options = {};
  options.struct_size = offsetof(relay_open_options, vta);
  options.vta = &board.api;
  relay_model* model = nullptr;
  EXPECT_EQ(plan_on_vta().api->model_open(&options, &model), RELAY_UNSUPPORTED);
  EXPECT_EQ(board.calls, 0);
}

TEST(VtaArtifact, IsNotOpenedOnAnotherVta) {
  Board board(vta::testing::usual_params()[4]);
  LayerRun r(plan_on_vta(), &board.api);
  EXPECT_EQ(r.status, RELAY_UNSUPPORTED);
  EXPECT_STREQ(r.error,
               "the model was compiled for a VTA with LOG_BATCH = 0 (--target), and the driver's has 1");
  EXPECT_EQ(board.calls, 0);
}

TEST(VtaArtifact, DriversThatAreNotFilledInAreRefused) {
  const auto refused = [&](const auto& change, const std::string& why) {
    Board board;
    relay_vta_params params = *board.api.params;
    board.api.params = &params;
    change(board.api, params);
    LayerRun r(plan_on_vta(), &board.api);
    EXPECT_EQ(r.status, RELAY_USAGE);
    EXPECT_EQ(std::string(r.error), why);
    EXPECT_EQ(board.calls, 0);
  };
  const std::string unset = "is of no version that there is: set its struct_size to sizeof";
  refused([](auto& driver, auto&) { driver.struct_size = 8; }, "`vta` of the options " + unset);
  refused([](auto&, auto& params) { params.struct_size = 0; }, "`params` of the VTA's driver " + unset);
  refused([](auto& driver, auto&) { driver.params = nullptr; }, "`params` of the VTA's driver is null");
  const std::string null = "`vta` of the options has a function that is null";
  refused([](auto& driver, auto&) { driver.allocate = nullptr; }, null);
  refused([](auto& driver, auto&) { driver.release = nullptr; }, null);
  refused([](auto& driver, auto&) { driver.write = nullptr; }, null);
  refused([](auto& driver, auto&) { driver.read = nullptr; }, null);
  refused([](auto& driver, auto&) { driver.run = nullptr; }, null);
}

// Each call of the driver is refused once. Nothing stays allocated, and the context
// can be used again.
void refuse_each_call(const CompiledOnVta& c, int32_t code, relay_status opening, relay_status running) {
  int in_runs = 0;
  for (int nth = 0;; ++nth) {
    Board board;
    board.left = nth, board.code = code;
    bool refused = false;
    {
      LayerRun r(c, &board.api);
      if (r.status != RELAY_OK) {
        EXPECT_EQ(r.status, opening) << nth;
        EXPECT_NE(std::string(r.error).find("the driver of the VTA has not "), std::string::npos) << r.error;
        refused = true;
      } else if (const relay_status status = r.go(); status != RELAY_OK) {
        EXPECT_EQ(status, running) << nth;
        EXPECT_NE(r.said().find("the driver of the VTA has not "), std::string::npos) << r.said();
        EXPECT_NE(r.said().find("layer `layer "), std::string::npos) << r.said();
        EXPECT_EQ(r.go(), RELAY_OK) << r.said();
        EXPECT_EQ(r.z, r.wanted(c.on_vta));
        refused = true;
        ++in_runs;
      }
    }
    EXPECT_EQ(board.live, 0) << nth;
    if (!refused) break;
  }
  EXPECT_GE(in_runs, 7);  // of two layers: three inputs, two runs, two results
}

TEST(VtaArtifact, ADriverThatFailsEndsTheCall) {
  for (const CompiledOnVta* c : {&plan_on_vta(), &functions_on_vta()}) {
    refuse_each_call(*c, RELAY_VTA_FAILED, RELAY_UNSUPPORTED, RELAY_TRAP);
    refuse_each_call(*c, RELAY_VTA_NO_MEMORY, RELAY_LIMIT, RELAY_LIMIT);
  }
}

TEST(VtaArtifact, QuotesItsDriver) {
  Board board;
  LayerRun r(plan_on_vta(), &board.api);
  board.left = 2;  // both inputs are written
  board.code = 77;
  EXPECT_EQ(r.go(), RELAY_TRAP);
  EXPECT_EQ(r.said(), "the driver of the VTA has not run layer `layer 0: conv`: code 77");
  board.left = 2;
  board.speaks = true;
  EXPECT_EQ(r.go(), RELAY_TRAP);
  EXPECT_EQ(r.said(), "the driver of the VTA has not run layer `layer 0: conv`: the board is on fire");
}

TEST(VtaArtifact, AddressesThatNoInstructionReachesAreRefused) {
  static uint64_t given;
  for (const uint64_t address : {uint64_t{4096} + 16, uint64_t{1} << 32, (uint64_t{1} << 32) - 4096}) {
    given = address;
    Board board;
    board.api.allocate = [](void* self, uint64_t, uint64_t* to) {
      return *to = given, ++Board::of(self).live, 0;
    };
    board.api.release = [](void* self, uint64_t at) {
      EXPECT_EQ(at, given);
      --Board::of(self).live;
    };
    {
      LayerRun r(plan_on_vta(), &board.api);
      EXPECT_EQ(r.status, RELAY_UNSUPPORTED);
      EXPECT_NE(std::string(r.error).find("no instruction reaches it"), std::string::npos) << r.error;
    }
    EXPECT_EQ(board.live, 0);
  }
}

TEST(VtaArtifact, EachRequestForMemoryMayFail) {
  int refused_requests = 0;
  for (int nth = 0;; ++nth) {
    Counting memory{nth};
    Board board;
    bool refused = false;
    {
      LayerRun r(plan_on_vta(), &board.api, &memory.api);
      const relay_status status = r.status == RELAY_OK ? r.go() : r.status;
      refused = memory.left < 0;
      EXPECT_EQ(status, refused ? RELAY_LIMIT : RELAY_OK) << nth;
    }
    EXPECT_EQ(memory.live, 0) << nth;
    EXPECT_EQ(board.live, 0) << nth;
    if (!refused) break;
    ++refused_requests;
  }
  EXPECT_GE(refused_requests, 4);  // model, instructions, context, tensors of the VTA
}

TEST(VtaArtifact, ContextsOfOneModelRunAtOnce) {
  for (const CompiledOnVta* c : {&plan_on_vta(), &functions_on_vta()}) {
    Board board;
    LayerRun first(*c, &board.api);
    ASSERT_EQ(first.status, RELAY_OK) << first.error;
    LayerRun second(first);
    second.x = random_bytes(static_cast<int64_t>(second.x.size()), 9);
    const auto run_often = [&](LayerRun& r) {
      const std::vector<int8_t> wanted = r.wanted(c->on_vta);
      for (int i = 0; i < 10; ++i) {
        ASSERT_EQ(r.go(), RELAY_OK) << r.said();
        ASSERT_EQ(r.z, wanted);
      }
    };
    std::thread other([&] { run_often(second); });
    run_often(first);
    other.join();
    EXPECT_NE(first.z, second.z);
  }
}

// The same layer twice, and one with other weights.
TEST(VtaTables, EqualConstantsAreUploadedOnce) {
  const vta::Layout layout = vta::testing::layout_of({});
  const auto layers_of = [&](const std::vector<uint64_t>& seeds) {
    VtaLayers out{layout};
    Diagnostics d;
    for (const uint64_t seed : seeds) {
      const vta::LayerConstants constants = {random_bytes(kOut * kIn * 9, seed), {{}, {}, {}, {}}};
      Result<vta::LayerCode> code = vta::compile_layer(convolution(), constants, layout, {}, d);
      EXPECT_TRUE(code && out.add({.name = "conv", .code = std::move(*code), .reads = {0, 1}}, d));
    }
    return out;
  };
  const auto buffers = [&](const std::vector<uint64_t>& seeds) {
    const VtaLayers layers = layers_of(seeds);
    return VtaTables(layers).print([](size_t) { return 0; });
  };
  // A result and two inputs, which layers share, then micro-ops, weights and instructions.
  EXPECT_NE(buffers({1}).find("kVtaBufferCount = 6,"), std::string::npos) << buffers({1});
  EXPECT_NE(buffers({1, 1}).find("kVtaBufferCount = 7,"), std::string::npos) << buffers({1, 1});
  EXPECT_NE(buffers({1, 2}).find("kVtaBufferCount = 8,"), std::string::npos) << buffers({1, 2});
}

// C: the header is one file that compiles by itself, in both languages.
TEST(VtaArtifact, ItsHeaderHasTheDriver) {
  EXPECT_NE(plan_on_vta().sources.header.find("  layer 0: conv\n"), std::string::npos);
  EXPECT_NE(plan_on_vta().sources.header.find("  LOG_BLOCK 4\n"), std::string::npos);
  const std::string user = plan_on_vta().folder.path() + "/user.c";
  std::ofstream(user) << "#include \"model.h\"\nrelay_vta_driver driver;\nrelay_open_options options;\n"
                         "const relay_vta_params* (*needed)(void) = relay_needed_vta;\n";
  for (const char* language : {"c", "c++"}) {
    const auto done = toolchain::run({"cc", "-x", language, language[1] ? "-std=c++11" : "-std=c99", "-Wall",
                                      "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", user},
                                     plan_on_vta().folder.path(), 60);
    EXPECT_EQ(done.exit_code, 0) << language << ": " << done.output << done.problem;
  }
}

TEST(VtaArtifact, SameInputSameBytes) {
  const Sources again = OnVta(plan_text(), {}).sources({});
  ASSERT_EQ(again.files.size(), plan_on_vta().sources.files.size());
  for (size_t i = 0; i < again.files.size(); ++i)
    EXPECT_EQ(again.files[i].text, plan_on_vta().sources.files[i].text);
  EXPECT_EQ(again.weights, plan_on_vta().sources.weights);
}

}  // namespace
}  // namespace relay::aot
