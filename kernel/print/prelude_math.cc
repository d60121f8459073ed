// The prelude's vectors and functions. Polynomials (functions.inc) were fitted (weighted minimax)
// in float64; their errors are measured in kernel/native/prelude_test.cc.
#include "kernel/print/functions_text.inc"
#include "kernel/print/prelude.h"

namespace relay::kernel::print {

const std::string_view kPreludeVectors = R"prelude(
// Vectors of the compiler: relay_vec<float, 16> holds 16 floats, in a register where the machine has it.
template <class T, int N>
struct relay_vec_of {
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
template <class T, int N>
using relay_vec = typename relay_vec_of<T, N>::type;

template <class V>
struct relay_traits<V, false> {
  using element = std::remove_cv_t<std::remove_reference_t<decltype(V{}[0])>>;
  static constexpr int lanes = (int)(sizeof(V) / sizeof(element));
  template <class U>
  using like = relay_vec<U, lanes>;
  using wide = like<typename std::conditional_t<std::is_integral_v<element>, std::make_unsigned<element>, std::make_unsigned<int64_t>>::type>;
};

template <int N, class T>
RELAY_FUNCTION relay_vec<T, N> relay_load(const T* p) {
  relay_vec<T, N> v;
  memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
RELAY_FUNCTION void relay_store(T* p, V v) {
  static_assert(sizeof v == sizeof(T) * relay_traits<V>::lanes, "a vector is stored where its elements fit");
  memcpy(p, &v, sizeof v);
}
template <int N, class T>
RELAY_FUNCTION relay_vec<T, N> relay_splat(T s) {
  return s - relay_vec<T, N>{};  // not +, which would lose the sign of -0
}
// start, start + 1, ...
template <int N, class T>
RELAY_FUNCTION relay_vec<T, N> relay_iota(T start) {
  relay_vec<T, N> v;
  for (int i = 0; i < N; ++i) v[i] = start + i;
  return v;
}
template <class T, class V>
RELAY_FUNCTION auto relay_convert(V v) {
  return __builtin_convertvector(v, typename relay_traits<V>::template like<T>);
}
// f of each lane.
template <class To, class V, class F>
RELAY_FUNCTION auto relay_each(V v, F f) {
  typename relay_traits<V>::template like<To> r;
  for (int i = 0; i < relay_traits<V>::lanes; ++i) r[i] = f(v[i]);
  return r;
}
template <class T, int bits = 8 * (int)sizeof(T), class V>
RELAY_FUNCTION auto relay_int_of_each(V v) {
  return relay_each<T>(v, [](auto lane) { return relay_int_of<T, bits>(lane); });
}
template <class T, class V>
RELAY_FUNCTION auto relay_small_int_of_each(V v) {
  return relay_convert<T>(relay_convert<int32_t>(v == v ? v : V{}));
}
)prelude";

const std::string_view kPreludeMath = R"prelude(
// The C library's functions. Of <cmath> compilers read twenty thousand lines, which takes longer than most kernels.
#define RELAY_OF_C(NAME)                                                                            \
  RELAY_FUNCTION float relay_c_##NAME(float x) { return __builtin_##NAME##f(x); }                   \
  RELAY_FUNCTION double relay_c_##NAME(double x) { return __builtin_##NAME(x); }
#define RELAY_OF_C_2(NAME)                                                                          \
  RELAY_FUNCTION float relay_c_##NAME(float x, float y) { return __builtin_##NAME##f(x, y); }       \
  RELAY_FUNCTION double relay_c_##NAME(double x, double y) { return __builtin_##NAME(x, y); }

// Functions of float, double and vectors of them. Those of float32 that are written out below are within 4 units in
// the last place and treat a scalar exactly like a lane of a vector.
#define RELAY_BY_LANES(NAME, FUNCTION)                                                              \
  RELAY_OF_C(FUNCTION)                                                                              \
  template <class V>                                                                                \
  RELAY_FUNCTION V NAME(V x) {                                                                      \
    if constexpr (relay_traits<V>::lanes == 1) {                                                    \
      return relay_c_##FUNCTION(x);                                                                 \
    } else {                                                                                        \
      V r;                                                                                          \
      for (int i = 0; i < relay_traits<V>::lanes; ++i) r[i] = relay_c_##FUNCTION(x[i]);             \
      return r;                                                                                     \
    }                                                                                               \
  }
#define RELAY_BY_LANES_2(NAME, FUNCTION)                                                            \
  RELAY_OF_C_2(FUNCTION)                                                                            \
  template <class V>                                                                                \
  RELAY_FUNCTION V NAME(V x, V y) {                                                                 \
    if constexpr (relay_traits<V>::lanes == 1) {                                                    \
      return relay_c_##FUNCTION(x, y);                                                              \
    } else {                                                                                        \
      V r;                                                                                          \
      for (int i = 0; i < relay_traits<V>::lanes; ++i) r[i] = relay_c_##FUNCTION(x[i], y[i]);       \
      return r;                                                                                     \
    }                                                                                               \
  }
RELAY_BY_LANES(relay_exp_exact, exp)
RELAY_BY_LANES(relay_log_exact, log)
RELAY_BY_LANES(relay_tanh_exact, tanh)
RELAY_BY_LANES(relay_erf_exact, erf)
RELAY_BY_LANES(relay_expm1, expm1)
RELAY_BY_LANES(relay_log2, log2)
RELAY_BY_LANES(relay_log10, log10)
RELAY_BY_LANES(relay_log1p, log1p)
RELAY_BY_LANES(relay_sqrt, sqrt)
RELAY_BY_LANES(relay_sin, sin)
RELAY_BY_LANES(relay_cos, cos)
RELAY_BY_LANES(relay_tan, tan)
RELAY_BY_LANES(relay_asin, asin)
RELAY_BY_LANES(relay_acos, acos)
RELAY_BY_LANES(relay_atan, atan)
RELAY_BY_LANES(relay_sinh, sinh)
RELAY_BY_LANES(relay_cosh, cosh)
RELAY_BY_LANES(relay_asinh, asinh)
RELAY_BY_LANES(relay_acosh, acosh)
RELAY_BY_LANES(relay_atanh, atanh)
RELAY_BY_LANES(relay_floor, floor)
RELAY_BY_LANES(relay_ceil, ceil)
RELAY_BY_LANES(relay_trunc, trunc)
RELAY_BY_LANES(relay_round, rint)
RELAY_BY_LANES(relay_abs, fabs)
RELAY_BY_LANES_2(relay_pow, pow)
RELAY_BY_LANES_2(relay_fmod, fmod)
RELAY_BY_LANES_2(relay_atan2, atan2)
RELAY_OF_C_2(copysign)

template <class V>
RELAY_FUNCTION V relay_rsqrt(V x) {
  return 1 / relay_sqrt(x);
}
// e 2^n, rounded once; n is a whole number, and `shifted` is n + 12583166.
template <class V>
RELAY_FUNCTION V relay_scaled_in_steps(V e, V shifted);
template <class V>
RELAY_FUNCTION V relay_scaled(V e, V n, V shifted) {
#if defined(__AVX512F__) && !defined(__CUDACC__)
  if constexpr (relay_traits<V>::lanes == 16) return __builtin_ia32_scalefps512_mask(e, n, e, 0xffff, 4);
#endif
  (void)n;
  return relay_scaled_in_steps(e, shifted);
}
// bool, or a mask.
template <class V>
RELAY_FUNCTION auto relay_isnan(V x) {
  return x != x;
}
template <class V>
RELAY_FUNCTION auto relay_isinf(V x) {
  return relay_abs(x) == (typename relay_traits<V>::element)__builtin_inff();
}
template <class V>
RELAY_FUNCTION auto relay_isfinite(V x) {
  return relay_abs(x) < (typename relay_traits<V>::element)__builtin_inff();
}

// A choice for each lane; both sides are computed.
template <class M, class V>
RELAY_FUNCTION V relay_choose(M condition, V a, V b) {
  return condition ? a : b;
}
template <class V>
RELAY_FUNCTION V relay_copysign(V magnitude, V sign) {
  if constexpr (relay_traits<V>::lanes == 1) {
    // Not by bits: where the result is stored as bfloat16, clang 19 vectorises that wrongly for AVX-512.
    return relay_c_copysign(magnitude, sign);
  } else {
    using I = typename relay_traits<V>::template like<uint32_t>;
    return relay_bits<V>((I)((relay_bits<I>(magnitude) & 0x7fffffffu) | (relay_bits<I>(sign) & 0x80000000u)));
  }
}
)prelude";

const std::string_view kPreludeFunctions = kFunctions;

}  // namespace relay::kernel::print
