// block-channels: images whose channels come in blocks of a vector register, NCHW16c,
// as far as they go.
//
// A convolution with a constant weight reads and writes blocks (a transposed one becomes ordinary
// ones, subpixel_split.h); element-wise operators, pooling, concatenation and padding take over the
// layout of what they read. Each such value has two forms, in blocks and as it was: who cannot use
// the first one asks for the second, and only what is asked for is computed. So a network is
// transformed where it begins and ends. A convolution in groups of several channels goes on in
// blocks if that is estimated to be faster (convolution_cost.h).
//
// Where a block does not divide the channels, the last one is filled up. What is computed there is
// never read: a convolution sums over the channels that exist, other operators keep channels apart,
// and operators that could trap stay out.
//
// Before: weights are constants that stand where they are used. After: the same images; those
// between operators that take blocks lie in blocks.
#include <optional>
#include <unordered_map>

#include "analysis/effects.h"
#include "analysis/views.h"
#include "ir/rewrite.h"
#include "kernel/layout.h"
#include "op/apply.h"
#include "op/nn/pad.h"
#include "op/nn/pooling.h"
#include "op/nn/winograd.h"
#include "op/ops.h"
#include "op/reduce/reduction.h"
#include "op/registry.h"
#include "op/tensor/join.h"
#include "passes/convolution_cost.h"
#include "passes/pass.h"
#include "passes/subpixel_split.h"

namespace relay::passes {
namespace {

const TensorType* image(Expr e) {
  const auto* t = e->type ? e->type->as<TensorType>() : nullptr;
  return t && t->rank() == 4 && t->dtype == kFloat32 && t->is_static() ? t : nullptr;
}

using kernel::Layout;

enum : size_t { kBatch, kChannels, kHeight, kWidth };  // the axes of an image: NCHW

// Its extents may be 0.
Expr reshaped(Builder& b, Expr e, std::vector<Dim> shape) {
  return op::call(b, op::kReshape, {e}, {{"newshape", std::move(shape)}, {"allowzero", true}});
}

// Does some output channel see nothing at a place of the window (OIHW, float32)? Its sums are
// short, and more precise than what goes through transforms together with the other places.
bool has_empty_taps(const Tensor& weight) {
  const Shape& shape = weight.shape();
  const std::span<const float> w = weight.as<float>();
  const auto taps = static_cast<size_t>(shape[2] * shape[3]), inputs = static_cast<size_t>(shape[1]);
  for (size_t first = 0; first < w.size(); first += taps * inputs) {
    for (size_t tap = 0; tap < taps; ++tap) {
      bool empty = true;
      for (size_t i = 0; i < inputs && empty; ++i) empty = w[first + i * taps + tap] == 0;
      if (empty) return true;
    }
  }
  return false;
}

class Blocker {
 public:
  // `winograd`: the largest tile of Winograd's filtering, where that pays; 0: never.
  // `error_growth`: how much larger than those of the sum its errors may be. `cycles`: the share of
  // its estimated time that counts, in percent.
  Blocker(const target::Cpu& cpu, int64_t winograd, int64_t error_growth, int64_t cycles)
      : cpu_(cpu),
        block_(cpu.lanes()),
        images_(Layout::plain("NCHW").cut(kChannels, block_)),
        weights_(Layout::plain("OIHW").cut(0, block_)),
        points_(Layout::plain("HWOI").cut(2, block_)),
        winograd_(winograd),
        error_growth_(static_cast<double>(error_growth)),
        cycles_(static_cast<double>(cycles) / 100) {}

  Expr rewrite(Builder& b, Expr e) {
    const auto* call = e->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    if (!def || !call->type) return e;
    SpanScope at(b, e->span);
    Expr in_blocks = nullptr;
    if (def == &op::kConv2d) {
      in_blocks = convolution(b, *call);
    } else if (def == &op::kConv2dTranspose) {
      return transposed_convolution(b, *call);
    } else if (def == &op::kMaxPool2d || def == &op::kAvgPool2d) {
      in_blocks = pooling(b, *call, *def);
    } else if (def == &op::kConcatenate) {
      in_blocks = concatenation(b, *call);
    } else if (def == &op::kPad) {
      in_blocks = padding(b, *call);
    } else if (is_reduction(def)) {
      return reduction(b, *call, *def);
    } else if (def->fusion <= op::Fusion::kBroadcast && def->lower &&
               !analysis::may_trap_on_values(*call, *def)) {
      in_blocks = elementwise(b, *call, *def);
    }
    return in_blocks ? as_it_was(b, in_blocks, *image(e)) : e;
  }

