// Artifacts for GPUs through their C interface, emulated: what relay.h promises, and what a
// device adds to it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "aot/cuda/testing.h"
#include "toolchain/library.h"

namespace relay::aot::cuda {
namespace {

// Two results, one of which divides integers: 0 among its divisors makes it trap.
constexpr std::string_view kProgram = R"(
def @main(%x: Tensor[(4, 64), float32], %n: Tensor[(8), int32]) {
  (nn.softmax(add(%x, tensor([[0.5]], float32))), floor_divide(%n, tensor([0, 1, 2, 3, 4, 5, 6, 7], int32) + %n))
}
)";

// Compiled once for all tests: they only load it.
const relay_api* api() {
  static TemporaryFolder folder;
  static toolchain::Library library;
  static const relay_api* found = [] {
    EXPECT_EQ(folder.make(), "");
    const std::string path = folder.path() + "/model.so";
    EXPECT_EQ(build_emulated(sources_of(kProgram), folder.path(), path), "");
    EXPECT_EQ(library.open(path), "");
    return reinterpret_cast<const relay_api* (*)()>(library.find("relay_get_api"))();
  }();
  return found;
}

struct Opened {
  relay_model* model = nullptr;
  relay_context* context = nullptr;
  char error[256] = "";
  std::string warned;  // by the log
  relay_status status = RELAY_OK;
  alignas(16) float x[256] = {}, y[256] = {};
  alignas(16) int32_t n[8] = {7, 7, 7, 7, 7, 7, 7, 7}, q[8] = {};
  int64_t x_shape[2] = {4, 64}, n_shape[1] = {8};
  DLTensor in[2] = {}, out[2] = {};

  Opened() : Opened(*api()) {}
  explicit Opened(const relay_api& of, const relay_allocator* memory = nullptr) {
    EXPECT_EQ(&of, api());
    for (int i = 0; i < 256; ++i) x[i] = static_cast<float>(i % 64) / 8;
    in[0] = {x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, x_shape, nullptr, 0};
    in[1] = {n, {kDLCPU, 0}, 1, {kDLInt, 32, 1}, n_shape, nullptr, 0};
    out[0] = in[0], out[0].data = y;
    out[1] = in[1], out[1].data = q;
    relay_open_options options = {};
    options.struct_size = sizeof options;
    options.allocator = memory;
    options.error = error;
    options.error_size = sizeof error;
    options.log_self = this;
    options.log = [](void* self, relay_log_level level, const char* text) {
      if (level == RELAY_LOG_WARNING) static_cast<Opened*>(self)->warned = text;
    };
    status = api()->model_open(&options, &model);
    if (status == RELAY_OK) status = api()->context_create(model, &context);
  }
  Opened(const Opened&) = delete;
  ~Opened() {
    api()->context_free(context);
    if (model) {
      EXPECT_EQ(api()->model_close(model), RELAY_OK);
    }
  }
  relay_status go() {
    const DLTensor* inputs[] = {&in[0], &in[1]};
    DLTensor* outputs[] = {&out[0], &out[1]};
    return api()->run(context, inputs, 2, outputs, 2);
  }
  std::string said() const { return api()->error(context); }
};

TEST(CudaArtifact, RunsOnTensorsOfTheHostAndOfTheDevice) {
  Opened host, device;
  ASSERT_EQ(host.go(), RELAY_OK) << host.said();
  float sum = 0;
  for (int i = 0; i < 64; ++i) sum += host.y[i];
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_EQ(host.q[1], 0);
  for (DLTensor* t : {&device.in[0], &device.in[1], &device.out[0], &device.out[1]})
    t->device.device_type = kDLCUDA;
  ASSERT_EQ(device.go(), RELAY_OK) << device.said();
  EXPECT_TRUE(std::equal(host.y, host.y + 256, device.y));
  // What is not aligned for kernels is copied.
  alignas(16) float shifted[257];
  std::copy(device.x, device.x + 256, shifted + 1);
  device.in[0].data = shifted;
  device.in[0].byte_offset = 4;
  std::fill(device.y, device.y + 256, 0.0f);
  ASSERT_EQ(device.go(), RELAY_OK) << device.said();
  EXPECT_TRUE(std::equal(host.y, host.y + 256, device.y));
}

TEST(CudaArtifact, OutputsWithoutAPlaceLiveInTheContext) {
  Opened r;
  ASSERT_EQ(r.go(), RELAY_OK);
  r.out[0] = {};
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  EXPECT_EQ(r.out[0].device.device_type, kDLCPU);
  EXPECT_EQ(r.out[0].shape[1], 64);
  EXPECT_TRUE(std::equal(r.y, r.y + 256, static_cast<float*>(r.out[0].data)));
}

TEST(CudaArtifact, AFailedRequirementIsATrap) {
  Opened r;
  r.n[0] = 0;
  EXPECT_EQ(r.go(), RELAY_TRAP);
  EXPECT_NE(r.said().find("divi"), std::string::npos) << r.said();
  r.n[0] = 1;
  EXPECT_EQ(r.go(), RELAY_OK) << r.said();
  EXPECT_EQ(r.said(), "");
}

TEST(CudaArtifact, ACancelledRunSaysSoOnce) {
  Opened r;
  api()->cancel(r.context);
  EXPECT_EQ(r.go(), RELAY_CANCELLED);
  EXPECT_EQ(r.go(), RELAY_OK);
}

TEST(CudaArtifact, ARunThatMayTakeNoTimeIsTimedOut) {
  Opened r;
  EXPECT_EQ(api()->set_timeout(r.context, 1), RELAY_OK);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(r.go(), RELAY_TIMED_OUT);
    EXPECT_EQ(r.said(), "the run took longer than its limit of 1 ns");
  }
  EXPECT_EQ(api()->set_timeout(r.context, -1), RELAY_USAGE);
  EXPECT_NE(r.said().find("-1 ns"), std::string::npos) << r.said();
  EXPECT_EQ(r.go(), RELAY_TIMED_OUT) << "the limit is as it was";
  api()->cancel(r.context);
  EXPECT_EQ(r.go(), RELAY_CANCELLED);
  for (const int64_t enough : {INT64_MAX, int64_t{3600} * 1000000000, int64_t{0}}) {
    EXPECT_EQ(api()->set_timeout(r.context, enough), RELAY_OK);
    EXPECT_EQ(r.go(), RELAY_OK) << enough << ": " << r.said();
  }
}

