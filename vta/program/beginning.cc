#include "vta/program/beginning.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/cat.h"
#include "op/math/convert.h"
#include "op/nn/convolution.h"
#include "op/nn/global_pool2d.h"
#include "op/nn/matmul.h"
#include "op/nn/pooling.h"
#include "op/ops.h"
#include "op/reduce/reduction.h"
#include "op/registry.h"

namespace relay::vta {
namespace {

bool one_of(const op::OpDef* def, std::initializer_list<const op::OpDef*> all) {
  return std::find(all.begin(), all.end(), def) != all.end();
}
bool is_dense(const op::OpDef* def) { return one_of(def, {&op::kDense, &op::kMatmul, &op::kQnnDense}); }
bool is_quantised(const op::OpDef* def) {
  return one_of(def, {&op::kQnnDense, &op::kQnnConv2d, &op::kQnnConv2dTranspose});
}
bool is_transposed(const op::OpDef* def) {
  return one_of(def, {&op::kConv2dTranspose, &op::kQnnConv2dTranspose});
}
bool is_convolution(const op::OpDef* def) {
  return is_transposed(def) || one_of(def, {&op::kConv2d, &op::kQnnConv2d});
}

const TensorType* tensor_type(Expr e) { return e->type ? e->type->as<TensorType>() : nullptr; }
bool is_cast_of_bytes(Expr e) {
  const auto* call = e->as<Call>();
  if (!call || op::callee(*call) != &op::kCast) return false;
  const TensorType* from = tensor_type(call->args[0]);
  return from && from->dtype == kInt8;
}

int64_t product_of(std::span<const int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

// The least and the largest sum of products of one number of 8 bits, or none, with each weight.
Range sums_of(const Layer& l, std::span<const int8_t> weights) {
  const bool transposed = l.kind == LayerKind::kTransposed;
  const auto window = static_cast<size_t>(l.rows.window * l.columns.window);
  const auto outs = static_cast<size_t>(l.out_channels), groups = static_cast<size_t>(l.groups);
  const size_t outs_each = outs / groups, ins_each = static_cast<size_t>(l.in_channels) / groups;
  std::vector<Range> sums(outs);
  for (size_t i = 0; i < weights.size(); i++) {
    const size_t at = i / window;  // O, I of a group; or I, O of a group
    const size_t out = transposed ? at / outs_each / ins_each * outs_each + at % outs_each : at / ins_each;
    const int64_t w = weights[i];
    sums[out].low += std::min(-128 * w, 127 * w);
    sums[out].high += std::max(-128 * w, 127 * w);
  }
  Range all;
  for (const Range& r : sums) all = {std::min(all.low, r.low), std::max(all.high, r.high)};
  return all;
}

class Beginner {
 public:
  Beginner(const Call& call, std::optional<size_t> by_channel, Diagnostics& d)
      : call_(call), def_(op::callee(call)), by_channel_(by_channel), d_(d) {}

  Result<Beginning> run() {
    if (!may_begin(call_)) return wrong("no layer begins with it");
    out_.layer.origin = origin_of(call_);
    const bool sum = def_ == &op::kSum && is_cast_of_bytes(call_.args[0]);
    out_.input = sum ? call_.args[0]->as<Call>()->args[0] : call_.args[0];
    if (!bytes(out_.input, "its input")) return kReported;
    data_ = known_tensor(out_.input);
    result_ = known_tensor(&call_);
    if (!data_ || !result_) return wrong("its shapes are not all known, or are empty");
    if (!result_->dtype.is_signed_int() || result_->dtype.bits > 32)
      return wrong(cat("its result is ", result_->dtype.name(), ", and sums are int32, int16 or int8"));
    if (!begin()) return kReported;
    return std::move(out_);
  }

 private:
  bool begin() {
    if (is_dense(def_)) return dense();
    if (is_convolution(def_)) return convolution();
    if (def_ == &op::kMaxPool2d) return max_pool();
    if (def_ == &op::kGlobalMaxPool2d) return global_max_pool();
    if (def_ == &op::kSum) return sum_pool();
    if (def_ == &op::kCast) return elementwise();
    return no("its means are rounded toward zero, and a VTA has no exact steps for that");
  }

  Reported wrong(std::string reason) {
    d_.error(call_.span, "vta-layer", cat("`", def_->name, "`: ", reason));
    return kReported;
  }
  bool no(std::string reason) {
    wrong(std::move(reason));
    return false;
  }

  bool bytes(Expr e, std::string_view what) {
    const TensorType* type = tensor_type(e);
    if (type && type->dtype == kInt8) return true;
    return no(cat(what, type ? cat(" is ", type->dtype.name()) : " is no tensor", ", and a VTA reads int8"));
  }

  // --- products ---

  // The weights, which are known, and stand for themselves.
  const Tensor* weights() {
    if (!bytes(call_.args[1], "its weight")) return nullptr;
    const auto* constant = call_.args[1]->as<Constant>();
    if (!constant) no("its weight is not a constant");
    if (!constant) return nullptr;
    for (size_t arg = 2; is_quantised(def_) && arg < call_.args.size(); arg++) {
      const auto* parameter = call_.args[arg]->as<Constant>();
      if (!parameter) {
        no(cat("argument ", arg, " is not a constant"));
        return nullptr;
      }
      const bool zero_point = arg < 4;
      for (int64_t i = 0; zero_point && i < parameter->value->size(); i++) {
        if (parameter->value->get_int(i) == 0) continue;
        no(cat("a zero point is ", parameter->value->get_int(i), ", and a VTA has none but 0"));
        return nullptr;
      }
    }
    return constant->value;
  }

  bool dense() {
    const Tensor* w = weights();
    if (!w) return false;
    const bool matmul = def_ == &op::kMatmul;
    const auto a =
        matmul ? op::read_attrs<op::MatmulAttrs>(call_.attrs) : op::MatmulAttrs{.transpose_b = true};
    if (a.transpose_a) return no("its left operand is transposed");
    const Shape extents = *data_->static_shape();
    const int64_t ins = extents.back(), outs = w->size() / ins;
    Layer& l = out_.layer;
    l.batch = product_of(std::span(extents).first(extents.size() - 1));
    l.in_channels = ins;
    l.out_channels = outs;
    for (int64_t i = 0; i < w->size(); i++)
      out_.weights.push_back(static_cast<int8_t>(w->get_int(a.transpose_b ? i : i % ins * outs + i / ins)));
    out_.sums = sums_of(l, out_.weights);
    out_.channels = result_->rank() - 1;
    return true;
  }

  bool convolution() {
    const Tensor* w = weights();
    if (!w) return false;
    const bool transposed = is_transposed(def_);
    const op::Convolution c =
        transposed ? op::read_convolution(op::read_attrs<op::TransposedConvolutionAttrs>(call_.attrs))
                   : op::read_convolution(op::read_attrs<op::ConvolutionAttrs>(call_.attrs));
    images(c.data);
    const auto kernel = op::parts(c.weight, w->shape());  // O, I, rows, columns
    Layer& l = out_.layer;
    l.kind = transposed ? LayerKind::kTransposed : LayerKind::kProduct;
    l.groups = c.groups;
    for (size_t k = 0; k < 2; k++) {
      Axis& axis = this->axis(k);
      axis.window = kernel[2 + k];
      axis.stride = c.window.stride[k];
      axis.dilation = c.window.dilation[k];
      axis.pad_before = c.window.before[k];
      axis.pad_after = c.window.after[k];
      if (transposed) axis.out_pad = result_extent(c.data, k) - out_size(l.kind, axis);
    }
    const auto step = op::strides_of(w->shape(), c.weight);
    const std::array<size_t, 2> order =
        transposed ? std::array<size_t, 2>{1, 0} : std::array<size_t, 2>{0, 1};
    for (int64_t a = 0; a < kernel[order[0]]; a++) {
      for (int64_t b = 0; b < kernel[order[1]]; b++) {
        for (int64_t y = 0; y < kernel[2]; y++) {
          for (int64_t x = 0; x < kernel[3]; x++)
            out_.weights.push_back(static_cast<int8_t>(
                w->get_int(a * step[order[0]] + b * step[order[1]] + y * step[2] + x * step[3])));
        }
      }
    }
    out_.sums = sums_of(l, out_.weights);
    return true;
  }

  // --- windows ---

  bool max_pool() {
    const op::Pool p = op::read_pool(op::read_attrs<op::MaxPoolAttrs>(call_.attrs));
    images(p.layout);
    out_.layer.kind = LayerKind::kMaxPool;
    out_.sums = range_of(kInt8);
    for (size_t k = 0; k < 2; k++) {
      Axis& axis = this->axis(k);
      axis.window = p.size[k];
      axis.stride = p.window.stride[k];
      axis.dilation = p.window.dilation[k];
      axis.pad_before = p.window.before[k];
      // With ceil_mode the last window may reach further. No padding counts.
      const int64_t reached = (result_extent(p.layout, k) - 1) * axis.stride + axis.reach();
      axis.pad_after = std::max(p.window.after[k], reached - axis.size - axis.pad_before);
    }
    return true;
  }

  bool global_max_pool() {
    const auto a = op::read_attrs<op::GlobalPoolAttrs>(call_.attrs);
    out_.layer.kind = LayerKind::kMaxPool;
    out_.sums = range_of(kInt8);
    whole_images(op::read_order("layout", a.layout, "NCHW"));
    return true;
  }

  // Sums over rows and columns, which are two neighbours of four axes.
  bool sum_pool() {
    const std::vector<bool> reduced =
        op::reduced_axes(op::read_attrs<op::ReduceAttrs>(call_.attrs), data_->rank());
    const bool nchw = reduced == std::vector<bool>{false, false, true, true};
    if (!nchw && reduced != std::vector<bool>{false, true, true, false})
      return no("it does not add up rows and columns of images");
    out_.layer.kind = LayerKind::kSumPool;
    whole_images(nchw ? op::Layout::plain("NCHW") : op::read_order("layout", "NHWC", "NCHW"));
    const int64_t count = out_.layer.rows.size * out_.layer.columns.size;
    out_.sums = {-128 * count, 127 * count};
    if (result_->rank() == 2) out_.channels = 1;
    return true;
  }

  void whole_images(const op::Layout& layout) {
    images(layout);
    for (size_t k = 0; k < 2; k++) axis(k).window = axis(k).size;
  }

  // --- what all have ---

  Axis& axis(size_t k) { return k == 0 ? out_.layer.rows : out_.layer.columns; }
  int64_t result_extent(const op::Layout& layout, size_t k) const {
    return result_->dims[layout.place(2 + k)].value();
  }

  // Images in this layout, and as many channels of the result.
  void images(const op::Layout& layout) {
    const std::array<Dim, 4> data = op::parts(layout, data_->dims);
    Layer& l = out_.layer;
    l.batch = data[0].value();
    l.in_channels = data[1].value();
    l.rows.size = data[2].value();
    l.columns.size = data[3].value();
    l.out_channels = result_->rank() == 4 ? result_->dims[layout.place(1)].value() : l.in_channels;
    out_.channels = layout.place(1);
    if (layout == op::Layout::plain("NCHW")) return;
    for (size_t k = 0; k < 4; k++) out_.axes.push_back(layout.place(k));
  }

  // One axis counts channels; those around it are images and pixels.
  bool elementwise() {
    const Shape extents = *data_->static_shape();
    Layer& l = out_.layer;
    l.kind = LayerKind::kElementwise;
    out_.sums = range_of(kInt8);
    if (extents.empty()) return true;
    const size_t channels = by_channel_.value_or(std::min<size_t>(1, extents.size() - 1));
    const std::span<const int64_t> all(extents);
    out_.channels = channels;
    l.batch = product_of(all.first(channels));
    l.in_channels = l.out_channels = extents[channels];
    const auto pixels = all.subspan(channels + 1);
    if (pixels.empty()) return true;
    l.rows.size = product_of(pixels.first(pixels.size() - 1));
    l.columns.size = pixels.back();
    return true;
  }

  const Call& call_;
  const op::OpDef* def_;
  std::optional<size_t> by_channel_;
  Diagnostics& d_;
  const TensorType *data_ = nullptr, *result_ = nullptr;
  Beginning out_ = {};
};

}  // namespace

bool may_begin(const Call& call) {
  const op::OpDef* def = op::callee(call);
  if (def == &op::kCast) {
    const TensorType* to = tensor_type(&call);
    return is_cast_of_bytes(&call) && to && to->dtype.is_signed_int() && to->dtype.bits > 8;
  }
  if (def == &op::kSum) return is_cast_of_bytes(call.args[0]);
  return is_dense(def) || is_convolution(def) ||
         one_of(def, {&op::kMaxPool2d, &op::kGlobalMaxPool2d, &op::kAvgPool2d, &op::kGlobalAvgPool2d});
}

Result<Beginning> begin_layer(const Call& call, std::optional<size_t> by_channel, Diagnostics& d) {
  return Beginner(call, by_channel, d).run();
}

Origin origin_of(const Call& call) { return {op::callee(call)->name, call.span}; }

const TensorType* known_tensor(Expr e) {
  const TensorType* t = tensor_type(e);
  const auto known = [](Dim d) { return d.is_const() && d.value() > 0; };
  return t && std::all_of(t->dims.begin(), t->dims.end(), known) ? t : nullptr;
}

}  // namespace relay::vta
