#include "kernel/print/prelude.h"

namespace relay::kernel::print {

const std::string_view kPreludeHost = R"prelude(#include <cstdint>
#include <cstring>
#include <type_traits>

#ifndef RELAY_PARALLEL_DECLARED
#define RELAY_PARALLEL_DECLARED
// How the iterations of a parallel loop are spread over threads: as in relay.h, which explains it.
extern "C" typedef struct relay_parallel {
  uint32_t struct_size;
  void* self;
  int32_t (*run)(void* self, int64_t extent, int32_t (*body)(void* closure, int64_t begin, int64_t end), void* closure);
} relay_parallel;
#endif

#define RELAY_FUNCTION [[maybe_unused]] static inline
#define RELAY_NOINLINE __attribute__((noinline))
// The address may be anywhere, where a pointer could not point. The second level of cache: the first is small.
#define RELAY_PREFETCH(x, offset) \
  __builtin_prefetch((const void*)((uintptr_t)(x) + (uintptr_t)(offset) * sizeof *(x)), 0, 2)
// Vectors wider than the processor's are passed in memory, which is no one's business: nothing here is exported. Nor is
// it a mistake if a loop is not vectorised after all.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#pragma clang diagnostic ignored "-Wpsabi"
#define RELAY_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define RELAY_UNROLL _Pragma("clang loop unroll(full)")
#define RELAY_ROLLED _Pragma("clang loop unroll(disable)")
#else
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#define RELAY_INDEPENDENT _Pragma("GCC ivdep")
#define RELAY_UNROLL _Pragma("GCC unroll 64")
#define RELAY_ROLLED _Pragma("GCC unroll 1")
#endif
)prelude";

const std::string_view kPreludeCuda = R"prelude(#include <cstdint>
#include <cstring>
#include <type_traits>

#define RELAY_FUNCTION [[maybe_unused]] static __device__ inline
#ifdef __CUDACC__
#pragma nv_diag_suppress 39  // the mean of nothing is divided by zero
#endif

// cuda_emulation.h has its own of these, which watch what threads do.
#ifndef RELAY_CUDA_EMULATION
#include <cmath>

// An array of a block of threads.
#define RELAY_SHARED(type, name, count) __shared__ alignas(16) type name[count]
// 16 bytes at once, from and to aligned addresses.
RELAY_FUNCTION void relay_copy(void* to, const void* from) { *(float4*)to = *(const float4*)from; }
// The value of the thread that stands `distance` behind in the warp.
template <class T>
RELAY_FUNCTION T relay_shuffle_down(T value, int distance) {
  return __shfl_down_sync(0xffffffffu, value, distance);
}
// Did a launch of the same kernel fail before?
RELAY_FUNCTION bool relay_failed(const int32_t* failure) { return *(const volatile int32_t*)failure != 0; }
// The smallest number that any thread fails with counts, whoever comes first.
RELAY_FUNCTION void relay_fail(int32_t* failure, int32_t number) { atomicMax(failure, 0x7fffffff - number); }
#endif
)prelude";

const std::string_view kPreludeArithmetic = R"prelude(
// Arithmetic of integers wraps: it is done in an unsigned type that is not promoted to int.
template <class T, bool = std::is_arithmetic_v<T>>
struct relay_traits {
  using element = T;
  using wide = std::make_unsigned_t<std::conditional_t<std::is_integral_v<T> && sizeof(T) >= 4, T, uint32_t>>;
  template <class U>
  using like = U;
  static constexpr int lanes = 1;
};
template <class T>
RELAY_FUNCTION T relay_add(T a, T b) {
  using U = typename relay_traits<T>::wide;
  return (T)((U)a + (U)b);
}
template <class T>
RELAY_FUNCTION T relay_sub(T a, T b) {
  using U = typename relay_traits<T>::wide;
  return (T)((U)a - (U)b);
}
template <class T>
RELAY_FUNCTION T relay_mul(T a, T b) {
  using U = typename relay_traits<T>::wide;
  return (T)((U)a * (U)b);
}
template <class T>
RELAY_FUNCTION T relay_shift_left(T a, T b) {
  using U = typename relay_traits<T>::wide;
  return (T)((U)a << (U)b);
}
template <class T>
RELAY_FUNCTION T relay_shift_right(T a, T b) {
  return (T)(a >> b);
}
template <class T>
RELAY_FUNCTION T relay_wrap_int4(T v) {
  return (T)(((v & 15) ^ 8) - 8);
}
template <class T>
RELAY_FUNCTION T relay_wrap_uint4(T v) {
  return (T)(v & 15);
}
template <class T>
RELAY_FUNCTION T relay_abs_of_int(T v) {
  return v < 0 ? relay_sub((T)(v - v), v) : v;
}