// C: however a run ends, nothing of it touches the caller's memory afterwards.
TEST(CudaArtifact, ARunThatFailedHasLetGoOfTheCallersMemory) {
  for (const char* copies : {"1", "2", "3", "4"}) {
    Opened r, other;
    for (DLTensor* t : {&r.in[0], &r.in[1], &r.out[0], &r.out[1]}) t->device.device_type = kDLCUDAHost;
    {
      const Environment failing("RELAY_EMULATED_COPIES", copies);
      EXPECT_EQ(r.go(), RELAY_INTERNAL) << copies;
      EXPECT_NE(r.said().find("invalid argument"), std::string::npos) << r.said();
    }
    std::fill(r.y, r.y + 256, -1.0f);
    std::fill(r.q, r.q + 8, -1);
    // The same context runs again, with other memory of the caller.
    r.out[0].data = other.y, r.out[1].data = other.q;
    EXPECT_EQ(r.go(), RELAY_OK) << r.said();
    EXPECT_EQ(std::count(r.y, r.y + 256, -1.0f), 256) << copies;
    EXPECT_EQ(std::count(r.q, r.q + 8, -1), 8) << copies;
  }
}

TEST(CudaArtifact, WithoutMemoryOfTheHostThereIsALimitAndNoLeak) {
  const int refusals = refuse_each_request<Opened>(
      *api(),
      [](Opened& r) {
        r.out[0] = r.out[1] = {};
        return r.go();
      },
      [](Opened& r) { return static_cast<int32_t*>(r.out[1].data)[1] == 0; });
  EXPECT_GE(refusals, 4);  // the model, a context, two outputs
}

TEST(CudaArtifact, WrongTensorsAreRefused) {
  Opened r;
  const auto refused = [&](const std::string& why) {
    EXPECT_EQ(r.go(), RELAY_USAGE);
    EXPECT_EQ(r.said(), why);
  };
  r.in[0].device = {kDLCUDA, 3};
  refused("input `x` is on CUDA device 3, the model runs on CUDA device 0");
  r.in[0].device = {static_cast<DLDeviceType>(7), 0};
  refused("input `x` is on device 7, the model takes tensors of the CPU and of CUDA");
  r.in[0].device = {kDLCPU, 0};
  r.in[0].dtype.bits = 64;
  refused("input `x` must be float32, it is float64");
  r.in[0].dtype.bits = 32;
  r.x_shape[1] = 63;
  refused("input `x` must have shape (4, 64), it has (4, 63)");
  r.x_shape[1] = 64;
  r.in[0].shape = nullptr;
  refused("input `x` must have shape (4, 64), it has none: `shape` is null");
  r.in[0].shape = r.x_shape;
  r.out[1].shape = nullptr;
  refused("output `output_1` must have shape (8), it has none: `shape` is null");
  r.out[1].shape = r.n_shape;
  EXPECT_EQ(r.go(), RELAY_OK);
  EXPECT_EQ(api()->run(r.context, nullptr, 2, nullptr, 2), RELAY_USAGE);
  EXPECT_EQ(api()->run(r.context, nullptr, 0, nullptr, 0), RELAY_USAGE);
}

