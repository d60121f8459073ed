// The rules for tensors in blocks: register tiles, copies with padding, formulas; against the
// kernel as it was written.
#include "kernel/schedule/cpu/testing.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

class CpuBlocks : public CpuScheduleTest {
 protected:
  // y[b, h, w, l] = sum of x[c // lanes, h*s + u, w*s + v, c % lanes] * f[b, c, u, v, l]
  Kernel convolution(int64_t lanes, int64_t out, int64_t in, int64_t size, int64_t window, int64_t stride) {
    const Tensor x = input("x", {in, size, size, lanes}),
                 f = input("f", {out, in * lanes, window, window, lanes});
    const int64_t to = (size - window) / stride + 1;
    const Tensor y = k_.reduce("conv", kFloat32, {index(out), index(to), index(to), index(lanes)},
                               {index(in), index(lanes), index(window), index(window)}, k_.sum(kFloat32),
                               [&](Indices i, Indices r) {
                                 return x(r[0], i[1] * stride + r[2], i[2] * stride + r[3], r[1]) *
                                        f(i[0], r[0] * lanes + r[1], r[2], r[3], i[3]);
                               });
    const Tensor z = k_.compute("relu", kFloat32, y.shape(),
                                [&](Indices i) { return max(y.at(i), k_.constant(kFloat32, 0)); });
    return k_.finish("conv", "", {z});
  }
  bool has_block(const Kernel& k, std::string_view part_of_name) {
    const std::vector<const Block*> all = kernel::blocks(k.body);
    return std::any_of(all.begin(), all.end(), [&](const Block* b) {
      return b->name.text().find(part_of_name) != std::string_view::npos;
    });
  }
  int count_selections(const Kernel& k) {
    int count = 0;
    visit(k.body, [&](Stmt s) {
      for (Expr e : expressions(s)) {
        for_each_node(e, [&](const ExprNode* n) {
          count += n->kind == ExprKind::kSelect;
          return true;
        });
      }
    });
    return count;
  }
  // Is there a loop over the lanes of vectors?
  bool has_vectors(const Kernel& k) {
    bool found = false;
    visit(k.body, [&](Stmt s) {
      const auto* f = s->as<For>();
      found |= f && f->how == ForKind::kVectorized;
    });
    return found;
  }
};

TEST_F(CpuBlocks, Convolutions) {
  for (const auto& [size, window, stride] :
       std::vector<std::array<int64_t, 3>>{{7, 3, 1}, {9, 3, 2}, {5, 1, 1}, {15, 2, 1}, {3, 3, 1}}) {
    for (const int width : {4, 8}) {
      const Kernel k = convolution(8, 3, 2, size, window, stride);
      const Kernel s = scheduled(k, width);
      EXPECT_TRUE(has_vectors(s)) << size;
      EXPECT_TRUE(has_block(s, "_result")) << "no register tile: " << show(s);
      expect_same(k, s);
    }
  }
}

// Where no window looks beside a pixel, the pixels of all rows make whole tiles together.
TEST_F(CpuBlocks, PixelsAreOneAxis) {
  const auto axes_of_tile = [&](const Kernel& s) {
    size_t axes = 0;
    visit(s.body, [&](Stmt at) {
      if (const auto* a = at->as<Allocate>()) axes = std::max(axes, a->buffer->shape.size());
    });
    return axes;
  };
  const Kernel pixels = simplify(convolution(8, 3, 2, 7, 1, 1));
  EXPECT_EQ(axes_of_tile(scheduled(pixels, 8)), 3u) << "blocks, pixels, lanes";
  expect_same(pixels, scheduled(pixels, 8));
  for (const auto& [window, stride] : {std::pair<int64_t, int64_t>{3, 1}, {1, 2}})
    EXPECT_EQ(axes_of_tile(scheduled(convolution(8, 3, 2, 7, window, stride), 8)), 4u) << "rows, columns";
}

// One block of channels is one tile of the others: the pixels keep the threads busy.
TEST_F(CpuBlocks, FewOtherTilesSharePixelsOut) {
  for (const auto& [blocks, window] : {std::pair<int64_t, int64_t>{1, 1}, {3, 1}, {1, 3}}) {
    const Kernel k = simplify(convolution(8, blocks, 2, 20, window, 1)), s = scheduled(k, 8);
    int64_t tasks = 0;
    visit(s.body, [&](Stmt at) {
      const auto* loop = at->as<For>();
      if (loop && loop->how == ForKind::kParallel) tasks = loop->extent->int_value;
    });
    EXPECT_GE(tasks, 12) << show(s);  // 16, but for what rounding takes
    expect_same(k, s);
  }
}

