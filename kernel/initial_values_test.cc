#include "kernel/initial_values.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "base/failure.h"
#include "kernel/builder.h"
#include "kernel/definite_assignment.h"
#include "kernel/execute.h"
#include "kernel/explicit_checks.h"
#include "kernel/fits.h"
#include "kernel/statements.h"
#include "kernel/validate.h"

namespace relay::kernel {
namespace {

using Loops = std::vector<std::pair<Expr, Expr>>;  // variables and extents, outer ones first

class InitialValues : public testing::Test {
 protected:
  const Buffer* buffer(std::string_view name, const std::vector<Expr>& shape, Scope scope = Scope::kGlobal) {
    return arena_.make<Buffer>(Buffer{next_++, symbols_.intern(name), kFloat32, arena_.list(shape), scope});
  }
  Stmt store(const Buffer* b, const std::vector<Expr>& at, double value) {
    return make_store(arena_, b, at, pool_.real(value, kFloat32));
  }
  // b[bindings] = value, a block in loops.
  Stmt nest(const Buffer* b, const std::vector<Expr>& bindings, const Loops& loops, Expr predicate = {}) {
    std::vector<BlockIter> iters;
    std::vector<Expr> at;
    for (size_t d = 0; d < bindings.size(); ++d) {
      iters.push_back({pool_.variable("v"), b->shape[d], IterKind::kSpatial, bindings[d]});
      at.push_back(iters.back().var);
    }
    return around(loops, make_block(pool_, b->name.text(), iters, predicate, nullptr, store(b, at, 1)));
  }
  Stmt around(const Loops& loops, Stmt s) {
    for (size_t l = loops.size(); l-- > 0;)
      s = make_for(arena_, loops[l].first, loops[l].second, ForKind::kSerial, s);
    return s;
  }
  Kernel kernel(const std::vector<const Buffer*>& inputs, const std::vector<const Buffer*>& outputs,
                Stmt body) {
    Kernel k{symbols_.intern("k"), arena_.list(inputs), arena_.list(outputs), {}, body, symbols_.intern("")};
    return k;
  }
  bool is_assigned(const Buffer* z, Stmt body) {
    const Kernel k = kernel({}, {z}, body);
    const bool assigned = not_definitely_assigned(k).empty();
    EXPECT_EQ(with_initial_values(k).body == body, assigned) << show(body);
    return assigned;
  }
  // What a pass over it makes, which a second one leaves alone.
  Kernel checked(const Kernel& k) {
    const Kernel once = with_explicit_checks(k), twice = with_explicit_checks(once);
    EXPECT_EQ(twice.body, once.body) << show(once) << "\n" << show(twice);
    EXPECT_TRUE(validate(once).empty()) << show(once);
    return once;
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  uint32_t next_ = 100;
  Expr n_ = pool_.shape_variable("n"), m_ = pool_.shape_variable("m");
  Expr i_ = pool_.variable("i"), j_ = pool_.variable("j"), r_ = pool_.variable("r");
  Expr int_(int64_t v) { return pool_.integer(v); }
};

TEST_F(InitialValues, LoopsThatReachAllOfAnOutput) {
  const Buffer *z = buffer("z", {n_ * 4}), *w = buffer("w", {n_, n_ * m_}), *s = buffer("s", {});
  EXPECT_TRUE(is_assigned(s, nest(s, {}, {})));
  EXPECT_TRUE(is_assigned(z, nest(z, {i_}, {{i_, n_ * 4}})));
  EXPECT_TRUE(is_assigned(z, nest(z, {i_ * 4 + j_}, {{i_, n_}, {j_, int_(4)}})));
  EXPECT_TRUE(is_assigned(z, nest(z, {i_ * n_ + j_}, {{i_, int_(4)}, {j_, n_}})));
  EXPECT_TRUE(is_assigned(z, nest(z, {i_}, {{r_, int_(2)}, {i_, n_ * 4}})));
  EXPECT_TRUE(is_assigned(w, nest(w, {r_, i_ * m_ + j_}, {{i_, n_}, {r_, n_}, {j_, m_}})));
}

TEST_F(InitialValues, LoopsThatMayLeaveOutSomething) {
  const Buffer *z = buffer("z", {n_ * 4}), *w = buffer("w", {n_, n_});
  EXPECT_FALSE(is_assigned(z, nest(z, {i_}, {{i_, n_ * 4 - 1}})));
  EXPECT_FALSE(is_assigned(z, nest(z, {i_ + 1}, {{i_, n_ * 4}})));
  EXPECT_FALSE(is_assigned(z, nest(z, {i_ * 4 + j_}, {{i_, n_}, {j_, int_(3)}})));
  EXPECT_FALSE(is_assigned(z, nest(z, {i_ * 3 + j_}, {{i_, n_}, {j_, int_(4)}})));
  EXPECT_FALSE(is_assigned(z, nest(z, {i_}, {{r_, m_}, {i_, n_ * 4}})));  // m may be 0
  EXPECT_FALSE(is_assigned(z, nest(z, {i_}, {{i_, n_ * 4}}, less(i_, m_))));
  EXPECT_FALSE(is_assigned(z, make_if(arena_, less(n_, m_), nest(z, {i_}, {{i_, n_ * 4}}))));
  EXPECT_FALSE(is_assigned(w, nest(w, {i_, i_}, {{i_, n_}})));
  EXPECT_FALSE(is_assigned(w, nest(w, {i_, j_}, {{i_, n_}, {j_, i_}})));
  // (n - 5) * (m - 5) is 9 where both are 2, and neither loop runs.
  const Buffer* product = buffer("p", {(n_ - 5) * (m_ - 5)});
  EXPECT_FALSE(is_assigned(product, nest(product, {i_ * (m_ - 5) + j_}, {{i_, n_ - 5}, {j_, m_ - 5}})));
}

TEST_F(InitialValues, BothSidesOfAConditionWrite) {
  const Buffer* z = buffer("z", {n_});
  const Stmt one = nest(z, {i_}, {{i_, n_}}), other = nest(z, {j_}, {{j_, n_}});
  EXPECT_TRUE(is_assigned(z, make_if(arena_, less(m_, n_), one, other)));
  EXPECT_FALSE(is_assigned(z, make_if(arena_, less(m_, n_), one, make_nop(arena_))));
}

// Reads of what was written before, in the same iteration or in all of them; and of what was not.
TEST_F(InitialValues, ReadsAfterWrites) {
  const auto reads = [&](Expr shift) {
    const Buffer *t = buffer("t", {n_}, Scope::kLocal), *z = buffer("z", {n_});
    const Expr v = pool_.variable("v");
    const Stmt copy = make_block(pool_, "z", {{v, n_, IterKind::kSpatial, j_}}, {}, nullptr,
                                 make_store(arena_, z, {v}, pool_.load(t, {v + shift})));
    const Stmt both = make_sequence(arena_, {nest(t, {i_}, {{i_, n_ - 1}}), around({{j_, n_ - 1}}, copy)});
    return not_definitely_assigned(kernel({}, {z}, make_allocate(arena_, t, both))).contains(t);
  };
  EXPECT_FALSE(reads(int_(0)));
  EXPECT_TRUE(reads(int_(1)));
}

TEST_F(InitialValues, ReductionsWithoutSteps) {
  Builder k(pool_);
  const Tensor x = k.input("x", kFloat32, {n_, m_});
  const Kernel plain = k.finish("sums", "",
                                {k.reduce("z", kFloat32, {n_}, {m_}, k.sum(kFloat32),
                                          [&](Indices i, Indices r) { return x(i[0], r[0]); })});
  EXPECT_EQ(with_explicit_checks(plain).body, plain.body);  // Builder begins apart

  const Buffer *in = buffer("x", {n_, m_}), *z = buffer("z", {n_});
  const Expr v = pool_.variable("v"), vr = pool_.variable("vr");
  const auto sums = [&](const Stmt& before) {
    const Stmt block = make_block(
        pool_, "z", {{v, n_, IterKind::kSpatial, i_}, {vr, m_, IterKind::kReduction, r_}}, {},
        store(z, {v}, 5), make_store(arena_, z, {v}, pool_.load(z, {v}) + pool_.load(in, {v, vr})));
    return kernel({in}, {z}, around({{i_, n_}}, make_sequence(arena_, {before, around({{r_, m_}}, block)})));
  };
  const auto run = [&](const Kernel& of, int64_t steps) {
    ::relay::Tensor t(kFloat32, {2, steps});
    for (int64_t i = 0; i < t.size(); ++i) t.set(i, 1);
    const ::relay::Tensor out = execute(of, std::vector<::relay::Tensor>{t})[0];
    return std::vector<double>{out.get(0), out.get(1)};
  };
  const Buffer* note = buffer("note", {int_(1)}, Scope::kLocal);
  const Stmt something = make_allocate(arena_, note, nest(note, {int_(0)}, {}));
  for (const Kernel& of : {checked(sums(nullptr)), checked(sums(something))}) {
    EXPECT_EQ(run(of, 0), std::vector<double>({5, 5})) << show(of);
    EXPECT_EQ(run(of, 3), std::vector<double>({8, 8})) << show(of);
  }
}

TEST_F(InitialValues, ZerosAndRequirementsAreWrittenOnce) {
  const auto run = [&](Expr extent) -> std::string {
    const Buffer *x = buffer("x", {n_}), *z = buffer("z", {n_});
    const Kernel k = checked(kernel({x}, {z}, nest(z, {i_}, {{i_, extent}})));
    try {
      const ::relay::Tensor out = execute(k, std::vector<::relay::Tensor>{::relay::Tensor(kFloat32, {3})})[0];
      return cat(out.get(0), " ", out.get(1), " ", out.get(2));
    } catch (const Trap& t) {
      return t.what();
    }
  };
  EXPECT_EQ(run(n_), "1 1 1");
  EXPECT_EQ(run(n_ - 2), "1 0 0");
  EXPECT_EQ(run(n_ - 9), "0 0 0");
  EXPECT_EQ(run(n_ + INT64_MAX),
            "kernel `@k`: `n + 9223372036854775807`, the extent of loop `i`, does not fit 64 bits");
}

TEST_F(InitialValues, WhatFits64Bits) {
  Bounds bounds;
  bounds.bind(i_, n_);
  bounds.bind(j_, n_);
  const auto condition = [&](Expr e, std::vector<Expr> known = {}) { return show(fits(e, bounds, known)); };
  EXPECT_EQ(condition(n_ - 2), "true");
  EXPECT_EQ(condition(n_ - m_), "true");
  EXPECT_EQ(condition(n_ * 4, {n_ * 4 + 1}), "true");
  EXPECT_EQ(condition(i_ * 4096 + j_), "true");
  EXPECT_EQ(condition(n_ + INT64_MAX), "n <= 0");
  EXPECT_EQ(condition(floor_div(n_ + INT64_MAX, m_)), "n <= 0");
  EXPECT_EQ(condition(n_ * 4), "n <= 2305843009213693951");
  // As it counts: 0 and 1 of the other factor, and numbers at the limit.
  const Expr product = fits(n_ * m_, {}, {});
  const auto holds = [&](int64_t n, int64_t m) {
    return substitute(product, {{n_.get(), int_(n)}, {m_.get(), int_(m)}}).is_int(1);
  };
  EXPECT_TRUE(holds(INT64_MAX, 0) && holds(INT64_MAX, 1) && holds(int64_t{1} << 31, int64_t{1} << 31));
  EXPECT_FALSE(holds(INT64_MAX, 2) || holds(int64_t{1} << 32, int64_t{1} << 32) || holds(2, INT64_MAX));
}

}  // namespace
}  // namespace relay::kernel
