#include "vta/compile/blocks.h"

#include <algorithm>
#include <numeric>

#include "base/integers.h"

namespace relay::vta {
namespace {

int64_t quotient_up(int64_t a, int64_t b) { return -quotient_down(-a, b); }

// Groups of a bundle. BLOCK is a power of two, so the larger of the two counts suits both.
int64_t groups_of_bundle(const Layer& l, int64_t block) {
  const int64_t in = block / std::gcd(block, l.in_channels / l.groups);
  const int64_t out = block / std::gcd(block, l.out_channels / l.groups);
  return std::min(std::max(in, out), l.groups);
}

}  // namespace

BlockedLayer in_blocks(const Layer& l, const Params& params) {
  const int64_t block = params.block();
  BlockedLayer out;
  out.batches = ceil_div(l.batch, params.batch());
  out.in_blocks = ceil_div(l.in_channels, block);
  out.out_blocks = ceil_div(l.out_channels, block);
  out.out_rows = out_size(l.kind, l.rows);
  out.out_columns = out_size(l.kind, l.columns);
  out.taps = l.rows.window * l.columns.window;
  out.rows = l.rows;
  if (l.kind == LayerKind::kProduct && l.rows.window == 1) {
    out.rows = {.size = out.out_rows};  // without pads: they are smaller than the window
    out.row_step = l.rows.stride;
  }
  if (!l.multiplies()) {
    out.sections.push_back({.bundles = out.in_blocks});
    return out;
  }
  const int64_t in = l.in_channels / l.groups, result = l.out_channels / l.groups;
  const int64_t groups = groups_of_bundle(l, block);
  for (int64_t first = 0; first < l.groups;) {
    const int64_t left = l.groups - first;
    Section s = {.bundles = std::max<int64_t>(left / groups, 1),
                 .groups = std::min(groups, left),
                 .first_in = first * in / block,
                 .first_out = first * result / block,
                 .first_group = first,
                 .first_weight = out.weights};
    s.in_blocks = ceil_div(s.groups * in, block);
    s.out_blocks = ceil_div(s.groups * result, block);
    out.weights += s.bundles * s.in_blocks * s.out_blocks * out.taps;
    first += s.bundles * s.groups;
    out.sections.push_back(s);
  }
  return out;
}

// A result of a transposed convolution sees position i by tap k if result + pad = i * stride + k *
// dilation.
Window window_of(LayerKind kind, const Axis& a, int64_t begin, int64_t count) {
  if (kind == LayerKind::kTransposed) {
    const int64_t least = begin + a.pad_before - (a.reach() - 1), most = begin + count - 1 + a.pad_before;
    return {quotient_up(least, a.stride), quotient_down(most, a.stride) + 1};
  }
  const int64_t first = begin * a.stride - a.pad_before;
  return {first, first + (count - 1) * a.stride + a.reach()};
}

int64_t largest_window(LayerKind kind, const Axis& a, int64_t count) {
  if (kind == LayerKind::kTransposed) return (count + a.reach() - 2) / a.stride + 1;
  return window_of(kind, a, 0, count).size();
}

std::vector<Phase> phases_of(LayerKind kind, const Axis& a, int64_t begin, int64_t count) {
  std::vector<Phase> out;
  const int64_t in_first = window_of(kind, a, begin, count).first;
  const bool transposed = kind == LayerKind::kTransposed;
  const int64_t phases = transposed ? std::min(a.stride, count) : 1;
  for (int64_t first = 0; first < phases; first++) {
    Phase phase = {.first = first,
                   .step = transposed ? a.stride : 1,
                   .count = transposed ? ceil_div(count - first, a.stride) : count,
                   .in_step = transposed ? 1 : a.stride};
    for (int64_t k = 0; k < a.window; k++) {
      if (!transposed) {
        phase.taps.push_back({k, k * a.dilation});
        continue;
      }
      const int64_t at = begin + first + a.pad_before - k * a.dilation;
      if (at - quotient_down(at, a.stride) * a.stride == 0)
        phase.taps.push_back({k, quotient_down(at, a.stride) - in_first});
    }
    if (!phase.taps.empty()) out.push_back(std::move(phase));
  }
  return out;
}

}  // namespace relay::vta
