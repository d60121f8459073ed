#include "vta/program/region.h"

#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "op/math/convert.h"
#include "op/nn/bias_add.h"
#include "op/ops.h"
#include "op/qnn/rescale.h"
#include "op/registry.h"
#include "vta/program/beginning.h"

namespace relay::vta {
namespace {

// The tensor of int8 that an operand is, or is widened from; null if it is neither.
Expr tensor_behind(Expr operand, const Inside& inside) {
  const auto* call = operand->as<Call>();
  const bool widened = call && inside(operand) && op::callee(*call) == &op::kCast;
  const Expr e = widened ? call->args[0] : operand;
  const auto* type = e->type ? e->type->as<TensorType>() : nullptr;
  return type && type->dtype == kInt8 && !inside(e) ? e : nullptr;
}

// The argument through which the chain goes; null if the call begins it.
Expr on_chain(const Call& call, const Inside& inside) {
  const op::OpDef* def = op::callee(call);
  if (may_begin(call) && def != &op::kCast) return nullptr;
  Expr found = nullptr;
  for (Expr arg : call.args) {
    if (!inside(arg) || arg->kind == ExprKind::kConstant) continue;
    // Of two tensors that are widened, the first begins the chain.
    if (!found || (tensor_behind(found, inside) && !tensor_behind(arg, inside))) found = arg;
  }
  return found;
}

class Translator {
 public:
  Translator(const std::vector<const Call*>& chain, const Inside& inside, Diagnostics& d)
      : chain_(chain), inside_(inside), d_(d) {}

  Result<RegionLayer> run() {
    Result<Beginning> begin = begin_layer(*chain_.front(), axis_of_operands(), d_);
    if (!begin) return kReported;
    result_ = known_tensor(chain_.front());
    channel_axis_ = begin->channels;
    channels_ = begin->layer.out_channels;
    out_.name = begin->layer.origin.name;
    steps_.emplace(channels_, result_->dtype, begin->sums);
    for (size_t i = 1; i < chain_.size(); i++) {
      call_ = chain_[i];
      origin_ = origin_of(*call_);
      out_.name += cat(" + ", origin_.name);
      before_ = chain_[i - 1];
      if (!fits() || !step()) return kReported;
    }
    Steps::Made made = steps_->made();
    out_.layer = std::move(begin->layer);
    out_.layer.steps = std::move(made.steps);
    out_.constants = {std::move(begin->weights), std::move(made.channels)};
    for (const std::optional<size_t>& t : made.tensors) out_.tensors.push_back(t ? tensors_[*t] : nullptr);
    out_.input = begin->input;
    out_.axes = std::move(begin->axes);
    if (out_.layer.kind == LayerKind::kElementwise && out_.layer.steps.empty())
      return wrong("nothing is computed");
    return std::move(out_);
  }

 private:
  Reported wrong(std::string reason) {
    const Call& at = call_ ? *call_ : *chain_.front();
    d_.error(at.span, "vta-layer", cat("`", op::callee(at)->name, "`: ", reason));
    return kReported;
  }
  bool refuse(std::string reason) {
    wrong(std::move(reason));
    return false;
  }

  // The axis along which a constant operand of a step differs.
  std::optional<size_t> axis_of_operands() const {
    const TensorType* sums = known_tensor(chain_.front());
    for (const Call* call : chain_) {
      const TensorType* result = known_tensor(call);
      if (!sums || !result || result->rank() != sums->rank()) continue;
      for (Expr arg : call->args) {
        const auto* constant = arg->as<Constant>();
        if (!constant || constant->value->rank() > result->rank()) continue;
        if (op::callee(*call) == &op::kBiasAdd) return bias_axis(*call);
        const Shape& shape = constant->value->shape();
        for (size_t k = 0; k < shape.size(); k++) {
          if (shape[k] > 1) return result->rank() - shape.size() + k;
        }
      }
    }
    return std::nullopt;
  }

  static size_t bias_axis(const Call& call) {
    const int64_t axis = op::read_attrs<op::BiasAddAttrs>(call.attrs).axis;
    const auto rank = static_cast<int64_t>(call.type->as<TensorType>()->rank());
    return static_cast<size_t>(axis < 0 ? axis + rank : axis);
  }

  // A step keeps the shape, and makes integers that sums hold.
  bool fits() {
    const TensorType* type = known_tensor(call_);
    if (!type ||
        !std::equal(type->dims.begin(), type->dims.end(), result_->dims.begin(), result_->dims.end()))
      return refuse("its result has another shape than the sums");
    if (type->dtype != kInt8 && type->dtype != kInt16 && type->dtype != kInt32)
      return refuse(cat("its result is ", type->dtype.name(), ", and sums are int32, int16 or int8"));
    return true;
  }

  // --- operands ---

  // A constant as a number for each channel, or one for all; nothing, and reported, if it
  // differs along other axes.
  std::optional<Numbers> numbers(Expr e, std::optional<size_t> axis) {
    const Tensor& t = *e->as<Constant>()->value;
    const std::vector<int64_t> values = t.ints();
    if (std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values.front(); }))
      return Numbers{values.front()};
    if (axis && t.shape()[*axis] == channels_) {
      size_t step = 1;
      for (size_t k = *axis + 1; k < t.rank(); k++) step *= static_cast<size_t>(t.shape()[k]);
      Numbers out(static_cast<size_t>(channels_));
      for (size_t c = 0; c < out.size(); c++) out[c] = values[c * step];
      bool same = true;
      for (size_t i = 0; i < values.size(); i++) same &= out[i / step % out.size()] == values[i];
      if (same) return out;
    }
    refuse("a constant operand differs along another axis than that of channels");
    return std::nullopt;
  }

