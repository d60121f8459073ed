#include "frontend/onnx/bindings.h"

#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/names.h"

namespace relay::frontend {

const Var* Bindings::add(Builder& b, std::string_view name, Expr value, Type type,
                         std::vector<const kernel::ExprNode*> variables) {
  all_.push_back({b.var(name, type), value});
  variables_.insert(variables_.end(), variables.begin(), variables.end());
  std::sort(variables_.begin(), variables_.end());
  return all_.back().var;
}

Dim Bindings::outside(Dim dim) const {
  if (!dim.is_symbolic()) return dim;
  for (kernel::Expr v : kernel::variables(dim.symbolic())) {
    if (std::binary_search(variables_.begin(), variables_.end(), v.get())) return Dim::unknown();
  }
  return dim;
}

Type Bindings::outside(Context& context, Type type) const {
  if (!type || !type->has_symbolic_dim || variables_.empty() || type->kind == TypeKind::kFn) return type;
  if (const auto* tensor = type->as<TensorType>()) {
    std::vector<Dim> dims;
    for (Dim d : tensor->dims) dims.push_back(outside(d));
    return context.tensor_type(dims, tensor->dtype);
  }
  std::vector<Type> parts;
  for_each_part(type, [&](Type part) { parts.push_back(outside(context, part)); });
  return context.with_parts(type, parts);
}

Expr Bindings::enclose(Builder& b, Expr body) const {
  const Type type = outside(b.context(), body->type);
  for (size_t i = all_.size(); i-- > 0;) {
    const Var* const param[] = {all_[i].var};
    body = b.call(b.fn(param, body), {all_[i].value}, {}, type);
  }
  return body;
}

// --- Of the importer -----------------------------------------------------------------------------

Dim Importer::new_variable(std::string_view name) {
  const std::string plain = identifier(name);
  std::string unique = plain;
  int& next = next_variable_.try_emplace(plain, 2).first->second;
  while (!variables_.insert(unique).second) unique = cat(plain, "_", next++);
  return context().shape_variable(unique);
}

Expr Importer::name_extents(Expr e, std::string_view name) {
  const auto* type = e->type ? e->type->as<TensorType>() : nullptr;
  if (!type) return e;
  const std::vector<Dim> dims(type->dims.begin(), type->dims.end());
  return match_extents(e, dims, name);
}

Expr Importer::match_extents(Expr e, const std::vector<Dim>& wanted, std::string_view name) {
  const std::vector<Dim> dims = dims_of(e);
  std::vector<Dim> named;
  std::vector<const kernel::ExprNode*> variables;
  std::vector<size_t> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    named.push_back(wanted[i]);
    if (!wanted[i].is_unknown()) continue;
    if (!dims[i].is_unknown()) {
      named[i] = dims[i];
      continue;
    }
    named[i] = new_variable(cat(name, "_", i));
    variables.push_back(named[i].symbolic().get());
    axes.push_back(i);
  }
  if (named == dims) return e;
  const Var* var =
      bindings_->add(builder_, name, e, context().tensor_type(named, type_of(e).dtype), variables);
  for (size_t axis : axes)
    places_.emplace(named[axis].symbolic().get(), Place{var, static_cast<int64_t>(axis)});
  return var;
}

}  // namespace relay::frontend
