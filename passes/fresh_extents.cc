#include "passes/fresh_extents.h"

#include "base/cat.h"
#include "kernel/expr.h"
#include "op/apply.h"

namespace relay::passes {

FreshExtents::FreshExtents(Context& context, std::span<const Type> types) : context_(context) {
  for (const TensorType* t : op::flatten(types)) {
    for (Dim d : t->dims) {
      if (!d.is_symbolic()) continue;
      for (kernel::Expr v : kernel::variables(d.symbolic())) taken_.insert(show(v));
    }
  }
}

Dim FreshExtents::next() {
  std::string name = cat("d", next_++);
  while (taken_.contains(name)) name = cat("d", next_++);
  made_.push_back(context_.shape_variable(name));
  return made_.back();
}

Type FreshExtents::name(Type type) {
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<Type> fields;
    for (Type field : tuple->fields) fields.push_back(name(field));
    return context_.tuple_type(fields);
  }
  const auto& t = *type->as<TensorType>();
  std::vector<Dim> dims;
  for (Dim d : t.dims) dims.push_back(d.is_unknown() ? next() : d);
  return context_.tensor_type(dims, t.dtype);
}

}  // namespace relay::passes
