#include "kernel/schedule/canonical_form.h"

#include "kernel/schedule/cpu/testing.h"
#include "kernel/schedule/stage.h"

namespace relay::kernel::schedule::cpu {
namespace {

class CanonicalFormTest : public CpuScheduleTest {
 protected:
  const Buffer* buffer(std::string_view name, const std::vector<Expr>& shape, DType dtype = kFloat32) {
    return arena_.make<Buffer>(next_buffer_++, symbols_.intern(name), dtype, arena_.list(shape),
                               Scope::kGlobal);
  }
  Expr load(const Buffer* b, const std::vector<Expr>& at) { return pool_.load(b, at); }
  Stmt store(const Buffer* b, const std::vector<Expr>& at, Expr value) {
    return make_store(arena_, b, at, value);
  }
  Stmt loop(const BlockIter& i, Stmt body, ForKind how = ForKind::kSerial) {
    return make_for(arena_, i.binding, i.extent, how, body);
  }
  BlockIter iter(std::string_view name, Expr extent, IterKind kind = IterKind::kSpatial) {
    return {pool_.variable(std::string("v") + std::string(name)), extent, kind, pool_.variable(name)};
  }
  Stmt block(std::string_view name, const std::vector<BlockIter>& iters, Stmt init, Stmt body) {
    return make_block(pool_, name, iters, {}, init, body);
  }
  Kernel kernel(const std::vector<const Buffer*>& in, const std::vector<const Buffer*>& out, Stmt body,
                const std::vector<const Buffer*>& temporaries = {}) {
    return {symbols_.intern("k"), arena_.list(in), arena_.list(out), arena_.list(temporaries), body, {}};
  }
  // y[i] = x[i] * 2, with what is done to the loop, the value and the body of the block.
  Kernel doubled(const std::function<Stmt(const BlockIter&, Stmt)>& around) {
    const Buffer *x = buffer("x", {index(4)}), *y = buffer("y", {index(4)});
    const BlockIter i = iter("i", index(4));
    return kernel({x}, {y}, around(i, block("y", {i}, nullptr, store(y, {i.var}, load(x, {i.var}) * 2))));
  }
  Values real(Shape shape) {
    Values t(kFloat32, std::move(shape));
    std::uniform_real_distribution<double> any(-1, 1);
    for (int64_t i = 0; i < t.size(); ++i) t.set(i, any(random_));
    return t;
  }
  // The scheduled kernel gives the bits of the one that was written, where every order of a
  // sum gives others.
  void expect_bits(const Kernel& k, const std::vector<Values>& in) {
    ASSERT_TRUE(validate(k).empty()) << validate(k)[0] << "\n" << show(k);
    const auto canonical = canonical_form(k);
    ASSERT_TRUE(canonical) << show(k);
    const Kernel s = schedule_for_cpu(canonical->kernel, cpu_with(4), {.in_order = true});
    EXPECT_TRUE(validate(s).empty()) << validate(s)[0] << "\n" << show(s);
    const std::vector<Values> want = execute(k, in);
    expect_results(want, canonical->kernel, in);
    expect_results(want, s, in);
  }

