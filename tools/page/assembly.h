// Reads a compiler's assembly: the instructions, and the line of the source that each comes from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relay::tools {

struct AssemblyLine {
  std::string text;        // an instruction, indented, or a label
  size_t source_line = 0;  // from 1; 0 if debug information names none of that file
};

// Returns the instructions and labels of the functions in an assembler's text. Directives, data,
// and labels that nothing mentions are left out. `source` is the name of the file whose lines
// count. An inlined instruction has the line that it was inlined into, if the compiler says so in
// its comments, as Clang does.
std::vector<AssemblyLine> parse_assembly(std::string_view text, std::string_view source);

}  // namespace relay::tools
