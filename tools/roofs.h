// Roofs: what this machine can do at best, measured once by `relay doctor --measure` and kept in
// the user's cache.
//
// A kernel cannot be faster than its arithmetic at the peak and its bytes at the bandwidth; how
// close it comes is its share of the roof. Numbers are the best of many short trials by the
// processor's time: whatever else the machine does only ever slows them down.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "target/target.h"

namespace relay::tools {

// 1e9 operations or bytes a second: of one core, and of all usable cores at once.
struct Rate {
  double one = 0, all = 0;
};

struct Peak {
  std::string target;     // its text: "cpu:avx2"
  std::string operation;  // "float32 multiply-add" (two operations), "int8 dot" (of each pair two)
  Rate rate;
};

// Reading a buffer of so many bytes again and again; with all cores, each its part of it.
struct Reading {
  double bytes = 0;
  Rate rate;
};

struct Roofs {
  std::string processor;  // its name: another one has other roofs
  unsigned cores = 0;     // usable when it was measured
  std::vector<Peak> peaks;
  std::vector<Reading> readings;                    // by increasing size
  double l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // as the system tells; 0: unknown
  int trials = 0;
  double disturbed = 0;  // the share of the time that others had the cores

  // 1e9 float32 operations a second of so many threads of code for a target. 0 if
  // none was measured.
  double peak(const target::Target& target, unsigned threads) const;
  // 1e9 bytes a second for what has been used before and is part of so many bytes in use: a bound,
  // never an estimate from below.
  double bandwidth(double bytes, unsigned threads) const;
};

// Takes some seconds. Returns what is wrong (no compiler), or an empty text.
[[nodiscard]] std::string measure_roofs(Roofs& out, const std::function<void(std::string_view)>& progress);

std::string roofs_file();  // empty if there is no place for it
[[nodiscard]] std::string save_roofs(const Roofs& roofs);
// What is wrong: not measured, unreadable, of another processor or other cores; says what to do.
[[nodiscard]] std::string load_roofs(Roofs& out);

// For people: a table. As JSON: what the file holds.
std::string show(const Roofs& roofs);
std::string json_of(const Roofs& roofs);

}  // namespace relay::tools
