// rewrite: a new expression from an old one, bottom-up.
#pragma once

#include <functional>
#include <unordered_map>

#include "ir/builder.h"
#include "ir/module.h"

namespace relay {

// For each node reachable from the root, once, children first: the node is rebuilt if a child
// changed (the copy keeps its span and type), then given to `f`, which returns its replacement or
// the node itself. Unchanged children give back the same pointer. Variables are the same nodes
// before and after, unless f replaces them; a binder whose variable f replaces by another variable
// is rebuilt with it.
using RewriteFn = std::function<Expr(Builder& b, Expr e)>;
Expr rewrite(Context& context, Expr root, const RewriteFn& f);

// All functions of the module. A replacement of a function itself must be a Fn.
Module rewrite(const Module& m, const RewriteFn& f);

// The node with other children (and nothing else changed); itself if they are the same pointers.
// Children are in the order of for_each_child.
Expr with_children(Context& context, Expr e, std::span<const Expr> children);

// The same with more changes: variables become `var(v)` where they are bound and constructors
// `ctor(c)` (null: as they are), a call gets `type_args`, and the node gets `type`. The node itself
// if nothing changes.
struct Changes {
  std::span<const Expr> children;
  std::function<const Var*(const Var*)> var = nullptr;
  std::function<const Constructor*(const Constructor*)> ctor = nullptr;
  Type type = nullptr;
  std::span<const Type> type_args = {};
};
Expr rebuild(Context& context, Expr e, const Changes& changes);

// Replaces free occurrences of variables. Bound variables are unique, so nothing can be captured.
Expr substitute(Context& context, Expr e, const std::unordered_map<const Var*, Expr>& by);

// A copy in which every variable bound inside is a new one: needed wherever a body is duplicated.
Expr refresh(Context& context, Expr e);

}  // namespace relay
