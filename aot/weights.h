// The layout of an artifact's weights: the same bytes in a section of the library and in a
// safetensors file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor.h"

namespace relay::aot {

struct WeightsLayout {
  std::vector<uint64_t>
      offsets;  // of each constant, from the start of the data; equal constants share theirs
  std::string data;
  std::string head;  // what stands before the data in a safetensors file; its length is a multiple of 64
};

// Constants in order of decreasing element size, so that each is aligned for its dtype without gaps
// between them (the safetensors format allows none). The head's metadata holds a hash of the data.
WeightsLayout lay_out_weights(const std::vector<Tensor>& constants);

// The constants that say which file has the weights: that of the layout, called NAME.safetensors.
std::string print_weights_file(const WeightsLayout& weights, std::string_view name);

// C++ that puts the bytes of a file, if one is named, into the library, at relay_weights_begin. The
// assembler takes the file as it is: no literals, no time.
std::string embed_weights(std::string_view file);
// C++ that declares it to another file, as `relay_embedded_weights`.
std::string declare_embedded_weights();

}  // namespace relay::aot
