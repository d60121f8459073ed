// The attributes of dyn.reshape.
#pragma once

#include <optional>
#include <vector>

#include "op/define.h"

namespace relay::op {

struct DynReshapeAttrs {
  std::optional<std::vector<Dim>> newshape = {};
  bool allowzero = false;
  static constexpr auto kFields = fields(
      field("newshape", &DynReshapeAttrs::newshape, "must be empty: the argument of that name stands for it"),
      field("allowzero", &DynReshapeAttrs::allowzero, "0 is an extent and not a code"));
};

}  // namespace relay::op
