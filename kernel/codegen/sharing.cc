#include "kernel/codegen/sharing.h"

#include <algorithm>
#include <iterator>

#include "kernel/codegen/vectors.h"
#include "kernel/statements.h"

namespace relay::kernel::codegen {
namespace {

bool is_older(const ExprNode* a, const ExprNode* b) { return a->id < b->id; }

}  // namespace

Expr at_first_lane(Expr offset, const std::optional<Lanes>& lanes) {
  if (!lanes) return offset;
  return substitute(offset, {{lanes->var.get(), offset->pool->integer(lanes->base)}});
}

bool is_leaf(const ExprNode* n) {
  return n->kind == ExprKind::kInt || n->kind == ExprKind::kFloat || n->kind == ExprKind::kVar;
}

Sharing::Sharing(const Bounds& bounds, const std::optional<Lanes>& lanes, const std::vector<Expr>& roots)
    : bounds_(bounds), lanes_(lanes) {
  for (Expr e : roots) count(e.get());
}

Expr Sharing::offset(const ExprNode* load) {
  auto [it, fresh] = offsets_.try_emplace(load);
  if (fresh) it->second = offset_of(*load->buffer, load->args, bounds_, *load->pool);
  return it->second;
}

std::vector<const ExprNode*> Sharing::operands(const ExprNode* n) {
  if (n->kind != ExprKind::kLoad) return {n->args.begin(), n->args.end()};
  if (n->args.empty()) return {};
  return {offset(n).get()};
}

void Sharing::count(const ExprNode* n) {
  if (uses_[n]++ > 0) return;
  for (const ExprNode* c : operands(n)) count(c);
}

bool Sharing::is_shared(const ExprNode* n) const {
  const auto it = uses_.find(n);
  return it != uses_.end() && it->second > 1;
}

const std::vector<const ExprNode*>& Sharing::certain(const ExprNode* n) {
  if (auto it = certain_.find(n); it != certain_.end()) return it->second;
  std::vector<const ExprNode*> all;
  const auto merge = [&](const std::vector<const ExprNode*>& more) {
    std::vector<const ExprNode*> both;
    std::set_union(all.begin(), all.end(), more.begin(), more.end(), std::back_inserter(both), is_older);
    all = std::move(both);
  };
  if (n->kind == ExprKind::kSelect && !is_vector(n->args[0])) {
    merge(certain(n->args[0]));
    merge(on_both_sides(n));
  } else {
    for (const ExprNode* c : operands(n)) merge(certain(c));
  }
  if (is_shared(n) && !is_leaf(n)) merge({n});
  return certain_[n] = std::move(all);
}

std::vector<const ExprNode*> Sharing::on_both_sides(const ExprNode* selection) {
  const auto &a = certain(selection->args[1]), &b = certain(selection->args[2]);
  std::vector<const ExprNode*> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common), is_older);
  return common;
}

bool Sharing::is_vector(const ExprNode* n) {
  if (!lanes_) return false;
  if (n == lanes_->var.get()) return true;
  if (auto it = vector_.find(n); it != vector_.end()) return it->second;
  const bool any =
      std::any_of(n->args.begin(), n->args.end(), [&](const ExprNode* a) { return is_vector(a); });
  return vector_[n] = any;
}

bool Sharing::is_index(const ExprNode* n) {
  if (n->dtype != kInt64) return false;
  if (n->kind == ExprKind::kVar) return true;
  if (n->kind == ExprKind::kInt) return n->int_value > INT32_MIN && n->int_value <= INT32_MAX;
  if (n->kind == ExprKind::kLoad || n->kind == ExprKind::kCast || n->kind == ExprKind::kMath) return false;
  if (auto it = index_.find(n); it != index_.end()) return it->second;
  const auto first = n->args.begin() + (n->kind == ExprKind::kSelect ? 1 : 0);
  return index_[n] = std::all_of(first, n->args.end(), [&](const ExprNode* a) { return is_index(a); });
}

}  // namespace relay::kernel::codegen
