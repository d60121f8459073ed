// The attributes of pooling over whole images.
#pragma once

#include <string>

#include "op/define.h"

namespace relay::op {

struct GlobalPoolAttrs {
  std::string layout = "NCHW", out_layout = {};
  static constexpr auto kFields =
      fields(field("layout", &GlobalPoolAttrs::layout, "an order of the letters NCHW"),
             field("out_layout", &GlobalPoolAttrs::out_layout, "the data's layout, which \"\" stands for"));
};

}  // namespace relay::op