 private:
  // The form in blocks of a value that is known in both; null otherwise.
  Expr known(Expr e) const {
    const auto it = in_blocks_.find(e);
    return it == in_blocks_.end() ? nullptr : it->second;
  }

  // The value of the original type, computed from its form in blocks.
  Expr as_it_was(Builder& b, Expr in_blocks, const TensorType& type) {
    const Dim channels = type.dims[kChannels];
    const bool point = type.dims[kHeight] == Dim(1) && type.dims[kWidth] == Dim(1);
    Expr e;
    if (point) {  // the same order in memory
      e = reshaped(b, in_blocks, {type.dims[kBatch], rounded(channels), Dim(1), Dim(1)});
    } else {
      e = op::call(b, op::kLayoutTransform, {in_blocks},
                   {{"src_layout", images_.text()}, {"dst_layout", "NCHW"}});
    }
    if (rounded(channels).value() != channels.value()) e = op::sliced(b, e, kChannels, 0, channels);
    in_blocks_[e] = in_blocks;
    return e;
  }

  Dim rounded(Dim channels) const { return ceil_div(channels, block_) * block_; }

  Expr transformed(Builder& b, Expr e) {
    return op::call(b, op::kLayoutTransform, {e}, {{"src_layout", "NCHW"}, {"dst_layout", images_.text()}});
  }

  // The dim of a tensor in blocks that belongs to the axis of the image.
  Dim dim(Expr in_blocks, size_t axis) const {
    return op::tensor_type_of(in_blocks).dims[images_.place(axis)];
  }
  // Values for the axes of an image, and one for the elements of a block, in the order in which
  // they are in blocks.
  template <class T>
  std::vector<T> arranged(const std::vector<T>& axes, T block) const {
    std::vector<T> out(images_.rank());
    for (size_t axis = 0; axis < axes.size(); ++axis) out[images_.place(axis)] = axes[axis];
    out[images_.block_place(kChannels)] = block;
    return out;
  }

  Expr convolution(Builder& b, const Call& call) {
    const TensorType *x = image(call.args[0]), *w = image(call.args[1]), *y = image(&call);
    if (!x || !w || !y || !call.args[1]->as<Constant>()) return nullptr;
    const auto view = analysis::convolution_view(&call);
    if (!view || !view->has_plain_layouts()) return nullptr;
    const op::Convolution& c = view->convolution;
    const int64_t from = x->dims[1].value(), to = w->dims[0].value();
    const bool depthwise = c.groups == from && c.groups == to && c.groups != 1;
    const bool grouped = c.groups != 1 && !depthwise;
    // Less than half a block would be more filling than channels.
    if (2 * to < block_) return nullptr;
    Expr data = known(call.args[0]);
    if (grouped && !gains_by_blocks(c, *x, *w, *y, data != nullptr)) return nullptr;
    const bool as_it_is = !data && c.groups == 1 && from < block_;
    if (!data) data = as_it_is ? call.args[0] : transformed(b, call.args[0]);
    if (const int64_t tile =
            as_it_is || c.groups != 1 ? 0 : best_tile(c, *x, *call.args[1]->as<Constant>()->value, *y);
        tile > 0) {
      const Expr points =
          op::packed(b, op::kContribConv2dWinogradWeightTransform, call.args[1], {{"tile_size", tile}});
      const std::string in_blocks = points_.text();
      return op::call(b, op::kContribConv2dWinogradWithoutWeightTransform,
                      {data, op::packed(b, op::kLayoutTransform, points,
                                        {{"src_layout", "HWOI"}, {"dst_layout", in_blocks}})},
                      {{"tile_size", tile},
                       {"padding", c.window.padding()},
                       {"data_layout", images_.text()},
                       {"kernel_layout", in_blocks},
                       {"out_layout", images_.text()}});
    }
    const Expr weight = op::packed(b, op::kLayoutTransform, call.args[1],
                                   {{"src_layout", "OIHW"}, {"dst_layout", weights_.text()}});
    std::vector<AttrArg> attrs{
        {"strides", c.window.stride},       {"padding", c.window.padding()},
        {"dilation", c.window.dilation},    {"data_layout", as_it_is ? std::string("NCHW") : images_.text()},
        {"kernel_layout", weights_.text()}, {"out_layout", images_.text()}};
    if (grouped) {
      attrs.push_back({"groups", c.groups});
      attrs.push_back({"channels", to});
    }
    return op::call(b, depthwise ? op::kContribDepthwiseConv2dNCHWc : op::kContribConv2dNCHWc, {data, weight},
                    attrs);
  }

