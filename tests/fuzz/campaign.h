// A campaign: mutations are read in a child process, so that one that ends the child, or does not
// end, is known by its number, and the rest goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/readers.h"

namespace relay::fuzz {

struct Finding {
  uint64_t index = 0;
  std::string what;   // "it was ended by Aborted", "it took more than 2 s"
  std::string bytes;  // the input
};

struct Tally {
  uint64_t done = 0, accepted = 0, refused = 0, trapped = 0, not_run = 0, exhausted = 0;
  uint64_t repeated = 0;  // findings that say what another one says
  double seconds = 0;
  double slowest = 0;  // processor time of the slowest input in seconds, and which one it is
  uint64_t slowest_index = 0;
  std::vector<Finding> findings;

  void add(const Tally& other);
};

using Deadline = std::chrono::steady_clock::time_point;

// Reads mutations first, first + 1, ... until `count` are done, it is `end`, or there are more
// different findings than anybody wants to read.
Tally run_campaign(const Reader& reader, uint64_t seed, uint64_t first, uint64_t count, Deadline end,
                   const InputLimits& limits = {});
inline constexpr size_t kMostFindings = 20;

// What is wrong when the reader gets these bytes; empty if all is well. What the reader prints is
// shown or dropped.
std::string replay(const Reader& reader, const std::string& bytes, bool show, const InputLimits& limits = {});

// A smaller input with which the same goes wrong: parts are left out as long as there is time.
std::string shrink(const Reader& reader, const Finding& finding, std::chrono::seconds most,
                   const InputLimits& limits = {});

}  // namespace relay::fuzz
