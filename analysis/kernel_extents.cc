#include "analysis/kernel_extents.h"

#include <unordered_map>

#include "ir/import.h"
#include "ir/type.h"
#include "kernel/execute.h"

namespace relay::analysis {

std::optional<std::vector<int64_t>> extents_at(const Call& call, const kernel::Kernel& k) {
  std::vector<kernel::Expr> asked;
  std::vector<int64_t> given;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const auto* t = call.args[i]->type->as<TensorType>();
    const auto shape = t ? t->static_shape() : std::nullopt;
    if (!shape || shape->size() != k.inputs[i]->shape.size()) return std::nullopt;
    asked.insert(asked.end(), k.inputs[i]->shape.begin(), k.inputs[i]->shape.end());
    given.insert(given.end(), shape->begin(), shape->end());
  }
  std::unordered_map<const kernel::ExprNode*, int64_t> values;
  for (const kernel::ExtentRule& rule : kernel::extent_rules(asked)) {
    const std::optional<int64_t> rest = kernel::evaluate(rule.rest, values);
    if (!rest || (given[rule.extent] - *rest) % rule.coefficient != 0) return std::nullopt;
    values[rule.variable.get()] = (given[rule.extent] - *rest) / rule.coefficient;
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    if (kernel::evaluate(asked[i], values) != given[i]) return std::nullopt;
  }
  std::vector<int64_t> out;
  for (kernel::Expr v : kernel::shape_parameters(k)) {
    const auto it = values.find(v.get());
    if (it == values.end()) return std::nullopt;
    out.push_back(it->second);
  }
  return out;
}

std::optional<GivenExtents> given_extents(Context& context, std::span<const Type> args,
                                          const kernel::Kernel& k) {
  std::vector<kernel::Expr> asked;
  std::vector<Dim> given;
  for (size_t i = 0; i < args.size(); ++i) {
    const auto* t = args[i]->as<TensorType>();
    if (!t || t->rank() != k.inputs[i]->shape.size()) return std::nullopt;
    for (size_t d = 0; d < t->rank(); ++d) {
      asked.push_back(k.inputs[i]->shape[d]);
      // What is not known is equal to nothing else.
      given.push_back(t->dims[d].is_unknown() ? Dim(context.pool().variable("d")) : t->dims[d]);
    }
  }
  GivenExtents found;
  for (const kernel::ExtentRule& rule : kernel::extent_rules(asked)) {
    const kernel::Expr left = given[rule.extent].expr(context.pool()) - kernel::substitute(rule.rest, found);
    found[rule.variable.get()] = kernel::floor_div(left, rule.coefficient);
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    if (prove_equal(Dim(kernel::substitute(asked[i], found)), given[i]) != kernel::Proof::kProved)
      return std::nullopt;
  }
  return found;
}

bool extents_fit(Context& context, const Call& call, const kernel::Kernel& k) {
  std::vector<Type> types;
  for (Expr arg : call.args) types.push_back(arg->type);
  return given_extents(context, types, k).has_value();
}

Type result_of(Context& context, const kernel::Kernel& k, const GivenExtents& extents) {
  std::vector<Type> types;
  for (const kernel::Buffer* b : k.outputs) {
    std::vector<Dim> dims;
    for (kernel::Expr e : b->shape) dims.push_back(Dim(kernel::substitute(e, extents)));
    types.push_back(context.tensor_type(dims, b->dtype));
  }
  return types.size() == 1 ? types[0] : context.tuple_type(types);
}

const kernel::Kernel* with_extents(Context& context, const kernel::Kernel& k,
                                   const std::vector<int64_t>& extents, std::string_view name) {
  Importer copy(context);
  const std::vector<kernel::Expr> variables = kernel::shape_parameters(k);
  for (size_t i = 0; i < variables.size(); ++i)
    copy.kernels().bind(variables[i], context.pool().integer(extents[i]));
  kernel::Kernel out = *copy.kernels().kernel(k);
  out.name = context.symbol(name);
  return context.arena().make<kernel::Kernel>(out);
}

}  // namespace relay::analysis
