// The emulation of a GPU catches what a GPU would not say.
#include <gtest/gtest.h>

#include <map>

#include "aot/embedded.h"
#include "base/cat.h"
#include "base/file.h"
#include "toolchain/compiler.h"
#include "toolchain/library.h"

namespace relay::aot::cuda {
namespace {

// Each kernel is given x, 64 floats that are read, y, 64 floats that are written, and a
// word for failures.
constexpr std::string_view kKernels = R"(
#include "cuda_emulation.h"
#define KERNEL(name) extern "C" __global__ void name(const float* __restrict__ x, float* __restrict__ y, int32_t* failure)
KERNEL(right) {
  (void)failure;
  RELAY_SHARED(float, s, 64);
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float sum = s[63 - threadIdx.x];
  for (int half = 16; half > 0; half /= 2) sum += relay_shuffle_down(sum, half);
  y[threadIdx.x] = sum;
}
KERNEL(copies) {
  (void)failure;
  if (threadIdx.x < 16) relay_copy(y + 4 * threadIdx.x, x + 4 * threadIdx.x);
}
KERNEL(fails) {
  if (threadIdx.x % 2 == 1) {
    relay_fail(failure, x[threadIdx.x] > 40.0f ? 2 : 3);
    return;
  }
  __syncthreads();
  y[threadIdx.x] = 0.0f;
}
KERNEL(reads_past_the_end) { (void)failure; y[threadIdx.x] = x[threadIdx.x + 1]; }
KERNEL(reads_before_the_beginning) { (void)failure; y[threadIdx.x] = x[(int)threadIdx.x - 1]; }
KERNEL(writes_past_the_end) { (void)failure; (void)x; y[threadIdx.x * 2] = 1.0f; }
KERNEL(writes_past_shared) {
  (void)failure; (void)x;
  RELAY_SHARED(float, s, 32);
  s[threadIdx.x] = 1.0f;
  __syncthreads();
  y[threadIdx.x] = s[0];
}
KERNEL(writes_what_is_read_only) { (void)failure; (void)y; const_cast<float*>(x)[threadIdx.x] = 1.0f; }
KERNEL(races_in_shared) {
  (void)failure;
  RELAY_SHARED(float, s, 64);
  s[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = s[threadIdx.x > 0 ? threadIdx.x - 1 : 0];
}
KERNEL(races_for_reading) {
  (void)failure;
  RELAY_SHARED(float, s, 65);
  if (threadIdx.x == 0) s[64] = 0.0f;
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x + 1];
  s[threadIdx.x] = 0.0f;
}
KERNEL(races_between_blocks) { (void)failure; y[threadIdx.x] = x[threadIdx.x] + (float)blockIdx.x; }
KERNEL(reads_another_blocks) {
  (void)failure; (void)x;
  if (blockIdx.x == 0) y[threadIdx.x] = 1.0f;
  if (blockIdx.x == 1 && threadIdx.x == 5) y[threadIdx.x + 32] = y[threadIdx.x];
}
KERNEL(reads_what_nothing_wrote) {
  (void)failure; (void)x;
  RELAY_SHARED(float, s, 64);
  y[threadIdx.x] = s[threadIdx.x];
}
KERNEL(leaves_before_a_barrier) {
  (void)failure;
  if (threadIdx.x >= 32) return;
  __syncthreads();
  y[threadIdx.x] = x[threadIdx.x];
}
KERNEL(parts_at_barriers) {
  (void)failure;
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  y[threadIdx.x] = x[threadIdx.x];
}
KERNEL(shuffles_alone) {
  (void)failure;
  float v = x[threadIdx.x];
  if (threadIdx.x % 2 == 0) v += relay_shuffle_down(v, 1);
  y[threadIdx.x] = v;
}
KERNEL(copies_unaligned) { (void)failure; relay_copy(y, x + 1); }
)";

constexpr std::string_view kHost = R"(
#include "cuda_emulation.h"
#define KERNEL(name) extern "C" void name(const float*, float*, int32_t*);
#define ALL KERNEL(right) KERNEL(copies) KERNEL(fails) KERNEL(reads_past_the_end) KERNEL(reads_before_the_beginning) \
  KERNEL(writes_past_the_end) KERNEL(writes_past_shared) KERNEL(writes_what_is_read_only) KERNEL(races_in_shared) \
  KERNEL(races_for_reading) KERNEL(races_between_blocks) KERNEL(reads_another_blocks) KERNEL(reads_what_nothing_wrote) \
  KERNEL(leaves_before_a_barrier) KERNEL(parts_at_barriers) KERNEL(shuffles_alone) KERNEL(copies_unaligned)
ALL
#undef KERNEL
#define KERNEL(name) if (strcmp(which, #name) == 0) kernel = name;
extern "C" __attribute__((visibility("default"))) const char* run(const char* which, unsigned blocks, unsigned threads,
                                                                 float* result, int32_t* failure) {
  void (*kernel)(const float*, float*, int32_t*) = nullptr;
  ALL
  void *x = nullptr, *y = nullptr, *f = nullptr;
  cudaMalloc(&x, 256);
  cudaMalloc(&y, 256);
  cudaMalloc(&f, 4);
  float all[64];
  for (int i = 0; i < 64; ++i) all[i] = (float)i;
  cudaMemcpyAsync(x, all, 256, cudaMemcpyHostToDevice, nullptr);
  cudaMemsetAsync(f, 0, 4, nullptr);
  void* arguments[] = {&x, &y, &f};
  cudaError_t error;
  {
    const relay_emulation::Turn turn;
    relay_emulation::name_launch(which);
    relay_emulation::allow("x", x, 256, 4, false);
    relay_emulation::allow("y", y, 256, 4, true);
    error = cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, 0, nullptr);
  }
  cudaMemcpyAsync(result, y, 256, cudaMemcpyDeviceToHost, nullptr);
  cudaMemcpyAsync(failure, f, 4, cudaMemcpyDeviceToHost, nullptr);
  cudaFree(x);
  cudaFree(y);
  cudaFree(f);
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}
)";

