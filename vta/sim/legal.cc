#include "vta/sim/legal.h"

#include "base/cat.h"
#include "vta/isa/encode.h"

namespace relay::vta {
namespace {

std::string wrong_tokens(const Instruction& i) {
  const Engine engine = engine_of(i);
  if (engine == Engine::kLoad && (i.pop_prev || i.push_prev))
    return "it has a token of the previous engine, and `load` has none";
  if (engine == Engine::kStore && (i.pop_next || i.push_next))
    return "it has a token of the next engine, and `store` has none";
  return "";
}

std::string wrong_move(const Params& params, const Instruction& i) {
  const bool out = i.memory == Memory::kOut;
  if (out != (i.opcode == Opcode::kStore))
    return cat("`", name_of(i.opcode), "` moves ", out ? "no `out`" : "`out` alone", ", and this is `",
               name_of(i.memory), "`");
  if (i.opcode == Opcode::kStore && (i.y_pad_0 || i.y_pad_1 || i.x_pad_0 || i.x_pad_1))
    return "`store` has no pads";
  if (i.x_size == 0) return "";
  const int64_t end = i.sram_base + padded_rows(i) * padded_columns(i), depth = params.depth(i.memory);
  if (end <= depth) return "";
  return cat("it fills elements ", i.sram_base, " to ", end - 1, " of `", name_of(scratchpad_of(i.memory)),
             "`, which has ", depth);
}

std::string wrong_loop(const Params& params, const Instruction& i) {
  if (i.uop_end < i.uop_bgn)
    return cat("its micro-ops end at ", i.uop_end, ", before they begin at ", i.uop_bgn);
  if (i.uop_end > params.depth(Memory::kUop))
    return cat("its micro-ops end at ", i.uop_end, ", and `uop` has ", params.depth(Memory::kUop));
  if (i.opcode != Opcode::kAlu) return "";
  if (i.reset) return "`alu` has no `reset`";
  if (i.alu_op == AluOp::kShr && i.use_imm && (i.imm < kLeastShift || i.imm > kMostShift))
    return cat("it shifts by ", i.imm, ", and amounts are ", kLeastShift, " to ", kMostShift);
  return "";
}

}  // namespace

std::string illegal(const Layout& layout, const Instruction& instruction) {
  std::string wrong;
  if (!encode(layout, instruction, wrong)) return wrong;
  if (wrong = wrong_tokens(instruction); !wrong.empty()) return wrong;
  switch (instruction.opcode) {
    case Opcode::kLoad:
    case Opcode::kStore: return wrong_move(layout.params(), instruction);
    case Opcode::kGemm:
    case Opcode::kAlu: return wrong_loop(layout.params(), instruction);
    case Opcode::kFinish: break;
  }
  return "";
}

std::optional<Refusal> malformed(const Layout& layout, std::span<const Instruction> stream) {
  if (stream.empty()) return Refusal{"vta-instruction", 0, "", "the stream has no instructions"};
  for (size_t i = 0; i < stream.size(); i++) {
    if (std::string wrong = illegal(layout, stream[i]); !wrong.empty())
      return refusal("vta-instruction", stream, i, std::move(wrong));
    const bool last = i + 1 == stream.size(), finish = stream[i].opcode == Opcode::kFinish;
    if (last && !finish) return refusal("vta-instruction", stream, i, "the stream ends without `finish`");
    if (finish && !last) return refusal("vta-instruction", stream, i, "instructions follow `finish`");
  }
  return std::nullopt;
}

}  // namespace relay::vta
