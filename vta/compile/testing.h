// For tests: what a layer means, in plain loops over integers, and random layers.
#pragma once

#include <random>
#include <vector>

#include "vta/compile/compile.h"
#include "vta/compile/tile.h"

namespace relay::vta::testing {

// A layer with its constants and its tensors.
struct LayerCase {
  Layer layer;
  LayerConstants constants;
  std::vector<int8_t> input;
  std::vector<std::vector<int8_t>> tensors;  // of each step
};

// Fills constants and tensors of the layer with random numbers. Those of shifts are in range.
LayerCase random_numbers(const Layer& layer, std::mt19937_64& random);

// A small layer of the kind, with random shape, groups and steps, that check_layer accepts.
Layer random_layer(LayerKind kind, const Params& params, std::mt19937_64& random);

// The result of the layer: the definition that streams are compared with.
std::vector<int8_t> reference(const LayerCase& c);

// Products of vectors and weight tiles: each result of the blocked layer times its taps and input
// blocks, zeros beside the input included.
uint64_t block_products(const Layer& layer, const Params& params);

// Convolutions C2 to C11 of ResNet-18 on images of 224 x 224, each with a shift, a ReLU and a clip
// behind it.
struct NamedLayer {
  std::string name;
  Layer layer;
  // Of TVM's tuned schedule for default parameters, as its collection TopHub has it
  // (tlc-pack/tophub, vta_v0.10.log, "Resnet-18 - pynq_1x16_i8w8a32_15_15_18_17").
  Tile published;
};
std::vector<NamedLayer> resnet18_layers();

// Bytes of inputs, weights and results that TVM's schedule moves with default parameters. It loads
// both tiles anew for each input block of each tile of results. Zeros beside the input cost
// nothing. Its micro-ops are not known, and do not count.
uint64_t published_bytes(const NamedLayer& l);

}  // namespace relay::vta::testing
