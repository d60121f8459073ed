// Call instances: what a call makes of the type parameters and shape variables of the function that
// it calls.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "passes/map_types.h"

namespace relay::passes {

struct Instance {
  std::unordered_map<const TypeVar*, Type> types;
  std::unordered_map<const kernel::ExprNode*, kernel::Expr> dims;

  // Binds the shape variables that stand alone in the parameter's type, each where it stands first.
  void bind(Context& context, Type of_param, Type of_arg);

  // Does it leave the types of the function as they are?
  bool is_same() const;

  // The types with what is bound in the place of the variables. Refers to this instance.
  TypeMap map() const;
};

// Each shape variable is what the first parameter says in which it stands alone as an extent.
// Returns nullopt if types are missing, or if a variable of `shape_variables` (those that the
// function mentions) gets no value: one that the body binds itself would be confused with the
// caller's of the same name.
std::optional<Instance> instance_of(Context& context, const Fn& callee, std::span<const Type> type_args,
                                    std::span<const Type> arg_types,
                                    const std::vector<kernel::Expr>& shape_variables);

}  // namespace relay::passes
