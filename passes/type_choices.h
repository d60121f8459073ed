// The types that generic functions are called with, for what makes functions of known types of
// them: of those of the module (monomorphise.cc) and of those that a let binds
// (monomorphise_lets.cc).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "ir/context.h"
#include "ir/expr.h"

namespace relay::passes {

// Does the type mention type parameters, or what is not known?
bool is_generic(Type t);
bool any_is_generic(const std::vector<Type>& types);

// Does the body apply operators to what a type parameter stands for?
bool computes_with_parameters(const Fn& fn);

// What the type parameters of a generic function's type are in another one that was made of it, in
// their order; nothing if that does not say it.
std::optional<std::vector<Type>> types_chosen(const FnType& general, Type special);

// The types that an expression wants its children to have, in the order of for_each_child; null
// for what it does not say. `callee` is the type of the function that it calls, if it is a call
// and that is known.
std::vector<Type> wanted_types(Context& context, Expr e, const FnType* callee);

// The type that a generic one is for these types of its type parameters.
Type type_for(Context& context, const FnType& general, const std::vector<Type>& types);

// A generic function's parts for these types of its type parameters, of which it has no more. Its
// variables stay where nothing changes them: a copy is for the caller to make.
const Fn* with_types(Context& context, const Fn& fn, const std::vector<Type>& types);

// Reports "too-many-instances": of the function by this name there would be more than `most`.
void report_too_many(Span span, std::string_view name, size_t most, Diagnostics& diagnostics);

}  // namespace relay::passes
