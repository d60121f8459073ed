#include "vta/compile/tokens.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace relay::vta {
namespace {

struct Range {
  int64_t begin = 0, end = 0;
};

// An instruction's number, counted from 1; 0: none.
using Number = uint32_t;

// Who touched each element of a scratchpad last.
class Touched {
 public:
  explicit Touched(int64_t depth) : last_(static_cast<size_t>(depth)) {}

  void touch(Range r, Number by) { std::fill(last_.begin() + r.begin, last_.begin() + r.end, by); }
  Number last(Range r) const {
    if (r.begin >= r.end) return 0;
    return *std::max_element(last_.begin() + r.begin, last_.begin() + r.end);
  }

 private:
  std::vector<Number> last_;
};

// A scratchpad that one engine fills and its neighbour reads.
struct Shared {
  Shared(int64_t depth, Engine filler, Engine reader)
      : filler(filler), reader(reader), filled(depth), read(depth) {}

  Engine filler, reader;
  Touched filled, read;
};

class Ordering {
 public:
  Ordering(const Params& params, std::span<const MicroOp> micro_ops, std::span<Instruction> stream)
      : micro_ops_(micro_ops),
        stream_(stream),
        uop_(static_cast<size_t>(params.depth(Memory::kUop))),
        inp_(params.depth(Memory::kInp), Engine::kLoad, Engine::kCompute),
        wgt_(params.depth(Memory::kWgt), Engine::kLoad, Engine::kCompute),
        acc_(params.depth(Memory::kAcc), Engine::kCompute, Engine::kStore) {}

  void run() {
    for (at_ = 0; at_ < stream_.size(); at_++) {
      const Instruction& i = stream_[at_];
      switch (i.opcode) {
        case Opcode::kLoad: load(i); break;
        case Opcode::kStore: store(i); break;
        case Opcode::kGemm:
        case Opcode::kAlu: loop(i); break;
        case Opcode::kFinish: after(Engine::kStore, last_store_);
      }
      wait(engine_of(i));
    }
  }

 private:
  // The instruction at hand needs that this one of another engine is over.
  void after(Engine other, Number before) {
    Number& needed = needed_[static_cast<size_t>(other)];
    needed = std::max(needed, before);
  }

  void wait(Engine engine) {
    for (const Engine other : kAllEngines) {
      const Number before = std::exchange(needed_[static_cast<size_t>(other)], 0);
      Number& known = known_[static_cast<size_t>(engine)][static_cast<size_t>(other)];
      if (before <= known) continue;
      known = before;
      const bool from_previous = other < engine;
      (from_previous ? stream_[at_].pop_prev : stream_[at_].pop_next) = true;
      (from_previous ? stream_[before - 1].push_next : stream_[before - 1].push_prev) = true;
    }
  }

  Number number() const { return static_cast<Number>(at_ + 1); }

  void fill(Shared& pad, Range range) {
    after(pad.reader, pad.read.last(range));
    pad.filled.touch(range, number());
  }
  void read(Shared& pad, Range range) {
    after(pad.filler, pad.filled.last(range));
    pad.read.touch(range, number());
  }

  void load(const Instruction& i) {
    if (i.x_size == 0) return;
    const Range range = {i.sram_base, i.sram_base + padded_rows(i) * padded_columns(i)};
    switch (scratchpad_of(i.memory)) {
      case Memory::kUop:
        std::copy_n(micro_ops_.begin() + i.dram_base, i.x_size, uop_.begin() + i.sram_base);
        return;
      case Memory::kInp: return fill(inp_, range);
      case Memory::kWgt: return fill(wgt_, range);
      default: return fill(acc_, range);
    }
  }

  void store(const Instruction& i) {
    last_store_ = number();
    read(acc_, {i.sram_base, i.sram_base + int64_t{i.y_size} * i.x_size});
  }

  Range touched(const Instruction& i, uint32_t MicroOp::* index, uint32_t factor_out,
                uint32_t factor_in) const {
    if (micro_ops_run(i) == 0) return {};
    const auto begin = uop_.begin() + i.uop_bgn, end = uop_.begin() + i.uop_end;
    const auto [least, most] = std::minmax_element(
        begin, end, [index](const MicroOp& a, const MicroOp& b) { return a.*index < b.*index; });
    return {(*least).*index, (*most).*index + (i.iter_out - int64_t{1}) * factor_out +
                                 (i.iter_in - int64_t{1}) * factor_in + 1};
  }

  void loop(const Instruction& i) {
    if (i.opcode == Opcode::kGemm && !i.reset) {
      read(inp_, touched(i, &MicroOp::src, i.src_factor_out, i.src_factor_in));
      read(wgt_, touched(i, &MicroOp::wgt, i.wgt_factor_out, i.wgt_factor_in));
    }
    // What ALU reads are accumulators that only its own engine fills.
    fill(acc_, touched(i, &MicroOp::dst, i.dst_factor_out, i.dst_factor_in));
  }

  std::span<const MicroOp> micro_ops_;
  std::span<Instruction> stream_;
  size_t at_ = 0;
  std::vector<MicroOp> uop_;
  Shared inp_, wgt_, acc_;
  Number last_store_ = 0;
  std::array<Number, kEngines> needed_ = {};  // by the instruction at hand, of each engine
  // Up to which instruction of another engine an engine has waited.
  std::array<std::array<Number, kEngines>, kEngines> known_ = {};
};

}  // namespace

void add_tokens(const Params& params, std::span<const MicroOp> micro_ops, std::span<Instruction> stream) {
  Ordering(params, micro_ops, stream).run();
}

}  // namespace relay::vta
