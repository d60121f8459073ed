// The prelude's conversions on every bit pattern, and its functions against the C
// library in double.
#include "kernel/print/prelude.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/cat.h"
#include "base/file.h"
#include "runtime/dtype.h"
#include "toolchain/compiler.h"
#include "toolchain/library.h"

namespace relay::kernel::native {
namespace {

// Exported loops over the helpers, scalar and in vectors of 4 and 16.
constexpr std::string_view kExports = R"(
#define EXPORT extern "C" __attribute__((visibility("default")))
#define LOOPS(NAME, FROM, TO, SCALAR, VECTOR)                                                         \
  EXPORT void NAME(const FROM* a, TO* b, int64_t n) { for (int64_t i = 0; i < n; ++i) b[i] = SCALAR(a[i]); } \
  EXPORT void NAME##_4(const FROM* a, TO* b, int64_t n) { for (int64_t i = 0; i + 4 <= n; i += 4) relay_store(b + i, VECTOR(relay_load<4>(a + i))); } \
  EXPORT void NAME##_16(const FROM* a, TO* b, int64_t n) { for (int64_t i = 0; i + 16 <= n; i += 16) relay_store(b + i, VECTOR(relay_load<16>(a + i))); }
LOOPS(from_float16, uint16_t, float, relay_float_of_float16, relay_float_of_float16)
LOOPS(from_bfloat16, uint16_t, float, relay_float_of_bfloat16, relay_float_of_bfloat16)
LOOPS(to_float16, float, uint16_t, relay_float16_of_float, relay_float16_of_float)
LOOPS(to_bfloat16, float, uint16_t, relay_bfloat16_of_float, relay_bfloat16_of_float)
LOOPS(each_exp, float, float, relay_exp, relay_exp)
LOOPS(each_log, float, float, relay_log, relay_log)
LOOPS(each_tanh, float, float, relay_tanh, relay_tanh)
LOOPS(each_erf, float, float, relay_erf, relay_erf)
LOOPS(to_int8, float, int8_t, relay_int_of<int8_t>, relay_int_of_each<int8_t>)
#define EACH(NAME, FROM, TO, SCALAR) \
  EXPORT void NAME(const FROM* a, TO* b, int64_t n) { for (int64_t i = 0; i < n; ++i) b[i] = SCALAR(a[i]); }
EACH(from_float8_e4m3, uint8_t, float, relay_float_of_float8_e4m3)
EACH(from_float8_e5m2, uint8_t, float, relay_float_of_float8_e5m2)
EACH(to_float8_e4m3, float, uint8_t, relay_float8_e4m3_of_float)
EACH(to_float8_e5m2, float, uint8_t, relay_float8_e5m2_of_float)
#define DOUBLE_TO_HALF(x) relay_float16_of_float(relay_odd_float_of(x))
#define DOUBLE_TO_BFLOAT(x) relay_bfloat16_of_float(relay_odd_float_of(x))
EACH(double_to_float16, double, uint16_t, DOUBLE_TO_HALF)
EACH(double_to_bfloat16, double, uint16_t, DOUBLE_TO_BFLOAT)
)";

class Prelude : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    options_.target = target::target_of(GetParam());
    options_.opt_level = 1;  // contraction may differ between scalars and vectors
    ASSERT_EQ(folder_.make(), "");
    const std::string path = folder_.path() + "/prelude.so";
    ASSERT_EQ(toolchain::build_library({{"prelude.cc", print::prelude() + std::string(kExports)}}, options_,
                                       folder_.path(), path),
              "");
    ASSERT_EQ(library_.open(path), "");
  }
  template <class From, class To>
  std::vector<To> run(const std::string& name, const std::vector<From>& a) {
    auto* f = reinterpret_cast<void (*)(const From*, To*, int64_t)>(library_.find(name));
    EXPECT_NE(f, nullptr) << name;
    std::vector<To> b(a.size());
    if (f) f(a.data(), b.data(), static_cast<int64_t>(a.size()));
    return b;
  }

  toolchain::CompileOptions options_;
  TemporaryFolder folder_;
  toolchain::Library library_;
};

const std::string kWidths[] = {"", "_4", "_16"};

bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}
bool is_nan(DType d, uint16_t bits) { return std::isnan(float_of_bits(d, bits)); }

TEST_P(Prelude, EverySixteenBitPatternBecomesItsNumber) {
  std::vector<uint16_t> patterns(65536);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
  for (const auto& [name, d] : {std::pair("float16", kFloat16), std::pair("bfloat16", kBFloat16)}) {
    for (const std::string& width : kWidths) {
      const auto got = run<uint16_t, float>(cat("from_", name, width), patterns);
      int wrong = 0;
      for (uint16_t p : patterns) wrong += !same(got[p], float_of_bits(d, p));
      EXPECT_EQ(wrong, 0) << name << width;
    }
  }
}

