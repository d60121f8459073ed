
#include "kernel/schedule/cpu/testing.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

class Cpu : public CpuScheduleTest {
 protected:
  void check(const Kernel& k, const std::vector<std::pair<Expr, int64_t>>& dims = {}, int width = 4) {
    expect_same(k, scheduled(k, width), dims);
  }

  Tensor pad(const Tensor& x, int64_t p) {
    return k_.compute("pad", x.dtype(), {x.dim(0), x.dim(1), x.dim(2) + 2 * p, x.dim(3) + 2 * p},
                      [=, this](Indices i) {
                        const Expr h = i[2] - p, w = i[3] - p, zero = index(0);
                        const Expr inside = logical_and(logical_and(less_equal(zero, h), less(h, x.dim(2))),
                                                        logical_and(less_equal(zero, w), less(w, x.dim(3))));
                        return select(inside, x(i[0], i[1], h, w), k_.constant(x.dtype(), 0));
                      });
  }
  Tensor conv2d(const Tensor& x, const Tensor& w, int64_t stride, int64_t padding, DType out) {
    const Tensor p = padding ? pad(x, padding) : x;
    const Expr h = floor_div(p.dim(2) - w.dim(2), stride) + 1, v = floor_div(p.dim(3) - w.dim(3), stride) + 1;
    return k_.reduce("conv", out, {x.dim(0), w.dim(0), h, v}, {w.dim(1), w.dim(2), w.dim(3)}, k_.sum(out),
                     [&](Indices i, Indices r) {
                       return cast(out, p(i[0], r[0], i[2] * stride + r[1], i[3] * stride + r[2])) *
                              cast(out, w(i[1], r[0], r[1], r[2]));
                     });
  }
  Kernel convolution(int64_t channels, int64_t filters, int64_t size, int64_t window, int64_t stride,
                     int64_t padding) {
    const Tensor x = k_.input("x", kFloat32, {index(1), index(channels), index(size), index(size)});
    const Tensor w = k_.input("w", kFloat32, {index(filters), index(channels), index(window), index(window)});
    const Tensor b = k_.input("b", kFloat32, {index(filters)});
    const Tensor conv = conv2d(x, w, stride, padding, kFloat32);
    const Tensor y =
        k_.compute("bias", kFloat32, conv.shape(), [&](Indices i) { return conv.at(i) + b(i[1]); });
    const Tensor z = k_.compute("relu", kFloat32, conv.shape(),
                                [&](Indices i) { return max(y.at(i), k_.constant(kFloat32, 0)); });
    return k_.finish("conv", "nn.conv2d + add + nn.relu", {z});
  }
};

TEST_F(Cpu, ElementwiseChainsBecomeOneLoop) {
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("x", kFloat32, {n, index(6)});
  const Tensor a = k_.compute("a", kFloat32, x.shape(), [&](Indices i) { return x.at(i) * 2; });
  const Tensor b = k_.compute("b", kFloat32, x.shape(), [&](Indices i) { return a.at(i) + 1; });
  const Kernel k = k_.finish("k", "", {b});
  EXPECT_TRUE(scheduled(k).temporaries.empty());
  for (int64_t size : {0, 1, 5, 400}) check(k, {{n, size}});
}

// Both sides of a choice are computed for all lanes, which is right where both exist.
TEST_F(Cpu, ChoicesGoInVectors) {
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("x", kFloat32, {n, index(8)}), z = k_.input("z", kFloat32, {n, index(8)});
  const Tensor y = k_.compute("y", kFloat32, x.shape(), [&](Indices i) {
    return select(less(z.at(i), k_.constant(kFloat32, 0)), x.at(i), k_.constant(kFloat32, 7));
  });
  const Kernel k = k_.finish("k", "", {y});
  EXPECT_NE(show(scheduled(k)).find("vectorized"), std::string::npos) << show(scheduled(k));
  for (int64_t size : {0, 1, 5}) check(k, {{n, size}});
}

TEST_F(Cpu, BroadcastsAndTransposesOfRows) {
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("x", kFloat32, {n, index(7)}), b = k_.input("b", kFloat32, {index(7)});
  const Tensor y = k_.compute("y", kFloat32, x.shape(), [&](Indices i) { return x.at(i) + b(i[1]); });
  const Tensor t = k_.compute("t", kFloat32, {index(7), n}, [&](Indices i) { return x(i[1], i[0]); });
  const Kernel k = k_.finish("k", "", {y, t});
  for (int64_t size : {1, 9}) check(k, {{n, size}});
}

