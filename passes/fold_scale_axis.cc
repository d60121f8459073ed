// fold-scale-axis: a multiplication by one constant for each channel goes into the weights of a
// convolution or a product.
//
//   multiply(nn.relu(nn.conv2d(%x, w)), c)   becomes   nn.relu(nn.conv2d(%x, c * w))   (backward)
//   nn.conv2d(nn.relu(multiply(%x, c)), w)   becomes   nn.conv2d(nn.relu(%x), w * c)   (forward)
//
// Weights are those of convolutions over images and volumes, transposed ones too, and of products.
// Those over lines are written out by `expand-operators`. On its way the
// factor crosses average pooling, zeros around an image, and other factors that must stay where
// they are: multiplications, and divisions by something. Backward it crosses additions, too, whose
// constants are multiplied. It crosses nn.relu, nn.leaky_relu and max pooling if it is positive.
// Each expression on the way must have this one use, and its constants must be known. A factor goes
// into both operands of an addition or into neither, and into one operand of a multiplication.
//
// The rules `scale-of-convolution` and `scale-of-dense` (rules/networks.rules) have the case in
// which nothing lies between. Weights are rounded once more than before, so the pass approximates:
// by u * sum |terms|, far within the bound of a convolution (docs/semantics.md, "Numbers"). So -O2
// runs it: of a batch normalisation only its addition is left for the run.
//
// A weight that several products read stays as it is, as each factor would make one more of it.
//
// Before: nothing is asked for; `inline-lets` goes before, as lets are not looked through.
// After: no such multiplication has a weight of its own that it could go into.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/views.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/nn/bias_add.h"
#include "op/nn/pad.h"
#include "op/nn/pooling.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/each_function.h"
#include "passes/pass.h"
#include "passes/rules/conditions.h"

namespace relay::passes {
namespace {

// More expressions are not crossed by one factor: it is looked for at every multiplication.
constexpr int kMostSteps = 64;

const TensorType* tensor_of(Expr e) { return e->type ? e->type->as<TensorType>() : nullptr; }

// Over images or volumes.
std::optional<analysis::ConvolutionView> convolution_view(Expr e) {
  auto view = analysis::convolution_view(e);
  return view ? view : analysis::volume_convolution_view(e);
}

// One number for each index along an axis.
struct Scale {
  size_t axis;
  std::vector<double> factors;

  bool is_positive() const {
    for (const double f : factors) {
      if (f <= 0) return false;
    }
    return true;
  }
  // As a tensor that broadcasts to what has this rank.
  Tensor as_tensor(DType dtype, size_t rank) const {
    Shape shape(rank - axis, 1);
    shape[0] = static_cast<int64_t>(factors.size());
    return Tensor::of<double>(dtype, shape, factors);
  }
};

// The factors of a constant that a tensor of this type is multiplied by: they differ along one axis
// at most, and are finite.
std::optional<Scale> scale_of(const Tensor& c, const TensorType& type) {
  if (!type.dtype.is_float() || c.rank() > type.rank() || c.size() == 0) return std::nullopt;
  std::optional<size_t> axis;
  for (size_t i = 0; i < c.rank(); ++i) {
    if (c.shape()[i] == 1) continue;
    if (axis) return std::nullopt;
    axis = type.rank() - c.rank() + i;
  }
  if (!axis || type.dims[*axis] != Dim(c.size())) return std::nullopt;
  Scale out{*axis, c.doubles()};
  for (const double f : out.factors) {
    if (!std::isfinite(f)) return std::nullopt;
  }
  return out;
}

// Is the product of x and a factor, rounded, a good weight? Not if it became infinite, or so small
// that it is no normal number.
bool is_good(double x, double by, double rounded, double least) {
  if (std::isfinite(x) && !std::isfinite(rounded)) return false;
  return x == 0 || by == 0 || !(std::fabs(rounded) < least);
}

// Multiplies elements [begin, end) by one factor. Returns whether all products are good.
bool scale_run(const Tensor& t, Tensor& out, int64_t begin, int64_t end, double by, double least) {
  bool good = true;
  if (t.dtype() == kFloat32) {  // most weights: large enough for this to be seen in compile times
    const float* x = t.as<float>().data();
    float* y = out.as<float>().data();
    for (int64_t i = begin; i < end; ++i) {
      y[i] = static_cast<float>(x[i] * by);
      good &= is_good(x[i], by, y[i], least);
    }
    return good;
  }
  for (int64_t i = begin; i < end; ++i) {
    out.set(i, t.get(i) * by);
    good &= is_good(t.get(i), by, out.get(i), least);
  }
  return good;
}

// `t` with the element at an index multiplied by `factor(index)`, which looks at no axis behind
// `last`. Null if a product is no good weight.
Expr scaled(relay::Builder& b, const Tensor& t, size_t last,
            const std::function<double(std::span<const int64_t>)>& factor) {
  Tensor out(t.dtype(), t.shape());
  const double least = std::ldexp(1, -rules::least_exponent(t.dtype()));
  int64_t run = 1;  // elements that have one factor
  for (size_t axis = last + 1; axis < t.rank(); ++axis) run *= t.shape()[axis];
  Shape index(t.rank(), 0);
  for (int64_t i = 0; i < t.size(); i += run) {
    if (!scale_run(t, out, i, i + run, factor(index), least)) return nullptr;
    for (size_t axis = last + 1; axis-- > 0;) {
      if (++index[axis] < t.shape()[axis]) break;
      index[axis] = 0;
    }
  }
  return b.constant(std::move(out));
}

class Folder {
 public:
  Folder(const Module& m, Expr root) : context_(m.context()), b_(m.context()), root_(root) {}

