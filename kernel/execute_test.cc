#include "kernel/execute.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/failure.h"
#include "kernel/builder.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

using Values = ::relay::Tensor;
using ::testing::Test;

Values tensor(DType d, Shape shape, std::vector<double> v) {
  return Values::of<double>(d, std::move(shape), v);
}

class Execute : public Test {
 protected:
  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  Builder k_{pool_};
  Expr n_ = pool_.shape_variable("n");

  std::vector<double> run(const Tensor& result, std::vector<Values> inputs) {
    return execute(k_.finish("test", "", {result}), inputs)[0].doubles();
  }
};

TEST_F(Execute, ElementwiseOverASymbolicDim) {
  const Tensor x = k_.input("x", kFloat32, {n_});
  const Tensor y = k_.compute("y", kFloat32, {n_}, [&](Indices i) { return x.at(i) * 2 + 1; });
  EXPECT_EQ(run(y, {tensor(kFloat32, {3}, {1, 2, 3})}), (std::vector<double>{3, 5, 7}));
}

TEST_F(Execute, ProductOfMatrices) {
  const Tensor x = k_.input("x", kFloat32, {n_, k_.index(2)});
  const Tensor w = k_.input("w", kFloat32, {k_.index(3), k_.index(2)});
  const Tensor y = k_.reduce("y", kFloat32, {n_, k_.index(3)}, {k_.index(2)}, k_.sum(kFloat32),
                             [&](Indices i, Indices r) { return x(i[0], r[0]) * w(i[1], r[0]); });
  EXPECT_EQ(run(y, {tensor(kFloat32, {1, 2}, {1, 2}), tensor(kFloat32, {3, 2}, {1, 0, 0, 1, 1, 1})}),
            (std::vector<double>{1, 2, 3}));
}

TEST_F(Execute, AReductionOverNothingIsItsInitialValue) {
  const Tensor x = k_.input("x", kFloat32, {k_.index(2), n_});
  const Tensor y = k_.reduce("y", kFloat32, {k_.index(2)}, {n_}, k_.maximum(kFloat32),
                             [&](Indices i, Indices r) { return x(i[0], r[0]); });
  EXPECT_EQ(run(y, {tensor(kFloat32, {2, 0}, {})}), (std::vector<double>{-INFINITY, -INFINITY}));
  EXPECT_EQ(run(y, {tensor(kFloat32, {2, 2}, {1, 4, 3, 2})}), (std::vector<double>{4, 3}));
}

TEST_F(Execute, OnlyTheChosenSideOfASelectIsRead) {
  const Tensor x = k_.input("x", kFloat32, {n_});
  const Tensor y = k_.compute("padded", kFloat32, {n_ + 2}, [&](Indices i) {
    return select(logical_and(less_equal(k_.index(1), i[0]), less(i[0], n_ + 1)), x(i[0] - 1),
                  k_.constant(kFloat32, 0));
  });
  EXPECT_EQ(run(y, {tensor(kFloat32, {2}, {5, 6})}), (std::vector<double>{0, 5, 6, 0}));
}

TEST_F(Execute, UpdatesRunInOrderAndSeeEarlierOnes) {
  const Tensor x = k_.input("x", kInt32, {n_});
  const Tensor y = k_.update(
      "running", kInt32, {n_}, [&](Indices i) { return x.at(i); }, {n_ - 1},
      [&](Indices r) { return std::vector<Expr>{r[0] + 1}; },
      [&](Tensor self, Indices r) { return self(r[0]) + self(r[0] + 1); });
  EXPECT_EQ(run(y, {tensor(kInt32, {4}, {1, 2, 3, 4})}), (std::vector<double>{1, 3, 6, 10}));
}

TEST_F(Execute, ScatterToLoadedIndices) {
  const Tensor at = k_.input("at", kInt64, {n_});
  const Tensor y = k_.update(
      "y", kFloat32, {k_.index(4)}, [&](Indices) { return k_.constant(kFloat32, 0); }, {n_},
      [&](Indices r) { return std::vector<Expr>{at(r[0])}; },
      [&](Tensor self, Indices r) { return self(at(r[0])) + k_.constant(kFloat32, 1); });
  EXPECT_EQ(run(y, {tensor(kInt64, {3}, {2, 0, 2})}), (std::vector<double>{1, 0, 2, 0}));
}

