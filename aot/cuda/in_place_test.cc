// Outputs that lie on inputs, on an emulated GPU: in memory of the host, and of the device.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "aot/cuda/testing.h"

namespace relay::aot::cuda {
namespace {

constexpr size_t kSize = 3000;

// One weight that is updated, and one that is given back.
constexpr std::string_view kStep = R"(
def @main(%w: Tensor[(3000), float32], %k: Tensor[(3000), float32], %g: Tensor[(3000), float32]) {
  (%w - 0.5f * %g * %w, %k, max(%g))
}
)";

struct StepRun : Session {
  explicit StepRun(const Compiled& c, DLDeviceType device) : Session(c), place(device) {
    for (size_t i = 0; i < kSize; ++i) {
      memory[i] = static_cast<float>(i % 97);
      memory[kSize + i] = static_cast<float>(i % 13);
      memory[2 * kSize + i] = static_cast<float>(i % 5) / 4;
    }
  }
  DLTensor tensor(float* data) { return {data, {place, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0}; }
  relay_status go(float* w, float* k) {
    const DLTensor in[] = {tensor(memory), tensor(memory + kSize), tensor(memory + 2 * kSize)};
    DLTensor out[] = {tensor(w), tensor(k), {&most, {kDLCPU, 0}, 0, {kDLFloat, 32, 1}, nullptr, nullptr, 0}};
    const DLTensor* inputs[] = {&in[0], &in[1], &in[2]};
    DLTensor* outputs[] = {&out[0], &out[1], &out[2]};
    return api->run(context, inputs, 3, outputs, 3);
  }

  DLDeviceType place;
  int64_t shape[1] = {kSize};
  alignas(16) float memory[3 * kSize] = {};
  alignas(16) float most = 0;
};

TEST(CudaInPlace, AStepGivesTheSameBitsInOneBufferAsInTwo) {
  const Emulated c(kStep);
  for (const DLDeviceType device : {kDLCPU, kDLCUDA}) {
    StepRun r(c, device);
    const auto d = nlohmann::json::parse(r.api->model_describe(r.model));
    ASSERT_EQ(d["aliased"],
              nlohmann::json::parse(R"([{"output": 0, "input": 0}, {"output": 1, "input": 1}])"));
    alignas(16) static float w[kSize], k[kSize];
    ASSERT_EQ(r.go(w, k), RELAY_OK) << r.said();
    EXPECT_EQ(r.memory[3], 3) << "an input is never written but as an output";
    ASSERT_EQ(r.go(r.memory, r.memory + kSize), RELAY_OK) << r.said();
    EXPECT_TRUE(std::equal(w, w + kSize, r.memory));
    EXPECT_TRUE(std::equal(k, k + kSize, r.memory + kSize));
    EXPECT_EQ(r.memory[3], 3 - 0.5f * 0.75f * 3);
    EXPECT_EQ(r.most, 1);
  }
}

// C: memory that is shared in another way.
TEST(CudaInPlace, OtherSharedMemoryIsRefused) {
  const Emulated c(kStep);
  StepRun r(c, kDLCUDA);
  alignas(16) static float w[kSize];
  EXPECT_EQ(r.go(w, r.memory), RELAY_USAGE);
  EXPECT_NE(r.said().find("output `output_1` lies on input `w`: give it other memory"), std::string::npos)
      << r.said();
  EXPECT_EQ(r.go(r.memory + 4, w), RELAY_USAGE);
  EXPECT_NE(r.said().find("give it all of that memory or none"), std::string::npos) << r.said();
}

}  // namespace
}  // namespace relay::aot::cuda