  uint32_t next_buffer_ = 0;
};

TEST_F(CanonicalFormTest, WhatBuilderWritesIsCanonical) {
  const kernel::Tensor x = input("x", {3, 5});
  const kernel::Tensor s = k_.reduce("s", kFloat32, {x.dim(0)}, {x.dim(1)}, k_.sum(kFloat32),
                                     [&](Indices i, Indices r) { return x(i[0], r[0]); });
  const kernel::Tensor y = k_.compute("y", kFloat32, x.shape(), [&](Indices i) { return x.at(i) - s(i[0]); });
  const Kernel k = k_.finish("k", "", {y});
  const auto canonical = canonical_form(k);
  ASSERT_TRUE(canonical);
  EXPECT_EQ(show(canonical->kernel), show(k));
}

TEST_F(CanonicalFormTest, LoopsOfAProductInAnyOrder) {
  const Expr m = index(7), n = index(9), k = index(11);
  const Buffer *a = buffer("a", {m, k}), *b = buffer("b", {k, n}), *c = buffer("c", {m, n});
  const BlockIter i = iter("i", m), j = iter("j", n), r = iter("r", k, IterKind::kReduction);
  const Stmt init = store(c, {i.var, j.var}, pool_.real(0, kFloat32));
  const Stmt body =
      store(c, {i.var, j.var}, load(c, {i.var, j.var}) + load(a, {i.var, r.var}) * load(b, {r.var, j.var}));
  for (const auto& order : std::vector<std::vector<BlockIter>>{{i, j, r}, {i, r, j}, {r, j, i}, {j, r, i}}) {
    Stmt nest = block("c", {r, j, i}, init, body);
    for (size_t l = order.size(); l-- > 0;) nest = loop(order[l], nest);
    const Kernel product = kernel({a, b}, {c}, nest);
    expect_bits(product, {real({7, 11}), real({11, 9})});
    const Kernel s = schedule_for_cpu(canonical_form(product)->kernel, cpu_with(4), {.in_order = true});
    EXPECT_NE(show(s).find("vectorized"), std::string::npos) << show(s);
  }
}

TEST_F(CanonicalFormTest, SumsAlongRowsKeepTheirOrder) {
  const Buffer *x = buffer("x", {index(3), index(70)}), *t = buffer("t", {index(3)}),
               *y = buffer("y", {index(3), index(70)});
  const BlockIter i = iter("i", index(3)), r = iter("r", index(70), IterKind::kReduction),
                  p = iter("p", index(3)), q = iter("q", index(70));
  const Stmt sum = loop(i, loop(r, block("t", {i, r}, store(t, {i.var}, pool_.real(0, kFloat32)),
                                         store(t, {i.var}, load(t, {i.var}) + load(x, {i.var, r.var})))));
  const Stmt rest =
      loop(p, loop(q, block("y", {p, q}, nullptr,
                            store(y, {p.var, q.var}, load(x, {p.var, q.var}) - load(t, {p.var})))));
  const Kernel rows = kernel({x}, {y}, make_sequence(arena_, {sum, rest}), {t});
  expect_bits(rows, {real({3, 70})});
  expect_bits(kernel({x}, {t}, sum), {real({3, 70})});
}

TEST_F(CanonicalFormTest, SumsThatBeginWithATensor) {
  const Buffer *x = buffer("x", {index(6), index(8)}), *bias = buffer("bias", {index(8)}),
               *y = buffer("y", {index(8)});
  const BlockIter i = iter("i", index(8)), r = iter("r", index(6), IterKind::kReduction);
  const Stmt body = store(y, {i.var}, load(y, {i.var}) + load(x, {r.var, i.var}));
  const Stmt nest = loop(r, loop(i, block("y", {i, r}, store(y, {i.var}, load(bias, {i.var})), body)));
  expect_bits(kernel({x, bias}, {y}, nest), {real({6, 8}), real({8})});

  const BlockIter j = iter("j", index(8));
  const Stmt first = loop(j, block("y_first", {j}, nullptr, store(y, {j.var}, load(bias, {j.var}))));
  const Stmt go_on = loop(r, loop(i, block("y", {i, r}, nullptr, body)));
  expect_bits(kernel({x, bias}, {y}, make_sequence(arena_, {first, go_on})), {real({6, 8}), real({8})});
}

// What an init reads is needed, so the reduction that makes it cannot be taken for the
// epilogue's alone.
TEST_F(CanonicalFormTest, InitsAreUses) {
  const Buffer *x = buffer("x", {index(4), index(8)}), *s = buffer("s", {index(8)}),
               *y = buffer("y", {index(8)}), *z = buffer("z", {index(8)});
  const auto sum = [&](std::string_view name, const Buffer* to, const std::function<Expr(Expr)>& init) {
    const BlockIter i = iter("i", index(8)), r = iter("r", index(4), IterKind::kReduction);
    return loop(i, loop(r, block(name, {i, r}, store(to, {i.var}, init(i.var)),
                                 store(to, {i.var}, load(to, {i.var}) + load(x, {r.var, i.var})))));
  };
  const BlockIter i = iter("i", index(8));
  const Stmt body =
      make_sequence(arena_, {sum("s", s, [&](Expr) { return pool_.real(0, kFloat32); }),
                             loop(i, block("y", {i}, nullptr, store(y, {i.var}, load(s, {i.var}) * 2))),
                             sum("z", z, [&](Expr v) { return load(s, {v}); })});
  expect_bits(kernel({x}, {y, z}, body, {s}), {real({4, 8})});
}

TEST_F(CanonicalFormTest, DimsOfOneElementNeedNoIterator) {
  const Buffer *x = buffer("x", {index(5)}), *y = buffer("y", {index(5), index(1)});
  const BlockIter i = iter("i", index(5));
  const Stmt nest = loop(i, block("y", {i}, nullptr, store(y, {i.var, index(0)}, load(x, {i.var}) + 1)));
  expect_bits(kernel({x}, {y}, nest), {real({5})});
}

TEST_F(CanonicalFormTest, BlocksGetDifferentNames) {
  const Buffer *x = buffer("x", {index(5)}), *t = buffer("t", {index(5)}), *y = buffer("y", {index(5)});
  const BlockIter i = iter("i", index(5)), j = iter("j", index(5));
  const Stmt body = make_sequence(
      arena_, {loop(i, block("b", {i}, nullptr, store(t, {i.var}, load(x, {i.var}) + 1))),
               loop(j, block("b", {j}, nullptr, store(y, {j.var}, load(t, {j.var}) * load(t, {j.var}))))});
  expect_bits(kernel({x}, {y}, body, {t}), {real({5})});
}

TEST_F(CanonicalFormTest, ReductionsOverNothingGiveTheirInit) {
  const Expr n = pool_.shape_variable("n");
  const Buffer *x = buffer("x", {index(2), n}), *y = buffer("y", {index(2)});
  const BlockIter i = iter("i", index(2)), r = iter("r", n, IterKind::kReduction);
  const Stmt nest = loop(i, loop(r, block("y", {i, r}, store(y, {i.var}, pool_.real(1, kFloat32)),
                                          store(y, {i.var}, load(y, {i.var}) * load(x, {i.var, r.var})))));
  const auto canonical = canonical_form(kernel({x}, {y}, nest));
  ASSERT_TRUE(canonical);
  for (int64_t size : {0, 1, 9}) expect_same(canonical->kernel, scheduled(canonical->kernel), {{n, size}});
}

TEST_F(CanonicalFormTest, RequirementsStayAtTheBeginning) {
  const Kernel k = doubled([&](const BlockIter& i, Stmt b) {
    const Stmt must = make_require(arena_, less(pool_.shape_variable("n"), index(5)), symbols_.intern("no"));
    return make_sequence(arena_, {must, loop(i, b)});
  });
  const auto canonical = canonical_form(k);
  ASSERT_TRUE(canonical);
  EXPECT_EQ(canonical->requirements.size(), 1u);
}

TEST_F(CanonicalFormTest, OtherFormsStayAsTheyAre) {
  const Buffer *x = buffer("x", {index(4)}), *y = buffer("y", {index(4)}), *z = buffer("z", {index(4)});
  const BlockIter i = iter("i", index(4)), r = iter("r", index(4), IterKind::kReduction);
  const Expr value = load(x, {i.var}) * 2;
  const Stmt body = store(y, {i.var}, value);
  const auto refused = [&](const char* what, Stmt nest, const std::vector<const Buffer*>& temporaries = {}) {
    EXPECT_FALSE(canonical_form(kernel({x}, {y}, nest, temporaries))) << what;
  };
  EXPECT_TRUE(canonical_form(kernel({x}, {y}, loop(i, block("y", {i}, nullptr, body)))));

  refused("scheduled", loop(i, block("y", {i}, nullptr, body), ForKind::kParallel));
  refused("a predicate", loop(i, make_block(pool_, "y", {i}, less(i.binding, index(4)), nullptr, body)));
  BlockIter backwards = i;
  backwards.binding = index(3) - i.binding;
  refused("another binding",
          make_for(arena_, i.binding, i.extent, ForKind::kSerial, block("y", {backwards}, nullptr, body)));
  refused("not over all of the extent",
          make_for(arena_, i.binding, index(2), ForKind::kSerial, block("y", {i}, nullptr, body)));
  refused("another place", loop(i, block("y", {i}, nullptr, store(y, {index(3) - i.var}, value))));
  refused("two stores",
          loop(i, block("y", {i}, nullptr, make_sequence(arena_, {body, store(z, {i.var}, value)}))), {z});
  refused(
      "may fail inside",
      loop(i, block("y", {i}, nullptr,
                    make_sequence(arena_, {make_require(arena_, less(load(x, {i.var}), value), {}), body}))));
  refused("two writers", make_sequence(arena_, {loop(i, block("y", {i}, nullptr, body)),
                                                refresh(pool_, loop(i, block("b", {i}, nullptr, body)))}));
  refused("reads itself", loop(i, block("y", {i}, nullptr, store(y, {i.var}, load(y, {i.var}) + value))));
  refused(
      "reads what is written later",
      make_sequence(arena_, {loop(i, block("y", {i}, nullptr, store(y, {i.var}, load(z, {i.var})))),
                             refresh(pool_, loop(i, block("z", {i}, nullptr, store(z, {i.var}, value))))}),
      {z});
  refused("writes an input", loop(i, block("x", {i}, nullptr, store(x, {i.var}, pool_.real(0, kFloat32)))));
  const Stmt sum = store(y, {i.var}, load(y, {i.var}) + load(x, {r.var}));
  refused("an init elsewhere",
          loop(i, loop(r, block("y", {i, r}, store(y, {index(3) - i.var}, pool_.real(0, kFloat32)), sum))));
  refused("no init", loop(i, loop(r, block("y", {i, r}, nullptr, sum))));
  refused("a loop variable in the block",
          loop(i, block("y", {i}, nullptr, store(y, {i.var}, cast(kFloat32, i.binding)))));
  refused("a loop within the block", block("y", {}, nullptr,
                                           make_for(arena_, r.binding, index(4), ForKind::kSerial,
                                                    store(y, {r.binding}, load(x, {r.binding})))));
  refused("local memory", make_allocate(arena_, z, loop(i, block("y", {i}, nullptr, body))));
}

TEST_F(CanonicalFormTest, IntegersAreNotDividedByWhatMayBeZero) {
  const Expr n = pool_.shape_variable("n");
  const Buffer *x = buffer("x", {n}, kInt64), *y = buffer("y", {n}, kInt64);
  const BlockIter i = iter("i", n);
  const auto with = [&](Expr value) {
    return canonical_form(kernel({x}, {y}, loop(i, block("y", {i}, nullptr, store(y, {i.var}, value)))));
  };
  EXPECT_TRUE(with(floor_div(load(x, {i.var}), 3)));
  EXPECT_TRUE(with(floor_mod(load(x, {i.var}), i.var + 1)));
  EXPECT_FALSE(with(floor_div(load(x, {i.var}), load(x, {i.var}))));
  EXPECT_FALSE(with(floor_mod(load(x, {i.var}), n)));
  EXPECT_FALSE(with(trunc_div(load(x, {i.var}), index(-1))));
}

// Kernels are read as stages for GPUs, too.
TEST_F(CanonicalFormTest, AnInitElsewhereMakesNoReduction) {
  const Buffer *x = buffer("x", {index(4), index(4)}), *y = buffer("y", {index(4)});
  const BlockIter i = iter("i", index(4)), r = iter("r", index(4), IterKind::kReduction);
  const Stmt sum = store(y, {i.var}, load(y, {i.var}) + load(x, {i.var, r.var}));
  const Stmt nest =
      loop(i, loop(r, block("y", {i, r}, store(y, {index(3) - i.var}, pool_.real(0, kFloat32)), sum)));
  EXPECT_EQ(stages_of(kernel({x}, {y}, nest))[0].kind, StageKind::kSequential);
  // The init at the first step writes over what the nest before it wrote.
  const BlockIter j = iter("j", index(4));
  const Stmt first = loop(j, block("first", {j}, nullptr, store(y, {j.var}, pool_.real(7, kFloat32))));
  const Stmt both = make_sequence(
      arena_, {first, loop(i, loop(r, block("y", {i, r}, store(y, {i.var}, pool_.real(0, kFloat32)), sum)))});
  EXPECT_EQ(stages_of(kernel({x}, {y}, both))[0].kind, StageKind::kSequential);
}

}  // namespace
}  // namespace relay::kernel::schedule::cpu
