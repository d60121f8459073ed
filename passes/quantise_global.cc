// quantise-global: products, and what lies between them, in small integers that all have one scale.
//
//   nn.relu(nn.conv2d(%x, w))    becomes, with bits=8 and scale=8,
//
//   %q = qnn.quantize(%x, 0.0625f, 0);                          // steps of 8 / 2^7
//   %a = nn.relu(qnn.conv2d(%q, v, 0, 0, 0.0625f, s));          // v = w / s, sums of int32
//   qnn.dequantize(%a, 0.0625f * s, 0)
//
// An integer q stands for q / 2^e. Activations share one e, which `scale` and `bits` say; what they
// cannot reach saturates. Each weight has an e of its own: its range is the smallest power of two
// that its elements need. Sums are int32, and so is the bias that is added to them. Where a product
// needs sums as its data, qnn.rescale shifts them to the activations' e.
//
// A call stays in floats, and its operands become floats again, if
//   * it is one of the first convolutions of its function (`skip`), which see the raw input;
//   * it is a product without a constant weight, or its sums might not fit int32;
//   * no rule here is about its operator.
//
// A convolution whose result is multiplied by a constant for each channel takes the factors into
// its weight, as normalisation leaves them (simplify-inference, fold-constants). What a let names
// is a float: inline-lets before this pass removes such lets.
//
// Before: lets are inlined and constants folded. After: the products that the list above does not
// leave out are products of integers.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "analysis/primitives.h"
#include "analysis/views.h"
#include "base/cat.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/apply.h"
#include "op/math/convert.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/each_function.h"
#include "passes/pass.h"
#include "passes/power_scales.h"

namespace relay::passes {
namespace {

// Exponents of weights. With less, a shift to the activations' exponent would need a large factor;
// with more, sums would reach less than 2^(31 - 24) = 128.
constexpr int kLeastExponent = -24, kMostSumExponent = 24;

// A product of floats that has a counterpart of integers.
struct Product {
  const op::OpDef* quantised;
  Expr data;
  Tensor weight;                  // in the order of axes that the counterpart wants
  size_t axis;                    // of the weight: output channels
  std::optional<size_t> channel;  // of the result: the same channels; none if they are grouped
  int64_t length;                 // products in each sum, at most
  std::vector<AttrArg> attrs;
};

// The integers that a float expression is made of.
struct Quantised {
  Expr q;  // of int8 with the activations' exponent, or of int32
  int exponent;
  int64_t bound;                        // of |q|
  std::optional<Product> product = {};  // that it is the result of
};

bool is_float_tensor(Expr e) {
  const auto* t = e->type ? e->type->as<TensorType>() : nullptr;
  return t && t->dtype == kFloat32;
}

DType dtype_of(Expr e) { return e->type->as<TensorType>()->dtype; }

Tensor transposed(relay::Builder& b, Expr constant) {
  const Expr out = op::packed(b, op::kTranspose, constant, {{"axes", std::vector<int64_t>{1, 0}}});
  return *out->as<Constant>()->value;
}

// Element o for each index o along the axis; nullopt if the constant differs along another axis of
// what it is multiplied with.
std::optional<std::vector<double>> factors_of(const Tensor& constant, size_t rank, size_t axis,
                                              int64_t count) {
  if (constant.rank() > rank) return std::nullopt;
  const size_t missing = rank - constant.rank();
  for (size_t d = 0; d < constant.rank(); ++d) {
    if (constant.shape()[d] != 1 && d + missing != axis) return std::nullopt;
  }
  std::vector<double> out;
  for (int64_t o = 0; o < count; ++o) out.push_back(constant.get(constant.size() == 1 ? 0 : o));
  return out;
}

Tensor multiplied(const Tensor& weight, size_t axis, const std::vector<double>& factors) {
  int64_t stride = 1;
  for (size_t d = axis + 1; d < weight.rank(); ++d) stride *= weight.shape()[d];
  Tensor out(weight.dtype(), weight.shape());
  for (int64_t i = 0; i < weight.size(); ++i) {
    const auto o = static_cast<size_t>(i / stride % weight.shape()[axis]);
    out.set(i, weight.get(i) * factors[o]);
  }
  return out;
}

class Quantiser {
 public:
  Quantiser(int bits, int exponent, int64_t skip) : bits_(bits), exponent_(exponent), skip_(skip) {}

