// Cells: forms that make references, write to them and read them.
#include "tests/property/generator.h"

namespace relay::property {

Expr Generator::let_cell(Type t, int depth) {
  Type contents = type(Allow::kData, 1);
  if (has_function(contents)) contents = context_.scalar_type(kFloat32);
  Expr value = b_.ref_new(expr(contents, depth - 1));
  const Type cell = context_.ref_type(contents);
  return let_in(variable(cell, in_.below(3) == 2), cell, value, t, depth);
}

// A write to a cell in scope, before the value or in a tuple beside it.
Expr Generator::effect_first(Type t, int depth) {
  std::vector<Binding> cells;
  for (const Binding& x : scope_) {
    if (x.type->kind == TypeKind::kRef) cells.push_back(x);
  }
  if (cells.empty()) return let_cell(t, depth);
  const Binding cell = in_.choose(cells);
  Expr value = expr(cell.type->as<RefType>()->contents, depth - 1);
  Expr write = b_.ref_write(cell.var, value);
  switch (in_.below(3)) {
    case 1: return b_.proj(b_.tuple({write, expr(t, depth - 1)}), 1);
    case 2: {
      Expr before = expr(t, depth - 1);
      return b_.proj(b_.tuple({before, write}), 0);
    }
    default: {
      const Type unit = context_.tuple_type({});
      const Var* x = variable(unit, false);
      const Inside inside(*this);
      bind(x, unit);
      return b_.let(x, write, expr(t, depth - 1));
    }
  }
}

// ref(...) without a name, used at several places: one cell, which is made where the scope of all
// uses begins. It is written at one of them, perhaps in a branch or in a function, and then read.
Expr Generator::shared_cell(Type t, int depth) {
  Type contents = in_.below(2) == 0 ? t : type(Allow::kData, 1);
  if (has_function(contents) || !allowed(contents, Allow::kData)) contents = context_.scalar_type(kFloat32);
  Expr cell = b_.ref_new(expr(contents, depth - 1));
  made_.emplace_back(cell, context_.ref_type(contents));
  const Type unit = context_.tuple_type({});
  const std::span<const Var* const> none;
  Expr write = b_.ref_write(cell, expr(contents, depth - 1));
  switch (in_.below(4)) {
    case 1: write = b_.if_(condition(depth - 1), write, b_.tuple({})); break;
    case 2: write = b_.call(b_.fn(none, write), {}); break;
    case 3: {
      const Var* f = variable(context_.fn_type({}, {}, unit), false);
      write = b_.let(f, b_.fn(none, write), b_.call(f, {}));
      break;
    }
    default: break;
  }
  const Var* done = variable(unit, false);
  const Inside inside(*this);
  bind(done, unit);
  return b_.let(done, write, let_in(variable(contents, false), contents, b_.ref_read(cell), t, depth - 1));
}

Expr Generator::read(Type t, int depth) {
  if (has_function(t)) return nullptr;
  const Type cell = context_.ref_type(t);
  if (Expr x = one_of_scope(cell)) return b_.ref_read(x);
  return in_.below(2) == 0 ? nullptr : b_.ref_read(expr(cell, depth - 1));
}

}  // namespace relay::property
