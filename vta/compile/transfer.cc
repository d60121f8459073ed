#include "vta/compile/transfer.h"

namespace relay::vta {
namespace {

constexpr int64_t kMost = 65535;  // fields of 16 bits

bool padded(const BoxDim& d) { return d.pad_before || d.pad_after; }
int64_t padded_count(const BoxDim& d) { return d.pad_before + d.count + d.pad_after; }

// The same box, in as few dims as possible: rows and columns are the last two, and the others are
// loops around instructions.
Box merged(const Box& box) {
  Box out;
  for (const BoxDim& d : box) {
    if (d.count == 1 && !padded(d)) continue;
    const bool goes_on = !out.empty() && !padded(d) && !padded(out.back()) &&
                         out.back().stride == d.count * d.stride && out.back().count * d.count <= kMost;
    if (goes_on) {
      out.back() = {out.back().count * d.count, d.stride};
    } else {
      out.push_back(d);
    }
  }
  if (out.empty() || out.back().stride != 1) out.push_back({});
  if (out.size() < 2 || out[out.size() - 2].stride > kMost)
    out.insert(out.end() - 1, BoxDim{1, out.back().count});
  return out;
}

}  // namespace

int64_t transfers(const Box& box) {
  const Box dims = merged(box);
  int64_t out = 1;
  for (size_t k = 0; k + 2 < dims.size(); k++) out *= dims[k].count;
  return out;
}

void transfer(const Instruction& i, const Box& box, int64_t sram, int64_t dram,
              const std::function<void(const Instruction&)>& emit) {
  const Box dims = merged(box);
  const BoxDim &rows = dims[dims.size() - 2], &columns = dims.back();
  Instruction out = i;
  out.y_size = static_cast<uint16_t>(rows.count);
  out.x_size = static_cast<uint16_t>(columns.count);
  out.x_stride = static_cast<uint16_t>(rows.count == 1 ? columns.count : rows.stride);
  out.y_pad_0 = static_cast<uint8_t>(rows.pad_before), out.y_pad_1 = static_cast<uint8_t>(rows.pad_after);
  out.x_pad_0 = static_cast<uint8_t>(columns.pad_before),
  out.x_pad_1 = static_cast<uint8_t>(columns.pad_after);
  const int64_t size = padded_count(rows) * padded_count(columns), count = transfers(box);
  for (int64_t n = 0; n < count; n++) {
    int64_t at = dram, rest = n;
    for (size_t k = dims.size() - 2; k-- > 0; rest /= dims[k].count)
      at += rest % dims[k].count * dims[k].stride;
    out.sram_base = static_cast<uint16_t>(sram + n * size);
    out.dram_base = static_cast<uint32_t>(at);
    emit(out);
  }
}

}  // namespace relay::vta
