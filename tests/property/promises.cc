#include "tests/property/promises.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <unordered_set>

#include "analysis/effects.h"
#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/reachable.h"
#include "ir/type_parts.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/continuation_passing.h"
#include "passes/first_problem.h"
#include "passes/function_values.h"
#include "passes/map_types.h"
#include "passes/normal_forms.h"

namespace relay::property {
namespace {

using Checker = std::string (*)(const Module&);

// The tensor of one dtype that the expression gives; null if a type parameter says which.
const TensorType* known_tensor(Expr e) {
  const auto* t = e->type ? e->type->as<TensorType>() : nullptr;
  return t && !t->has_type_var ? t : nullptr;
}

bool on_known_types(const Call& call) {
  return std::none_of(call.args.begin(), call.args.end(),
                      [](Expr arg) { return !arg->type || arg->type->has_type_var; });
}

// No call on values of known types is of an operator that `wrong` is true for.
template <class Wrong>
std::string has_call(const Module& m, std::string_view message, const Wrong& wrong) {
  return passes::first_problem(m, [&](Expr) -> passes::Condition {
    return [&](Expr e) -> std::string_view {
      const op::OpDef* def = op::callee(e);
      return def && on_known_types(*e->as<Call>()) && wrong(*e->as<Call>(), *def) ? message : "";
    };
  });
}

std::string has_needless_cast(const Module& m) {
  return has_call(m, "a cast is to its argument's dtype", [](const Call& call, const op::OpDef& def) {
    return &def == &op::kCast && known_tensor(&call) && call.args[0]->type == call.type;
  });
}

std::string has_bias_add(const Module& m) {
  return has_call(m, "an nn.bias_add is left",
                  [](const Call&, const op::OpDef& def) { return &def == &op::kBiasAdd; });
}

std::string has_training(const Module& m) {
  return has_call(m, "an operator of training is left", [](const Call&, const op::OpDef& def) {
    return &def == &op::kBatchNorm || &def == &op::kDropout;
  });
}

std::string has_expansion(const Module& m) {
  return has_call(m, "an operator that others define is left",
                  [](const Call&, const op::OpDef& def) { return def.expand && !def.lower; });
}

std::string has_slow_function(const Module& m) {
  return has_call(m, "an exact function is left", [](const Call& call, const op::OpDef& def) {
    const TensorType* t = known_tensor(&call);
    const bool slow = &def == &op::kExp || &def == &op::kTanh || &def == &op::kErf || &def == &op::kSoftmax;
    return slow && t && t->dtype.is_float();
  });
}

std::string has_long_concatenation(const Module& m) {
  return has_call(m, "a concatenation is long", [](const Call& call, const op::OpDef& def) {
    const auto* tuple = &def == &op::kConcatenate ? call.args[0]->as<Tuple>() : nullptr;
    return tuple && tuple->fields.size() > kMostArgs;
  });
}

// Numbers whose reciprocals each format of floating point has.
bool are_small_powers_of_two(const Tensor& t) {
  for (int64_t i = 0; i < t.size(); ++i) {
    int exponent = 0;
    if (std::fabs(std::frexp(t.get(i), &exponent)) != 0.5 || std::abs(exponent) > 8) return false;
  }
  return true;
}

std::string has_exact_division(const Module& m) {
  return has_call(m, "a division by powers of two is left", [&](const Call& call, const op::OpDef& def) {
    const auto* divisor = &def == &op::kDivide ? call.args[1]->as<Constant>() : nullptr;
    const auto usual = {kFloat16, kBFloat16, kFloat32, kFloat64};
    return divisor && std::find(usual.begin(), usual.end(), divisor->value->dtype()) != usual.end() &&
           are_small_powers_of_two(*divisor->value) &&
           analysis::fit_of(m.context(), call, def) == analysis::Fit::kProved;
  });
}

// Calls that cannot fail, with small results of tensors alone.
std::string has_constant_call(const Module& m) {
  analysis::Effects effects(m);
  return has_call(m, "a call on constants is left", [&](const Call& call, const op::OpDef& def) {
    const TensorType* t = known_tensor(&call);
    const auto shape = t ? t->static_shape() : std::nullopt;
    const auto count = shape ? element_count(*shape) : std::nullopt;
    const bool constant = !call.args.empty() && std::all_of(call.args.begin(), call.args.end(), [](Expr arg) {
      return arg->as<Constant>() != nullptr;
    });
    return count && *count < 1000 && constant && def.effects != op::Effects::kEffect && effects.silent(&call);
  });
}

std::string has_float32(const Module& m) {
  return passes::first_problem(m, [](Expr) -> passes::Condition {
    return [](Expr e) -> std::string_view {
      bool found = false;
      if (e->type) {
        for_each_type_in(e->type, [&](Type t) {
          const auto* tensor = t->as<TensorType>();
          found = found || (tensor && tensor->dtype == kFloat32);
          return !found;
        });
      }
      return found ? "a type has a float32" : "";
    };
  });
}

std::string has_dead_code(const Module& m) {
  const std::set<Symbol> used = reachable_from(m, "main");
  for (const auto& [name, fn] : m.functions()) {
    if (!used.contains(name)) return cat("@", name.text(), " is not reached");
  }
  return passes::first_problem(m, [&](Expr root) -> passes::Condition {
    const auto effects = std::make_shared<analysis::Effects>(m, root);
    return [effects, uses = scopes(root).uses](Expr e) -> std::string_view {
      const auto* let = e->as<Let>();
      return let && uses.get(let->x) == 0 && effects->silent(let->value) ? "a let is not used" : "";
    };
  });
}

// Functions of the module are primitive no more, nor are those inside.
std::string has_primitive(const Module& m) {
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn)) {
      if (passes::is_primitive(e)) return cat("@", name.text(), ": a function is primitive");
    }
  }
  return {};
}