// What follows the sum may go along the rows alone.
TEST_F(CpuBlocks, RowsOfTheirOwnBehindASum) {
  const Tensor x = input("x", {2, 5, 5, 8}), f = input("f", {16, 8}), bias = input("bias", {5});
  const Tensor y =
      k_.reduce("conv", kFloat32, {index(5), index(5), index(8)}, {index(2), index(8)}, k_.sum(kFloat32),
                [&](Indices i, Indices r) { return x(r[0], i[0], i[1], r[1]) * f(r[0] * 8 + r[1], i[2]); });
  const Tensor z = k_.compute("biased", kFloat32, y.shape(), [&](Indices i) { return y.at(i) + bias(i[0]); });
  const Kernel k = k_.finish("k", "", {z});
  expect_same(k, scheduled(k, 8));
}

TEST_F(CpuBlocks, TilesOfALargeImageInParts) {
  target::Cpu small = cpu_with(8);
  small.l2.bytes = 4 << 10;
  for (const auto& [size, window] : {std::pair<int64_t, int64_t>{9, 1}, {9, 2}}) {
    const Kernel k = convolution(8, 6, 4, size, window, 1);
    const Kernel s = schedule_for_cpu(k, small);
    EXPECT_NE(show(s), show(scheduled(k, 8))) << "the size of the cache changes nothing";
    expect_same(k, s);
  }
}

TEST_F(CpuBlocks, OneMultiplicationALane) {
  const Tensor x = input("x", {2, 9, 9, 4}), f = input("f", {2, 3, 3, 4});
  const Tensor y = k_.reduce("depthwise", kFloat32, {index(2), index(7), index(7), index(4)},
                             {index(3), index(3)}, k_.sum(kFloat32), [&](Indices i, Indices r) {
                               return x(i[0], i[1] + r[0], i[2] + r[1], i[3]) * f(i[0], r[0], r[1], i[3]);
                             });
  const Kernel k = k_.finish("k", "", {y});
  expect_same(k, scheduled(k, 4));
}

TEST_F(CpuBlocks, LargestOfWindows) {
  const Tensor x = input("x", {9, 9, 8});
  const Tensor y =
      k_.reduce("pool", kFloat32, {index(4), index(4), index(8)}, {index(3), index(3)}, k_.maximum(kFloat32),
                [&](Indices i, Indices r) { return x(i[0] * 2 + r[0], i[1] * 2 + r[1], i[2]); });
  const Kernel k = k_.finish("k", "", {y});
  expect_same(k, scheduled(k, 8));
}

TEST_F(CpuBlocks, PaddingIsABranch) {
  const Tensor x = input("x", {2, 5, 5, 8});
  const Tensor y = k_.compute("pad", kFloat32, {index(2), index(7), index(7), index(8)}, [&](Indices i) {
    const Expr h = i[1] - 1, w = i[2] - 1, zero = index(0);
    const Expr inside = logical_and(logical_and(less_equal(zero, h), less(h, index(5))),
                                    logical_and(less_equal(zero, w), less(w, index(5))));
    return select(inside, x(i[0], h, w, i[3]), k_.constant(kFloat32, 0));
  });
  const Kernel k = k_.finish("k", "", {y}), s = scheduled(k, 4);
  EXPECT_TRUE(has_vectors(s));
  expect_same(k, s);
}

// What four small images hold, between each other.
TEST_F(CpuBlocks, WhichOfSeveralImagesIsABranch) {
  std::vector<Tensor> parts;
  for (const char* name : {"a", "b", "c", "d"}) parts.push_back(input(name, {3, 3, 8}));
  const Tensor y = k_.compute("interleaved", kFloat32, {index(6), index(6), index(8)}, [&](Indices i) {
    const Expr phase = floor_mod(i[0], 2) * 2 + floor_mod(i[1], 2);
    Expr e = parts[3](floor_div(i[0], 2), floor_div(i[1], 2), i[2]);
    for (size_t p = 3; p-- > 0;) {
      const Expr part = parts[p](floor_div(i[0], 2), floor_div(i[1], 2), i[2]);
      e = select(equal(phase, index(static_cast<int64_t>(p))), part, e);
    }
    return max(e, k_.constant(kFloat32, 0));
  });
  const Kernel k = k_.finish("k", "", {y}), s = scheduled(k, 4);
  EXPECT_EQ(count_selections(s), 0) << show(s);
  expect_same(k, s);
}