  // Is a convolution in groups faster on blocks? `known`: they are there.
  bool gains_by_blocks(const op::Convolution& c, const TensorType& x, const TensorType& w,
                       const TensorType& y, bool known) const {
    const double data = elements(x), results = elements(y);
    const std::vector<int64_t> one{1, 1};
    const double taps = static_cast<double>(w.dims[2].value() * w.dims[3].value());
    const GroupedConvolution grouped{w.dims[0].value() / c.groups,
                                     results * static_cast<double>(w.dims[1].value()) * taps,
                                     taps > 1 || c.window.stride != one};
    const double transforms = layout_cycles(data) + layout_cycles(results);
    return cycles_in_blocks(grouped, cpu_) + (known ? 0 : transforms) <=
           cycles_as_it_is(grouped, cpu_) + (known ? transforms : 0);
  }

  static double elements(const TensorType& t) {
    double n = 1;
    for (Dim d : t.dims) n *= static_cast<double>(d.value());
    return n;
  }

  // Phase by phase, each an ordinary convolution; then the phases' results are put
  // between each other.
  Expr transposed_convolution(Builder& b, const Call& call) {
    const TensorType *x = image(call.args[0]), *w = image(call.args[1]), *y = image(&call);
    const auto* weight = call.args[1]->as<Constant>();
    if (!x || !w || !y || !weight) return &call;
    const auto view = analysis::convolution_view(&call);
    if (!view || !view->has_plain_layouts() || view->convolution.groups != 1) return &call;
    const op::Window& window = view->convolution.window;
    TransposedConvolution c{};
    for (size_t axis = 0; axis < 2; ++axis) {
      c.stride[axis] = window.stride[axis];
      c.padding[axis] = window.before[axis];
      // With holes between the windows most phases would be empty.
      if (window.stride[axis] > w->dims[2 + axis].value() || window.dilation[axis] != 1) return &call;
      c.data[axis] = x->dims[2 + axis].value();
      c.results[axis] = y->dims[2 + axis].value();
      // Images without elements have no phases.
      if (c.data[axis] == 0 || c.results[axis] == 0) return &call;
    }
    const SubpixelSplit subpixels = split_subpixels(c, *weight->value, block_);
    std::vector<Expr> parts, in_blocks;
    for (const SubpixelConvolution& phase : subpixels.convolutions) {
      const std::vector<int64_t> padding(phase.padding.begin(), phase.padding.end());
      parts.push_back(rewrite(
          b, op::call(b, op::kConv2d, {call.args[0], b.constant(phase.weight)}, {{"padding", padding}})));
      if (Expr blocks = known(parts.back())) in_blocks.push_back(blocks);
    }
    const Dim channels = y->dims[1];
    if (in_blocks.size() == parts.size() && channels.value() % block_ == 0)
      return as_it_was(b, interleaved(b, subpixels, in_blocks, channels.value() / block_, *y), *y);
    return interleaved(b, subpixels, parts, channels, *y);
  }

  // From all phases' channels (or blocks of them) of small images to the images of the result.
  Expr interleaved(Builder& b, const SubpixelSplit& subpixels, const std::vector<Expr>& parts, Dim channels,
                   const TensorType& result) {
    Expr e = parts.size() == 1 ? parts.front() : concatenated(b, parts);
    const auto split = [&](std::vector<Dim> shape) {
      if (op::tensor_type_of(parts.front()).rank() == images_.rank()) shape.push_back(block_);
      return reshaped(b, e, std::move(shape));
    };
    const Dim batch = result.dims[0], down = subpixels.count[0], across = subpixels.count[1],
              height = subpixels.extents[0], width = subpixels.extents[1];
    e = split({batch, down, across, channels, height, width});
    std::vector<int64_t> axes{0, 3, 4, 1, 5, 2};
    if (op::tensor_type_of(e).rank() == 7) axes.push_back(6);
    e = op::transposed(b, e, axes);
    e = split({batch, channels, height * down, width * across});
    for (size_t axis : {2, 3}) {
      if (op::tensor_type_of(e).dims[axis].value() != result.dims[axis].value())
        e = op::sliced(b, e, static_cast<int64_t>(axis), 0, result.dims[axis]);
    }
    return e;
  }

