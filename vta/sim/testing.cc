#include "vta/sim/testing.h"

#include <algorithm>

#include "vta/isa/encode.h"

namespace relay::vta::testing {
namespace {

template <class T>
T as(int64_t value) {
  return static_cast<T>(value);
}

// Writes the micro-ops to a new buffer, and returns the LOAD that brings them to the scratchpad.
Instruction load_micro_ops(const Layout& layout, std::span<const MicroOp> all, Dram& dram) {
  Diagnostics d;
  const Result<std::vector<uint8_t>> bytes = encode(layout, all, d);
  CHECK(bytes.ok(), "a micro-op does not fit");
  const Result<uint64_t> at = dram.allocate(bytes->size(), d);
  CHECK(at.ok(), "no room for micro-ops");
  std::copy(bytes->begin(), bytes->end(), dram.find(*at, bytes->size()));
  const auto count = as<uint16_t>(static_cast<int64_t>(all.size()));
  return {.opcode = Opcode::kLoad,
          .memory = Memory::kUop,
          .dram_base = as<uint32_t>(static_cast<int64_t>(*at) / kMicroOpBytes),
          .y_size = 1,
          .x_size = count,
          .x_stride = count};
}

uint32_t first_element(const Params& params, Memory memory, uint64_t address) {
  return static_cast<uint32_t>(address >> params.log_dram_bytes(memory));
}

uint64_t elements(const Params& params, Memory memory, int64_t count, Dram& dram, std::mt19937_64& random) {
  return random_buffer(dram, static_cast<uint64_t>(count * params.dram_bytes(memory)), random);
}

// The instructions of a matrix product, step by step.
class ProductWriter {
 public:
  ProductWriter(const Layout& layout, const MatrixProduct& shape, Dram& dram, std::mt19937_64& random)
      : s_(shape) {
    const Params& p = layout.params();
    inp_ = first_element(p, Memory::kInp, elements(p, Memory::kInp, s_.depth * s_.rows, dram, random));
    wgt_ = first_element(p, Memory::kWgt, elements(p, Memory::kWgt, s_.columns * s_.depth, dram, random));
    out_ = first_element(p, Memory::kOut, elements(p, Memory::kOut, s_.columns * s_.rows, dram, random));
    // For each set of scratchpads: one micro-op for accumulators, then one for each n and k.
    std::vector<MicroOp> all;
    for (int set = 0; set < s_.buffers; set++) {
      const int acc = set * s_.width * s_.tile;
      all.push_back({as<uint32_t>(acc), as<uint32_t>(acc), 0});
      for (int n = 0; n < s_.width; n++) {
        for (int k = 0; k < s_.depth; k++)
          all.push_back({as<uint32_t>(acc + n * s_.tile), as<uint32_t>((set * s_.depth + k) * s_.tile),
                         as<uint32_t>((set * s_.width + n) * s_.depth + k)});
      }
    }
    out.push_back(load_micro_ops(layout, all, dram));
  }

  void write() {
    for (int step = 0; step < s_.steps(); step++) {
      load(step);
      compute(step);
      store(step);
    }
    out.push_back({.opcode = Opcode::kFinish, .pop_next = true});
  }

  std::vector<Instruction> out;

 private:
  int set(int step) const { return step % s_.buffers; }
  // Has a step before used the same scratchpads? Will a later one?
  bool waits(int step) const { return step >= s_.buffers; }
  bool frees(int step) const { return step + s_.buffers < s_.steps(); }
  int row(int step) const { return step / (s_.columns / s_.width) * s_.tile; }
  int column(int step) const { return step % (s_.columns / s_.width) * s_.width; }

  void load(int step) {
    out.push_back({.opcode = Opcode::kLoad,
                   .pop_next = waits(step),
                   .memory = Memory::kInp,
                   .sram_base = as<uint16_t>(set(step) * s_.depth * s_.tile),
                   .dram_base = inp_ + as<uint32_t>(row(step)),
                   .y_size = as<uint16_t>(s_.depth),
                   .x_size = as<uint16_t>(s_.tile),
                   .x_stride = as<uint16_t>(s_.rows)});
    out.push_back({.opcode = Opcode::kLoad,
                   .push_next = true,
                   .memory = Memory::kWgt,
                   .sram_base = as<uint16_t>(set(step) * s_.width * s_.depth),
                   .dram_base = wgt_ + as<uint32_t>(column(step) * s_.depth),
                   .y_size = as<uint16_t>(s_.width),
                   .x_size = as<uint16_t>(s_.depth),
                   .x_stride = as<uint16_t>(s_.depth)});
  }

