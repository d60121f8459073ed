#include "kernel/walk.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_set>
#include <utility>

#include "kernel/fields.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

// The same in all its fields but those of statements, whose places `now` has, in order.
Stmt with_children(Arena& arena, Stmt s, std::span<const Stmt> now) {
  if (const auto* seq = s->as<Seq>()) {
    const bool same = std::equal(now.begin(), now.end(), seq->body.begin(), seq->body.end());
    return same ? s : make_sequence(arena, {now.begin(), now.end()});
  }
  size_t next = 0;
  return with_fields(arena, s,
                     Overload{[&](Stmt& child) {
                                if (!child) return false;
                                const Stmt by = now[next++];
                                return std::exchange(child, by) != by;
                              },
                              [](OneOf<Binder, Expr, List<Expr>, List<Stmt>, ForKind, Symbol, const Buffer*,
                                       List<BlockIter>, List<Region>> auto&) { return false; }});
}

bool change(Expr& e, Expr now) { return std::exchange(e, now) != now; }

bool change(Arena& arena, List<Expr>& list, const std::function<Expr(Expr)>& f) {
  std::vector<Expr> now;
  std::transform(list.begin(), list.end(), std::back_inserter(now), f);
  if (std::equal(now.begin(), now.end(), list.begin())) return false;
  list = arena.list(now);
  return true;
}

// The statement with its own expressions mapped, and the variables that it binds by `binder`.
template <class OfBinder>
Stmt map_own(Arena& arena, Stmt s, const std::function<Expr(Expr)>& f, const OfBinder& binder) {
  const Overload part{
      [&](Binder& v) { return change(v, binder(v)); }, [&](Expr& e) { return e && change(e, f(e)); },
      [&](List<Expr>& list) { return change(arena, list, f); },
      [](OneOf<Stmt, List<Stmt>, ForKind, IterKind, Symbol, const Buffer*> auto&) { return false; }};
  return with_fields(arena, s,
                     Overload{part, [&](List<BlockIter>& iters) { return change_each(arena, iters, part); },
                              [&](List<Region>& regions) { return change_each(arena, regions, part); }});
}

}  // namespace

std::vector<Stmt> children(Stmt s) {
  std::vector<Stmt> out;
  const Overload field{[&](Stmt child) {
                         if (child) out.push_back(child);
                       },
                       [&](const List<Stmt>& all) { out.assign(all.begin(), all.end()); },
                       [](const OneOf<Binder, Expr, List<Expr>, ForKind, Symbol, const Buffer*,
                                      List<BlockIter>, List<Region>> auto&) {}};
  match(s, [&](const auto& n) { for_each_field(n, field); });
  return out;
}

std::vector<Expr> expressions(Stmt s) {
  std::vector<Expr> out;
  const Overload part{[&](const Expr& e) {
                        if (e) out.push_back(e);
                      },
                      [&](const List<Expr>& list) { out.insert(out.end(), list.begin(), list.end()); },
                      [](const OneOf<Binder, Stmt, List<Stmt>, ForKind, IterKind, Symbol, const Buffer*,
                                     List<Region>> auto&) {}};
  const Overload field{part, [&](const List<BlockIter>& iters) {
                         for (const BlockIter& i : iters) for_each_field(i, part);
                       }};
  match(s, [&](const auto& n) { for_each_field(n, field); });
  return out;
}

std::vector<Expr> binders(Stmt s) {
  std::vector<Expr> out;
  const Overload part{[&](const Binder& v) { out.push_back(v); },
                      [](const OneOf<Expr, List<Expr>, Stmt, List<Stmt>, ForKind, IterKind, Symbol,
                                     const Buffer*, List<Region>> auto&) {}};
  const Overload field{part, [&](const List<BlockIter>& iters) {
                         for (const BlockIter& i : iters) for_each_field(i, part);
                       }};
  match(s, [&](const auto& n) { for_each_field(n, field); });
  return out;
}

void visit(Stmt root, const std::function<void(Stmt)>& enter) {
  std::vector<Stmt> pending{root};
  while (!pending.empty()) {
    const Stmt s = pending.back();
    pending.pop_back();
    enter(s);
    const std::vector<Stmt> below = children(s);
    pending.insert(pending.end(), below.rbegin(), below.rend());
  }
}

Stmt rewrite(Arena& arena, Stmt root, const std::function<Stmt(Stmt)>& f) {
  struct Open {
    Stmt s;
    std::vector<Stmt> below;
    size_t next = 0;
  };
  std::vector<Open> open;
  std::vector<Stmt> done;  // the rewritten children of all that is open
  open.push_back({root, children(root)});
  for (;;) {
    Open& top = open.back();
    if (top.next < top.below.size()) {
      const Stmt child = top.below[top.next++];
      open.push_back({child, children(child)});
      continue;
    }
    const size_t first = done.size() - top.below.size();
    const Stmt now = f(with_children(arena, top.s, std::span(done).subspan(first)));
    done.resize(first);
    done.push_back(now);
    open.pop_back();
    if (open.empty()) return now;
  }
}

