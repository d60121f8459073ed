// The attributes of repeat and reverse.
#pragma once

#include <optional>

#include "op/define.h"

namespace relay::op {

struct RepeatAttrs {
  int64_t repeats = 1;
  std::optional<int64_t> axis = {};
  static constexpr auto kFields = fields(
      field("repeats", &RepeatAttrs::repeats, "how often each element is repeated").required(),
      field("axis", &RepeatAttrs::axis, "the axis, from the end if negative; None: of the flattened tensor"));
};

struct ReverseAttrs {
  int64_t axis = 0;
  static constexpr auto kFields =
      fields(field("axis", &ReverseAttrs::axis, "from the end if negative").required());
};

}  // namespace relay::op
