// Other programs, run as a shell runs them: their exit code, and what they say on which stream.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace relay::tests {

enum class Output {
  kRead,    // kept
  kClosed,  // the program starts without it
  kGone,    // a pipe that nobody reads
  kFull,    // a device that takes nothing
};

struct Invocation {
  std::vector<std::string> command;                     // the first is a path
  std::string folder;                                   // where it runs; empty: here
  std::map<std::string, std::string> environment = {};  // added to ours
  Output output = Output::kRead;                        // where standard output goes
  bool no_input = false;                                // standard input is closed, not merely empty
  std::string input = {};                               // what stands on standard input, at most 64 KiB
  uint64_t memory = 0, file_bytes = 0;                  // limits of the process; 0: none
  int seconds = 60;                                     // that it may take
};

struct Ended {
  int exit_code = -1;  // -1: a signal ended it
  int signal = 0;
  std::string out, err;
  uint64_t most_memory = 0;  // bytes that the program had in memory at once, files that it maps included
};

// Throws std::runtime_error if the program does not start or takes too long.
Ended run(const Invocation& invocation);

}  // namespace relay::tests
