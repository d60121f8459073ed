#include "vta/compile/schedule.h"

#include <algorithm>

#include "base/cat.h"
#include "base/integers.h"
#include "vta/compile/slots.h"

namespace relay::vta {
namespace {

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

// Counts what a schedule loads, computes and stores. Tiles at the border count as whole ones where
// only latencies depend on it.
class Model {
 public:
  Model(const Layer& l, const BlockedLayer& b, const Params& params, const Timing& timing)
      : l_(l), b_(b), params_(params), t_(timing) {
    if (l.multiplies()) products_ = total_products();
  }

  // Sets `last_parts`, too.
  Estimate estimate(Schedule& s) const {
    const TileCounts counts = count_tiles(b_, s.tile);
    Estimate out;
    Loads inputs, weights;
    if (l_.multiplies()) loads(s, counts, out, inputs, weights);
    compute(s, counts, out);
    stores(s, counts, out);
    const int64_t tiles = counts.tiles(), steps = tiles * counts.ins;
    const int64_t first = inputs.cycles + weights.cycles, alone = first - std::min(first, before_products(s));
    if (s.threads > 1) {
      const int64_t loaded = overlapped(inputs, weights, steps, out.compute);
      out.total = std::max(loaded, out.store) + alone + last_store(s);
    } else if (come_early(s.inputs) && come_early(s.weights)) {
      out.total = overlapped(inputs, weights, steps, out.compute) + alone + out.store;
    } else {
      // The first LOADs of a tile run while the tile before it is worked on by ALU, and stored.
      // What is loaded less often than that is not hidden.
      int64_t hidden = 0;
      for (const Loads& l : {inputs, weights}) hidden += l.count >= tiles ? l.cycles : 0;
      hidden = std::min(hidden, (out.after_products + out.store) / tiles);
      out.total = out.load + out.compute + out.store - (tiles - 1) * hidden + alone - first;
    }
    return out;
  }

 private:
  int64_t bytes(Memory memory) const { return params_.dram_bytes(memory); }
  int64_t cost(int64_t moved, int64_t instructions, int64_t latency) const {
    return ceil_div(moved, t_.bus_bytes) + instructions * latency;
  }

  // Of a kind of tile: how many are loaded, and how long one takes.
  struct Loads {
    int64_t count = 0, cycles = 0;
  };

  // Whether the next tile is loaded while one is in use, also by one virtual thread.
  static bool come_early(const Slots& s) { return s.count > 1 || s.loads == 1; }

  // Steps are the products of an input tile and a weight tile. While one computes, the tiles of the
  // next one are loaded: some steps need both, some one, and some none, because it stays.
  static int64_t overlapped(const Loads& inputs, const Loads& weights, int64_t steps, int64_t compute) {
    const int64_t both = std::min(inputs.count, weights.count), some = std::max(inputs.count, weights.count);
    const int64_t one = compute / steps, single = (inputs.count > weights.count ? inputs : weights).cycles;
    return both * std::max(inputs.cycles + weights.cycles, one) + (some - both) * std::max(single, one) +
           (steps - some) * one + compute % steps;
  }

  // What `compute` does for the first tile while its inputs and weights are loaded.
  int64_t before_products(const Schedule& s) const {
    const int64_t vectors = s.tile.out_vectors(), constants = channel_steps(l_);
    int64_t out = cost(s.channels.size * bytes(Memory::kAcc), constants, t_.read_latency) + t_.read_latency;
    if (!l_.starts_at_constants) return out + t_.gemm_latency + vectors * t_.gemm_interval;
    out += t_.gemm_latency + s.sums.total() * t_.gemm_interval;
    return out + t_.alu_latency + vectors * t_.alu_interval;
  }

  int64_t interval(const LayerStep& step) const {
    return step.operand == OperandKind::kImmediate ? t_.alu_imm_interval : t_.alu_interval;
  }

  // What is left of the STORE of the last tile when its steps would be over. Chooses its parts:
  // each takes the latencies of all steps again.
  int64_t last_store(Schedule& s) const {
    const auto steps = [&](const Tile& t) {
      int64_t out = 0;
      for (size_t k = l_.starts_at_constants; k < l_.steps.size(); k++) {
        out += t.out_vectors() * interval(l_.steps[k]) + t_.alu_latency;
        if (l_.steps[k].operand == OperandKind::kTensor)
          out += output_cost(t, Memory::kAcc8, t_.read_latency);
      }
      return out;
    };
    int64_t Tile::* const along = outermost(s.tile);
    int64_t least = INT64_MAX;
    for (const int64_t extent : extents(s.tile.*along)) {
      Tile part = s.tile;
      part.*along = extent;
      const int64_t parts = ceil_div(s.tile.*along, extent), alu = steps(part);
      const int64_t store = output_cost(part, Memory::kOut, t_.write_latency);
      const int64_t end = std::max(parts * alu + store, alu + parts * store) - steps(s.tile);
      if (end < least) least = end, s.last_parts = parts;
    }
    return least;
  }