TEST_F(Cpu, ConvolutionInTilesWithItsEpilogue) {
  const Kernel k = convolution(3, 16, 9, 3, 1, 1);
  const Kernel s = scheduled(k);
  EXPECT_EQ(s.temporaries.size(), 1u) << show(s);  // the padded image
  EXPECT_NE(find_block(s.body, "conv_pack"), nullptr) << show(s);
  check(k);
  check(k, {}, 8);
  check(k, {}, 16);
}
TEST_F(Cpu, ConvolutionWithStride) { check(convolution(4, 9, 11, 3, 2, 1), {}, 8); }
TEST_F(Cpu, ConvolutionOfOnePixelWindows) { check(convolution(8, 16, 6, 1, 1, 0)); }
TEST_F(Cpu, ConvolutionWithAnOddNumberOfFilters) { check(convolution(2, 13, 7, 3, 1, 1), {}, 8); }
TEST_F(Cpu, ConvolutionWithoutFullTiles) { check(convolution(2, 8, 4, 3, 1, 1), {}, 16); }

TEST_F(Cpu, ALongReductionIsPackedInChunks) {
  const Kernel k = convolution(700, 10, 4, 3, 1, 1);
  EXPECT_NE(find_block(scheduled(k, 16).body, "conv_resume"), nullptr);
  check(k, {}, 16);
}

// A line is as many of the last reduction axes as make 16 elements; shorter
// reductions are one line.
TEST_F(Cpu, ColumnsArePackedLineByLine) {
  struct Case {
    int64_t rows, columns;  // of the image
    const char* loops;      // around what is packed
  };
  for (const Case& c : {Case{3, 20, "for r0 in 2: for r1 in 3: for c in "},
                        Case{5, 4, "] for r0 in 2: for c in "}, Case{1, 3, "] for c in "}}) {
    Builder b(pool_);
    const Tensor x = b.input("x", kFloat32, {index(2), index(5), index(c.rows + 2), index(c.columns + 2)});
    const Tensor dy = b.input("dy", kFloat32, {index(2), index(9), index(c.rows), index(c.columns)});
    const Kernel k = b.finish(
        "k", "",
        {b.reduce("dw", kFloat32, {index(9), index(5), index(3), index(3)},
                  {index(2), index(c.rows), index(c.columns)}, b.sum(kFloat32), [&](Indices i, Indices r) {
                    return dy(r[0], i[0], r[1], r[2]) * x(r[0], i[1], r[1] + i[2], r[2] + i[3]);
                  })});
    std::string text = show(scheduled(k, 16));
    text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return isspace(a) && isspace(b); }),
               text.end());
    std::replace(text.begin(), text.end(), '\n', ' ');
    EXPECT_NE(text.find(c.loops), std::string::npos) << text;
    for (const int width : {4, 8, 16}) check(k, {}, width);
  }
}

TEST_F(Cpu, ManyFiltersOnFewPixelsAreShared) { check(convolution(2, 150, 5, 1, 1, 0), {}, 8); }

TEST_F(Cpu, ConvolutionOfIntegers) {
  const Tensor x = k_.input("x", kInt8, {index(1), index(3), index(6), index(6)});
  const Tensor w = k_.input("w", kInt8, {index(8), index(3), index(3), index(3)});
  check(k_.finish("k", "", {conv2d(x, w, 1, 1, kInt32)}));
}

TEST_F(Cpu, ConvolutionOfABatchOfUnknownSize) {
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("x", kFloat32, {n, index(3), index(6), index(6)});
  const Tensor w = k_.input("w", kFloat32, {index(8), index(3), index(3), index(3)});
  const Kernel k = k_.finish("k", "", {conv2d(x, w, 1, 1, kFloat32)});
  for (int64_t size : {0, 1, 3}) check(k, {{n, size}});
}

TEST_F(Cpu, ConvolutionOfImagesOfUnknownSize) {
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("x", kFloat32, {index(1), index(2), n, n});
  const Tensor w = k_.input("w", kFloat32, {index(8), index(2), index(3), index(3)});
  const Kernel k = k_.finish("k", "", {conv2d(x, w, 1, 1, kFloat32)});
  for (int64_t size : {1, 4, 11}) check(k, {{n, size}});
}

