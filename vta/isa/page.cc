#include "vta/isa/page.h"

#include "base/cat.h"
#include "vta/isa/fields.h"

namespace relay::vta {
namespace {

std::string width_text(const Width& width) {
  if (!width.index) return cat(width.bits);
  return cat(width.bits ? cat(width.bits, " + ") : "", "index of `", name_of(*width.index), "`");
}

template <class Record>
std::string doc_of(const Field<Record>& field) {
  if (field.names.empty()) return std::string(field.doc);
  size_t value = 0;
  return cat(field.doc, ": ",
             join(field.names, ", ", [&](std::string_view name) { return cat("`", name, "` ", value++); }));
}

template <class Record>
std::string bits_of(const Placed<Record>& at) {
  return at.width == 1 ? cat(at.first) : cat(at.first, "-", at.first + at.width - 1);
}

// Where instructions of the opcode have the field; empty if they have it not.
std::string place_in(const Layout& layout, Opcode opcode, const Field<Instruction>& field) {
  for (const Placed<Instruction>& at : layout.fields(opcode)) {
    if (at.field == &field) return bits_of(at);
  }
  return "";
}

}  // namespace

std::string field_tables() {
  Diagnostics d;
  const Result<Layout> layout = Layout::make({}, d);
  std::string out = "Instructions, 128 bits:\n\n| field | width |";
  constexpr Opcode kShown[] = {Opcode::kLoad, Opcode::kStore, Opcode::kGemm, Opcode::kAlu, Opcode::kFinish};
  for (const Opcode opcode : kShown) out += cat(" `", name_of(opcode), "` |");
  out += " meaning |\n|---|---|---|---|---|---|---|---|\n";
  for (const Field<Instruction>& field : instruction_fields()) {
    out += cat("| `", field.name, "` | ", width_text(field.width), " |");
    for (const Opcode opcode : kShown) {
      const std::string place = place_in(*layout, opcode, field);
      out += place.empty() ? " |" : cat(" ", place, " |");
    }
    out += cat(" ", doc_of(field), " |\n");
  }
  out += "\nMicro-ops, 32 bits:\n\n| field | width | bits | meaning |\n|---|---|---|---|\n";
  for (const Placed<MicroOp>& at : layout->micro_op())
    out += markdown_row(
        {cat("`", at.field->name, "`"), width_text(at.field->width), bits_of(at), at.field->doc});
  out +=
      "\nParameters, each a logarithm to base 2:\n\n| key | default | range | of what |\n|---|---|---|---|\n";
  return out + number_table(param_rows(), Params());
}

std::string markdown_row(std::initializer_list<std::string_view> cells) {
  return cat("| ", join(cells, " | "), " |\n");
}

std::string with_part(std::string_view page, std::string_view part, std::string_view text) {
  const std::string first = cat("<!-- begin ", part, " -->\n"), last = cat("<!-- end ", part, " -->\n");
  const size_t begin = page.find(first), end = page.find(last);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "";
  return cat(page.substr(0, begin + first.size()), "\n", text, "\n", page.substr(end));
}

}  // namespace relay::vta
