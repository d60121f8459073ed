// The prelude's vectors and functions. Polynomials were fitted (weighted minimax) in float64; their errors are
// measured in kernel/native/prelude_test.cc.
#include "kernel/print/prelude.h"

namespace relay::kernel {

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
template <class T, class V>
RELAY_FUNCTION auto relay_int_of_each(V v) {
  return relay_each<T>(v, [](auto lane) { return relay_int_of<T>(lane); });
}
template <class T, class V>
RELAY_FUNCTION auto relay_small_int_of_each(V v) {
  return relay_convert<T>(relay_convert<int32_t>(v == v ? v : V{}));
}
)prelude";

const std::string_view kPreludeMath = R"prelude(
// Functions of float, double and vectors of them. Those of float32 that are written out here are within 4 units in
// the last place and treat a scalar exactly like a lane of a vector.
#define RELAY_BY_LANES(NAME, FUNCTION)                                 \
  template <class V>                                                   \
  RELAY_FUNCTION V NAME(V x) {                                         \
    if constexpr (relay_traits<V>::lanes == 1) {                       \
      return FUNCTION(x);                                              \
    } else {                                                           \
      V r;                                                             \
      for (int i = 0; i < relay_traits<V>::lanes; ++i) r[i] = FUNCTION(x[i]); \
      return r;                                                        \
    }                                                                  \
  }
#define RELAY_BY_LANES_2(NAME, FUNCTION)                               \
  template <class V>                                                   \
  RELAY_FUNCTION V NAME(V x, V y) {                                    \
    if constexpr (relay_traits<V>::lanes == 1) {                       \
      return FUNCTION(x, y);                                           \
    } else {                                                           \
      V r;                                                             \
      for (int i = 0; i < relay_traits<V>::lanes; ++i) r[i] = FUNCTION(x[i], y[i]); \
      return r;                                                        \
    }                                                                  \
  }
RELAY_BY_LANES(relay_exp_exact, std::exp)
RELAY_BY_LANES(relay_log_exact, std::log)
RELAY_BY_LANES(relay_tanh_exact, std::tanh)
RELAY_BY_LANES(relay_erf_exact, std::erf)
RELAY_BY_LANES(relay_expm1, std::expm1)
RELAY_BY_LANES(relay_log2, std::log2)
RELAY_BY_LANES(relay_log10, std::log10)
RELAY_BY_LANES(relay_log1p, std::log1p)
RELAY_BY_LANES(relay_sqrt, std::sqrt)
RELAY_BY_LANES(relay_sin, std::sin)
RELAY_BY_LANES(relay_cos, std::cos)
RELAY_BY_LANES(relay_tan, std::tan)
RELAY_BY_LANES(relay_asin, std::asin)
RELAY_BY_LANES(relay_acos, std::acos)
RELAY_BY_LANES(relay_atan, std::atan)
RELAY_BY_LANES(relay_sinh, std::sinh)
RELAY_BY_LANES(relay_cosh, std::cosh)
RELAY_BY_LANES(relay_asinh, std::asinh)
RELAY_BY_LANES(relay_acosh, std::acosh)
RELAY_BY_LANES(relay_atanh, std::atanh)
RELAY_BY_LANES(relay_floor, std::floor)
RELAY_BY_LANES(relay_ceil, std::ceil)
RELAY_BY_LANES(relay_trunc, std::trunc)
RELAY_BY_LANES(relay_round, std::rint)
RELAY_BY_LANES(relay_abs, std::fabs)
RELAY_BY_LANES_2(relay_pow, std::pow)
RELAY_BY_LANES_2(relay_fmod, std::fmod)
RELAY_BY_LANES_2(relay_atan2, std::atan2)

template <class V>
RELAY_FUNCTION V relay_rsqrt(V x) {
  return 1 / relay_sqrt(x);
}
// bool, or a mask.
template <class V>
RELAY_FUNCTION auto relay_isnan(V x) {
  return x != x;
}
template <class V>
RELAY_FUNCTION auto relay_isinf(V x) {
  return relay_abs(x) == (typename relay_traits<V>::element)INFINITY;
}
template <class V>
RELAY_FUNCTION auto relay_isfinite(V x) {
  return relay_abs(x) < (typename relay_traits<V>::element)INFINITY;
}

