// mixed-precision: products of float32 are computed of float16 or bfloat16.
//
//   nn.relu(nn.dense(%x, w))   becomes
//   cast(nn.relu(nn.dense(cast(%x, dtype="float16"), w16)), dtype="float32")
//
// Each operator is of a class, and each class has a colour, which a parameter sets:
//   2  allow    computed in narrow numbers, whatever its arguments are
//   1  follow   computed in narrow numbers if an argument is narrow already and none is wide
//   0  deny     computed in float32
//
//   parameter     operators                                                           default
//   products      convolutions and products of matrices                               allow
//   elementwise   arithmetic of one or two tensors, nn.relu and its kind, nn.bias_add   follow
//   moves         what moves elements, pooling by the greatest                        follow
//
// All others are denied: sums, exponentials and what is made of these lose too much. Lists say
// otherwise of single operators: "mixed-precision{allow=nn.softmax+exp,follow=sqrt,deny=tanh}".
//
// Constants are neither wide nor narrow. What is cast for a product, and is not computed in narrow
// numbers, is wide. Sums of products are float32 inside, and are rounded at the end. What the
// program gives keeps its dtype, and so does what lets, functions and data hold. A value is cast
// once in each direction.
//
// Before: `inline-lets` and `inline` go before, as a let keeps its dtype. After: no call of an
// allowed class has a float32 result, but for those with a dtype of the result as an attribute.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/relation.h"
#include "passes/each_function.h"
#include "passes/lists.h"
#include "passes/normal_forms.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

enum class Colour : uint8_t { kDeny, kFollow, kAllow };

struct Class {
  std::string_view parameter;
  std::vector<const op::OpDef*> operators;
};

const std::vector<Class>& classes() {
  static const std::vector<Class> all = {
      {"products",
       {&op::kConv1d, &op::kConv2d, &op::kConv3d, &op::kConv2dTranspose, &op::kDense, &op::kMatmul,
        &op::kBatchMatmul}},
      {"elementwise",
       {&op::kAdd, &op::kSubtract, &op::kMultiply, &op::kMaximum, &op::kMinimum, &op::kNegative, &op::kAbs,
        &op::kRelu, &op::kLeakyRelu, &op::kClip, &op::kBiasAdd, &op::kSigmoid, &op::kTanh}},
      {"moves",
       {&op::kReshape, &op::kTranspose, &op::kSqueeze, &op::kExpandDims, &op::kBatchFlatten,
        &op::kStridedSlice, &op::kMaxPool1d, &op::kMaxPool2d, &op::kMaxPool3d, &op::kGlobalMaxPool2d}},
  };
  return all;
}

using Colours = std::map<const op::OpDef*, Colour>;

// What the parameters say of each operator; others are denied. Nothing after an error.
Result<Colours> colours_of(const PassContext& pass) {
  Colours out;
  for (const Class& c : classes()) {
    for (const op::OpDef* def : c.operators) out[def] = static_cast<Colour>(pass.value(c.parameter));
  }
  std::map<const op::OpDef*, std::string_view> listed;
  constexpr std::pair<std::string_view, Colour> kLists[] = {
      {"allow", Colour::kAllow}, {"follow", Colour::kFollow}, {"deny", Colour::kDeny}};
  for (const auto& [list, colour] : kLists) {
    for (const std::string& name : list_of(pass.values, list)) {
      const auto refuse = [&, list = list](const std::string& what) -> Diagnostic& {
        return pass.diagnostics.error(Span::none(), "bad-pipeline",
                                      cat("parameter `", list, "` of pass `mixed-precision` ", what));
      };
      const op::OpDef* def = op::find(name);
      if (!def) {
        const std::vector<std::string> near = op::nearest(name);
        Diagnostic& d = refuse(cat("names an operator that there is not: `", name, "`"));
        if (!near.empty())
          d.note(cat("names that look like it: ", join(near, ", ", [](const std::string& n) { return n; })));
        return kReported;
      }
      const auto [before, is_new] = listed.emplace(def, list);
      if (!is_new) {
        refuse(cat("names `", name, "`, and so does `", before->second, "`"));
        return kReported;
      }
      out[def] = colour;
    }
  }
  return out;
}

bool is_float32(Expr e) {
  const auto* t = e->type ? e->type->as<TensorType>() : nullptr;
  return t && t->dtype == kFloat32;
}

class Narrower {
 public:
  Narrower(Context& context, const PassContext& pass, const Colours& colours)
      : b_(context), dtype_(pass.value("bfloat16") != 0 ? kBFloat16 : kFloat16), colours_(colours) {}

