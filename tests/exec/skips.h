// skips.txt: how many calls of a file an engine skips, or takes if it is for a device of its own.
//
// A line is "graph tests/exec/lang/if.relay 5", which is about every level, or "graph
// tests/exec/lang/if.relay 7 -O0", which is about one level and holds there in place of the other.
// Where there is no line, an engine skips (takes) nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace relay::tests {

// How many calls the list expects. `level`: none for an engine that has no levels.
size_t listed_skips(const std::string& engine, const std::string& path, std::optional<int> level);

// The line that the list needs for this count: about every level if it is about -O2.
std::string skips_line(const std::string& engine, const std::string& path, std::optional<int> level,
                       size_t count);

// What is wrong with the list by itself, a line for each fault: no such engine or file, a line that
// says nothing. Empty if nothing is.
std::string faults_of_skips();

}  // namespace relay::tests
