#include "vta/compile/schedule.h"

#include <algorithm>

#include "base/cat.h"
#include "base/integers.h"
#include "vta/compile/slots.h"

namespace relay::vta {
namespace {

// Counts what a schedule loads, computes and stores. Tiles at the border count as whole ones where
// only latencies depend on it.
class Model {
 public:
  Model(const Layer& l, const BlockedLayer& b, const Params& params, const Timing& timing)
      : l_(l), b_(b), params_(params), t_(timing) {
    if (l.multiplies()) products_ = total_products();
  }

  Estimate estimate(const Schedule& s) const {
    const TileCounts counts = count_tiles(b_, s.tile);
    Estimate out;
    int64_t first = 0;  // cycles until the first product can begin
    if (l_.multiplies()) first = loads(s, counts, out);
    compute(s, counts, out);
    stores(s, counts, out);
    const int64_t last = cost(s.tile.out_vectors() * bytes(Memory::kOut), 1, t_.write_latency);
    out.total = s.threads == 1 ? out.load + out.compute + out.store
                               : std::max({out.load, out.compute, out.store}) + first + last;
    return out;
  }

 private:
  int64_t bytes(Memory memory) const { return params_.dram_bytes(memory); }
  int64_t cost(int64_t moved, int64_t instructions, int64_t latency) const {
    return ceil_div(moved, t_.bus_bytes) + instructions * latency;
  }

  // Sum over both axes' phases of results x taps.
  int64_t total_products() const {
    const auto sum = [&](const Axis& axis) {
      int64_t out = 0;
      for (const Phase& p : phases_of(l_.kind, axis, 0, out_size(l_.kind, axis)))
        out += p.count * std::ssize(p.taps);
      return out;
    };
    int64_t blocks = 0;
    for (const Section& s : b_.sections) blocks += s.bundles * s.in_blocks * s.out_blocks;
    return sum(l_.rows) * sum(l_.columns) * blocks * b_.batches;
  }

  // Positions of the input that tiles of so many results load, each tile counted by itself.
  int64_t loaded(const Axis& axis, int64_t out, int64_t count) const {
    int64_t sum = 0;
    for (int64_t begin = 0; begin < out; begin += count)
      sum += clip(window_of(l_.kind, axis, begin, std::min(count, out - begin)), axis.size).count;
    return sum;
  }
  int64_t loaded_pixels(const Tile& t) const {
    return loaded(l_.rows, b_.out_rows, t.rows) * loaded(l_.columns, b_.out_columns, t.columns);
  }

  // Of a tile in the corner, which has zeros beside it.
  Box input_box(const Tile& t) const {
    const auto corner = [&](const Axis& axis, int64_t count) {
      const Window w = window_of(l_.kind, axis, 0, count);
      return l_.multiplies() ? clip(w, axis.size) : clip_off(w, axis.size);
    };
    return activation_box(t.batches, t.in_blocks(), b_.in_blocks, corner(l_.rows, t.rows), l_.rows.size,
                          corner(l_.columns, t.columns), l_.columns.size);
  }

  int64_t loads(const Schedule& s, const TileCounts& counts, Estimate& out) const {
    const Tile& t = s.tile;
    // How often everything is loaded.
    const int64_t again_inputs = s.inputs.loads / (counts.bundles * counts.images() * counts.ins);
    const int64_t again_weights = s.weights.loads / (counts.bundles * counts.outs * counts.ins);
    const int64_t input_bytes =
        b_.batches * b_.in_blocks * loaded_pixels(t) * again_inputs * bytes(Memory::kInp);
    const int64_t weight_bytes = b_.weights * again_weights * bytes(Memory::kWgt);
    const int64_t input_loads = transfers(input_box(t)),
                  weight_loads = transfers(weight_box(t, b_.sections[0], b_.taps));
    out.bytes += input_bytes + weight_bytes;
    out.load += cost(input_bytes, s.inputs.loads * input_loads, t_.read_latency) +
                cost(weight_bytes, s.weights.loads * weight_loads, t_.read_latency);
    return cost(s.inputs.size * bytes(Memory::kInp), input_loads, t_.read_latency) +
           cost(s.weights.size * bytes(Memory::kWgt), weight_loads, t_.read_latency);
  }

