#include "kernel/print/print.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/cat.h"
#include "kernel/builder.h"
#include "kernel/limits.h"
#include "kernel/print/names.h"
#include "kernel/statements.h"

namespace relay::kernel::print {
namespace {

class Print : public ::testing::Test {
 protected:
  Kernel with(Kernel k, std::string_view name, ForKind how) {
    k.body = rewrite(arena_, k.body, [&](Stmt s) -> Stmt {
      const auto* l = s->as<For>();
      return l && l->var->name == name ? make_for(arena_, l->var, l->extent, how, l->body) : s;
    });
    return k;
  }
  std::string cpp(const Kernel& k) { return "\n" + print(k, kCppDialect).text; }
  std::string cuda(const Kernel& k) { return "\n" + print(k, kCudaDialect).text; }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  Builder k_{pool_};
  Expr n_ = pool_.shape_variable("n");
};

TEST_F(Print, AReductionStartsInFrontOfItsLoop) {
  const Tensor x = k_.input("x", kFloat32, {n_, k_.index(64)}),
               w = k_.input("w", kFloat32, {k_.index(8), k_.index(64)});
  const Tensor y = k_.reduce("y", kFloat32, {n_, k_.index(8)}, {k_.index(64)}, k_.sum(kFloat32),
                             [&](Indices i, Indices r) { return x(i[0], r[0]) * w(i[1], r[0]); });
  EXPECT_EQ(cpp(k_.finish("dense", "nn.dense", {y})), R"(
// nn.dense
int32_t dense(const relay_parallel* parallel, const float* __restrict x, const float* __restrict w, float* __restrict y, int64_t n) {
  (void)parallel;
  for (int64_t i0 = 0; i0 < n; ++i0) {
    for (int64_t i1 = 0; i1 < 8; ++i1) {
      y[i0 * 8 + i1] = 0.0f;
      for (int64_t r0 = 0; r0 < 64; ++r0) {
        y[i0 * 8 + i1] = y[i0 * 8 + i1] + x[i0 * 64 + r0] * w[i1 * 64 + r0];
      }
    }
  }
  return 0;
}
)");
}

// The parallel part of a kernel, which is a function of its own, knows it too.
TEST_F(Print, ParametersThatMayBeOneMemoryAreNotRestricted) {
  const Tensor x = k_.input("x", kFloat32, {n_}), g = k_.input("g", kFloat32, {n_});
  const Tensor y = k_.compute("y", kFloat32, {n_}, [&](Indices i) { return x(i[0]) - g(i[0]); });
  Kernel k = k_.finish("k", "", {y});
  k.body = rewrite(arena_, k.body, [&](Stmt s) -> Stmt {
    const auto* f = s->as<For>();
    return f ? make_for(arena_, f->var, f->extent, ForKind::kParallel, f->body) : s;
  });
  const std::string text = print(k, kCppDialect, {.shared = {0, 2}}).text;
  EXPECT_NE(text.find("k_0_part(const float* x, const float* __restrict g, float* y, "), std::string::npos)
      << text;
  EXPECT_NE(
      text.find("k(const relay_parallel* parallel, const float* x, const float* __restrict g, float* y, "),
      std::string::npos)
      << text;
}

TEST_F(Print, AChoiceAsTheEndOfALoopIsOneOperand) {
  const Expr one = k_.index(1);
  const Tensor x = k_.input("x", kFloat32, {n_});
  const Tensor y = k_.compute("y", kFloat32, {select(equal(n_, one), k_.index(8), n_)},
                              [&](Indices i) { return x(floor_mod(i[0], n_)); });
  EXPECT_NE(cpp(k_.finish("choice", "", {y})).find("i0 < (1 == n ? INT64_C(8) : n); ++i0"), std::string::npos)
      << cpp(k_.finish("choice", "", {y}));
}

TEST_F(Print, DivisionsByExtentsThatAreNotKnownAreNamedWhereTheirLoopBegins) {
  const Expr m = pool_.shape_variable("m"), at = pool_.variable("at"), column = pool_.variable("column");
  const Tensor x = k_.input("x", kFloat32, {n_, m, k_.index(8)});
  const Tensor y = k_.compute("y", kFloat32, {n_, m, k_.index(8)}, [&](Indices i) { return x.at(i); });
  const Kernel k = k_.finish("copy", "", {y});
  const std::vector<Expr> place{floor_div(at, m), floor_mod(at, m), column};
  const Stmt store = make_store(arena_, y.buffer(), place, pool_.load(x.buffer(), place));
  Kernel fused = k;
  fused.body = make_for(arena_, at, n_ * m, ForKind::kSerial,
                        make_for(arena_, column, pool_.integer(8), ForKind::kSerial, store));
  const std::string text = cpp(fused);
  const size_t inner = text.find("for (int64_t column");
  ASSERT_NE(inner, std::string::npos) << text;
  for (const char* division : {"relay_floor_div(at", "relay_floor_mod(at", "at / ", "at % "})
    EXPECT_EQ(text.find(division, inner), std::string::npos) << text;
  EXPECT_NE(text.find("const int64_t q = "), std::string::npos) << text;
  EXPECT_LT(text.find("const int64_t q = "), inner) << text;
}

TEST_F(Print, ParallelLoopsAreFunctionsAndVectorsHaveTails) {
  const Tensor x = k_.input("x", kFloat32, {n_, k_.index(20)}), b = k_.input("b", kFloat32, {k_.index(20)});
  const Tensor y = k_.compute("y", kFloat32, {n_, k_.index(20)},
                              [&](Indices i) { return max(x.at(i) + b(i[1]), k_.constant(kFloat32, 0)); });
  const Kernel kernel = with(with(k_.finish("bias", "add + nn.relu", {y}), "i0", ForKind::kParallel), "i1",
                             ForKind::kVectorized);
  EXPECT_EQ(cpp(kernel), R"(
// add + nn.relu
struct bias_0_closure {
  const float* x;
  const float* b;
  float* y;
};
RELAY_NOINLINE static int32_t bias_0_part(const float* __restrict x, const float* __restrict b, float* __restrict y, int64_t begin, int64_t end) {
  for (int64_t i0 = begin; i0 < end; ++i0) {
    relay_store(y + i0 * 20, relay_max_right_number(relay_load<16>(x + i0 * 20) + relay_load<16>(b), relay_splat<16>(0.0f)));
    relay_store(y + i0 * 20 + 16, relay_max_right_number(relay_load<4>(x + i0 * 20 + 16) + relay_load<4>(b + 16), relay_splat<4>(0.0f)));
  }
  return 0;
}
static int32_t bias_0_range(void* closure, int64_t begin, int64_t end) {
  const bias_0_closure* shared = (const bias_0_closure*)closure;
  return bias_0_part(shared->x, shared->b, shared->y, begin, end);
}
int32_t bias(const relay_parallel* parallel, const float* __restrict x, const float* __restrict b, float* __restrict y, int64_t n) {
  {
    bias_0_closure closure = {x, b, y};
    const int32_t failure = parallel->run(parallel->self, n, bias_0_range, &closure);
    if (failure != 0) return failure;
  }
  return 0;
}
)");
}

// Lanes compute both sides of a choice, so what it may protect is not loaded in vectors.
TEST_F(Print, ChoicesBetweenLanesLoadWhatExists) {
  const auto printed = [&](const std::function<Expr(const Tensor& x, const Tensor& z, Indices i)>& f) {
    Builder k(pool_);
    const Tensor x = k.input("x", kFloat32, {n_, k.index(16)}), z = k.input("z", kFloat32, {k.index(20)});
    const Tensor y = k.compute("y", kFloat32, {n_, k.index(16)}, [&](Indices i) { return f(x, z, i); });
    return cpp(with(k.finish("choose", "", {y}), "i1", ForKind::kVectorized));
  };
  const Expr zero = k_.constant(kFloat32, 0);
  const auto in_vectors = [&](const auto& f) {
    return printed(f).find("relay_load<16>") != std::string::npos;
  };
  EXPECT_TRUE(in_vectors([&](const Tensor& x, const Tensor& z, Indices i) {
    return select(less(x.at(i), zero), z(i[1] + 4), x.at(i));
  }));
  EXPECT_FALSE(in_vectors([&](const Tensor& x, const Tensor& z, Indices i) {
    return select(less(x.at(i), zero), z(i[1] + 5), x.at(i));
  }));
  EXPECT_FALSE(in_vectors([&](const Tensor&, const Tensor& z, Indices i) {
    return select(less(i[1], k_.index(15)), z(i[1] + 5), zero);
  }));
  // Whatever the place is, the condition loads it anyway.
  EXPECT_TRUE(in_vectors([&](const Tensor&, const Tensor& z, Indices i) {
    return select(less(z(i[0] + i[1]), zero), zero, z(i[0] + i[1]));
  }));
  // But not if that is in turn protected.
  EXPECT_FALSE(in_vectors([&](const Tensor&, const Tensor& z, Indices i) {
    const Expr v = z(i[0] + i[1]);
    return select(logical_and(less(i[0], k_.index(4)), less(v, zero)), v, zero);
  }));
}

TEST_F(Print, AHintToFetchIsLeftOutWhereThereIsNone) {
  const Tensor x = k_.input("x", kFloat32, {n_, k_.index(20)});
  const Tensor y = k_.compute("y", kFloat32, {n_}, [&](Indices i) { return x(i[0], k_.index(0)); });
  Kernel kernel = k_.finish("first", "take", {y});
  const auto* loop = kernel.body->as<For>();
  const Stmt fetch = make_prefetch(arena_, x.buffer(), {loop->var + 8, k_.index(0)});
  kernel.body =
      make_for(arena_, loop->var, loop->extent, loop->how, make_sequence(arena_, {fetch, loop->body}));
  EXPECT_NE(cpp(kernel).find("    RELAY_PREFETCH(x, i0 * 20 + 160);\n"), std::string::npos) << cpp(kernel);
  EXPECT_EQ(cuda(kernel).find("PREFETCH"), std::string::npos) << cuda(kernel);
}

TEST_F(Print, RequirementsReturnTheirNumber) {
  const Tensor x = k_.input("x", kInt32, {n_}), y = k_.input("y", kInt32, {n_});
  const Tensor z = k_.compute("z", kInt32, {n_}, [&](Indices i) {
    k_.require(not_equal(y.at(i), k_.constant(kInt32, 0)), "division by zero");
    return trunc_div(x.at(i) + y.at(i), y.at(i));
  });
  const Printed p = print(k_.finish("divide", "divide */ #include", {z}), kCppDialect,
                          {.function = "f", .is_static = true});
  EXPECT_EQ(p.function, "f");
  EXPECT_EQ(p.messages, std::vector<std::string>{"division by zero"});
  EXPECT_EQ("\n" + p.text, R"(
// divide * / #include
static int32_t f(const relay_parallel* parallel, const int32_t* __restrict x, const int32_t* __restrict y, int32_t* __restrict z, int64_t n) {
  (void)parallel;
  for (int64_t i0 = 0; i0 < n; ++i0) {
    if (!(0 != y[i0])) {
      return 1;
    }
    const int32_t t = y[i0];
    z[i0] = relay_trunc_div(relay_add(x[i0], t), t);
  }
  return 0;
}
)");
}

TEST_F(Print, GridsBecomeLaunches) {
  const Tensor x = k_.input("x", kFloat32, {n_, k_.index(32)});
  const Tensor t = k_.compute("t", kFloat32, {n_, k_.index(32)}, [&](Indices i) { return exp(x.at(i)); });
  const Tensor y = k_.compute("y", kFloat32, {n_}, [&](Indices i) { return t(i[0], k_.index(0)); });
  Kernel kernel = with(with(k_.finish("k", "exp", {t, y}), "i0", ForKind::kBlockX), "i1", ForKind::kThreadX);
  const Printed p = print(kernel, kCudaDialect);
  ASSERT_EQ(p.launches.size(), 2u);
  EXPECT_EQ(p.launches[0].function, "k_0");
  EXPECT_EQ(join(p.launches[0].extents, " ", [](Expr e) { return show(e); }), "n 1 1 32 1 1");
  EXPECT_EQ("\n" + p.text, R"(
// exp
extern "C" __global__ void k_0(const float* __restrict__ x, float* __restrict__ t, float* __restrict__ y, int64_t n, int32_t* failure) {
  (void)failure;
  (void)y;
  (void)n;
  {
    const int64_t i0 = blockIdx.x;
    {
      const int64_t i1 = threadIdx.x;
      t[i0 * 32 + i1] = ::expf(x[i0 * 32 + i1]);
    }
  }
}
extern "C" __global__ void k_1(const float* __restrict__ x, float* __restrict__ t, float* __restrict__ y, int64_t n, int32_t* failure) {
  (void)failure;
  (void)x;
  (void)n;
  {
    const int64_t i0_2 = blockIdx.x;
    y[i0_2] = t[i0_2 * 32];
  }
}
)");
}

TEST_F(Print, SharedMemoryIsGuardedByBarriers) {
  const Expr width = k_.index(32);
  const Tensor x = k_.input("x", kFloat32, {n_, width});
  const Tensor y = k_.compute("y", kFloat32, {n_, width}, [&](Indices i) { return x.at(i); });
  Kernel kernel = k_.finish("reverse", "reverse", {y});
  const Buffer* tile = arena_.make<Buffer>(uint32_t{99}, symbols_.intern("tile"), kFloat32,
                                           arena_.list(std::vector<Expr>{width}), Scope::kShared);
  const Expr b = pool_.variable("b"), r = pool_.variable("r"), s = pool_.variable("s"),
             t = pool_.variable("t");
  const auto threads = [&](Expr var, Stmt body) {
    return make_for(arena_, var, width, ForKind::kThreadX, body);
  };
  Stmt fill = threads(s, make_store(arena_, tile, {s}, pool_.load(x.buffer(), {r, s})));
  Stmt drain = threads(t, make_store(arena_, y.buffer(), {r, t}, pool_.load(tile, {pool_.integer(31) - t})));
  Stmt rows = make_for(arena_, r, n_, ForKind::kSerial, make_sequence(arena_, {fill, drain}));
  kernel.body = make_for(arena_, b, pool_.integer(1), ForKind::kBlockX, make_allocate(arena_, tile, rows));
  EXPECT_EQ(cuda(kernel), R"(
// reverse
extern "C" __global__ void reverse(const float* __restrict__ x, float* __restrict__ y, int64_t n, int32_t* failure) {
  (void)failure;
  {
    RELAY_SHARED(float, tile, 32);
    for (int64_t r = 0; r < n; ++r) {
      {
        const int64_t s = threadIdx.x;
        tile[s] = x[r * 32 + s];
      }
      __syncthreads();
      {
        const int64_t t = threadIdx.x;
        y[r * 32 + t] = tile[-t + 31];
      }
      __syncthreads();
    }
  }
}
)");
}

// Partial results of threads are joined by a tree; its last five steps stay within a warp.
TEST_F(Print, AWarpJoinsInRegisters) {
  const Tensor x = k_.input("x", kFloat32, {k_.index(64)});
  const Tensor y = k_.compute("y", kFloat32, {k_.index(1)}, [&](Indices i) { return x.at(i); });
  Kernel kernel = k_.finish("join", "sum", {y});
  const auto threads = [&](int64_t n, const std::function<Stmt(Expr)>& body) {
    const Expr t = pool_.variable("t");
    return make_for(arena_, t, pool_.integer(n), ForKind::kThreadX, body(t));
  };
  const auto text = [&](DType d, Scope scope) {
    const Buffer* b = arena_.make<Buffer>(uint32_t{99}, symbols_.intern("b"), d,
                                          arena_.list(std::vector<Expr>{k_.index(64)}), scope);
    std::vector<Stmt> body{threads(
        64, [&](Expr t) { return make_store(arena_, b, {t}, cast(d, pool_.load(x.buffer(), {t}))); })};
    for (int64_t half = 32; half >= 1; half /= 2) {
      body.push_back(threads(half, [&](Expr t) {
        return make_store(arena_, b, {t}, pool_.load(b, {t}) + pool_.load(b, {t + half}));
      }));
    }
    body.push_back(threads(1, [&](Expr t) {
      return make_store(arena_, y.buffer(), {t}, cast(kFloat32, pool_.load(b, {pool_.integer(0)})));
    }));
    kernel.body = make_allocate(arena_, b, make_sequence(arena_, body));
    return cuda(kernel);
  };
  EXPECT_EQ(text(kFloat32, Scope::kShared), R"(
// sum
extern "C" __global__ void join(const float* __restrict__ x, float* __restrict__ y, int32_t* failure) {
  (void)failure;
  RELAY_SHARED(float, b, 64);
  {
    const int64_t t = threadIdx.x;
    b[t] = x[t];
  }
  __syncthreads();
  {
    const int64_t t_2 = threadIdx.x;
    if (t_2 < 32) {
      b[t_2] = b[t_2] + b[t_2 + 32];
    }
  }
  __syncthreads();
  {
    const int64_t t_3 = threadIdx.x;
    if (t_3 < 32) {
      float mine = b[t_3];
      for (int half = 16; half > 0; half /= 2) {
        const float other = relay_shuffle_down(mine, half);
        if (t_3 < half) mine = mine + other;
      }
      b[t_3] = mine;
    }
  }
  __syncthreads();
  {
    const int64_t t_4 = threadIdx.x;
    if (t_4 < 1) {
      y[0] = b[0];
    }
  }
}
)");
  // There are no shuffles of small numbers: their steps are guarded by barriers.
  EXPECT_EQ(text(kInt8, Scope::kShared).find("shuffle"), std::string::npos);
}

TEST_F(Print, ThreadsHavePiecesOfALocalBufferAroundThem) {
  const Expr width = k_.index(32), two = k_.index(2);
  const Tensor x = k_.input("x", kFloat32, {width, two});
  const Tensor y = k_.compute("y", kFloat32, {width, two}, [&](Indices i) { return x.at(i); });
  Kernel kernel = k_.finish("keep", "keep", {y});
  const Buffer* kept = arena_.make<Buffer>(uint32_t{99}, symbols_.intern("kept"), kFloat32,
                                           arena_.list(std::vector<Expr>{width, two}), Scope::kLocal);
  const auto threads = [&](const std::function<Stmt(Expr, Expr)>& body) {
    const Expr t = pool_.variable("t"), i = pool_.variable("i");
    return make_for(arena_, t, width, ForKind::kThreadX,
                    make_for(arena_, i, two, ForKind::kSerial, body(t, i)));
  };
  Stmt in = threads(
      [&](Expr t, Expr i) { return make_store(arena_, kept, {t, i}, pool_.load(x.buffer(), {t, i})); });
  Stmt out = threads(
      [&](Expr t, Expr i) { return make_store(arena_, y.buffer(), {t, i}, pool_.load(kept, {t, i})); });
  kernel.body = make_allocate(arena_, kept, make_sequence(arena_, {in, out}));
  const std::string text = cuda(kernel);
  EXPECT_NE(text.find("float kept[2];"), std::string::npos) << text;
  EXPECT_NE(text.find("kept[i] = x[t * 2 + i];"), std::string::npos) << text;
}

TEST_F(Print, AGridCopiesSixteenBytesAtOnceWhereTheyAreAligned) {
  const Expr width = k_.index(64);
  const Tensor x = k_.input("x", kFloat32, {width});
  const Tensor y = k_.compute("y", kFloat32, {width}, [&](Indices i) { return x.at(i); });
  Kernel kernel = k_.finish("copy", "copy", {y});
  const auto text = [&](int64_t offset) {
    const Expr t = pool_.variable("t"), l = pool_.variable("l");
    const Expr at = t * 4 + l;
    kernel.body =
        make_for(arena_, t, pool_.integer(15), ForKind::kThreadX,
                 make_for(arena_, l, pool_.integer(4), ForKind::kVectorized,
                          make_store(arena_, y.buffer(), {at}, pool_.load(x.buffer(), {at + offset}))));
    return cuda(kernel);
  };
  EXPECT_NE(text(4).find("relay_copy(y + t * 4, x + t * 4 + 4);"), std::string::npos) << text(4);
  EXPECT_EQ(text(1).find("relay_copy"), std::string::npos) << text(1);
}

TEST_F(Print, ALaunchAfterOneThatFailedDoesNothing) {
  const Tensor x = k_.input("x", kFloat32, {k_.index(9)}), at = k_.input("at", kInt64, {k_.index(4)});
  const Tensor checked = k_.compute("checked", kInt64, {k_.index(4)}, [&](Indices i) {
    k_.require(less(at.at(i), k_.index(9)), "outside");
    return at.at(i);
  });
  const Tensor y = k_.compute("y", kFloat32, {k_.index(4)}, [&](Indices i) { return x(checked.at(i)); });
  const std::string text = cuda(with(k_.finish("take", "take", {checked, y}), "i0", ForKind::kThreadX));
  const size_t second = text.find("void take_1(");
  ASSERT_NE(second, std::string::npos) << text;
  EXPECT_GT(text.find("if (relay_failed(failure)) return;"), second) << text;
}

TEST_F(Print, TheSameInputGivesTheSameText) {
  const auto build = [] {
    Arena arena;
    SymbolTable symbols(arena);
    ExprPool pool(arena, symbols);
    Builder k(pool);
    const Expr n = pool.shape_variable("n"), m = pool.shape_variable("m");
    const Tensor x = k.input("x", kFloat16, {n, m});
    const Tensor y = k.reduce("y", kFloat32, {m}, {n}, k.sum(kFloat32),
                              [&](Indices i, Indices r) { return cast(kFloat32, x(r[0], i[0])); });
    return print(k.finish("k", "sum", {y}), kCppDialect).text;
  };
  EXPECT_EQ(build(), build());
}

TEST_F(Print, ADeclarationIsTheHeadOfTheFunction) {
  const Tensor x = k_.input("x", kBFloat16, {n_});
  const Kernel k = k_.finish("copy", "copy", {x});
  const std::string head = declaration(k, kCppDialect);
  EXPECT_EQ(head,
            "int32_t copy(const relay_parallel* parallel, const uint16_t* __restrict x, uint16_t* __restrict "
            "x_copy, int64_t n)");
  EXPECT_NE(cpp(k).find("\n" + head + " {\n"), std::string::npos);
}

TEST(Names, AreUnique) {
  Names names;
  EXPECT_EQ(names.unique("x"), "x");
  EXPECT_EQ(names.unique("x"), "x_2");
  EXPECT_EQ(names.unique("x_2"), "x_2_2");
  EXPECT_EQ(names.unique("x"), "x_3");
}

// Texts of kernels at the limits (kernel/limits.h); what is nested in an expression gets names.
TEST_F(Print, KernelsAtTheLimits) {
  const Tensor x = k_.input("x", kFloat32, {n_});
  const Tensor y = k_.compute("y", kFloat32, {n_}, [&](Indices i) {
    Expr e = x.at(i);
    while (e->depth + 2 < kDeepestExpr) e = exp(e);
    return e;
  });
  const Tensor z = k_.compute("z", kFloat32, {n_}, [&](Indices i) {
    Expr e = x.at(i);
    for (int doublings = 0; doublings < 60; ++doublings) e = e * exp(e);
    return e;
  });
  Kernel k = k_.finish("k", "", {y, z});
  for (uint32_t loops = 4; loops < kDeepestNest; ++loops)
    k.body = make_for(arena_, pool_.variable("l"), n_, ForKind::kSerial, k.body);
  ASSERT_EQ(too_deep(k), "");
  EXPECT_LT(cpp(k).size(), size_t{1} << 22);
  EXPECT_LT(cuda(k).size(), size_t{1} << 22);
}

int most_brackets(const std::string& text) {
  int open = 0, most = 0;
  for (const char c : text) {
    open += (c == '{' || c == '(') - (c == '}' || c == ')');
    most = std::max(most, open);
  }
  return most;
}

// Clang refuses more than 256 brackets inside each other.
TEST_F(Print, ChoicesInsideEachOtherAreCutIntoParts) {
  const Tensor x = k_.input("x", kFloat32, {n_});
  const Tensor y = k_.compute("y", kFloat32, {n_}, [&](Indices i) {
    Expr e = x.at(i);
    for (int c = 0; e->depth + 4 < kDeepestExpr; ++c)
      e = select(less(i[0], k_.index(c)), exp(x.at(i)), exp(e));
    return e;
  });
  const Kernel k = k_.finish("k", "", {y});
  ASSERT_EQ(too_deep(k), "");
  EXPECT_NE(cpp(k).find("const auto part"), std::string::npos);
  EXPECT_LT(most_brackets(cpp(k)), 100);
  EXPECT_LT(most_brackets(cuda(k)), 100);
}

}  // namespace
}  // namespace relay::kernel::print
