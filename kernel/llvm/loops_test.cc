// Loops, local buffers, conditions and traps, compiled by each code generator, against the
// reference executor.
#include <gtest/gtest.h>

#include <cmath>

#include "base/cat.h"
#include "base/failure.h"
#include "kernel/builder.h"
#include "kernel/llvm/compile.h"
#include "kernel/native/agreement.h"
#include "kernel/native/threads.h"
#include "kernel/print/print.h"
#include "kernel/statements.h"
#include "runtime/compare.h"

namespace relay::kernel::llvm {
namespace {

using native::Case;
using native::disagreements;
using toolchain::CompileOptions;

using Values = ::relay::Tensor;

CompileOptions options_for(const std::string& target, int opt_level) {
  CompileOptions options;
  options.target = target::target_of(target);
  options.opt_level = opt_level;
  return options;
}

// Small integers, so that no order of summation rounds.
Values numbers(DType d, Shape shape, int64_t seed = 1) {
  Values t(d, std::move(shape));
  for (int64_t i = 0; i < t.size(); ++i)
    t.set(i, static_cast<double>((i * 7 + seed * 3) % 11 - (d.is_unsigned_int() ? 0 : 5)));
  return t;
}

class Loops : public ::testing::Test {
 protected:
  // The loops whose variable is called `name` become of that kind.
  Kernel with(Kernel k, std::string_view name, ForKind how) {
    k.body = rewrite(arena_, k.body, [&](Stmt s) -> Stmt {
      const auto* l = s->as<For>();
      return l && l->var->name == name ? make_for(arena_, l->var, l->extent, how, l->body) : s;
    });
    return k;
  }
  void agree(const std::vector<Case>& cases, unsigned threads = 1) {
    const std::string least = target::baseline(target::kHere).text;
    for (const auto& [target, level] : {std::pair(std::string("native"), 3), std::pair(least, 0)}) {
      SCOPED_TRACE(cat(target, " -O", level));
      EXPECT_EQ(disagreements(cases, options_for(target, level), threads), "") << "as C++";
      EXPECT_EQ(disagreements(cases, options_for(target, level), threads, compile), "") << "by LLVM";
    }
  }
  std::string text(const Kernel& k) { return print::print(k, print::kCppDialect).text; }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  Builder k_{pool_};
  Expr n_ = pool_.shape_variable("n"), m_ = pool_.shape_variable("m");
};

TEST_F(Loops, SymbolicProductOfMatricesInEveryKindOfLoop) {
  const Tensor x = k_.input("x", kFloat32, {n_, m_}), w = k_.input("w", kFloat32, {k_.index(20), m_});
  const Tensor y = k_.reduce("y", kFloat32, {n_, k_.index(20)}, {m_}, k_.sum(kFloat32),
                             [&](Indices i, Indices r) { return x(i[0], r[0]) * w(i[1], r[0]); });
  const Tensor z = k_.compute("z", kFloat32, {n_, k_.index(20)},
                              [&](Indices i) { return max(y.at(i) + 1, k_.constant(kFloat32, 0)); });
  const Kernel plain = k_.finish("dense", "nn.dense + nn.relu", {z});
  std::vector<Case> cases;
  for (int64_t n : {0, 1, 5}) {
    for (int64_t m : {0, 3}) {
      const std::vector<Values> inputs{numbers(kFloat32, {n, m}), numbers(kFloat32, {20, m}, 2)};
      const std::string size = cat(n, "x", m);
      cases.push_back({size, plain, inputs});
      cases.push_back({size + " parallel", with(plain, "i0", ForKind::kParallel), inputs});
      cases.push_back({size + " vectors",
                       with(with(plain, "i0", ForKind::kParallel), "i1", ForKind::kVectorized), inputs});
      cases.push_back({size + " unrolled", with(plain, "i1", ForKind::kUnrolled), inputs});
      cases.push_back({size + " nested parallel",
                       with(with(plain, "i0", ForKind::kParallel), "i1", ForKind::kParallel), inputs});
    }
  }
  agree(cases);
  agree(cases, 3);
}

// What a thread is given decides no bit, also where products and sums are contracted.
TEST_F(Loops, BitsDoNotDependOnThreads) {
  Values x(kFloat64, {1000});
  for (int64_t i = 0; i < x.size(); ++i) x.set(i, std::sin(static_cast<double>(i)));
  std::vector<Kernel> all;
  for (const int64_t terms : {1, 3, 24, 200}) {
    Builder k(pool_);
    const Tensor at = k.input("x", kFloat64, {n_});
    const Tensor y =
        k.reduce("y", kFloat64, {n_}, {k.index(terms)}, k.sum(kFloat64), [&](Indices i, Indices r) {
          const Expr other = at(n_ - 1 - i[0]);
          return at(i[0]) * at(floor_mod(i[0] + r[0], n_)) + other * other * at(i[0]);
        });
    all.push_back(with(k.finish("sums", "", {y}), "i0", ForKind::kParallel));
  }
  std::vector<const Kernel*> kernels;
  for (const Kernel& k : all) kernels.push_back(&k);
  native::CompiledKernels compiled;
  ASSERT_EQ(compile(kernels, options_for("native", 3), compiled), "");
  for (size_t i = 0; i < all.size(); ++i) {
    const native::Threads one(1);
    const Values want = compiled.run(i, all[i], {&x, 1}, one.parallel())[0];
    for (const unsigned count : {2u, 3u, 7u}) {
      const native::Threads threads(count);
      const Values got = compiled.run(i, all[i], {&x, 1}, threads.parallel())[0];
      EXPECT_TRUE(compare_exact(got, want).ok) << "kernel " << i << " on " << count << " threads";
    }
  }
}

TEST_F(Loops, VectorsOfEveryLengthWithTails) {
  std::vector<Case> cases;
  for (int64_t extent : {1, 2, 3, 7, 8, 16, 17, 31, 33, 100, 1000}) {
    for (DType d : {kFloat32, kInt8, kFloat64, kFloat16}) {
      Builder k(pool_);
      const Tensor x = k.input("x", d, {n_, k.index(extent)}), s = k.input("s", d, {n_});
      const Tensor y =
          k.compute("y", d, {n_, k.index(extent)}, [&](Indices i) { return x.at(i) * s(i[0]) + x.at(i); });
      const Kernel kernel = with(k.finish("tails", "", {y}), "i1", ForKind::kVectorized);
      const bool vectors = text(kernel).find("relay_load<") != std::string::npos;
      EXPECT_TRUE(extent > 100 || vectors == (extent > 1)) << extent;  // 1000 is too many vectors for most
      cases.push_back({cat(d.name(), " ", extent), kernel, {numbers(d, {3, extent}), numbers(d, {3}, 4)}});
    }
  }
  agree(cases);
}

TEST_F(Loops, BuffersWithStrides) {
  // A temporary with gaps between its rows, and one with gaps between its elements too.
  const Tensor x = k_.input("x", kFloat32, {k_.index(5), k_.index(12)});
  const Tensor t = k_.compute("t", kFloat32, x.shape(), [&](Indices i) { return x.at(i) + 1; });
  const Tensor y =
      k_.compute("y", kFloat32, x.shape(), [&](Indices i) { return t.at(i) * t(i[0], k_.index(11) - i[1]); });
  const Kernel dense = with(k_.finish("strides", "", {y}), "i1", ForKind::kVectorized);
  std::vector<Case> cases;
  for (const auto& [rows, columns] : {std::pair(16, 1), std::pair(40, 3)}) {
    Buffer* b = arena_.make<Buffer>(*t.buffer());
    b->strides = arena_.list(std::vector<Expr>{k_.index(rows), k_.index(columns)});
    Kernel k = dense;
    k.temporaries = arena_.list(std::vector<const Buffer*>{b});
    k.body = rewrite(arena_, k.body, [&](Stmt s) -> Stmt {
      const auto with_strides = [&](const ExprNode* n) {
        return n->buffer == t.buffer() ? pool_.load(b, {n->args.begin(), n->args.end()}) : Expr();
      };
      if (const auto* st = s->as<Store>())
        return make_store(arena_, st->buffer == t.buffer() ? b : st->buffer,
                          {st->indices.begin(), st->indices.end()}, rewrite_loads(st->value, with_strides));
      const auto* bl = s->as<Block>();
      return bl ? make_block(pool_, bl->name.text(), {bl->iters.begin(), bl->iters.end()}, {}, nullptr,
                             bl->body)
                : s;
    });
    EXPECT_NE(text(k).find(cat("i0 * ", rows)), std::string::npos) << text(k);
    cases.push_back({cat("strides ", rows, " ", columns), k, {numbers(kFloat32, {5, 12})}});
  }
  agree(cases);
}

TEST_F(Loops, AccessesThatAreNotContiguousKeepAPlainLoop) {
  const Tensor x = k_.input("x", kFloat32, {k_.index(16), k_.index(16)});
  const Tensor y =
      k_.compute("y", kFloat32, {k_.index(16), k_.index(16)}, [&](Indices i) { return x(i[1], i[0]); });
  const Kernel kernel = with(k_.finish("transpose", "", {y}), "i1", ForKind::kVectorized);
  EXPECT_EQ(text(kernel).find("relay_load"), std::string::npos);
  agree({{"transpose", kernel, {numbers(kFloat32, {16, 16})}}});
}

TEST_F(Loops, ChoicesByPositionBecomeMasks) {
  const Tensor x = k_.input("x", kFloat32, {n_, k_.index(24)});
  const Tensor y = k_.compute("y", kFloat32, {n_, k_.index(24)}, [&](Indices i) {
    const Expr v = x.at(i);
    return select(less_equal(i[1], i[0] + 3), v * 2, k_.constant(kFloat32, -INFINITY));
  });
  Kernel kernel = with(k_.finish("causal", "", {y}), "i1", ForKind::kVectorized);
  agree({{"loads are not protected", kernel, {numbers(kFloat32, {5, 24})}}});

  Builder k(pool_);
  const Tensor z = k.compute("z", kFloat32, {n_, k.index(24)}, [&](Indices i) {
    return select(less_equal(i[1], i[0]), k.constant(kFloat32, 1), cast(kFloat32, i[1] * 3 + i[0]));
  });
  const Tensor b = k.input("b", kFloat32, {n_});
  const Tensor out =
      k.compute("out", kFloat32, {n_, k.index(24)}, [&](Indices i) { return z.at(i) + b(i[0]); });
  kernel = with(k.finish("mask", "", {out}), "i1", ForKind::kVectorized);
  EXPECT_NE(text(kernel).find("relay_iota"), std::string::npos);
  agree({{"mask", kernel, {numbers(kFloat32, {5})}}});
}

// A product of matrices as schedules write it: a tile of the result in local buffers,
// unrolled and vectorised.
TEST_F(Loops, TilesStayInVariables) {
  const int64_t rows = 4, columns = 32, depth = 6;
  const Tensor x = k_.input("x", kFloat32, {k_.index(rows), k_.index(depth)}),
               w = k_.input("w", kFloat32, {k_.index(depth), k_.index(columns)});
  const Tensor y = k_.compute("y", kFloat32, {k_.index(rows), k_.index(columns)},
                              [&](Indices) { return k_.constant(kFloat32, 0); });
  Kernel kernel = k_.finish("tile", "nn.matmul", {y});
  const Buffer *bx = x.buffer(), *bw = w.buffer(), *by = y.buffer();
  const Buffer* acc = arena_.make<Buffer>(uint32_t{77}, symbols_.intern("acc"), kFloat32,
                                          arena_.list(std::vector<Expr>{k_.index(rows), k_.index(columns)}),
                                          kernel::Scope::kLocal);
  const auto tile = [&](const std::function<Stmt(Expr i, Expr j)>& body) {
    const Expr i = pool_.variable("i"), j = pool_.variable("j");
    Stmt inner = make_for(arena_, j, k_.index(columns), ForKind::kVectorized, body(i, j));
    return make_for(arena_, i, k_.index(rows), ForKind::kUnrolled, inner);
  };
  const auto block = [&](Stmt s, std::vector<Expr> loops) {
    std::vector<BlockIter> iters;
    std::unordered_map<const ExprNode*, Expr> by;
    for (Expr l : loops) {
      iters.push_back({pool_.variable("v"), k_.index(64), IterKind::kSpatial, l});
      by[l.get()] = iters.back().var;
    }
    return make_block(pool_, "b", iters, {}, nullptr, substitute(arena_, s, by));
  };
  const Expr r = pool_.variable("r");
  Stmt zero = tile([&](Expr i, Expr j) {
    return block(make_store(arena_, acc, {i, j}, k_.constant(kFloat32, 0)), {i, j});
  });
  Stmt step = tile([&](Expr i, Expr j) {
    return block(make_store(arena_, acc, {i, j},
                            pool_.load(acc, {i, j}) + pool_.load(bx, {i, r}) * pool_.load(bw, {r, j})),
                 {i, j, r});
  });
  Stmt store = tile(
      [&](Expr i, Expr j) { return block(make_store(arena_, by, {i, j}, pool_.load(acc, {i, j})), {i, j}); });
  Stmt loop = make_for(arena_, r, k_.index(depth), ForKind::kSerial, step);
  kernel.body = make_allocate(arena_, acc, make_sequence(arena_, {zero, loop, store}));
  const std::string printed = text(kernel);
  EXPECT_NE(printed.find("relay_vec<float, 16> acc_112;"), std::string::npos) << printed;
  EXPECT_EQ(printed.find("acc["), std::string::npos) << printed;
  std::string instructions;
  ASSERT_EQ(show_instructions(kernel, options_for("native", 2), instructions), "");
  EXPECT_NE(instructions.find("llvm.loop.unroll.disable"), std::string::npos)
      << "the schedule has filled the registers\n"
      << instructions;
  // The blocks' extents above are not exact, which the executor does not mind: regions are derived.
  const std::vector<Values> inputs{numbers(kFloat32, {rows, depth}), numbers(kFloat32, {depth, columns}, 5)};
  agree({{"tile", kernel, inputs}});
}

TEST_F(Loops, PaddingReadsOnlyInside) {
  const Tensor x = k_.input("x", kFloat32, {n_});
  const Tensor y = k_.compute("padded", kFloat32, {n_ + 2}, [&](Indices i) {
    const Expr inside = logical_and(less_equal(k_.index(1), i[0]), less(i[0], n_ + 1));
    const Expr v = x(i[0] - 1);
    return select(inside, v * v + v, k_.constant(kFloat32, 0));
  });
  agree({{"one", k_.finish("pad", "", {y}), {numbers(kFloat32, {9})}}});
}

// What is going to be read may lie outside of the buffer, as far as one likes.
TEST_F(Loops, HintsToFetchComputeNothing) {
  const Tensor x = k_.input("x", kFloat32, {n_, k_.index(20)});
  const Tensor y = k_.compute("y", kFloat32, {n_, k_.index(20)}, [&](Indices i) { return x.at(i) + 1; });
  Kernel kernel = with(k_.finish("ahead", "", {y}), "i1", ForKind::kVectorized);
  const auto* loop = kernel.body->as<For>();
  std::vector<Stmt> body;
  for (const Expr ahead : {loop->var + 8, loop->var * 1000000007, loop->var - n_ * 1000000007})
    body.push_back(make_prefetch(arena_, x.buffer(), {ahead, k_.index(3)}));
  body.push_back(loop->body);
  kernel.body = make_for(arena_, loop->var, loop->extent, loop->how, make_sequence(arena_, body));
  EXPECT_NE(text(kernel).find("RELAY_PREFETCH(x, "), std::string::npos) << text(kernel);
  std::string instructions;
  ASSERT_EQ(show_instructions(kernel, options_for("native", 2), instructions), "");
  EXPECT_NE(instructions.find("call void @llvm.prefetch"), std::string::npos) << instructions;
  agree({{"ahead", kernel, {numbers(kFloat32, {5, 20})}},
         {"in parallel", with(kernel, "i0", ForKind::kParallel), {numbers(kFloat32, {5, 20})}}});
}

TEST_F(Loops, GatherAndScatterThroughLoadedIndices) {
  const Tensor x = k_.input("x", kFloat32, {n_}), at = k_.input("at", kInt64, {m_});
  const Tensor y = k_.compute("gathered", kFloat32, {m_}, [&](Indices i) {
    const Expr a = at(i[0]);
    k_.require(logical_and(less_equal(k_.index(-1) * n_, a), less(a, n_)),
               "index \"outside\" of */ its dim?\n");
    return x(select(less(a, k_.index(0)), a + n_, a));
  });
  const Kernel gather = k_.finish("gather", "", {y});
  Builder k(pool_);
  const Tensor where = k.input("where", kInt64, {m_});
  const Tensor s = k.update(
      "sums", kInt32, {n_ * 0 + 5}, [&](Indices) { return k.constant(kInt32, 0); }, {m_},
      [&](Indices r) { return std::vector<Expr>{where(r[0])}; },
      [&](Tensor self, Indices r) { return self(where(r[0])) + k.constant(kInt32, 1); });
  const Kernel scatter = k.finish("scatter", "", {s});
  const auto ints = [](std::vector<double> v) {
    return Values::of<double>(kInt64, {static_cast<int64_t>(v.size())}, v);
  };
  const std::vector<Case> cases{
      {"inside", gather, {numbers(kFloat32, {6}), ints({0, -1, 5, -6, 3})}},
      {"outside", gather, {numbers(kFloat32, {6}), ints({0, 6})}},
      {"far outside", gather, {numbers(kFloat32, {6}), ints({0, -9e18, 1})}},
      {"outside, parallel",
       with(gather, "i0", ForKind::kParallel),
       {numbers(kFloat32, {6}), ints({0, 1, 7, 2, 8})}},
      {"scatter", scatter, {ints({1, 1, 4, 0, 1})}},
  };
  agree(cases);
  agree(cases, 4);
}

TEST_F(Loops, TheFirstRequirementIsReportedWhateverTheThreads) {
  const Tensor x = k_.input("x", kInt32, {n_});
  const Tensor y = k_.compute("y", kInt32, {n_}, [&](Indices i) {
    k_.require(not_equal(x.at(i), k_.constant(kInt32, 1)), "one");
    k_.require(not_equal(x.at(i), k_.constant(kInt32, 2)), "two");
    return x.at(i);
  });
  const Kernel kernel = with(k_.finish("k", "", {y}), "i0", ForKind::kParallel);
  Values ones(kInt32, {64}), twos(kInt32, {64});
  ones.set_int(20, 1), ones.set_int(60, 2);
  twos.set_int(20, 2), twos.set_int(21, 1);
  for (const native::CodeGenerator& generator :
       {native::CodeGenerator(native::compile_as_cpp), native::CodeGenerator(compile)}) {
    native::CompiledKernels compiled;
    const Kernel* const only[] = {&kernel};
    ASSERT_EQ(generator(only, options_for("native", 2), compiled), "");
    const auto trap = [&](const Values& input, unsigned threads) -> std::string {
      try {
        compiled.run(0, kernel, std::vector{input}, native::Threads(threads).parallel());
      } catch (const Trap& t) {
        return t.what();
      }
      return "none";
    };
    for (unsigned threads : {1, 2, 5, 64}) {
      EXPECT_EQ(trap(ones, threads), "one");
      EXPECT_EQ(trap(twos, threads), "two");
      EXPECT_EQ(trap(Values(kInt32, {64}), threads), "none");
    }
  }
}

TEST_F(Loops, NamesFromModelsAreHarmless) {
  std::vector<Case> cases;
  for (const char* name :
       {"", "int", "a*/b", "x\"; abort(); //", "\n#error \\", "\xc3\xa9t\xc3\xa9", "1st", "__FILE__", "NULL",
        "relay_load", "for", "parallel", "EOF", "a b", "a.b", "trigraph ?\?/",
        "very_long_name_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_on"}) {
    Builder k(pool_);
    const Expr n = pool_.shape_variable(cat(name, "#"));
    const Tensor x = k.input(name, kFloat32, {n}), z = k.input(cat(name, "!"), kFloat32, {n});
    const Tensor y = k.compute(cat(name, "/"), kFloat32, {n}, [&](Indices i) {
      k.require(equal(x.at(i), x.at(i)), name);
      return x.at(i) + z.at(i);
    });
    const Kernel kernel = k.finish(cat("kernel ", name), name, {y});
    cases.push_back({name, kernel, {numbers(kFloat32, {4}), numbers(kFloat32, {4}, 2)}});
    Values bad = numbers(kFloat32, {4});
    bad.set(2, NAN);
    cases.push_back({cat(name, " trap"), with(kernel, "i0", ForKind::kParallel), {bad, bad}});
  }
  agree(cases);
}

TEST_F(Loops, SharedExpressionsAreComputedOnce) {
  const auto doubled = [&](int depth) {
    Builder k(pool_);
    const Tensor x = k.input("x", kFloat32, {n_});
    return k.finish("chain", "", {k.compute("y", kFloat32, {n_}, [&](Indices i) {
                      Expr v = x.at(i);
                      for (int d = 0; d < depth; ++d) v = v + v;
                      return v;
                    })});
  };
  const auto chosen = [&](int depth) {
    Builder k(pool_);
    const Tensor x = k.input("x", kFloat32, {n_});
    return k.finish("nest", "", {k.compute("y", kFloat32, {n_}, [&](Indices i) {
                      Expr v = x.at(i);
                      for (int d = 0; d < depth; ++d)
                        v = select(less(v, k.constant(kFloat32, d - 20)), v * 2, v - 1);
                      return v;
                    })});
  };
  // The executor computes shared expressions again and again; these would keep it busy for years.
  EXPECT_LT(text(doubled(60)).size(), 6000u);
  EXPECT_LT(text(chosen(60)).size(), 9000u);
  agree({{"chain", doubled(9), {numbers(kFloat32, {4})}}, {"nest", chosen(7), {numbers(kFloat32, {11})}}});
}

TEST_F(Loops, IntegersOfSixtyFourBitsWrapWithoutUndefinedBehaviour) {
  const Tensor x = k_.input("x", kInt64, {n_});
  const Tensor y = k_.compute("y", kInt64, {n_}, [&](Indices i) {
    return x.at(i) * x.at(i) * 3 + x.at(i) - pool_.integer(INT64_MAX) + i[0];
  });
  Values v(kInt64, {5});
  const int64_t kValues[] = {INT64_MAX, INT64_MIN, -1, 4611686018427387904, 12345678901};
  for (int64_t i = 0; i < 5; ++i) v.set_int(i, kValues[i]);
  agree({{"wrap", k_.finish("wrap", "", {y}), {v}}});
}

TEST_F(Loops, ScalarsAndEmptyTensors) {
  const Tensor s = k_.input("s", kFloat64, {});
  const Tensor y = k_.compute("y", kFloat64, {}, [&](Indices) { return s() * 2; });
  Builder k(pool_);
  const Tensor x = k.input("x", kFloat32, {n_, k.index(0)});
  const Tensor sums = k.reduce("sums", kFloat32, {n_}, {k.index(0)}, k.sum(kFloat32),
                               [&](Indices i, Indices r) { return x(i[0], r[0]); });
  agree({{"scalar", k_.finish("scalar", "", {y}), {Values::scalar(kFloat64, 21)}},
         {"empty", k.finish("empty", "", {sums}), {Values(kFloat32, {3, 0})}}});
}

}  // namespace
}  // namespace relay::kernel::llvm
