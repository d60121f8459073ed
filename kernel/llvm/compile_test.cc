// Compiling through LLVM as a whole: what is refused, what is found again on disk, what counts as
// the same kernel.
#include "kernel/llvm/compile.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/cat.h"
#include "base/file.h"
#include "kernel/builder.h"
#include "kernel/execute.h"
#include "kernel/limits.h"
#include "kernel/llvm/description.h"
#include "kernel/llvm/machine.h"
#include "kernel/statements.h"
#include "runtime/compare.h"

namespace relay::kernel::llvm {
namespace {

namespace fs = std::filesystem;
using Values = ::relay::Tensor;

class Compile : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(folder_.make(), "");
    setenv("RELAY_CACHE", folder_.path().c_str(), 1);
    options_.target = target::baseline(target::kHere);
  }
  void TearDown() override { unsetenv("RELAY_CACHE"); }

  // y = x * factor + 1, under names of the caller's choice.
  Kernel scaled(double factor, const std::string& prefix = "", DType d = kFloat32,
                const char* message = "no") {
    Builder k(pool_);
    const Expr n = pool_.shape_variable(prefix + "n");
    const Tensor x = k.input(prefix + "x", d, {n});
    const Tensor y = k.compute(prefix + "y", d, {n}, [&](Indices i) {
      k.require(less(i[0], k.index(100)), message);
      return x.at(i) * k.constant(d, factor) + k.constant(d, 1);
    });
    return k.finish(prefix + "scaled", prefix, {y});
  }
  std::vector<std::string> objects() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_.path() + "/objects")) out.push_back(entry.path());
    return out;
  }
  Values result_of(const Kernel& k) {
    native::CompiledKernels compiled;
    const Kernel* const only[] = {&k};
    EXPECT_EQ(compile(only, options_, compiled), "");
    const native::Threads threads(1);
    return compiled.run(0, k, std::vector{Values::of<float>(kFloat32, {3}, std::vector<float>{1, 2, 3})},
                        threads.parallel())[0];
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  TemporaryFolder folder_;
  toolchain::CompileOptions options_;
};

// The sanitizer of threads watches this one (`./dev sanitize`).
TEST_F(Compile, SeveralThreadsMayCompileOneModule) {
  setenv("RELAY_CACHE", "off", 1);
  std::vector<Kernel> kernels;
  for (int i = 0; i < 4; ++i) kernels.push_back(scaled(i, cat("k", i, "_")));
  std::vector<const Kernel*> all;
  for (const Kernel& k : kernels) all.push_back(&k);
  std::vector<double> results(3);
  std::vector<std::thread> threads;
  for (double& result : results) {
    threads.emplace_back([&] {
      native::CompiledKernels compiled;
      EXPECT_EQ(compile(all, options_, compiled), "");
      const native::Threads one(1);
      const std::vector x{Values::of<float>(kFloat32, {3}, std::vector<float>{1, 2, 3})};
      for (size_t i = 0; i < all.size(); ++i) result += compiled.run(i, *all[i], x, one.parallel())[0].get(2);
    });
  }
  for (std::thread& t : threads) t.join();
  for (double result : results) EXPECT_EQ(result, 1 + 4 + 7 + 10);
}

TEST_F(Compile, TheSecondTimeTheObjectIsTakenFromDisk) {
  const Kernel k = scaled(2);
  EXPECT_EQ(result_of(k).get(2), 7);
  ASSERT_EQ(objects().size(), 1u);
  // What is compiled is written anew, in the place of what was there: another file
  // by the same name.
  const auto file = [&] {
    struct stat found = {};
    EXPECT_EQ(stat(objects()[0].c_str(), &found), 0);
    return found.st_ino;
  };
  const auto before = file();
  EXPECT_EQ(result_of(k).get(2), 7);
  EXPECT_EQ(file(), before);
  EXPECT_EQ(result_of(scaled(5)).get(2), 16);
  EXPECT_EQ(objects().size(), 2u);
}

TEST_F(Compile, ADamagedObjectIsCompiledAgain) {
  const Kernel k = scaled(2);
  result_of(k);
  ASSERT_EQ(objects().size(), 1u);
  const std::string path = objects()[0];
  std::string good, again;
  ASSERT_EQ(read_file(path, 1 << 20, good), "");
  std::string bad = good;
  bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
  std::ofstream(path, std::ios::binary) << bad;
  EXPECT_EQ(result_of(k).get(2), 7);
  ASSERT_EQ(read_file(path, 1 << 20, again), "");
  EXPECT_EQ(again, good);
}

TEST_F(Compile, TheCacheCanBeTurnedOff) {
  setenv("RELAY_CACHE", "off", 1);
  EXPECT_EQ(result_of(scaled(2)).get(2), 7);
  EXPECT_FALSE(fs::exists(folder_.path() + "/objects"));
}

