// The instruction sets of a processor, as those who make and run code call them.
#pragma once

#include <string>
#include <vector>

#include "target/target.h"

namespace relay::target {

// For g++ and clang++: "-mavx2".
std::vector<std::string> compiler_flags(const Cpu& cpu);

// For LLVM: the machine, and its features one by one, as the C++ compiler is told them.
struct LlvmNames {
  std::string triple, processor, features;
  std::string vector_width;  // bits that code shall prefer; empty: LLVM's own choice
};
LlvmNames llvm_names(const Cpu& cpu);

// What code for it needs of the processor that runs it, as __builtin_cpu_supports knows them. Empty
// if every processor of the instruction set runs it.
std::vector<std::string> needs(const Cpu& cpu);

// Debian's name of the machine, which is in front of its cross compilers: "aarch64-linux-gnu".
std::string machine_name(Isa isa);

}  // namespace relay::target
