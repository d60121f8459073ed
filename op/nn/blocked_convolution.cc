#include "op/nn/blocked_convolution.h"

#include <numeric>

#include "kernel/simplify.h"
#include "op/nn/fit.h"

namespace relay::op {

void require_whole_images(Relation& r, const BlockedConvolution& c) {
  for (const size_t axis : {2, 3}) {
    r.require(c.data.block(axis) * c.weight.block(axis) * c.out.block(axis) == 1, kAttributes,
              "only channels come in blocks: height and width do not");
  }
}

void require_layouts(Relation& r, const BlockedConvolution& c) {
  if (const std::string wrong = misfit(c.data, r.tensor(0).dims); !wrong.empty())
    r.fail(0, wrong, "wrong-rank");
  if (const std::string wrong = misfit(c.weight, r.tensor(1).dims); !wrong.empty())
    r.fail(1, wrong, "wrong-rank");
  require_blocks(r, c.data, 0);
  require_blocks(r, c.weight, 1);
}

void require_input_blocks(Relation& r, const BlockedConvolution& c, Dim channels, Dim data_channels) {
  const int64_t block = c.data.block(1);
  r.same(ceil_div(channels, block), ceil_div(data_channels, block), 1,
         "the number of blocks of input channels", 0);
}

Dim output_channels(Relation& r, const BlockedConvolution& c, Dim weight_channels,
                    const std::optional<Dim>& given) {
  if (!given) return weight_channels;
  const int64_t block = c.weight.block(0);
  r.same(ceil_div(*given, block), ceil_div(weight_channels, block), 1,
         "the number of blocks of output channels");
  return *given;
}

kernel::Tensor padded(kernel::Builder& k, const kernel::Tensor& x, const BlockedConvolution& c,
                      std::span<const kernel::Expr> extents) {
  return padded(k, x, c.data, c.window.before, extents, k.constant(x.dtype(), 0));
}

ChannelLoops::ChannelLoops(kernel::Builder& k, const BlockedConvolution& c, Dim channels, int64_t groups)
    : block_(groups == 1 || !channels.is_const() ? c.data.block(1)
                                                 : std::gcd(c.data.block(1), channels.value())),
      in_blocks_(channels.is_const() && channels.value() % block_ == 0 && block_ > 1) {
  if (in_blocks_) {
    extents_ = {k.index(channels.value() / block_), k.index(block_)};
  } else {
    extents_ = {channels.expr(k.pool())};
  }
}

std::vector<kernel::Expr> place(const Layout& layout, std::vector<kernel::Expr> at, kernel::Indices variables,
                                const std::vector<kernel::Expr>& extents) {
  kernel::Bounds bounds;
  for (size_t d = 0; d < variables.size(); ++d) bounds.bind(variables[d], extents[d]);
  std::vector<kernel::Expr> index = layout.index(std::move(at));
  for (kernel::Expr& e : index) e = simplify(e, bounds);
  return index;
}

}  // namespace relay::op
