// The attributes of concatenate and split.
#pragma once

#include "op/define.h"
#include "op/tensor/attributes.h"

namespace relay::op {

struct ConcatenateAttrs {
  int64_t axis = 0;
  static constexpr auto kFields = fields(field("axis", &ConcatenateAttrs::axis, "from the end if negative"));
};

struct SplitAttrs {
  Cuts indices_or_sections = {};
  int64_t axis = 0;
  static constexpr auto kFields =
      fields(field("indices_or_sections", &SplitAttrs::indices_or_sections,
                   "a number of equal parts, or the positions before which the axis is cut")
                 .required(),
             field("axis", &SplitAttrs::axis, "from the end if negative"));
};

}  // namespace relay::op
