// The attributes of the normalisations to probabilities.
#pragma once

#include "op/define.h"

namespace relay::op {

struct SoftmaxAttrs {
  int64_t axis = -1;
  static constexpr auto kFields = fields(field("axis", &SoftmaxAttrs::axis, "from the end if negative"));
};

}  // namespace relay::op
