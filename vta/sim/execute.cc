#include "vta/sim/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/cat.h"
#include "vta/isa/encode.h"
#include "vta/isa/text.h"
#include "vta/sim/legal.h"

namespace relay::vta {
namespace {

[[noreturn]] void out_of_range(std::string cause) { throw Stop{"vta-instruction", std::move(cause)}; }

// Elements [begin, begin + count), for SharedPad.
auto range(uint64_t begin, uint64_t count) {
  return [begin, count](auto touch) {
    for (uint64_t i = begin; i < begin + count; i++) touch(i);
  };
}

uint32_t bits(int32_t value) { return static_cast<uint32_t>(value); }

// The low bytes of each number, the lowest first.
void narrow(const int32_t* from, uint64_t count, int bytes_of_one, uint8_t* to) {
  if (bytes_of_one == 1) {
    for (uint64_t n = 0; n < count; n++) to[n] = static_cast<uint8_t>(from[n]);
    return;
  }
  for (uint64_t n = 0; n < count; n++, to += bytes_of_one) {
    for (int k = 0; k < bytes_of_one; k++) to[k] = static_cast<uint8_t>(bits(from[n]) >> (8 * k));
  }
}

}  // namespace

Queues::Queues(std::span<const Instruction> all) : stream(all) {
  for (uint32_t i = 0; i < all.size(); i++) index[static_cast<size_t>(engine_of(all[i]))].push_back(i);
}

std::string Queues::name(Engine e, uint32_t number) const {
  const uint32_t at = of(e)[number - 1];
  return cat("instruction ", at, " `", disassemble(stream[at]), "`");
}

Executor::Executor(const Layout& layout, const Products& products)
    : layout_(layout),
      params_(layout_.params()),
      products_(products),
      inp_pad_(params_.depth(Memory::kInp), Engine::kLoad, Engine::kCompute),
      wgt_pad_(params_.depth(Memory::kWgt), Engine::kLoad, Engine::kCompute),
      acc_pad_(params_.depth(Memory::kAcc), Engine::kCompute, Engine::kStore) {
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  const auto lines = [&](int64_t bytes) { return size((bytes + 63) / 64); };
  const std::vector<uint8_t> zeros(
      size(std::max(params_.dram_bytes(Memory::kInp), params_.dram_bytes(Memory::kWgt))));
  const int64_t inp_bytes = products.inp_bytes(params_), wgt_bytes = products.wgt_bytes(params_);
  inp_zero_.resize(size(inp_bytes));
  wgt_zero_.resize(size(wgt_bytes));
  products.prepare_inp(params_, zeros.data(), 1, inp_zero_.data());
  products.prepare_wgt(params_, zeros.data(), 1, wgt_zero_.data());
  uop_.resize(size(params_.depth(Memory::kUop)));
  inp_.resize(lines(params_.depth(Memory::kInp) * inp_bytes));
  wgt_.resize(lines(params_.depth(Memory::kWgt) * wgt_bytes));
  acc_.resize(size(params_.depth(Memory::kAcc) * params_.batch() * params_.block()));
  load_zeros(Memory::kInp, 0, static_cast<uint64_t>(params_.depth(Memory::kInp)));
  load_zeros(Memory::kWgt, 0, static_cast<uint64_t>(params_.depth(Memory::kWgt)));
}

void Executor::begin(const Queues& queues, uint64_t most_operations) {
  queues_ = &queues;
  operations_left_ = most_operations;
  counters_ = {};
  for (SharedPad* pad : {&inp_pad_, &wgt_pad_, &acc_pad_}) pad->clear();
  shared_dram_.clear();
  for (const uint32_t at : queues.of(Engine::kStore)) {
    const Instruction& i = queues.stream[at];
    for (int64_t y = 0; y < i.y_size && i.x_size; y++) {
      uint64_t address = 0, bytes = 0;
      if (!row_in_dram(i, y, address, bytes)) break;  // refused when it runs
      shared_dram_.will_write(address, bytes);
    }
  }
}

void Executor::execute(const Instruction& i, const Access& access) {
  counters_.instructions[static_cast<size_t>(access.engine)]++;
  switch (i.opcode) {
    case Opcode::kLoad: return load(i, access);
    case Opcode::kStore: return store(i, access);
    case Opcode::kGemm: return gemm(i, access);
    case Opcode::kAlu: return alu(i, access);
    case Opcode::kFinish: return;
  }
}

void Executor::spend(uint64_t operations) {
  if (operations > operations_left_)
    throw Stop{"vta-limit", "the stream takes more micro-ops and elements than the simulator's limit"};
  operations_left_ -= operations;
}

void Executor::watch(const std::optional<Race>& race, std::string_view place, bool reads) const {
  if (!race) return;
  throw Stop{"vta-race",
             cat("it ", reads ? "reads " : "writes ",
                 place == "DRAM" ? fmt::format("{:#x}", race->place) : cat("element ", race->place), " of ",
                 place, ", which ", queues_->name(race->engine, race->number), " ",
                 reads ? "writes" : "reads", "; no token orders the two")};
}

SharedPad& Executor::pad(Memory memory) {
  return memory == Memory::kInp ? inp_pad_ : memory == Memory::kWgt ? wgt_pad_ : acc_pad_;
}

// --- LOAD and STORE

// The bytes of a row without its pads; null if they are not in one buffer.
uint8_t* Executor::row_in_dram(const Instruction& i, int64_t y, uint64_t& address, uint64_t& bytes) {
  const int log_bytes = params_.log_dram_bytes(i.memory);
  address = (i.dram_base + static_cast<uint64_t>(y) * i.x_stride) << log_bytes;
  bytes = uint64_t{i.x_size} << log_bytes;
  return dram_.find(address, bytes);
}

namespace {
[[noreturn]] void no_buffer(int64_t y, uint64_t address, uint64_t bytes) {
  out_of_range(cat("row ", y, " is ", bytes, " bytes of DRAM at ", fmt::format("{:#x}", address),
                   ", and no buffer has them all"));
}
}  // namespace

void Executor::load_zeros(Memory memory, uint64_t to, uint64_t count) {
  const auto vector = static_cast<uint64_t>(params_.batch() * params_.block());
  for (uint64_t k = to; k < to + count; k++) {
    switch (memory) {
      case Memory::kUop: uop_[k] = {}; break;
      case Memory::kInp: std::copy(inp_zero_.begin(), inp_zero_.end(), inp() + k * inp_zero_.size()); break;
      case Memory::kWgt: std::copy(wgt_zero_.begin(), wgt_zero_.end(), wgt() + k * wgt_zero_.size()); break;
      case Memory::kAcc:
      case Memory::kOut:
      case Memory::kAcc8: std::fill_n(acc_.data() + k * vector, vector, 0); break;
    }
  }
}

void Executor::load_micro_ops(const uint8_t* from, uint64_t to, uint64_t count) {
  for (uint64_t k = to; k < to + count; k++, from += kMicroOpBytes) {
    std::string wrong;
    const std::optional<MicroOp> uop = decode(layout_, micro_op_word_of({from, kMicroOpBytes}), wrong);
    if (!uop) out_of_range(cat("micro-op ", k, ": ", wrong));
    uop_[k] = *uop;
  }
}

void Executor::load_elements(Memory memory, const uint8_t* from, uint64_t to, int64_t count) {
  switch (memory) {
    case Memory::kUop: return load_micro_ops(from, to, static_cast<uint64_t>(count));
    case Memory::kInp: return products_.prepare_inp(params_, from, count, inp() + to * inp_zero_.size());
    case Memory::kWgt: return products_.prepare_wgt(params_, from, count, wgt() + to * wgt_zero_.size());
    case Memory::kAcc:
    case Memory::kOut:
    case Memory::kAcc8: break;
  }
  const int width = memory == Memory::kAcc8 ? 3 : params_.log_acc_width;
  const int64_t vector = params_.batch() * params_.block();
  int32_t* const acc = acc_.data() + static_cast<int64_t>(to) * vector;
  for (int64_t n = 0; n < count * vector; n++) acc[n] = signed_number(from + (n << width >> 3), width);
}

void Executor::load_row(const Instruction& i, const Access& access, int64_t y, uint64_t to) {
  uint64_t address = 0, bytes = 0;
  const uint8_t* from = row_in_dram(i, y, address, bytes);
  if (!from) no_buffer(y, address, bytes);
  watch(shared_dram_.read(access, address, bytes), "DRAM", true);
  load_zeros(i.memory, to, i.x_pad_0);
  load_elements(i.memory, from, to + i.x_pad_0, i.x_size);
  load_zeros(i.memory, to + i.x_pad_0 + i.x_size, i.x_pad_1);
}

void Executor::load(const Instruction& i, const Access& access) {
  if (i.x_size == 0) return;
  const auto columns = static_cast<uint64_t>(padded_columns(i)), rows = static_cast<uint64_t>(padded_rows(i));
  spend(rows * columns);
  // Micro-ops belong to `compute` alone.
  if (i.memory != Memory::kUop) {
    const Memory scratchpad = scratchpad_of(i.memory);
    watch(pad(scratchpad).fill(access, range(i.sram_base, rows * columns)),
          cat("`", name_of(scratchpad), "`"), false);
  }
  uint64_t to = i.sram_base;
  load_zeros(i.memory, to, i.y_pad_0 * columns);
  to += i.y_pad_0 * columns;
  for (int64_t y = 0; y < i.y_size; y++, to += columns) load_row(i, access, y, to);
  load_zeros(i.memory, to, i.y_pad_1 * columns);
  counters_.bytes[static_cast<size_t>(i.memory)] +=
      static_cast<uint64_t>(params_.dram_bytes(i.memory)) * i.x_size * i.y_size;
}

void Executor::store(const Instruction& i, const Access& access) {
  const uint64_t count = uint64_t{i.x_size} * i.y_size;
  if (count == 0) return;
  spend(count);
  watch(acc_pad_.read(access, range(i.sram_base, count)), "`acc`", true);
  const auto vector = static_cast<uint64_t>(params_.batch() * params_.block());
  const int bytes_of_one = 1 << (params_.log_out_width - 3);
  const int32_t* from = acc_.data() + i.sram_base * vector;
  for (int64_t y = 0; y < i.y_size; y++) {
    uint64_t address = 0, bytes = 0;
    uint8_t* to = row_in_dram(i, y, address, bytes);
    if (!to) no_buffer(y, address, bytes);
    watch(shared_dram_.write(access, address, bytes), "DRAM", false);
    narrow(from, i.x_size * vector, bytes_of_one, to);
    from += i.x_size * vector;
  }
  counters_.bytes[static_cast<size_t>(i.memory)] +=
      static_cast<uint64_t>(params_.dram_bytes(i.memory)) * count;
}

// --- GEMM and ALU

std::span<const MicroOp> Executor::micro_ops(const Instruction& i) const {
  return std::span(uop_).subspan(i.uop_bgn, i.uop_end - i.uop_bgn);
}

void Executor::check_range(const Instruction& i, const Operand& operand) const {
  const auto depth = static_cast<uint64_t>(params_.depth(operand.memory));
  const uint64_t farthest =
      (i.iter_out - uint64_t{1}) * operand.factor_out + (i.iter_in - uint64_t{1}) * operand.factor_in;
  for (uint32_t u = i.uop_bgn; u < i.uop_end; u++) {
    const uint64_t last = uop_[u].*operand.index + farthest;
    if (last >= depth)
      out_of_range(cat("micro-op ", u, " `", disassemble(uop_[u]), "` reaches element ", last, " of `",
                       name_of(operand.memory), "`, which has ", depth));
  }
}

// The elements of the operand, each at least once: a loop whose factor is zero brings no others.
auto Executor::elements_of(const Instruction& i, const Operand& operand) const {
  return [all = micro_ops(i), operand, turns_out = operand.factor_out ? i.iter_out : 1,
          turns_in = operand.factor_in ? i.iter_in : 1](auto touch) {
    for (const MicroOp& u : all) {
      // Products that are summed up have one accumulator, micro-op after micro-op.
      if (&u != all.data() && u.*operand.index == (&u)[-1].*operand.index) continue;
      for (int out = 0; out < turns_out; out++) {
        uint64_t at = u.*operand.index + uint64_t{operand.factor_out} * static_cast<uint64_t>(out);
        for (int in = 0; in < turns_in; in++, at += operand.factor_in) touch(at);
      }
    }
  };
}

void Executor::gemm(const Instruction& i, const Access& access) {
  const uint64_t count = micro_ops_run(i);
  if (count == 0) return;
  spend(count);
  const Operand dst = {Memory::kAcc, &MicroOp::dst, i.dst_factor_out, i.dst_factor_in};
  const Operand src = {Memory::kInp, &MicroOp::src, i.src_factor_out, i.src_factor_in};
  const Operand tile = {Memory::kWgt, &MicroOp::wgt, i.wgt_factor_out, i.wgt_factor_in};
  check_range(i, dst);
  watch(acc_pad_.fill(access, elements_of(i, dst)), "`acc`", false);
  if (i.reset) {
    elements_of(i, dst)([&](uint64_t at) { load_zeros(Memory::kAcc, at, 1); });
    counters_.reset += count;
    return;
  }
  check_range(i, src);
  check_range(i, tile);
  watch(inp_pad_.read(access, elements_of(i, src)), "`inp`", true);
  watch(wgt_pad_.read(access, elements_of(i, tile)), "`wgt`", true);
  products_.multiply({.micro_ops = micro_ops(i),
                      .iter_out = i.iter_out,
                      .iter_in = i.iter_in,
                      .dst_out = dst.factor_out,
                      .dst_in = dst.factor_in,
                      .src_out = src.factor_out,
                      .src_in = src.factor_in,
                      .wgt_out = tile.factor_out,
                      .wgt_in = tile.factor_in,
                      .acc = acc_.data(),
                      .inp = inp(),
                      .wgt = wgt(),
                      .batch = params_.batch(),
                      .block = params_.block()});
  counters_.gemm += count;
}

// dst = op(dst, src) for all vectors of the instruction, or op(dst, imm).
template <class Op>
void Executor::for_all_numbers(const Instruction& i, Op op) {
  // So many numbers at a time, of which all vectors are made: compilers make vector
  // instructions of it.
  constexpr int64_t kChunk = 4;
  const int64_t vector = params_.batch() * params_.block();
  const int32_t immediate[kChunk] = {i.imm, i.imm, i.imm, i.imm};
  for (uint32_t out = 0; out < i.iter_out; out++) {
    for (uint32_t in = 0; in < i.iter_in; in++) {
      for (const MicroOp& u : micro_ops(i)) {
        int32_t* dst = acc_.data() + (u.dst + out * i.dst_factor_out + in * i.dst_factor_in) * vector;
        const uint32_t from = u.src + out * i.src_factor_out + in * i.src_factor_in;
        const int32_t* src = i.use_imm ? immediate : acc_.data() + from * vector;
        for (int64_t n = 0; n < vector; n += kChunk) {
          int32_t left[kChunk], right[kChunk];
          std::copy_n(dst + n, kChunk, left);
          std::copy_n(i.use_imm ? src : src + n, kChunk, right);
          for (int64_t k = 0; k < kChunk; k++) left[k] = op(left[k], right[k]);
          std::copy_n(left, kChunk, dst + n);
        }
      }
    }
  }
}

void Executor::apply(const Instruction& i) {
  switch (i.alu_op) {
    case AluOp::kMin: return for_all_numbers(i, [](int32_t a, int32_t b) { return std::min(a, b); });
    case AluOp::kMax: return for_all_numbers(i, [](int32_t a, int32_t b) { return std::max(a, b); });
    case AluOp::kAdd:
      return for_all_numbers(i, [](int32_t a, int32_t b) { return static_cast<int32_t>(bits(a) + bits(b)); });
    case AluOp::kMul:
      return for_all_numbers(i, [](int32_t a, int32_t b) { return static_cast<int32_t>(bits(a) * bits(b)); });
    case AluOp::kShr: break;
  }
  // Immediate amounts are in range, and one loop has one direction.
  if (i.use_imm && i.imm >= 0)
    return for_all_numbers(i, [amount = i.imm](int32_t a, int32_t) { return a >> amount; });
  for_all_numbers(i, [](int32_t a, int32_t amount) {
    if (amount < kLeastShift || amount > kMostShift)
      out_of_range(cat("it shifts by ", amount, ", and amounts are ", kLeastShift, " to ", kMostShift));
    return amount >= 0 ? a >> amount : static_cast<int32_t>(bits(a) << -amount);
  });
}

void Executor::alu(const Instruction& i, const Access& access) {
  const uint64_t count = micro_ops_run(i);
  if (count == 0) return;
  spend(count);
  const Operand dst = {Memory::kAcc, &MicroOp::dst, i.dst_factor_out, i.dst_factor_in};
  const Operand src = {Memory::kAcc, &MicroOp::src, i.src_factor_out, i.src_factor_in};
  check_range(i, dst);
  if (!i.use_imm) check_range(i, src);
  watch(acc_pad_.fill(access, elements_of(i, dst)), "`acc`", false);
  apply(i);
  counters_.alu += count;
}

}  // namespace relay::vta
