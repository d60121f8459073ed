// On which device each value of a program is, from what the program says at a few places.
//
// Values that an operator takes and gives are on one device. So are a variable and its value, a
// call's arguments and the function's parameters, the fields of a tuple, what a cell holds and the
// cell. Only `on_device` and `device_copy` stand between two devices. Such values are united
// (union-find), and each set has at most one device that the program asks for.
//
// A function's parameters and its result are sets of their own, whoever calls it. Functions that
// are hidden in tuples, cells, data types or behind a type parameter have one set for everything.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "ir/module.h"
#include "ir/traverse.h"

namespace relay::analysis {

// The attributes of functions: the device of each parameter, and that of the result.
inline constexpr std::string_view kParamDevices = "param_devices";
inline constexpr std::string_view kResultDevice = "virtual_device";

struct Devices {
  // By expressions and variables of the module. Of a function it is the device of its result, of
  // one that returns functions that of the last result.
  NodeMap<std::string> of;
  std::set<std::string> all;  // that values are on
  bool says_any = false;      // does the program speak of devices?
};

// Reports "bad-attribute" for a value that is asked to be on two devices, with both places. What
// nothing is said of is on `usual`. The module must be type checked.
Devices devices_of(const Module& m, std::string_view usual, Diagnostics& diagnostics);

// The module as engines of one device run it: values stand in the places of `on_device` and
// `device_copy`. The module itself if it has neither.
Module without_devices(const Module& m);

}  // namespace relay::analysis
