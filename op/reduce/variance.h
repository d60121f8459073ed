// The attributes of variance.
#pragma once

#include "op/reduce/reduction.h"

namespace relay::op {

struct VarianceAttrs : ReduceAttrs {
  bool unbiased = false;
  static constexpr auto kFields = std::tuple_cat(
      ReduceAttrs::kFields,
      fields(field("unbiased", &VarianceAttrs::unbiased, "divide by one less than the count")));
};

}  // namespace relay::op