  // The function in integers; the function itself if nothing in it is.
  const Fn* operator()(Context& context, const Fn* fn) {
    inside_kernel_ = analysis::inside_primitives(post_order(fn));
    const Expr now = rewrite(context, fn, [&](relay::Builder& b, Expr e) -> Expr {
      const auto* call = e->as<Call>();
      const op::OpDef* def = call ? op::callee(*call) : nullptr;
      if (!def || !is_float_tensor(e) || inside_kernel_.contains(e)) return e;
      SpanScope at(b, e->span);
      const std::optional<Quantised> found = quantised(b, *call, *def);
      return found ? as_float(b, *found) : e;
    });
    return now->as<Fn>();
  }

 private:
  int64_t low() const { return -(int64_t{1} << (bits_ - 1)); }
  int64_t high() const { return -low() - 1; }

  const Quantised* find(Expr e) const {
    const auto found = integers_.find(e);
    return found == integers_.end() ? nullptr : &found->second;
  }

  // --- from floats to integers and back ---

  static Expr scale(relay::Builder& b, int exponent) {
    return b.scalar(kFloat32, std::ldexp(1.0, -exponent));
  }

  Expr as_float(relay::Builder& b, const Quantised& x) {
    const Expr e = op::call(b, op::kQnnDequantize, {x.q, scale(b, x.exponent), b.scalar(kInt32, 0)},
                            {{"out_dtype", kFloat32}});
    integers_.emplace(e, x);
    return e;
  }

  // The float expression as an activation.
  Expr activation(relay::Builder& b, Expr e) {
    Expr& out = activations_[e];
    if (out) return out;
    const Quantised* found = find(e);
    if (found && dtype_of(found->q) == kInt8) {
      out = found->q;
      if (found->bound <= -low()) return out;
    } else if (found) {
      const int64_t shift = found->exponent - exponent_;
      out = op::call(b, op::kQnnRescale, {found->q},
                     {{"multiplier", int64_t{1} << std::max<int64_t>(-shift, 0)},
                      {"shift", std::max<int64_t>(shift, 0)},
                      {"out_dtype", kInt8}});
    } else {
      out = op::call(b, op::kQnnQuantize, {e, scale(b, exponent_), b.scalar(kInt32, 0)},
                     {{"out_dtype", kInt8}});
    }
    if (bits_ < 8) {
      out = op::call(b, op::kClip, {out},
                     {{"a_min", static_cast<double>(low())}, {"a_max", static_cast<double>(high())}});
    }
    return out;
  }

  static Expr widened(relay::Builder& b, Expr q) {
    return dtype_of(q) == kInt32 ? q : op::call(b, op::kCast, {q}, {{"dtype", kInt32}});
  }

  // --- rules: the call in integers; nullopt if it stays in floats ---

  std::optional<Quantised> quantised(relay::Builder& b, const Call& call, const op::OpDef& def) {
    if (std::optional<Product> p = product(b, call)) return sums(b, *std::move(p));
    if (&def == &op::kMultiply) return scaled_product(b, call);
    if (&def == &op::kBiasAdd) return biased(b, call, def, call.args[0], call.args[1]);
    if (&def == &op::kAdd) {
      if (call.args[1]->as<Constant>()) return biased(b, call, def, call.args[0], call.args[1]);
      if (call.args[0]->as<Constant>()) return biased(b, call, def, call.args[1], call.args[0]);
      return sum(b, call);
    }
    if (&def == &op::kConcatenate) return joined(b, call);
    const Quantised* x = call.args.size() == 1 ? find(call.args[0]) : nullptr;
    if (!x) return std::nullopt;
    if (&def == &op::kClip) return clipped(b, call, *x);
    if (&def == &op::kMaxPool2d || &def == &op::kGlobalMaxPool2d) {
      const Expr q = op::call(b, def, {activation(b, call.args[0])}, op::attr_args(call.attrs));
      return Quantised{q, exponent_, -low()};
    }
    if (&def == &op::kRelu || &def == &op::kTranspose || &def == &op::kBatchFlatten || def.view)
      return Quantised{op::call(b, def, {x->q}, op::attr_args(call.attrs)), x->exponent, x->bound};
    return std::nullopt;
  }

