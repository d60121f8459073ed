#include "analysis/dnnl_steps.h"

#include <algorithm>

#include "analysis/effects.h"
#include "base/cat.h"
#include "op/apply.h"
#include "op/nn/bias_add.h"
#include "op/ops.h"
#include "op/registry.h"

namespace relay::analysis {
namespace {

// What is wrong with a tensor of the step; empty if nothing is.
std::string wrong_tensor(std::string_view what, Type type) {
  const auto* t = type ? type->as<TensorType>() : nullptr;
  if (!t) return cat("has ", what, " that is no tensor");
  if (t->dtype != kFloat32)
    return cat("has ", what, " of ", t->dtype.name(), ", and only float32 goes there");
  const std::optional<Shape> shape = t->static_shape();
  if (!shape) return cat("has ", what, " whose shape is not constant");
  if (element_count(*shape).value_or(0) == 0) return cat("has ", what, " without elements");
  return {};
}

// Does `bias` hold one number for each index along the axis of the result, so that adding it
// repeats them along all others?
bool is_vector_along(const TensorType& bias, const TensorType& result, size_t axis) {
  const size_t behind = result.rank() - 1 - axis;
  if (bias.rank() <= behind || bias.rank() > result.rank()) return false;
  for (size_t i = 0; i < bias.rank(); ++i) {
    const Dim wanted = i + behind + 1 == bias.rank() ? result.dims[axis] : Dim(1);
    if (bias.dims[i] != wanted) return false;
  }
  return true;
}

class Reading {
 public:
  Reading(Context& context, std::string& why) : context_(context), why_(why) {}

  std::optional<DnnlStep> read(Expr result) {
    DnnlStep step;
    Expr e = result;
    if (op::callee(e) == &op::kRelu) {
      step.relu = true;
      e = e->as<Call>()->args[0];
    }
    const auto* sum = e->as<Call>();
    if (!sum) return refuse("applies `nn.relu` to something else than the result of an operator");
    if (!is_anchor(e)) e = take_bias(*sum, step);
    if (!e) return std::nullopt;
    step.product = product_view(e);
    if (!step.product) step.convolution = convolution_view(e);
    const std::string wrong = step.product ? wrong_product(step) : wrong_convolution(step);
    if (!wrong.empty()) return refuse(wrong);
    if (step.bias && !fits_bias(step, *sum))
      return refuse("adds something else than a number for each channel or column");
    return step;
  }

 private:
  std::nullopt_t refuse(std::string why) {
    why_ = std::move(why);
    return std::nullopt;
  }

  static bool is_anchor(Expr e) { return product_view(e) || convolution_view(e); }

  // The product or convolution that something is added to; null, with the reason, if there is none.
  Expr take_bias(const Call& sum, DnnlStep& step) {
    const op::OpDef* def = op::callee(sum);
    if (def != &op::kAdd && def != &op::kBiasAdd) {
      why_ = cat("ends with ", def ? cat("`", def->name, "`") : "a call", ", and not with a product, a ",
                 "convolution, a bias or `nn.relu`");
      return nullptr;
    }
    const bool swapped = def == &op::kAdd && !is_anchor(sum.args[0]);
    const Expr anchor = sum.args[swapped ? 1 : 0];
    if (!is_anchor(anchor)) {
      why_ = "adds to neither a product nor a convolution";
      return nullptr;
    }
    step.bias = sum.args[swapped ? 0 : 1];
    return anchor;
  }

  // Are all shapes proved to fit?
  bool is_proved(const Call& call) const { return fit_of(context_, call, *op::callee(call)) == Fit::kProved; }

  std::string wrong_tensors(const DnnlStep& step) const {
    const Call& anchor = step.anchor();
    std::string wrong = wrong_tensor("data", anchor.args[0]->type);
    if (wrong.empty()) wrong = wrong_tensor("a weight", anchor.args[1]->type);
    if (wrong.empty()) wrong = wrong_tensor("a result", anchor.type);
    if (wrong.empty() && step.bias) wrong = wrong_tensor("a bias", step.bias->type);
    if (wrong.empty() && !is_proved(anchor)) wrong = "has shapes that a run compares";
    return wrong;
  }

  std::string wrong_product(const DnnlStep& step) const {
    if (std::string wrong = wrong_tensors(step); !wrong.empty()) return wrong;
    const ProductView& p = *step.product;
    const size_t rank = p.batched ? 3 : 2;
    if (p.left->rank() != rank || p.right->rank() != rank) return "is no product of plain matrices";
    if (p.batched && p.left->dims[0] != p.right->dims[0]) return "repeats a matrix of its batch";
    return p.batched && step.bias ? "adds a bias to a batch of products" : std::string();
  }

  std::string wrong_convolution(const DnnlStep& step) const {
    if (std::string wrong = wrong_tensors(step); !wrong.empty()) return wrong;
    const ConvolutionView& c = *step.convolution;
    if (c.transposed) return "is a transposed convolution";
    if (!c.has_plain_layouts()) return "has other layouts than NCHW and OIHW";
    const auto is_negative = [](int64_t n) { return n < 0; };
    const std::vector<int64_t> padding = c.convolution.window.padding();
    if (std::any_of(padding.begin(), padding.end(), is_negative)) return "has a padding that cuts off";
    return {};
  }

  bool fits_bias(const DnnlStep& step, const Call& sum) const {
    const TensorType& result = *step.anchor().type->as<TensorType>();
    const size_t axis = step.convolution ? 1 : result.rank() - 1;
    if (sum.type != step.anchor().type || !is_proved(sum)) return false;
    const TensorType& bias = *step.bias->type->as<TensorType>();
    if (op::callee(sum) == &op::kAdd) return is_vector_along(bias, result, axis);
    const auto attrs = op::read_attrs<op::BiasAddAttrs>(sum.attrs);
    const auto from_front = attrs.axis < 0 ? attrs.axis + static_cast<int64_t>(result.rank()) : attrs.axis;
    return from_front == static_cast<int64_t>(axis);
  }

  Context& context_;
  std::string& why_;
};

}  // namespace

std::optional<DnnlStep> dnnl_step(Context& context, Expr result, std::string& why) {
  if (!result->as<Call>()) {
    why = "gives something else than the result of an operator";
    return std::nullopt;
  }
  return Reading(context, why).read(result);
}

}  // namespace relay::analysis
