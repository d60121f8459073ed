#include "kernel/validate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/cat.h"
#include "kernel/builder.h"
#include "kernel/race_check.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

class Validate : public ::testing::Test {
 protected:
  Validate() {
    const Tensor x = k_.input("x", kFloat32, {pool_.integer(8)});
    const Tensor y = k_.compute("y", kFloat32, {pool_.integer(8)}, [&](Indices i) { return x.at(i) * 2; });
    kernel_ = k_.finish("k", "", {y});
  }

  // The kernel with each statement of type T changed.
  template <class T>
  Kernel with(const std::function<void(T&)>& change) {
    Kernel out = kernel_;
    out.body = rewrite(arena_, kernel_.body, [&](Stmt s) -> Stmt {
      const auto* n = s->as<T>();
      if (n == nullptr) return s;
      T copy = *n;
      change(copy);
      return arena_.make<T>(copy);
    });
    return out;
  }
  void expect_problem(const Kernel& k, std::string_view problem) {
    const std::vector<std::string> found = validate(k);
    for (const std::string& p : found) {
      if (p.find(problem) != std::string::npos) return;
    }
    ADD_FAILURE() << "nobody said: " << problem << "\n" << show(k) << (found.empty() ? "" : found[0]);
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  Builder k_{pool_};
  Kernel kernel_;
};

TEST_F(Validate, WhatBuilderWritesIsWellFormed) { EXPECT_TRUE(validate(kernel_).empty()); }

TEST_F(Validate, AVariableBoundTwice) {
  Kernel twice = kernel_;
  twice.body = make_sequence(arena_, {kernel_.body, kernel_.body});
  expect_problem(twice, "variable `i0` is bound twice");
}
// What fills a tensor with zeros is a start, and no result that gets lost.
TEST_F(Validate, OnlyZerosAreWrittenOver) {
  const auto begun_with = [&](double value) {
    Kernel out = kernel_;
    const Stmt first = rewrite(arena_, refresh(pool_, kernel_.body), [&](Stmt s) -> Stmt {
      const auto* n = s->as<Store>();
      if (n == nullptr) return s;
      Store copy = *n;
      copy.value = pool_.real(value, kFloat32);
      return arena_.make<Store>(copy);
    });
    out.body = make_sequence(arena_, {first, kernel_.body});
    return out;
  };
  EXPECT_TRUE(validate(begun_with(0)).empty());
  expect_problem(begun_with(1), "over what nothing has read");
}
// What a call of the extent 0 makes of a kernel whose regions were right for all extents.
TEST_F(Validate, ABlockThatNeverRunsAccessesNothing) {
  const auto sums = [&](int64_t steps) {
    Builder k(pool_);
    const Tensor x = k.input("x", kFloat32, {pool_.integer(steps)});
    Kernel out =
        k.finish("k", "",
                 {k.update(
                     "y", kFloat32, {pool_.integer(1)}, [&](Indices) { return k.constant(kFloat32, 0); },
                     {pool_.integer(steps)}, [&](Indices) { return std::vector<Expr>{pool_.integer(0)}; },
                     [&](Tensor self, Indices r) { return self(pool_.integer(0)) + x.at(r); })});
    out.body = rewrite(arena_, out.body, [&](Stmt s) -> Stmt {
      const auto* b = s->as<Block>();
      if (b == nullptr || b->iters.size() != 1 || b->iters[0].kind != IterKind::kReduction) return s;
      Block copy = *b;
      const Expr v = b->iters[0].var;
      copy.reads =
          arena_.list(std::vector<Region>{{b->writes[0].buffer, b->writes[0].min, b->writes[0].extent},
                                          {x.buffer(), arena_.list(std::vector<Expr>{steps ? v + 1 : v}),
                                           arena_.list(std::vector<Expr>{pool_.integer(1)})}});
      return arena_.make<Block>(copy);
    });
    return out;
  };
  EXPECT_TRUE(validate(sums(0)).empty());
  expect_problem(sums(4), "reads `x` outside the declared regions");
}
TEST_F(Validate, AHintToFetchALocalBuffer) {
  const auto fetching = [&](Scope scope, int64_t at) {
    const Buffer* b = new_buffer(pool_, kernel_, "b", kFloat32, {pool_.integer(4)}, scope);
    Kernel k = kernel_;
    const Stmt fetch = make_prefetch(arena_, b, {pool_.integer(at)});
    k.body = make_sequence(arena_, {make_allocate(arena_, b, fetch), k.body});
    return k;
  };
  expect_problem(fetching(Scope::kLocal, 0), "local buffer `b` is prefetched");
  EXPECT_TRUE(validate(fetching(Scope::kShared, 100)).empty());  // what is fetched need not exist
}
TEST_F(Validate, AVariableThatIsNotBound) {
  expect_problem(
      with<Store>([&](Store& s) { s.indices = arena_.list(std::vector<Expr>{pool_.variable("z")}); }),
      "block `y`: variable `z` is not bound");
}
TEST_F(Validate, ABufferThatIsNotKnown) {
  Kernel k = kernel_;
  k.inputs = {};
  expect_problem(k, "block `y`: buffer `x` is not known here");
}
TEST_F(Validate, ABufferWithTheIdOfAnotherOne) {
  Kernel k = kernel_;
  Buffer same = *kernel_.inputs[0];
  k.temporaries = arena_.list(std::vector<const Buffer*>{arena_.make<Buffer>(same)});
  expect_problem(k, "has the id of another one");
}
TEST_F(Validate, Strides) {
  const auto of = [&](std::vector<int64_t> strides) {
    std::vector<Expr> list;
    for (int64_t s : strides) list.push_back(pool_.integer(s));
    Buffer b{9, symbols_.intern("t"), kFloat32,
             arena_.list(std::vector<Expr>{pool_.integer(4), pool_.integer(8)})};
    b.strides = arena_.list(list);
    Kernel k = kernel_;
    k.temporaries = arena_.list(std::vector<const Buffer*>{arena_.make<Buffer>(b)});
    return k;
  };
  EXPECT_TRUE(validate(of({8, 1})).empty());
  EXPECT_TRUE(validate(of({24, 2})).empty());
  expect_problem(of({7, 1}), "the stride 7 of dim 0 of `t` is less than 8");
  expect_problem(of({8, 2}), "the stride 8 of dim 0 of `t` is less than 16");
  expect_problem(of({8, 0}), "the stride 0 of dim 1 of `t` is less than 1");
  expect_problem(of({8}), "`t` has another number of strides than dims");
  // Numbers whose differences and products are beyond 64 bits.
  expect_problem(of({8, INT64_MIN}), "`t` has more elements than 63 bits count");
  expect_problem(of({8, -(int64_t{1} << 60)}),
                 "the stride -1152921504606846976 of dim 1 of `t` is less than 1");
  expect_problem(of({INT64_MAX, 1}), "`t` has more elements than 63 bits count");
  Kernel k = of({9, 1});
  std::swap(k.inputs, k.temporaries);
  expect_problem(k, "`t` is not dense, and callers would not know");
}
// Two iterators over `n` loop iterations, written at y[v0, v1]: too many to be checked for races.
TEST_F(Validate, BindingsAreQuasiAffineAndIndependent) {
  const int64_t n = 400000;
  const auto problems = [&](int64_t rows, int64_t columns,
                            const std::function<std::pair<Expr, Expr>(Expr)>& f) {
    Builder b(pool_, 20);
    const Tensor y = b.compute("y", kFloat32, {pool_.integer(rows), pool_.integer(columns)},
                               [&](Indices) { return pool_.real(1, kFloat32); });
    Kernel k = b.finish("k", "", {y});
    const Block* block = blocks(k.body)[0];
    const Expr i = pool_.variable("i");
    const auto [v0, v1] = f(i);
    Block copy = *block;
    std::vector<BlockIter> iters(block->iters.begin(), block->iters.end());
    iters[0].binding = v0;
    iters[1].binding = v1;
    copy.iters = arena_.list(iters);
    k.body = make_for(arena_, i, pool_.integer(n), ForKind::kSerial, arena_.make<Block>(copy));
    const std::vector<std::string> found = validate(k);
    return found.empty() ? std::string() : found[0];
  };
  const std::string dependent = "block `y`: iterators `vi0` and `vi1` are not independent";
  EXPECT_EQ(problems(n / 4, 4, [](Expr i) { return std::pair(floor_div(i, 4), floor_mod(i, 4)); }), "");
  EXPECT_EQ(problems(8, n, [&](Expr i) { return std::pair(floor_mod(floor_div(i, 2), 8), i); }), dependent);
  EXPECT_EQ(problems(n, 2 * n, [](Expr i) { return std::pair(i, i * 2); }), dependent);
  EXPECT_EQ(problems(n / 4, 8, [](Expr i) { return std::pair(floor_div(i, 4), floor_mod(i, 8)); }),
            dependent);
  EXPECT_EQ(problems(n, n, [](Expr i) { return std::pair(i, i); }), dependent);
  EXPECT_EQ(problems(1, n, [&](Expr i) { return std::pair(pool_.integer(0), i); }), "");
  EXPECT_EQ(problems(1, n * n, [&](Expr i) { return std::pair(pool_.integer(0), i * i); }),
            "block `y`: the binding of iterator `vi1` is not quasi-affine: it multiplies loop variables");
  EXPECT_EQ(problems(2, n / 2, [&](Expr i) { return std::pair(pool_.integer(0), floor_mod(i, n / 2)); }),
            "output `y` is not written everywhere");
}
TEST_F(Validate, AReductionOfAnySizeTakesAllItsSteps) {
  const auto problems = [&](const std::function<Expr(Expr)>& f, int64_t loop) {
    const int64_t n = 400000;
    Builder b(pool_, 20);
    const Tensor x = b.input("x", kFloat32, {pool_.integer(n)});
    const Tensor s = b.reduce("s", kFloat32, {}, {pool_.integer(n)}, b.sum(kFloat32),
                              [&](Indices, Indices r) { return x(r[0]); });
    Kernel k = b.finish("k", "", {s});
    Block copy = *blocks(k.body)[0];
    const Expr i = pool_.variable("i");
    std::vector<BlockIter> iters(copy.iters.begin(), copy.iters.end());
    iters[0].binding = f(i);
    copy.iters = arena_.list(iters);
    k.body = make_for(arena_, i, pool_.integer(loop), ForKind::kSerial, arena_.make<Block>(copy));
    return join(validate(k), "\n");
  };
  const std::string some = "block `s`: the reduction over `vr0` leaves out steps";
  EXPECT_EQ(problems([](Expr i) { return i; }, 400000), "");
  EXPECT_EQ(problems([](Expr i) { return i; }, 399999), some);
  EXPECT_EQ(problems([&](Expr) { return pool_.integer(0); }, 400000), some);
  EXPECT_EQ(problems([](Expr i) { return floor_div(i, 2); }, 400000), some);
}
TEST_F(Validate, WhatASmallKernelDoesIsWatched) {
  // Two blocks that write the same elements.
  Kernel twice = kernel_;
  Stmt again = rewrite(arena_, refresh(pool_, kernel_.body), [&](Stmt s) -> Stmt {
    const auto* b = s->as<Block>();
    if (b == nullptr) return s;
    Block copy = *b;
    copy.name = symbols_.intern("again");
    return arena_.make<Block>(copy);
  });
  twice.body = make_sequence(arena_, {kernel_.body, again});
  expect_problem(twice, "block `again` writes y[0], over what nothing has read");
  // Two that leave a hole between them.
  const auto part = [&](int64_t from, int64_t count) {
    return rewrite(arena_, refresh(pool_, kernel_.body), [&](Stmt s) -> Stmt {
      if (const auto* f = s->as<For>())
        return make_for(arena_, f->var, pool_.integer(count), f->how, f->body);
      const auto* b = s->as<Block>();
      if (b == nullptr) return s;
      Block copy = *b;
      std::vector<BlockIter> iters(b->iters.begin(), b->iters.end());
      iters[0].binding = iters[0].binding + from;
      copy.iters = arena_.list(iters);
      return arena_.make<Block>(copy);
    });
  };
  Kernel pieces = kernel_;
  pieces.body = make_sequence(arena_, {part(0, 4), part(4, 4)});
  EXPECT_EQ(join(validate(pieces), "\n"), "");
  pieces.body = make_sequence(arena_, {part(0, 4), part(5, 3)});
  expect_problem(pieces, "element 4 of output `y` is not written");
}
TEST_F(Validate, WhatTakesTooLongIsNotCheckedForRaces) {
  // Nothing, done 10^15 times.
  const Expr i = pool_.variable("i");
  Kernel idle = kernel_;
  idle.body = make_sequence(
      arena_, {make_for(arena_, i, pool_.integer(int64_t{1'000'000'000'000'000}), ForKind::kSerial,
                        make_require(arena_, less(pool_.integer(-1), i), symbols_.intern("no"))),
               kernel_.body});
  EXPECT_EQ(race_check_work(idle), std::nullopt);
  EXPECT_EQ(join(validate(idle), "\n"), "");
  // A value that is shared on 60 levels.
  Builder b(pool_, 20);
  const Tensor x = b.input("x", kFloat32, {pool_.integer(8)});
  const Tensor y = b.compute("y", kFloat32, x.shape(), [&](Indices at) {
    Expr value = x.at(at);
    for (int level = 0; level < 60; ++level) value = value * value;
    return value;
  });
  const Kernel doubled = b.finish("k", "", {y});
  EXPECT_EQ(race_check_work(doubled), std::nullopt);
  EXPECT_EQ(join(validate(doubled), "\n"), "");
  EXPECT_LT(race_check_work(kernel_).value_or(0), 1000);
}
TEST_F(Validate, AReadThatIsNotDeclared) {
  expect_problem(with<Block>([](Block& b) { b.reads = {}; }),
                 "block `y`: reads `x` outside the declared regions");
}
TEST_F(Validate, AWriteOutsideItsRegion) {
  expect_problem(with<Block>([&](Block& b) {
                   Region r = b.writes[0];
                   r.min = arena_.list(std::vector<Expr>{pool_.integer(0)});
                   b.writes = arena_.list(std::vector<Region>{r});
                 }),
                 "block `y`: writes `y` outside the declared regions");
}
TEST_F(Validate, ARegionThatLeavesTheBuffer) {
  expect_problem(with<Block>([&](Block& b) {
                   Region r = b.reads[0];
                   r.extent = arena_.list(std::vector<Expr>{pool_.integer(2)});
                   b.reads = arena_.list(std::vector<Region>{r});
                 }),
                 "a region of `x` leaves the buffer in dim 0");
}
TEST_F(Validate, ALoopBeyondTheIterator) {
  expect_problem(with<For>([&](For& f) { f.extent = pool_.integer(9); }),
                 "iterator `vi0` may exceed its extent");
}
TEST_F(Validate, ALoopThatNeverRunsLeavesNoRange) {
  const auto of_extent = [&](int64_t extent) {
    Kernel k = with<Block>([&](Block& b) {
      std::vector<BlockIter> iters(b.iters.begin(), b.iters.end());
      iters[0].binding = iters[0].binding - 1;
      b.iters = arena_.list(iters);
    });
    k.body = make_for(arena_, pool_.variable("never"), pool_.integer(extent), ForKind::kSerial, k.body);
    return validate(k);
  };
  const auto leaves_range = [](const std::string& problem) {
    return problem.find("iterator `vi0` may be negative") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::none_of(of_extent(0), leaves_range));
  EXPECT_TRUE(std::ranges::any_of(of_extent(1), leaves_range));
}
TEST_F(Validate, APredicateKeepsALongLoopInside) {
  Kernel k = with<Block>([&](Block& b) { b.predicate = less(b.iters[0].binding, b.iters[0].extent); });
  k.body = rewrite(arena_, k.body, [&](Stmt s) -> Stmt {
    const auto* f = s->as<For>();
    return f ? make_for(arena_, f->var, pool_.integer(9), f->how, f->body) : s;
  });
  EXPECT_TRUE(validate(k).empty()) << validate(k)[0];
}
TEST_F(Validate, AnIteratorBelowZero) {
  expect_problem(with<Block>([&](Block& b) {
                   std::vector<BlockIter> iters(b.iters.begin(), b.iters.end());
                   iters[0].binding = iters[0].binding - 1;
                   b.iters = arena_.list(iters);
                 }),
                 "iterator `vi0` may be negative");
}
TEST_F(Validate, AnOutputThatIsNotWrittenEverywhere) {
  expect_problem(with<For>([&](For& f) { f.extent = pool_.integer(7); }),
                 "output `y` is not written everywhere");
}
TEST_F(Validate, AnOutputThatIsNotWrittenAtAll) {
  Kernel k = kernel_;
  k.body = make_nop(arena_);
  expect_problem(k, "output `y` is not written everywhere");
}
TEST_F(Validate, AParallelLoopThatWritesOneElement) {
  const Tensor x = k_.input("z", kFloat32, {pool_.integer(8)});
  const Tensor s = k_.reduce("s", kFloat32, {}, {pool_.integer(8)}, k_.sum(kFloat32),
                             [&](Indices, Indices r) { return x(r[0]); });
  kernel_ = k_.finish("k", "", {s});
  EXPECT_TRUE(validate(kernel_).empty());
  expect_problem(with<For>([](For& f) { f.how = ForKind::kParallel; }),
                 "block `s`: iterations of the independent loop `r0` write the same elements of `s`");
}
TEST_F(Validate, AParallelLoopOfOneIterationAtMost) {
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("z", kFloat32, {n});
  const Tensor s =
      k_.reduce("s", kFloat32, {}, {n}, k_.sum(kFloat32), [&](Indices, Indices r) { return x(r[0]); });
  kernel_ = k_.finish("k", "", {s});
  const auto of_extent = [&](Expr extent) {
    return with<For>([&](For& f) {
      f.how = ForKind::kParallel;
      f.extent = extent;
    });
  };
  EXPECT_TRUE(validate(of_extent(floor_mod(n, pool_.integer(2)))).empty());
  expect_problem(of_extent(floor_mod(n, pool_.integer(3))), "write the same elements of `s`");
}
TEST_F(Validate, AnOutputOfNoElements) {
  const Tensor y = k_.compute("y", kFloat32, {pool_.integer(0), pool_.shape_variable("n")},
                              [&](Indices) { return k_.constant(kFloat32, 1); });
  kernel_ = k_.finish("k", "", {y});
  kernel_.body = make_nop(arena_);
  EXPECT_TRUE(validate(kernel_).empty());
}
TEST_F(Validate, AVectorizedLoopOfUnknownExtent) {
  expect_problem(with<For>([&](For& f) {
                   f.how = ForKind::kVectorized;
                   f.extent = pool_.shape_variable("n");
                 }),
                 "vectorized loop `i0` has no constant extent");
}
TEST_F(Validate, AStoreOutsideAnyBlock) {
  Kernel k = kernel_;
  k.body = make_sequence(
      arena_, {k.body, make_store(arena_, k.outputs[0], {pool_.integer(0)}, pool_.real(1, kFloat32))});
  expect_problem(k, "`y` is accessed outside any block");
}

}  // namespace
}  // namespace relay::kernel
