#include "vta/compile/tile.h"

#include <algorithm>

namespace relay::vta {

int64_t Tile::* outermost(const Tile& t) {
  for (int64_t Tile::* extent : {&Tile::batches, &Tile::bundles, &Tile::outs, &Tile::rows}) {
    if (t.*extent > 1) return extent;
  }
  return &Tile::columns;
}

Clipped clip(Window w, int64_t size) {
  const int64_t first = std::clamp<int64_t>(w.first, 0, size), end = std::clamp<int64_t>(w.end, 0, size);
  if (first >= end) return {};
  return {first, end - first, first - w.first, w.end - end};
}

Clipped clip_off(Window w, int64_t size) {
  const Clipped c = clip(w, size);
  return {c.first, c.count};
}

Box activation_box(const Pixels& all, int64_t batches, int64_t blocks, const Clipped& rows,
                   const Clipped& columns) {
  const int64_t block = all.rows * all.columns;
  return {{batches, all.blocks * block},
          {blocks, block},
          {rows.count, all.columns * all.row_step, rows.before, rows.after},
          {columns.count, 1, columns.before, columns.after}};
}

Box weight_box(const Tile& t, const Section& s, int64_t taps) {
  return {{t.bundles, s.out_blocks * s.in_blocks * taps}, {t.outs, s.in_blocks * taps}, {t.ins * taps, 1}};
}

std::vector<Loop> product_loops(const Tile& t, const Phase& rows, const Phase& columns, int64_t in_rows,
                                int64_t in_columns, int64_t taps) {
  const int64_t out = t.rows * t.columns, in = in_rows * in_columns;
  return {{t.batches, {t.out_blocks() * out, t.in_blocks() * in, 0}},
          {t.bundles, {t.outs * out, t.ins * in, t.outs * t.ins * taps}},
          {t.outs, {out, 0, t.ins * taps}},
          {t.ins, {0, in, taps}},
          {rows.count, {rows.step * t.columns, rows.in_step * in_columns, 0}},
          {columns.count, {columns.step, columns.in_step, 0}}};
}

std::vector<Indices> product_offsets(const Tile& t, const Phase& rows, const Phase& columns,
                                     int64_t in_columns, int64_t window_columns) {
  std::vector<Indices> out;
  const int64_t dst = rows.first * t.columns + columns.first;
  for (const Phase::Tap& r : rows.taps) {
    for (const Phase::Tap& c : columns.taps)
      out.push_back({dst, r.in * in_columns + c.in, r.index * window_columns + c.index});
  }
  return out;
}

std::vector<Loop> step_loops(const Tile& t, OperandKind operand) {
  const int64_t pixels = t.rows * t.columns, vectors = t.out_blocks() * pixels;
  switch (operand) {
    case OperandKind::kChannel:
      return {{t.batches, {vectors}}, {t.out_blocks(), {pixels, 1}}, {t.rows, {t.columns}}, {t.columns, {1}}};
    case OperandKind::kTensor:
      return {{t.batches, {vectors, vectors}},
              {t.out_blocks(), {pixels, pixels}},
              {t.rows, {t.columns, t.columns}},
              {t.columns, {1, 1}}};
    case OperandKind::kImmediate: break;
  }
  return {{t.batches, {vectors}}, {t.out_blocks(), {pixels}}, {t.rows, {t.columns}}, {t.columns, {1}}};
}

}  // namespace relay::vta
