#include "kernel/schedule/cost.h"

#include <algorithm>

#include "base/integers.h"

namespace relay::kernel::schedule {
namespace {

constexpr int64_t kMostPanels = 4;  // streams that the processor follows at once
constexpr int64_t kStepsBetween = 4;
constexpr int64_t kMostOnStack = 512 * 1024;  // bytes: threads have stacks of a few megabytes

}  // namespace

int64_t most_tile_rows(const target::Cpu& cpu) {
  // 12 of 32 registers by two, or 6 of 16: one more row would fit, but leaves the compiler nothing
  // to load ahead into.
  return cpu.vector_registers == 32 ? 12 : 6;
}

ProductTile product_tile(const target::Cpu& cpu, int64_t rows, int64_t panels) {
  const int64_t most = most_tile_rows(cpu);
  ProductTile tile;
  tile.rows = ceil_div(std::max<int64_t>(rows, 1), ceil_div(std::max<int64_t>(rows, 1), most));
  if (rows > tile.rows) return tile;  // a panel is read by several tiles, and stays in the cache for them
  for (int64_t p = kMostPanels; p > 1; p /= 2) {
    // One row multiplies in memory; more of them need the panels' vectors in registers.
    const int64_t held = (tile.rows + (tile.rows > 1 ? 1 : 0)) * p * kPanelVectors + tile.rows;
    if (held < cpu.vector_registers && p <= panels) {
      tile.panels = p;
      break;
    }
  }
  return tile;
}

int64_t rows_kept(const target::Cpu& cpu, int64_t length) {
  // The rest of the cache is for the panel at work, the one fetched ahead and the results.
  return std::max<int64_t>(1, cpu.l2.bytes * 3 / 4 / (4 * std::max<int64_t>(length, 1)));
}

int64_t packed_bytes(const target::Cpu& cpu) { return std::min(cpu.l2.bytes * 5 / 32, kMostOnStack); }

int64_t short_row(const target::Cpu& cpu) { return std::min(cpu.l1.bytes / 8, kMostOnStack / 8) / 4; }

int64_t row_at_work(const target::Cpu& cpu) { return std::min(cpu.l2.bytes / 16, kMostOnStack / 2) / 4; }

FetchAhead fetch_ahead(const target::Cpu& cpu, int64_t tiles, int64_t panel_floats) {
  const int64_t lines =
      ceil_div(kStepsBetween * ceil_div(panel_floats, line_floats(cpu)), std::max<int64_t>(tiles, 1));
  return {lines, kStepsBetween};
}

}  // namespace relay::kernel::schedule
