// The attributes of nn.pad.
#pragma once

#include <string>

#include "op/define.h"
#include "op/tensor/attributes.h"

namespace relay::op {

struct PadAttrs {
  PadWidth pad_width = {};
  std::string pad_mode = "constant";
  static constexpr auto kFields = fields(
      field("pad_width", &PadAttrs::pad_width, "how many elements before and after each axis").required(),
      field("pad_mode", &PadAttrs::pad_mode, "constant, edge, reflect or symmetric"));
};

}  // namespace relay::op