  // The tile of Winograd's filtering that is fastest; 0 if it is not possible or no gain.
  int64_t best_tile(const op::Convolution& c, const TensorType& x, const Tensor& weight,
                    const TensorType& y) const {
    const std::vector<int64_t> one{1, 1};
    if (c.window.stride != one || c.window.dilation != one) return 0;
    const Shape& w = weight.shape();
    if (w[2] != 3 || w[3] != 3 || has_empty_taps(weight)) return 0;
    const ConvolutionShape shape{x.dims[0].value(), w[0], x.dims[1].value(), 3, y.dims[2].value(),
                                 y.dims[3].value()};
    double least = direct_cycles(shape, cpu_);
    int64_t best = 0;
    for (int64_t tile = 2; tile <= winograd_; tile += 2) {
      if (op::error_growth(op::winograd(tile, 3), shape.in_channels) > error_growth_) continue;
      const double cycles = cycles_ * winograd_cycles(shape, cpu_, tile);
      if (cycles >= least) continue;
      least = cycles;
      best = tile;
    }
    return best;
  }

  // Each block of channels is an image of its own, with the elements of the block as its channels.
  Expr pooling(Builder& b, const Call& call, const op::OpDef& def) {
    const Expr x = known(call.args[0]);
    const TensorType* y = image(&call);
    if (!x || !y) return nullptr;
    const bool is_mean = &def == &op::kAvgPool2d;
    op::AvgPoolAttrs mean;
    op::MaxPoolAttrs most;
    if (is_mean) {
      mean = op::read_attrs<op::AvgPoolAttrs>(call.attrs);
    } else {
      most = op::read_attrs<op::MaxPoolAttrs>(call.attrs);
    }
    if ((is_mean ? mean.layout : most.layout) != "NCHW") return nullptr;
    mean.layout = most.layout = "NHWC";
    const Dim batch = dim(x, kBatch), blocks = dim(x, kChannels);
    const Expr images = reshaped(b, x, {batch * blocks, dim(x, kHeight), dim(x, kWidth), Dim(block_)});
    const Expr pooled = op::call(b, def, {images}, is_mean ? op::pool_attrs(mean) : op::pool_attrs(most));
    return reshaped(b, pooled,
                    arranged<Dim>({batch, blocks, y->dims[kHeight], y->dims[kWidth]}, Dim(block_)));
  }

  Expr concatenation(Builder& b, const Call& call) {
    const auto* parts = call.args[0]->as<Tuple>();
    const int64_t axis = op::read_attrs<op::ConcatenateAttrs>(call.attrs).axis;
    if (!parts || !image(&call) || (axis != 1 && axis != -3)) return nullptr;
    std::vector<Expr> in_blocks;
    for (size_t i = 0; i < parts->fields.size(); ++i) {
      const Expr part = known(parts->fields[i]);
      const TensorType* type = image(parts->fields[i]);
      const bool whole = type && type->dims[1].value() % block_ == 0;
      if (!part || (!whole && i + 1 < parts->fields.size())) return nullptr;
      in_blocks.push_back(part);
    }
    return concatenated(b, in_blocks);
  }

  // Along the channels.
  static Expr concatenated(Builder& b, const std::vector<Expr>& parts) {
    std::vector<Type> types;
    for (Expr e : parts) types.push_back(e->type);
    return op::call(b, op::kConcatenate, {b.with_type(b.tuple(parts), b.context().tuple_type(types))},
                    {{"axis", int64_t{1}}});
  }

  Expr padding(Builder& b, const Call& call) {
    const Expr x = known(call.args[0]);
    if (!x || !image(&call)) return nullptr;
    const auto a = op::read_attrs<op::PadAttrs>(call.attrs);
    op::PadWidth by = a.pad_width;
    for (size_t d : {0, 1}) {
      for (Dim side : {by.axes[d].first, by.axes[d].second}) {
        if (!side.is_const() || side.value() != 0) return nullptr;
      }
    }
    by.axes = arranged<std::pair<Dim, Dim>>(by.axes, {Dim(0), Dim(0)});
    std::vector<Expr> args(call.args.begin(), call.args.end());
    args[0] = x;
    std::vector<AttrArg> attrs{{"pad_width", op::pad_width(b.context(), by.axes)}};
    if (a.pad_mode != op::PadAttrs().pad_mode) attrs.push_back({"pad_mode", a.pad_mode});
    return op::call(b, op::kPad, args, attrs);
  }

