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
    case ExprKind::kConstant:
    case ExprKind::kVar:
    case ExprKind::kGlobal:
    case ExprKind::kOpRef:
    case ExprKind::kCtorRef:
    case ExprKind::kTuple:
    case ExprKind::kProj:
    case ExprKind::kCall:
    case ExprKind::kRefNew:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: return true;
  }
  return true;
}

// The function of `(fn (%x: Tensor[(n, 4), float32]) { body })(value)`.
const Fn* matcher(Expr e) {
  const auto* call = e->as<Call>();
  const auto* fn = call ? call->callee->as<Fn>() : nullptr;
  if (!fn || call->args.size() != 1 || !call->attrs.empty()) return nullptr;
  if (fn->params.size() != 1 || fn->result || !fn->attrs.empty() || !fn->type_params.empty()) return nullptr;
  const Type t = fn->params[0]->annotation;
  const bool has_extents =
      t && (t->has_symbolic_dim || (t->kind == TypeKind::kTensor && t->as<TensorType>()->rank() > 0));
  return has_extents ? fn : nullptr;
}

bool block(Expr e) {
  switch (e->kind) {
    case ExprKind::kFn:
    case ExprKind::kLet:
    case ExprKind::kIf:
    case ExprKind::kMatch: return true;
    case ExprKind::kConstant:
    case ExprKind::kVar:
    case ExprKind::kGlobal:
    case ExprKind::kOpRef:
    case ExprKind::kCtorRef:
    case ExprKind::kTuple:
    case ExprKind::kProj:
    case ExprKind::kCall:
    case ExprKind::kRefNew:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: return false;
  }
  return false;
}

}  // namespace

const std::vector<Expr>& Layout::none() {
  static const std::vector<Expr> kNone;
  return kNone;
}

Layout::Layout(Expr root, uint32_t most_inline) : most_inline_(most_inline), scoped_(scopes(root)) {
  const std::vector<Expr> order = post_order(root);
  NodeMap<bool> operand, is_body;
  is_body[root] = true;
  for (size_t i = order.size(); i-- > 0;) {  // users first
    const Expr e = order[i];
    shape_matches_[e] =
        is_body.get(e) && scoped_.uses.get(e) <= 1 && matcher(e) && scoped_.uses.get(matcher(e)) == 1;
    size_t position = 0;
    for_each_child(e, [&](Expr child) {
      const bool in_place = shape_matches_.get(e) && position == 0;
      if (operand_position(e, position) && !in_place) operand[child] = true;
      if (opens_scope(e, position)) is_body[child] = true;
      ++position;
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

const Fn* Layout::shape_match(Expr e) const { return shape_matches_.get(e) ? matcher(e) : nullptr; }

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
