#include "kernel/schedule/cpu/tile_plan.h"

#include <algorithm>
#include <span>

#include "kernel/schedule/contraction.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/walk.h"
#include "target/machines.h"

namespace relay::kernel::schedule::cpu {
namespace {

// Weights of the cost model, tuned by what tiles took; target/machines.h has the machine's numbers.
constexpr double kOverhead = 1;       // of a step's loop, in cycles
constexpr double kTileOverhead = 12;  // of beginning and ending a tile
// Vectors of several streams in turn come through the second-level cache at this part of its rate.
constexpr double kOfRate = 0.5;

// Does it go along the two axes, if it does at all, by elements that follow each other?
bool goes_along_both(const ExprNode* load, const Axis& outer, const Axis& inner) {
  const std::vector<Expr> at(load->args.begin(), load->args.end());
  const auto along = [&](Expr index, const Axis& axis) { return mentions(index, axis.var); };
  for (size_t i = 0; i < at.size(); ++i) {
    if (i + 1 < at.size() && at[i] == outer.var && at[i + 1] == inner.var &&
        load->buffer->shape[i + 1] == inner.extent) {
      ++i;
    } else if (along(at[i], outer) || along(at[i], inner)) {
      return false;
    }
  }
  return true;
}

// Of all axes but the last one, which has the lanes.
std::vector<TileAxis> tile_axes(const AnchoredStage& anchored) {
  const Stage& s = anchored.stage;
  std::vector<TileAxis> out;
  for (size_t a = 0; a + 1 < s.spatial.size(); ++a) out.push_back({a, a, s.spatial[a].extent});
  if (out.size() < 2) return out;
  const size_t y = out.size() - 2, x = out.size() - 1;
  if (out[y].extent->kind != ExprKind::kInt || out[x].extent->kind != ExprKind::kInt) return out;
  bool one = true;
  const auto look = [&](const Stage& stage) {
    const size_t lanes = stage.spatial.size() - 1;
    one &= lanes >= 2;
    if (!one) return;
    for_each_load(stage.value, [&](const ExprNode* load) {
      one &= load->buffer == s.buffer ||
             goes_along_both(load, stage.spatial[lanes - 2], stage.spatial[lanes - 1]);
    });
  };
  look(s);
  if (anchored.epilogue) look(*anchored.epilogue);
  if (!one) return out;
  out[y].last = x;
  out[y].extent = out[y].extent * out[x].extent;
  out.pop_back();
  return out;
}

// What the operands of one step are loaded for.
struct Operand {
  std::vector<bool> along;  // each axis of the tile: does it vary there?
  bool in_lanes = false;
};

class TilePlanner {
 public:
  TilePlanner(const Stage& s, std::span<const TileAxis> axes, const target::Cpu& cpu, int64_t width)
      : cpu_(cpu), width_(width), lanes_(s.spatial.back().extent->int_value) {
    for (const TileAxis& a : axes)
      extents_.push_back(a.extent->kind == ExprKind::kInt ? a.extent->int_value : 1);
    for (const Axis& a : s.reduction)
      steps_ *= a.extent->kind == ExprKind::kInt ? static_cast<double>(a.extent->int_value) : 64;
    for_each_load(s.next, [&](const ExprNode* load) {
      Operand o;
      for (const TileAxis& a : axes) o.along.push_back(goes_along(load, s, a));
      o.in_lanes = mentions(load, s.spatial.back().var);
      operands_.push_back(o);
    });
  }

  TilePlan choose() {
    best_.vectors = lanes_ / width_;
    best_.width = width_;
    std::vector<int64_t> tile(extents_.size(), 1);
    best_.tile = tile;
    best_cost_ = cost(tile);
    enlarge(tile, 0);
    return best_;
  }

 private:
  static int64_t volume(const std::vector<int64_t>& tile) {
    int64_t n = 1;
    for (int64_t t : tile) n *= t;
    return n;
  }

  // Results, the operands that several of them share, and two others that are being loaded: with
  // one alone, the compiler has nothing to load ahead into.
  bool fits(const std::vector<int64_t>& tile) const {
    int64_t needed = volume(tile) * best_.vectors + 2, least_shared = 0;
    for (const Operand& o : operands_) {
      if (!o.in_lanes) continue;
      const int64_t loaded = loads(o, tile);
      if (loaded < volume(tile) * best_.vectors) least_shared += std::min<int64_t>(loaded, 2 * best_.vectors);
    }
    return needed + least_shared <= cpu_.vector_registers;
  }