  static bool is_reduction(const op::OpDef* def) {
    return def == &op::kMean || def == &op::kSum || def == &op::kMax || def == &op::kMin;
  }

  // Over height and width, which leaves the channels in their order.
  Expr reduction(Builder& b, const Call& call, const op::OpDef& def) {
    const Expr x = known(call.args[0]);
    const auto* y = call.type->as<TensorType>();
    if (!x || !y) return &call;
    const auto a = op::read_attrs<op::ReduceAttrs>(call.attrs);
    if (op::reduced_axes(a, 4) != std::vector<bool>{false, false, true, true}) return &call;
    const std::vector<int64_t> image{static_cast<int64_t>(images_.place(kHeight)),
                                     static_cast<int64_t>(images_.place(kWidth))};
    const Expr reduced = op::call(b, def, {x}, {{"axis", image}, {"keepdims", a.keepdims}});
    if (y->rank() == 4) return as_it_was(b, reduced, *y);
    const Dim channels = y->dims[kChannels];
    const Expr joined = reshaped(b, reduced, {dim(x, kBatch), rounded(channels)});
    return rounded(channels).value() == channels.value() ? joined : op::sliced(b, joined, 1, 0, channels);
  }

  Expr elementwise(Builder& b, const Call& call, const op::OpDef& def) {
    const TensorType* y = image(&call);
    if (!y) return nullptr;
    bool any = false;
    for (Expr arg : call.args) any = any || (known(arg) && image(arg)->dims[1].value() == y->dims[1].value());
    if (!any) return nullptr;
    std::vector<Expr> args;
    for (Expr arg : call.args) {
      const Expr same = operand(b, arg, *y);
      if (!same) return nullptr;
      args.push_back(same);
    }
    std::vector<AttrArg> attrs;
    for (const Attr& a : call.attrs) {
      if (a.name == "axis" || a.value.kind == AttrKind::kList)
        return nullptr;  // speaks of the original's axes
      attrs.push_back({a.name.str(), a.value});
    }
    return op::call(b, def, args, attrs);
  }

  // An operand of an element-wise operator on blocks, which broadcasts as it did.
  Expr operand(Builder& b, Expr e, const TensorType& result) {
    const auto* type = e->type ? e->type->as<TensorType>() : nullptr;
    if (!type || type->rank() > 4 || !type->is_static()) return nullptr;
    if (type->rank() == 0) return e;
    const bool has_channels = type->rank() >= 3 && type->dims[type->rank() - 3].value() != 1;
    if (has_channels && known(e)) return known(e);
    std::vector<Dim> shape(4 - type->rank(), Dim(1));
    shape.insert(shape.end(), type->dims.begin(), type->dims.end());
    if (!has_channels) return reshaped(b, e, arranged<Dim>(shape, Dim(1)));
    if (shape[1].value() != result.dims[1].value()) return nullptr;
    return transformed(b, type->rank() == 4 ? e : reshaped(b, e, shape));
  }

  const target::Cpu& cpu_;
  int64_t block_;
  Layout images_, weights_, points_;  // in blocks; points are weights as Winograd's filtering has them
  int64_t winograd_;
  double error_growth_, cycles_;
  std::unordered_map<Expr, Expr> in_blocks_;  // of a value in its original form
};

Module run(const Module& m, const PassContext& pass) {
  Blocker blocker(pass.target.cpu, pass.value("winograd"), pass.value("winograd-error"),
                  pass.value("winograd-cycles"));
  return rewrite(m, [&](relay::Builder& b, Expr e) { return blocker.rewrite(b, e); });
}

}  // namespace

const Pass kBlockChannels = {
    .name = "block-channels",
    .doc = "lay images out with their channels in blocks of a vector register",
    .parameters = {{"winograd", 6,
                    "the largest tiles of Winograd's filtering (2, 4, 6), where windows are 3x3 and it is "
                    "faster; 0: none",
                    0, 6},
                   {"winograd-error", 4, "how many times the error of the sum it may have, as estimated"},
                   {"winograd-cycles", 100,
                    "how much of its estimated time counts, in percent; 1 takes it almost wherever it is "
                    "possible",
                    1, 10000}},
    .run = run,
};

}  // namespace relay::passes
