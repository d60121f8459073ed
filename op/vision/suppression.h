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

// The area that two boxes share, as a part of the area that they cover together; 0 if they cover
// none. `unit` is what a side is longer than the difference of its ends: 1 if these are pixels.
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

// The candidates among `count` boxes, the best score first, and of equal scores the first one. A
// score that is NaN is the worst.
std::vector<int64_t> ranked(int64_t count, const std::function<bool(int64_t)>& is_candidate,
                            const std::function<double(int64_t)>& score);
// Those of the candidates that none of those before, which is left itself, suppresses.
std::vector<int64_t> survivors(const std::vector<int64_t>& candidates,
                               const std::function<bool(int64_t better, int64_t worse)>& suppresses);

// --- to lower ------------------------------------------------------------------------------------

// Boxes of several rows, each of which is suppressed by itself. Everything is asked by the indices
// of a row and the number of a box in it.
struct Candidates {
  std::vector<kernel::Expr> rows;  // extents
  kernel::Expr count;              // of boxes of a row
  std::function<kernel::Expr(kernel::Indices row, kernel::Expr box)> is_candidate, score;
};

// [row.., place]: the box at each place in the order of `ranked`; -1 behind the last candidate.
kernel::Tensor order_of(kernel::Builder& k, const Candidates& c);
// [row.., place]: the candidates without gaps, in the order of their numbers; -1
// behind the last one.
kernel::Tensor gathered(kernel::Builder& k, const Candidates& c);
// [row.., place]: does the box at this place of the order survive?
kernel::Tensor survivors_of(kernel::Builder& k, const Candidates& c, const kernel::Tensor& order,
                            const std::function<kernel::Expr(kernel::Indices row, kernel::Expr better,
                                                             kernel::Expr worse)>& suppresses);
// [row.., place]: how many places before this one hold true, of a tensor [row..,
// place] of booleans.
kernel::Tensor counted_before(kernel::Builder& k, const kernel::Tensor& holds);
// [row..]: how many places hold true.
kernel::Tensor counted(kernel::Builder& k, const kernel::Tensor& holds);

// The indices of a row and one more.
std::vector<kernel::Expr> with(kernel::Indices row, kernel::Expr last);
// A number of a box or place, for an access: never outside of `count`, even where nobody
// looks at the result.
kernel::Expr safe(kernel::Expr index, kernel::Expr count);

}  // namespace relay::op
