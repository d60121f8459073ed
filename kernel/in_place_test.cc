#include "kernel/in_place.h"

#include <gtest/gtest.h>

#include "kernel/builder.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

class InPlace : public ::testing::Test {
 protected:
  Expr index(int64_t v) { return pool_.integer(v); }
  // y of x, both vectors of 64 floats.
  bool of_vectors(const std::function<Expr(Tensor x, Expr i)>& f) {
    Builder k(pool_);
    const Tensor x = k.input("x", kFloat32, {index(64)});
    const Tensor y = k.compute("y", kFloat32, {index(64)}, [&](Indices i) { return f(x, i[0]); });
    return may_share(k.finish("k", "", {y}), 0, 0);
  }
  bool shares(const std::vector<Tensor>& outputs, size_t output = 0) {
    return may_share(k_.finish("k", "", outputs), 0, output);
  }

  // A kernel of vectors x and y by hand.
  const Buffer* buffer(uint32_t id, std::string_view name, int64_t extent) {
    const std::vector<Expr> shape{index(extent)};
    return arena_.make<Buffer>(Buffer{id, symbols_.intern(name), kFloat32, arena_.list(shape)});
  }
  bool by_hand(const Buffer* x, const Buffer* y, Stmt body) {
    const std::vector<const Buffer*> inputs{x}, outputs{y};
    return may_share(
        {symbols_.intern("k"), arena_.list(inputs), arena_.list(outputs), {}, body, symbols_.intern("")}, 0,
        0);
  }
  // y[at] = x[from] + 1, in loops of these extents; `at` of their variables.
  using Place = std::function<Expr(const std::vector<Expr>&)>;
  Stmt nest(const Buffer* x, const Buffer* y, const std::vector<int64_t>& extents, const Place& at,
            const Place& from) {
    std::vector<Expr> loops;
    for (size_t l = 0; l < extents.size(); ++l) loops.push_back(pool_.variable("l"));
    Stmt s = make_store(arena_, y, {at(loops)}, pool_.load(x, {from(loops)}) + pool_.real(1, kFloat32));
    for (size_t l = extents.size(); l-- > 0;)
      s = make_for(arena_, loops[l], index(extents[l]), ForKind::kSerial, s);
    return s;
  }
  bool nest_shares(const std::vector<int64_t>& extents, const Place& at) {
    const Buffer *x = buffer(0, "x", 64), *y = buffer(1, "y", 64);
    return by_hand(x, y, nest(x, y, extents, at, at));
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  Builder k_{pool_};
};

TEST_F(InPlace, AnElementwiseUpdate) {
  EXPECT_TRUE(of_vectors([](Tensor x, Expr i) { return exp(x(i)) * x(i); }));
}

TEST_F(InPlace, OtherInputsAreReadAnywhere) {
  const Tensor x = k_.input("x", kFloat32, {index(8), index(8)}),
               g = k_.input("g", kFloat32, {index(8), index(8)});
  EXPECT_TRUE(shares({k_.compute("y", kFloat32, {index(8), index(8)},
                                 [&](Indices i) { return x(i[0], i[1]) - g(i[1], i[0]); })}));
}

TEST_F(InPlace, AShiftedElementIsReadAfterItIsReplaced) {
  EXPECT_FALSE(of_vectors([&](Tensor x, Expr i) { return x(i) + x(max(i - 1, index(0))); }));
  EXPECT_FALSE(of_vectors([&](Tensor x, Expr i) { return x(index(63) - i); }));
  EXPECT_FALSE(of_vectors([&](Tensor x, Expr) { return x(index(0)); }));
}

TEST_F(InPlace, ATransposedTensor) {
  const Tensor x = k_.input("x", kFloat32, {index(8), index(8)});
  EXPECT_FALSE(
      shares({k_.compute("y", kFloat32, {index(8), index(8)}, [&](Indices i) { return x(i[1], i[0]); })}));
}

// The same elements in the same order.
TEST_F(InPlace, AnotherShape) {
  const Tensor x = k_.input("x", kFloat32, {index(4), index(16)});
  EXPECT_TRUE(shares({k_.compute("y", kFloat32, {index(64)}, [&](Indices i) {
    return x(floor_div(i[0], 16), floor_mod(i[0], 16)) * k_.constant(kFloat32, 2);
  })}));
}

TEST_F(InPlace, AnotherDType) {
  const Tensor x = k_.input("x", kFloat32, {index(64)});
  EXPECT_FALSE(
      shares({k_.compute("y", kInt32, {index(64)}, [&](Indices i) { return cast(kInt32, x(i[0])); })}));
}

// The loop writes half of y, and x has no more than that half.
TEST_F(InPlace, AnotherNumberOfElements) {
  const Place at = [](const auto& l) { return l[0]; };
  const auto of = [&](int64_t elements) {
    const Buffer *x = buffer(0, "x", elements), *y = buffer(1, "y", 64);
    return by_hand(x, y, nest(x, y, {32}, at, at));
  };
  EXPECT_TRUE(of(64));
  EXPECT_FALSE(of(32));
}

TEST_F(InPlace, AScalar) {
  const Tensor t = k_.input("t", kInt32, {});
  EXPECT_TRUE(shares({k_.compute("next", kInt32, {}, [&](Indices) { return t() + 1; })}));
}

TEST_F(InPlace, SumsReadAllOfIt) {
  const Tensor x = k_.input("x", kFloat32, {index(64)});
  const Tensor total = k_.reduce("total", kFloat32, {}, {index(64)}, k_.sum(kFloat32),
                                 [&](Indices, Indices r) { return x(r[0]); });
  EXPECT_FALSE(
      shares({k_.compute("y", kFloat32, {index(64)}, [&](Indices i) { return x(i[0]) / total(); })}));
}

// The second output is written after the first one is.
TEST_F(InPlace, TwoOutputsOfOneInput) {
  const Tensor x = k_.input("x", kFloat32, {index(64)});
  const Tensor y = k_.compute("y", kFloat32, {index(64)}, [&](Indices i) { return exp(x(i[0])); });
  const Tensor z = k_.compute("z", kFloat32, {index(64)}, [&](Indices i) { return sqrt(x(i[0])); });
  EXPECT_FALSE(shares({y, z}, 0));
  EXPECT_FALSE(shares({y, z}, 1));
}

TEST_F(InPlace, LoopsThatWriteEachElementOnce) {
  EXPECT_TRUE(nest_shares({64}, [](const auto& l) { return l[0]; }));
  EXPECT_TRUE(nest_shares({8, 8}, [](const auto& l) { return l[0] * 8 + l[1]; }));
  EXPECT_TRUE(nest_shares({8, 8}, [](const auto& l) { return l[0] + l[1] * 8; }));
  EXPECT_TRUE(nest_shares({8, 1, 4}, [](const auto& l) { return l[0] * 8 + l[2] * 2; }));
}

TEST_F(InPlace, LoopsThatWriteAnElementTwice) {
  EXPECT_FALSE(nest_shares({8, 8}, [](const auto& l) { return l[0] * 4 + l[1]; })) << "tiles overlap";
  EXPECT_FALSE(nest_shares({64, 2}, [](const auto& l) { return l[0]; }));
  EXPECT_FALSE(nest_shares({64}, [&](const auto& l) { return min(l[0], index(40)); }));
}

TEST_F(InPlace, SeveralStores) {
  const Buffer *x = buffer(0, "x", 64), *y = buffer(1, "y", 64);
  const auto both = [&](int64_t second) {
    const Place first_place = [](const auto& l) { return l[0]; };
    const Place second_place = [&](const auto& l) { return l[0] + second; };
    return by_hand(x, y,
                   make_sequence(arena_, {nest(x, y, {32}, first_place, first_place),
                                          nest(x, y, {64 - second}, second_place, second_place)}));
  };
  EXPECT_TRUE(both(32));
  EXPECT_FALSE(both(16)) << "half of the elements are replaced twice";
}

TEST_F(InPlace, WhatReadsTheOutputOrAsksForTheInput) {
  const Buffer *x = buffer(0, "x", 64), *y = buffer(1, "y", 64);
  const Expr i = pool_.variable("i");
  const Expr one = pool_.real(1, kFloat32);
  const auto loop = [&](Stmt body) {
    return by_hand(x, y, make_for(arena_, i, index(64), ForKind::kSerial, body));
  };
  EXPECT_FALSE(loop(make_store(arena_, y, {i}, pool_.load(x, {i}) + pool_.load(y, {i}))));
  const auto where = [&](Expr asked) {
    return loop(make_if(arena_, less(pool_.load(x, {asked}), one), make_store(arena_, y, {i}, one),
                        make_store(arena_, y, {i}, pool_.load(x, {i}))));
  };
  EXPECT_FALSE(where(index(0)));
  EXPECT_FALSE(where(i)) << "two stores that write the same places are not told apart";
  EXPECT_FALSE(loop(make_nop(arena_))) << "nothing is written";
}

// for i in 64: { t = 0; for r in 3: t = t + x[i + shift];  y[i] = t }
TEST_F(InPlace, WhatIsReadInTheRoundThatReplacesIt) {
  const Buffer *x = buffer(0, "x", 64), *y = buffer(1, "y", 64);
  const std::vector<Expr> one{index(1)};
  const Buffer* t =
      arena_.make<Buffer>(Buffer{2, symbols_.intern("t"), kFloat32, arena_.list(one), Scope::kLocal});
  const auto sums = [&](int64_t shift, bool reads_first, ForKind inner) {
    const Expr i = pool_.variable("i"), r = pool_.variable("r"), sum = pool_.load(t, {index(0)});
    const Stmt read = make_for(arena_, r, index(3), inner,
                               make_store(arena_, t, {index(0)}, sum + pool_.load(x, {i + shift})));
    const Stmt write = make_store(arena_, y, {i}, sum);
    return by_hand(x, y,
                   make_for(arena_, i, index(64), ForKind::kSerial,
                            make_allocate(arena_, t,
                                          reads_first ? make_sequence(arena_, {read, write})
                                                      : make_sequence(arena_, {write, read}))));
  };
  EXPECT_TRUE(sums(0, true, ForKind::kSerial));
  EXPECT_FALSE(sums(-1, true, ForKind::kSerial));
  EXPECT_FALSE(sums(0, false, ForKind::kSerial));
  EXPECT_FALSE(sums(0, true, ForKind::kThreadX)) << "another thread may write first";
}

// for p in 4: { for j in 16: t = max(t, x[16 p + j + shift]);  for j in 16: y[16 p + j] = x[16 p + j] - t }
TEST_F(InPlace, RoundsThatReadTheirPartBeforeTheyWriteIt) {
  const Buffer *x = buffer(0, "x", 64), *y = buffer(1, "y", 64);
  const std::vector<Expr> one{index(1)};
  const Buffer* t =
      arena_.make<Buffer>(Buffer{2, symbols_.intern("t"), kFloat32, arena_.list(one), Scope::kLocal});
  const auto planes = [&](int64_t shift, bool reads_first, ForKind how) {
    const Expr p = pool_.variable("p"), i = pool_.variable("i"), j = pool_.variable("j");
    const Expr most = pool_.load(t, {index(0)});
    const Stmt read =
        make_for(arena_, i, index(16), ForKind::kSerial,
                 make_store(arena_, t, {index(0)}, max(most, pool_.load(x, {p * 16 + i + shift}))));
    const Stmt write = make_for(arena_, j, index(16), ForKind::kSerial,
                                make_store(arena_, y, {p * 16 + j}, pool_.load(x, {p * 16 + j}) - most));
    const Stmt body =
        reads_first ? make_sequence(arena_, {read, write}) : make_sequence(arena_, {write, read});
    return by_hand(x, y, make_for(arena_, p, index(4), how, make_allocate(arena_, t, body)));
  };
  EXPECT_TRUE(planes(0, true, ForKind::kSerial));
  EXPECT_TRUE(planes(0, true, ForKind::kParallel));
  EXPECT_FALSE(planes(-1, true, ForKind::kSerial)) << "the round before has written that";
  EXPECT_FALSE(planes(0, false, ForKind::kSerial));
  EXPECT_FALSE(planes(0, true, ForKind::kBlockX)) << "no barrier stands between the two loops";
}

}  // namespace
}  // namespace relay::kernel