TEST_F(Cpu, DepthwiseConvolution) {
  const Tensor x = k_.input("x", kFloat32, {index(1), index(5), index(9), index(9)});
  const Tensor w = k_.input("w", kFloat32, {index(5), index(3), index(3)});
  const Tensor p = pad(x, 1);
  check(k_.finish("k", "",
                  {k_.reduce("depthwise", kFloat32, x.shape(), {index(3), index(3)}, k_.sum(kFloat32),
                             [&](Indices i, Indices r) {
                               return p(i[0], i[1], i[2] + r[0], i[3] + r[1]) * w(i[1], r[0], r[1]);
                             })}));
}

TEST_F(Cpu, GroupedConvolution) {
  const Tensor x = k_.input("x", kFloat32, {index(1), index(4), index(5), index(5)});
  const Tensor w = k_.input("w", kFloat32, {index(6), index(2), index(3), index(3)});
  check(k_.finish("k", "",
                  {k_.reduce("grouped", kFloat32, {index(1), index(6), index(3), index(3)},
                             {index(2), index(3), index(3)}, k_.sum(kFloat32), [&](Indices i, Indices r) {
                               return x(i[0], floor_div(i[1], 3) * 2 + r[0], i[2] + r[1], i[3] + r[2]) *
                                      w(i[1], r[0], r[1], r[2]);
                             })}));
}

TEST_F(Cpu, MaxPool) {
  const Tensor x = k_.input("x", kFloat32, {index(1), index(3), index(8), index(8)});
  check(k_.finish("k", "",
                  {k_.reduce("pool", kFloat32, {index(1), index(3), index(4), index(4)}, {index(3), index(3)},
                             k_.maximum(kFloat32), [&](Indices i, Indices r) {
                               const Expr h = i[2] * 2 + r[0] - 1, w = i[3] * 2 + r[1] - 1;
                               return select(logical_and(less_equal(index(0), h), less_equal(index(0), w)),
                                             x(i[0], i[1], h, w), k_.lowest(kFloat32));
                             })}));
}

TEST_F(Cpu, ProductsOfNoRows) {
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("x", kFloat32, {n, index(0), n});
  const Tensor y = k_.input("y", kFloat32, {n, index(2), n});
  const Tensor product =
      k_.reduce("product", kFloat32, {n, index(0), index(2)}, {n}, k_.sum(kFloat32),
                [&](Indices i, Indices r) { return x(i[0], i[1], r[0]) * y(i[0], i[2], r[0]); });
  const Kernel k = k_.finish("k", "", {product});
  for (int64_t size : {0, 1, 40}) check(k, {{n, size}});
}

struct Sizes {
  int64_t n, units, width;
};
class CpuDense : public Cpu, public ::testing::WithParamInterface<Sizes> {
 protected:
  Kernel dense(Expr n, Expr units, Expr width, bool transposed) {
    const Tensor x = k_.input("x", kFloat32, {n, width});
    const Tensor w =
        transposed ? k_.input("w", kFloat32, {width, units}) : k_.input("w", kFloat32, {units, width});
    const Tensor b = k_.input("b", kFloat32, {units});
    const Tensor y = k_.reduce(
        "dense", kFloat32, {n, units}, {width}, k_.sum(kFloat32),
        [&](Indices i, Indices r) { return x(i[0], r[0]) * (transposed ? w(r[0], i[1]) : w(i[1], r[0])); });
    const Tensor z = k_.compute("bias", kFloat32, {n, units}, [&](Indices i) { return y.at(i) + b(i[1]); });
    return k_.finish("k", "", {z});
  }
};
TEST_P(CpuDense, Dense) {
  check(dense(index(GetParam().n), index(GetParam().units), index(GetParam().width), false));
}
TEST_P(CpuDense, Transposed) {
  check(dense(index(GetParam().n), index(GetParam().units), index(GetParam().width), true));
}
TEST_P(CpuDense, OfUnknownSizes) {
  const Expr n = pool_.shape_variable("n"), units = pool_.shape_variable("units"),
             width = pool_.shape_variable("width");
  const std::vector<std::pair<Expr, int64_t>> dims{
      {n, GetParam().n}, {units, GetParam().units}, {width, GetParam().width}};
  check(dense(n, units, width, false), dims);
}
TEST_P(CpuDense, TransposedOfUnknownSizes) {
  const Expr n = pool_.shape_variable("n"), units = pool_.shape_variable("units"),
             width = pool_.shape_variable("width");
  const std::vector<std::pair<Expr, int64_t>> dims{
      {n, GetParam().n}, {units, GetParam().units}, {width, GetParam().width}};
  check(dense(n, units, width, true), dims);
}
INSTANTIATE_TEST_SUITE_P(Sizes, CpuDense,
                         ::testing::Values(Sizes{1, 1, 1}, Sizes{1, 10, 37}, Sizes{5, 9, 16},
                                           Sizes{16, 17, 40}, Sizes{12, 64, 5}, Sizes{33, 8, 70},
                                           Sizes{2, 3, 0}));

