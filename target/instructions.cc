#include "target/instructions.h"

#include "base/cat.h"
#include "base/check.h"
#include "target/machines.h"

namespace relay::target {
namespace {

std::vector<InstructionSet> x86_sets(const Cpu& cpu) {
  std::vector<InstructionSet> out;
  bool has_vectors = false;
  for (const InstructionSet& s : instruction_sets()) {
    const bool by_length = s.vector_bytes == cpu.vector_bytes;
    has_vectors |= by_length;
    if (by_length || (s.feature && cpu.features.*s.feature)) out.push_back(s);
  }
  CHECK(has_vectors, cat("vectors of ", cpu.vector_bytes, " bytes"));
  return out;
}

// Without being told, compilers keep to half of the longest registers.
std::string preferred_bits(const Cpu& cpu) { return cpu.vector_bytes == 64 ? "512" : ""; }

}  // namespace

std::vector<std::string> compiler_flags(const Cpu& cpu) {
  if (cpu.isa == Isa::kAarch64) return {"-march=armv8-a"};
  std::vector<std::string> out;
  for (const InstructionSet& s : x86_sets(cpu)) out.push_back(cat("-m", s.name));
  if (const std::string bits = preferred_bits(cpu); !bits.empty())
    out.push_back(cat("-mprefer-vector-width=", bits));
  return out;
}

LlvmNames llvm_names(const Cpu& cpu) {
  if (cpu.isa == Isa::kAarch64) return {"aarch64-unknown-linux-gnu", "generic", "+neon", {}};
  const std::string features =
      join(x86_sets(cpu), ",", [](const InstructionSet& s) { return cat("+", s.name); });
  return {"x86_64-unknown-linux-gnu", "x86-64", features, preferred_bits(cpu)};
}

std::vector<std::string> needs(const Cpu& cpu) {
  std::vector<std::string> out;
  if (cpu.isa != Isa::kX86_64) return out;
  for (const InstructionSet& s : x86_sets(cpu)) {
    if (s.is_here) out.emplace_back(s.name);
  }
  return out;
}

std::string machine_name(Isa isa) { return isa == Isa::kAarch64 ? "aarch64-linux-gnu" : "x86_64-linux-gnu"; }

}  // namespace relay::target