  Expr run() {
    const Scopes s = scopes(root_);
    NodeMap<Expr> now;
    for (Expr e : post_order(root_)) {
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
      Expr rebuilt = with_children(context_, e, children);
      if (const Expr folded = fold(rebuilt)) rebuilt = folded;
      if (s.uses.get(e) == 1) once_.insert(rebuilt);
      now[e] = rebuilt;
    }
    return now.get(root_);
  }

 private:
  struct Factor {
    Expr data;
    Scale scale;
  };

  // A multiplication by a constant for each channel.
  std::optional<Factor> factor_of(Expr e) {
    const auto* call = e->as<Call>();
    if (!call || op::callee(*call) != &op::kMultiply || !tensor_of(e)) return std::nullopt;
    for (const size_t i : {0, 1}) {
      const auto* c = call->args[1 - i]->as<Constant>();
      if (!c || call->args[i]->type != e->type) continue;
      if (auto scale = scale_of(*c->value, *tensor_of(e))) return Factor{call->args[i], *scale};
    }
    return std::nullopt;
  }

  // The expression with a factor folded; null if there is none to fold.
  Expr fold(Expr e) {
    const auto* call = e->as<Call>();
    if (!call || !op::callee(*call) || !e->type) return nullptr;
    const SpanScope at(b_, e->span);
    if (const auto factor = factor_of(e)) {
      steps_ = kMostSteps;
      return backward(factor->data, factor->scale);
    }
    if (!convolution_view(e) && !analysis::product_view(e)) return nullptr;
    steps_ = kMostSteps;
    Expr folded = nullptr;
    // One factor after the other, as long as there is one.
    while (const Expr more = folded_input(*(folded ? folded : e)->as<Call>())) folded = more;
    return folded;
  }

  Expr folded_input(const Call& call) {
    const auto input = without_factor(call.args[0], /*positive=*/false);
    return input ? forward(call, *input) : nullptr;
  }

  bool may_cross(Expr e) { return once_.contains(e) && tensor_of(e) && steps_-- > 0; }

  bool is_proved(const Call& call) {
    return analysis::fit_of(context_, call, *op::callee(call)) == analysis::Fit::kProved;
  }

  // The call with another operand; null if it then has another type.
  Expr with_arg(const Call& call, size_t i, Expr arg) {
    std::vector<Expr> args(call.args.begin(), call.args.end());
    args[i] = arg;
    return call_of(call, args);
  }
  Expr call_of(const Call& call, const std::vector<Expr>& args) {
    const SpanScope at(b_, call.span);
    try {
      const Expr now = op::call(b_, *op::callee(call), args, op::attr_args(call.attrs));
      return now->type == call.type ? now : nullptr;
    } catch (const op::RelationError&) {
      return nullptr;
    }
  }

  // Is there a factor for each channel of what the call pools?
  template <class Attrs>
  static bool pools_channels(const Call& call, const Scale& s) {
    return op::read_pool(op::read_attrs<Attrs>(call.attrs)).layout.place(1) == s.axis;
  }

  // Does the operator give the same for scaled data, scaled?
  static bool keeps_factors(const Call& call, const Scale& s) {
    const op::OpDef* def = op::callee(call);
    if (def == &op::kRelu || def == &op::kLeakyRelu) return s.is_positive();
    if (def == &op::kMaxPool2d) return s.is_positive() && pools_channels<op::MaxPoolAttrs>(call, s);
    if (def == &op::kMaxPool3d) return s.is_positive() && pools_channels<op::MaxPool3dAttrs>(call, s);
    if (def == &op::kAvgPool2d) return pools_channels<op::AvgPoolAttrs>(call, s);
    return def == &op::kAvgPool3d && pools_channels<op::AvgPool3dAttrs>(call, s);
  }