  void compute(int step) {
    const auto bgn = as<uint32_t>(set(step) * (s_.width * s_.depth + 1));
    const auto tile = as<uint16_t>(s_.tile);
    out.push_back({.opcode = Opcode::kGemm,
                   .pop_next = waits(step),
                   .reset = true,
                   .uop_bgn = bgn,
                   .uop_end = bgn + 1,
                   .iter_out = as<uint16_t>(s_.width),
                   .iter_in = tile,
                   .dst_factor_out = tile,
                   .dst_factor_in = 1});
    out.push_back({.opcode = Opcode::kGemm,
                   .pop_prev = true,
                   .push_prev = frees(step),
                   .uop_bgn = bgn + 1,
                   .uop_end = bgn + 1 + as<uint32_t>(s_.width * s_.depth),
                   .iter_out = 1,
                   .iter_in = tile,
                   .dst_factor_in = 1,
                   .src_factor_in = 1});
    alu(bgn, AluOp::kShr, s_.shift);
    alu(bgn, AluOp::kMax, -127);
    alu(bgn, AluOp::kMin, 127);
    out.back().push_next = true;
  }

  void alu(uint32_t bgn, AluOp op, int imm) {
    out.push_back({.opcode = Opcode::kAlu,
                   .uop_bgn = bgn,
                   .uop_end = bgn + 1,
                   .iter_out = as<uint16_t>(s_.width),
                   .iter_in = as<uint16_t>(s_.tile),
                   .dst_factor_out = as<uint32_t>(s_.tile),
                   .dst_factor_in = 1,
                   .src_factor_out = as<uint32_t>(s_.tile),
                   .src_factor_in = 1,
                   .alu_op = op,
                   .use_imm = true,
                   .imm = as<int16_t>(imm)});
  }

  void store(int step) {
    out.push_back({.opcode = Opcode::kStore,
                   .pop_prev = true,
                   .push_prev = frees(step) || step + 1 == s_.steps(),
                   .memory = Memory::kOut,
                   .sram_base = as<uint16_t>(set(step) * s_.width * s_.tile),
                   .dram_base = out_ + as<uint32_t>(column(step) * s_.rows + row(step)),
                   .y_size = as<uint16_t>(s_.width),
                   .x_size = as<uint16_t>(s_.tile),
                   .x_stride = as<uint16_t>(s_.rows)});
  }

  MatrixProduct s_;
  uint32_t inp_ = 0, wgt_ = 0, out_ = 0;
};

// Draws instructions; each is ordered behind the one before it.
class RandomProgram {
 public:
  RandomProgram(const Layout& layout, Dram& dram, std::mt19937_64& random)
      : layout_(layout), p_(layout.params()), dram_(dram), random_(random) {}

  std::vector<Instruction> make() {
    micro_ops();
    const int count = 4 + below(12);
    for (int i = 0; i < count; i++) {
      switch (below(6)) {
        case 0:
        case 1: add(load()); break;
        case 2: add(move(Opcode::kStore, Memory::kOut)); break;
        case 3: add(alu()); break;
        default: add(gemm());
      }
    }
    Instruction all = move(Opcode::kStore, Memory::kOut);
    all.sram_base = 0, all.y_size = 1;
    all.x_size = all.x_stride = as<uint16_t>(p_.depth(Memory::kAcc));
    all.dram_base = first_element(p_, Memory::kOut, elements(p_, Memory::kOut, all.x_size, dram_, random_));
    add(all);
    add({.opcode = Opcode::kFinish});
    return std::move(out_);
  }

