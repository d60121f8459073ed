// User kernels, for the extents that their calls give them.
//
// A kernel of the program may be generic in its extents. Where a call has constant ones, what
// compiles the program wants them in the code: plans of constant shapes have no others, and loops
// of constant length are unrolled.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/context.h"
#include "ir/expr.h"
#include "kernel/kernel.h"

namespace relay::analysis {

// The values of the kernel's shape variables at the call, in the order of `shape_parameters`;
// nothing if they are not constant or contradict one another, which the run has to find out.
std::optional<std::vector<int64_t>> extents_at(const Call& call, const kernel::Kernel& k);

// The kernel's shape variables in terms of the extents that arguments of these types have; nothing
// unless these are proved to be such as the kernel asks for.
using GivenExtents = std::unordered_map<const kernel::ExprNode*, kernel::Expr>;
std::optional<GivenExtents> given_extents(Context& context, std::span<const Type> args,
                                          const kernel::Kernel& k);

// Are they proved so for the arguments of the call? If not, the run compares them.
bool extents_fit(Context& context, const Call& call, const kernel::Kernel& k);

// The type of what the kernel gives, where it reads no extents.
Type result_of(Context& context, const kernel::Kernel& k, const GivenExtents& extents);

// The kernel with these values in the place of its shape variables, under another name.
const kernel::Kernel* with_extents(Context& context, const kernel::Kernel& k,
                                   const std::vector<int64_t>& extents, std::string_view name);

}  // namespace relay::analysis
