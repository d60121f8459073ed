// What a compiler's assembly says of a source: its instructions, and the line that each one comes from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relay::tools {

struct AssemblyLine {
  std::string text;        // an instruction, indented, or a label
  size_t source_line = 0;  // from 1; 0 if debug information names none of that file
};

// The instructions and labels of the functions in an assembler's text. Directives, data and labels that nothing mentions
// are left out. `source` is the name of the file that lines are of. What was inlined counts as of the line that it was
// inlined into, where the compiler says so in its comments, as Clang does.
std::vector<AssemblyLine> parse_assembly(std::string_view text, std::string_view source);

}  // namespace relay::tools