  // To move the tile, which has the shape of the result.
  int64_t output_cost(const Tile& t, Memory memory, int64_t latency) const {
    return cost(t.out_vectors() * bytes(memory), transfers(output_box(t)), latency);
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
    return loaded(b_.rows, b_.out_rows, t.rows) * loaded(l_.columns, b_.out_columns, t.columns);
  }

  // Of a tile in the corner, which has zeros beside it.
  Box input_box(const Tile& t) const {
    const auto corner = [&](const Axis& axis, int64_t count) {
      const Window w = window_of(l_.kind, axis, 0, count);
      return l_.multiplies() ? clip(w, axis.size) : clip_off(w, axis.size);
    };
    return activation_box({b_.in_blocks, l_.rows.size, l_.columns.size, b_.row_step}, t.batches,
                          t.in_blocks(), corner(b_.rows, t.rows), corner(l_.columns, t.columns));
  }

  void loads(const Schedule& s, const TileCounts& counts, Estimate& out, Loads& inputs,
             Loads& weights) const {
    const Tile& t = s.tile;
    // How often everything is loaded.
    const int64_t again_inputs = s.inputs.loads / (counts.bundles * counts.images() * counts.ins);
    const int64_t again_weights = s.weights.loads / (counts.bundles * counts.outs * counts.ins);
    const int64_t input_bytes =
        b_.batches * b_.in_blocks * loaded_pixels(t) * again_inputs * bytes(Memory::kInp);
    const int64_t weight_bytes = b_.weights * again_weights * bytes(Memory::kWgt);
    const int64_t input_cycles = cost(input_bytes, s.inputs.loads * transfers(input_box(t)), t_.read_latency);
    const int64_t weight_loads = s.weights.loads * transfers(weight_box(t, b_.sections[0], b_.taps));
    const int64_t weight_cycles = cost(weight_bytes, weight_loads, t_.read_latency);
    out.bytes += input_bytes + weight_bytes;
    out.load += input_cycles + weight_cycles;
    inputs = {s.inputs.loads, input_cycles / s.inputs.loads};
    weights = {s.weights.loads, weight_cycles / s.weights.loads};
  }

  // Micro-ops of GEMM: indices have the slots in them, so each combination of slots has its own.
  void micro_ops(const Schedule& s, const TileCounts& counts, Estimate& out) const {
    const Tile& t = s.tile;
    const std::vector<Phase> rows = phases_of(l_.kind, b_.rows, 0, t.rows),
                             columns = phases_of(l_.kind, l_.columns, 0, t.columns);
    if (rows.empty() || columns.empty()) return;
    const int64_t in_rows = largest_window(l_.kind, b_.rows, t.rows);
    const int64_t in_columns = largest_window(l_.kind, l_.columns, t.columns);
    int64_t list = 0;
    for (const Phase& r : rows) {
      for (const Phase& c : columns)
        list += folded_size(product_loops(t, r, c, in_rows, in_columns, b_.taps)) * std::ssize(r.taps) *
                std::ssize(c.taps);
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
    if (l_.starts_at_constants) {
      out.compute += s.sums.total() * t_.gemm_interval + t_.gemm_latency;
    } else if (l_.kind != LayerKind::kElementwise) {
      out.compute += vectors * t_.gemm_interval + tiles * t_.gemm_latency;
    }
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
    const int64_t before_steps = out.compute, of_channels = channel_steps(l_);
    for (const LayerStep& step : l_.steps) {
      out.compute += vectors * interval(step) + tiles * t_.alu_latency;
      int64_t moved = 0, instructions = 0;
      if (step.operand == OperandKind::kTensor)
        moved = vectors * bytes(Memory::kAcc8), instructions = tiles * transfers(output_box(s.tile));
      if (step.operand == OperandKind::kChannel)
        instructions = s.channels.loads,
        moved = instructions * (s.channels.size / of_channels) * bytes(Memory::kAcc);
      out.bytes += moved;
      out.compute += cost(moved, instructions, t_.read_latency);
    }
    out.after_products = out.compute - before_steps;
  }

  Box output_box(const Tile& t) const {
    return activation_box({b_.out_blocks, b_.out_rows, b_.out_columns}, t.batches, t.out_blocks(),
                          {0, t.rows}, {0, t.columns});
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
      for (const int threads : {1, 2}) {
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
    if (near(schedule)) near_.push_back(schedule);
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
