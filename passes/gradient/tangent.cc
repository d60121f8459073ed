#include "passes/gradient/tangent.h"

#include <vector>

#include "base/cat.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/gradient/adjoints.h"

namespace relay::passes::gradient {
namespace {

// Expansions are made of operators that may be expanded themselves, a few times over.
constexpr int kMostExpansions = 16;

// The expression in operators that have rules, as far as possible.
Expr in_operators_with_rules(Builder& b, Expr root) {
  for (int i = 0; i < kMostExpansions; ++i) {
    const Expr before = root;
    root = rewrite(b.context(), root, [&](relay::Builder& at, Expr e) -> Expr {
      const auto* call = e->as<Call>();
      const op::OpDef* def = call ? op::callee(*call) : nullptr;
      if (!def || def->differentiate || !def->expand) return e;
      return op::expand(at, *def, {call->args.begin(), call->args.end()}, call->attrs);
    });
    if (root == before) break;
  }
  return root;
}

// Goes back through an expression to the adjoint of one variable in it.
class Transposition {
 public:
  Transposition(Builder& b, const Var* u) : b_(b), u_(u) {}

  // Nothing if `reason` is set.
  OperatorTangent run(Expr root, Expr adjoint) {
    const std::vector<Expr> order = post_order(root);
    for (Expr e : order) {
      bool active = e == u_;
      for_each_child(e, [&](Expr child) { active |= active_.get(child); });
      active_[e] = active && holds_floats(e->type);
    }
    add(root, adjoint);
    for (size_t i = order.size(); i-- > 0 && reason_.empty();) {
      if (order[i] != u_) back(order[i]);
    }
    if (!reason_.empty()) return {nullptr, reason_};
    return {whole(u_), {}};
  }

 private:
  // Of a tensor, or of the fields of a tuple.
  struct Adjoint {
    Expr whole = nullptr;
    std::vector<Expr> fields = {};  // null where one is zero; beside `whole`
  };

  void add(Expr e, Expr adjoint) {
    if (!adjoint || !active_.get(e)) return;
    Expr& whole = adjoints_[e].whole;
    whole = whole ? plus(e->type, whole, adjoint) : adjoint;
  }

  Expr plus(Type type, Expr x, Expr y) {
    const auto* tuple = type->as<TupleType>();
    if (!tuple) return holds_floats(type) ? sum(b_, x, y) : x;
    std::vector<Expr> fields;
    for (uint32_t i = 0; i < tuple->fields.size(); ++i)
      fields.push_back(plus(tuple->fields[i], field(x, i), field(y, i)));
    return b_.tuple(fields);
  }

  Expr field(Expr e, uint32_t i) {
    const auto* tuple = e->as<Tuple>();
    return tuple ? tuple->fields[i] : b_.proj(e, i);
  }

  // The adjoint of all of it; null if it is zero.
  Expr whole(Expr e) {
    const Adjoint& found = adjoints_[e];
    if (found.fields.empty()) return found.whole;
    std::vector<Expr> fields;
    for (uint32_t i = 0; i < found.fields.size(); ++i)
      fields.push_back(found.fields[i] ? found.fields[i] : zeros(b_, b_.proj(e, i)));
    const Expr parts = b_.tuple(fields);
    return found.whole ? plus(e->type, found.whole, parts) : parts;
  }

  void back(Expr e) {
    if (!active_.get(e)) return;
    const Expr adjoint = whole(e);
    if (!adjoint) return;
    if (const auto* tuple = e->as<Tuple>()) {
      for (uint32_t i = 0; i < tuple->fields.size(); ++i) add(tuple->fields[i], field(adjoint, i));
    } else if (const auto* proj = e->as<Proj>()) {
      std::vector<Expr>& fields = adjoints_[proj->tuple].fields;
      fields.resize(proj->tuple->type->as<TupleType>()->fields.size());
      Expr& part = fields[proj->index];
      part = part ? plus(e->type, part, adjoint) : adjoint;
    } else if (const auto* call = e->as<Call>(); call && op::callee(*call)) {
      const std::vector<Expr> args(call->args.begin(), call->args.end());
      const OperatorAdjoints found = adjoints_of(b_, *call, args, e, adjoint);
      if (!found.reason.empty()) {
        reason_ =
            cat("its adjoint needs `", op::callee(*call)->name, "`, which has no gradient: ", found.reason);
        return;
      }
      for (size_t i = 0; i < args.size(); ++i) add(args[i], found.of[i]);
    } else {
      reason_ = "its adjoint is not made of operators alone; the pass `gradient` takes it";
    }
  }

  Builder& b_;
  const Var* u_;
  NodeMap<bool> active_;
  std::unordered_map<Expr, Adjoint> adjoints_;
  std::string reason_;
};

}  // namespace

OperatorTangent tangent_of(Builder& b, const Call& call, std::span<const Expr> args, Expr y,
                           std::span<const Expr> tangents) {
  // The adjoint of the result as a variable. What it is does not matter where all is linear in it,
  // but for its extents.
  const Var* u = b.with_type(b.var("u"), y->type)->as<Var>();
  const OperatorAdjoints adjoints = adjoints_of(b, call, args, y, u);
  if (!adjoints.reason.empty()) return {nullptr, adjoints.reason};
  std::vector<Expr> of, moved;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!tangents[i] || !adjoints.of[i]) continue;
    of.push_back(adjoints.of[i]);
    moved.push_back(tangents[i]);
  }
  if (of.empty()) return {};
  OperatorTangent out = Transposition(b, u).run(in_operators_with_rules(b, b.tuple(of)), b.tuple(moved));
  if (out.of) out.of = substitute(b.context(), out.of, {{u, y}});
  return out;
}

}  // namespace relay::passes::gradient
