#include "vta/sim/oracle.h"

#include <algorithm>
#include <array>
#include <deque>
#include <stdexcept>
#include <vector>

#include "vta/isa/encode.h"

namespace relay::vta {
namespace {

// --- numbers

// A signed number of the width, the lowest byte first.
int32_t read(const uint8_t* bytes, int width) {
  uint32_t out = 0;
  for (int i = 0; i < width / 8; i++) out |= uint32_t{bytes[i]} << (8 * i);
  const int unused = 32 - width;
  return static_cast<int32_t>(out << unused) >> unused;
}

// The low bits are kept.
void write(uint8_t* bytes, int width, int32_t value) {
  for (int i = 0; i < width / 8; i++)
    bytes[i] = static_cast<uint8_t>(static_cast<uint32_t>(value) >> (8 * i));
}

// Sums and products keep the low 32 bits.
int32_t add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
int32_t multiply(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

int32_t shift_right(int32_t a, int32_t amount) {
  if (amount < -31 || amount > 31) throw std::out_of_range("a shift by 32 bits or more");
  return amount >= 0 ? a >> amount : static_cast<int32_t>(static_cast<uint32_t>(a) << -amount);
}

int32_t apply(AluOp op, int32_t a, int32_t b) {
  switch (op) {
    case AluOp::kMin: return std::min(a, b);
    case AluOp::kMax: return std::max(a, b);
    case AluOp::kAdd: return add(a, b);
    case AluOp::kShr: return shift_right(a, b);
    case AluOp::kMul: return multiply(a, b);
  }
  throw std::out_of_range("no operation of the ALU");
}

// --- the machine

class Machine {
 public:
  Machine(const Layout& layout, Dram& dram) : layout_(layout), params_(layout.params()), dram_(dram) {
    const auto bytes = [&](Memory m) { return static_cast<size_t>(params_.depth(m)); };
    const int64_t batch = params_.batch(), block = params_.block();
    uop_.resize(bytes(Memory::kUop));
    inp_.resize(bytes(Memory::kInp) * static_cast<size_t>(batch * block));
    wgt_.resize(bytes(Memory::kWgt) * static_cast<size_t>(block * block));
    acc_.resize(bytes(Memory::kAcc) * static_cast<size_t>(batch * block));
  }

  std::string run(std::span<const Instruction> stream) {
    for (const Instruction& i : stream) queue_[static_cast<size_t>(engine_of(i))].push_back(i);
    while (step(Engine::kLoad) || step(Engine::kCompute) || step(Engine::kStore)) {
    }
    for (const auto& queue : queue_) {
      if (!queue.empty()) return "no engine can go on";
    }
    return "";
  }

 private:
  // Tokens on their way from one engine to another.
  int& tokens(int from, int to) {
    if (std::min(from, to) < 0 || std::max(from, to) >= kEngines)
      throw std::out_of_range("a token of an engine that is not there");
    return tokens_[static_cast<size_t>(from)][static_cast<size_t>(to)];
  }

  // Runs the engine's next instruction, if the tokens that it waits for are there.
  bool step(Engine engine) {
    std::deque<Instruction>& queue = queue_[static_cast<size_t>(engine)];
    if (queue.empty()) return false;
    const Instruction i = queue.front();
    const int me = static_cast<int>(engine), prev = me - 1, next = me + 1;
    if (i.pop_prev && tokens(prev, me) == 0) return false;
    if (i.pop_next && tokens(next, me) == 0) return false;
    if (i.pop_prev) tokens(prev, me)--;
    if (i.pop_next) tokens(next, me)--;
    execute(i);
    if (i.push_prev) tokens(me, prev)++;
    if (i.push_next) tokens(me, next)++;
    queue.pop_front();
    return true;
  }

  void execute(const Instruction& i) {
    switch (i.opcode) {
      case Opcode::kLoad: return load(i);
      case Opcode::kStore: return store(i);
      case Opcode::kGemm: return gemm(i);
      case Opcode::kAlu: return alu(i);
      case Opcode::kFinish: return;
    }
  }

  // Row y, column x of the rectangle, counted without its pads.
  uint8_t* in_dram(const Instruction& i, int64_t y, int64_t x) {
    const int64_t bytes = params_.dram_bytes(i.memory);
    const int64_t element = i.dram_base + y * i.x_stride + x;
    uint8_t* found = dram_.find(static_cast<uint64_t>(element * bytes), static_cast<uint64_t>(bytes));
    if (!found) throw std::out_of_range("no buffer in DRAM");
    return found;
  }

  void load(const Instruction& i) {
    if (i.x_size == 0) return;
    size_t at = i.sram_base;
    for (int y = -i.y_pad_0; y < i.y_size + i.y_pad_1; y++) {
      for (int x = -i.x_pad_0; x < i.x_size + i.x_pad_1; x++) {
        const bool inside = y >= 0 && y < i.y_size && x >= 0 && x < i.x_size;
        load_element(i.memory, at++, inside ? in_dram(i, y, x) : nullptr);
      }
    }
  }

  // From these bytes, or zeros.
  void load_element(Memory memory, size_t at, const uint8_t* bytes) {
    if (memory == Memory::kUop) {
      uop_.at(at) = bytes ? micro_op_word_of({bytes, kMicroOpBytes}) : 0;
      return;
    }
    std::vector<int32_t>& to = memory == Memory::kWgt ? wgt_ : memory == Memory::kInp ? inp_ : acc_;
    const int width = 1 << (memory == Memory::kWgt    ? params_.log_wgt_width
                            : memory == Memory::kInp  ? params_.log_inp_width
                            : memory == Memory::kAcc8 ? 3
                                                      : params_.log_acc_width);
    const auto count = static_cast<size_t>(memory == Memory::kWgt ? params_.block() : params_.batch()) *
                       static_cast<size_t>(params_.block());
    for (size_t k = 0; k < count; k++)
      to.at(at * count + k) = bytes ? read(bytes + k * static_cast<size_t>(width / 8), width) : 0;
  }

  void store(const Instruction& i) {
    const int width = 1 << params_.log_out_width;
    const auto count = static_cast<size_t>(params_.batch() * params_.block());
    size_t at = i.sram_base;
    for (int y = 0; y < i.y_size; y++) {
      for (int x = 0; x < i.x_size; x++, at++) {
        uint8_t* bytes = in_dram(i, y, x);
        for (size_t k = 0; k < count; k++)
          write(bytes + k * static_cast<size_t>(width / 8), width, acc_.at(at * count + k));
      }
    }
  }

  // The loops of GEMM and ALU.
  template <class Body>
  void loops(const Instruction& i, Body body) {
    for (size_t out = 0; out < i.iter_out; out++) {
      for (size_t in = 0; in < i.iter_in; in++) {
        for (size_t u = i.uop_bgn; u < i.uop_end; u++) {
          std::string wrong;
          const std::optional<MicroOp> uop = decode(layout_, uop_.at(u), wrong);
          if (!uop) throw std::out_of_range(wrong);
          body(uop->dst + out * i.dst_factor_out + in * i.dst_factor_in,
               uop->src + out * i.src_factor_out + in * i.src_factor_in,
               uop->wgt + out * i.wgt_factor_out + in * i.wgt_factor_in);
        }
      }
    }
  }

  void gemm(const Instruction& i) {
    const auto batch = static_cast<size_t>(params_.batch()), block = static_cast<size_t>(params_.block());
    loops(i, [&](size_t dst, size_t src, size_t wgt) {
      for (size_t b = 0; b < batch; b++) {
        for (size_t n = 0; n < block; n++) {
          int32_t& sum = acc_.at((dst * batch + b) * block + n);
          if (i.reset) sum = 0;
          for (size_t k = 0; k < block && !i.reset; k++)
            sum = add(sum, multiply(inp_.at((src * batch + b) * block + k),
                                    wgt_.at((wgt * block + n) * block + k)));
        }
      }
    });
  }

  void alu(const Instruction& i) {
    const auto count = static_cast<size_t>(params_.batch() * params_.block());
    loops(i, [&](size_t dst, size_t src, size_t) {
      for (size_t k = 0; k < count; k++) {
        int32_t& left = acc_.at(dst * count + k);
        left = apply(i.alu_op, left, i.use_imm ? i.imm : acc_.at(src * count + k));
      }
    });
  }

  const Layout& layout_;
  const Params& params_;
  Dram& dram_;
  std::array<std::deque<Instruction>, kEngines> queue_;
  std::array<std::array<int, kEngines>, kEngines> tokens_ = {};  // from, to
  std::vector<uint32_t> uop_;
  std::vector<int32_t> inp_, wgt_, acc_;  // row after row
};

}  // namespace

std::string run_oracle(const Layout& layout, std::span<const Instruction> stream, Dram& dram) {
  try {
    return Machine(layout, dram).run(stream);
  } catch (const std::out_of_range& e) {
    return e.what();
  }
}

}  // namespace relay::vta
