#include "kernel/simplify.h"

#include <gtest/gtest.h>

#include <random>

#include "base/cat.h"
#include "kernel/buffer.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

class Simplify : public ::testing::Test {
 protected:
  Expr index(int64_t v) { return pool_.integer(v); }
  std::string simple(Expr e) { return show(simplify(e, bounds_)); }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  Bounds bounds_;
};

TEST_F(Simplify, Table) {
  const Expr i = pool_.variable("i"), j = pool_.variable("j"), k = pool_.variable("k"),
             u = pool_.variable("u");
  const Expr n = pool_.shape_variable("n"), a = pool_.variable("a"), one = pool_.variable("one");
  const Expr six = pool_.variable("six");
  bounds_.set(six, {6, 6});
  bounds_.bind(i, index(16));
  bounds_.bind(j, index(8));
  bounds_.bind(k, index(3));
  bounds_.bind(a, n);
  bounds_.bind(one, index(1));
  const struct {
    Expr from;
    const char* to;
  } kTable[] = {
      // Divisions and remainders of what a split made.
      {floor_div(i * 8 + j, 8), "i"},
      {floor_mod(i * 8 + j, 8), "j"},
      {floor_div(i * 8 + j + 16, 8), "i + 2"},
      {floor_div(j, 8), "0"},
      {floor_mod(j, 8), "j"},
      {floor_mod(j + 8, 8), "j"},
      {floor_div(i * 4 + k, 8), "i // 2"},
      {floor_mod(i * 4 + k, 8), "k + 4*(i % 2)"},
      {floor_div(j - 8, 8), "-1"},
      {floor_mod(j - 8, 8), "j"},
      {floor_div(i, 8), "i // 8"},
      {floor_mod(i, 8), "i % 8"},
      {floor_div(i * 8 + j * 2, 8), "i + j // 4"},
      {trunc_div(i * 8 + j, index(8)), "i"},
      {trunc_mod(i * 8 + j, index(8)), "j"},
      // Symbolic: a is in [0, n).
      {floor_div(i * n + a, n), "i"},
      {floor_mod(i * n + a, n), "a"},
      {floor_mod(a, n), "a"},
      {floor_div(a, n), "0"},
      // What a fused loop takes apart comes together again.
      {floor_div(i, 5) * 5 + floor_mod(i, 5), "i"},
      {floor_div(i, 5) * 10 + floor_mod(i, 5) * 2 + j, "2*i + j"},
      {floor_div(u, n) * n + floor_mod(u, n), "u"},
      {floor_div(i, 5) * 4 + floor_mod(i, 5), "4*(i // 5) + i % 5"},
      // Comparisons, minima, maxima, selections.
      {less(i, index(16)), "true"},
      {less(i, index(15)), "i < 15"},
      {less(i, index(0)), "false"},
      {less_equal(index(0), i - 1), "0 <= i - 1"},
      {less_equal(index(0), i), "true"},
      {less_equal(i, index(-1)), "false"},
      {less(a, n), "true"},
      {less(n, a), "false"},
      {less(a + 1, n), "a + 1 < n"},
      {less_equal(a + 1, n), "true"},
      {equal(i, index(20)), "false"},
      {not_equal(i, j - 8), "true"},
      {min(i, index(15)), "i"},
      {min(i, j + 16), "i"},
      {max(i, index(0)), "i"},
      {max(min(i, j), index(7)), "7"},
      {min(a, n - 1), "a"},
      {select(less(j, index(8)), i, k), "i"},
      {select(less(j, index(0)), i, k), "k"},
      {logical_and(less(i, index(16)), less(i, index(4))), "i < 4"},
      // A variable with one value.
      {i * 2 + one, "2*i"},
      // Extents that broadcast.
      {broadcast(n, one + 1), "n"},  // `one` is 0
      {broadcast(n, six), "6"},
      {broadcast(n, k), "broadcast(n, k)"},
      // Nothing is known about u.
      {floor_div(u, 8), "u // 8"},
      {less(u, index(8)), "u < 8"},
  };
  for (const auto& row : kTable) EXPECT_EQ(simple(row.from), row.to) << "of " << show(row.from);
}

TEST_F(Simplify, LoadedValuesMayWrap) {
  const Buffer* b = arena_.make<Buffer>(0u, symbols_.intern("b"), kInt64, List<Expr>());
  const Buffer* s = arena_.make<Buffer>(1u, symbols_.intern("s"), kInt8, List<Expr>());
  const Expr x = pool_.load(b, {}), y = cast(kInt64, pool_.load(s, {}));
  EXPECT_EQ(simple(less(x, x + 1)), "b[] < b[] + 1");
  EXPECT_EQ(simple(floor_div(x * 8 + 3, 8)), "(8*b[] + 3) // 8");
  EXPECT_EQ(simple(less(y, index(128))), "true");
  EXPECT_EQ(simple(less(y, index(127))), "int64(s[]) < 127");
}

