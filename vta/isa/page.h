// The generated part of docs/vta.md: the table of fields, and that of parameters.
#pragma once

#include <string>
#include <string_view>

namespace relay::vta {

// The lines that stand around it on the page.
inline constexpr std::string_view kPageBegin = "<!-- begin: made of vta/isa by ./dev update -->\n";
inline constexpr std::string_view kPageEnd = "<!-- end -->\n";

// Markdown: the bits that each field has with the default parameters, and why it has them.
std::string field_tables();

// The page with its generated part as it should be; empty if the lines are not there once each.
std::string page_with_tables(std::string_view page);

}  // namespace relay::vta