// Division of integers by anything but zero. The most negative number divided by -1 wraps.
template <class T>
RELAY_FUNCTION T relay_trunc_div(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    return b == -1 ? relay_sub((T)0, a) : (T)(a / b);
  } else {
    return (T)(a / b);
  }
}
template <class T>
RELAY_FUNCTION T relay_trunc_mod(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    return b == -1 ? (T)0 : (T)(a % b);
  } else {
    return (T)(a % b);
  }
}
template <class T>
RELAY_FUNCTION T relay_floor_mod(T a, T b) {
  const T r = relay_trunc_mod(a, b);
  if constexpr (std::is_signed_v<T>) {
    return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
  } else {
    return r;
  }
}
template <class T>
RELAY_FUNCTION T relay_floor_div(T a, T b) {
  const T q = relay_trunc_div(a, b);
  if constexpr (std::is_signed_v<T>) {
    const T r = relay_trunc_mod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? (T)(q - 1) : q;
  } else {
    return q;
  }
}

// NaN if either is NaN; the first of two equal ones, so that the sign of zero is defined.
template <class T>
RELAY_FUNCTION T relay_min(T a, T b) {
  if constexpr (std::is_floating_point_v<typename relay_traits<T>::element>) {
    const T m = b < a ? b : a;
    return b != b ? b : m;
  } else {
    return b < a ? b : a;
  }
}
template <class T>
RELAY_FUNCTION T relay_max(T a, T b) {
  if constexpr (std::is_floating_point_v<typename relay_traits<T>::element>) {
    const T m = a < b ? b : a;
    return b != b ? b : m;
  } else {
    return a < b ? b : a;
  }
}
// The extent of two that broadcast.
RELAY_FUNCTION int64_t relay_broadcast(int64_t a, int64_t b) { return a == 1 ? b : a; }
// The same where one side is known to be a number: a single instruction.
template <class T>
RELAY_FUNCTION T relay_min_left_number(T a, T b) {
  return a <= b ? a : b;
}
template <class T>
RELAY_FUNCTION T relay_max_left_number(T a, T b) {
  return b <= a ? a : b;
}
template <class T>
RELAY_FUNCTION T relay_min_right_number(T a, T b) {
  return b < a ? b : a;
}
template <class T>
RELAY_FUNCTION T relay_max_right_number(T a, T b) {
  return a < b ? b : a;
}
)prelude";

const std::string_view kPreludeConversions = R"prelude(
// The bits of a value as another type of the same size.
template <class To, class From>
RELAY_FUNCTION To relay_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "relay_bits needs types of one size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// A floating value as an integer of so many bits: truncated, NaN is 0, beyond its range is its nearest end.
template <class T, int bits = 8 * (int)sizeof(T), class F>
RELAY_FUNCTION T relay_int_of(F v) {
  constexpr bool is_signed = (T)-1 < (T)1;
  constexpr uint64_t most = ~(uint64_t)0 >> (64 - bits + is_signed);
  constexpr F end = (F)(most / 2 + 1) * 2;  // the first number that is too large
  constexpr T least = is_signed ? (T)(-(int64_t)most - 1) : (T)0;
  if (v != v) return 0;
  return v >= end ? (T)most : v <= (is_signed ? -end : (F)0) ? least : (T)v;
}
// The same where the value is known to be NaN or to fit T and 32 bits.
template <class T, class F>
RELAY_FUNCTION T relay_small_int_of(F v) {
  return (T)(int32_t)(v == v ? v : (F)0);
}

// Small floating formats are held as float, always exactly one of their values; in memory they are their bits.
// Rounding is to nearest, ties to even. Scalars and vectors alike.
template <class V>
RELAY_FUNCTION auto relay_float_of_bfloat16(V bits) {
  using I = typename relay_traits<V>::template like<uint32_t>;
  using F = typename relay_traits<V>::template like<float>;
  if constexpr (relay_traits<V>::lanes == 1) {
    return relay_bits<F>((I)bits << 16);
  } else {
    return relay_bits<F>(__builtin_convertvector(bits, I) << 16);
  }
}
template <class V>
RELAY_FUNCTION auto relay_bfloat16_of_float(V value) {
  using I = typename relay_traits<V>::template like<uint32_t>;
  using H = typename relay_traits<V>::template like<uint16_t>;
  const I bits = relay_bits<I>(value);
  const I quiet = ((bits >> 16) & 0x8000u) | 0x7fc0u;
  const I rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const I result = (bits & 0x7fffffffu) > (bits & 0u) + 0x7f800000u ? quiet : rounded;
  if constexpr (relay_traits<V>::lanes == 1) {
    return (H)result;
  } else {
    return __builtin_convertvector(result, H);
  }
}