  // Micro-ops of GEMM: indices have the slots in them, so each combination of slots has its own.
  void micro_ops(const Schedule& s, const TileCounts& counts, Estimate& out) const {
    const Tile& t = s.tile;
    const std::vector<Phase> rows = phases_of(l_.kind, l_.rows, 0, t.rows),
                             columns = phases_of(l_.kind, l_.columns, 0, t.columns);
    if (rows.empty() || columns.empty()) return;
    int64_t list = 0;
    for (const Phase& r : rows) {
      for (const Phase& c : columns)
        list += folded_size(product_loops(t, r, c, 1, 1, b_.taps)) * std::ssize(r.taps) * std::ssize(c.taps);
    }
    const int64_t gemms = counts.tiles() * counts.ins;
    const int64_t lists = std::min(gemms, s.threads * s.inputs.count * s.weights.count);
    const bool stay = lists * list <= reachable(params_, Memory::kUop);
    const int64_t moved = (stay ? lists : gemms) * list * bytes(Memory::kUop);
    out.bytes += moved;
    out.compute += cost(moved, stay ? 1 : gemms, t_.read_latency) +
                   gemms * std::ssize(rows) * std::ssize(columns) * t_.gemm_latency;
  }

  void compute(const Schedule& s, const TileCounts& counts, Estimate& out) const {
    const int64_t tiles = counts.tiles();
    const int64_t vectors = b_.batches * b_.out_blocks * b_.out_rows * b_.out_columns;
    if (l_.kind != LayerKind::kElementwise)
      out.compute += vectors * t_.gemm_interval + tiles * t_.gemm_latency;
    if (l_.multiplies()) {
      out.compute += products_ * t_.gemm_interval;
      micro_ops(s, counts, out);
    } else {
      const int64_t moved = b_.batches * b_.in_blocks * loaded_pixels(s.tile) * bytes(Memory::kAcc8);
      out.bytes += moved;
      out.compute += cost(moved, tiles * transfers(input_box(s.tile)), t_.read_latency);
    }
    if (l_.pools()) out.compute += vectors * b_.taps * t_.alu_interval + tiles * t_.alu_latency;
    if (l_.kind == LayerKind::kMaxPool) out.compute += vectors * t_.alu_imm_interval + tiles * t_.alu_latency;
    for (const LayerStep& step : l_.steps) {
      const bool immediate = step.operand == OperandKind::kImmediate;
      out.compute += vectors * (immediate ? t_.alu_imm_interval : t_.alu_interval) + tiles * t_.alu_latency;
      int64_t moved = 0, instructions = 0;
      if (step.operand == OperandKind::kTensor)
        moved = vectors * bytes(Memory::kAcc8), instructions = tiles * transfers(output_box(s.tile));
      if (step.operand == OperandKind::kChannel)
        moved = s.channels.loads * s.tile.out_blocks() * bytes(Memory::kAcc), instructions = s.channels.loads;
      out.bytes += moved;
      out.compute += cost(moved, instructions, t_.read_latency);
    }
  }

  Box output_box(const Tile& t) const {
    return activation_box(t.batches, t.out_blocks(), b_.out_blocks, {0, t.rows}, b_.out_rows, {0, t.columns},
                          b_.out_columns);
  }

  void stores(const Schedule& s, const TileCounts& counts, Estimate& out) const {
    const int64_t moved = b_.batches * b_.out_blocks * b_.out_rows * b_.out_columns * bytes(Memory::kOut);
    out.bytes += moved;
    out.store += cost(moved, counts.tiles() * transfers(output_box(s.tile)), t_.write_latency);
  }

