#include "vta/compile/micro_op_lists.h"

#include <algorithm>
#include <tuple>

namespace relay::vta {
namespace {

Instruction load(int64_t sram, int64_t dram, int64_t count) {
  const auto size = static_cast<uint16_t>(count);
  return {.opcode = Opcode::kLoad,
          .memory = Memory::kUop,
          .sram_base = static_cast<uint16_t>(sram),
          .dram_base = static_cast<uint32_t>(dram),
          .y_size = 1,
          .x_size = size,
          .x_stride = size};
}

}  // namespace

bool MicroOpLists::Less::operator()(const std::vector<MicroOp>& a, const std::vector<MicroOp>& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](const MicroOp& x, const MicroOp& y) {
                                        return std::tie(x.dst, x.src, x.wgt) < std::tie(y.dst, y.src, y.wgt);
                                      });
}

int MicroOpLists::add(std::vector<MicroOp> list) {
  const auto [at, added] = numbers_.try_emplace(std::move(list), static_cast<int>(numbers_.size()));
  if (added) lists_.push_back(at);
  return at->second;
}

bool MicroOpLists::place(LayerCode& code, const std::vector<int>& lists, int64_t room,
                         int64_t& too_long) const {
  room = std::min<int64_t>(room, UINT16_MAX);
  std::vector<int64_t> in_dram, in_sram(lists_.size(), -1);
  for (const auto& list : lists_) {
    const int64_t size = std::ssize(list->first);
    if (size > room) {
      too_long = size;
      return false;
    }
    in_dram.push_back(std::ssize(code.micro_ops));
    code.micro_ops.insert(code.micro_ops.end(), list->first.begin(), list->first.end());
  }
  std::vector<Instruction> instructions;
  std::vector<CodeLine> lines;
  const int64_t all = std::ssize(code.micro_ops);
  if (all <= room && all > 0) {
    in_sram = in_dram;
    instructions.push_back(load(0, 0, all));
    lines.push_back({0, buffers::kMicroOps});
  }
  int64_t next = 0;
  for (size_t i = 0; i < code.instructions.size(); i++) {
    Instruction instruction = code.instructions[i];
    if (lists[i] != kNone) {
      const auto list = static_cast<size_t>(lists[i]);
      const int64_t size = std::ssize(lists_[list]->first);
      if (in_sram[list] < 0) {
        if (next + size > room) {
          next = 0;
          std::fill(in_sram.begin(), in_sram.end(), -1);
        }
        instructions.push_back(load(next, in_dram[list], size));
        lines.push_back({code.lines[i].origin, buffers::kMicroOps});
        in_sram[list] = next;
        next += size;
      }
      instruction.uop_bgn = static_cast<uint32_t>(in_sram[list]);
      instruction.uop_end = static_cast<uint32_t>(in_sram[list] + size);
    }
    instructions.push_back(instruction);
    lines.push_back(code.lines[i]);
  }
  code.instructions = std::move(instructions);
  code.lines = std::move(lines);
  return true;
}

}  // namespace relay::vta
