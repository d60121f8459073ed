// The generated parts of docs/vta.md. This one has the tables of fields and of parameters.
#pragma once

#include <string>
#include <string_view>

namespace relay::vta {

// Markdown: the bits that each field has with the default parameters, and why it has them.
std::string field_tables();

// The page with this text between its lines `<!-- begin PART -->` and `<!-- end PART -->`; empty if
// these are not there, one behind the other.
std::string with_part(std::string_view page, std::string_view part, std::string_view text);

// "| a | b |", with the end of the line.
std::string markdown_row(std::initializer_list<std::string_view> cells);

}  // namespace relay::vta
