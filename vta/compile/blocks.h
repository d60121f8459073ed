// A layer in the blocks of a VTA: channels in blocks of BLOCK, images in batches of BATCH.
//
// Groups whose channels are no multiple of BLOCK share blocks. A bundle is the least number of
// groups whose input and output channels both are multiples of BLOCK, or all groups: BLOCK groups
// of a depthwise convolution. A bundle is a product of its own. Weight tiles are zero where two
// channels are in different groups.
#pragma once

#include <vector>

#include "vta/compile/layer.h"

namespace relay::vta {

// Bundles of one size: all, or all but the last one, which has what is left.
struct Section {
  int64_t bundles = 1;
  int64_t groups = 1;                     // of a bundle
  int64_t in_blocks = 1, out_blocks = 1;  // of a bundle
  int64_t first_in = 0, first_out = 0;    // of the first bundle, in blocks of all channels
  int64_t first_group = 0;
  int64_t first_weight = 0;  // in DRAM, in tiles
};

struct BlockedLayer {
  int64_t batches = 1;                    // of images
  int64_t in_blocks = 1, out_blocks = 1;  // of all channels
  int64_t out_rows = 1, out_columns = 1;
  // The rows that windows see, each `row_step` rows behind the one before: a product whose windows
  // have one row does not load the rows between.
  Axis rows = {};
  int64_t row_step = 1;
  int64_t taps = 1;     // positions of a window, which are the weight tiles of two blocks
  int64_t weights = 0;  // tiles
  std::vector<Section> sections;
};

// Of a layer that check_layer accepts. A pooling or elementwise layer has a bundle for each block.
// Weight tiles lie in DRAM by bundle, output block, input block, row and column.
BlockedLayer in_blocks(const Layer& layer, const Params& params);

// Positions of the input that windows of the results [begin, begin + count) see: [first, end),
// where positions beside the input count, too. A few more for transposed convolutions.
struct Window {
  int64_t first = 0, end = 0;

  int64_t size() const { return end - first; }
};
Window window_of(LayerKind kind, const Axis& axis, int64_t begin, int64_t count);
// The largest window of so many results.
int64_t largest_window(LayerKind kind, const Axis& axis, int64_t count);

// Results that see the input at regular distances: GEMM runs them in one loop.
struct Phase {
  int64_t first = 0, step = 1, count = 0;  // positions of the result, from `begin`
  int64_t in_step = 1;                     // positions of the input from one to the next
  struct Tap {
    int64_t index = 0;  // in the window
    int64_t in = 0;     // position of the input that `first` sees by it, from the window's `first`
  };
  std::vector<Tap> taps;
};
// A convolution has one phase, and a transposed one has `stride`. A phase without taps is left out.
std::vector<Phase> phases_of(LayerKind kind, const Axis& axis, int64_t begin, int64_t count);

}  // namespace relay::vta
