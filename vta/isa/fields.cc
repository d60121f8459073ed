#include "vta/isa/fields.h"

#include <type_traits>

#include "base/cat.h"

namespace relay::vta {
namespace {

constexpr std::string_view kOpcodeNames[] = {"load", "store", "gemm", "finish", "alu"};
constexpr std::string_view kMemoryNames[] = {"uop", "wgt", "inp", "acc", "out", "acc8"};
constexpr std::string_view kAluNames[] = {"min", "max", "add", "shr", "mul"};
constexpr std::string_view kEngineNames[] = {"load", "compute", "store"};

constexpr unsigned bit(Opcode opcode) { return 1u << static_cast<int>(opcode); }
constexpr unsigned kGemm = bit(Opcode::kGemm), kAlu = bit(Opcode::kAlu);
constexpr unsigned kMoves = bit(Opcode::kLoad) | bit(Opcode::kStore), kLoops = kGemm | kAlu;
constexpr unsigned kAll = kMoves | kLoops | bit(Opcode::kFinish);

template <class T>
struct RecordOf;
template <class Record, class T>
struct RecordOf<T Record::*> {
  using type = Record;
};

// One row: the member is a template argument, so reading and writing need no memory of it.
template <auto kMember>
constexpr auto row(std::string_view name, FieldKind kind, unsigned opcodes, Width width, std::string_view doc,
                   std::span<const std::string_view> names = {}) {
  using Record = typename RecordOf<decltype(kMember)>::type;
  using Value = std::remove_cvref_t<decltype(std::declval<Record&>().*kMember)>;
  return Field<Record>{
      .name = name,
      .kind = kind,
      .opcodes = opcodes,
      .width = width,
      .get = [](const Record& r) { return static_cast<int64_t>(r.*kMember); },
      .set = [](Record& r, int64_t value) { r.*kMember = static_cast<Value>(value); },
      .doc = doc,
      .names = names,
  };
}

using enum FieldKind;
using I = Instruction;
constexpr int kSramBits = 16;  // LOAD and STORE reach every element of every scratchpad
constexpr Width kUopIndex = {0, Memory::kUop}, kAccIndex = {0, Memory::kAcc}, kInpIndex = {0, Memory::kInp},
                kWgtIndex = {0, Memory::kWgt};

constexpr Field<I> kInstructionFields[] = {
    row<&I::opcode>("opcode", kName, kAll, {3}, "what it does", kOpcodeNames),
    row<&I::pop_prev>("pop_prev", kFlag, kAll, {1}, "waits for a token of the previous engine"),
    row<&I::pop_next>("pop_next", kFlag, kAll, {1}, "waits for a token of the next engine"),
    row<&I::push_prev>("push_prev", kFlag, kAll, {1}, "gives the previous engine a token when done"),
    row<&I::push_next>("push_next", kFlag, kAll, {1}, "gives the next engine a token when done"),

    row<&I::memory>("memory", kName, kMoves, {3}, "what is moved", kMemoryNames),
    row<&I::sram_base>("sram_base", kNumber, kMoves, {kSramBits}, "first element in the scratchpad"),
    row<&I::dram_base>("dram_base", kNumber, kMoves, {32},
                       "first element in DRAM: its address / element's bytes"),
    row<&I::y_size>("y_size", kNumber, kMoves, {16}, "rows"),
    row<&I::x_size>("x_size", kNumber, kMoves, {16}, "elements of a row; 0: nothing is moved"),
    row<&I::x_stride>("x_stride", kNumber, kMoves, {16}, "elements of DRAM from one row to the next"),
    row<&I::y_pad_0>("y_pad_0", kNumber, kMoves, {4}, "rows of zeros before; 0 in STORE, as all pads"),
    row<&I::y_pad_1>("y_pad_1", kNumber, kMoves, {4}, "rows of zeros behind"),
    row<&I::x_pad_0>("x_pad_0", kNumber, kMoves, {4}, "elements of zeros before each row"),
    row<&I::x_pad_1>("x_pad_1", kNumber, kMoves, {4}, "elements of zeros behind each row"),

    row<&I::reset>("reset", kFlag, kLoops, {1}, "GEMM: sets accumulators to zero instead; 0 in ALU"),
    row<&I::uop_bgn>("uop_bgn", kNumber, kLoops, kUopIndex, "first micro-op"),
    row<&I::uop_end>("uop_end", kNumber, kLoops, {1, Memory::kUop}, "behind the last micro-op"),
    row<&I::iter_out>("iter_out", kNumber, kLoops, {14}, "turns of the outer loop"),
    row<&I::iter_in>("iter_in", kNumber, kLoops, {14}, "turns of the inner loop"),
    row<&I::dst_factor_out>("dst_factor_out", kNumber, kLoops, kAccIndex,
                            "added to `dst` in each outer turn"),
    row<&I::dst_factor_in>("dst_factor_in", kNumber, kLoops, kAccIndex, "added to `dst` in each inner turn"),
    row<&I::src_factor_out>("src_factor_out", kNumber, kGemm, kInpIndex, "added to `src` in each outer turn"),
    row<&I::src_factor_in>("src_factor_in", kNumber, kGemm, kInpIndex, "added to `src` in each inner turn"),
    row<&I::src_factor_out>("src_factor_out", kNumber, kAlu, kAccIndex, "added to `src` in each outer turn"),
    row<&I::src_factor_in>("src_factor_in", kNumber, kAlu, kAccIndex, "added to `src` in each inner turn"),
    row<&I::wgt_factor_out>("wgt_factor_out", kNumber, kGemm, kWgtIndex, "added to `wgt` in each outer turn"),
    row<&I::wgt_factor_in>("wgt_factor_in", kNumber, kGemm, kWgtIndex, "added to `wgt` in each inner turn"),

    row<&I::alu_op>("alu_op", kName, kAlu, {3}, "dst = dst OP src", kAluNames),
    row<&I::use_imm>("use_imm", kFlag, kAlu, {1}, "the right operand is `imm`"),
    row<&I::imm>("imm", kSigned, kAlu, {16}, "the right operand"),
};

constexpr Field<MicroOp> kMicroOpFields[] = {
    row<&MicroOp::dst>("dst", kNumber, 0, kAccIndex, "accumulator vector that is written"),
    row<&MicroOp::src>("src", kNumber, 0, kAccIndex, "GEMM: input vector; ALU: accumulator vector"),
    row<&MicroOp::wgt>("wgt", kNumber, 0, kWgtIndex, "GEMM: weight tile"),
};

constexpr int kHalf = 64;

// Places the field behind `bits`, or returns false if the word has no room.
template <class Record>
bool place(const Field<Record>& field, const Params& params, int word, int& bits,
           std::vector<Placed<Record>>& out) {
  const int width = field.width.in(params);
  if (bits < kHalf && bits + width > kHalf) bits = kHalf;
  out.push_back({&field, bits, width});
  bits += width;
  return bits <= word;
}

void no_room(Diagnostics& d, std::string_view what, std::string_view field, int end, int word) {
  d.error(Span::none(), "vta-parameters",
          cat("these parameters have no instructions: the field `", field, "` of ", what,
              " would end at bit ", end, " of ", word))
      .note("a larger BLOCK, or smaller scratchpads, have narrower indices");
}

}  // namespace

std::string_view name_of(Opcode opcode) { return kOpcodeNames[static_cast<size_t>(opcode)]; }
std::string_view name_of(Memory memory) { return kMemoryNames[static_cast<size_t>(memory)]; }
std::string_view name_of(AluOp op) { return kAluNames[static_cast<size_t>(op)]; }
std::string_view name_of(Engine engine) { return kEngineNames[static_cast<size_t>(engine)]; }

std::span<const Field<Instruction>> instruction_fields() { return kInstructionFields; }
std::span<const Field<MicroOp>> micro_op_fields() { return kMicroOpFields; }

Result<Layout> Layout::make(const Params& params, Diagnostics& diagnostics) {
  if (!check_params(params, diagnostics)) return kReported;
  Layout layout;
  layout.params_ = params;
  const size_t before = diagnostics.errors();
  for (int k = 0; k < kOpcodes; k++) {
    const auto opcode = static_cast<Opcode>(k);
    int bits = 0;
    for (const Field<Instruction>& field : kInstructionFields) {
      if (!field.in(opcode)) continue;
      if (place(field, params, kInstructionBits, bits, layout.instructions_[static_cast<size_t>(k)]))
        continue;
      no_room(diagnostics, cat("`", name_of(opcode), "`"), field.name, bits, kInstructionBits);
      break;
    }
  }
  int bits = 0;
  for (const Field<MicroOp>& field : kMicroOpFields) {
    if (place(field, params, kMicroOpBits, bits, layout.micro_op_)) continue;
    no_room(diagnostics, "micro-ops", field.name, bits, kMicroOpBits);
    break;
  }
  for (const Memory memory : kScratchpads) {
    if (params.log_depth(memory) > kSramBits)
      diagnostics.error(Span::none(), "vta-parameters",
                        cat("these parameters have no instructions: the field `sram_base` has ", kSramBits,
                            " bits, and the scratchpad of `", name_of(memory), "` has 2^",
                            params.log_depth(memory), " elements"));
  }
  if (diagnostics.errors() > before) return kReported;
  return layout;
}

}  // namespace relay::vta
