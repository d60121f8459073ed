// convert-layout: convolutions and pooling take and give images and volumes in the layout that is
// asked for.
//
//   nn.relu(nn.conv2d(%x, w))       becomes
//   %0 = nn.conv2d(transpose(%x, axes=[0, 2, 3, 1]), w', data_layout="NHWC", kernel_layout="HWIO");
//   transpose(nn.relu(%0), axes=[0, 3, 1, 2])
//
// The layout goes along: element-wise operators, nn.bias_add, nn.prelu, nn.batch_norm,
// concatenation, nn.pad and reductions take what they read as it lies, and compute along other
// axes. So each such value has two forms, and only what is asked for is computed: transposes stand
// where a network begins and ends, and those of the program that undo them go. Weights of nn.conv2d
// and nn.conv3d are brought into the layout that belongs to the data's, HWIO to NHWC and OIHW to
// NCHW. Operators on lines, such as nn.conv1d, are written out in those on images by
// `expand-operators`.
//
// `fuse`, `block-channels` and the schedules know NCHW best. The pass is for what takes NHWC:
// libraries, accelerators, and models that are to be compared with such. Sums may be added up in
// another order.
//
// Before: lets are not looked through, so `inline-lets` goes before. After: convolutions, also
// transposed ones, and pooling by maximum and average are in the layout, over images and volumes.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/effects.h"
#include "base/cat.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/nn/batch_norm.h"
#include "op/nn/bias_add.h"
#include "op/nn/convolution.h"
#include "op/nn/global_pool2d.h"
#include "op/nn/pad.h"
#include "op/nn/pooling.h"
#include "op/nn/prelu.h"
#include "op/ops.h"
#include "op/reduce/reduction.h"
#include "op/registry.h"
#include "op/tensor/common.h"
#include "op/tensor/join.h"
#include "op/tensor/transpose.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

using Axes = std::vector<int64_t>;

// A value with its dims in another order: dim i of `e` is dim axes[i] of the value.
struct Form {
  Expr e;
  Axes axes;
};

bool in_order(const Axes& axes) { return std::is_sorted(axes.begin(), axes.end()); }

