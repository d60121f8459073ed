#include "kernel/in_place.h"
#include "kernel/schedule/cpu/testing.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

class PlaneByPlane : public CpuScheduleTest {
 protected:
  // dx[n, c, i] is a sum over the windows w of `size` elements that i is in. If x[n, c, i] is the
  // maximum of w, it adds dy[n, c, w] over the number of elements that are. Windows begin at
  // multiples of `stride`.
  Kernel adjoint_of_maximum(std::vector<Expr> planes, int64_t length, int64_t size, int64_t stride) {
    Builder k(pool_);
    const int64_t windows = (length - size) / stride + 1;
    std::vector<Expr> of_x = planes, of_y = planes;
    of_x.push_back(index(length)), of_y.push_back(index(windows));
    const auto at = [&](Indices i, Expr last) {
      std::vector<Expr> out(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(planes.size()));
      out.push_back(last);
      return out;
    };
    const auto last = [](Indices i) { return i[i.size() - 1]; };
    const Tensor x = k.input("x", kFloat32, of_x), dy = k.input("dy", kFloat32, of_y);
    const Tensor most = k.reduce("most", kFloat32, of_y, {index(size)}, k.maximum(kFloat32),
                                 [&](Indices i, Indices r) { return x.at(at(i, last(i) * stride + r[0])); });
    const Expr one = k.constant(kFloat32, 1), none = k.constant(kFloat32, 0);
    const Tensor hits =
        k.reduce("hits", kFloat32, of_y, {index(size)}, k.sum(kFloat32), [&](Indices i, Indices r) {
          return select(equal(x.at(at(i, last(i) * stride + r[0])), most.at(i)), one, none);
        });
    const Tensor dx =
        k.reduce("dx", kFloat32, of_x, {index(size)}, k.sum(kFloat32), [&](Indices i, Indices r) {
          const Expr start = last(i) - r[0], w = floor_div(start, stride);
          const Expr exists = logical_and(logical_and(less_equal(index(0), start), less(w, index(windows))),
                                          equal(floor_mod(start, stride), index(0)));
          const std::vector<Expr> place = at(i, w);
          return select(exists, select(equal(x.at(i), most.at(place)), dy.at(place) / hits.at(place), none),
                        none);
        });
    return k.finish("k", "", {dx});
  }
};

TEST_F(PlaneByPlane, NothingOfAPlaneGoesToMemory) {
  for (const auto& [length, size, stride] : {std::tuple{8, 2, 2}, {9, 3, 2}, {11, 2, 3}}) {
    const Kernel k = adjoint_of_maximum({index(3), index(2)}, length, size, stride);
    for (int width : {4, 8, 16}) {
      const Kernel s = scheduled(k, width);
      EXPECT_TRUE(s.temporaries.empty()) << show(s);
      expect_same(k, s);
    }
  }
}

// Once the maxima of a plane are known, its elements are only read where they are replaced.
TEST_F(PlaneByPlane, ThePlanesMayBeReplaced) {
  EXPECT_TRUE(may_share(scheduled(adjoint_of_maximum({index(3), index(2)}, 8, 2, 2)), 0, 0));
  EXPECT_TRUE(may_share(scheduled(adjoint_of_maximum({index(6)}, 9, 3, 2)), 0, 0));
}

TEST_F(PlaneByPlane, LargePlanesStayInMemory) {
  const Kernel k = adjoint_of_maximum({index(2)}, 80'000, 2, 2), s = scheduled(k);
  EXPECT_EQ(s.temporaries.size(), 2u) << show(s);
  expect_same(k, s);
}

TEST_F(PlaneByPlane, ExtentsThatOnlyARunKnows) {
  const Expr n = pool_.shape_variable("n");
  const Kernel k = adjoint_of_maximum({n, index(2)}, 8, 2, 2), s = scheduled(k);
  EXPECT_TRUE(s.temporaries.empty()) << show(s);
  for (int64_t extent : {0, 1, 5}) expect_same(k, s, {{n, extent}});
}

}  // namespace
}  // namespace relay::kernel::schedule::cpu
