#include "passes/normal_forms.h"

#include <functional>
#include <string_view>
#include <vector>

#include "analysis/evaluation_regions.h"
#include "base/cat.h"
#include "ir/fields.h"
#include "ir/type_parts.h"
#include "passes/first_problem.h"
#include "passes/map_types.h"
#include "passes/type_choices.h"

namespace relay::passes {
std::string first_problem(const Module& m, const std::function<Condition(Expr root)>& condition_for) {
  for (const auto& [name, fn] : m.functions()) {
    const Condition condition = condition_for(fn);
    std::string problem;
    walk(
        fn,
        [&](Expr e) {
          if (is_primitive(e)) return false;
          if (problem.empty()) {
            if (const std::string_view wrong = condition(e); !wrong.empty())
              problem = cat("@", name.text(), ": ", wrong, " at ", m.context().sources().place(e->span));
          }
          return true;
        },
        [](Expr) {});
    if (!problem.empty()) return problem;
  }
  return {};
}

std::string breaks_a_normal_form(const Module& m) {
  return first_problem(m, [](Expr root) -> Condition {
    return [found = scopes(root)](Expr e) -> std::string_view {
      if (!is_value(e) && found.uses.get(e) > 1) return "an evaluation is shared";
      if (const auto* let = e->as<Let>())
        return let->value->kind == ExprKind::kLet ? "a let stands in the value of a let" : "";
      bool operands = true;
      size_t position = 0;
      for_each_child(e, [&](Expr child) {
        if (!opens_scope(e, position++)) operands = operands && is_value(child);
      });
      return operands ? "" : "an operand has no name";
    };
  });
}

std::string breaks_basic_block_form(const Module& m) {
  return first_problem(m, [](Expr root) -> Condition {
    const Scopes found = scopes(root);
    const std::vector<uint32_t> regions = analysis::evaluation_regions(found, post_order(root));
    return [found, regions](Expr e) -> std::string_view {
      uint32_t scope = found.opens.get(e);
      size_t position = 0;
      bool here = true;
      for_each_child(e, [&](Expr child) {
        const uint32_t where = opens_scope(e, position++) ? scope++ : found.scope_of.get(e);
        if (!is_value(child)) here = here && regions[where] == regions[found.scope_of.get(child)];
      });
      return here ? "" : "an expression is evaluated outside";
    };
  });
}

bool is_needless(const Let& let, LetUses uses, analysis::Effects& effects) {
  if (let.value->type != let.x->type) return false;  // the name is said to be less than the value is
  // The annotation, or one of several uses, may be all that says of which type the value is. What a
  // value of tensors is follows from its parts.
  const bool has_own_type = let.value->kind == ExprKind::kVar || is_of_tensors(let.value->type);
  if (!has_own_type && let.x->annotation) return false;
  if (let.value->kind == ExprKind::kCtorRef) return false;
  if (is_leaf(let.value)) return true;
  const auto* type = let.value->type ? let.value->type->as<FnType>() : nullptr;
  if (let.value->kind != ExprKind::kFn) return !uses.in_function && effects.silent(let.value);
  return !uses.in_itself && type && type->type_params.empty();
}

std::string breaks_graph_normal_form(const Module& m) {
  return first_problem(m, [&m](Expr root) -> Condition {
    return [uses = let_uses(root), effects = analysis::Effects(m)](Expr e) mutable -> std::string_view {
      const auto* let = e->as<Let>();
      return let && is_needless(*let, uses.get(let->x), effects) ? "a let is needless" : "";
    };
  });
}

std::vector<const FnType*> function_values(const Module& m, Expr e) {
  const auto is_function = [&](Expr child) {
    const auto* ctor = child->as<CtorRef>();
    const auto* global = child->as<Global>();
    return child->kind == ExprKind::kOpRef || (ctor && !ctor->ctor->fields.empty()) ||
           (global && m.function(global->name.text()));
  };
  std::vector<const FnType*> out;
  std::vector<Expr> children;
  bool any = false;
  for_each_child(e, [&](Expr child) {
    any = any || is_function(child);
    children.push_back(child);
  });
  if (!any) return out;
  const auto* call = e->as<Call>();
  const FnType* callee = nullptr;
  if (const auto* global = call ? call->callee->as<Global>() : nullptr) {
    const Fn* fn = m.function(global->name.text());
    callee = fn && fn->type ? fn->type->as<FnType>() : nullptr;
  } else if (call && call->callee->type) {
    callee = call->callee->type->as<FnType>();
  }
  const std::vector<Type> wanted = wanted_types(m.context(), e, callee);
  any = false;
  for (size_t i = 0; i < children.size(); ++i) {
    const FnType* type = is_function(children[i]) && wanted[i] ? wanted[i]->as<FnType>() : nullptr;
    bool is_fixed = type && type->type_params.empty() && !type->has_hole;
    // Shape variables of another function mean nothing here.
    const bool own_variables = !call && children[i]->kind != ExprKind::kGlobal;
    const auto look = [&](Dim d) {
      is_fixed = is_fixed && (own_variables || !d.is_symbolic());
      return d;
    };
    if (type) map_type(m.context(), type, {.dim = look, .dtype = {}});
    out.push_back(is_fixed ? type : nullptr);
    any = any || is_fixed;
  }
  return any ? out : std::vector<const FnType*>();
}

std::string breaks_eta_expansion(const Module& m) {
  return first_problem(m, [&m](Expr) -> Condition {
    return [&m](Expr e) -> std::string_view {
      return function_values(m, e).empty() ? "" : "a function is a value";
    };
  });
}

}  // namespace relay::passes