// Of rows that are no whole vectors, too: each row is copied from one tensor.
TEST_F(CpuBlocks, WhichOfSeveralTensorsARowIsFromIsABranch) {
  const Tensor a = input("a", {1, 11}), b = input("b", {2, 11}), c = input("c", {3, 11});
  const Tensor y = k_.compute("joined", kFloat32, {index(6), index(11)}, [&](Indices i) {
    const Expr rest = select(less(i[0], index(3)), b(i[0] - 1, i[1]), c(i[0] - 3, i[1]));
    return select(less(i[0], index(1)), a(i[0], i[1]) * 2, rest);
  });
  const Kernel k = k_.finish("k", "", {y}), s = scheduled(k, 4);
  EXPECT_EQ(count_selections(s), 0) << show(s);
  EXPECT_TRUE(has_vectors(s)) << show(s);
  expect_same(k, s);
}

TEST_F(CpuBlocks, WhatIsSelectedByLaneGuardsWhatIsInside) {
  const Tensor x = input("x", {4, 4, 8});
  const Tensor y = k_.compute("t", kFloat32, x.shape(), [&](Indices i) {
    const Expr inner = select(less(i[0], index(2)), x.at(i), -x.at(i));
    return select(less(i[2], index(3)), inner, x.at(i) * 2);
  });
  const Kernel k = k_.finish("k", "", {y});
  expect_same(k, scheduled(k, 4));
}

TEST_F(CpuBlocks, ManySelectionsStay) {
  const Tensor x = input("x", {40, 2, 8});
  const Tensor y = k_.compute("t", kFloat32, x.shape(), [&](Indices i) {
    Expr e = x.at(i);
    for (int64_t p = 0; p < 20; ++p) e = select(equal(i[0], index(2 * p)), e + static_cast<double>(p), e);
    return e;
  });
  const Kernel k = k_.finish("k", "", {y});
  expect_same(k, scheduled(k, 4));
}

TEST_F(CpuBlocks, LargeWeightsAreFetchedAhead) {
  const Kernel large = convolution(16, 8, 16, 3, 3, 1), small = convolution(16, 2, 2, 3, 3, 1);
  const Kernel s = scheduled(large, 16);
  EXPECT_TRUE(has_prefetch(s));
  EXPECT_FALSE(has_prefetch(scheduled(small, 16)));
  expect_same(large, s);
}

// t[i, j, l] is the sum or the difference of two elements, by i; j goes in cycles of two, of which
// the last is cut off.
TEST_F(CpuBlocks, FormulasAreWrittenOut) {
  const Tensor x = input("x", {2, 4, 8});
  const Tensor y = k_.compute("t", kFloat32, {index(2), index(7), index(8)}, [&](Indices i) {
    const Expr a = x(index(0), floor_div(i[1], 2), i[2]), b = x(index(1), floor_div(i[1], 2), i[2]);
    const Expr even = select(equal(i[0], index(0)), a + b, a - b),
               odd = select(equal(i[0], index(0)), a * b, b);
    return select(equal(floor_mod(i[1], 2), index(0)), even, odd);
  });
  const Kernel k = k_.finish("k", "", {y}), s = scheduled(k, 4);
  EXPECT_TRUE(has_block(s, "_part")) << "what formulas share is computed once";
  expect_same(k, s);
}

// An axis is shorter than a cycle, or its last cycle is.
TEST_F(CpuBlocks, FormulasOfShortAxes) {
  const Tensor x = input("x", {3, 8});
  const Tensor y = k_.compute("t", kFloat32, {index(5), index(1), index(8)}, [&](Indices i) {
    const Expr a = x(floor_div(i[0], 2), i[2]);
    const Expr even = select(equal(floor_mod(i[1], 2), index(0)), a + a, a - a);
    return select(equal(floor_mod(i[0], 2), index(0)), even, -even);
  });
  const Kernel k = k_.finish("k", "", {y}), s = scheduled(k, 4);
  EXPECT_TRUE(has_block(s, "_part")) << "formulas are written out";
  expect_same(k, s);
}

TEST_F(CpuBlocks, FormulasOfOneElementOnly) {
  // Which formula holds depends on data, too: nothing is written out, and the result is the same.
  const Tensor x = input("x", {4, 4, 8});
  const Tensor y = k_.compute("t", kFloat32, x.shape(), [&](Indices i) {
    const Expr e = x.at(i);
    return select(equal(i[0], index(1)), select(less(e, k_.constant(kFloat32, 0)), -e, e), e * 2);
  });
  const Kernel k = k_.finish("k", "", {y});
  expect_same(k, scheduled(k, 4));
}

}  // namespace
}  // namespace relay::kernel::schedule::cpu
