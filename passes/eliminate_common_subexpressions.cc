// eliminate-common-subexpressions: what is computed twice is computed once and shared.
//
//   nn.relu(%x) + nn.relu(%x)   becomes   %0 = nn.relu(%x); %0 + %0
//
// Merged are operator calls, tuples and projections whose evaluation cannot be noticed
// (analysis/effects.h), and only within one evaluation region: both were evaluated whenever one of
// them was, so that nothing is computed that was not computed before. What may trap, and
// what checks shapes when the program runs, stays as often as it is written. So do cells and
// calls of functions.
//
// A kernel may compute a value in passing, for less than it takes to write and to read it: relu in
// front of a sum. With `kernels` such a value stays in each kernel (analysis/kernel_groups.h).
// Shared are then what kernels write, what is equal in one kernel, and products with the work
// behind them. The levels run the pass so, and before functions are inlined: a checkpoint of
// `gradient` is a function that computes again on purpose.
//
// What `expand-operators` writes out later is in no kernel yet, and is shared as if it were one.
//
// Before: nothing is asked for. After, without `kernels`: no two such expressions of one region are
// equal, where constants are equal by their bits, and the operands of commutative operators in any
// order. Values behind the variable of a let are not looked through: `inline-lets` goes before.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/effects.h"
#include "analysis/evaluation_regions.h"
#include "analysis/kernel_groups.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "op/registry.h"
#include "passes/accepts.h"
#include "passes/each_function.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// Numbers of values: expressions with one number give the same bits.
class ValueNumbers {
 public:
  ValueNumbers(const Module& m, Expr root) : effects_(m, root) {}

  // Of one expression after its children. Zero: nothing else is known to be equal.
  void number(Expr e) {
    if (const auto* c = e->as<Constant>()) {
      numbers_[e] = of_constant(*c->value);
    } else if (can_merge(e)) {
      const auto [it, fresh] = by_key_.try_emplace(key_of(e), 0);
      if (fresh) it->second = ++last_;
      numbers_[e] = it->second;
    } else {
      numbers_[e] = ++last_;
    }
  }
  uint64_t of(Expr e) const { return numbers_.get(e); }

  // Is it an expression that may be evaluated once for all that are equal?
  bool can_merge(Expr e) {
    const bool dataflow = op::callee(e) || e->kind == ExprKind::kTuple || e->kind == ExprKind::kProj;
    return dataflow && effects_.silent(e);
  }

 private:
  using Key = std::vector<uint64_t>;

  template <class T>
  static uint64_t word(const T* p) {
    return reinterpret_cast<uintptr_t>(p);
  }

  // Types and attributes are interned.
  Key key_of(Expr e) const {
    Key key{static_cast<uint64_t>(e->kind), word(e->type)};
    if (const auto* proj = e->as<Proj>()) key.push_back(proj->index);
    const auto* call = e->as<Call>();
    const op::OpDef* def = op::callee(e);
    if (call) key.insert(key.end(), {word(def), word(call->attrs.begin())});
    const auto first = static_cast<std::ptrdiff_t>(key.size());
    const Expr callee = call ? call->callee : nullptr;
    for_each_child(e, [&](Expr child) {
      if (child != callee) key.push_back(of(child));
    });
    if (def && def->commutative) std::sort(key.begin() + first, key.end());
    return key;
  }

  uint64_t of_constant(const Tensor& t) {
    const std::string_view bytes(static_cast<const char*>(t.data()), t.bytes());
    std::vector<std::pair<const Tensor*, uint64_t>>& alike = constants_[std::hash<std::string_view>()(bytes)];
    for (const auto& [other, number] : alike) {
      const bool same_type = other->dtype() == t.dtype() && other->shape() == t.shape();
      if (same_type && (bytes.empty() || std::memcmp(other->data(), t.data(), t.bytes()) == 0)) return number;
    }
    alike.emplace_back(&t, ++last_);
    return last_;
  }

  analysis::Effects effects_;
  uint64_t last_ = 0;
  NodeMap<uint64_t> numbers_;
  std::map<Key, uint64_t> by_key_;
  std::unordered_map<size_t, std::vector<std::pair<const Tensor*, uint64_t>>> constants_;
};

