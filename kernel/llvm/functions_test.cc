// The formulas of kernel/codegen/functions.inc as LLVM compiles them: how exact they are, and that
// a lane of a vector is computed as a single value is.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/cat.h"
#include "kernel/builder.h"
#include "kernel/llvm/compile.h"
#include "kernel/statements.h"

namespace relay::kernel::llvm {
namespace {

using Values = ::relay::Tensor;

constexpr int64_t kLanes = 16;

struct Function {
  Math fn;
  double (*exact)(double);
};
const Function kFunctions[] = {
    {Math::kExp, std::exp}, {Math::kLog, std::log}, {Math::kTanh, std::tanh}, {Math::kErf, std::erf}};

class Functions : public ::testing::TestWithParam<std::string> {
 protected:
  // y[n, 16] = fn(x[n, 16])
  Kernel kernel(Math fn, ForKind how) {
    Builder k(pool_);
    const Expr n = pool_.shape_variable("n");
    const Tensor x = k.input("x", kFloat32, {n, k.index(kLanes)});
    const Tensor y =
        k.compute("y", kFloat32, {n, k.index(kLanes)}, [&](Indices i) { return math(fn, x.at(i)); });
    Kernel made = k.finish("each", "", {y});
    made.body = rewrite(arena_, made.body, [&](Stmt s) -> Stmt {
      const auto* l = s->as<For>();
      return l && l->var->name == "i1" ? make_for(arena_, l->var, l->extent, how, l->body) : s;
    });
    return made;
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
};

Values floats_of_every_size() {
  std::vector<float> a;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4093)
    a.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  a.resize(a.size() / kLanes * kLanes);
  Values t(kFloat32, {static_cast<int64_t>(a.size()) / kLanes, kLanes});
  std::copy(a.begin(), a.end(), t.as<float>().begin());
  return t;
}

// In units in the last place of the result; infinity where one is not a number, or infinite, and
// the other is not.
double distance(float got, double want) {
  const auto nearest = static_cast<float>(want);
  if (std::isnan(got) || std::isnan(nearest)) return std::isnan(got) == std::isnan(nearest) ? 0 : INFINITY;
  if (std::isinf(got) || std::isinf(nearest)) return got == nearest ? 0 : INFINITY;
  const double unit = std::max(std::ldexp(1.0, std::ilogb(nearest == 0 ? 1e-45f : nearest) - 23), 0x1p-149);
  return std::fabs(static_cast<double>(got) - want) / unit;
}

TEST_P(Functions, AreWithinTwoUnitsAndTheSameInVectors) {
  toolchain::CompileOptions options;
  options.target = target::target_of(GetParam());
  options.opt_level = 1;  // contraction may differ between single values and vectors
  std::vector<Kernel> kernels;
  for (const Function& f : kFunctions) {
    kernels.push_back(kernel(f.fn, ForKind::kSerial));
    kernels.push_back(kernel(f.fn, ForKind::kVectorized));
  }
  std::vector<const Kernel*> list;
  for (const Kernel& k : kernels) list.push_back(&k);
  native::CompiledKernels compiled;
  ASSERT_EQ(compile(list, options, compiled), "");
  const native::Threads threads(1);
  const Values x = floats_of_every_size();
  for (size_t f = 0; f < std::size(kFunctions); ++f) {
    const std::vector inputs{x};
    const auto single = compiled.run(2 * f, kernels[2 * f], inputs, threads.parallel());
    const auto vector = compiled.run(2 * f + 1, kernels[2 * f + 1], inputs, threads.parallel());
    double worst = 0;
    int differ = 0;
    for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
      const float a = single[0].as<float>()[i], b = vector[0].as<float>()[i];
      worst = std::max(worst, distance(a, kFunctions[f].exact(static_cast<double>(x.as<float>()[i]))));
      differ += std::bit_cast<uint32_t>(a) != std::bit_cast<uint32_t>(b) && !(std::isnan(a) && std::isnan(b));
    }
    EXPECT_LT(worst, 2) << name(kFunctions[f].fn);
    EXPECT_EQ(differ, 0) << name(kFunctions[f].fn);
  }
}

TEST_P(Functions, OfVectorsAreNotCallsOfTheLibrary) {
  toolchain::CompileOptions options;
  options.target = target::target_of(GetParam());
  for (const Function& f : kFunctions) {
    std::string text;
    ASSERT_EQ(show_instructions(kernel(f.fn, ForKind::kVectorized), options, text), "");
    EXPECT_EQ(text.find(cat("@", name(f.fn), "f(")), std::string::npos) << text;
  }
  std::string text;
  ASSERT_EQ(show_instructions(kernel(Math::kSin, ForKind::kVectorized), options, text), "");
  EXPECT_NE(text.find("@sinf("), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Targets, Functions,
                         ::testing::Values(target::baseline(target::kHere).text, "native"));

}  // namespace
}  // namespace relay::kernel::llvm
