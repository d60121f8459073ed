#include "vta/isa/encode.h"

#include <array>
#include <type_traits>

#include "base/cat.h"

namespace relay::vta {
namespace {

constexpr uint64_t mask(int width) { return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }

// The half of the word that has the bit, and where in it: no field crosses.
uint64_t& half(Word& word, int bit) { return bit < 64 ? word.low : word.high; }

template <class Record>
std::string misfit(const Placed<Record>& at, int64_t value) {
  if (at.field->kind == FieldKind::kName) return cat("`", at.field->name, "` has no value ", value);
  return cat("`", at.field->name, "` is ", value, ", and its ", at.width, " bits hold ", at.least(), " to ",
             at.most());
}

template <class Record>
bool put(std::span<const Placed<Record>> fields, const Record& record, Word& word, std::string& wrong) {
  for (const Placed<Record>& at : fields) {
    const int64_t value = at.field->get(record);
    if (value < at.least() || value > at.most()) {
      wrong = misfit(at, value);
      return false;
    }
    half(word, at.first) |= (static_cast<uint64_t>(value) & mask(at.width)) << (at.first % 64);
  }
  return true;
}

template <class Record>
bool take(std::span<const Placed<Record>> fields, Word word, Record& record, std::string& wrong) {
  Word rest = word;
  for (const Placed<Record>& at : fields) {
    const uint64_t bits = half(word, at.first) >> (at.first % 64) & mask(at.width);
    half(rest, at.first) &= ~(mask(at.width) << (at.first % 64));
    auto value = static_cast<int64_t>(bits);
    if (at.field->kind == FieldKind::kSigned && value > at.most()) value -= int64_t{1} << at.width;
    if (value > at.most()) {
      wrong = misfit(at, value);
      return false;
    }
    at.field->set(record, value);
  }
  if (rest == Word{}) return true;
  const int bit = rest.low ? __builtin_ctzll(rest.low) : 64 + __builtin_ctzll(rest.high);
  wrong = cat("bit ", bit, " is set, and no field has it");
  return false;
}

uint64_t little_endian(std::span<const uint8_t> bytes) {
  uint64_t out = 0;
  for (size_t i = 0; i < bytes.size(); i++) out |= uint64_t{bytes[i]} << (8 * i);
  return out;
}

void append(std::vector<uint8_t>& out, uint64_t bits, int bytes) {
  for (int i = 0; i < bytes; i++) out.push_back(static_cast<uint8_t>(bits >> (8 * i)));
}

void append(std::vector<uint8_t>& out, Word word) {
  append(out, word.low, 8);
  append(out, word.high, 8);
}
void append(std::vector<uint8_t>& out, uint32_t word) { append(out, word, kMicroOpBytes); }

void report(Diagnostics& d, std::string_view what, size_t index, std::string_view wrong) {
  d.error(Span::none(), "vta-instruction", cat(what, " ", index, ": ", wrong));
}

template <class Record>
Result<std::vector<uint8_t>> encode_all(const Layout& layout, std::span<const Record> all,
                                        std::string_view what, Diagnostics& d) {
  std::vector<uint8_t> out;
  for (size_t i = 0; i < all.size(); i++) {
    std::string wrong;
    const auto word = encode(layout, all[i], wrong);
    if (!word) {
      report(d, what, i, wrong);
      return kReported;
    }
    append(out, *word);
  }
  return out;
}

// `read` makes the word of its bytes.
template <class Record, size_t kBytes>
Result<std::vector<Record>> decode_all(const Layout& layout, std::span<const uint8_t> bytes,
                                       std::string_view what, auto read, Diagnostics& d) {
  std::vector<Record> out;
  for (size_t at = 0; at < bytes.size(); at += kBytes) {
    std::string wrong;
    std::optional<Record> one;
    if (bytes.size() - at < kBytes) {
      wrong = cat("it has ", bytes.size() - at, " bytes of ", kBytes);
    } else {
      one = decode(layout, read(bytes.subspan(at, kBytes)), wrong);
    }
    if (!one) {
      report(d, what, at / kBytes, wrong);
      return kReported;
    }
    out.push_back(*one);
  }
  return out;
}

}  // namespace

std::optional<Word> encode(const Layout& layout, const Instruction& instruction, std::string& wrong) {
  if (static_cast<int>(instruction.opcode) >= kOpcodes) {
    wrong = cat("`opcode` has no value ", static_cast<int>(instruction.opcode));
    return std::nullopt;
  }
  Word word;
  if (!put(layout.fields(instruction.opcode), instruction, word, wrong)) return std::nullopt;
  // Fields that this opcode has not would be lost.
  for (const Field<Instruction>& field : instruction_fields()) {
    if (field.in(instruction.opcode) || field.get(instruction) == 0) continue;
    bool twin = false;  // a row of the same name that it has
    for (const Placed<Instruction>& at : layout.fields(instruction.opcode))
      twin |= at.field->name == field.name;
    if (twin) continue;
    wrong = cat("`", name_of(instruction.opcode), "` has no field `", field.name, "`, which is ",
                field.get(instruction));
    return std::nullopt;
  }
  return word;
}

std::optional<Instruction> decode(const Layout& layout, Word word, std::string& wrong) {
  const auto opcode = static_cast<int>(word.low & 7);
  if (opcode >= kOpcodes) {
    wrong = cat("`opcode` has no value ", opcode);
    return std::nullopt;
  }
  Instruction out;
  if (!take(layout.fields(static_cast<Opcode>(opcode)), word, out, wrong)) return std::nullopt;
  return out;
}

std::optional<uint32_t> encode(const Layout& layout, const MicroOp& micro_op, std::string& wrong) {
  Word word;
  if (!put(layout.micro_op(), micro_op, word, wrong)) return std::nullopt;
  return static_cast<uint32_t>(word.low);
}

std::optional<MicroOp> decode(const Layout& layout, uint32_t word, std::string& wrong) {
  MicroOp out;
  if (!take(layout.micro_op(), Word{word, 0}, out, wrong)) return std::nullopt;
  return out;
}

Word word_of(std::span<const uint8_t> bytes) {
  return {little_endian(bytes.first(8)), little_endian(bytes.subspan(8, 8))};
}
uint32_t micro_op_word_of(std::span<const uint8_t> bytes) {
  return static_cast<uint32_t>(little_endian(bytes.first(kMicroOpBytes)));
}

Result<std::vector<uint8_t>> encode(const Layout& layout, std::span<const Instruction> all, Diagnostics& d) {
  return encode_all(layout, all, "instruction", d);
}
Result<std::vector<uint8_t>> encode(const Layout& layout, std::span<const MicroOp> all, Diagnostics& d) {
  return encode_all(layout, all, "micro-op", d);
}
Result<std::vector<Instruction>> decode_instructions(const Layout& layout, std::span<const uint8_t> bytes,
                                                     Diagnostics& d) {
  return decode_all<Instruction, kInstructionBytes>(layout, bytes, "instruction", word_of, d);
}
Result<std::vector<MicroOp>> decode_micro_ops(const Layout& layout, std::span<const uint8_t> bytes,
                                              Diagnostics& d) {
  return decode_all<MicroOp, kMicroOpBytes>(layout, bytes, "micro-op", micro_op_word_of, d);
}

}  // namespace relay::vta
