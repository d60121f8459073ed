// The attributes of nn.space_to_batch_nd and nn.batch_to_space_nd.
#pragma once

#include <vector>

#include "op/define.h"
#include "op/tensor/attributes.h"

namespace relay::op {

struct SpaceToBatchAttrs {
  std::vector<int64_t> block_shape = {1, 1};
  PadWidth paddings = {};
  double pad_value = 0;
  static constexpr auto kFields = fields(
      field("block_shape", &SpaceToBatchAttrs::block_shape, "extents of a block along the spatial axes"),
      field("paddings", &SpaceToBatchAttrs::paddings, "elements before and after each spatial axis")
          .required(),
      field("pad_value", &SpaceToBatchAttrs::pad_value, "the added elements"));
};

struct BatchToSpaceAttrs {
  std::vector<int64_t> block_shape = {1, 1};
  PadWidth crops = {};
  static constexpr auto kFields = fields(
      field("block_shape", &BatchToSpaceAttrs::block_shape, "extents of a block along the spatial axes"),
      field("crops", &BatchToSpaceAttrs::crops, "elements cut off before and after each spatial axis")
          .required());
};

}  // namespace relay::op