// Where nothing is generic, and no type mentions extents that a caller chooses: there each function
// can be a global one.
std::string has_inner_function(const Module& m) {
  return passes::first_problem(m, [&](Expr root) -> passes::Condition {
    std::unordered_set<Expr> called;
    bool simple = passes::shape_variables(m.context(), root->as<Fn>()).empty();
    for (Expr e : post_order(root)) {
      const auto* fn = e->as<Fn>();
      simple = simple && (!fn || fn->type_params.empty());
      if (const auto* call = e->as<Call>()) called.insert(call->callee);
      const auto is_open = [&](Type t) {
        simple = simple && t && t->kind != TypeKind::kHole && t->kind != TypeKind::kVar;
        return simple;
      };
      if (e->type && e->kind == ExprKind::kVar) for_each_type_in(e->type, is_open);
      if (fn && fn->type) for_each_type_in(fn->type, is_open);
    }
    return [root, simple, called](Expr e) -> std::string_view {
      const auto* fn = e->as<Fn>();
      const bool inner = fn && e != root && e != root->as<Fn>()->body && fn->attrs.empty();
      return simple && inner && !called.contains(e) ? "a function stands inside" : "";
    };
  });
}

const std::map<std::string_view, Checker> kPromises{
    {"canonicalise-casts", has_needless_cast},
    {"canonicalise-ops", has_bias_add},
    {"dead-code", has_dead_code},
    {"divide-to-multiply", has_exact_division},
    {"eta-expand", passes::breaks_eta_expansion},
    {"expand-operators", has_expansion},
    {"fast-math", has_slow_function},
    {"fold-constants", has_constant_call},
    {"lambda-lift", has_inner_function},
    {"lower", has_primitive},
    {"simplify-inference", has_training},
    {"split-args", has_long_concatenation},
    {"to-a-normal-form", passes::breaks_a_normal_form},
    {"to-basic-block-form", passes::breaks_basic_block_form},
    {"to-graph-normal-form", passes::breaks_graph_normal_form},
    {"widen-floats", has_float32},
};
// The same of passes that leave a program which is out of their reach.
const std::map<std::string_view, Checker> kPromisesOfChanged{
    {"closure-conversion", passes::breaks_closure_conversion},
    {"continuation-passing", passes::breaks_continuation_passing},
    {"defunctionalise", passes::breaks_defunctionalisation},
};
const std::set<std::string_view> kSettles{"canonicalise-casts",
                                          "canonicalise-ops",
                                          "divide-to-multiply",
                                          "eliminate-common-subexpressions",
                                          "expand-operators",
                                          "fold-explicit-padding",
                                          "fuse",
                                          "plan-devices",
                                          "simplify",
                                          "simplify-floats",
                                          "simplify-inference",
                                          "split-args",
                                          "to-a-normal-form",
                                          "to-basic-block-form",
                                          "to-graph-normal-form",
                                          "widen-floats"};

}  // namespace

std::string broken_promise(std::string_view pass, const Module& before, const Module& after) {
  std::string broken;
  if (const auto it = kPromises.find(pass); it != kPromises.end()) broken = it->second(after);
  if (const auto it = kPromisesOfChanged.find(pass); it != kPromisesOfChanged.end() && !after.same(before))
    broken = it->second(after);
  return broken.empty() ? broken : cat(pass, " does not keep its promise: ", broken, "\n");
}

std::vector<std::string_view> passes_with_promises() {
  std::vector<std::string_view> out(kSettles.begin(), kSettles.end());
  for (const auto& [pass, broken] : kPromises) out.push_back(pass);
  for (const auto& [pass, broken] : kPromisesOfChanged) out.push_back(pass);
  return out;
}

bool settles(std::string_view pass) { return kSettles.contains(pass); }

}  // namespace relay::property