// Which scopes are inside of functions that `fuse` made: their kernels are chosen.
std::vector<bool> inside_primitives(const Scopes& scopes, const std::vector<Expr>& order) {
  std::vector<bool> out(scopes.all.size());
  for (Expr e : order) {
    const auto* fn = e->as<Fn>();
    if (fn && fn->attrs.flag("Primitive")) out[scopes.opens.get(e)] = true;
  }
  for (size_t i = 1; i < out.size(); ++i) out[i] = out[i] || out[scopes.all[i].parent];
  return out;
}

// Where a kernel computes an expression: equal ones of one place are shared.
class Places {
 public:
  Places(const Module& m, Expr root, const target::Target& target) {
    const analysis::KernelGroups groups = analysis::kernel_groups(m, root, accepts_of(target));
    for (size_t g = 0; g < groups.size(); ++g) {
      size_t products = 0;
      for (const Call* call : groups[g]) products += is_product(call);
      // Two products are attention, whose scores are never written.
      for (const Call* call : groups[g]) inside_[call] = products == 1 && is_product(call) ? 0 : g + 1;
      inside_[groups[g].back()] = 0;
    }
  }

  // Zero: everybody may share it. Else the kernel in which it is computed in passing.
  size_t of(Expr e) const { return inside_.get(e); }
  static bool is_product(Expr e) {
    const op::OpDef* def = op::callee(e);
    return def && def->fusion == op::Fusion::kOutputFusable;
  }

 private:
  NodeMap<size_t> inside_;
};

// Expressions that take the place of later ones that are equal. Without places, of all of these.
class Sharing {
 public:
  explicit Sharing(std::optional<Places> places) : places_(std::move(places)) {}

  // The earlier expression of this value in the region; null: `e` is computed.
  Expr earlier(Expr e, uint64_t value, uint32_t region) {
    // A tuple costs nothing, and one that only a call reads is a list of its arguments.
    if (places_ && e->kind == ExprKind::kTuple) return nullptr;
    const Expr any = by_value_.try_emplace({value, region}, e).first->second;
    const size_t place = places_ ? places_->of(e) : 0;
    const Expr alike = by_place_.try_emplace({value, region, place}, e).first->second;
    const bool follows = follows_product(e);
    const Expr found = follows && any != e ? any : alike;
    if (found == e) return nullptr;
    if (follows || Places::is_product(e)) products_.insert(e);
    return found;
  }

 private:
  // Is it done in the kernel of a product, which is shared?
  bool follows_product(Expr e) const {
    const op::OpDef* def = op::callee(e);
    if (!def || def->fusion > op::Fusion::kBroadcast) return false;
    const auto args = e->as<Call>()->args;
    return std::any_of(args.begin(), args.end(), [&](Expr arg) { return products_.contains(arg); });
  }

  std::optional<Places> places_;
  std::map<std::pair<uint64_t, uint32_t>, Expr> by_value_;
  std::map<std::tuple<uint64_t, uint32_t, size_t>, Expr> by_place_;
  std::unordered_set<Expr> products_;  // with what follows, that an earlier one replaces
};

Expr merged(const Module& m, Expr root, std::optional<Places> places) {
  const std::vector<Expr> order = post_order(root);
  const Scopes where = scopes(root);
  const std::vector<uint32_t> regions = analysis::evaluation_regions(where, order);
  const std::vector<bool> primitive = inside_primitives(where, order);
  ValueNumbers values(m, root);
  Sharing sharing(std::move(places));
  NodeMap<Expr> now;
  for (Expr e : order) {
    values.number(e);
    const uint32_t scope = where.scope_of.get(e);
    if (values.can_merge(e) && !primitive[scope]) {
      if (const Expr earlier = sharing.earlier(e, values.of(e), regions[scope])) {
        now[e] = now.get(earlier);
        continue;
      }
    }
    std::vector<Expr> children;
    for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
    now[e] = with_children(m.context(), e, children);
  }
  return now.get(root);
}

Module run(const Module& m, const PassContext& pass) {
  const bool by_kernels = pass.value("kernels") != 0;
  return with_each_function(m, [&](const Fn* fn) {
    const Expr all = merged(m, fn, std::nullopt);
    return by_kernels && all != fn ? merged(m, fn, Places(m, fn, pass.target)) : all;
  });
}

}  // namespace

const Pass kEliminateCommonSubexpressions = {
    .name = "eliminate-common-subexpressions",
    .doc = "compute once what is computed twice in one place",
    .parameters = {{"kernels", 0, "1: values that a kernel computes in passing stay in each kernel", 0, 1}},
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
