#include "kernel/codegen/quotients.h"

#include <algorithm>
#include <unordered_set>

#include "kernel/fields.h"
#include "kernel/statements.h"

namespace relay::kernel::codegen {
namespace {

bool is_division(const ExprNode* n) {
  return (n->kind == ExprKind::kFloorDiv || n->kind == ExprKind::kFloorMod) && n->dtype == kInt64 &&
         n->args[1]->kind != ExprKind::kInt;
}

class Naming {
 public:
  explicit Naming(ExprPool& pool) : pool_(pool) {}

  Stmt statement(Stmt s) {
    Arena& arena = pool_.arena();
    switch (s->kind) {
      case StmtKind::kFor: return loop(*s->as<For>());
      case StmtKind::kSeq: {
        std::vector<Stmt> all;
        for (Stmt c : s->as<Seq>()->body) all.push_back(statement(c));
        return make_sequence(arena, all);
      }
      case StmtKind::kIf: {
        const auto* n = s->as<If>();
        return changed_copy(arena, *n, [&](If& i) {
          i.then_branch = statement(n->then_branch);
          if (n->else_branch) i.else_branch = statement(n->else_branch);
        });
      }
      case StmtKind::kAllocate:
        return with(arena, *s->as<Allocate>(), &Allocate::body, statement(s->as<Allocate>()->body));
      case StmtKind::kBlock:
      case StmtKind::kStore:
      case StmtKind::kPrefetch: return s;
      default: static_assert(others_only_look<For, Block, Store, Seq, If, Allocate, Prefetch>); return s;
    }
  }

  std::unordered_map<const ExprNode*, std::vector<Quotient>> of_loop;

 private:
  Stmt loop(const For& n) {
    const bool has_variable = n.how != ForKind::kVectorized && n.how != ForKind::kUnrolled;
    if (!has_variable) return with(pool_.arena(), n, &For::body, statement(n.body));
    bound_.push_back(n.var);
    const Stmt body = name(n);
    const Stmt done = with(pool_.arena(), n, &For::body, statement(body));
    bound_.pop_back();
    return done;
  }

  // The loop's body with a name for each division that this loop is the last to have a say in.
  Stmt name(const For& n) {
    std::unordered_map<const ExprNode*, Expr> by;
    std::vector<Quotient> found;
    std::unordered_set<const ExprNode*> seen;
    const auto visit_expression = [&](auto& self, const ExprNode* e) -> void {
      if (!seen.insert(e).second) return;
      for (const ExprNode* a : e->args) self(self, a);
      if (!is_division(e) || !belongs_to(e, n.var)) return;
      // Where nothing runs inside, the divisor may be zero.
      const Expr divisor = substitute(e->args[1], by);
      const Expr safe = select(equal(divisor, pool_.integer(0)), pool_.integer(1), divisor);
      const Expr value = pool_.make(e->kind, e->dtype, {substitute(e->args[0], by), safe});
      found.push_back({pool_.variable("q"), value});
      by[e] = found.back().var;
    };
    visit(n.body, [&](Stmt s) {
      for (Expr e : expressions(s)) visit_expression(visit_expression, e.get());
    });
    if (found.empty()) return n.body;
    of_loop[n.var.get()] = std::move(found);
    return substitute(pool_.arena(), n.body, by);
  }

  bool belongs_to(const ExprNode* e, Expr var) const {
    if (e->has_load) return false;
    bool mentions = false, known = true;
    for (Expr v : variables(e)) {
      mentions |= v == var;
      known &= v->shape_variable || std::find(bound_.begin(), bound_.end(), v) != bound_.end();
    }
    return mentions && known;
  }

  ExprPool& pool_;
  std::vector<Expr> bound_;  // variables of the loops around
};

}  // namespace

Quotients name_quotients(ExprPool& pool, Stmt body) {
  Naming naming(pool);
  const Stmt named = naming.statement(body);
  return {named, std::move(naming.of_loop)};
}

}  // namespace relay::kernel::codegen
