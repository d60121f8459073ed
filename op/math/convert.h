// The attributes of cast and clip.
#pragma once

#include "op/define.h"

namespace relay::op {

struct CastAttrs {
  DType dtype;
  static constexpr auto kFields = fields(field("dtype", &CastAttrs::dtype, "of the result").required());
};

// If `a_min` is above `a_max`, the result is `a_max`.
struct ClipAttrs {
  double a_min = 0, a_max = 0;
  static constexpr auto kFields = fields(field("a_min", &ClipAttrs::a_min, "the least result").required(),
                                         field("a_max", &ClipAttrs::a_max, "the largest result").required());
};

}  // namespace relay::op
