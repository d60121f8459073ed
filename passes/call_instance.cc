#include "passes/call_instance.h"

#include <algorithm>
#include <set>
#include <utility>

namespace relay::passes {

void Instance::bind(Context& context, Type of_param, Type of_arg) {
  std::vector<std::pair<Type, Type>> pending{{of_param, of_arg}};
  std::set<std::pair<Type, Type>> seen;
  while (!pending.empty()) {
    const auto [param, arg] = pending.back();
    pending.pop_back();
    if (!seen.emplace(param, arg).second) continue;
    const auto* tuple = param->as<TupleType>();
    const auto* fields = arg->as<TupleType>();
    for (size_t i = tuple && fields ? std::min(tuple->fields.size(), fields->fields.size()) : 0; i-- > 0;)
      pending.emplace_back(tuple->fields[i], fields->fields[i]);
    const auto* tensor = param->as<TensorType>();
    const auto* given = arg->as<TensorType>();
    if (!tensor || !given || tensor->rank() != given->rank()) continue;
    for (size_t i = 0; i < tensor->rank(); ++i) {
      const Dim d = tensor->dims[i], g = given->dims[i];
      if (d.is_symbolic() && d.symbolic()->kind == kernel::ExprKind::kVar && !g.is_unknown())
        dims.emplace(d.symbolic().get(), g.expr(context.pool()));
    }
  }
}

bool Instance::is_same() const {
  return types.empty() &&
         std::all_of(dims.begin(), dims.end(), [](const auto& d) { return d.first == d.second.get(); });
}

std::optional<Instance> instance_of(Context& context, const Fn& callee, std::span<const Type> type_args,
                                    std::span<const Type> arg_types,
                                    const std::vector<kernel::Expr>& shape_variables) {
  if (callee.params.size() != arg_types.size() || callee.type_params.size() != type_args.size())
    return std::nullopt;
  Instance out;
  for (size_t i = 0; i < type_args.size(); ++i) {
    if (!type_args[i]) return std::nullopt;
    out.types[callee.type_params[i]] = type_args[i];
  }
  for (size_t i = 0; i < arg_types.size(); ++i) {
    if (!callee.params[i]->type || !arg_types[i]) return std::nullopt;
    out.bind(context, callee.params[i]->type, arg_types[i]);
  }
  for (kernel::Expr v : shape_variables) {
    if (!out.dims.contains(v.get())) return std::nullopt;
  }
  return out;
}

TypeMap Instance::map() const {
  return {.dim = [this](Dim d) { return d.is_symbolic() ? Dim(kernel::substitute(d.symbolic(), dims)) : d; },
          .dtype = {},
          .variable = [this](const TypeVar* v) -> Type {
            const auto it = types.find(v);
            return it == types.end() ? v : it->second;
          }};
}

}  // namespace relay::passes