TEST_F(Simplify, BoundsOfExpressions) {
  const Expr i = pool_.variable("i"), n = pool_.shape_variable("n");
  bounds_.set(i, {-3, 4});
  EXPECT_EQ(bounds_.of(i * -2 + 1), (Interval{-7, 7}));
  EXPECT_EQ(bounds_.of(i * i), (Interval{-12, 16}));
  EXPECT_EQ(bounds_.of(floor_div(i, 2)), (Interval{-2, 2}));
  EXPECT_EQ(bounds_.of(floor_mod(i, 4)), (Interval{0, 3}));
  EXPECT_EQ(bounds_.of(n + 1), (Interval{1, {}}));
  EXPECT_EQ(bounds_.of(min(n, index(8))), (Interval{0, 8}));
  EXPECT_EQ(bounds_.of(n * INT64_MAX + i), (Interval{-3, {}}));
  EXPECT_EQ(bounds_.of(broadcast(floor_mod(i, 4), floor_mod(n, 9))), (Interval{0, 8}));
}

TEST_F(Simplify, AnExtentThatIsAMinimumBoundsByBoth) {
  const Expr p = pool_.variable("p"), r = pool_.variable("r");
  bounds_.bind(p, index(3));
  bounds_.bind(r, min(index(64) - p * 28, index(28)));
  EXPECT_TRUE(bounds_.proves_less(p * 28 + r, index(64)));
  EXPECT_TRUE(bounds_.proves_less(r, index(28)));
  EXPECT_FALSE(bounds_.proves_less(p * 28 + r, index(63)));
}

// A condition that speaks of a multiple of what is asked: 16 p + r < 20, as 32 p + 2 r + s < 40.
TEST_F(Simplify, PartsOfAnAssumedSum) {
  const Expr p = pool_.variable("p"), r = pool_.variable("r"), s = pool_.variable("s");
  bounds_.bind(p, index(2));
  bounds_.bind(r, index(16));
  bounds_.bind(s, index(2));
  EXPECT_FALSE(bounds_.proves_less(p * 4 + floor_div(r, 4), index(5)));
  bounds_.assume(less(p * 32 + r * 2 + s, index(40)));
  EXPECT_TRUE(bounds_.proves_less(p * 16 + r, index(20)));
  EXPECT_TRUE(bounds_.proves_less(p * 4 + floor_div(r, 4), index(5)));
  EXPECT_FALSE(bounds_.proves_less(p * 16 + r, index(19)));
  EXPECT_FALSE(bounds_.proves_less(p * 4 + floor_div(r, 4), index(4)));
}

// Tiles of an axis are told apart by a division whose divisor is an extent: tile // (2*n + 1).
TEST_F(Simplify, AQuotientByAnExtent) {
  const Expr tile = pool_.variable("tile"), n = pool_.shape_variable("n");
  bounds_.bind(tile, (n * 2 + 1) * 3);
  EXPECT_TRUE(bounds_.proves_less(floor_div(tile, n * 2 + 1), index(3)));
  EXPECT_FALSE(bounds_.proves_less(floor_div(tile, n * 2 + 1), index(2)));
  // n may be 0.
  EXPECT_FALSE(bounds_.proves_less(floor_div(tile, n), index(3)));
}

TEST_F(Simplify, StatementsLoseWhatNeverRuns) {
  const Buffer* b =
      arena_.make<Buffer>(0u, symbols_.intern("b"), kFloat32, arena_.list(std::vector<Expr>{index(8)}));
  const Expr i = pool_.variable("i"), v = pool_.variable("v");
  Stmt block = make_block(pool_, "b", {{v, index(8), IterKind::kSpatial, floor_div(i * 2, 2)}},
                          less(i, index(9)), nullptr, make_store(arena_, b, {v}, pool_.real(0, kFloat32)));
  Stmt loop = make_for(arena_, i, index(8), ForKind::kSerial, make_if(arena_, less(i, index(8)), block));
  EXPECT_EQ(show(simplify(pool_, loop)), R"(for i in 8:
  block b:
    spatial v in 8 = i
    writes b[v]
    b[v] = 0f
)");
  EXPECT_EQ(show(simplify(pool_, make_for(arena_, i, index(8), ForKind::kSerial,
                                          make_if(arena_, less(i, index(0)), block)))),
            "nothing\n");
  Stmt once = simplify(pool_, loop);
  EXPECT_EQ(simplify(pool_, once), once);
}