// The kernels, compiled once.
class Emulation : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    TemporaryFolder folder;
    ASSERT_EQ(folder.make(), "");
    toolchain::CompileOptions options;
    options.compile_flags = {"-DRELAY_CUDA_EMULATION"};
    options.opt_level = 0;
    ASSERT_EQ(toolchain::build_library({{"cuda_emulation.h", std::string(kCudaEmulationHeader)},
                                        {"kernels.cc", std::string(kKernels), {}, {"-fsanitize=thread"}},
                                        {"host.cc", std::string(kHost)},
                                        {"machine.cc", std::string(kCudaMachineSource)}},
                                       options, folder.path(), folder.path() + "/test.so"),
              "");
    ASSERT_EQ(library().open(folder.path() + "/test.so"), "");
  }
  static void TearDownTestSuite() { library() = {}; }
  static toolchain::Library& library() {
    static toolchain::Library l;
    return l;
  }

  std::string run(const char* kernel, unsigned blocks = 1, unsigned threads = 64) {
    auto go = reinterpret_cast<const char* (*)(const char*, unsigned, unsigned, float*, int32_t*)>(
        library().find("run"));
    return go ? go(kernel, blocks, threads, result_, &failure_) : "there is no `run`";
  }
  void expect_caught(const char* kernel, const std::string& what, unsigned blocks = 1) {
    EXPECT_NE(run(kernel, blocks).find(what), std::string::npos) << run(kernel, blocks);
    EXPECT_EQ(run("right"), "") << "after " << kernel;
  }

  float result_[64] = {};
  int32_t failure_ = 0;
};

TEST_F(Emulation, RunsThreadsInBlocks) {
  EXPECT_EQ(run("right"), "");
  float want = 0;
  for (int i = 32; i < 64; ++i) want += static_cast<float>(i);
  EXPECT_EQ(result_[0], want);
  EXPECT_EQ(run("copies"), "");
  for (int i = 0; i < 64; ++i) EXPECT_EQ(result_[i], static_cast<float>(i));
}

TEST_F(Emulation, AFailureIsTheSmallestOfAllThreads) {
  EXPECT_EQ(run("fails"), "");  // those that failed are not waited for
  EXPECT_EQ(failure_, 0x7fffffff - 2);
}

TEST_F(Emulation, AccessesOutsideAreCaught) {
  expect_caught(
      "reads_past_the_end",
      "reads_past_the_end, block (0, 0, 0), thread (63, 0, 0): reads outside of its memory: at element 64 "
      "of `x`, which has 64");
  expect_caught("reads_before_the_beginning", "reads outside of its memory");
  expect_caught("writes_past_the_end",
                "thread (32, 0, 0): writes outside of its memory: at element 64 of `y`");
  expect_caught("writes_past_shared",
                "thread (32, 0, 0): writes outside of its memory: at element 32 of `s`");
  expect_caught("writes_what_is_read_only", "writes element 0 of `x`, which is only read");
}

TEST_F(Emulation, RacesAreCaught) {
  expect_caught("races_in_shared",
                "thread (1, 0, 0): reads element 0 of `s`, which block (0, 0, 0), thread (0, 0, 0) wrote");
  expect_caught("races_for_reading", "element 1 of `s`");
  expect_caught(
      "races_between_blocks",
      "block (1, 0, 0), thread (0, 0, 0): writes element 0 of `y`, which block (0, 0, 0), thread (0, 0, 0) "
      "wrote, with no barrier between",
      2);
  expect_caught("reads_another_blocks",
                "reads element 5 of `y`, which block (0, 0, 0), thread (5, 0, 0) wrote", 2);
}

TEST_F(Emulation, MemoryThatNothingWroteIsCaught) {
  expect_caught("reads_what_nothing_wrote", "reads element 0 of `s`, which nothing has written");
}

TEST_F(Emulation, ThreadsThatPartAreCaught) {
  expect_caught("leaves_before_a_barrier", "ends before the barrier in line");
  expect_caught("parts_at_barriers", "waits at the barrier in line");
  expect_caught("shuffles_alone", "does not come to the shuffle by 1");
}

TEST_F(Emulation, WhatNoGpuCanDoIsCaught) {
  expect_caught("copies_unaligned", "copies 16 bytes from an address that is not aligned for them");
  EXPECT_NE(run("right", 1, 2048).find("no GPU has a grid of (1, 1, 1) blocks of (2048, 1, 1) threads"),
            std::string::npos);
}

}  // namespace
}  // namespace relay::aot::cuda
