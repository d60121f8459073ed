// The attributes of nn.batch_norm.
#pragma once

#include "op/define.h"

namespace relay::op {

struct BatchNormAttrs {
  int64_t axis = 1;
  double epsilon = 1e-5;
  bool center = true;
  bool scale = true;
  static constexpr auto kFields =
      fields(field("axis", &BatchNormAttrs::axis, "of the channels"),
             field("epsilon", &BatchNormAttrs::epsilon, "is added to the variance"),
             field("center", &BatchNormAttrs::center, "add beta; else it is ignored"),
             field("scale", &BatchNormAttrs::scale, "multiply by gamma; else it is ignored"));
};

}  // namespace relay::op
