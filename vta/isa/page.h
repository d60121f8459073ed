// The generated parts of docs/vta.md. This one has the tables of fields and of parameters.
#pragma once

#include <string>
#include <string_view>

#include "base/cat.h"
#include "vta/isa/params.h"

namespace relay::vta {

// Markdown: the bits that each field has with the default parameters, and why it has them.
std::string field_tables();

// The page with this text between its lines `<!-- begin PART -->` and `<!-- end PART -->`; empty if
// these are not there, one behind the other.
std::string with_part(std::string_view page, std::string_view part, std::string_view text);

// "| a | b |", with the end of the line.
std::string markdown_row(std::initializer_list<std::string_view> cells);
// A row for each number, with what it is in `defaults`.
template <class Record, class Number>
std::string number_table(std::span<const NumberRow<Record, Number>> rows, const Record& defaults) {
  std::string out;
  for (const auto& row : rows)
    out += markdown_row(
        {cat("`", row.key, "`"), cat(defaults.*row.member), cat(row.least, " to ", row.most), row.doc});
  return out;
}

}  // namespace relay::vta
