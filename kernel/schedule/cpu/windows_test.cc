// Windows over images in blocks with padding: nothing is copied, and the results are those of the
// kernel as it was written.
#include <limits>

#include "kernel/schedule/cpu/testing.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

struct Shape {
  int64_t height, width, window, stride, dilation, before, after;
};

class CpuWindows : public CpuScheduleTest {
 protected:
  static constexpr int64_t kLanes = 8;

  Tensor padded(const Tensor& x, const Shape& s, double fill) {
    const int64_t more = s.before + s.after;
    return k_.compute(
        "padded", kFloat32, {x.dim(0), index(s.height + more), index(s.width + more), index(kLanes)},
        [&](Indices i) {
          const Expr h = i[1] - s.before, w = i[2] - s.before, zero = index(0);
          const Expr rows = logical_and(less_equal(zero, h), less(h, index(s.height)));
          const Expr columns = logical_and(less_equal(zero, w), less(w, index(s.width)));
          return select(logical_and(rows, columns), x(i[0], h, w, i[3]), k_.constant(kFloat32, fill));
        });
  }
  static int64_t count(const Shape& s, int64_t extent) {
    return (extent + s.before + s.after - (s.window - 1) * s.dilation - 1) / s.stride + 1;
  }
  // y[c, h, w, l] = the sum of x[c, h*s + u*d - p, w*s + v*d - p, l] * f[c, u, v, l], and an epilogue.
  Kernel depthwise(const Shape& s) {
    const Tensor x = input("x", {2, s.height, s.width, kLanes}),
                 f = input("f", {2, s.window, s.window, kLanes});
    const Tensor p = padded(x, s, 0);
    const Tensor y = k_.reduce(
        "depthwise", kFloat32, {index(2), index(count(s, s.height)), index(count(s, s.width)), index(kLanes)},
        {index(s.window), index(s.window)}, k_.sum(kFloat32), [&](Indices i, Indices r) {
          return p(i[0], i[1] * s.stride + r[0] * s.dilation, i[2] * s.stride + r[1] * s.dilation, i[3]) *
                 f(i[0], r[0], r[1], i[3]);
        });
    const Tensor z = k_.compute("relu", kFloat32, y.shape(),
                                [&](Indices i) { return max(y.at(i), k_.constant(kFloat32, 0)); });
    return k_.finish("depthwise", "", {z});
  }
  Kernel largest(const Shape& s) {
    const Tensor x = input("x", {2, s.height, s.width, kLanes});
    const Tensor p = padded(x, s, -std::numeric_limits<double>::infinity());
    const Tensor y = k_.reduce(
        "pool", kFloat32, {index(2), index(count(s, s.height)), index(count(s, s.width)), index(kLanes)},
        {index(s.window), index(s.window)}, k_.maximum(kFloat32),
        [&](Indices i, Indices r) { return p(i[0], i[1] * s.stride + r[0], i[2] * s.stride + r[1], i[3]); });
    return k_.finish("pool", "", {y});
  }
};

TEST_F(CpuWindows, PaddingIsNotCopied) {
  for (const Shape& s : std::vector<Shape>{{14, 14, 3, 1, 1, 1, 1},
                                           {9, 40, 3, 1, 1, 1, 1},   // several tiles, the ends of rows apart
                                           {12, 33, 3, 2, 1, 0, 1},  // more behind than in front
                                           {7, 19, 5, 1, 1, 2, 2},
                                           {8, 30, 3, 1, 4, 4, 4},  // padding as wide as half a tile
                                           {3, 3, 5, 1, 1, 4, 4},   // rows with hardly anything of the image
                                           {6, 1, 3, 1, 1, 1, 1},
                                           {2, 60, 7, 1, 9, 27, 27}}) {  // padding over many tiles
    for (const int width : {4, 8}) {
      const Kernel k = depthwise(s), made = scheduled(k, width);
      EXPECT_TRUE(made.temporaries.empty()) << s.width << ": " << show(made);
      expect_same(k, made);
    }
  }
}

TEST_F(CpuWindows, TilesInsideTheImageAreOneLoop) {
  // Five tiles of eight columns: the first and the last reach over the ends.
  const Kernel made = scheduled(depthwise({9, 40, 3, 1, 1, 1, 1}), 8);
  std::vector<int64_t> tiles;
  visit(made.body, [&](Stmt s) {
    const auto* loop = s->as<For>();
    if (loop && loop->var->name.text().starts_with("tile")) tiles.push_back(loop->extent->int_value);
  });
  EXPECT_EQ(tiles, (std::vector<int64_t>{3})) << show(made);
}

TEST_F(CpuWindows, Pooling) {
  for (const Shape& s : std::vector<Shape>{{9, 21, 3, 2, 1, 1, 1}, {5, 5, 2, 2, 1, 1, 0}}) {
    const Kernel k = largest(s), made = scheduled(k, 8);
    EXPECT_TRUE(made.temporaries.empty()) << show(made);
    expect_same(k, made);
  }
}

// What is around the image takes part in the sum, whatever it is.
TEST_F(CpuWindows, WhatIsAroundTheImageTakesPart) {
  const Tensor x = input("x", {2, 4, 4, kLanes});
  const Shape s{4, 4, 3, 1, 1, 1, 1};
  const Tensor p = padded(x, s, 2.5);
  const Tensor y = k_.reduce("sum", kFloat32, {index(2), index(4), index(4), index(kLanes)},
                             {index(3), index(3)}, k_.sum(kFloat32),
                             [&](Indices i, Indices r) { return p(i[0], i[1] + r[0], i[2] + r[1], i[3]); });
  const Kernel k = k_.finish("k", "", {y});
  expect_same(k, scheduled(k, 4));
}

TEST_F(CpuWindows, OthersKeepTheirCopy) {
  // Each padded element is used for all output channels: worth a copy.
  const Shape s{6, 6, 3, 1, 1, 1, 1};
  const Tensor x = input("x", {2, 6, 6, kLanes}), f = input("f", {4, 2 * kLanes, 3, 3, kLanes});
  const Tensor p = padded(x, s, 0);
  const Tensor y = k_.reduce(
      "conv", kFloat32, {index(4), index(6), index(6), index(kLanes)},
      {index(2), index(kLanes), index(3), index(3)}, k_.sum(kFloat32), [&](Indices i, Indices r) {
        return p(r[0], i[1] + r[2], i[2] + r[3], r[1]) * f(i[0], r[0] * kLanes + r[1], r[2], r[3], i[3]);
      });
  const Kernel k = k_.finish("k", "", {y}), made = scheduled(k, 8);
  EXPECT_FALSE(made.temporaries.empty());
  expect_same(k, made);
}

}  // namespace
}  // namespace relay::kernel::schedule::cpu
