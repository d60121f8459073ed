#include "target/instructions.h"

#include "base/cat.h"
#include "base/check.h"

namespace relay::target {
namespace {

// A set by its names: "-m" and the name is the compilers' flag, "+" and the name LLVM's feature.
struct InstructionSet {
  std::string_view name;
  bool asked = true;  // of the processor; false: whoever has the others has it
};

// In the order in which processors got them.
std::vector<InstructionSet> x86_sets(const Cpu& cpu) {
  std::vector<InstructionSet> out;
  switch (cpu.vector_bytes) {
    case 16: out = {{"sse2"}}; break;
    case 32: out = {{"avx2"}}; break;
    case 64: out = {{"avx512f"}, {"avx512bw"}, {"avx512dq"}, {"avx512vl"}}; break;
    default: CHECK(false, cat("vectors of ", cpu.vector_bytes, " bytes"));
  }
  if (cpu.features.fma) out.push_back({"fma"});
  if (cpu.features.fp16) out.push_back({"f16c", false});
  if (cpu.features.int8_dot) out.push_back({"avx512vnni"});
  if (cpu.features.bf16_dot) out.push_back({"avx512bf16"});
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
    if (s.asked) out.emplace_back(s.name);
  }
  return out;
}

std::string machine_name(Isa isa) { return isa == Isa::kAarch64 ? "aarch64-linux-gnu" : "x86_64-linux-gnu"; }

}  // namespace relay::target
