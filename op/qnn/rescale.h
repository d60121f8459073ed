// The attributes of qnn.rescale.
#pragma once

#include <string>

#include "op/define.h"

namespace relay::op {

struct RescaleAttrs {
  int64_t multiplier = 1, shift = 0, zero_point = 0;
  std::string rounding = "UPWARD";
  DType out_dtype = kInt8;
  static constexpr auto kFields =
      fields(field("multiplier", &RescaleAttrs::multiplier, "what integers are multiplied by"),
             field("shift", &RescaleAttrs::shift, "the power of two that products are divided by"),
             field("zero_point", &RescaleAttrs::zero_point, "the integer of the result that stands for 0"),
             field("rounding", &RescaleAttrs::rounding, "UPWARD, DOWNWARD, TONEAREST or TOEVEN"),
             field("out_dtype", &RescaleAttrs::out_dtype, "of the result"));
};

}  // namespace relay::op
