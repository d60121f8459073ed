// A small artifact, and runs of it through relay.h, for tests of what that promises.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "aot/testing.h"

namespace relay::aot {

// Two results, one of which divides integers: 0 among its divisors makes it trap.
inline constexpr std::string_view kProgram = R"(
def @main(%x: Tensor[(4, 64), float32], %n: Tensor[(8), int32]) {
  (nn.softmax(add(%x, tensor([[0.5]], float32))), floor_divide(%n, tensor([0, 1, 2, 3, 4, 5, 6, 7], int32) + %n))
}
)";

// Compiled once for all tests of a program: they only load it.
inline const Compiled& embedded() {
  static const Compiled c(kProgram, {});
  return c;
}

// An opened model and the arguments of a run.
struct Opened {
  const relay_api* api;
  relay_model* model = nullptr;
  relay_context* context = nullptr;
  char error[256] = "";
  std::vector<float> x = std::vector<float>(256), y = std::vector<float>(256);
  std::vector<int32_t> n = std::vector<int32_t>(8, 7), q = std::vector<int32_t>(8);
  int64_t x_shape[2] = {4, 64}, n_shape[1] = {8};
  DLTensor in[2] = {}, out[2] = {};

  explicit Opened(const Compiled& c, relay_open_options options = {}) : api(c.api) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 64) / 8;
    in[0] = {x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, x_shape, nullptr, 0};
    in[1] = {n.data(), {kDLCPU, 0}, 1, {kDLInt, 32, 1}, n_shape, nullptr, 0};
    out[0] = in[0], out[0].data = y.data();
    out[1] = in[1], out[1].data = q.data();
    options.struct_size = sizeof options;
    options.error = error;
    options.error_size = sizeof error;
    status = api->model_open(&options, &model);
    if (status == RELAY_OK) status = api->context_create(model, &context);
  }
  Opened(const Opened&) = delete;
  ~Opened() {
    api->context_free(context);
    EXPECT_EQ(api->model_close(model), RELAY_OK);
  }

  relay_status go() {
    const DLTensor* inputs[] = {&in[0], &in[1]};
    DLTensor* outputs[] = {&out[0], &out[1]};
    return api->run(context, inputs, 2, outputs, 2);
  }
  std::string said() const { return api->error(context); }

  relay_status status;
};

}  // namespace relay::aot
