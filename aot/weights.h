// The layout of an artifact's weights: the same bytes in a section of the library and in a
// safetensors file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor.h"

namespace relay::aot {

// Bytes of weights: a text, and then constants one after another. They are shared and not copied.
class WeightBytes {
 public:
  WeightBytes() = default;
  WeightBytes(std::string head) : head_(std::move(head)) {}
  void add(const Tensor& constant) { constants_.push_back(constant); }

  uint64_t size() const;
  std::vector<std::string_view> pieces() const;
  std::string text() const;  // a copy
  friend bool operator==(const WeightBytes& a, const WeightBytes& b) { return a.text() == b.text(); }

 private:
  std::string head_;
  std::vector<Tensor> constants_;
};

struct WeightsLayout {
  // Of each constant, from the start of the data; equal constants share theirs.
  std::vector<uint64_t> offsets;
  std::vector<Tensor> data;  // each that is not equal to one before, in order
  uint64_t bytes = 0;        // of the data
  // What stands before the data in a safetensors file; its length is a multiple of 64.
  std::string head;

  WeightBytes section() const;  // the data
  WeightBytes file() const;     // the head and the data
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
