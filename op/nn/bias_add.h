// The attributes of nn.bias_add.
#pragma once

#include "op/define.h"

namespace relay::op {

struct BiasAddAttrs {
  int64_t axis = 1;
  static constexpr auto kFields = fields(field("axis", &BiasAddAttrs::axis, "along which the bias lies"));
};

}  // namespace relay::op