TEST(CudaArtifact, AMachineWithoutAGpuIsUnsupported) {
  const Environment none("RELAY_EMULATED_DEVICES", "0");
  Opened r;
  EXPECT_EQ(r.status, RELAY_UNSUPPORTED);
  EXPECT_EQ(std::string(r.error),
            "there is no GPU that this model can run on: no CUDA-capable device is detected");
}

TEST(CudaArtifact, AnOlderGpuIsUnsupported) {
  const Environment old("RELAY_EMULATED_CAPABILITY", "7");
  Opened r;
  EXPECT_EQ(r.status, RELAY_UNSUPPORTED);
  EXPECT_EQ(std::string(r.error),
            "CUDA device 0 has compute capability 7.0, the model was compiled for 9.0 (--target)");
}

TEST(CudaArtifact, ADeviceWithoutMemoryIsALimit) {
  {
    const Environment none("RELAY_EMULATED_MEMORY", "16");
    Opened r;
    EXPECT_EQ(r.status, RELAY_LIMIT);
    EXPECT_EQ(r.model, nullptr);
    EXPECT_NE(std::string(r.error).find("no memory on device 0 for the weights"), std::string::npos)
        << r.error;
  }
  const Environment little("RELAY_EMULATED_MEMORY", "700");
  Opened r;
  EXPECT_NE(r.model, nullptr);
  EXPECT_EQ(r.status, RELAY_LIMIT);
  EXPECT_EQ(r.context, nullptr);
  EXPECT_NE(r.warned.find("for a context"), std::string::npos) << r.warned;
}

TEST(CudaArtifact, WeightsMayBeAFileBesideTheLibrary) {
  const Emulated c("def @main(%x: Tensor[(2), float32]) { add(%x, tensor([3, 5], float32)) }",
                   {.weights = Weights::kFile});
  const auto opens = [&](const char* path, const std::string& why) {
    char error[512] = "";
    relay_open_options options = {};
    options.struct_size = sizeof options;
    options.weights_path = path;
    options.error = error;
    options.error_size = sizeof error;
    relay_model* model = nullptr;
    const relay_status status = c.api->model_open(&options, &model);
    EXPECT_EQ(status, why.empty() ? RELAY_OK : RELAY_BAD_MODEL) << error;
    EXPECT_NE(std::string(error).find(why), std::string::npos) << error;
    EXPECT_EQ(c.api->model_close(model), RELAY_OK);
  };
  opens("/nowhere/w.safetensors", "cannot open the weights");
  opens(c.path.c_str(), "bytes, this model's have");
  opens(c.weights().c_str(), "");
  std::string bytes;
  ASSERT_EQ(read_file(c.weights(), 1 << 20, bytes), "");
  std::string other = bytes;
  other[20] ^= 1;
  ASSERT_EQ(write_file_atomically(c.weights(), other), "");
  opens(nullptr, "belong to another model");
  ASSERT_EQ(write_file_atomically(c.weights(), bytes), "");
  const Session s(c);
  ASSERT_EQ(s.status, RELAY_OK);
  float x[2] = {1, 2}, y[2] = {};
  int64_t shape[1] = {2};
  DLTensor in = {x, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0}, out = in;
  out.data = y;
  const DLTensor* inputs[] = {&in};
  DLTensor* outputs[] = {&out};
  ASSERT_EQ(c.api->run(s.context, inputs, 1, outputs, 1), RELAY_OK) << s.said();
  EXPECT_EQ(y[0], 4);
  EXPECT_EQ(y[1], 7);
}

TEST(CudaArtifact, AFileForWeightsThatAreInsideIsRefused) {
  char error[128] = "";
  relay_open_options options = {};
  options.struct_size = sizeof options;
  options.weights_path = "w.safetensors";
  options.error = error;
  options.error_size = sizeof error;
  relay_model* model = nullptr;
  EXPECT_EQ(api()->model_open(&options, &model), RELAY_USAGE);
  EXPECT_NE(std::string(error).find("inside its library"), std::string::npos);
}

TEST(CudaArtifact, IsDescribed) {
  const auto d = nlohmann::json::parse(api()->model_describe(nullptr));
  EXPECT_EQ(d["target"], "cuda:sm_90");
  EXPECT_EQ(d["inputs"][0]["dims"], nlohmann::json({4, 64}));
  EXPECT_EQ(d["tuple_result"], true);
  const Sources licensed = sources_of(kProgram, {.licence = "ours */ \" \\"});
  EXPECT_EQ(nlohmann::json::parse(licensed.description)["licence"], "ours */ \" \\");
}

