// Suppression: of boxes that overlap, the one with the best score stays. What the operators share.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "kernel/builder.h"
#include "op/real.h"

namespace relay::op {

// A box as two opposite corners, in any order.
template <class T>
struct Box {
  T x1, y1, x2, y2;
};

// Returns the area that two boxes share, as a part of the area that they cover together. Boxes that
// cover nothing share 0. `unit` is 1 where sides count pixels, both ends included, and else 0.
template <class T>
T overlap(const Box<T>& a, const Box<T>& b, double unit = 0) {
  const T zero = number(a.x1, 0), more = number(a.x1, unit);
  const auto side = [&](T low, T high) { return unit == 0 ? high - low : high - low + more; };
  const auto ends = [](T p, T q) { return std::pair<T, T>{min(p, q), max(p, q)}; };
  const auto [al, ar] = ends(a.x1, a.x2);
  const auto [at, ab] = ends(a.y1, a.y2);
  const auto [bl, br] = ends(b.x1, b.x2);
  const auto [bt, bb] = ends(b.y1, b.y2);
  const T width = max(zero, side(max(al, bl), min(ar, br))),
          height = max(zero, side(max(at, bt), min(ab, bb)));
  const T shared = width * height;
  const T all = side(al, ar) * side(at, ab) + side(bl, br) * side(bt, bb) - shared;
  return select(less(zero, all), shared / all, zero);
}

// --- to evaluate ---------------------------------------------------------------------------------

// Returns the candidates among `count` boxes, the best score first. Of equal scores the first box
// comes first. NaN is the worst score.
std::vector<int64_t> ranked(int64_t count, const std::function<bool(int64_t)>& is_candidate,
                            const std::function<double(int64_t)>& score);
// Returns the candidates, best first, that no earlier survivor suppresses.
std::vector<int64_t> survivors(const std::vector<int64_t>& candidates,
                               const std::function<bool(int64_t better, int64_t worse)>& suppresses);

// --- to lower ------------------------------------------------------------------------------------

// Boxes of several rows. Each row is suppressed by itself. The functions take the indices of a row
// and the number of a box in it. Only `order_of` needs `score`.
struct Candidates {
  std::vector<kernel::Expr> rows;  // extents
  kernel::Expr count;              // of boxes of a row
  std::function<kernel::Expr(kernel::Indices row, kernel::Expr box)> is_candidate, score;
};

// Returns the box at each place in the order of `ranked`, [row.., place]. Behind the last candidate
// it is -1. Takes time in the square of the number of boxes, in parallel.
kernel::Tensor order_of(kernel::Builder& k, const Candidates& c);
// Returns the candidates in the order of their numbers, [row.., place]. Behind the
// last one it is -1.
kernel::Tensor gathered(kernel::Builder& k, const Candidates& c);
// Returns whether the box at each place of the order survives, [row.., place]. Takes time in the
// square of the number of boxes, one after the other.
kernel::Tensor survivors_of(kernel::Builder& k, const Candidates& c, const kernel::Tensor& order,
                            const std::function<kernel::Expr(kernel::Indices row, kernel::Expr better,
                                                             kernel::Expr worse)>& suppresses);
// Returns how many earlier places of the row hold true, for booleans [row.., place].
kernel::Tensor counted_before(kernel::Builder& k, const kernel::Tensor& holds);
// Returns how many places of each row hold true, [row..].
kernel::Tensor counted(kernel::Builder& k, const kernel::Tensor& holds);

// Returns the indices of a row and one more.
std::vector<kernel::Expr> with(kernel::Indices row, kernel::Expr last);
// Returns an index below `count` for a load whose result is not used where `index` is none.
kernel::Expr safe(kernel::Expr index, kernel::Expr count);

}  // namespace relay::op
