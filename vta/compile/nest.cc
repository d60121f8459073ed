#include "vta/compile/nest.h"

#include <algorithm>
#include <array>

namespace relay::vta {
namespace {

Indices times(const Indices& step, int64_t n) { return {step.dst * n, step.src * n, step.wgt * n}; }
Indices plus(const Indices& a, const Indices& b) { return {a.dst + b.dst, a.src + b.src, a.wgt + b.wgt}; }

// Loops that turn more than once, where an inner loop that goes on as the outer one does is a part
// of it.
std::vector<Loop> merged(const std::vector<Loop>& loops) {
  std::vector<Loop> out;
  for (const Loop& loop : loops) {
    if (loop.count == 1) continue;
    if (!out.empty() && out.back().step == times(loop.step, loop.count) &&
        out.back().count * loop.count <= kMostTurns) {
      out.back() = {out.back().count * loop.count, loop.step};
    } else {
      out.push_back(loop);
    }
  }
  return out;
}

// Moves the two loops with the most turns to the front, in their order.
void choose(std::vector<Loop>& loops) {
  while (loops.size() < 2) loops.push_back({});
  size_t first = 0, second = 1;
  for (size_t i = 0; i < loops.size(); i++) {
    for (size_t j = i + 1; j < loops.size(); j++) {
      if (loops[i].count * loops[j].count > loops[first].count * loops[second].count) first = i, second = j;
    }
  }
  std::rotate(loops.begin(), loops.begin() + static_cast<ptrdiff_t>(first),
              loops.begin() + static_cast<ptrdiff_t>(first) + 1);
  std::rotate(loops.begin() + 1, loops.begin() + static_cast<ptrdiff_t>(second),
              loops.begin() + static_cast<ptrdiff_t>(second) + 1);
}

// All turns of the loop, for each of `all`.
std::vector<Indices> unrolled(const std::vector<Indices>& all, const Loop& loop) {
  std::vector<Indices> out;
  out.reserve(all.size() * static_cast<size_t>(loop.count));
  for (const Indices& at : all) {
    for (int64_t turn = 0; turn < loop.count; turn++) out.push_back(plus(at, times(loop.step, turn)));
  }
  return out;
}

uint32_t field(int64_t value) { return static_cast<uint32_t>(value); }

}  // namespace

int64_t folded_size(const std::vector<Loop>& all) {
  std::vector<Loop> loops = merged(all);
  choose(loops);
  int64_t out = 1;
  for (size_t i = 2; i < loops.size(); i++) out *= loops[i].count;
  return out;
}

std::vector<MicroOp> fold(const Nest& nest, Instruction& i) {
  std::vector<Loop> loops = merged(nest.loops);
  choose(loops);
  i.iter_out = static_cast<uint16_t>(loops[0].count);
  i.iter_in = static_cast<uint16_t>(loops[1].count);
  i.dst_factor_out = field(loops[0].step.dst), i.dst_factor_in = field(loops[1].step.dst);
  i.src_factor_out = field(loops[0].step.src), i.src_factor_in = field(loops[1].step.src);
  i.wgt_factor_out = field(loops[0].step.wgt), i.wgt_factor_in = field(loops[1].step.wgt);

  std::vector<Indices> all = nest.offsets;
  for (Indices& offset : all) offset = plus(offset, nest.first);
  // Loops that change the accumulator are innermost.
  std::stable_sort(loops.begin() + 2, loops.end(),
                   [](const Loop& a, const Loop& b) { return a.step.dst == 0 && b.step.dst != 0; });
  for (size_t k = 2; k < loops.size(); k++) all = unrolled(all, loops[k]);
  std::vector<MicroOp> out;
  out.reserve(all.size());
  for (const Indices& at : all) out.push_back({field(at.dst), field(at.src), field(at.wgt)});
  return out;
}

}  // namespace relay::vta
