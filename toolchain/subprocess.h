// Other programs, run with an argument vector: no shell ever sees a name.
#pragma once

#include <string>
#include <vector>

namespace relay::toolchain {

struct Finished {
  int exit_code = -1;   // -1: it did not start, or a signal ended it
  std::string output;   // of both streams, at most kMostOutput bytes
  std::string problem;  // why it did not start or was stopped; empty otherwise
};

inline constexpr size_t kMostOutput = size_t{1} << 20;

// Looks the program up in PATH, runs it in `folder` (empty: this one), which is then also where its
// temporary files go, and waits at most `seconds`. An interruption of this program ends it.
Finished run(const std::vector<std::string>& command, const std::string& folder, int seconds);

// All of them, at most `at_once` at a time; results in the order of the commands. As compilers take
// memory, all calls together run no more commands at a time than this process has cores.
std::vector<Finished> run_all(const std::vector<std::vector<std::string>>& commands,
                              const std::string& folder, int seconds, unsigned at_once);

// Empty if the command ended well. Else why it did not: the first lines of what it said about the
// cause, and the command as a shell takes it.
[[nodiscard]] std::string failure(const std::vector<std::string>& command, const Finished& f);

}  // namespace relay::toolchain