  // Does nn.pad put zeros around, and nothing along the axis of the factors?
  static bool pads_zeros(const Call& call, const Scale& s) {
    if (op::callee(call) != &op::kPad) return false;
    const auto* value = call.args[1]->as<Constant>();
    const auto attrs = op::read_attrs<op::PadAttrs>(call.attrs);
    if (attrs.pad_mode != "constant") return s.axis < attrs.pad_width.axes.size() && pads_nothing(attrs, s);
    return value && value->value->get(0) == 0 && pads_nothing(attrs, s);
  }
  static bool pads_nothing(const op::PadAttrs& attrs, const Scale& s) {
    const auto& [before, after] = attrs.pad_width.axes[s.axis];
    return before == Dim(0) && after == Dim(0);
  }

  // e * s without the multiplication; null if the factors have nowhere to go.
  Expr backward(Expr e, const Scale& s) {
    if (const auto* c = e->as<Constant>()) return scaled_constant(*c, s);
    const auto* call = e->as<Call>();
    if (!call || !op::callee(*call) || !may_cross(e) || !is_proved(*call)) return nullptr;
    if (const Expr weight = scaled_outputs(e, s)) {
      once_.insert(weight);
      return with_arg(*call, 1, weight);
    }
    const op::OpDef* def = op::callee(*call);
    if (keeps_factors(*call, s) || pads_zeros(*call, s)) {
      const Expr data = operand(call->args[0], s);
      return data ? with_arg(*call, 0, data) : nullptr;
    }
    if (def == &op::kBiasAdd) {
      const auto* bias = call->args[1]->as<Constant>();
      const int64_t axis = op::read_attrs<op::BiasAddAttrs>(call->attrs).axis;
      if (!bias || (axis < 0 ? axis + static_cast<int64_t>(tensor_of(e)->rank()) : axis) !=
                       static_cast<int64_t>(s.axis))
        return nullptr;
      const Expr data = operand(call->args[0], s);
      const Expr scaled_bias = data ? scaled_along(*bias->value, 0, s) : nullptr;
      return scaled_bias ? call_of(*call, {data, scaled_bias}) : nullptr;
    }
    if (def == &op::kAdd || def == &op::kSubtract) return backward_sum(*call, s);
    if (def == &op::kMultiply || def == &op::kDivide) return backward_product(*call, s);
    return nullptr;
  }

  // One operand takes the factors: it has the type of the product, and is no divisor.
  Expr backward_product(const Call& call, const Scale& s) {
    for (const size_t i : {0, 1}) {
      if (call.args[i]->type != call.type || (i == 1 && op::callee(call) == &op::kDivide)) continue;
      if (call.args[i]->as<Constant>()) continue;  // a factor that stayed takes no other one
      if (const Expr now = operand(call.args[i], s)) return with_arg(call, i, now);
    }
    return nullptr;
  }

  // Both operands take the factors. One of them is a constant or has the type of the sum.
  Expr backward_sum(const Call& call, const Scale& s) {
    std::vector<Expr> args;
    for (const Expr arg : call.args) {
      const auto* c = arg->as<Constant>();
      const Expr now = c                        ? broadcast_constant(*c->value, s, *tensor_of(&call))
                       : arg->type == call.type ? operand(arg, s)
                                                : nullptr;
      if (!now) return nullptr;
      args.push_back(now);
    }
    return call_of(call, args);
  }

  // The same of what one expression reads.
  Expr operand(Expr e, const Scale& s) {
    const Expr now = backward(e, s);
    if (now) once_.insert(now);
    return now;
  }

  Expr scaled_constant(const Constant& c, const Scale& s) { return scaled_along(*c.value, s.axis, s); }
  Expr scaled_along(const Tensor& t, size_t axis, const Scale& s) {
    return scaled(b_, t, axis, [&](std::span<const int64_t> index) {
      return s.factors[static_cast<size_t>(index[axis])];
    });
  }

  // The constant of a sum of this type, which may be smaller than the sum, times the factors.
  Expr broadcast_constant(const Tensor& t, const Scale& s, const TensorType& sum) {
    const std::vector<Value> args{Value(t), Value(s.as_tensor(t.dtype(), sum.rank()))};
    const Tensor out = op::evaluate(context_, op::kMultiply, args, {}).tensor();
    for (int64_t i = 0; i < out.size(); ++i) {
      if (!std::isfinite(out.get(i))) return nullptr;
    }
    return b_.constant(out);
  }