TEST_F(Execute, ARequirementThatFailsTraps) {
  const Tensor x = k_.input("x", kInt32, {n_});
  const Tensor y = k_.compute("y", kInt32, {n_}, [&](Indices i) {
    k_.require(not_equal(x.at(i), k_.constant(kInt32, 0)), "division by zero");
    return trunc_div(k_.constant(kInt32, 7), x.at(i));
  });
  EXPECT_EQ(run(y, {tensor(kInt32, {2}, {2, -2})}), (std::vector<double>{3, -3}));
  try {
    run(y, {tensor(kInt32, {2}, {2, 0})});
    FAIL() << "no trap";
  } catch (const Trap& t) {
    EXPECT_STREQ(t.what(), "division by zero");
  }
}

TEST_F(Execute, IntegersWrapToTheirDtype) {
  const Tensor x = k_.input("x", kInt8, {n_});
  const Tensor y = k_.compute("y", kInt8, {n_}, [&](Indices i) { return x.at(i) * 3; });
  EXPECT_EQ(run(y, {tensor(kInt8, {2}, {100, -100})}), (std::vector<double>{44, -44}));
}

TEST_F(Execute, FloatsAreRoundedAtEachOperation) {
  const Tensor x = k_.input("x", kFloat32, {n_});
  // 2^24 + 1 is not a float32: the sum is rounded before the subtraction sees it.
  const Tensor y = k_.compute("y", kFloat32, {n_},
                              [&](Indices i) { return (x.at(i) + k_.constant(kFloat32, 1)) - x.at(i); });
  EXPECT_EQ(run(y, {tensor(kFloat32, {2}, {16777216, 1})}), (std::vector<double>{0, 1}));
}

TEST_F(Execute, OutputsThatAreInputsAreCopied) {
  const Tensor x = k_.input("x", kFloat32, {n_});
  const Kernel kernel = k_.finish("same", "", {x, x});
  const auto out = execute(kernel, std::vector<Values>{tensor(kFloat32, {2}, {1, 2})});
  EXPECT_EQ(out[0].doubles(), (std::vector<double>{1, 2}));
  EXPECT_EQ(out[1].doubles(), (std::vector<double>{1, 2}));
  EXPECT_NE(out[0].data(), out[1].data());
}

TEST_F(Execute, WhatNoOutputNeedsIsLeftOut) {
  const Tensor x = k_.input("x", kFloat32, {n_});
  k_.compute("unused", kFloat32, {n_}, [&](Indices i) { return x.at(i) * 2; });
  const Tensor t = k_.compute("t", kFloat32, {n_}, [&](Indices i) { return x.at(i) * 3; });
  const Tensor y = k_.compute("y", kFloat32, {n_}, [&](Indices i) { return t.at(i) + 1; });
  const Kernel kernel = k_.finish("small", "", {y});
  EXPECT_EQ(blocks(kernel.body).size(), 2u);
  ASSERT_EQ(kernel.temporaries.size(), 1u);
  EXPECT_EQ(kernel.temporaries[0]->name.text(), "t");
}

TEST_F(Execute, AShapeVariableNeedNotStandAlone) {
  const Tensor x = k_.input("x", kFloat32, {n_ * 2 + 1});
  const Tensor y = k_.compute("y", kFloat32, {n_}, [&](Indices i) { return x(i[0] * 2); });
  EXPECT_EQ(run(y, {tensor(kFloat32, {5}, {1, 2, 3, 4, 5})}), (std::vector<double>{1, 3}));
  EXPECT_EQ(run(y, {tensor(kFloat32, {1}, {1})}), (std::vector<double>{}));
  // No whole number, and a negative one.
  for (int64_t extent : {4, 0}) {
    EXPECT_THROW(run(y, {tensor(kFloat32, {extent}, std::vector<double>(static_cast<size_t>(extent)))}),
                 Trap);
  }
}

