// Laws: what must hold of every program.
//
// A law looks at one generated program and says how it is broken, or nothing. The bytes are
// all it depends on.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/property/generate.h"

namespace relay::property {

// What the programs were like, so that a law cannot come to look at nothing unnoticed.
using Tally = std::map<std::string, uint64_t>;

// A program that a law is asked of. Choices of the law's own come from the other end of the
// program's bytes.
struct Asked {
  Program program;
  ByteSource choices;
};

// Out of 100 programs, no more may count as this.
struct AtMost {
  std::string_view what;
  uint32_t share;
};

struct Law {
  std::string_view name, doc;
  // How the program is broken; empty if it is not. Null for a law that is asked of many
  // programs at once.
  std::string (*broken)(const Program& p, ByteSource choices, Tally& tally);
  uint32_t programs;  // how many the ordinary suite looks at
  uint32_t nightly;
  GenerateOptions options = {};
  // Out of 100 programs, at least so many must count as this. What is not counted was not tested.
  std::string_view counts = {};
  uint32_t share = 0;
  bool compiles = false;  // asks a C++ compiler
  // Each of these must have been counted kLeastDemanded times, or more.
  std::vector<std::string> (*demands)() = nullptr;
  // How each of the programs is broken: of laws that compile many programs at once. The answer
  // about a program must not depend on the others.
  std::vector<std::string> (*broken_together)(std::span<Asked> asked, Tally& tally) = nullptr;
  std::span<const AtMost> at_most = {};
};

// What was counted less often would be lost unnoticed by the next change of the generator.
inline constexpr uint64_t kLeastDemanded = 5;

// How many programs a law is asked of at once, if it can be.
inline constexpr uint64_t kTogether = 40;

std::span<const Law> laws();
const Law* find_law(std::string_view name);

// Generates the program of the bytes and asks the law.
std::string broken(const Law& law, const Bytes& bytes, Tally& tally);
// The same for several programs; at once, if the law can do that.
std::vector<std::string> broken(const Law& law, std::span<const Bytes> bytes, Tally& tally);

// The program and its arguments, for people.
std::string show(const Program& p);

}  // namespace relay::property