// Kernels that are called like each other, or like what else is in the source.
TEST(CudaArtifact, NamesOfKernelsAreNobodyElses) {
  const std::vector<std::string> names{
      "`odd name`", "odd_name", "odd_name_messages", "failed", "run_steps", "Run", "dim3", "memcpy",
      "two_0",      "two_1"};
  std::string program, call = "@two(%x)";
  for (const std::string& name : names) {
    program += cat("kernel @", name, R"((x: float32[4]) -> (y: float32[4]) {
  for i in 4 {
    block b { spatial vi in 4 = i; reads x[vi]; writes y[vi]; require(x[vi] >= 0f, ")",
                   name, R"( failed"); y[vi] = x[vi] + 1f; }
  }
}
)");
    call = cat("@", name, "(", call, ")");
  }
  program += R"(
kernel @two(x: float32[4]) -> (y: float32[4]) {
  temporary t: float32[4];
  for i in 4 { block t { spatial vi in 4 = i; reads x[vi]; writes t[vi]; t[vi] = x[vi] + 1f; } }
  for i in 4 { block y { spatial vi in 4 = i; reads t[3 - vi]; writes y[vi]; y[vi] = t[3 - vi]; } }
}
)";
  program += cat("def @main(%x: Tensor[(4), float32]) { ", call, " }\n");
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const std::string path = folder.path() + "/model.so";
  ASSERT_EQ(build_emulated(sources_of(program), folder.path(), path), "");
  toolchain::Library library;
  ASSERT_EQ(library.open(path), "");
  const auto* named = reinterpret_cast<const relay_api* (*)()>(library.find("relay_get_api"))();
  relay_model* model = nullptr;
  relay_context* context = nullptr;
  ASSERT_EQ(named->model_open(nullptr, &model), RELAY_OK);
  ASSERT_EQ(named->context_create(model, &context), RELAY_OK);
  alignas(16) float x[4] = {0, 1, 2, 3}, y[4] = {};
  int64_t shape[] = {4};
  const DLTensor in = {x, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
  DLTensor out = in;
  out.data = y;
  const DLTensor* inputs[] = {&in};
  DLTensor* outputs[] = {&out};
  EXPECT_EQ(named->run(context, inputs, 1, outputs, 1), RELAY_OK) << named->error(context);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y[i], x[3 - i] + 1 + static_cast<float>(names.size()));
  x[2] = -2;  // the first kernel of those that require something
  EXPECT_EQ(named->run(context, inputs, 1, outputs, 1), RELAY_TRAP);
  EXPECT_NE(std::string(named->error(context)).find("odd name"), std::string::npos) << named->error(context);
  named->context_free(context);
  EXPECT_EQ(named->model_close(model), RELAY_OK);
}

TEST(CudaArtifact, TheSameProgramGivesTheSameText) {
  const Sources a = sources_of(kProgram, {.licence = "ours */ \" \\"}),
                b = sources_of(kProgram, {.licence = "ours */ \" \\"});
  ASSERT_EQ(a.files.size(), b.files.size());
  for (size_t i = 0; i < a.files.size(); ++i) EXPECT_EQ(a.files[i].text, b.files[i].text);
  EXPECT_EQ(a.weights, b.weights);
}

TEST(CudaArtifact, NvccCompilesTheWhole) {
  std::string nvcc;
  if (std::string wrong = find_nvcc(nvcc); !wrong.empty()) GTEST_SKIP() << wrong;
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  Diagnostics diagnostics;
  const target::Target target = target::target_of("cuda");
  EXPECT_TRUE(cuda::build(sources_of(kProgram), target, {}, folder.path() + "/model.so", diagnostics).ok())
      << diagnostics.render({});
  // Here is no GPU, which is what it says then.
  toolchain::Library library;
  ASSERT_EQ(library.open(folder.path() + "/model.so"), "");
  const auto* opened = reinterpret_cast<const relay_api* (*)()>(library.find("relay_get_api"))();
  char error[256] = "";
  relay_open_options options = {};
  options.struct_size = sizeof options;
  options.error = error;
  options.error_size = sizeof error;
  relay_model* model = nullptr;
  const relay_status status = opened->model_open(&options, &model);
  EXPECT_TRUE(status == RELAY_OK || status == RELAY_UNSUPPORTED) << error;
  EXPECT_EQ(opened->model_close(model), RELAY_OK);
}

}  // namespace
}  // namespace relay::aot::cuda
