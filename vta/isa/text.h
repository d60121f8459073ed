// Assembly: one line an instruction or a micro-op, and `#` begins a comment.
//
//   load push_next memory=inp sram_base=0 dram_base=0x100 y_size=1 x_size=16 x_stride=16
//   gemm pop_prev uop_bgn=0 uop_end=1 iter_out=1 iter_in=16 dst_factor_in=1 src_factor_in=1
//   uop dst=0 src=0 wgt=3
//
// The first word is an opcode, or `uop`. A field that is not written is zero. Flags are written by
// their name alone. assemble(disassemble(s)) == s.
#pragma once

#include <string>

#include "base/source.h"
#include "vta/isa/fields.h"

namespace relay::vta {

// Reports "vta-text" at each mistake, and goes on behind it.
Result<Stream> assemble(const Layout& layout, const SourceMap& sources, uint32_t file, Diagnostics& d);

// One line, without its end. Shows every field that is not zero, and every one that has names.
// Total: also of instructions that have no bits.
std::string disassemble(const Instruction& instruction);
std::string disassemble(const MicroOp& micro_op);
std::string disassemble(const Stream& stream);

}  // namespace relay::vta
