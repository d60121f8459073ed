#include "vta/compile/slots.h"

#include <algorithm>
#include <array>

#include "base/cat.h"
#include "base/integers.h"

namespace relay::vta {
namespace {

struct ReuseLoop {
  int64_t count = 1;
  bool changes = false;  // another turn needs another tile
};
// Bundles, then images and output blocks in the schedule's order, then input blocks.
using ReuseLoops = std::array<ReuseLoop, 4>;

// Keeps the tiles of as many inner loops as there is room for: those are loaded once in each turn
// of the loops around. `spare` slots more let the next tile come early. No slots: no room. Slots
// that save no LOADs are left out: micro-ops have slots in their indices, so each has its own.
Slots keep(const ReuseLoops& loops, int64_t size, int64_t room, int64_t spare) {
  int64_t all = 1;
  for (const ReuseLoop& loop : loops) all *= loop.changes ? loop.count : 1;
  int64_t outside = 1, inside = all;
  Slots best = {size, 0, 0};
  for (size_t level = 0; level <= loops.size(); level++) {
    const int64_t count = std::min(all, inside + (level > 0 ? spare : 0));
    const int64_t loads = count == all ? all : outside * inside;
    if (best.count && loads > best.loads) break;
    if (count <= room / size) best = {size, count, loads};
    if (level == loops.size()) break;
    outside *= loops[level].count;
    inside /= loops[level].changes ? loops[level].count : 1;
  }
  return best;
}

std::string no_room(Memory memory, int64_t needed, int64_t room, int threads) {
  return cat("`", name_of(memory), "` has ", room, " elements, and a tile takes ", needed,
             threads > 1 ? " in each of two virtual threads" : "");
}

class Assignment {
 public:
  Assignment(const Layer& l, const BlockedLayer& blocked, const Params& params, Schedule& s)
      : l_(l), blocked_(blocked), params_(params), s_(s), counts_(count_tiles(blocked, s.tile)) {}

  std::string run() {
    s_.inputs = s_.weights = s_.channels = {};
    s_.operands = 0;
    std::string wrong = sums();
    if (wrong.empty() && l_.multiplies()) wrong = products();
    if (wrong.empty()) wrong = micro_ops();
    return wrong;
  }

 private:
  ReuseLoops loops(bool inputs, bool blocks, bool ins) const {
    const ReuseLoop images = {counts_.images(), inputs}, outs = {counts_.outs, blocks};
    return {ReuseLoop{counts_.bundles, true}, s_.blocks_outside ? outs : images,
            s_.blocks_outside ? images : outs, ReuseLoop{counts_.ins, ins}};
  }

  std::string products() {
    const Tile& t = s_.tile;
    const int64_t window =
        largest_window(l_.kind, blocked_.rows, t.rows) * largest_window(l_.kind, l_.columns, t.columns);
    const int64_t inp = reachable(params_, Memory::kInp), wgt = reachable(params_, Memory::kWgt);
    s_.inputs = keep(loops(true, false, true), t.batches * t.in_blocks() * window, inp, s_.threads - 1);
    if (!s_.inputs.count) return no_room(Memory::kInp, s_.inputs.size, inp, s_.threads);
    s_.weights =
        keep(loops(false, true, true), t.bundles * t.outs * t.ins * blocked_.taps, wgt, s_.threads - 1);
    if (!s_.weights.count) return no_room(Memory::kWgt, s_.weights.size, wgt, s_.threads);
    return "";
  }

  // The longest list of an instruction has to fit. Other tiles of the layer have shorter ones: none
  // of their loops turns more often.
  std::string micro_ops() const {
    const Tile& t = s_.tile;
    int64_t longest = 0;
    if (l_.multiplies())
      longest = most_taps(blocked_.rows) * most_taps(l_.columns) *
                all_but_two({t.batches, t.bundles, t.outs, t.ins, t.rows, t.columns});
    if (l_.pools()) longest = blocked_.taps * all_but_two({t.batches * t.out_blocks(), t.rows, t.columns});
    for (const LayerStep& step : l_.steps)
      longest = std::max(longest, folded_size(step_loops(t, step.operand)));
    const int64_t room = reachable(params_, Memory::kUop);
    if (longest <= room) return "";
    return cat("`uop` has ", room, " elements, and an instruction takes ", longest);
  }

  // Turns of loops that become micro-ops: the two that turn most often are the instruction's.
  static int64_t all_but_two(std::vector<int64_t> counts) {
    std::sort(counts.begin(), counts.end());
    int64_t out = 1;
    for (size_t k = 0; k + 2 < counts.size(); k++) out *= counts[k];
    return out;
  }
  // Of a phase. Taps of a transposed convolution are a stride apart, if it has no dilation.
  int64_t most_taps(const Axis& a) const {
    const bool apart = l_.kind == LayerKind::kTransposed && a.dilation == 1;
    return apart ? ceil_div(a.window, a.stride) : a.window;
  }

  std::string sums() {
    const Tile& t = s_.tile;
    s_.sums = {t.out_vectors(), s_.threads, 0};
    const int64_t constants = channel_steps(l_);
    for (const LayerStep& step : l_.steps) {
      if (step.operand == OperandKind::kTensor) s_.operands = t.out_vectors();
    }
    if (l_.pools())
      s_.operands =
          std::max(s_.operands, t.batches * t.out_blocks() * largest_window(l_.kind, blocked_.rows, t.rows) *
                                    largest_window(l_.kind, l_.columns, t.columns));
    const int64_t room = reachable(params_, Memory::kAcc), used = s_.sums.total() + s_.operands;
    const int64_t needed = used + constants * t.out_blocks();
    if (needed > room) return no_room(Memory::kAcc, needed, room, 1);
    const int64_t all = constants * blocked_.out_blocks;
    if (constants && all <= room - used) {
      s_.channels = {all, 1, 1};
    } else if (constants) {
      s_.channels = keep(loops(false, true, false), t.out_blocks() * constants, room - used, 0);
    }
    return "";
  }

  const Layer& l_;
  const BlockedLayer& blocked_;
  const Params& params_;
  Schedule& s_;
  TileCounts counts_;
};

}  // namespace

TileCounts count_tiles(const BlockedLayer& b, const Tile& t) {
  const Section& s = b.sections[0];
  return {ceil_div(s.bundles, t.bundles), ceil_div(b.batches, t.batches), ceil_div(s.out_blocks, t.outs),
          ceil_div(s.in_blocks, t.ins),   ceil_div(b.out_rows, t.rows),   ceil_div(b.out_columns, t.columns)};
}

int64_t reachable(const Params& params, Memory memory) {
  int64_t depth = params.depth(memory);
  // The field of micro-ops for inputs is the one for accumulators.
  if (memory == Memory::kInp) depth = std::min(depth, params.depth(Memory::kAcc));
  return std::min<int64_t>(depth, int64_t{1} << 16);
}

std::string assign_slots(const Layer& layer, const BlockedLayer& blocked, const Params& params,
                         Schedule& schedule) {
  return Assignment(layer, blocked, params, schedule).run();
}

}  // namespace relay::vta
