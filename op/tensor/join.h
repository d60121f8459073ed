// The attributes of concatenate.
#pragma once

#include "op/define.h"

namespace relay::op {

struct ConcatenateAttrs {
  int64_t axis = 0;
  static constexpr auto kFields = fields(field("axis", &ConcatenateAttrs::axis, "from the end if negative"));
};

}  // namespace relay::op
