// What a plan may compute in place: an output in the memory of an input that nobody reads any more.
//
// The step that writes the output is the last one that reads the input, and its kernel replaces
// elements as it goes (kernel/in_place.h).
//  * The caller may give an output of the plan the memory of an input, which is then updated. Who
//    gives other memory notices nothing.
//  * In the workspace it saves memory. The planner does it for functions with the attribute
//    kInPlace, which `rematerialise` gives them: others keep kernels whose parameters compilers
//    know to be apart.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "passes/plan_memory.h"

namespace relay::passes {

inline constexpr std::string_view kInPlace = "InPlace";

// What kernels allow. It remembers its answers: plans call a kernel often.
class Replacements {
 public:
  // May the kernel write that output over the value? `inputs` are the values that it reads.
  bool allow(const kernel::Kernel& k, std::span<const uint32_t> inputs, uint32_t value, size_t output);

 private:
  std::map<std::tuple<const kernel::Kernel*, size_t, size_t>, bool> known_;  // input, output
};

// The pairs of the plan's inputs and outputs, by output and then by input.
std::vector<InPlacePair> find_in_place(const Plan& plan);

// The parameters of kernels that may be the same memory, by their numbers: inputs, then outputs;
// because the workspace has it so, or if callers make use of these pairs. Kernels without such
// parameters are left out.
using SharedParameters = std::map<const kernel::Kernel*, std::set<size_t>>;
SharedParameters shared_parameters(const Plan& plan, const std::vector<InPlacePair>& pairs);

}  // namespace relay::passes
