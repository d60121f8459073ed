// What convolutions of images in channel blocks share, however they are computed: layouts, their
// constraints, their loops.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/builder.h"
#include "op/layout.h"
#include "op/nn/window.h"
#include "op/relation.h"

namespace relay::op {

// Their attributes, understood. The axes of data and result are N, C, H, W, those of the
// weight O, I, H, W.
struct BlockedConvolution {
  Layout data, weight, out;
  Window window;
};
template <class Attrs>
BlockedConvolution read_blocked_convolution(const Attrs& a) {
  return {read_layout("data_layout", a.data_layout, "NCHW"),
          read_layout("kernel_layout", a.kernel_layout, "OIHW"),
          read_layout("out_layout", a.out_layout.empty() ? a.data_layout : a.out_layout, "NCHW"),
          read_window(a.strides, a.dilation, a.padding)};
}

// The parts of the relation. Height and width may not be cut into blocks.
void require_whole_images(Relation& r, const BlockedConvolution& c);
// Data and weight must fit their layouts.
void require_layouts(Relation& r, const BlockedConvolution& c);
// As many blocks of channels as the data has; `channels` of the weight.
void require_input_blocks(Relation& r, const BlockedConvolution& c, Dim channels, Dim data_channels);
// The channels of the result: those of the weight, or as many of them as are asked for.
Dim output_channels(Relation& r, const BlockedConvolution& c, Dim weight_channels,
                    const std::optional<Dim>& given);

// To lower: the data with zeros in front of height and width, reaching these extents.
kernel::Tensor padded(kernel::Builder& k, const kernel::Tensor& x, const BlockedConvolution& c,
                      std::span<const kernel::Expr> extents);
// The loops over the input channels of a group: block by block where they come in whole blocks, so
// that no index needs a division. A group that begins or ends inside of a block goes by the
// channels that both are multiples of.
class ChannelLoops {
 public:
  ChannelLoops(kernel::Builder& k, const BlockedConvolution& c, Dim channels, int64_t groups = 1);
  const std::vector<kernel::Expr>& extents() const { return extents_; }
  kernel::Expr channel(kernel::Indices r) const { return in_blocks_ ? r[0] * block_ + r[1] : r[0]; }

 private:
  int64_t block_;
  bool in_blocks_;
  std::vector<kernel::Expr> extents_;
};
// The index of an element by its coordinates, simplified by what the variables are bound by.
std::vector<kernel::Expr> place(const Layout& layout, std::vector<kernel::Expr> at, kernel::Indices variables,
                                const std::vector<kernel::Expr>& extents);

}  // namespace relay::op
