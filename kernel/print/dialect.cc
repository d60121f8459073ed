#include "kernel/print/dialect.h"

#include "kernel/print/prelude.h"

namespace relay::kernel::print {
namespace {

// In the order of `Math`.
constexpr std::array<MathNames, kMathFunctions> kHostMath = {{
    {"relay_exp", "relay_exp"},     {"relay_expm1", "relay_expm1"},       {"relay_log", "relay_log"},
    {"relay_log2", "relay_log2"},   {"relay_log10", "relay_log10"},       {"relay_log1p", "relay_log1p"},
    {"relay_sqrt", "relay_sqrt"},   {"relay_rsqrt", "relay_rsqrt"},       {"relay_sin", "relay_sin"},
    {"relay_cos", "relay_cos"},     {"relay_tan", "relay_tan"},           {"relay_asin", "relay_asin"},
    {"relay_acos", "relay_acos"},   {"relay_atan", "relay_atan"},         {"relay_sinh", "relay_sinh"},
    {"relay_cosh", "relay_cosh"},   {"relay_tanh", "relay_tanh"},         {"relay_asinh", "relay_asinh"},
    {"relay_acosh", "relay_acosh"}, {"relay_atanh", "relay_atanh"},       {"relay_erf", "relay_erf"},
    {"relay_floor", "relay_floor"}, {"relay_ceil", "relay_ceil"},         {"relay_trunc", "relay_trunc"},
    {"relay_round", "relay_round"}, {"relay_abs", "relay_abs"},           {"relay_pow", "relay_pow"},
    {"relay_fmod", "relay_fmod"},   {"relay_atan2", "relay_atan2"},       {"relay_isnan", "relay_isnan"},
    {"relay_isinf", "relay_isinf"}, {"relay_isfinite", "relay_isfinite"},
}};

// Of the global namespace: a buffer may be called `sin`.
constexpr std::array<MathNames, kMathFunctions> kDeviceMath = {{
    {"::expf", "::exp"},     {"::expm1f", "::expm1"}, {"::logf", "::log"},     {"::log2f", "::log2"},
    {"::log10f", "::log10"}, {"::log1pf", "::log1p"}, {"::sqrtf", "::sqrt"},   {"::rsqrtf", "::rsqrt"},
    {"::sinf", "::sin"},     {"::cosf", "::cos"},     {"::tanf", "::tan"},     {"::asinf", "::asin"},
    {"::acosf", "::acos"},   {"::atanf", "::atan"},   {"::sinhf", "::sinh"},   {"::coshf", "::cosh"},
    {"::tanhf", "::tanh"},   {"::asinhf", "::asinh"}, {"::acoshf", "::acosh"}, {"::atanhf", "::atanh"},
    {"::erff", "::erf"},     {"::floorf", "::floor"}, {"::ceilf", "::ceil"},   {"::truncf", "::trunc"},
    {"::rintf", "::rint"},   {"::fabsf", "::fabs"},   {"::powf", "::pow"},     {"::fmodf", "::fmod"},
    {"::atan2f", "::atan2"}, {"::isnan", "::isnan"},  {"::isinf", "::isinf"},  {"::isfinite", "::isfinite"},
}};

}  // namespace

constinit const Dialect kCppDialect = {
    .name = "C++",
    .prelude = {&kPreludeHost, &kPreludeArithmetic, &kPreludeConversions, &kPreludeVectors, &kPreludeMath,
                &kPreludeFunctions, &kPreludeInstructions},
    .function = "",
    .result = "int32_t",
    .restricted = "__restrict ",
    .noinline = "RELAY_NOINLINE ",
    .shared = "",
    .copy = "",
    .shuffle = "",
    .unroll = "RELAY_UNROLL",
    .rolled = "RELAY_ROLLED",
    .independent = "RELAY_INDEPENDENT",
    .prefetch = "RELAY_PREFETCH",
    .barrier = "",
    .grid_index = {},
    .parallel = true,
    .vectors = true,
    .instructions = true,
    .infinity = "__builtin_inff()",
    .nan = "__builtin_nanf(\"\")",
    .math = kHostMath,
};

constinit const Dialect kCudaDialect = {
    .name = "CUDA",
    .prelude = {&kPreludeCuda, &kPreludeArithmetic, &kPreludeConversions},
    .function = "extern \"C\" __global__ ",
    .result = "void",
    .restricted = "__restrict__ ",
    .noinline = "",
    .shared = "RELAY_SHARED",
    .copy = "relay_copy",
    .shuffle = "relay_shuffle_down",
    .unroll = "#pragma unroll",
    .rolled = "",
    .independent = "",
    .prefetch = "",
    .barrier = "__syncthreads();",
    .grid_index = {"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z"},
    .parallel = false,
    .vectors = false,
    .instructions = false,
    .infinity = "__int_as_float(0x7f800000)",
    .nan = "__int_as_float(0x7fffffff)",
    .math = kDeviceMath,
};

std::string_view memory_type(DType d) {
  switch (d.code) {
    case DTypeCode::kBool: return "uint8_t";
    case DTypeCode::kInt:
      return d.bits <= 8 ? "int8_t" : d.bits == 16 ? "int16_t" : d.bits == 32 ? "int32_t" : "int64_t";
    case DTypeCode::kUInt:
      return d.bits <= 8 ? "uint8_t" : d.bits == 16 ? "uint16_t" : d.bits == 32 ? "uint32_t" : "uint64_t";
    case DTypeCode::kFloat: return d.bits == 16 ? "uint16_t" : d.bits == 32 ? "float" : "double";
    case DTypeCode::kBFloat: return "uint16_t";
    case DTypeCode::kFloat8E4M3:
    case DTypeCode::kFloat8E5M2: return "uint8_t";
  }
  return "void";
}

std::string_view value_type(DType d) {
  if (d.is_bool()) return "bool";
  if (d.is_float()) return d.bits == 64 ? "double" : "float";
  return memory_type(d);
}

}  // namespace relay::kernel::print