  const Layer& l_;
  const BlockedLayer& b_;
  const Params& params_;
  const Timing& t_;
  int64_t products_ = 0;
};

// All ceil(n / k), from the largest to 1.
std::vector<int64_t> extents(int64_t n) {
  std::vector<int64_t> out;
  for (int64_t k = 1; k <= n;) {
    const int64_t extent = ceil_div(n, k);
    out.push_back(extent);
    if (extent == 1) break;
    k = ceil_div(n, extent - 1);  // the least one with a smaller extent
  }
  return out;
}

class Search {
 public:
  Search(const Layer& l, const BlockedLayer& b, const Params& params, const ScheduleOptions& options)
      : l_(l), b_(b), params_(params), options_(options), model_(l, b, params, options.timing) {}

  std::optional<Schedule> run() {
    const Section& s = b_.sections[0];
    for (const int64_t bundles : extents(s.bundles)) {
      for (const int64_t outs : extents(s.out_blocks)) {
        if (bundles > 1 && outs < s.out_blocks) continue;
        for (const int64_t batches : extents(b_.batches)) images({bundles, batches, outs});
      }
    }
    return best();
  }

 private:
  void images(Tile tile) {
    const int64_t room = reachable(params_, Memory::kAcc);
    for (const int64_t columns : extents(b_.out_columns)) {
      tile.columns = columns, tile.rows = 1;
      if (tile.out_vectors() > room || columns > kMostTurns) continue;
      for (const int64_t rows : extents(b_.out_rows)) {
        tile.rows = rows;
        if (tile.out_vectors() <= room) inputs(tile);
      }
    }
  }

  void inputs(Tile tile) {
    const Section& s = b_.sections[0];
    for (const int64_t ins : extents(s.in_blocks)) {
      if (tile.bundles > 1 && ins < s.in_blocks) break;
      tile.ins = ins;
      for (const int threads : {2, 1}) {
        if (options_.threads.value_or(threads) != threads) continue;
        weigh(tile, threads, true);
        if (l_.multiplies() && tile.outs < s.out_blocks) weigh(tile, threads, false);
      }
    }
  }

  void weigh(const Tile& tile, int threads, bool blocks_outside) {
    Schedule schedule = {.tile = tile, .blocks_outside = blocks_outside, .threads = threads};
    if (!assign_slots(l_, b_, params_, schedule).empty()) return;
    schedule.estimate = model_.estimate(schedule);
    least_ = std::min(least_.value_or(schedule.estimate.total), schedule.estimate.total);
    if (near(schedule)) near_.push_back(std::move(schedule));
  }

  bool near(const Schedule& s) const { return s.estimate.total <= *least_ + *least_ / 100; }

  std::optional<Schedule> best() const {
    const Schedule* best = nullptr;
    for (const Schedule& s : near_) {
      const std::pair key(s.estimate.bytes, s.estimate.total);
      if (near(s) && (!best || key < std::pair(best->estimate.bytes, best->estimate.total))) best = &s;
    }
    return best ? std::optional(*best) : std::nullopt;
  }

  const Layer& l_;
  const BlockedLayer& b_;
  const Params& params_;
  const ScheduleOptions& options_;
  Model model_;
  std::optional<int64_t> least_;  // total of those so far
  std::vector<Schedule> near_;    // to the least total when they were weighed
};

}  // namespace

Result<Schedule> choose_schedule(const Layer& layer, const Params& params, const ScheduleOptions& options,
                                 Diagnostics& d) {
  const BlockedLayer blocked = in_blocks(layer, params);
  if (std::optional<Schedule> best = Search(layer, blocked, params, options).run()) return *best;
  Schedule smallest = {.threads = options.threads.value_or(1)};
  d.error(
      layer.origin.span, "vta-layer",
      cat(layer.origin.name.empty() ? "" : cat("`", layer.origin.name, "`: "),
          "no tile fits, not even one of a single result: ", assign_slots(layer, blocked, params, smallest)));
  return kReported;
}

std::string text_of(const Schedule& s) {
  const Tile& t = s.tile;
  return cat("tile bundles=", t.bundles, " batches=", t.batches, " outs=", t.outs, " ins=", t.ins,
             " rows=", t.rows, " columns=", t.columns, "; ", s.blocks_outside ? "blocks" : "images",
             " outside; threads=", s.threads);
}

}  // namespace relay::vta