// e^x = 2^n e^r with n = round(x / ln 2) and |r| <= ln(2) / 2; ln 2 in two parts, of which the first has zeros to
// spare, so that n times it is exact.
template <class V>
RELAY_FUNCTION V relay_exp(V x) {
  if constexpr (!std::is_same_v<typename relay_traits<V>::element, float>) {
    return relay_exp_exact(x);
  } else {
    using I = typename relay_traits<V>::template like<uint32_t>;
    const V y = x < -104.0f ? V{} - 104.0f : x;  // e^-104 is 0 and e^89 is infinite; NaN stays NaN
    const V z = y > 89.0f ? V{} + 89.0f : y;
    // Adding 1.5 * 2^23 rounds to an integer, in the low bits; 254 more, so that they hold the biases of two exponents.
    const V shifted = z * 1.44269504f + 12583166.0f;
    const V n = shifted - 12583166.0f;
    const V r = (z - n * 0.693145751953125f) - n * 1.428606765330187e-06f;
    const V p = ((((0.00019917874f * r + 0.0013946117f) * r + 0.008333266f) * r + 0.04166627f) * r + 0.16666667f) * r + 0.5f;
    const V e = p * r * r + r + 1.0f;
    const I whole = relay_bits<I>(shifted), half = whole >> 1;
    // In two steps, because 2^n alone may be infinite or subnormal where e^x is not. What is above the low bits is
    // shifted out.
    return e * relay_bits<V>((I)(half << 23)) * relay_bits<V>((I)((whole - half) << 23));
  }
}

// ln x = k ln 2 + ln(1 + f) with x = 2^k (1 + f) and 1 + f in [sqrt(1/2), sqrt(2)].
template <class V>
RELAY_FUNCTION V relay_log(V x) {
  if constexpr (!std::is_same_v<typename relay_traits<V>::element, float>) {
    return relay_log_exact(x);
  } else {
    using I = typename relay_traits<V>::template like<uint32_t>;
    const auto tiny = x < 1.17549435e-38f;
    const V y = tiny ? x * 8388608.0f : x;
    const V bias = tiny ? V{} + 150.0f : V{} + 127.0f;
    const I bits = relay_bits<I>(y);
    const I power = (bits + 0x004afb0du) >> 23;  // the exponent's field, one more from sqrt(2) on
    const V f = relay_bits<V>((I)(bits - ((power - 127u) << 23))) - 1.0f;
    // The field is below 2^9: as the low bits of 2^23 it is a float by one subtraction.
    const V k = relay_bits<V>((I)((power & 0x1ffu) | 0x4b000000u)) - 8388608.0f - bias;
    const V p = (((((((0.067466013f * f - 0.11675641f) * f + 0.11888175f) * f - 0.12405592f) * f + 0.14219551f) * f - 0.16667996f) * f + 0.20002119f) * f - 0.25000009f) * f + 0.33333313f;
    const V square = f * f;
    const V result = k * 0.693145751953125f + (f + (k * 1.428606765330187e-06f + (square * f * p - 0.5f * square)));
    const V finite = x > 0.0f ? result : (x < 0.0f ? V{} + (float)NAN : V{} - (float)INFINITY);
    return x < (float)INFINITY ? finite : x;
  }
}

template <class V>
RELAY_FUNCTION V relay_copysign(V magnitude, V sign) {
  if constexpr (relay_traits<V>::lanes == 1) {
    // Not by bits: where the result is stored as bfloat16, clang 19 vectorises that wrongly for AVX-512.
    return std::copysign(magnitude, sign);
  } else {
    using I = typename relay_traits<V>::template like<uint32_t>;
    return relay_bits<V>((I)((relay_bits<I>(magnitude) & 0x7fffffffu) | (relay_bits<I>(sign) & 0x80000000u)));
  }
}

template <class V>
RELAY_FUNCTION V relay_tanh(V x) {
  if constexpr (!std::is_same_v<typename relay_traits<V>::element, float>) {
    return relay_tanh_exact(x);
  } else {
    const V z = x * x;
    const V p = (((-0.0055286246f * z + 0.020483306f) * z - 0.053692963f) * z + 0.13330899f) * z - 0.33333263f;
    const V small = x * z * p + x;
    const V a = relay_abs(x);
    const V large = relay_copysign((V)(1.0f - 2.0f / (relay_exp((V)(a + a)) + 1.0f)), x);
    return a < 0.625f ? small : x != x ? x : large;
  }
}

template <class V>
RELAY_FUNCTION V relay_erf(V x) {
  if constexpr (!std::is_same_v<typename relay_traits<V>::element, float>) {
    return relay_erf_exact(x);
  } else {
    const V z = x * x;
    const V q = (((((7.889119e-05f * z - 0.0008020841f) * z + 0.005189535f) * z - 0.026854444f) * z + 0.112836f) * z - 0.37612626f) * z + 0.12837917f;
    const V small = x * q + x;
    const V a = relay_abs(x);
    const V t = a > 4.0f ? V{} + 4.0f : a;
    // ln(1 - erf t), which is smooth where erf is flat.
    const V l = ((((((-2.1445601e-05f * t + 0.00043853032f) * t - 0.0041908575f) * t + 0.025171813f) * t - 0.10836156f) * t - 0.63327241f) * t - 1.129552f) * t + 0.00018246063f;
    const V large = relay_copysign((V)(1.0f - relay_exp(l)), x);
    return a < 1.0f ? small : x != x ? x : large;
  }
}
)prelude";

}  // namespace relay::kernel