  // The constant's axis that lies on the channels.
  std::optional<size_t> channel_axis_in(Expr e) const {
    if (op::callee(*call_) == &op::kBiasAdd)
      return bias_axis(*call_) == channel_axis_ ? std::optional<size_t>(0) : std::nullopt;
    const size_t missing = result_->rank() - e->as<Constant>()->value->rank();
    if (!channel_axis_ || *channel_axis_ < missing) return std::nullopt;
    return *channel_axis_ - missing;
  }

  // --- steps ---

  bool step() {
    const op::OpDef* def = op::callee(*call_);
    if (def == &op::kCast) {
      steps_->cast(call_->type->as<TensorType>()->dtype, origin_);
      return true;
    }
    if (def == &op::kRelu) {
      steps_->maximum({0}, origin_);
      return true;
    }
    if (def == &op::kClip) return clip();
    if (def == &op::kQnnRescale) return rescale();
    if (call_->args.size() != 2) return refuse("it is no step of a layer");
    const bool left = call_->args[0] == before_;
    const Expr operand = call_->args[left ? 1 : 0];
    return operand->as<Constant>() ? with_constant(*def, operand, left) : with_tensor(*def, operand, left);
  }

  bool clip() {
    const auto a = op::read_attrs<op::ClipAttrs>(call_->attrs);
    const DType dtype = steps_->dtype();
    steps_->maximum({integer_of_real(dtype, std::ceil(a.a_min))}, origin_);
    steps_->minimum({integer_of_real(dtype, std::floor(a.a_max))}, origin_);
    return true;
  }

  bool rescale() {
    const auto a = op::read_attrs<op::RescaleAttrs>(call_->attrs);
    const std::string why =
        steps_->rescale({a.multiplier, a.shift, a.zero_point, a.rounding, a.out_dtype}, origin_);
    if (why.empty()) return true;
    d_.error(call_->span, "vta-layer", why);
    return false;
  }

  bool with_constant(const op::OpDef& def, Expr operand, bool left) {
    const std::optional<Numbers> n = numbers(operand, channel_axis_in(operand));
    if (!n) return false;
    if (&def == &op::kAdd || &def == &op::kBiasAdd) {
      steps_->add(*n, origin_);
    } else if (&def == &op::kSubtract) {
      Numbers minus = *n;
      for (int64_t& v : minus) v = static_cast<int32_t>(-v);
      if (!left) steps_->multiply({-1}, origin_);
      steps_->add(left ? minus : *n, origin_);
    } else if (&def == &op::kMultiply) {
      steps_->multiply(*n, origin_);
    } else if (&def == &op::kMaximum) {
      steps_->maximum(*n, origin_);
    } else if (&def == &op::kMinimum) {
      steps_->minimum(*n, origin_);
    } else if ((&def == &op::kLeftShift || &def == &op::kRightShift) && left) {
      const int64_t bits = steps_->dtype().bits;
      if (std::any_of(n->begin(), n->end(), [&](int64_t v) { return v < 0 || v >= bits; }))
        return refuse("a shift by at least the width traps");
      &def == &op::kLeftShift ? steps_->shift_left(*n, origin_) : steps_->shift_right(*n, origin_);
    } else {
      return refuse("it is no step of a layer");
    }
    return true;
  }

  bool with_tensor(const op::OpDef& def, Expr operand, bool left) {
    const Expr tensor = tensor_behind(operand, inside_);
    if (!tensor) return refuse("its other operand is neither a constant nor a tensor of int8");
    const TensorType* type = known_tensor(tensor);
    if (!type ||
        !std::equal(type->dims.begin(), type->dims.end(), result_->dims.begin(), result_->dims.end()))
      return refuse("its other operand has another shape than the sums");
    const auto combine = [&](AluOp op) {
      steps_->combine(op, tensors_.size(), origin_);
      tensors_.push_back(tensor);
    };
    if (&def == &op::kSubtract) {
      // x - y = -(y - x), and sums wrap in either
      steps_->multiply({-1}, origin_);
      combine(AluOp::kAdd);
      if (left) steps_->multiply({-1}, origin_);
    } else if (&def == &op::kAdd) {
      combine(AluOp::kAdd);
    } else if (&def == &op::kMultiply) {
      combine(AluOp::kMul);
    } else if (&def == &op::kMaximum) {
      combine(AluOp::kMax);
    } else if (&def == &op::kMinimum) {
      combine(AluOp::kMin);
    } else {
      return refuse("a tensor is no operand of it in a layer");
    }
    return true;
  }

  const std::vector<const Call*>& chain_;
  const Inside& inside_;
  Diagnostics& d_;
  const Call* call_ = nullptr;  // the step at hand
  Expr before_ = nullptr;       // what it takes from the chain
  Origin origin_;
  const TensorType* result_ = nullptr;  // of the sums
  std::optional<size_t> channel_axis_;
  int64_t channels_ = 1;
  std::optional<Steps> steps_;
  std::vector<Expr> tensors_;
  RegionLayer out_;
};

}  // namespace

std::vector<const Call*> chain_of(Expr root, const Inside& inside) {
  std::vector<const Call*> out;
  for (Expr e = root; e;) {
    const auto* call = e->as<Call>();
    if (!call || !op::callee(*call)) break;
    out.push_back(call);
    e = on_chain(*call, inside);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

Result<RegionLayer> layer_of(const std::vector<const Call*>& chain, const Inside& inside, Diagnostics& d) {
  return Translator(chain, inside, d).run();
}

}  // namespace relay::vta
