// Devices by their names, and the attributes of the operators that speak of them.
//
// A device is KIND:NUMBER, as cpu:0 or cuda:1, with a part of its memory behind that where a
// program says one: cuda:0/texture. What stands in a metadata section that nobody has is a device
// of that name, meta[VirtualDevice][0].
#pragma once

#include <string>
#include <string_view>

#include "op/define.h"

namespace relay::op {

// The name in full: `cuda` is cuda:0. Empty if the text names no device.
std::string device_name(std::string_view text);

struct OnDeviceAttrs {
  std::string virtual_device;
  bool constrain_body = true, constrain_result = false;
  static constexpr auto kFields =
      fields(field("virtual_device", &OnDeviceAttrs::virtual_device, "cpu:0, cuda:1, ...; \"\": any"),
             field("constrain_body", &OnDeviceAttrs::constrain_body, "the input is computed there"),
             field("constrain_result", &OnDeviceAttrs::constrain_result,
                   "the result is there; else it may be copied to another device"));
};

struct DeviceCopyAttrs {
  std::string src_virtual_device, dst_virtual_device;
  static constexpr auto kFields = fields(
      field("src_virtual_device", &DeviceCopyAttrs::src_virtual_device, "where the input is; \"\": any"),
      field("dst_virtual_device", &DeviceCopyAttrs::dst_virtual_device, "where the result is; \"\": any"));
};

}  // namespace relay::op