TEST_F(Compile, TargetsAndLevelsHaveObjectsOfTheirOwn) {
  const Kernel k = scaled(2);
  for (int level : {0, 1, 2, 3}) {
    options_.opt_level = level;
    result_of(k);
  }
  EXPECT_EQ(objects().size(), 3u) << "2 and 3 are the same to kernels";
  native::CompiledKernels compiled;
  const Kernel* const only[] = {&k};
  options_.target = target::target_of(options_.target.text + "{l2=512K}");
  ASSERT_EQ(compile(only, options_, compiled), "");
  EXPECT_EQ(objects().size(), 3u) << "caches decide loops, and not what the same loops become";
  if (target::kHere != target::Isa::kX86_64) return;  // of aarch64 there is one target
  options_.target = target::target_of("avx2");
  ASSERT_EQ(compile(only, options_, compiled), "");
  EXPECT_EQ(objects().size(), 4u);
}

TEST_F(Compile, CodeThatTheProcessorCannotRunIsRefused) {
  constexpr bool kX86 = target::kHere == target::Isa::kX86_64;
  options_.target = target::target_of(kX86 ? "aarch64" : "sse2");
  const Kernel k = scaled(2);
  const Kernel* const only[] = {&k};
  native::CompiledKernels compiled;
  const std::string wrong = compile(only, options_, compiled);
  EXPECT_NE(wrong.find(cat("`", options_.target.text, "` needs: `relay compile` makes code for it")),
            std::string::npos)
      << wrong;
}

TEST_F(Compile, KernelsThatDifferInNamesAloneAreOne) {
  const std::string one = describe(scaled(2));
  EXPECT_EQ(one, describe(scaled(2, "other ")));
  EXPECT_EQ(one, describe(scaled(2, "", kFloat32, "another text")));
  EXPECT_NE(one, describe(scaled(3)));
  EXPECT_NE(one, describe(scaled(2, "", kFloat16)));
  Kernel k = scaled(2);
  const Kernel parallel = [&] {
    Kernel p = k;
    p.body = rewrite(arena_, p.body, [&](Stmt s) -> Stmt {
      const auto* l = s->as<For>();
      return l ? make_for(arena_, l->var, l->extent, ForKind::kParallel, l->body) : s;
    });
    return p;
  }();
  EXPECT_NE(one, describe(parallel));
  const auto fetching = [&](int64_t at) {
    Kernel p = k;
    p.body = make_sequence(arena_, {make_prefetch(arena_, p.inputs[0], {pool_.integer(at)}), p.body});
    return p;
  };
  EXPECT_NE(one, describe(fetching(1)));
  EXPECT_NE(describe(fetching(1)), describe(fetching(2)));
  const auto with_local = [&](int64_t stride, std::string_view instruction) {
    Buffer b = *new_buffer(pool_, k, "local", kFloat32, {pool_.integer(4)}, kernel::Scope::kLocal);
    b.strides = arena_.list(std::vector<Expr>{pool_.integer(stride)});
    Kernel p = k;
    p.body = rewrite(arena_, p.body, [&](Stmt s) -> Stmt {
      if (s->as<Block>() == nullptr) return s;
      Block named = *s->as<Block>();
      named.instruction = symbols_.intern(instruction);
      return arena_.make<Block>(named);
    });
    p.body = make_allocate(arena_, arena_.make<Buffer>(b), p.body);
    return p;
  };
  EXPECT_EQ(describe(with_local(2, "a")), describe(with_local(2, "a")));
  EXPECT_NE(describe(with_local(2, "a")), describe(with_local(3, "a")));
  EXPECT_NE(describe(with_local(2, "a")), describe(with_local(2, "b")));
}

TEST_F(Compile, RequirementsOfKernelsThatShareCodeKeepTheirTexts) {
  const Kernel a = scaled(2, "", kFloat32, "a is too long"), b = scaled(2, "", kFloat32, "b is too long");
  native::CompiledKernels compiled;
  const Kernel* const both[] = {&a, &b};
  ASSERT_EQ(compile(both, options_, compiled), "");
  EXPECT_EQ(objects().size(), 1u);
  EXPECT_EQ(compiled.message(0, 1), "a is too long");
  EXPECT_EQ(compiled.message(1, 1), "b is too long");
}

TEST_F(Compile, TheSameKernelGivesTheSameBytes) {
  const Kernel k = scaled(2);
  std::string objects[2];
  for (std::string& o : objects) {
    Emitted code;
    ASSERT_EQ(code.make(k, "entry", options_), "");
    ASSERT_EQ(code.compile(options_, o), "");
  }
  EXPECT_EQ(objects[0], objects[1]);
}

TEST_F(Compile, NoKernelsAreNothingToDo) {
  native::CompiledKernels compiled;
  EXPECT_EQ(compile({}, options_, compiled), "");
}

