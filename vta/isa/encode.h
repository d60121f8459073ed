// Instructions and micro-ops as bits, and back.
//
// decode(encode(x)) == x, and encode(decode(w)) == w: what would not come back is refused. A word
// with bits that no field has is refused, too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vta/isa/fields.h"

namespace relay::vta {

// The bits of an instruction. In files and in DRAM: 16 bytes, the lowest first.
struct Word {
  uint64_t low = 0, high = 0;

  friend bool operator==(const Word&, const Word&) = default;
};

// Each function returns nullopt and says in `wrong` why, naming the field.
std::optional<Word> encode(const Layout& layout, const Instruction& instruction, std::string& wrong);
std::optional<Instruction> decode(const Layout& layout, Word word, std::string& wrong);
std::optional<uint32_t> encode(const Layout& layout, const MicroOp& micro_op, std::string& wrong);
std::optional<MicroOp> decode(const Layout& layout, uint32_t word, std::string& wrong);

// instructions.bin and uop.bin. Report "vta-instruction", with the index of what is wrong.
Result<std::vector<uint8_t>> encode(const Layout& layout, std::span<const Instruction> all, Diagnostics& d);
Result<std::vector<uint8_t>> encode(const Layout& layout, std::span<const MicroOp> all, Diagnostics& d);
Result<std::vector<Instruction>> decode_instructions(const Layout& layout, std::span<const uint8_t> bytes,
                                                     Diagnostics& d);
Result<std::vector<MicroOp>> decode_micro_ops(const Layout& layout, std::span<const uint8_t> bytes,
                                              Diagnostics& d);

// The bytes of a word, the lowest first; both have 16 or 4 of them.
Word word_of(std::span<const uint8_t> bytes);
uint32_t micro_op_word_of(std::span<const uint8_t> bytes);

}  // namespace relay::vta
