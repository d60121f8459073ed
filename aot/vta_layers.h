// Layers that a VTA computes in the place of kernels, as an artifact has them: constants in its
// weights, and the tables that support/vta.cc reads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "aot/device_library.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/module.h"
#include "runtime/tensor.h"
#include "vta/compile/code.h"

namespace relay::aot {

using VtaAxes = std::array<size_t, 4>;

struct VtaLayer {
  Symbol kernel;     // of the module, whose work it is
  std::string name;  // for people
  vta::LayerCode code;
  // Which inputs of the kernel the layer reads: its own input, then the tensors of its steps.
  std::vector<size_t> reads;
  // Where N, C, H and W are among the axes of the result, then of what is read: {0, 3, 1, 2} for
  // NHWC. What has no entry lies as vta::TensorShape says.
  std::vector<VtaAxes> axes = {};
};

struct VtaLayers {
  vta::Layout layout;
  std::vector<VtaLayer> layers = {};
  std::vector<std::vector<uint8_t>> streams = {};  // of each, encoded

  // Reports what of the layer's instructions does not fit its field.
  bool add(VtaLayer layer, Diagnostics& d);
};

// The module with a kernel for each layer that has no body and takes what the layer reads. So
// constants that only the VTA needs are no weights of the processor's. Such a module is for
// `make_program` and `emit`.
Module with_vta_kernels(const Module& lowered, const VtaLayers& vta);

// What an artifact has of its layers.
class VtaTables {
 public:
  explicit VtaTables(const VtaLayers& vta);

  // What is uploaded, and what links streams.
  const std::vector<Tensor>& constants() const { return constants_; }
  // The tables as C++, where constant i lies at `offset` of it in the weights.
  std::string print(const std::function<uint64_t(size_t)>& offset) const;
  // The number of the kernel's layer; nothing if it runs on the processor.
  std::optional<size_t> layer_of(const kernel::Kernel& k) const;
  // Lines that run a layer with a VtaContext at `context`, and declare `status`.
  static std::string call(size_t layer, std::string_view context, const std::vector<std::string>& inputs,
                          const std::string& result);

  // For the comment of the header, and for the description.
  std::vector<std::string> list() const;
  void describe(nlohmann::ordered_json& description) const;

 private:
  // Memory of the VTA. What layers share has no contents.
  struct Buffer {
    uint64_t bytes = 0;
    std::optional<int> log_element = {};
    std::optional<size_t> contents = {};  // a constant
    std::optional<size_t> layer = {};     // whose stream it is
  };
  struct Tables {
    std::vector<std::string> tensors;  // result, then inputs
    size_t stream = 0;                 // a buffer
    size_t buffers = 0;                // a constant: for each instruction, which buffer it means
  };
  void add(const VtaLayer& layer, const std::vector<uint8_t>& stream);
  size_t add_buffer(std::span<const uint8_t> contents);
  // Contents that only the VTA reads: equal ones of equal elements are in one buffer.
  size_t add_read_only(std::span<const uint8_t> contents, int log_element);

  const VtaLayers& vta_;
  std::vector<Tensor> constants_;
  std::vector<Buffer> buffers_;
  std::unordered_multimap<size_t, size_t> read_only_;  // those buffers by the hash of their contents
  std::vector<Tables> tables_;
  size_t shared_ = 0;
  uint64_t packed_bytes_ = 0, stream_bytes_ = 0;  // the most of a layer
};

// relay_vta.h as it follows relay.h in one file.
std::string vta_header();

// Runs kernels of layers on the VTA, and all others as a CPU does.
class VtaDeviceLibrary : public CpuDeviceLibrary {
 public:
  VtaDeviceLibrary(KernelName name, const target::Cpu& cpu, const VtaTables& tables)
      : CpuDeviceLibrary(std::move(name), cpu), tables_(tables) {}
  std::string run(const kernel::Kernel& k, const std::vector<std::string>& values,
                  const std::vector<std::string>& extents) override;

 private:
  const VtaTables& tables_;
};

}  // namespace relay::aot
