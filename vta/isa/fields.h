// The table of fields. Encoder, decoder, assembler, disassembler and the tables of docs/vta.md are
// loops over it.
//
// Fields fill a word from its lowest bit, in the order of the table. A field that would cross bit
// 64 begins there, as bit-fields of C do in the published declarations.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "vta/isa/instruction.h"

namespace relay::vta {

// Bits of a field: a number, or a number and those of an index into a scratchpad.
struct Width {
  int bits = 0;
  std::optional<Memory> index = {};

  int in(const Params& params) const { return bits + (index ? params.log_depth(*index) : 0); }
};

enum class FieldKind : uint8_t { kNumber, kSigned, kFlag, kName };

template <class Record>
struct Field {
  std::string_view name;
  FieldKind kind = FieldKind::kNumber;
  unsigned opcodes = 0;  // bit k: instructions of opcode k have it
  Width width = {};
  int64_t (*get)(const Record&) = nullptr;
  void (*set)(Record&, int64_t) = nullptr;
  std::string_view doc = {};
  std::span<const std::string_view> names = {};  // of the values, for kName

  bool in(Opcode opcode) const { return (opcodes >> static_cast<int>(opcode)) & 1; }
};

std::span<const Field<Instruction>> instruction_fields();
std::span<const Field<MicroOp>> micro_op_fields();

// A field with its place in the word.
template <class Record>
struct Placed {
  const Field<Record>* field = nullptr;
  int first = 0, width = 0;  // bits

  // The least and the largest value that it holds.
  int64_t least() const { return field->kind == FieldKind::kSigned ? -(int64_t{1} << (width - 1)) : 0; }
  int64_t most() const {
    if (field->kind == FieldKind::kName) return static_cast<int64_t>(field->names.size()) - 1;
    return (int64_t{1} << (field->kind == FieldKind::kSigned ? width - 1 : width)) - 1;
  }
};

inline constexpr int kInstructionBits = 128, kInstructionBytes = 16;
inline constexpr int kMicroOpBits = 32, kMicroOpBytes = 4;

// The instructions of a VTA with these parameters.
class Layout {
 public:
  // Reports "vta-parameters" if a parameter is out of its range, or if some field has no room in
  // its instruction: the message names the field.
  static Result<Layout> make(const Params& params, Diagnostics& diagnostics);

  const Params& params() const { return params_; }
  std::span<const Placed<Instruction>> fields(Opcode opcode) const {
    return instructions_[static_cast<size_t>(opcode)];
  }
  std::span<const Placed<MicroOp>> micro_op() const { return micro_op_; }

 private:
  Layout() = default;

  Params params_;
  std::array<std::vector<Placed<Instruction>>, kOpcodes> instructions_;
  std::vector<Placed<MicroOp>> micro_op_;
};

}  // namespace relay::vta