template <class V>
RELAY_FUNCTION auto relay_float_of_float16(V half) {
  using I = typename relay_traits<V>::template like<uint32_t>;
  using F = typename relay_traits<V>::template like<float>;
#if defined(__F16C__) && !defined(__CUDACC__)
  if constexpr (relay_traits<V>::lanes % 8 == 0) {
    typedef int16_t h8 __attribute__((vector_size(16)));
    typedef float f8 __attribute__((vector_size(32)));
    F out;
    for (int i = 0; i < relay_traits<V>::lanes / 8; ++i) {
      h8 part;
      memcpy(&part, (const char*)&half + 16 * i, 16);
      const f8 wide = __builtin_ia32_vcvtph2ps256((decltype(__builtin_ia32_vcvtps2ph256(f8{}, 0)))part);
      memcpy((char*)&out + 32 * i, &wide, 32);
    }
    return out;
  }
#endif
  I h;
  if constexpr (relay_traits<V>::lanes == 1) {
    h = half;
  } else {
    h = __builtin_convertvector(half, I);
  }
  const I magnitude = (h & 0x7fffu) << 13, sign = (h & 0x8000u) << 16;
  // The exponent's bias differs by 112. A subnormal half becomes normal beside 2^-14, which is then
  // taken away, exactly: as bits of a float it would be denormal, and so taken for 0.
  const I normal = magnitude + 0x38000000u;
  const I subnormal = relay_bits<I>((F)(relay_bits<F>(magnitude + 0x38800000u) - 6.103515625e-05f));
  const I finite = magnitude >= (h & 0u) + 0x00800000u ? normal : subnormal;
  const I result = (magnitude >= (h & 0u) + 0x0f800000u ? (magnitude | 0x7f800000u) : finite) | sign;
  return relay_bits<F>(result);
}
template <class V>
RELAY_FUNCTION auto relay_float16_of_float(V value) {
  using I = typename relay_traits<V>::template like<uint32_t>;
  using F = typename relay_traits<V>::template like<float>;
  using H = typename relay_traits<V>::template like<uint16_t>;
#if defined(__F16C__) && !defined(__CUDACC__)
  if constexpr (relay_traits<V>::lanes % 8 == 0) {
    typedef float f8 __attribute__((vector_size(32)));
    H out;
    for (int i = 0; i < relay_traits<V>::lanes / 8; ++i) {
      f8 part;
      memcpy(&part, (const char*)&value + 32 * i, 32);
      const auto narrow = __builtin_ia32_vcvtps2ph256(part, 0);
      memcpy((char*)&out + 16 * i, &narrow, 16);
    }
    return out;
  }
#endif
  const I bits = relay_bits<I>(value);
  const I magnitude = bits & 0x7fffffffu, sign = (bits >> 16) & 0x8000u, none = bits & 0u;
  const I normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  // The unit of 0.5f is that of subnormal halves, so that the sum is rounded as they are.
  const I subnormal = relay_bits<I>((F)(relay_bits<F>(magnitude) + 0.5f)) - 0x3f000000u;
  const I finite = magnitude >= none + 0x38800000u ? normal : subnormal;
  const I large = magnitude > none + 0x7f800000u ? none + 0x7e00u : none + 0x7c00u;
  const I result = (magnitude >= none + 0x477ff000u ? large : finite) | sign;
  if constexpr (relay_traits<V>::lanes == 1) {
    return (H)result;
  } else {
    return __builtin_convertvector(result, H);
  }
}
template <class V>
RELAY_FUNCTION V relay_round_bfloat16(V value) {
  return relay_float_of_bfloat16(relay_bfloat16_of_float(value));
}
template <class V>
RELAY_FUNCTION V relay_round_float16(V value) {
  return relay_float_of_float16(relay_float16_of_float(value));
}

