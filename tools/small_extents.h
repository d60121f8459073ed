// The search for small extents that a model takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace relay::tools {

// How well extents fit a model. With some it type-checks, but nothing comes out.
enum class Fit { kNone, kEmptyResult, kGood };

// The first `count` extents that fit, one a variable: all 1, else small ones, each as small as the
// others allow. Extents with an empty result are taken if there are no better ones. Calls `fit` at
// most `tries` times, always in the same order. Nothing if none fit.
std::optional<std::vector<int64_t>> small_extents(size_t count, size_t tries,
                                                  const std::function<Fit(const std::vector<int64_t>&)>& fit);

}  // namespace relay::tools
