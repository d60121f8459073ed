// Slices: `[0, :, 3:5]`, which elements of a tensor to look at.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/tensor.h"

namespace relay::tools::debug {

struct Slice {
  struct Axis {
    bool index = false;                  // one element: the dimension goes away
    std::optional<int64_t> first, last;  // of a range, last excluded; negative ones count from the end
    int64_t step = 1;
  };
  std::vector<Axis> axes;  // dimensions beyond them are taken whole
};

// `text` begins with `[` and ends with `]`. Throws Refused, as `apply` does for what the
// tensor does not have.
Slice parse_slice(std::string_view text);
Tensor apply(const Slice& slice, const Tensor& t);

}  // namespace relay::tools::debug
