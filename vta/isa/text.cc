#include "vta/isa/text.h"

#include <charconv>
#include <vector>

#include "base/cat.h"
#include "base/nearest.h"

namespace relay::vta {
namespace {

constexpr std::string_view kMicroOp = "uop", kOpcode = "opcode";
constexpr std::string_view kBlanks = " \t\r";

template <class Record>
void append_field(std::string& out, const Field<Record>& field, int64_t value) {
  if (field.kind == FieldKind::kFlag) {
    if (value) out += cat(" ", field.name);
  } else if (field.kind == FieldKind::kName) {
    const auto at = static_cast<size_t>(value);
    out += cat(" ", field.name, "=");
    out += at < field.names.size() ? std::string(field.names[at]) : cat(value);
  } else if (value) {
    out += cat(" ", field.name, "=", value);
  }
}

// A word of a line, with its place in the file.
struct Token {
  std::string_view text;
  Span span;
};

std::optional<int64_t> number_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  int64_t value = 0;
  if (text.starts_with('-')) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? -value : value;
}

// Part of a token: `begin` and `length` count from its begin.
Span part(const Token& token, size_t begin, size_t length) {
  const auto first = static_cast<uint32_t>(token.span.begin + begin);
  return {token.span.file, first, static_cast<uint32_t>(first + length)};
}

template <class Record>
class LineReader {
 public:
  LineReader(std::string_view what, std::span<const Placed<Record>> fields, Diagnostics& d)
      : what_(what), fields_(fields), d_(d) {}

  // The fields that follow the first word.
  void read(std::span<const Token> tokens, Record& record) {
    std::vector<const Token*> seen(fields_.size(), nullptr);
    for (const Token& token : tokens) {
      const size_t equals = std::min(token.text.find('='), token.text.size());
      const std::string_view name = token.text.substr(0, equals);
      const Placed<Record>* at = find(name);
      if (!at) {
        d_.error(part(token, 0, name.size()), "vta-text",
                 no_such(cat("field of `", what_, "`"), name, names()));
        continue;
      }
      const Token*& before = seen[static_cast<size_t>(at - fields_.data())];
      if (before) {
        d_.error(token.span, "vta-text", cat("`", name, "` is written twice")).label(before->span, "first");
        continue;
      }
      before = &token;
      value(token, equals, *at, record);
    }
  }

 private:
  const Placed<Record>* find(std::string_view name) const {
    for (const Placed<Record>& at : fields_) {
      if (at.field->name == name && name != kOpcode) return &at;
    }
    return nullptr;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const Placed<Record>& at : fields_) {
      if (at.field->name != kOpcode) out.emplace_back(at.field->name);
    }
    return out;
  }

  void value(const Token& token, size_t equals, const Placed<Record>& at, Record& record) {
    const Field<Record>& field = *at.field;
    const bool has_value = equals + 1 < token.text.size();
    if (field.kind == FieldKind::kFlag) {
      if (equals == token.text.size()) return field.set(record, 1);
      d_.error(part(token, equals, token.text.size() - equals), "vta-text",
               cat("`", field.name, "` is a flag: it has no value"));
      return;
    }
    if (!has_value) {
      d_.error(token.span, "vta-text", cat("`", field.name, "` needs a value: `", field.name, "=...`"));
      return;
    }
    const std::string_view text = token.text.substr(equals + 1);
    const Span place = part(token, equals + 1, text.size());
    if (field.kind == FieldKind::kName) return named(text, place, field, record);
    const std::optional<int64_t> number = number_of(text);
    if (!number) {
      d_.error(place, "vta-text", cat("`", text, "` is not a number of 64 bits"));
    } else if (*number < at.least() || *number > at.most()) {
      d_.error(place, "vta-text",
               cat("`", field.name, "` has ", at.width, " bits: ", at.least(), " to ", at.most(),
                   ", and not ", *number));
    } else {
      field.set(record, *number);
    }
  }

  void named(std::string_view text, Span place, const Field<Record>& field, Record& record) {
    for (size_t i = 0; i < field.names.size(); i++) {
      if (field.names[i] == text) return field.set(record, static_cast<int64_t>(i));
    }
    const std::vector<std::string> all(field.names.begin(), field.names.end());
    d_.error(place, "vta-text", no_such(cat("value of `", field.name, "`"), text, all));
  }

  std::string_view what_;
  std::span<const Placed<Record>> fields_;
  Diagnostics& d_;
};

// Of the line [begin, end), without its comment. Linear: nothing is looked for behind the line.
std::vector<Token> tokens_of(std::string_view text, uint32_t file, size_t begin, size_t end) {
  std::vector<Token> out;
  text = text.substr(0, end);
  text = text.substr(0, text.find('#', begin));
  while (true) {
    begin = text.find_first_not_of(kBlanks, begin);
    if (begin == std::string_view::npos) return out;
    const size_t stop = std::min(text.find_first_of(kBlanks, begin), text.size());
    out.push_back({text.substr(begin, stop - begin),
                   {file, static_cast<uint32_t>(begin), static_cast<uint32_t>(stop)}});
    begin = stop;
  }
}

std::optional<Opcode> opcode_of(std::string_view name) {
  for (int k = 0; k < kOpcodes; k++) {
    if (name_of(static_cast<Opcode>(k)) == name) return static_cast<Opcode>(k);
  }
  return std::nullopt;
}

void no_such_line(const Token& first, Diagnostics& d) {
  std::vector<std::string> all = {std::string(kMicroOp)};
  for (int k = 0; k < kOpcodes; k++) all.emplace_back(name_of(static_cast<Opcode>(k)));
  d.error(first.span, "vta-text", no_such("instruction", first.text, all));
}

}  // namespace

Result<Stream> assemble(const Layout& layout, const SourceMap& sources, uint32_t file, Diagnostics& d) {
  const std::string_view text = sources.text(file);
  const size_t before = d.errors();
  Stream out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::vector<Token> tokens = tokens_of(text, file, begin, end);
    begin = end + 1;
    if (tokens.empty()) continue;
    const Token& first = tokens[0];
    const std::span<const Token> rest = std::span(tokens).subspan(1);
    if (first.text == kMicroOp) {
      LineReader<MicroOp>(kMicroOp, layout.micro_op(), d).read(rest, out.micro_ops.emplace_back());
    } else if (const std::optional<Opcode> opcode = opcode_of(first.text)) {
      Instruction& one = out.instructions.emplace_back();
      one.opcode = *opcode;
      LineReader<Instruction>(first.text, layout.fields(*opcode), d).read(rest, one);
    } else {
      no_such_line(first, d);
    }
  }
  if (d.errors() > before) return kReported;
  return out;
}

std::string disassemble(const Instruction& instruction) {
  const auto opcode = static_cast<int>(instruction.opcode);
  if (opcode >= kOpcodes) return cat("opcode=", opcode);
  std::string out(name_of(instruction.opcode));
  for (const Field<Instruction>& field : instruction_fields()) {
    if (field.in(instruction.opcode) && field.name != kOpcode)
      append_field(out, field, field.get(instruction));
  }
  return out;
}

std::string disassemble(const MicroOp& micro_op) {
  std::string out(kMicroOp);
  for (const Field<MicroOp>& field : micro_op_fields()) append_field(out, field, field.get(micro_op));
  return out;
}

std::string disassemble(const Stream& stream) {
  std::string out;
  for (const Instruction& one : stream.instructions) out += disassemble(one) + "\n";
  for (const MicroOp& one : stream.micro_ops) out += disassemble(one) + "\n";
  return out;
}

}  // namespace relay::vta