  // The number of a channel that a weight has within each group. The channels along `axis` are the
  // groups' one after the other, and so are those that the number is of.
  static size_t of_groups(const Tensor& w, size_t axis, int64_t at, size_t within_axis, int64_t within,
                          const analysis::ConvolutionView& view) {
    const int64_t per_group = w.shape()[axis] / view.convolution.groups;
    return static_cast<size_t>(at / per_group * w.shape()[within_axis] + within);
  }

  // Is it a weight that nobody else reads? Scaled, a weight of several would be one more of them.
  bool is_own(const Constant* weight) const { return weight && once_.contains(weight); }

  // The weight whose results are multiplied by the factors; null if they are no channels of it.
  Expr scaled_outputs(Expr e, const Scale& s) {
    if (const auto view = convolution_view(e)) {
      if (!is_own(view->weight()) || view->convolution.data.place(1) != s.axis) return nullptr;
      const Tensor& w = *view->weight()->value;
      const size_t out = view->convolution.weight.place(0), in = view->convolution.weight.place(1);
      if (!view->transposed) return scaled_along(w, out, s);
      return scaled(b_, w, std::max(in, out),
                    [&](auto i) { return s.factors[of_groups(w, in, i[in], out, i[out], *view)]; });
    }
    const auto view = analysis::product_view(e);
    if (!view || !is_own(view->weight()) || view->batched || s.axis + 1 != view->result->rank())
      return nullptr;
    return scaled_along(*view->weight()->value, view->column_axis(), s);
  }

  // Data that would be multiplied after all on the way to a weight, and the factors. `positive`:
  // what lies between takes no others.
  std::optional<Factor> without_factor(Expr e, bool positive) {
    if (!may_cross(e)) return std::nullopt;
    auto factor = factor_of(e);
    if (factor && (!positive || factor->scale.is_positive())) return factor;
    const auto* call = e->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    if (!def || !is_proved(*call)) return std::nullopt;
    const bool product = def == &op::kMultiply || def == &op::kDivide;
    for (const size_t i : {0, 1}) {
      if (i == 1 && def != &op::kMultiply) break;
      if (product && call->args[i]->type != e->type) continue;
      const bool activation =
          def == &op::kRelu || def == &op::kLeakyRelu || def == &op::kMaxPool2d || def == &op::kMaxPool3d;
      const bool average = def == &op::kAvgPool2d || def == &op::kAvgPool3d;
      if (!product && !activation && !average && def != &op::kPad) continue;
      auto inner = without_factor(call->args[i], positive || activation);
      if (!inner || !(product || keeps_factors(*call, inner->scale) || pads_zeros(*call, inner->scale)))
        continue;
      inner->data = with_arg(*call, i, inner->data);
      if (inner->data) once_.insert(inner->data);
      return inner->data ? inner : std::nullopt;
    }
    return std::nullopt;
  }

  // The convolution or product on data without the factors, which are in its weight.
  Expr forward(const Call& call, const Factor& input) {
    if (!is_proved(call)) return nullptr;
    const Expr weight = scaled_inputs(&call, input.scale);
    if (weight) once_.insert(weight);
    return weight ? call_of(call, {input.data, weight}) : nullptr;
  }

  Expr scaled_inputs(Expr e, const Scale& s) {
    if (const auto view = convolution_view(e)) {
      if (!is_own(view->weight()) || view->convolution.data.place(1) != s.axis) return nullptr;
      const Tensor& w = *view->weight()->value;
      const size_t out = view->convolution.weight.place(0), in = view->convolution.weight.place(1);
      if (view->transposed) return scaled_along(w, in, s);
      return scaled(b_, w, std::max(in, out),
                    [&](auto i) { return s.factors[of_groups(w, out, i[out], in, i[in], *view)]; });
    }
    const auto view = analysis::product_view(e);
    if (!view || !is_own(view->weight()) || view->left_transposed || s.axis + 1 != view->left->rank())
      return nullptr;
    return scaled_along(*view->weight()->value, view->term_axis(), s);
  }

  Context& context_;
  relay::Builder b_;
  Expr root_;
  std::unordered_set<Expr> once_;  // expressions of the result that one other reads
  int steps_ = 0;
};

}  // namespace

const Pass kFoldScaleAxis = {
    .name = "fold-scale-axis",
    .doc = "let weights take the constants by which channels are multiplied before or behind them",
    .approximates = true,
    .skips_lets = true,
    .run =
        [](const Module& m, const PassContext&) {
          return with_each_function(m, [&](const Fn* fn) { return Folder(m, fn).run(); });
        },
};

}  // namespace relay::passes
