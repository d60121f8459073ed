#include "target/host.h"

#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "target/instructions.h"

namespace relay::target {
namespace {

#if defined(__x86_64__)
// By name, because the compilers' builtin takes nothing but a literal.
bool has(std::string_view name) {
  __builtin_cpu_init();
  const std::pair<std::string_view, bool> known[] = {{"sse2", __builtin_cpu_supports("sse2")},
                                                     {"avx2", __builtin_cpu_supports("avx2")},
                                                     {"fma", __builtin_cpu_supports("fma")},
                                                     {"avx512f", __builtin_cpu_supports("avx512f")},
                                                     {"avx512bw", __builtin_cpu_supports("avx512bw")},
                                                     {"avx512dq", __builtin_cpu_supports("avx512dq")},
                                                     {"avx512vl", __builtin_cpu_supports("avx512vl")},
                                                     {"avx512vnni", __builtin_cpu_supports("avx512vnni")},
                                                     {"avx512bf16", __builtin_cpu_supports("avx512bf16")}};
  const auto is_it = [&](const auto& feature) { return feature.first == name; };
  const auto* found = std::find_if(std::begin(known), std::end(known), is_it);
  return found != std::end(known) && found->second;
}
#else
bool has(std::string_view) { return false; }
#endif

}  // namespace

std::string first_missing(std::span<const std::string> needs) {
  const auto missing = std::find_if(needs.begin(), needs.end(), [](const std::string& n) { return !has(n); });
  return missing == needs.end() ? std::string() : *missing;
}

std::string cannot_run(const Target& target) {
  if (target.gpu) return cat("`", target.text, "` is a GPU, and this engine runs on processors");
  if (target.cpu.isa != kHere)
    return cat("this is no ", target.cpu.isa == Isa::kAarch64 ? "aarch64" : "x86-64", " machine, as `",
               target.text, "` needs: `relay compile` makes code for it");
  const std::vector<std::string> needed = needs(target.cpu);
  const std::string missing = first_missing(needed);
  return missing.empty()
             ? missing
             : cat("this processor has no ", missing, ", which the target `", target.text, "` needs");
}

}  // namespace relay::target
