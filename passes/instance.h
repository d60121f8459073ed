// Instance: what a call makes of the shape variables and type variables of a function.
#pragma once

#include <unordered_map>

#include "ir/context.h"
#include "passes/map_types.h"

namespace relay::passes {

struct Instance {
  std::unordered_map<const TypeVar*, Type> types;
  std::unordered_map<const kernel::ExprNode*, kernel::Expr> dims;

  // Binds the shape variables that stand alone in the parameter's type, each where it stands first.
  void bind(Context& context, Type of_param, Type of_arg);

  // The types with all that is bound in the place of the variables.
  TypeMap map() const;
};

}  // namespace relay::passes