// The remainder of rows is a tile of its own: for every remainder, the bits are those of the kernel
// as it was written.
TEST_P(CpuDense, OfEveryNumberOfRowsThatATileLeaves) {
  const Expr n = pool_.shape_variable("n");
  for (bool transposed : {false, true}) {
    const Kernel k = dense(n, index(GetParam().units), index(GetParam().width), transposed);
    for (int width : {4, 16}) {
      const Kernel s = scheduled(k, width);
      for (int64_t rows = 0; rows <= 25; ++rows) expect_same(k, s, {{n, rows}});
    }
  }
}

TEST_F(Cpu, BatchedProductOfMatrices) {
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("x", kFloat32, {index(2), n, index(9)}),
               y = k_.input("y", kFloat32, {index(2), n, index(9)});
  const Tensor scores =
      k_.reduce("scores", kFloat32, {index(2), n, n}, {index(9)}, k_.sum(kFloat32),
                [&](Indices i, Indices r) { return x(i[0], i[1], r[0]) * y(i[0], i[2], r[0]); });
  const Tensor z =
      k_.reduce("z", kFloat32, {index(2), n, index(9)}, {n}, k_.sum(kFloat32),
                [&](Indices i, Indices r) { return scores(i[0], i[1], r[0]) * y(i[0], r[0], i[2]); });
  const Kernel k = k_.finish("k", "", {z});
  for (int64_t size : {0, 1, 6, 13}) check(k, {{n, size}});
}

TEST_F(Cpu, SumsOfRowsAndOfColumnsAndOfEverything) {
  const Expr n = pool_.shape_variable("n"), m = pool_.shape_variable("m");
  const Tensor x = k_.input("x", kFloat32, {n, m});
  const auto value = [&](Expr i, Expr j) { return x(i, j); };
  const Tensor rows = k_.reduce("rows", kFloat32, {n}, {m}, k_.sum(kFloat32),
                                [&](Indices i, Indices r) { return value(i[0], r[0]); });
  const Tensor columns = k_.reduce("columns", kFloat32, {m}, {n}, k_.maximum(kFloat32),
                                   [&](Indices i, Indices r) { return value(r[0], i[0]); });
  const Tensor total = k_.reduce("total", kFloat32, {}, {n, m}, k_.sum(kFloat32),
                                 [&](Indices, Indices r) { return value(r[0], r[1]); });
  const Kernel k = k_.finish("k", "", {rows, columns, total});
  for (auto [a, b] : {std::pair{0, 0}, {1, 1}, {3, 50}, {50, 3}, {0, 4}, {20, 21}})
    check(k, {{n, a}, {m, b}});
}

TEST_F(Cpu, SoftmaxKeepsItsExponentials) {
  const Tensor x = k_.input("x", kFloat32, {index(3), index(5)});
  const Tensor m = k_.reduce("m", kFloat32, {index(3)}, {index(5)}, k_.maximum(kFloat32),
                             [&](Indices i, Indices r) { return x(i[0], r[0]); });
  const Tensor e = k_.compute("e", kFloat32, x.shape(), [&](Indices i) { return exp(x.at(i) - m(i[0])); });
  const Tensor s = k_.reduce("s", kFloat32, {index(3)}, {index(5)}, k_.sum(kFloat32),
                             [&](Indices i, Indices r) { return e(i[0], r[0]); });
  const Tensor y = k_.compute("y", kFloat32, x.shape(), [&](Indices i) { return e.at(i) / s(i[0]); });
  const Kernel k = k_.finish("softmax", "", {y}), c = scheduled(k);
  EXPECT_TRUE(c.temporaries.empty()) << show(c);
  const auto exponentials = [](const Kernel& of) {  // in how many statements
    int64_t count = 0;
    visit(of.body, [&](Stmt st) {
      if (const auto* store = st->as<Store>()) {
        for_each_node(store->value,
                      [&](const ExprNode* n) { return count += n->kind == ExprKind::kMath, true; });
      }
    });
    return count;
  };
  EXPECT_EQ(exponentials(c), 2) << show(c);  // of the vectors and of the rest of a row
  // The order of a sum is not kept, so the bits may differ; the values may not.
  const auto in = inputs_of(k, {});
  const auto a = execute(k, in)[0].doubles(), b = execute(c, in)[0].doubles();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
}

