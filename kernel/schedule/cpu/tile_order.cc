#include "kernel/schedule/cpu/tile_order.h"

#include <algorithm>
#include <vector>

namespace relay::kernel::schedule::cpu {
namespace {

struct TileLoop {
  size_t axis;
  double trips;
};

// Of the second level of cache, the part that operands may take. Results stream through the rest.
constexpr double kForOperands = 0.5;
// Another order than that of the axes has to fetch less than this part.
constexpr double kWorthIt = 0.9;

// Bytes that come from beyond the cache. An operand that a loop does not vary is fetched again in
// each turn, unless the cache keeps all that one turn reads.
double fetched(double cache, std::span<const TileLoop> loops, std::span<const TileOperand> operands) {
  std::vector<double> read, total;  // of each operand: in one turn of the loops so far, and in all
  for (const TileOperand& o : operands) {
    read.push_back(o.bytes);
    total.push_back(o.bytes);
  }
  for (const TileLoop& l : loops) {
    double in_one_turn = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].along[l.axis]) read[i] /= l.trips;
      in_one_turn += read[i];
    }
    if (in_one_turn <= cache) continue;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].along[l.axis]) total[i] *= l.trips;
    }
  }
  double sum = 0;
  for (double bytes : total) sum += bytes;
  return sum;
}

}  // namespace

TileOrder tile_order(const target::Cpu& cpu, std::span<const int64_t> tiles,
                     std::span<const TileOperand> operands, size_t split) {
  const double cache = kForOperands * static_cast<double>(cpu.l2.bytes);
  // It goes before those axes along which what its tiles read does not vary.
  const auto shared = [&](size_t axis) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const TileOperand& o) { return o.along[split] && !o.along[axis]; });
  };
  size_t before = split;
  while (before > 0 && shared(before - 1)) --before;
  TileOrder best;
  double least = 0;
  for (int64_t n = tiles[split]; n >= 1; --n) {
    if (split + 1 < tiles.size() && tiles[split] % n != 0) continue;
    std::vector<TileLoop> loops;
    const auto add = [&](size_t axis, double trips) { loops.push_back({axis, trips}); };
    for (size_t a = 0; a < before; ++a) add(a, static_cast<double>(tiles[a]));
    add(split, static_cast<double>(tiles[split]) / static_cast<double>(n));
    for (size_t a = before; a < tiles.size(); ++a) add(a, static_cast<double>(a == split ? n : tiles[a]));
    const double bytes = fetched(cache, loops, operands);
    if (n == tiles[split]) {
      least = bytes * kWorthIt;
    } else if (bytes < least) {
      least = bytes;
      best = {static_cast<std::ptrdiff_t>(before), n};
    }
  }
  return best;
}

}  // namespace relay::kernel::schedule::cpu