Stmt rewrite_expressions(Arena& arena, Stmt s, const std::function<Expr(Expr)>& f) {
  const auto same = [](Expr v) { return v; };
  return rewrite(arena, s, [&](Stmt n) { return map_own(arena, n, f, same); });
}

Stmt substitute(Arena& arena, Stmt s, const std::unordered_map<const ExprNode*, Expr>& by) {
  return rewrite_expressions(arena, s, [&](Expr e) { return substitute(e, by); });
}

Stmt refresh(ExprPool& pool, Stmt s) {
  std::unordered_map<const ExprNode*, Expr> by;
  visit(s, [&](Stmt n) {
    for (Expr v : binders(n)) by[v.get()] = pool.variable(v->name.text(), v->dtype);
  });
  const auto renamed = [&](Expr e) { return substitute(e, by); };
  Arena& arena = pool.arena();
  return rewrite(arena, s, [&](Stmt n) { return map_own(arena, n, renamed, renamed); });
}

void for_each_node(Expr e, const std::function<bool(const ExprNode*)>& f) {
  std::unordered_set<const ExprNode*> seen;
  std::vector<const ExprNode*> pending{e.get()};
  while (!pending.empty()) {
    const ExprNode* n = pending.back();
    pending.pop_back();
    if (!seen.insert(n).second || !f(n)) continue;
    for (size_t i = n->args.size(); i-- > 0;) pending.push_back(n->args[i]);
  }
}

std::vector<const ExprNode*> post_order(Expr e) {
  std::vector<const ExprNode*> out;
  std::unordered_set<const ExprNode*> seen;
  std::vector<std::pair<const ExprNode*, bool>> pending{{e.get(), false}};
  while (!pending.empty()) {
    const auto [n, closing] = pending.back();
    pending.pop_back();
    if (closing) {
      out.push_back(n);
    } else if (seen.insert(n).second) {
      pending.emplace_back(n, true);
      for (size_t i = n->args.size(); i-- > 0;) pending.emplace_back(n->args[i], false);
    }
  }
  return out;
}

void for_each_load(Expr e, const std::function<void(const ExprNode*)>& f) {
  if (!e->has_load) return;
  std::unordered_set<const ExprNode*> seen;
  std::vector<std::pair<const ExprNode*, bool>> pending{{e.get(), false}};
  while (!pending.empty()) {
    const auto [n, closing] = pending.back();
    pending.pop_back();
    if (closing) {
      f(n);
      continue;
    }
    if (!n->has_load || !seen.insert(n).second) continue;
    if (n->kind == ExprKind::kLoad) pending.emplace_back(n, true);
    for (size_t i = n->args.size(); i-- > 0;) pending.emplace_back(n->args[i], false);
  }
}

std::vector<Expr> conjuncts(Expr condition) {
  std::vector<Expr> out;
  for_each_node(condition, [&](const ExprNode* n) {
    if (n->kind != ExprKind::kAnd) out.push_back(n);
    return n->kind == ExprKind::kAnd;
  });
  return out;
}

bool mentions(Expr e, Expr variable) {
  const std::vector<Expr> found = variables(e);
  return std::find(found.begin(), found.end(), variable) != found.end();
}

Expr rewrite(Expr root, const std::function<Expr(const ExprNode*)>& before,
             const std::function<Expr(Expr)>& after) {
  if (root->args.empty()) {
    const Expr given = before(root.get());
    return given ? given : after(root);
  }
  std::unordered_map<const ExprNode*, Expr> done;
  std::vector<std::pair<const ExprNode*, bool>> pending{{root.get(), false}};
  std::vector<Expr> args;
  while (!pending.empty()) {
    const auto [n, closing] = pending.back();
    pending.pop_back();
    if (!closing) {
      if (done.contains(n)) continue;
      if (Expr given = before(n)) {
        done.emplace(n, given);
        continue;
      }
      pending.emplace_back(n, true);
      for (size_t i = n->args.size(); i-- > 0;) pending.emplace_back(n->args[i], false);
      continue;
    }
    bool changed = false;
    args.clear();
    for (const ExprNode* a : n->args) {
      args.push_back(done.at(a));
      changed |= args.back().get() != a;
    }
    done.emplace(n, after(changed ? n->pool->with_args(*n, args) : Expr(n)));
  }
  return done.at(root.get());
}

Expr rewrite_loads(Expr e, const std::function<Expr(const ExprNode*)>& f) {
  const auto without_loads = [](const ExprNode* n) { return n->has_load ? Expr() : Expr(n); };
  return rewrite(e, without_loads, [&](Expr n) {
    if (n->kind != ExprKind::kLoad) return n;
    const Expr now = f(n.get());
    return now ? now : n;
  });
}

}  // namespace relay::kernel
