#include "passes/closed_functions.h"

#include <algorithm>

#include "ir/type_parts.h"
#include "passes/call_instance.h"
#include "passes/map_types.h"

namespace relay::passes {
namespace {

// Is nothing of the type left open, and nothing for a caller to choose?
bool is_known(Type type) {
  bool known = true;
  for_each_type_in(type, [&](Type t) {
    known = known && t && t->kind != TypeKind::kHole && t->kind != TypeKind::kVar;
    return known;
  });
  return known;
}

}  // namespace

bool is_closed(Context& context, const Fn& fn, const std::vector<const Var*>& captured) {
  if (!is_known(fn.type)) return false;
  Instance alone;
  for (const Var* x : captured) {
    if (!is_known(x->type)) return false;
    alone.bind(context, x->type, x->type);
  }
  // What a global function says of its own extents, each of its calls has found out.
  const std::vector<kernel::Expr> mentioned =
      shape_variables(context, &fn, [](Expr e) { return !e->as<Global>(); });
  return std::all_of(mentioned.begin(), mentioned.end(),
                     [&](kernel::Expr v) { return alone.dims.contains(v.get()); });
}

}  // namespace relay::passes
