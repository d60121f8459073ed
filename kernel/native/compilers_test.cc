// What is printed compiles without a warning with every compiler: g++, clang++, and nvcc
// where it is here.
#include <gtest/gtest.h>

#include "base/cat.h"
#include "base/file.h"
#include "kernel/builder.h"
#include "kernel/print/print.h"
#include "kernel/statements.h"
#include "toolchain/subprocess.h"

namespace relay::kernel::native {
namespace {

class Compilers : public ::testing::Test {
 protected:
  // A kernel with a bit of everything, its outer loops of the given kinds.
  Kernel sample(ForKind outer, ForKind inner) {
    Builder k(pool_);
    const Expr n = pool_.shape_variable("n"), unused = pool_.shape_variable("unused"), width = k.index(37);
    const Tensor x = k.input("x", kFloat32, {n, width}), h = k.input("h", kFloat16, {n, width}),
                 q = k.input("q", kInt8, {n, width});
    const Tensor at = k.input("at", kInt64, {width}), flags = k.input("flags", kBool, {n, width}),
                 e = k.input("e", kFloat8E4M3, {unused});
    const Tensor a = k.compute("a", kFloat32, {n, width}, [&](Indices i) {
      const Expr v = x.at(i) + cast(kFloat32, h.at(i)) * cast(kFloat32, q.at(i));
      return select(flags.at(i), exp(min(v, k.constant(kFloat32, 1))), tanh(v) - math(Math::kErf, v));
    });
    const Tensor sum = k.reduce("sum", kFloat32, {n}, {width}, k.maximum(kFloat32),
                                [&](Indices i, Indices r) { return a(i[0], r[0]); });
    const Tensor b = k.compute("b", kInt8, {n, width}, [&](Indices i) {
      k.require(logical_and(less_equal(k.index(0), at(i[1])), less(at(i[1]), width)), "index \"outside\"");
      const Expr v = math(Math::kRound, a(i[0], at(i[1])) / sum(i[0]));
      return cast(kInt8, max(min(v, k.constant(kFloat32, 127)), k.constant(kFloat32, -128)));
    });
    const Tensor c = k.compute("c", kFloat16, {n, width},
                               [&](Indices i) { return h.at(i) * h.at(i) + cast(kFloat16, a.at(i)); });
    const Tensor d = k.compute("d", kBool, {n, width}, [&](Indices i) {
      return logical_and(less(a.at(i), x.at(i)), logical_not(flags.at(i)));
    });
    const Tensor f = k.compute("f", kInt32, {n, width}, [&](Indices i) {
      return floor_div(cast(kInt32, q.at(i)), k.constant(kInt32, 3)) +
             math(Math::kAbs, cast(kInt32, i[1] * 3 - n));
    });
    const Tensor g = k.compute("g", kBFloat16, {unused}, [&](Indices i) { return cast(kBFloat16, e.at(i)); });
    Kernel kernel = k.finish("sample", "a bit of everything", {sum, b, c, d, f, g});
    kernel.body = rewrite(arena_, kernel.body, [&](Stmt s) -> Stmt {
      const auto* l = s->as<For>();
      if (!l) return s;
      return make_for(arena_, l->var, l->extent,
                      l->var->name == "i0"   ? outer
                      : l->var->name == "i1" ? inner
                                             : l->how,
                      l->body);
    });
    return kernel;
  }
  void compile(const std::string& compiler, const std::string& file, const std::string& text,
               std::vector<std::string> flags) {
    TemporaryFolder folder;
    ASSERT_EQ(folder.make(), "");
    ASSERT_EQ(write_file_atomically(folder.path() + "/" + file, text), "");
    flags.insert(flags.begin(), compiler);
    flags.push_back(file);
    const toolchain::Finished done = toolchain::run(flags, folder.path(), 300);
    EXPECT_EQ(done.exit_code, 0) << compiler << " (./dev install):\n" << done.output << done.problem;
    EXPECT_EQ(done.output, "") << compiler;
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
};

TEST_F(Compilers, NoneHasAWarningForTheHost) {
  for (const auto& [target, vector_bytes] : {std::pair("-msse2", 16), std::pair("-mavx2", 32)}) {
    std::string text = print::prelude(print::kCppDialect);
    int i = 0;
    for (ForKind outer : {ForKind::kSerial, ForKind::kParallel}) {
      for (ForKind inner : {ForKind::kSerial, ForKind::kVectorized, ForKind::kUnrolled}) {
        const print::PrintOptions options{.function = cat("kernel_", i++), .vector_bytes = vector_bytes};
        text += print::print(sample(outer, inner), print::kCppDialect, options).text;
      }
    }
    for (const char* compiler : {"g++", "clang++-14", "clang++-19"}) {
      compile(compiler, "kernels.cc", text,
              {"-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", target, "-c", "-o", "/dev/null"});
    }
  }
}

TEST_F(Compilers, NvccCompilesTheSameForTheDevice) {
  std::string text = print::prelude(print::kCudaDialect);
  int i = 0;
  for (ForKind outer : {ForKind::kSerial, ForKind::kBlockX}) {
    for (ForKind inner : {ForKind::kThreadX, ForKind::kVectorized, ForKind::kUnrolled}) {
      text += print::print(sample(outer, inner), print::kCudaDialect, {.function = cat("kernel_", i++)}).text;
    }
  }
  const char* home = std::getenv("CUDA_HOME");
  const std::string nvcc = cat(home ? home : "/usr/local/cuda", "/bin/nvcc");
  if (toolchain::run({nvcc, "--version"}, "", 60).exit_code != 0) GTEST_SKIP() << "there is no " << nvcc;
  compile(nvcc, "kernels.cu", text, {"-std=c++17", "-ptx", "-o", "/dev/null"});
}

}  // namespace
}  // namespace relay::kernel::native
