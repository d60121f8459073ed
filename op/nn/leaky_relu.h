// The attributes of nn.leaky_relu.
#pragma once

#include "op/define.h"

namespace relay::op {

struct LeakyReluAttrs {
  double alpha = 0.25;
  static constexpr auto kFields =
      fields(field("alpha", &LeakyReluAttrs::alpha, "the slope for negative numbers"));
};

}  // namespace relay::op
