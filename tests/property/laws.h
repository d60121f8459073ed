// Laws: what must hold of every program.
//
// A law looks at one generated program and says how it is broken, or nothing. The bytes are all it depends on.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "tests/property/generate.h"

namespace relay::property {

// What the programs were like, so that a law cannot come to look at nothing unnoticed.
using Tally = std::map<std::string, uint64_t>;

struct Law {
  std::string_view name, doc;
  // How the program is broken; empty if it is not.
  std::string (*broken)(const Program& p, ByteSource choices, Tally& tally);
  uint32_t programs;  // how many the ordinary suite looks at
  uint32_t nightly;
  GenerateOptions options = {};
  // Out of 100 programs, at least so many must count as this. What is not counted was not tested.
  std::string_view counts = {};
  uint32_t share = 0;
  bool compiles = false;  // asks a C++ compiler
};

std::span<const Law> laws();
const Law* find_law(std::string_view name);

// Generates the program of the bytes and asks the law. Choices of the law's own come from the bytes' other end.
std::string broken(const Law& law, const Bytes& bytes, Tally& tally);

// The program and its arguments, for people.
std::string show(const Program& p);

}  // namespace relay::property
