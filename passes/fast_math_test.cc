// fast-math stays within the bound that it states.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analysis/testing.h"
#include "base/cat.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/gradient/testing.h"
#include "passes/pipeline.h"
#include "passes/rules/conditions.h"

namespace relay::passes {
namespace {

using analysis::testing::checked;
using gradient::testing::after;
using gradient::testing::run;

constexpr double kBound = 16;  // in units of the last place

int digits(DType d) { return d == kFloat16 ? 11 : d == kBFloat16 ? 8 : d == kFloat32 ? 24 : 53; }

// From one end of the dtype to the other, and what is between small numbers.
std::vector<double> inputs(DType d) {
  std::vector<double> out{0, INFINITY, NAN};
  const int least = rules::least_exponent(d);
  for (int exponent = -least; exponent <= least; exponent += 1 + least / 60) {
    for (const double m : {1.0, 1.37, 1.99}) out.push_back(std::ldexp(m, exponent));
  }
  for (int i = 1; i < 400; ++i) out.push_back(i * 0.27);
  const size_t positive = out.size();
  for (size_t i = 0; i < positive; ++i) out.push_back(-out[i]);
  return out;
}

TEST(FastMath, StaysWithinItsBound) {
  for (const DType d : {kFloat16, kBFloat16, kFloat32, kFloat64}) {
    const std::vector<double> values = inputs(d);
    const Tensor x = Tensor::of<double>(d, {static_cast<int64_t>(values.size())}, values);
    for (const char* body : {"exp(%x)", "tanh(%x)", "erf(%x)", "sigmoid(%x)", "divide(%x, sqrt(%y))",
                             "divide(ones_like(%x), sqrt(%x))"}) {
      const std::string type = cat("Tensor[(", values.size(), "), ", d.name(), "]");
      const Module m = checked(cat("def @main(%x: ", type, ", %y: ", type, ") { ", body, " }"));
      const Module fast = *after(m, "fast-math");
      const std::vector<Value> args{Value(x), Value(x)};
      const Tensor want = run(m, args).tensor(), got = run(fast, args).tensor();
      for (int64_t i = 0; i < want.size(); ++i) {
        const double a = want.get(i), b = got.get(i);
        if (std::isnan(a) || std::isinf(a) || a == 0) {
          EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << body << " of " << x.get(i);
          continue;
        }
        const double least = std::ldexp(1, -rules::least_exponent(d));
        const double unit = std::ldexp(std::max(std::fabs(a), least), 1 - digits(d));
        EXPECT_LE(std::fabs(a - b), std::fabs(a) < least ? least : kBound * unit)
            << body << " of " << x.get(i) << " as " << d.name();
      }
    }
  }
}

// No level has it, and a sigmoid stays where its exponential would be infinite too soon.
TEST(FastMath, IsAskedFor) {
  for (const int level : {0, 1, 2, 3}) {
    for (const Step& step : default_pipeline(level)) EXPECT_NE(step.pass, &kFastMath);
  }
  for (const char* type : {"float16", "float8_e4m3", "float8_e5m2"}) {
    const Module m = checked(cat("def @main(%x: ", type, ") { sigmoid(%x) }"));
    EXPECT_TRUE(op::callee(after(m, "fast-math")->function("main")->body) == &op::kSigmoid) << type;
  }
}

}  // namespace
}  // namespace relay::passes
