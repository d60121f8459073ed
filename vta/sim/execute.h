// One instruction at a time: scratchpads, DRAM, and the watch over both.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "vta/sim/dram.h"
#include "vta/sim/outcome.h"
#include "vta/sim/products.h"
#include "vta/sim/races.h"

namespace relay::vta {

// Why a stream is refused; the instruction is known to who catches it.
struct Stop {
  Slug slug;
  std::string cause;
};

// The stream, sorted into the queues of its engines.
struct Queues {
  explicit Queues(std::span<const Instruction> all);

  std::span<const Instruction> stream;
  std::array<std::vector<uint32_t>, kEngines> index;  // in the stream, by engine

  const std::vector<uint32_t>& of(Engine e) const { return index[static_cast<size_t>(e)]; }
  // "instruction 3 `load ...`": number `number` of the engine, counted from 1.
  std::string name(Engine e, uint32_t number) const;
};

class Executor {
 public:
  Executor(const Layout& layout, const Products& products);

  // Before a stream: nothing of it has touched anything.
  void begin(const Queues& queues, uint64_t most_operations);
  // Executes an instruction that is legal (legal.h). Throws Stop.
  void execute(const Instruction& instruction, const Access& access);

  const Layout& layout() const { return layout_; }
  Dram& dram() { return dram_; }
  const Counters& counters() const { return counters_; }

 private:
  void load(const Instruction& i, const Access& access);
  void load_row(const Instruction& i, const Access& access, int64_t y, uint64_t to);
  void load_elements(Memory memory, const uint8_t* from, uint64_t to, int64_t count);
  void load_micro_ops(const uint8_t* from, uint64_t to, uint64_t count);
  void load_zeros(Memory memory, uint64_t to, uint64_t count);
  void store(const Instruction& i, const Access& access);
  void gemm(const Instruction& i, const Access& access);
  void alu(const Instruction& i, const Access& access);
  void apply(const Instruction& i);
  template <class Op>
  void for_all_numbers(const Instruction& i, Op op);

  // One operand of the loops of GEMM and ALU.
  struct Operand {
    Memory memory;
    uint32_t MicroOp::* index;
    uint32_t factor_out, factor_in;
  };
  void check_range(const Instruction& i, const Operand& operand) const;
  auto elements_of(const Instruction& i, const Operand& operand) const;
  std::span<const MicroOp> micro_ops(const Instruction& i) const;

  uint8_t* row_in_dram(const Instruction& i, int64_t y, uint64_t& address, uint64_t& bytes);
  void spend(uint64_t operations);
  void watch(const std::optional<Race>& race, std::string_view place, bool reads) const;
  SharedPad& pad(Memory memory);

  Layout layout_;
  const Params& params_;
  const Products& products_;
  Dram dram_;

  // Bytes at addresses that vector loads like.
  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  std::vector<MicroOp> uop_;
  std::vector<Line> inp_, wgt_;  // in the form of products_
  std::vector<int32_t> acc_;
  std::vector<uint8_t> inp_zero_, wgt_zero_;  // an element of zeros, in that form
  uint8_t* inp() { return inp_.data()->bytes; }
  uint8_t* wgt() { return wgt_.data()->bytes; }

  SharedPad inp_pad_, wgt_pad_, acc_pad_;
  SharedDram shared_dram_;
  Counters counters_;
  const Queues* queues_ = nullptr;
  uint64_t operations_left_ = 0;
};

}  // namespace relay::vta