  std::optional<Product> product(relay::Builder& b, const Call& call) {
    if (const auto v = analysis::convolution_view(&call)) {
      const bool is_float = v->data->dtype == kFloat32 && v->weights->dtype == kFloat32;
      if (is_float && !v->transposed && skip_ > 0) {
        --skip_;
        return std::nullopt;
      }
      if (!is_float || !v->weight()) return std::nullopt;
      const op::Convolution& c = v->convolution;
      const auto shape = op::parts(c.weight, v->weight()->value->shape());
      return Product{
          .quantised = v->transposed ? &op::kQnnConv2dTranspose : &op::kQnnConv2d,
          .data = call.args[0],
          .weight = *v->weight()->value,
          .axis = c.weight.place(0),
          .channel = v->transposed && c.groups != 1 ? std::nullopt : std::optional(c.data.place(1)),
          .length = shape[1] * shape[2] * shape[3],
          .attrs = op::attr_args(call.attrs, "out_dtype")};
    }
    const auto v = analysis::product_view(&call);
    if (!v || !v->weight() || v->batched || v->left_transposed || !v->is_of(kFloat32)) return std::nullopt;
    const Tensor& weight = *v->weight()->value;
    return Product{.quantised = &op::kQnnDense,
                   .data = call.args[0],
                   .weight = v->right_transposed ? weight : transposed(b, v->weight()),
                   .axis = 0,
                   .channel = v->result->rank() - 1,
                   .length = weight.shape()[v->term_axis()],
                   .attrs = {}};
  }

  std::optional<Quantised> sums(relay::Builder& b, Product p) {
    const std::optional<int> wanted = exponent_for(p.weight, bits_);
    const int64_t most = int64_t{INT32_MAX} >> (2 * (bits_ - 1));
    if (!wanted || *wanted < kLeastExponent || p.length > most) return std::nullopt;
    const int exponent = std::min(*wanted, kMostSumExponent - exponent_);
    const Expr weight = b.constant(to_integers(p.weight, exponent, kInt8, low(), high()));
    const Expr zero = b.scalar(kInt32, 0);
    const Expr q = op::call(
        b, *p.quantised, {activation(b, p.data), weight, zero, zero, scale(b, exponent_), scale(b, exponent)},
        p.attrs);
    return Quantised{q, exponent_ + exponent, p.length * low() * low(), std::move(p)};
  }

  // A product times a constant for each channel is one with another weight.
  std::optional<Quantised> scaled_product(relay::Builder& b, const Call& call) {
    const bool first = call.args[0]->as<Constant>() != nullptr;
    const auto* constant = call.args[first ? 0 : 1]->as<Constant>();
    const Quantised* x = find(call.args[first ? 1 : 0]);
    if (!constant || !x || !x->product || !x->product->channel || call.type != call.args[first ? 1 : 0]->type)
      return std::nullopt;
    Product p = *x->product;
    const auto factors = factors_of(*constant->value, call.type->as<TensorType>()->rank(), *p.channel,
                                    p.weight.shape()[p.axis]);
    if (!factors) return std::nullopt;
    p.weight = multiplied(p.weight, p.axis, *factors);
    return sums(b, std::move(p));
  }