// A double as a float whose last bit is 1 unless it is exact ("rounding to odd"): rounding that to a format with two
// bits less or more gives what rounding the double would have given.
RELAY_FUNCTION float relay_odd_float_of(double value) {
  const float near = (float)value;
  if (value != value || (double)near == value) return near;
  uint32_t bits = relay_bits<uint32_t>(near);
  if ((value < 0 ? -value : value) < (near < 0 ? -(double)near : (double)near)) bits -= 1;
  return relay_bits<float>(bits | 1u);
}

// The same for an integer of 64 bits, as a double.
template <class T>
RELAY_FUNCTION double relay_odd_double_of(T value) {
  constexpr T limit = (T)1 << 53;
  if (value <= limit && ((T)-1 > (T)0 || value >= (T)0 - limit)) return (double)value;
  const T first = value & ~(T)2047;
  return (double)(first == value ? value : (T)(first | (T)2048));
}

// Formats of eight bits: exponent, mantissa, and whether there are infinities (else all ones is NaN, and too large
// is NaN).
template <int kExponent, int kMantissa, bool kInfinity>
RELAY_FUNCTION float relay_float_of_float8(uint8_t bits) {
  const int bias = (1 << (kExponent - 1)) - 1, top = (1 << kExponent) - 1, ones = (1 << kMantissa) - 1;
  const int exponent = (bits >> kMantissa) & top, mantissa = bits & ones;
  const uint32_t sign = (uint32_t)(bits >> 7) << 31;
  const bool nan = exponent == top && (kInfinity ? mantissa != 0 : mantissa == ones);
  uint32_t result;
  if (nan) {
    result = 0x7fc00000u;
  } else if (kInfinity && exponent == top) {
    result = 0x7f800000u;
  } else if (exponent == 0) {
    const float unit = relay_bits<float>((uint32_t)(127 + 1 - bias - kMantissa) << 23);
    result = relay_bits<uint32_t>((float)mantissa * unit);
  } else {
    result = (uint32_t)(exponent - bias + 127) << 23 | (uint32_t)mantissa << (23 - kMantissa);
  }
  return relay_bits<float>(result | sign);
}
template <int kExponent, int kMantissa, bool kInfinity>
RELAY_FUNCTION uint8_t relay_float8_of_float(float value) {
  const int bias = (1 << (kExponent - 1)) - 1, top = (1 << kExponent) - 1;
  const uint32_t bits = relay_bits<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const uint8_t sign = (uint8_t)(bits >> 24 & 0x80u);
  const int nan = kInfinity ? top << kMantissa | 1 << (kMantissa - 1) : 127;
  const int beyond = kInfinity ? top << kMantissa : nan;
  if (magnitude > 0x7f800000u) return (uint8_t)(sign | nan);
  int encoded;
  if (magnitude < (uint32_t)(128 - bias) << 23) {  // subnormal: round to a multiple of its unit
    const float half = relay_bits<float>((uint32_t)(127 + 24 - bias - kMantissa) << 23);
    encoded = (int)(relay_bits<uint32_t>(relay_bits<float>(magnitude) + half) - relay_bits<uint32_t>(half));
  } else {
    const int shift = 23 - kMantissa;
    const uint32_t rounded = magnitude + (1u << (shift - 1)) - 1u + (magnitude >> shift & 1u);
    encoded = (int)((rounded - ((uint32_t)(127 - bias) << 23)) >> shift);
  }
  const int largest = kInfinity ? (top << kMantissa) - 1 : 126;
  return (uint8_t)(sign | (encoded > largest || magnitude == 0x7f800000u ? beyond : encoded));
}
RELAY_FUNCTION float relay_float_of_float8_e4m3(uint8_t bits) { return relay_float_of_float8<4, 3, false>(bits); }
RELAY_FUNCTION float relay_float_of_float8_e5m2(uint8_t bits) { return relay_float_of_float8<5, 2, true>(bits); }
RELAY_FUNCTION uint8_t relay_float8_e4m3_of_float(float v) { return relay_float8_of_float<4, 3, false>(v); }
RELAY_FUNCTION uint8_t relay_float8_e5m2_of_float(float v) { return relay_float8_of_float<5, 2, true>(v); }
RELAY_FUNCTION float relay_round_float8_e4m3(float v) { return relay_float_of_float8_e4m3(relay_float8_e4m3_of_float(v)); }
RELAY_FUNCTION float relay_round_float8_e5m2(float v) { return relay_float_of_float8_e5m2(relay_float8_e5m2_of_float(v)); }
)prelude";

std::string prelude(const Dialect& dialect) {
  std::string out;
  for (const std::string_view* part : dialect.prelude) {
    if (part) out += *part;
  }
  return out;
}

}  // namespace relay::kernel::print