  int64_t loads(const Operand& o, const std::vector<int64_t>& tile) const {
    int64_t n = o.in_lanes ? best_.vectors : 1;
    for (size_t a = 0; a < tile.size(); ++a) n *= o.along[a] ? tile[a] : 1;
    return n;
  }

  // Bytes that come through the second-level cache in each step: vectors, where the first level
  // does not keep what one tile reads until the next one does.
  double streamed(const std::vector<int64_t>& tile) const {
    double vectors = 0, elements = 0;
    for (const Operand& o : operands_)
      (o.in_lanes ? vectors : elements) += static_cast<double>(loads(o, tile));
    const double bytes = vectors * static_cast<double>(4 * width_);
    return steps_ * (bytes + 4 * elements) > static_cast<double>(cpu_.l1.bytes) / 2 ? bytes : 0;
  }

  // Cycles for one tile.
  double tile_cost(const std::vector<int64_t>& tile) const {
    double loaded = 0;
    for (const Operand& o : operands_) loaded += static_cast<double>(loads(o, tile));
    const double operations = static_cast<double>(volume(tile) * best_.vectors);
    // Fewer results in flight than a product takes cycles leave the core waiting.
    const double step =
        std::max({operations / static_cast<double>(cpu_.products_per_cycle), loaded / target::kLoadsPerCycle,
                  double{target::kProductCycles}, (operations + loaded) / target::kInstructionsPerCycle,
                  streamed(tile) / (kOfRate * static_cast<double>(cpu_.l2.bytes_per_cycle))});
    return steps_ * (step + kOverhead) + kTileOverhead + operations;
  }

  // Cycles for everything: whole tiles and what remains at the end of each axis.
  double cost(const std::vector<int64_t>& tile) const {
    double total = 0;
    std::vector<int64_t> part(tile.size());
    const auto down = [&](auto& self, size_t a, double count) -> void {
      if (a == tile.size()) {
        total += count * tile_cost(part);
        return;
      }
      const int64_t whole = extents_[a] / tile[a], rest = extents_[a] % tile[a];
      part[a] = tile[a];
      if (whole > 0) self(self, a + 1, count * static_cast<double>(whole));
      part[a] = rest;
      if (rest > 0) self(self, a + 1, count);
    };
    down(down, 0, 1);
    return total;
  }

  void enlarge(std::vector<int64_t>& tile, size_t axis) {
    if (axis == tile.size()) return;
    for (int64_t size = 1; size <= extents_[axis]; ++size) {
      tile[axis] = size;
      if (!fits(tile)) break;
      // Small differences are worth no larger code.
      if (const double c = cost(tile); c < 0.99 * best_cost_) {
        best_cost_ = c;
        best_.tile = tile;
      }
      enlarge(tile, axis + 1);
      std::fill(tile.begin() + static_cast<std::ptrdiff_t>(axis) + 1, tile.end(), 1);
    }
    tile[axis] = 1;
  }

  const target::Cpu& cpu_;
  int64_t width_, lanes_;
  double steps_ = 1;
  std::vector<int64_t> extents_;
  std::vector<Operand> operands_;
  TilePlan best_;
  double best_cost_ = 0;
};

}  // namespace

bool goes_along(const ExprNode* load, const Stage& s, const TileAxis& axis) {
  return mentions(load, s.spatial[axis.first].var) || mentions(load, s.spatial[axis.last].var);
}

std::optional<TilePlan> tile_plan(const AnchoredStage& anchored, const target::Cpu& cpu, int64_t width) {
  const Stage& s = anchored.stage;
  const std::optional<ContractionView> view = contraction_view(s);
  if (!view || !view->starts_constant() || s.spatial.size() < 2) return std::nullopt;
  const Axis& lanes = s.spatial.back();
  if (!has_whole_vectors(lanes, width)) return std::nullopt;
  if (s.buffer->dtype != kFloat32 || !vectorizable(s.next, lanes.var, s.bounds)) return std::nullopt;
  const std::vector<TileAxis> axes = tile_axes(anchored);
  TilePlan plan = TilePlanner(s, axes, cpu, width).choose();
  plan.axes = axes;
  return plan;
}

}  // namespace relay::kernel::schedule::cpu