// Around every number that the small formats have, and around the middle between it and the next.
std::vector<float> floats_around_everything() {
  std::vector<float> out;
  for (uint32_t high = 0; high < 65536; ++high) {
    for (uint32_t low : {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x7fffu, 0x8000u,
                         0x8001u, 0xefffu, 0xf000u, 0xf001u, 0xffffu}) {
      out.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  return out;
}

TEST_P(Prelude, FloatsAreRoundedToTheNearestSmallOne) {
  const std::vector<float> a = floats_around_everything();
  for (const auto& [name, d] : {std::pair("float16", kFloat16), std::pair("bfloat16", kBFloat16)}) {
    for (const std::string& width : kWidths) {
      const auto got = run<float, uint16_t>(cat("to_", name, width), a);
      int wrong = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        const uint16_t want = bits_of_float(d, a[i]);
        wrong += got[i] != want && !(is_nan(d, got[i]) && is_nan(d, want));
      }
      EXPECT_EQ(wrong, 0) << name << width;
    }
  }
  for (const auto& [name, d] :
       {std::pair("float8_e4m3", kFloat8E4M3), std::pair("float8_e5m2", kFloat8E5M2)}) {
    const auto got = run<float, uint8_t>(cat("to_", name), a);
    int wrong = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const uint16_t want = bits_of_float(d, a[i]);
      wrong += got[i] != want && !(is_nan(d, got[i]) && is_nan(d, want));
    }
    EXPECT_EQ(wrong, 0) << name;
    std::vector<uint8_t> patterns(256);
    for (size_t i = 0; i < 256; ++i) patterns[i] = static_cast<uint8_t>(i);
    const auto back = run<uint8_t, float>(cat("from_", name), patterns);
    for (uint8_t p : patterns) EXPECT_TRUE(same(back[p], float_of_bits(d, p))) << name << " " << int{p};
  }
}

TEST_P(Prelude, DoublesAreRoundedOnce) {
  std::vector<double> a;
  for (uint32_t p = 0; p < 65536; p += 3) {
    for (DType d : {kFloat16, kBFloat16}) {
      const double v = float_of_bits(d, static_cast<uint16_t>(p)),
                   next = float_of_bits(d, static_cast<uint16_t>(p + 1));
      const double middle = (v + next) / 2;
      for (double x : {v, middle, std::nextafter(middle, -INFINITY), std::nextafter(middle, INFINITY)})
        a.push_back(x);
    }
  }
  for (const auto& [name, d] : {std::pair("float16", kFloat16), std::pair("bfloat16", kBFloat16)}) {
    const auto got = run<double, uint16_t>(cat("double_to_", name), a);
    int wrong = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const uint16_t want = bits_of_double(d, a[i]);
      wrong += got[i] != want && !(is_nan(d, got[i]) && is_nan(d, want));
    }
    EXPECT_EQ(wrong, 0) << name;
  }
}

TEST_P(Prelude, FunctionsAreWithinTwoUnitsAndTheSameInVectors) {
  std::vector<float> a;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4093)
    a.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  while (a.size() % 16) a.push_back(0);
  const std::pair<const char*, double (*)(double)> functions[] = {
      {"each_exp", std::exp}, {"each_log", std::log}, {"each_tanh", std::tanh}, {"each_erf", std::erf}};
  for (const auto& [name, exact] : functions) {
    const auto got = run<float, float>(name, a);
    double worst = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double want = exact(static_cast<double>(a[i]));
      const auto nearest = static_cast<float>(want);
      ASSERT_EQ(std::isnan(got[i]), std::isnan(nearest)) << name << "(" << a[i] << ") = " << got[i];
      if (std::isnan(nearest)) continue;
      if (std::isinf(nearest) || std::isinf(got[i])) {
        ASSERT_EQ(got[i], nearest) << name << "(" << a[i] << ")";
        continue;
      }
      const double unit =
          std::max(std::ldexp(1.0, std::ilogb(nearest == 0 ? 1e-45f : nearest) - 23), 0x1p-149);
      worst = std::max(worst, std::fabs(got[i] - want) / unit);
    }
    EXPECT_LT(worst, 2) << name;
    for (const char* width : {"_4", "_16"}) {
      const auto lanes = run<float, float>(cat(name, width), a);
      int differ = 0;
      for (size_t i = 0; i < a.size(); ++i) differ += !same(got[i], lanes[i]);
      EXPECT_EQ(differ, 0) << name << width;
    }
  }
}

TEST_P(Prelude, FloatsBecomeTheNearestIntegersTowardsZero) {
  const std::vector<float> a{0.0f, -0.5f,    1.9f,      -1.9f, 127.0f, 128.0f,        300.0f,        -129.0f,
                             NAN,  INFINITY, -INFINITY, 1e30f, -1e30f, 2147483648.0f, 4294967297.0f, -128.9f};
  const std::vector<int8_t> want{0, 0, 1, -1, 127, 127, 127, -128, 0, 127, -128, 127, -128, 127, 127, -128};
  EXPECT_EQ((run<float, int8_t>("to_int8", a)), want);
  EXPECT_EQ((run<float, int8_t>("to_int8_16", a)), want);
}

INSTANTIATE_TEST_SUITE_P(Targets, Prelude, ::testing::Values(target::baseline(target::kHere).text, "native"));

}  // namespace
}  // namespace relay::kernel::native