TEST_F(Simplify, OffsetsOfFusedLoopsAreContiguous) {
  const Expr n = pool_.shape_variable("n"), q = pool_.variable("q");
  bounds_.bind(q, n * 49);
  const Buffer fixed{0, symbols_.intern("b"), kFloat32,
                     arena_.list(std::vector<Expr>{n, index(7), index(7)})};
  EXPECT_EQ(
      show(flat_offset(fixed, {floor_div(floor_div(q, 7), 7), floor_mod(floor_div(q, 7), 7), floor_mod(q, 7)},
                       bounds_)),
      "q");
  const Buffer symbolic{1, symbols_.intern("b"), kFloat32, arena_.list(std::vector<Expr>{index(3), n, n})};
  EXPECT_EQ(show(flat_offset(symbolic,
                             {floor_div(floor_div(q, n), n), floor_mod(floor_div(q, n), n), floor_mod(q, n)},
                             bounds_)),
            "q");
}

// Random expressions over variables with random ranges, as written and without any simplification.
class Random {
 public:
  Random(ExprPool& pool, uint32_t seed) : pool_(pool), engine_(seed) {
    for (int v = 0; v < 3; ++v) {
      vars_.push_back(pool.variable(cat("v", v)));
      low_.push_back(pick(-9, 9));
      high_.push_back(low_.back() + pick(0, 12));
    }
  }
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }

  Bounds bounds() const {
    Bounds b;
    for (size_t i = 0; i < vars_.size(); ++i) b.set(vars_[i], {low_[i], high_[i]});
    return b;
  }
  std::unordered_map<const ExprNode*, int64_t> values() {
    std::unordered_map<const ExprNode*, int64_t> out;
    for (size_t i = 0; i < vars_.size(); ++i) out[vars_[i].get()] = pick(low_[i], high_[i]);
    return out;
  }

  Expr number(int depth) {
    if (depth == 0)
      return pick(0, 2) == 0 ? pool_.integer(pick(-8, 8)) : vars_[static_cast<size_t>(pick(0, 2))];
    const Expr a = number(depth - 1);
    switch (pick(0, 8)) {
      case 0:
      case 1: return raw(ExprKind::kAdd, a, number(depth - 1));
      case 2: return raw(ExprKind::kMul, a, pool_.integer(pick(-8, 8)));
      case 3: return raw(ExprKind::kFloorDiv, a, pool_.integer(pick(1, 9)));
      case 4: return raw(ExprKind::kFloorMod, a, pool_.integer(pick(1, 9)));
      case 5: return raw(ExprKind::kMin, a, number(depth - 1));
      case 6: return raw(ExprKind::kMax, a, number(depth - 1));
      case 7:
        return raw(pick(0, 1) ? ExprKind::kTruncDiv : ExprKind::kTruncMod, a, pool_.integer(pick(1, 9)));
      default:
        return pool_.as_is(ExprKind::kSelect, kInt64,
                           {truth(depth - 1).get(), a.get(), number(depth - 1).get()});
    }
  }
  Expr truth(int depth) {
    static constexpr ExprKind kCompare[] = {ExprKind::kEqual, ExprKind::kNotEqual, ExprKind::kLess,
                                            ExprKind::kLessEqual};
    const Expr a = number(depth), b = number(depth);
    return pool_.as_is(kCompare[pick(0, 3)], kBool, {a.get(), b.get()});
  }

 private:
  Expr raw(ExprKind kind, Expr a, Expr b) { return pool_.as_is(kind, kInt64, {a.get(), b.get()}); }

  ExprPool& pool_;
  std::mt19937 engine_;
  std::vector<Expr> vars_;
  std::vector<int64_t> low_, high_;
};

// The same expression through the simplifying constructors.
Expr rebuilt(Expr e) {
  std::vector<Expr> args;
  for (const ExprNode* a : e->args) args.push_back(rebuilt(a));
  return args.empty() ? e : e->pool->make(e->kind, e->dtype, args);
}

TEST_F(Simplify, KeepsTheValueOfRandomExpressions) {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    Random random(pool_, seed);
    const Expr raw = seed % 4 == 0 ? random.truth(2) : random.number(static_cast<int>(seed % 5));
    const Bounds bounds = random.bounds();
    const Expr canonical = rebuilt(raw), simple = simplify(canonical, bounds);
    const Interval range = bounds.of(canonical);
    for (int i = 0; i < 20; ++i) {
      const auto values = random.values();
      const auto expected = evaluate(raw, values);
      ASSERT_TRUE(expected.has_value()) << show(raw);
      ASSERT_EQ(expected, evaluate(canonical, values))
          << "seed " << seed << ": " << show(raw) << " became " << show(canonical);
      ASSERT_EQ(expected, evaluate(simple, values))
          << "seed " << seed << ": " << show(canonical) << " became " << show(simple);
      ASSERT_TRUE(!range.low || *range.low <= *expected) << "seed " << seed << ": " << show(canonical);
      ASSERT_TRUE(!range.high || *range.high >= *expected) << "seed " << seed << ": " << show(canonical);
    }
    // Simplifying again changes nothing, and what is not changed is the same node.
    ASSERT_EQ(simplify(simple, bounds).get(), simple.get())
        << "seed " << seed << ": " << show(simple) << " became " << show(simplify(simple, bounds));
  }
}

}  // namespace
}  // namespace relay::kernel