  Expr run(Expr root) {
    if (is_primitive(root)) return root;
    for (Expr e : post_order(root)) {
      const SpanScope at(b_, e->span);
      if (const Expr narrow = is_float32(e) ? narrow_call(e) : nullptr) {
        narrow_[e] = narrow;
        made_narrow_[e] = true;
        continue;
      }
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(wide(child)); });
      wide_[e] = with_children(b_.context(), e, children);
    }
    return wide(root);
  }

 private:
  Colour colour_of(const op::OpDef* def) const {
    const auto it = colours_.find(def);
    return it == colours_.end() ? Colour::kDeny : it->second;
  }

  // The value in its own dtype.
  Expr wide(Expr e) {
    Expr& known = wide_[e];
    if (!known) known = op::call(b_, op::kCast, {narrow_.get(e)}, {{"dtype", kFloat32}});
    return known;
  }

  // The value in narrow numbers; null if it is a constant that would become infinite.
  Expr narrow(Expr e) {
    Expr& known = narrow_[e];
    if (known) return known;
    const auto* c = e->as<Constant>();
    if (!c) return known = op::call(b_, op::kCast, {wide_.get(e)}, {{"dtype", dtype_}});
    Tensor t = c->value->converted(dtype_);
    for (int64_t i = 0; i < t.size(); ++i) {
      if (std::isfinite(c->value->get(i)) && !std::isfinite(t.get(i))) return nullptr;
    }
    return known = b_.constant(std::move(t));
  }

  // Do numbers among the attributes stay finite? A limit of `clip` may be further away than any
  // number. Whole numbers are sizes and axes, but for those of `clip` and `nn.leaky_relu`.
  bool holds_attributes(const Call& call, const op::OpDef* def) const {
    const bool whole_numbers = def == &op::kClip || def == &op::kLeakyRelu;
    for (const Attr& a : call.attrs) {
      if (a.value.kind != AttrKind::kFloat && !(whole_numbers && a.value.kind == AttrKind::kInt)) continue;
      const double x = a.value.kind == AttrKind::kInt ? static_cast<double>(a.value.integer) : a.value.real;
      if (!std::isfinite(x) || std::isfinite(Tensor::scalar(dtype_, x).get(0))) continue;
      const bool limits_nothing = def == &op::kClip && (a.name.text() == "a_max") == (x > 0);
      if (!limits_nothing) return false;
    }
    return true;
  }

  // The call, computed in narrow numbers; null if it is not to be.
  Expr narrow_call(Expr e) {
    const auto* call = e->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    const Colour colour = def ? colour_of(def) : Colour::kDeny;
    if (colour == Colour::kDeny || !std::all_of(call->args.begin(), call->args.end(), is_float32))
      return nullptr;
    if (call->attrs.find("out_dtype") || !holds_attributes(*call, def)) return nullptr;
    const bool follows =
        std::any_of(call->args.begin(), call->args.end(), [&](Expr arg) { return made_narrow_.get(arg); }) &&
        std::all_of(call->args.begin(), call->args.end(),
                    [&](Expr arg) { return made_narrow_.get(arg) || arg->as<Constant>(); });
    if (colour == Colour::kFollow && !follows) return nullptr;
    std::vector<Expr> args;
    for (const Expr arg : call->args) {
      args.push_back(narrow(arg));
      if (!args.back()) return nullptr;
    }
    const Expr now = call_if_typed(*call, *def, args);
    if (!now) return nullptr;
    const auto* before = e->type->as<TensorType>();
    const Type wanted = b_.context().tensor_type(before->dims, dtype_);
    return now->type == wanted ? now : nullptr;
  }

  // Null if the operator does not take narrow numbers.
  Expr call_if_typed(const Call& call, const op::OpDef& def, const std::vector<Expr>& args) {
    try {
      return op::call(b_, def, args, op::attr_args(call.attrs));
    } catch (const op::RelationError&) {
      return nullptr;
    }
  }

  relay::Builder b_;
  const DType dtype_;
  const Colours& colours_;
  NodeMap<Expr> wide_, narrow_;
  NodeMap<bool> made_narrow_;  // computed so, and not only cast for one that is
};

}  // namespace

const Pass kMixedPrecision = {
    .name = "mixed-precision",
    .doc = "compute products of float32 in float16 or bfloat16, and what follows them",
    .parameters = {{"bfloat16", 0, "1: bfloat16 in the place of float16", 0, 1},
                   {"products", 2, "convolutions and products: 2 allow, 1 follow, 0 deny", 0, 2},
                   {"elementwise", 1, "arithmetic of one or two tensors, likewise", 0, 2},
                   {"moves", 1, "what moves elements, likewise", 0, 2},
                   {"allow", 0, "operators that are allowed, whatever their class, as nn.softmax+exp", 0,
                    kList},
                   {"follow", 0, "operators that follow, likewise", 0, kList},
                   {"deny", 0, "operators that are denied, likewise", 0, kList}},
    .approximates = true,
    .run =
        [](const Module& m, const PassContext& pass) {
          const Result<Colours> colours = colours_of(pass);
          if (!colours) return m;
          return with_each_function(
              m, [&](const Fn* fn) { return Narrower(m.context(), pass, *colours).run(fn); });
        },
};

}  // namespace relay::passes
