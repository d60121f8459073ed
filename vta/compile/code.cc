#include "vta/compile/code.h"

#include "base/cat.h"
#include "vta/isa/text.h"

namespace relay::vta {

std::vector<Instruction> link(const LayerCode& code, std::span<const uint64_t> addresses,
                              const Params& params) {
  std::vector<Instruction> out = code.instructions;
  for (size_t i = 0; i < out.size(); i++) {
    if (code.lines[i].buffer == buffers::kNone) continue;
    const uint64_t address = addresses[static_cast<size_t>(code.lines[i].buffer)];
    out[i].dram_base += static_cast<uint32_t>(address >> params.log_dram_bytes(out[i].memory));
  }
  return out;
}

std::string listing(const LayerCode& code, const SourceMap& sources) {
  std::string out = cat("# ", text_of(code.schedule), "\n");
  for (size_t i = 0; i < code.instructions.size(); i++) {
    const Origin& origin = code.origins[static_cast<size_t>(code.lines[i].origin)];
    const std::string place = sources.place(origin.span);
    out += disassemble(code.instructions[i]);
    if (!origin.name.empty() || !place.empty()) out += "  #";
    if (!origin.name.empty()) out += cat(" ", origin.name);
    if (!place.empty()) out += cat(" ", place);
    out += "\n";
  }
  for (const MicroOp& micro_op : code.micro_ops) out += disassemble(micro_op) + "\n";
  return out;
}

}  // namespace relay::vta
