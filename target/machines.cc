#include "target/machines.h"

#include <algorithm>
#include <array>

#include "base/fields.h"

namespace relay::target {
namespace {

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;

// Of one artifact for many processors, so each is the least that those sold today have.
//  * l1: 32 KiB of data in Skylake and Zen (Intel's and AMD's optimisation manuals), more since.
//  * l2: 1 MiB in Skylake-SP and Zen 4, 2 MiB in Sapphire Rapids (the same manuals). Zen 3 has 512
//    KiB and Haswell 256 KiB: set `l2` there.
//  * l3: what a core of Skylake-SP has for itself, 1.375 MiB, and more in Zen.
//  * bytes per cycle: two loads of 32 bytes from l1, as documented for both. Those of l2 and l3 are
//    estimates for one core that reads a stream; the choice between algorithms of convolutions was
//    tuned with them.
constexpr Cache kL1{32 * kKiB, 64}, kL2{1 * kMiB, 32}, kL3{1408 * kKiB, 8};
constexpr int64_t kLine = 64;  // of every processor in the table

// Two units multiply and add: ports 0 and 1 or 5 of Skylake, pipes 0 and 1 of Zen (the optimisation
// manuals), V0 and V1 of Neoverse N1 (Arm's optimisation guide).
constexpr int64_t kProducts = 2;

// `registers`: 16 of SSE and AVX, 32 of AVX-512 (Intel's manual, volume 1, chapters 10, 14 and 15).
constexpr Cpu x86_64(Features features, int64_t vector_bytes, int64_t registers) {
  return {Isa::kX86_64, features, vector_bytes, registers, kProducts, kLine, kL1, kL2, kL3};
}
// Armv8-A: 32 registers of 128 bits (Arm's manual, chapter B1.2.1). Every such processor multiplies
// and adds in one step, and converts float16.
constexpr Cpu kNeon{Isa::kAarch64, {.fma = true, .fp16 = true}, 16, 32, kProducts, kLine, kL1, kL2, kL3};

constexpr Cpu kAvx2 = x86_64({.fma = true, .fp16 = true}, 32, 16);

// A function that asks this processor for a set. It is a macro because the compilers' builtin takes
// nothing but a literal.
#if defined(__x86_64__)
#define RELAY_IS_HERE(name) [] { return __builtin_cpu_init(), __builtin_cpu_supports(name) != 0; }
#else
#define RELAY_IS_HERE(name) [] { return false; }
#endif
constexpr std::array kSets = {
    InstructionSet{"sse2", 16, nullptr, RELAY_IS_HERE("sse2")},
    InstructionSet{"avx2", 32, nullptr, RELAY_IS_HERE("avx2")},
    InstructionSet{"avx512f", 64, nullptr, RELAY_IS_HERE("avx512f")},
    InstructionSet{"avx512bw", 64, nullptr, RELAY_IS_HERE("avx512bw")},
    InstructionSet{"avx512dq", 64, nullptr, RELAY_IS_HERE("avx512dq")},
    InstructionSet{"avx512vl", 64, nullptr, RELAY_IS_HERE("avx512vl")},
    InstructionSet{"fma", 0, &Features::fma, RELAY_IS_HERE("fma")},
    InstructionSet{"f16c", 0, &Features::fp16, nullptr},
    InstructionSet{"avx512vnni", 0, &Features::int8_dot, RELAY_IS_HERE("avx512vnni")},
    InstructionSet{"avx512bf16", 0, &Features::bf16_dot, RELAY_IS_HERE("avx512bf16")},
};
#undef RELAY_IS_HERE

// Does some set stand for each feature?
constexpr bool has_set_for_each_feature() {
  const auto has_set = [](bool Features::* feature) {
    return std::any_of(kSets.begin(), kSets.end(),
                       [&](const InstructionSet& s) { return s.feature == feature; });
  };
  return Features::kFields([&](auto... feature) { return (has_set(feature) && ...); });
}
static_assert(lists_all_fields<Features> && has_set_for_each_feature());

// What every launch has of shared memory: CUDA C++ Programming Guide, table "Technical
// Specifications per Compute Capability". The processor beside a GPU runs no kernels; servers that
// have one have AVX2.
constexpr Machine gpu(std::string_view name, std::string_view short_name, int64_t capability) {
  return {name, short_name, kAvx2, Gpu{capability, 48 * kKiB, kWarpThreads}};
}

// The parameters that published designs for boards share (`vta_config.json`): blocks of 1 x 16, and
// as much memory as the FPGA of a Pynq board holds. The processor is that of default_target();
// texts have `native` in its place.
constexpr Vta kVta{1, 16, 32 * kKiB, 32 * kKiB, 256 * kKiB, 128 * kKiB, 2};

// From Volta on, threads of a warp may part and meet again, which our kernels count on; nvcc 13
// begins with Turing.
constexpr std::array kMachines = {
    Machine{"cpu:sse2", "sse2", x86_64({}, 16, 16)},
    Machine{kUsualCpu, "avx2", kAvx2},
    Machine{"cpu:avx512", "avx512", x86_64({.fma = true, .fp16 = true}, 64, 32)},
    Machine{"cpu:avx512-vnni", "avx512-vnni", x86_64({.fma = true, .fp16 = true, .int8_dot = true}, 64, 32)},
    Machine{"cpu:avx512-bf16", "avx512-bf16",
            x86_64({.fma = true, .fp16 = true, .int8_dot = true, .bf16_dot = true}, 64, 32)},
    Machine{"aarch64:neon", "aarch64", kNeon},
    gpu("cuda:sm_75", "", 75),
    gpu("cuda:sm_80", "", 80),
    gpu("cuda:sm_86", "", 86),
    gpu("cuda:sm_87", "", 87),
    gpu("cuda:sm_89", "", 89),
    gpu(kUsualGpu, "cuda", 90),
    gpu("cuda:sm_100", "", 100),
    gpu("cuda:sm_103", "", 103),
    gpu("cuda:sm_110", "", 110),
    gpu("cuda:sm_120", "", 120),
    gpu("cuda:sm_121", "", 121),
    Machine{kUsualVta, "", kAvx2, {}, kVta},
};

}  // namespace

std::span<const Machine> machines() { return kMachines; }

std::span<const InstructionSet> instruction_sets() { return kSets; }

const Machine* find_machine(std::string_view name) {
  // `cpu:` may stand before the short name of any processor.
  std::string_view bare = name;
  if (bare.starts_with("cpu:")) bare.remove_prefix(4);
  const auto is_it = [&](const Machine& m) {
    return m.name == name || (!m.short_name.empty() && m.short_name == (m.is_processor() ? bare : name));
  };
  const auto* found = std::find_if(kMachines.begin(), kMachines.end(), is_it);
  return found == kMachines.end() ? nullptr : found;
}

}  // namespace relay::target