TEST_F(Compile, LocalBuffersThatCannotBeAreRefusedByName) {
  const auto with_local = [&](Expr extent, const std::vector<Expr>& strides = {}) {
    Kernel k = scaled(2);
    Buffer local = *new_buffer(pool_, k, "scratch", kFloat32, {extent}, kernel::Scope::kLocal);
    local.strides = arena_.list(strides);
    k.body = make_allocate(arena_, arena_.make<Buffer>(local), k.body);
    return k;
  };
  const auto refusal = [&](const Kernel& k) {
    native::CompiledKernels compiled;
    const Kernel* const only[] = {&k};
    return compile(only, options_, compiled);
  };
  EXPECT_EQ(refusal(with_local(pool_.shape_variable("n"))),
            "kernel scaled cannot be compiled: its local buffer `scratch` has the extent `n`, which is no "
            "constant: make it a temporary");
  EXPECT_EQ(
      refusal(with_local(pool_.integer(int64_t{1} << 40))),
      "kernel scaled cannot be compiled: its local buffer `scratch` has more than 1048576 elements: make it "
      "a temporary");
  EXPECT_EQ(refusal(with_local(pool_.integer(4), {pool_.shape_variable("n")})),
            "kernel scaled cannot be compiled: its local buffer `scratch` has the stride `n`, which is no "
            "constant: make it a temporary");
  const std::string too_many = "has more than 1048576 elements";
  EXPECT_NE(refusal(with_local(pool_.integer(4), {pool_.integer(1 << 19)})).find(too_many),
            std::string::npos);
  EXPECT_NE(
      refusal(with_local(pool_.integer(int64_t{1} << 40), {pool_.integer(int64_t{1} << 40)})).find(too_many),
      std::string::npos)
      << "and not nothing, which is what 2^80 is in 64 bits";
  EXPECT_TRUE(objects().empty());
}

TEST_F(Compile, BuffersAreKnownNotToOverlap) {
  std::string text;
  ASSERT_EQ(show_instructions(scaled(2), options_, text), "");
  EXPECT_NE(text.find("ptr noalias"), std::string::npos) << text;
  EXPECT_NE(text.find("fmul contract"), std::string::npos) << text;
  options_.opt_level = 1;
  ASSERT_EQ(show_instructions(scaled(2), options_, text), "");
  EXPECT_EQ(text.find("contract"), std::string::npos) << text;
}

// ... but for outputs that a plan puts on an input.
TEST_F(Compile, BuffersThatMayBeOneAreNotKnownToBeApart) {
  options_.in_place = true;
  std::string text;
  ASSERT_EQ(show_instructions(scaled(2), options_, text), "");
  EXPECT_EQ(text.find("ptr noalias"), std::string::npos) << text;
}

// The function of a parallel loop gets what the kernel's gets: x and y may be one, the weights not.
TEST_F(Compile, BuffersThatMayBeOneAreNotKnownToBeApartInParallelLoops) {
  Builder b(pool_);
  const Expr n = pool_.integer(8);
  const Tensor x = b.input("x", kFloat32, {n}), w = b.input("w", kFloat32, {n, pool_.integer(2)});
  const Tensor y = b.compute("y", kFloat32, {n}, [&](Indices i) { return x.at(i) * w(i[0], b.index(1)); });
  Kernel k = b.finish("weighted", "", {y});
  k.body = rewrite(arena_, k.body, [&](Stmt s) {
    const auto* loop = s->as<For>();
    return loop ? make_for(arena_, loop->var, loop->extent, ForKind::kParallel, loop->body) : s;
  });
  const auto part = [&] {
    std::string text;
    EXPECT_EQ(show_instructions(k, options_, text), "");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("define") && line.find("@part(") != std::string::npos) return line;
    }
    ADD_FAILURE() << text;
    return text;
  };
  const auto known_to_be_apart = [](const std::string& text) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find("ptr noalias", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(known_to_be_apart(part()), 3u) << part();
  options_.in_place = true;
  EXPECT_EQ(known_to_be_apart(part()), 1u) << part();
}

// Kernels at the limits (kernel/limits.h) have code, and others are refused.
TEST_F(Compile, DeepKernels) {
  const auto of = [&](uint32_t depth, const std::function<Expr(Expr)>& step, uint32_t nest) {
    Builder k(pool_);
    const Expr n = pool_.shape_variable("n");
    const Tensor x = k.input("x", kFloat32, {n});
    const Tensor y = k.compute("y", kFloat32, {n}, [&](Indices i) {
      Expr e = x.at(i);
      while (e->depth < depth) e = step(e);
      return e;
    });
    Kernel out = k.finish("deep", "", {y});
    for (uint32_t loops = 3; loops < nest; ++loops)
      out.body =
          make_for(arena_, pool_.variable("l"), kernel::min(n, pool_.integer(1)), ForKind::kSerial, out.body);
    return out;
  };
  const auto magnitude = [](Expr e) { return math(Math::kAbs, e); };
  const auto doubled = [&](Expr e) { return kernel::max(math(Math::kAbs, e), e); };
  for (const Kernel& k :
       {of(kDeepestExpr - 2, magnitude, 0), of(120, doubled, 0), of(0, magnitude, kDeepestNest)}) {
    ASSERT_EQ(too_deep(k), "");
    EXPECT_EQ(result_of(k).get(2), 3);
  }
  native::CompiledKernels compiled;
  const Kernel deep = of(0, magnitude, 100'000);
  const Kernel* const only[] = {&deep};
  EXPECT_NE(compile(only, options_, compiled), "");
}

}  // namespace
}  // namespace relay::kernel::llvm