TEST_F(Execute, ExtentsAreReadFromAnInput) {
  k_.input("e", kInt64, {k_.index(2)});
  const Tensor y = k_.compute("y", kInt64, {n_ + 1}, [&](Indices i) { return i[0] * n_; });
  Kernel k = k_.finish("test", "", {y});
  k.read_extents = arena_.list(std::vector<ReadExtent>{{n_, 0, 1}});
  EXPECT_NE(show(k).find("shape n = e[1]"), std::string::npos);
  const auto of = [&](std::vector<double> extents) {
    return execute(k, std::vector{tensor(kInt64, {2}, extents)})[0].doubles();
  };
  EXPECT_EQ(of({9, 2}), (std::vector<double>{0, 2, 4}));
  EXPECT_EQ(of({9, 0}), (std::vector<double>{0}));
  try {
    of({9, -1});
    ADD_FAILURE() << "there is no extent below 0";
  } catch (const Trap& trap) {
    EXPECT_EQ(std::string(trap.what()), "kernel test reads the extent `n` from `e`, which has none there");
  }
}

TEST_F(Execute, AnAccessOutsideTheBufferIsTheKernelsFault) {
  const Tensor x = k_.input("x", kFloat32, {n_});
  const Tensor y = k_.compute("y", kFloat32, {n_}, [&](Indices i) { return x(i[0] + 1); });
  EXPECT_THROW(run(y, {tensor(kFloat32, {2}, {1, 2})}), BadKernel);
}

TEST_F(Execute, AnAccessOutsideTheDeclaredRegionIsTheKernelsFault) {
  const Tensor x = k_.input("x", kFloat32, {n_});
  const Tensor y = k_.compute("y", kFloat32, {n_}, [&](Indices i) { return x.at(i); });
  Kernel kernel = k_.finish("test", "", {y});
  kernel.body = rewrite(arena_, kernel.body, [&](Stmt s) -> Stmt {
    const auto* b = s->as<Block>();
    if (b == nullptr) return s;
    Block copy = *b;
    copy.reads = {};
    return arena_.make<Block>(copy);
  });
  EXPECT_THROW(execute(kernel, std::vector<Values>{tensor(kFloat32, {2}, {1, 2})}), BadKernel);
}

TEST_F(Execute, ShapesThatDoNotHoldTrap) {
  const Tensor x = k_.input("x", kFloat32, {n_}), z = k_.input("z", kFloat32, {n_ * 2});
  const Tensor y = k_.compute("y", kFloat32, {n_}, [&](Indices i) { return x.at(i) + z(i[0] * 2); });
  EXPECT_EQ(run(y, {tensor(kFloat32, {1}, {1}), tensor(kFloat32, {2}, {1, 2})}), (std::vector<double>{2}));
  EXPECT_THROW(run(y, {tensor(kFloat32, {1}, {1}), tensor(kFloat32, {3}, {1, 2, 3})}), Trap);
  EXPECT_THROW(run(y, {tensor(kFloat32, {1}, {1})}), Trap);
  EXPECT_THROW(run(y, {tensor(kInt32, {1}, {1}), tensor(kFloat32, {2}, {1, 2})}), Trap);
}

TEST_F(Execute, IndependentLoopsMayNotDependOnTheirOrder) {
  const Tensor y = k_.update(
      "y", kInt32, {k_.index(3)}, [&](Indices) { return k_.constant(kInt32, 1); }, {k_.index(2)},
      [&](Indices r) { return std::vector<Expr>{r[0] + 1}; },
      [&](Tensor self, Indices r) { return self(r[0]) * 2; });
  Kernel kernel = k_.finish("test", "", {y});
  EXPECT_EQ(execute(kernel, {})[0].doubles(), (std::vector<double>{1, 2, 4}));
  kernel.body = rewrite(arena_, kernel.body, [&](Stmt s) -> Stmt {
    const auto* f = s->as<For>();
    return f ? make_for(arena_, f->var, f->extent, ForKind::kParallel, f->body) : s;
  });
  EXPECT_NE(execute(kernel, {})[0].doubles(), (std::vector<double>{1, 2, 4}));
}

}  // namespace
}  // namespace relay::kernel
