// Conditions of rules: what must hold of a match, by name. Each is one row of a table.
#pragma once

#include <span>
#include <string_view>

#include "ir/context.h"
#include "passes/rules/rule.h"

namespace relay::passes::rules {

// The operands of a condition or a value, looked up in a match.
struct Looked {
  Expr e = nullptr;  // of a part; null for a word or a number
  std::string_view word = {};
  double number = 0;
};
// Nothing if a part is in an alternative that was not taken.
std::optional<std::vector<Looked>> look_up(const Use& use, const pattern::LocalMatch& m);

struct Condition {
  std::string_view name, doc;
  bool (*holds)(std::span<const Looked> of);
};

std::span<const Condition> all_conditions();
const Condition* find_condition(std::string_view name);  // null if there is none
bool holds(const Use& use, const pattern::LocalMatch& m);

// Do expressions of these types have equal extents in every run? Two extents `?` may differ, so no
// type in which one stands is known to be the same. Linear.
bool provably_same(Type a, Type b);

// The least normal number of a floating-point dtype is two to the power of minus this. Of eight
// bits, it is that of the dtype with the shortest exponent.
int least_exponent(DType d);

// The type of a tensor; null for others, and before the type check.
inline const TensorType* tensor_of(Expr e) { return e->type ? e->type->as<TensorType>() : nullptr; }

}  // namespace relay::passes::rules
