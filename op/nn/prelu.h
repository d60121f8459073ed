// The attributes of nn.prelu.
#pragma once

#include "op/define.h"

namespace relay::op {

struct PReluAttrs {
  int64_t axis = 1;
  static constexpr auto kFields = fields(field("axis", &PReluAttrs::axis, "along which alpha lies"));
};

}  // namespace relay::op
