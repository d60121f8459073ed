// The part of CUDA that Relay's generated code uses, on the CPU: the text that nvcc compiles runs
// here, and is watched.
//
//   c++ -std=c++17 -DRELAY_CUDA_EMULATION -fsanitize=thread -c kernels.cc       (linked without that flag)
//   c++ -std=c++17 -DRELAY_CUDA_EMULATION -c model.cc machine.cc
//
// The compiler's flag puts a call in front of each access to memory; support/cuda_watch.cc has what
// is called. Blocks run one after the other. The threads of a block are fibers: each runs until it
// has to wait, for the others of the block at a barrier, for those of its warp at a shuffle. The
// first thing that is wrong ends the launch with a text:
//  * an access that is in none of the launch's arguments, in no shared array and not on the
//    thread's stack, or a write to what is only read;
//  * a race: two threads access an element, one of them writes, and no barrier stands between;
//    blocks are never ordered;
//  * shared memory that is read before it was written;
//  * a barrier or a shuffle that not all threads come to, or not to the same one;
//  * 16 bytes at an address that is not aligned for them; a grid or a block that is
//    larger than a GPU's.
// Local arrays are not looked at: the reference executor of kernels does that.
//
// Copies take as long as they may: what is put into a stream happens when something is launched
// there, or waited for.
//
// RELAY_EMULATED_DEVICES=0 is a machine without a GPU, RELAY_EMULATED_MEMORY=BYTES one with so much
// memory, and with RELAY_EMULATED_COPIES=N a stream takes so many copies before it has to be waited
// for, and fails at the next.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __restrict__ __restrict

// --- The runtime's interface, as far as it is used -----------------------------------------------

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorNoDevice = 100,
  cudaErrorLaunchFailure = 719,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaDeviceAttr {
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
};
constexpr unsigned cudaStreamNonBlocking = 1;
typedef struct relay_emulated_stream* cudaStream_t;

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
};

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaMalloc(void** memory, size_t size);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);

namespace relay_emulation {

// What the next launch may access besides shared memory: elements of so many bytes each. If nothing
// was named, nothing.
void allow(const char* name, const void* begin, uint64_t bytes, uint32_t element_bytes, bool writes);
// How the next launch is called in texts.
void name_launch(const char* name);

// What was put into the stream happens.
void catch_up(cudaStream_t stream);
cudaError_t launch(dim3 grid, dim3 block, void (*body)(void* call), void* call);
// Launches of several host threads take turns: from the first `allow` to the launch.
struct Turn {
  Turn();
  ~Turn();
};

// Of the thread that runs.
dim3 block_index();
dim3 thread_index();
void barrier(int line);
void shuffle_down(void* value, size_t bytes, int distance);
void copy_16(void* to, const void* from);
bool has_failed(const int32_t* failure);
void fail(int32_t* failure, int32_t number);
void* enter_shared(void* memory, uint64_t bytes, uint32_t element_bytes, const char* name);

// 0 to kCount - 1, as arguments of a template.
template <size_t... I>
struct Indices {};
template <size_t kCount, size_t... I>
struct Count : Count<kCount - 1, kCount - 1, I...> {};
template <size_t... I>
struct Count<0, I...> {
  using All = Indices<I...>;
};

template <class... A, size_t... I>
void call(void (*kernel)(A...), void** arguments, Indices<I...>) {
  kernel(*static_cast<A*>(arguments[I])...);
}

}  // namespace relay_emulation

template <class... A>
cudaError_t cudaLaunchKernel(void (*kernel)(A...), dim3 grid, dim3 block, void** arguments, size_t,
                             cudaStream_t stream) {
  relay_emulation::catch_up(stream);
  struct Call {
    void (*kernel)(A...);
    void** arguments;
  } call{kernel, arguments};
  return relay_emulation::launch(
      grid, block,
      [](void* c) {
        const Call* one = static_cast<Call*>(c);
        relay_emulation::call(one->kernel, one->arguments,
                              typename relay_emulation::Count<sizeof...(A)>::All());
      },
      &call);
}

// --- What kernels use ----------------------------------------------------------------------------

#define blockIdx (relay_emulation::block_index())
#define threadIdx (relay_emulation::thread_index())
#define __syncthreads() relay_emulation::barrier(__LINE__)

// As <math.h> has them, which takes compilers longer to read than most kernels.
#define RELAY_OF_C(name)                      \
  extern "C" float name##f(float x) noexcept; \
  extern "C" double name(double x) noexcept;
#define RELAY_OF_C_2(name)                             \
  extern "C" float name##f(float x, float y) noexcept; \
  extern "C" double name(double x, double y) noexcept;
RELAY_OF_C(exp)
RELAY_OF_C(expm1)
RELAY_OF_C(log)
RELAY_OF_C(log2)
RELAY_OF_C(log10)
RELAY_OF_C(log1p)
RELAY_OF_C(sqrt)
RELAY_OF_C(sin)
RELAY_OF_C(cos)
RELAY_OF_C(tan)
RELAY_OF_C(asin)
RELAY_OF_C(acos)
RELAY_OF_C(atan)
RELAY_OF_C(sinh)
RELAY_OF_C(cosh)
RELAY_OF_C(tanh)
RELAY_OF_C(asinh)
RELAY_OF_C(acosh)
RELAY_OF_C(atanh)
RELAY_OF_C(erf)
RELAY_OF_C(floor)
RELAY_OF_C(ceil)
RELAY_OF_C(trunc)
RELAY_OF_C(rint)
RELAY_OF_C(fabs)
RELAY_OF_C_2(pow)
RELAY_OF_C_2(fmod)
RELAY_OF_C_2(atan2)
#undef RELAY_OF_C
#undef RELAY_OF_C_2
template <class T>
bool isnan(T x) {
  return __builtin_isnan(x);
}
template <class T>
bool isinf(T x) {
  return __builtin_isinf(x);
}
template <class T>
bool isfinite(T x) {
  return __builtin_isfinite(x);
}

inline float __int_as_float(int bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }

#define RELAY_SHARED(type, name, count)                                   \
  alignas(64) static unsigned char name##_memory[sizeof(type) * (count)]; \
  type* const name = static_cast<type*>(                                  \
      relay_emulation::enter_shared(name##_memory, sizeof name##_memory, sizeof(type), #name))

inline void relay_copy(void* to, const void* from) { relay_emulation::copy_16(to, from); }
template <class T>
T relay_shuffle_down(T value, int distance) {
  relay_emulation::shuffle_down(&value, sizeof value, distance);
  return value;
}
inline bool relay_failed(const int32_t* failure) { return relay_emulation::has_failed(failure); }
inline void relay_fail(int32_t* failure, int32_t number) { relay_emulation::fail(failure, number); }
