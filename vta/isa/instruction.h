// Instructions and micro-ops of a VTA, as values.
//
// A compiler fills in fields and leaves the others at zero: what an instruction of this opcode does
// not have stays zero. fields.h has one row for each field.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "vta/isa/params.h"

namespace relay::vta {

enum class Opcode : uint8_t { kLoad, kStore, kGemm, kFinish, kAlu };
inline constexpr int kOpcodes = 5;

// On each element of an accumulator vector: dst = dst OP src, or dst = dst OP imm.
enum class AluOp : uint8_t {
  kMin,
  kMax,
  kAdd,  // wraps
  kShr,  // to the right, with the sign; to the left by a negative amount
  kMul,  // wraps
};

// The three engines. Instructions of one engine run in order.
enum class Engine : uint8_t { kLoad, kCompute, kStore };
inline constexpr int kEngines = 3;
inline constexpr Engine kAllEngines[] = {Engine::kLoad, Engine::kCompute, Engine::kStore};
// The neighbours, where there are some.
constexpr Engine previous(Engine e) { return static_cast<Engine>(static_cast<int>(e) - 1); }
constexpr Engine next(Engine e) { return static_cast<Engine>(static_cast<int>(e) + 1); }

struct Instruction {
  Opcode opcode = Opcode::kFinish;
  // Tokens. For the engine `compute`, the previous engine is `load` and the next one is `store`;
  // `load` has no previous one, and `store` no next one. An instruction waits for the tokens that
  // it pops, and pushes when it is done.
  bool pop_prev = false, pop_next = false, push_prev = false, push_next = false;

  // LOAD and STORE: y_size rows of x_size elements, whose begins are x_stride elements apart in
  // DRAM, and side by side in the scratchpad. LOAD surrounds them with elements of zeros.
  Memory memory = Memory::kUop;
  uint16_t sram_base = 0;
  uint32_t dram_base = 0;
  uint16_t y_size = 0, x_size = 0, x_stride = 0;
  uint8_t y_pad_0 = 0, y_pad_1 = 0, x_pad_0 = 0, x_pad_1 = 0;

  // GEMM and ALU: for o < iter_out, for i < iter_in, for each micro-op of [uop_bgn, uop_end). An
  // index is that of the micro-op, plus o times the factor `out`, plus i times the factor `in`.
  bool reset = false;  // GEMM: set to zero instead
  uint32_t uop_bgn = 0, uop_end = 0;
  uint16_t iter_out = 0, iter_in = 0;
  uint32_t dst_factor_out = 0, dst_factor_in = 0;
  uint32_t src_factor_out = 0, src_factor_in = 0;
  uint32_t wgt_factor_out = 0, wgt_factor_in = 0;

  AluOp alu_op = AluOp::kMin;
  bool use_imm = false;
  int16_t imm = 0;

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

struct MicroOp {
  uint32_t dst = 0;  // accumulator vector
  uint32_t src = 0;  // GEMM: input vector; ALU: accumulator vector
  uint32_t wgt = 0;  // weight tile

  friend bool operator==(const MicroOp&, const MicroOp&) = default;
};

// What a text of assembly holds. LOAD of `uop` brings micro-ops from DRAM to the scratchpad.
struct Stream {
  std::vector<Instruction> instructions;
  std::vector<MicroOp> micro_ops;

  friend bool operator==(const Stream&, const Stream&) = default;
};

std::string_view name_of(Opcode opcode);  // "load"
std::string_view name_of(Memory memory);  // "inp"
std::string_view name_of(AluOp op);       // "shr"
std::string_view name_of(Engine engine);  // "compute"

// Which engine's queue the instruction goes to.
constexpr Engine engine_of(const Instruction& i) {
  if (i.opcode == Opcode::kStore) return Engine::kStore;
  const bool loads = i.opcode == Opcode::kLoad && (i.memory == Memory::kInp || i.memory == Memory::kWgt);
  return loads ? Engine::kLoad : Engine::kCompute;
}

// What LOAD fills in the scratchpad, zeros included.
constexpr int64_t padded_rows(const Instruction& i) { return int64_t{i.y_size} + i.y_pad_0 + i.y_pad_1; }
constexpr int64_t padded_columns(const Instruction& i) { return int64_t{i.x_size} + i.x_pad_0 + i.x_pad_1; }

// The micro-ops that GEMM or ALU runs, in all turns of its loops.
constexpr uint64_t micro_ops_run(const Instruction& i) {
  return uint64_t{i.iter_out} * i.iter_in * (i.uop_end - i.uop_bgn);
}

}  // namespace relay::vta