Axes inverse(const Axes& axes) {
  Axes out(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) out[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  return out;
}

// Dim i is dim of[by[i]].
template <class T>
std::vector<T> permuted(const std::vector<T>& of, const Axes& by) {
  std::vector<T> out;
  for (int64_t axis : by) out.push_back(of[static_cast<size_t>(axis)]);
  return out;
}

// From a layout to another one of the same letters.
Axes between(const std::string& from, const std::string& to) {
  Axes out;
  for (char letter : to) out.push_back(static_cast<int64_t>(from.find(letter)));
  return out;
}

const TensorType* tensor_of(Expr e) { return e->type ? e->type->as<TensorType>() : nullptr; }

// The attributes with others in the place of some. An attribute without a value goes.
std::vector<AttrArg> changed(const Attrs& attrs, const std::vector<AttrArg>& by) {
  std::vector<AttrArg> out = op::attr_args(attrs);
  for (const AttrArg& now : by) {
    std::erase_if(out, [&](const AttrArg& a) { return a.name == now.name; });
    if (!std::holds_alternative<NoAttr>(now.value)) out.push_back(now);
  }
  return out;
}

// The operator on a constant, evaluated at once, or on any other value.
Expr applied(Builder& b, const op::OpDef& op, Expr e, const std::vector<AttrArg>& attrs) {
  return e->as<Constant>() ? op::packed(b, op, e, attrs) : op::call(b, op, {e}, attrs);
}

class LayoutConverter {
 public:
  LayoutConverter(bool channels_last, bool weights)
      : channels_last_(channels_last), convert_weights_(weights) {}

  Expr rewrite(Builder& b, Expr e) {
    const SpanScope at(b, e->span);
    try {
      if (const auto* proj = e->as<Proj>()) return projection(b, *proj);
      const auto* call = e->as<Call>();
      const op::OpDef* def = call ? op::callee(*call) : nullptr;
      if (!def || !tensor_of(call)) return e;
      if (def == &op::kTranspose) return transposition(b, *call);
      const std::optional<Form> form = converted(b, *call, *def);
      if (!form) return e;
      const Expr now = original(b, *form);
      return now->type == e->type ? now : e;
    } catch (const op::RelationError&) {
      return e;  // what the types do not say yet, the operator in another layout may ask
    }
  }

 private:
  // The call in the layout; nothing if it stays.
  std::optional<Form> converted(Builder& b, const Call& call, const op::OpDef& def) {
    if (&def == &op::kConv2d) return convolution<op::ConvolutionAttrs>(b, call, def);
    if (&def == &op::kConv3d) return convolution<op::Conv3dAttrs>(b, call, def);
    if (&def == &op::kConv2dTranspose) return transposed<op::TransposedConvolutionAttrs>(b, call, def);
    if (&def == &op::kConv3dTranspose) return transposed<op::Conv3dTransposeAttrs>(b, call, def);
    if (&def == &op::kMaxPool2d) return pooling<op::MaxPoolAttrs>(b, call, def);
    if (&def == &op::kAvgPool2d) return pooling<op::AvgPoolAttrs>(b, call, def);
    if (&def == &op::kMaxPool3d) return pooling<op::MaxPool3dAttrs>(b, call, def);
    if (&def == &op::kAvgPool3d) return pooling<op::AvgPool3dAttrs>(b, call, def);
    if (&def == &op::kGlobalMaxPool2d || &def == &op::kGlobalAvgPool2d) {
      const auto a = op::read_attrs<op::GlobalPoolAttrs>(call.attrs);
      return image_operator(b, call, def, {"layout", a.layout, a.out_layout, "HW"});
    }
    if (&def == &op::kConcatenate) return concatenation(b, call);
    if (&def == &op::kPad) return padding(b, call);
    if (&def == &op::kBiasAdd) return along_axis<op::BiasAddAttrs>(b, call, def);
    if (&def == &op::kPRelu) return along_axis<op::PReluAttrs>(b, call, def);
    if (&def == &op::kMean || &def == &op::kSum || &def == &op::kMax || &def == &op::kMin)
      return reduction(b, call, def);
    const bool elementwise =
        def.fusion <= op::Fusion::kBroadcast && def.lower && !analysis::may_trap_on_values(call, def);
    return elementwise ? this->elementwise(b, call, def) : std::nullopt;
  }

  // --- forms -----------------------------------------------------------------------------------

  const Form* known(Expr e) const {
    const auto it = forms_.find(e);
    return it == forms_.end() ? nullptr : &it->second;
  }

  // Where an axis of the value, from the end if it is negative, is in the form.
  static int64_t place(const Form& x, int64_t axis) {
    const auto rank = static_cast<int64_t>(x.axes.size());
    return inverse(x.axes)[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  }

  // The value with its dims in their order.
  Expr original(Builder& b, const Form& form) {
    if (in_order(form.axes)) return form.e;
    const Expr e = op::transposed(b, form.e, inverse(form.axes));
    forms_[e] = form;
    return e;
  }

  // The value with its dims in the order `axes`.
  Expr in_form(Builder& b, Expr e, const Axes& axes) {
    Expr& now = made_[{e, axes}];
    if (now) return now;
    if (const Form* form = known(e)) {
      now = op::transposed(b, form->e, permuted(inverse(form->axes), axes));
    } else if (const auto* call = e->as<Call>(); call && op::callee(*call) == &op::kTranspose) {
      now = op::transposed(b, call->args[0], permuted(axes_of(*call), axes));
    } else if (e->as<Constant>() && !in_order(axes)) {
      now = op::packed(b, op::kTranspose, e, {{"axes", axes}});
    } else {
      now = op::transposed(b, e, axes);
    }
    return now;
  }

  static Axes axes_of(const Call& transpose) {
    const std::vector<size_t> axes = op::transposed_axes(op::read_attrs<op::TransposeAttrs>(transpose.attrs),
                                                         tensor_of(&transpose)->rank());
    return {axes.begin(), axes.end()};
  }

  // Of a value that is known in another order: one transpose, or none.
  Expr transposition(Builder& b, const Call& call) {
    const Form* x = known(call.args[0]);
    if (!x) return &call;
    const Axes axes = permuted(inverse(x->axes), axes_of(call));
    const Expr now = op::transposed(b, x->e, axes);
    return now->type == call.type ? now : &call;
  }

  // --- operators that have a layout ------------------------------------------------------------

  // What a call says of the layouts of its images.
  struct Images {
    std::string attribute, layout, out_layout;
    std::string spatial;  // the letters of the spatial axes
  };

  std::optional<Form> image_operator(Builder& b, const Call& call, const op::OpDef& def, const Images& says,
                                     std::vector<Expr> args = {}, std::vector<AttrArg> attrs = {}) {
    const std::string wanted = channels_last_ ? cat("N", says.spatial, "C") : cat("NC", says.spatial);
    const std::string& gives = says.out_layout.empty() ? says.layout : says.out_layout;
    const bool same = attrs.empty() && says.layout == wanted && gives == wanted;
    if (same || says.layout.size() != wanted.size() || gives.size() != wanted.size()) return std::nullopt;
    if (args.empty()) args.assign(call.args.begin(), call.args.end());
    args[0] = in_form(b, args[0], between(says.layout, wanted));
    attrs.push_back({says.attribute, wanted});
    attrs.push_back({"out_layout", NoAttr()});
    return Form{op::call(b, def, args, changed(call.attrs, attrs)), between(gives, wanted)};
  }

  template <class Attrs>
  std::optional<Form> convolution(Builder& b, const Call& call, const op::OpDef& def) {
    const auto a = op::read_attrs<Attrs>(call.attrs);
    const Images says{"data_layout", a.data_layout, a.out_layout, a.spatial};
    const std::string wanted = channels_last_ ? cat(a.spatial, "IO") : cat("OI", a.spatial);
    if (!convert_weights_ || a.kernel_layout == wanted || a.kernel_layout.size() != wanted.size())
      return image_operator(b, call, def, says);
    const Expr weight = in_form(b, call.args[1], between(a.kernel_layout, wanted));
    return image_operator(b, call, def, says, {call.args[0], weight}, {{"kernel_layout", wanted}});
  }

  template <class Attrs>
  std::optional<Form> transposed(Builder& b, const Call& call, const op::OpDef& def) {
    const auto a = op::read_attrs<Attrs>(call.attrs);
    return image_operator(b, call, def, {"data_layout", a.data_layout, a.out_layout, a.spatial});
  }

  template <class Attrs>
  std::optional<Form> pooling(Builder& b, const Call& call, const op::OpDef& def) {
    const auto a = op::read_attrs<Attrs>(call.attrs);
    return image_operator(b, call, def, {"layout", a.layout, a.out_layout, a.spatial});
  }

  // --- operators that take it over -------------------------------------------------------------

  // An operator on each element of an image and the element of a line that is in the same place
  // along one axis.
  template <class Attrs>
  std::optional<Form> along_axis(Builder& b, const Call& call, const op::OpDef& def) {
    const Form* x = known(call.args[0]);
    if (!x) return std::nullopt;
    const int64_t axis = op::read_attrs<Attrs>(call.attrs).axis;
    const std::vector<AttrArg> attrs = changed(call.attrs, {{"axis", place(*x, axis)}});
    return Form{op::call(b, def, {x->e, call.args[1]}, attrs), x->axes};
  }

  std::optional<Form> concatenation(Builder& b, const Call& call) {
    const auto* parts = call.args[0]->as<Tuple>();
    if (!parts) return std::nullopt;
    const auto first =
        std::find_if(parts->fields.begin(), parts->fields.end(), [&](Expr e) { return known(e); });
    if (first == parts->fields.end()) return std::nullopt;
    const Form like = *known(*first);
    std::vector<Expr> now;
    std::vector<Type> types;
    for (Expr e : parts->fields) {
      now.push_back(in_form(b, e, like.axes));
      types.push_back(now.back()->type);
    }
    const int64_t axis = place(like, op::read_attrs<op::ConcatenateAttrs>(call.attrs).axis);
    const Expr tuple = b.with_type(b.tuple(now), b.context().tuple_type(types));
    return Form{op::call(b, op::kConcatenate, {tuple}, {{"axis", axis}}), like.axes};
  }

  std::optional<Form> padding(Builder& b, const Call& call) {
    const Form* x = known(call.args[0]);
    if (!x) return std::nullopt;
    const auto a = op::read_attrs<op::PadAttrs>(call.attrs);
    std::vector<Expr> args(call.args.begin(), call.args.end());
    args[0] = x->e;
    const auto widths = op::pad_width(b.context(), permuted(a.pad_width.axes, x->axes));
    return Form{op::call(b, op::kPad, args, changed(call.attrs, {{"pad_width", widths}})), x->axes};
  }

  std::optional<Form> reduction(Builder& b, const Call& call, const op::OpDef& def) {
    const Form* found = known(call.args[0]);
    if (!found) return std::nullopt;
    const Form x = *found;
    const auto a = op::read_attrs<op::ReduceAttrs>(call.attrs);
    const std::vector<bool> reduced = op::reduced_axes(a, x.axes.size());
    Axes along, left;
    for (size_t i = 0; i < x.axes.size(); ++i) {
      const bool goes = reduced[static_cast<size_t>(x.axes[i])];
      if (goes) along.push_back(static_cast<int64_t>(i));
      if (!goes) left.push_back(x.axes[i]);
    }
    const Expr now = op::call(b, def, {x.e}, changed(call.attrs, {{"axis", along}, {"exclude", NoAttr()}}));
    if (a.keepdims) return Form{now, x.axes};
    // The axes that are left are counted anew.
    Axes sorted = left;
    std::sort(sorted.begin(), sorted.end());
    for (int64_t& axis : left) axis = std::lower_bound(sorted.begin(), sorted.end(), axis) - sorted.begin();
    return Form{now, left};
  }

  std::optional<Form> elementwise(Builder& b, const Call& call, const op::OpDef& def) {
    const size_t rank = tensor_of(&call)->rank();
    const auto first = std::find_if(call.args.begin(), call.args.end(),
                                    [&](Expr e) { return known(e) && known(e)->axes.size() == rank; });
    if (first == call.args.end()) return std::nullopt;
    for (const Attr& a : call.attrs) {
      // It speaks of the axes in their order.
      if (a.name == "axis" || a.value.kind == AttrKind::kList) return std::nullopt;
    }
    const Axes axes = known(*first)->axes;
    std::vector<Expr> args;
    for (Expr e : call.args) {
      const Expr now = operand(b, e, axes);
      if (!now) return std::nullopt;
      args.push_back(now);
    }
    return Form{op::call(b, def, args, op::attr_args(call.attrs)), axes};
  }

  // An operand that broadcasts in the other order as it did. Null if it is no tensor.
  Expr operand(Builder& b, Expr e, const Axes& axes) {
    const TensorType* type = tensor_of(e);
    if (!type || type->rank() > axes.size()) return nullptr;
    if (type->rank() == 0) return e;
    if (type->rank() == axes.size() && (known(e) || !is_line(*type))) return in_form(b, e, axes);
    std::vector<Dim> shape(axes.size() - type->rank(), Dim(1));
    shape.insert(shape.end(), type->dims.begin(), type->dims.end());
    const auto reshaped = [&](Expr from, std::vector<Dim> to) {
      return applied(b, op::kReshape, from, {{"newshape", std::move(to)}, {"allowzero", true}});
    };
    // Elements along one axis are in the same order in each of its places.
    return is_line(*type) ? reshaped(e, permuted(shape, axes)) : in_form(b, reshaped(e, shape), axes);
  }

  static bool is_line(const TensorType& type) {
    return std::count_if(type.dims.begin(), type.dims.end(), [](Dim d) { return d != Dim(1); }) <= 1;
  }

  // nn.batch_norm gives a tuple: the image is its first field.
  Expr projection(Builder& b, const Proj& proj) {
    const auto* call = proj.tuple->as<Call>();
    if (!call || op::callee(*call) != &op::kBatchNorm || !proj.type) return &proj;
    const Form* found = known(call->args[0]);
    if (!found) return &proj;
    const Form x = *found;
    Expr& now = made_[{call, x.axes}];
    if (!now) {
      std::vector<Expr> args(call->args.begin(), call->args.end());
      args[0] = x.e;
      const int64_t axis = op::read_attrs<op::BatchNormAttrs>(call->attrs).axis;
      now = op::call(b, op::kBatchNorm, args, changed(call->attrs, {{"axis", place(x, axis)}}));
    }
    const Expr field = b.proj(now, proj.index);
    return proj.index == 0 ? original(b, {field, x.axes}) : field;
  }

  const bool channels_last_, convert_weights_;
  std::unordered_map<Expr, Form> forms_;        // of values that are known in another order
  std::map<std::pair<Expr, Axes>, Expr> made_;  // by value and order; looked up, never gone through
};

Module run(const Module& m, const PassContext& pass) {
  LayoutConverter converter(pass.value("channels-last") != 0, pass.value("weights") != 0);
  return rewrite(m, [&](relay::Builder& b, Expr e) { return converter.rewrite(b, e); });
}

}  // namespace

const Pass kConvertLayout = {
    .name = "convert-layout",
    .doc = "bring convolutions and pooling into one layout, with transposes around them",
    .parameters = {{"channels-last", 1, "1: NHWC and NDHWC; 0: NCHW and NCDHW", 0, 1},
                   {"weights", 1, "1: those of nn.conv2d and nn.conv3d, too; 0: they stay as they lie", 0,
                    1}},
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
