// What passes promise of their results, beside that these mean the same: the `After` at the heads
// of their files, as conditions that the laws ask.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace relay::property {

// How many tensors a concatenation has after the `split-args` of the laws.
inline constexpr int kMostArgs = 2;

// The first place where the pass, which made `after` of `before`, does not keep its promise, and
// how. Empty if it keeps it, or promises nothing that is asked here.
std::string broken_promise(std::string_view pass, const Module& before, const Module& after);

// The passes of which something is asked here.
std::vector<std::string_view> passes_with_promises();

// Does the pass promise that it finds nothing to do in its own result?
bool settles(std::string_view pass);

}  // namespace relay::property
