#include "pattern/graph.h"

#include "ir/module.h"

namespace relay::pattern {

Graph::Graph(std::span<const Expr> roots) : order_(post_order(roots)) {
  uint32_t position = 0;
  for (Expr e : order_) {
    facts_[e].position = position++;
    for_each_child(e, [&](Expr child) { ++facts_[child].uses; });
  }
  for (Expr root : roots) ++facts_[root].uses;
}

bool is_name(Expr e) {
  return e->kind == ExprKind::kGlobal || e->kind == ExprKind::kOpRef || e->kind == ExprKind::kCtorRef;
}

bool same_expression(Expr a, Expr b) {
  if (a == b) return true;
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case ExprKind::kConstant: return identical(*a->as<Constant>()->value, *b->as<Constant>()->value);
    case ExprKind::kGlobal: return a->as<Global>()->name == b->as<Global>()->name;
    case ExprKind::kOpRef: return a->as<OpRef>()->op == b->as<OpRef>()->op;
    case ExprKind::kCtorRef: return a->as<CtorRef>()->ctor == b->as<CtorRef>()->ctor;
    case ExprKind::kVar:
    case ExprKind::kTuple:
    case ExprKind::kProj:
    case ExprKind::kFn:
    case ExprKind::kCall:
    case ExprKind::kLet:
    case ExprKind::kIf:
    case ExprKind::kMatch:
    case ExprKind::kRefNew:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: return false;
  }
  return false;
}

}  // namespace relay::pattern