 private:
  int below(int64_t n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

  void micro_ops() {
    std::vector<MicroOp> all;
    for (int i = 0; i < kMicroOps; i++) {
      // The largest indices leave room for the factors below.
      const auto acc = [&] { return as<uint32_t>(below(p_.depth(Memory::kAcc) / 2)); };
      all.push_back({acc(), as<uint32_t>(std::min<int64_t>(acc(), p_.depth(Memory::kInp) / 2 - 1)),
                     as<uint32_t>(below(p_.depth(Memory::kWgt) / 2))});
    }
    add(load_micro_ops(layout_, all, dram_));
  }

  // Tokens from the instruction before, over `compute` if the two engines are no neighbours.
  void add(Instruction i) {
    if (!out_.empty()) {
      const int from = static_cast<int>(engine_of(out_.back())), to = static_cast<int>(engine_of(i));
      if (std::abs(from - to) == 2) add({.opcode = Opcode::kLoad, .memory = Memory::kUop});  // moves nothing
      const int last = static_cast<int>(engine_of(out_.back()));
      (last < to ? out_.back().push_next : out_.back().push_prev) |= last != to;
      (last < to ? i.pop_prev : i.pop_next) |= last != to;
    }
    out_.push_back(i);
  }

  Instruction load() {
    constexpr Memory kLoaded[] = {Memory::kInp, Memory::kWgt, Memory::kAcc, Memory::kAcc8};
    Instruction i = move(Opcode::kLoad, kLoaded[below(4)]);
    for (uint8_t* pad : {&i.y_pad_0, &i.y_pad_1, &i.x_pad_0, &i.x_pad_1}) *pad = as<uint8_t>(below(2));
    return i;
  }

  Instruction move(Opcode opcode, Memory memory) {
    Instruction i = {.opcode = opcode, .memory = memory};
    i.y_size = as<uint16_t>(1 + below(3));
    i.x_size = as<uint16_t>(below(4));
    i.x_stride = as<uint16_t>(i.x_size + below(3));
    constexpr int kMostElements = 6 * 6;  // with pads
    i.sram_base = as<uint16_t>(below(p_.depth(memory) - kMostElements));
    const int64_t count = int64_t{i.y_size} * i.x_stride + i.x_size;
    i.dram_base = first_element(p_, memory, elements(p_, memory, count, dram_, random_));
    return i;
  }

  Instruction loop(Opcode opcode) {
    Instruction i = {.opcode = opcode};
    i.uop_bgn = as<uint32_t>(below(kMicroOps));
    i.uop_end = i.uop_bgn + as<uint32_t>(below(1 + kMicroOps - i.uop_bgn));
    i.iter_out = as<uint16_t>(below(4));
    i.iter_in = as<uint16_t>(below(4));
    for (uint32_t* factor : {&i.dst_factor_out, &i.dst_factor_in, &i.src_factor_out, &i.src_factor_in})
      *factor = as<uint32_t>(below(3));
    return i;
  }

  Instruction gemm() {
    Instruction i = loop(Opcode::kGemm);
    i.reset = below(4) == 0;
    i.wgt_factor_out = as<uint32_t>(below(3));
    i.wgt_factor_in = as<uint32_t>(below(3));
    return i;
  }

  Instruction alu() {
    Instruction i = loop(Opcode::kAlu);
    i.alu_op = static_cast<AluOp>(below(5));
    // Amounts of shifts are checked: only immediate ones are known to be in range.
    i.use_imm = i.alu_op == AluOp::kShr || below(2) == 0;
    if (i.use_imm) i.imm = as<int16_t>(i.alu_op == AluOp::kShr ? below(63) - 31 : below(65536) - 32768);
    return i;
  }

  static constexpr int kMicroOps = 4;

  const Layout& layout_;
  const Params& p_;
  Dram& dram_;
  std::mt19937_64& random_;
  std::vector<Instruction> out_;
};

}  // namespace

uint64_t random_buffer(Dram& dram, uint64_t bytes, std::mt19937_64& random) {
  Diagnostics d;
  const Result<uint64_t> at = dram.allocate(bytes, d);
  CHECK(at.ok(), "no room for a buffer");
  uint8_t* to = dram.find(*at, bytes);
  for (uint64_t i = 0; i < bytes; i++) to[i] = static_cast<uint8_t>(random());
  return *at;
}

std::vector<Instruction> matrix_product(const Layout& layout, const MatrixProduct& shape, Dram& dram,
                                        std::mt19937_64& random) {
  ProductWriter writer(layout, shape, dram, random);
  writer.write();
  return std::move(writer.out);
}

std::vector<Instruction> random_program(const Layout& layout, Dram& dram, std::mt19937_64& random) {
  return RandomProgram(layout, dram, random).make();
}

}  // namespace relay::vta::testing
