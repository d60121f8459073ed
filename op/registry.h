// All operators, by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "op/op_def.h"

namespace relay::op {

std::span<const OpDef* const> all_ops();   // sorted by name
const OpDef* find(std::string_view name);  // null if there is none
// The operator called that, or one of the family of that relation; null if there is none.
const OpDef* find_relation(std::string_view name);
// May a relation of that name be about the operator?
bool is_relation_of(const OpDef& op, std::string_view name);
std::vector<std::string> nearest(std::string_view name, size_t most = 3);  // names that look like it

// The operator that a call calls; null if its callee is something else.
inline const OpDef* callee(const Call& call) {
  const auto* ref = call.callee->as<OpRef>();
  return ref ? ref->op : nullptr;
}
inline const OpDef* callee(Expr e) {
  const auto* call = e->as<Call>();
  return call ? callee(*call) : nullptr;
}

}  // namespace relay::op
