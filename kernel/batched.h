// The batched kernel of another: one that does many of its calls at once.
//
// Weights that are read for one call serve all of them, so products of a matrix and a vector become
// products of matrices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

// Inputs of so many bytes are weights: the same for all calls that are made at once. Smaller ones
// are copied side by side.
inline constexpr int64_t kWeightBytes = 16 * 1024;
bool is_weight(const Buffer& b);

// Input i has a leading dim, the number of calls, where `varies[i]`; others are the same for all
// calls. Outputs have it, and temporaries that depend on what varies. `k` is as Builder wrote it
// and not yet scheduled.
Kernel batched(ExprPool& pool, const Kernel& k, const std::vector<bool>& varies, std::string_view name);

// Why `many` cannot be what does calls of `one` at once, by what they take and give;
// empty if it can.
std::string cannot_batch(const Kernel& one, const Kernel& many);
// Does input i of what `cannot_batch` says nothing of have the leading dim?
bool varies(const Kernel& one, const Kernel& many, size_t i);
// Do the calls share weights, which is what makes it worth to put one off until there are others?
bool share_weights(const Kernel& one, const Kernel& many);

}  // namespace relay::kernel
