// The attributes of reshape.
//
// A pass that wants the result's extents takes them from the type of the call: `newshape` may hold
// codes.
#pragma once

#include <vector>

#include "op/define.h"

namespace relay::op {

struct ReshapeAttrs {
  std::vector<Dim> newshape = {};
  bool allowzero = false;
  std::vector<int64_t> extents = {};
  static constexpr auto kFields =
      fields(field("newshape", &ReshapeAttrs::newshape,
                   "extents, as symbolic ones always are, or codes: 0 keeps the input's dim, -1 is inferred, "
                   "-2 keeps all dims that are "
                   "left, -3 merges two "
                   "dims, -4 splits a dim into the two that follow (one of which may be -1)")
                 .required(),
             field("allowzero", &ReshapeAttrs::allowzero, "0 is an extent and not a code"),
             field("extents", &ReshapeAttrs::extents,
                   "places in newshape of numbers that are extents and no codes, as what was symbolic is"));

  // Is newshape[i] an extent even where it could be a code?
  bool is_extent(size_t i) const;
};

}  // namespace relay::op
