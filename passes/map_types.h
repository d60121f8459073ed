// map_types: a module with other dims or dtypes, everywhere they are written: in annotations,
// results, type arguments, attributes and constants.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "ir/module.h"

namespace relay::passes {

struct TypeMap {
  std::function<Dim(Dim)> dim;  // null: dims stay
  std::function<DType(DType)>
      dtype;  // null: dtypes stay; applied to constants and to attributes that name a dtype
  std::function<Type(const TypeVar*)> variable = {};  // null: type variables stay
};

Type map_type(Context& context, Type type, const TypeMap& map);

// The expression with other types, where its own annotations, results and attributes write them.
Expr map_types(Context& context, Expr root, const TypeMap& map);

// The result carries mapped types where the module was typed; check it again if dims
// became better known.
Module map_types(const Module& m, const TypeMap& map);

// The shape variables in the types and attributes of an expression, by age. Does not go into the
// nodes for which `enter` is false.
std::vector<kernel::Expr> shape_variables(
    Context& context, Expr root, const std::function<bool(Expr)>& enter = [](Expr) { return true; });

// The shape variables of these names that the function binds become constants; those of other
// functions have nothing to do with them. The result must be type checked: what followed from a
// variable alone is forgotten.
Module bind_shape_variables(const Module& m, std::string_view function,
                            const std::map<std::string, int64_t>& values);

}  // namespace relay::passes
