// Walking kernels: visiting and rewriting statements and scalar expressions, with stacks of our
// own. Statements are trees, expressions are graphs with shared parts. A rewrite that changes
// nothing gives back the same pointer.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

// Calls `enter` for the statement and all below it, outer ones first.
void visit(Stmt s, const std::function<void(Stmt)>& enter);
// The statements right below, in order.
std::vector<Stmt> children(Stmt s);
// The expressions that the statement holds itself (not those of statements below), without the
// regions of blocks, which say again what is below.
std::vector<Expr> expressions(Stmt s);
// The variables that the statement binds itself.
std::vector<Expr> binders(Stmt s);

// Bottom-up: `f` sees each statement after its children were rewritten.
Stmt rewrite(Arena& arena, Stmt s, const std::function<Stmt(Stmt)>& f);
// Every expression e of the statement and of those below it becomes f(e), those of regions too;
// bound variables are left alone.
Stmt rewrite_expressions(Arena& arena, Stmt s, const std::function<Expr(Expr)>& f);
// As `substitute` of expressions; a replaced variable must not be bound within `s`.
Stmt substitute(Arena& arena, Stmt s, const std::unordered_map<const ExprNode*, Expr>& by);
// Gives fresh variables to all loops and blocks of `s`, so that it can stand twice in a kernel.
Stmt refresh(ExprPool& pool, Stmt s);

// Calls `f` for `e` and what is below it, each node once, outer ones first; below a node
// only if `f` says so.
void for_each_node(Expr e, const std::function<bool(const ExprNode*)>& f);
// `e` and the nodes below it, each once, operands before what they are operands of.
std::vector<const ExprNode*> post_order(Expr e);
// Calls `f` for each load below `e`, each node once, inner ones first.
void for_each_load(Expr e, const std::function<void(const ExprNode*)>& f);
bool mentions(Expr e, Expr variable);
// What holds if the condition does: the parts of its `and`s, each once, in order.
std::vector<Expr> conjuncts(Expr condition);
// Bottom-up, each node once: what `before` gives stands for a node and all below it; else `after`
// sees the node with its operands rewritten. Null in `before` means that it says nothing.
Expr rewrite(Expr e, const std::function<Expr(const ExprNode*)>& before,
             const std::function<Expr(Expr)>& after);
// Every load node n becomes f(n) after its indices were rewritten; null keeps it.
Expr rewrite_loads(Expr e, const std::function<Expr(const ExprNode*)>& f);

}  // namespace relay::kernel
