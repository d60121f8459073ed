// What the tables of layers on a VTA have, which aot/vta_layers.cc prints; before vta.cc in
// artifacts that have such layers (see interface.cc).

constexpr size_t kVtaInstructionBytes = 16;
constexpr uint32_t kVtaNoBuffer = UINT32_MAX;  // of an instruction that moves nothing

// A parameter by its name in a vta_config.json.
struct VtaParam {
  const char* name;
  int32_t relay_vta_params::* member;
};

// Memory of the VTA. First come those that layers share: for a result, and for inputs.
struct VtaBuffer {
  uint64_t bytes;
  int log_element;    // of bytes: `dram_base` counts elements
  uint64_t contents;  // in the weights
  int32_t layer;      // whose instructions they are; -1: constants
};

// Extents along N, C, H and W, and how far elements are apart along each.
struct VtaTensor {
  size_t extents[4], steps[4];
};

struct VtaLayer {
  const char* name;
  const VtaTensor* tensors;  // the result, then inputs
  uint32_t inputs;           // how many
  uint32_t stream;           // a buffer
  uint32_t instructions;     // in it
  uint64_t buffers;          // in the weights: the buffer of each instruction
};
