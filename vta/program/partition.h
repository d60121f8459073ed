// Device layers: the regions of a program that a VTA computes.
//
// A region is a chain of integer operators that begins with a product, a pooling window or a cast,
// and ends in int8 (docs/vta.md, "Programs"). `partition` makes a function of each:
//
//   nn.relu(nn.conv2d(%x, w, out_dtype="int8"))   becomes
//   fn (%x, Primitive=1, Device="vta", Layer=0) { nn.relu(nn.conv2d(%x, w, out_dtype="int8")) }(%x)
//
// The function computes what the region did, so whoever has no VTA may run it as it stands. Layer
// `Layer` of the result computes the same bits on a VTA.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "vta/compile/compile.h"

namespace relay::vta {

// Attributes of the functions: `Device` is kDeviceName, `Layer` an index of Partitioned::layers.
// The attribute that pattern::partition gives is there, too.
inline constexpr std::string_view kDevice = "Device", kLayer = "Layer";
inline constexpr std::string_view kDeviceName = "vta";
bool is_device_function(const Fn& fn);

struct DeviceLayer {
  std::string name;  // "layer 3: qnn.conv2d + add + nn.relu", for people
  Layer layer;
  LayerConstants constants;
  LayerCode code;
  size_t input = 0;                            // the function's parameter that is the layer's input
  std::vector<std::optional<size_t>> tensors;  // of each step: the parameter that it reads; nullopt: none
  // Where N, C, H and W are among the axes of input, tensors and result: {0, 3, 1, 2} for NHWC.
  // A result without four axes lies as TensorShape says. Empty: all of them do.
  std::vector<size_t> axes;
};

// A call that could begin a layer, and why it is in none.
struct StaysOnCpu {
  Span span;
  std::string what, why;  // an operator; one sentence
};

struct Partitioned {
  Module module;
  std::vector<DeviceLayer> layers;  // in the order of functions by name, then of evaluation
  std::vector<StaysOnCpu> left;     // in the same order
};

// The module is typed, and so is the result. If a region is refused, shorter ones inside it are
// tried. Takes the time of pattern::partition, and of compile_layer for each region that is tried.
Partitioned partition(const Module& m, const Layout& layout, const ScheduleOptions& options);

}  // namespace relay::vta