TEST_F(Cpu, AResultThatIsAlsoAnOutputIsStored) {
  const Tensor x = k_.input("x", kFloat32, {index(4), index(9)});
  const Tensor s = k_.reduce("s", kFloat32, {index(4)}, {index(9)}, k_.sum(kFloat32),
                             [&](Indices i, Indices r) { return x(i[0], r[0]); });
  const Tensor y = k_.compute("y", kFloat32, {index(4)}, [&](Indices i) { return s.at(i) * 2; });
  check(k_.finish("k", "", {s, y}));
}

TEST_F(Cpu, RowsThatNoOperandHas) {
  const Tensor w = k_.input("w", kFloat32, {index(3), index(40)});
  const Tensor y = k_.reduce("y", kFloat32, {index(9), index(40)}, {index(3)}, k_.sum(kFloat32),
                             [&](Indices i, Indices r) { return w(r[0], i[1]); });
  check(k_.finish("k", "", {y}));
}

TEST_F(Cpu, AChoiceThatReadsItsOwnResultIsNoMaximum) {
  const Reducer largest{k_.constant(kFloat32, 0), [&](Expr so_far, Expr next) {
                          const Expr sum = so_far + next;
                          return select(less(so_far, sum), sum, so_far);
                        }};
  const Tensor x = k_.input("x", kFloat32, {index(4), index(19)});
  const Tensor y = k_.reduce("y", kFloat32, {index(4)}, {index(19)}, largest,
                             [&](Indices i, Indices r) { return x(i[0], r[0]); });
  check(k_.finish("k", "", {y}));
}

TEST_F(Cpu, SequentialStagesAndRequirementsStayAsTheyAre) {
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("x", kFloat32, {n});
  const Tensor y = k_.update(
      "y", kFloat32, {n}, [&](Indices i) { return x.at(i); }, {n - 1},
      [&](Indices r) { return std::vector<Expr>{r[0] + 1}; },
      [&](Tensor self, Indices r) { return self(r[0]) + self(r[0] + 1); });
  const Tensor z = k_.compute("z", kFloat32, {n}, [&](Indices i) {
    k_.require(less(y.at(i), k_.constant(kFloat32, 1000)), "too large");
    return y.at(i) * 2;
  });
  const Kernel k = k_.finish("k", "", {z});
  for (int64_t size : {1, 7}) check(k, {{n, size}});
}

TEST_F(Cpu, KernelsWithoutElementsDoNothing) {
  const Tensor x = k_.input("x", kFloat32, {k_.index(0), k_.index(4)});
  const Tensor one = k_.compute("one", kFloat32, {}, [&](Indices) { return k_.constant(kFloat32, 1); });
  const Tensor y =
      k_.compute("y", kFloat32, {k_.index(0), k_.index(4)}, [&](Indices i) { return x.at(i) + one(); });
  check(k_.finish("k", "", {y}));
}

TEST_F(Cpu, SmallLoopsAreSharedIfTheSettingsSaySo) {
  const Kernel k = convolution(2, 3, 4, 3, 1, 1);
  EXPECT_EQ(show(scheduled(k)).find("parallel"), std::string::npos);
  const Kernel shared = schedule_for_cpu(k, cpu_with(4), {.worth_threads = 1});
  EXPECT_NE(show(shared).find("parallel"), std::string::npos);
}

TEST_F(Cpu, LevelZeroChangesNothing) {
  const Kernel k = convolution(2, 3, 4, 3, 1, 1);
  EXPECT_EQ(schedule_for_cpu(k, cpu_with(8), {.opt_level = 0}).body, k.body);
}

TEST_F(Cpu, SchedulingTwiceChangesNothingMore) {
  const Kernel once = scheduled(convolution(3, 16, 9, 3, 1, 1));
  EXPECT_EQ(show(scheduled(once)), show(once));
}

}  // namespace
}  // namespace relay::kernel::schedule::cpu