  std::optional<Quantised> biased(relay::Builder& b, const Call& call, const op::OpDef& def, Expr data,
                                  Expr bias) {
    const Quantised* x = find(data);
    const auto* constant = bias->as<Constant>();
    if (!x || !constant || call.type != data->type) return std::nullopt;
    const auto largest = largest_integer(*constant->value, x->exponent, INT32_MAX - x->bound);
    if (!largest) return std::nullopt;
    const Expr more = b.constant(to_integers(*constant->value, x->exponent, kInt32, INT32_MIN, INT32_MAX));
    const Expr q = op::call(b, def, {widened(b, x->q), more}, op::attr_args(call.attrs));
    return Quantised{q, x->exponent, x->bound + *largest};
  }

  // Of two values, of which one is made of integers: as activations.
  std::optional<Quantised> sum(relay::Builder& b, const Call& call) {
    if (!find(call.args[0]) && !find(call.args[1])) return std::nullopt;
    const Expr x = widened(b, activation(b, call.args[0])), y = widened(b, activation(b, call.args[1]));
    return Quantised{op::call(b, op::kAdd, {x, y}), exponent_, -2 * low()};
  }

  std::optional<Quantised> joined(relay::Builder& b, const Call& call) {
    const auto* tuple = call.args[0]->as<Tuple>();
    if (!tuple || !std::any_of(tuple->fields.begin(), tuple->fields.end(), [&](Expr e) { return find(e); }))
      return std::nullopt;
    std::vector<Expr> fields;
    for (Expr e : tuple->fields) fields.push_back(activation(b, e));
    return Quantised{op::call(b, op::kConcatenate, {b.tuple(fields)}, op::attr_args(call.attrs)), exponent_,
                     -low()};
  }

  std::optional<Quantised> clipped(relay::Builder& b, const Call& call, const Quantised& x) {
    const auto a = op::read_attrs<op::ClipAttrs>(call.attrs);
    const double low = std::ldexp(a.a_min, x.exponent), high = std::ldexp(a.a_max, x.exponent);
    const Expr q = op::call(b, op::kClip, {x.q}, {{"a_min", low}, {"a_max", high}});
    // An interval far from 0 moves integers away from it, at most to the ends of their dtype.
    const auto magnitude = [&](double v) { return std::fabs(std::min(std::max(v, low), high)); };
    const auto before = static_cast<double>(x.bound);
    const double most = std::ceil(std::max(magnitude(before), magnitude(-before)));
    return Quantised{q, x.exponent, static_cast<int64_t>(std::min(most, 0x1p31))};
  }

  const int bits_, exponent_;  // of activations; bits_ of weights, too
  int64_t skip_;
  std::unordered_set<Expr> inside_kernel_;
  std::unordered_map<Expr, Quantised> integers_;
  std::unordered_map<Expr, Expr> activations_;
};

Module run(const Module& m, const PassContext& pass) {
  const int64_t scale = pass.value("scale");
  if ((scale & (scale - 1)) != 0) {
    pass.diagnostics.error(
        Span::none(), "bad-pipeline",
        cat("parameter `scale` of pass `quantise-global` is ", scale, "; it must be a power of two"));
    return m;
  }
  const int bits = static_cast<int>(pass.value("bits"));
  const int exponent = bits - 1 - std::ilogb(static_cast<double>(scale));
  Module out = with_each_function(m, [&](const Fn* fn) {
    if (fn->attrs.flag("Primitive")) return fn;
    return Quantiser(bits, exponent, pass.value("skip"))(m.context(), fn);
  });
  if (out.same(m)) {
    pass.stays(cat("no product or convolution of float32, after the first ", pass.value("skip"),
                   " convolutions (`skip`), has a constant weight and sums that fit int32"));
  }
  return out;
}

}  // namespace

const Pass kQuantiseGlobal = {
    .name = "quantise-global",
    .doc = "compute products of floats in small integers, with one scale for all activations",
    .parameters = {{"bits", 8, "of activations and weights, sign included", 2, 8},
                   {"scale", 8, "the power of two at which activations saturate", 1, int64_t{1} << 20},
                   {"skip", 1, "how many convolutions at the beginning of each function stay in floats"}},
    .approximates = true,
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
