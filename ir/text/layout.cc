#include "ir/text/layout.h"

#include <algorithm>

namespace relay::text {
namespace {

constexpr uint32_t kBlock = 1u << 20;  // the number of parts of what stands on several lines

// What stands alone on its line: bodies of scopes and values of lets. All else is an operand.
bool operand_position(Expr user, size_t child) {
  switch (user->kind) {
    case ExprKind::kFn:
    case ExprKind::kLet: return false;
    case ExprKind::kIf:
    case ExprKind::kMatch: return child == 0;
    default: return true;
  }
}

bool block(Expr e) {
  return e->kind == ExprKind::kFn || e->kind == ExprKind::kIf || e->kind == ExprKind::kMatch ||
         e->kind == ExprKind::kLet;
}

}  // namespace

bool is_leaf(Expr e) { return e->kind <= ExprKind::kCtorRef; }

const std::vector<Expr>& Layout::none() {
  static const std::vector<Expr> kNone;
  return kNone;
}

Layout::Layout(Expr root, uint32_t most_inline) : most_inline_(most_inline), scoped_(scopes(root)) {
  const std::vector<Expr> order = post_order(root);
  NodeMap<bool> operand;
  for (Expr e : order) {
    size_t position = 0;
    for_each_child(e, [&](Expr child) {
      if (operand_position(e, position++)) operand[child] = true;
    });
  }
  bound_.resize(scoped_.all.size());
  NodeMap<bool> is_bound;
  for (Expr e : order) {
    if (is_leaf(e)) {
      parts_[e] = 1;
      continue;
    }
    uint32_t parts = 1;
    if (block(e)) {
      parts = kBlock;
    } else {
      size_t position = 0;
      for_each_child(e, [&](Expr child) {
        const bool callee = e->kind == ExprKind::kCall && position == 0 && is_leaf(child);
        ++position;
        if (!callee) parts = std::min(kBlock, parts + (is_bound.get(child) ? 1 : parts_.get(child)));
      });
      if (const auto* c = e->as<Call>())
        parts += static_cast<uint32_t>(std::min<size_t>(c->attrs.size(), kBlock));
      if (e->kind == ExprKind::kProj) --parts;
    }
    parts_[e] = parts;
    const bool shared = scoped_.uses.get(e) > 1;
    if (shared || (operand.get(e) && parts > most_inline)) {
      is_bound[e] = true;
      bound_[scoped_.scope_of.get(e)].push_back(e);
    }
  }
}

std::optional<uint32_t> Layout::own_scope(Expr body, uint32_t around) const {
  if (is_leaf(body)) return std::nullopt;
  const uint32_t s = scoped_.scope_of.get(body);
  const Scopes::Scope& scope = scoped_.all[s];
  const bool root = s == 0 && around == 0 && scope.body == body;
  if (root || (s != 0 && scope.body == body && scope.parent == around && scoped_.uses.get(body) == 1))
    return s;
  return std::nullopt;
}

bool Layout::simple(Expr body, uint32_t around) const {
  const std::optional<uint32_t> own = own_scope(body, around);
  return !own || (bound_[*own].empty() && parts_.get(body) <= std::max<uint32_t>(most_inline_, 1));
}

bool Layout::only_if(Expr body, uint32_t around) const {
  const std::optional<uint32_t> own = own_scope(body, around);
  return own && body->kind == ExprKind::kIf && bound_[*own].empty();
}

}  // namespace relay::text
