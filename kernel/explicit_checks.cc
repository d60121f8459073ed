#include "kernel/explicit_checks.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "base/failure.h"
#include "base/reasons.h"
#include "kernel/fields.h"
#include "kernel/fits.h"
#include "kernel/initial_values.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

// Beyond these, an expression is looked at as a whole: its parts are not told apart.
constexpr size_t kMostVisits = 4096;  // of nodes of one expression, each in one context
constexpr size_t kMostChecks = 16;    // of one expression
constexpr uint32_t kMostShown = 64;   // nodes of an expression in a message

// What is known where a statement or an expression stands.
struct Known {
  Bounds bounds = {};
  std::unordered_set<const ExprNode*> conditions = {};  // that hold

  void assume(Expr condition) {
    bounds.assume(condition);
    add(condition.get());
  }
  bool holds(Expr condition) const {
    if (simplify(condition, bounds).is_int(1) || conditions.contains(condition.get())) return true;
    if (is_low_end(condition) && bounds.proves_less(Expr(condition->args[0]) - 1, condition->args[1]))
      return true;
    if (condition->kind != ExprKind::kAnd) return false;
    const std::vector<Expr> parts = conjuncts(condition);
    return std::all_of(parts.begin(), parts.end(), [&](Expr part) { return holds(part); });
  }

 private:
  // 0 <= e, which follows from an assumed `-1 < e`.
  static bool is_low_end(Expr condition) {
    return condition->kind == ExprKind::kLessEqual && Expr(condition->args[0]).is_int(0) &&
           condition->args[0]->dtype == kInt64;
  }
  void add(const ExprNode* condition) {
    for_each_node(condition, [&](const ExprNode* n) {
      return conditions.insert(n).second && n->kind == ExprKind::kAnd;
    });
  }
};

// One thing that can go wrong when a node is evaluated, after its operands were.
struct Check {
  Expr holds;  // if not
  std::string message;
  Expr compared = {};  // what has to fit 64 bits for the condition to say anything; null if nothing has to
};

class Checks {
 public:
  Checks(const Kernel& k, ExprPool& pool) : pool_(pool), place_(cat(kOfKernel, k.name.text(), kEndOfPlace)) {
    // These tensors exist.
    for (const auto& list : {k.inputs, k.outputs}) {
      for (const Buffer* b : list) extents_.insert(extents_.end(), b->shape.begin(), b->shape.end());
    }
  }

  Expr truth() { return pool_.integer(1, kBool); }
  Expr both(Expr a, Expr b) {
    if (a.is_int(1)) return b;
    return b.is_int(1) ? a : select(a, b, pool_.integer(0, kBool));
  }

  std::vector<Check> of_indices(const Buffer& buffer, std::span<const Expr> indices) {
    std::vector<Check> out;
    for (size_t d = 0; d < indices.size(); ++d) {
      const Expr i = indices[d], extent = buffer.shape[d];
      out.push_back({logical_and(less_equal(pool_.integer(0), i), less(i, extent)),
                     cat(place_, text(i, kAnIndex), kOutOfRangeOfDim, d, " of `", buffer.name.text(),
                         "`, which has extent ", text(extent, "its extent")),
                     i});
    }
    return out;
  }
  Check of_size(Expr e, const Known& known, std::string_view what) {
    return {fits(e, known.bounds, extents_), cat(place_, what, " does not fit 64 bits")};
  }
  // The memory of a temporary. Who allocates it may notice first, and says the same kind of thing.
  std::vector<Check> of_extents(const Buffer& buffer, const Known& known) {
    std::vector<Check> out;
    for (Expr e : buffer.shape) {
      const Expr holds = logical_and(fits(e, known.bounds, extents_), less_equal(pool_.integer(0), e));
      out.push_back({holds, cat(kWrongShape, place_, text(e, "a number"), ", an extent of `",
                                buffer.name.text(), "`, is negative or does not fit 64 bits")});
    }
    return out;
  }
  // Of what proofs rely on: comparisons, and what keeps an index in a range.
  std::vector<Check> of_operands(const ExprNode* n, const Known& known) {
    std::vector<Check> out;
    const bool relied_on = (n->kind >= ExprKind::kFloorDiv && n->kind <= ExprKind::kBroadcast) ||
                           (n->kind >= ExprKind::kEqual && n->kind <= ExprKind::kLessEqual);
    for (const ExprNode* a : n->args) {
      const bool is_sum = a->dtype == kInt64 && (a->kind == ExprKind::kAdd || a->kind == ExprKind::kMul);
      if (relied_on && is_sum) out.push_back(of_size(a, known, text(a, "a number")));
    }
    return out;
  }
  Expr in_full(const Check& c, const Known& known) {
    return c.compared ? logical_and(fits(c.compared, known.bounds, extents_), c.holds) : c.holds;
  }

  std::vector<Check> of_node(const ExprNode* n, const Known& known) {
    std::vector<Check> out = of_operands(n, known);
    switch (n->kind) {
      case ExprKind::kLoad: {
        const std::vector<Expr> indices(n->args.begin(), n->args.end());
        return of_indices(*n->buffer, indices);
      }
      case ExprKind::kFloorDiv:
      case ExprKind::kFloorMod:
      case ExprKind::kTruncDiv:
      case ExprKind::kTruncMod: {
        const Expr a = n->args[0], b = n->args[1];
        const DType d = n->dtype;
        out.push_back({not_equal(b, pool_.integer(0, d)),
                       cat(place_, kDivisionByZero, kInPlace, text(n, "a quotient"))});
        if (!d.is_signed_int()) return out;
        const Expr least = pool_.integer(INT64_MIN >> (64 - d.bits), d);
        out.push_back({logical_or(not_equal(b, pool_.integer(-1, d)), not_equal(a, least)),
                       cat(place_, kQuotientTooLarge, kInPlace, text(n, "a quotient"))});
        return out;
      }
      case ExprKind::kShiftLeft:
      case ExprKind::kShiftRight: {
        const Expr b = n->args[1];
        const DType d = n->dtype;
        Expr holds = less(b, pool_.integer(d.bits, d));
        if (d.is_signed_int()) holds = logical_and(less_equal(pool_.integer(0, d), b), holds);
        out.push_back({holds, cat(place_, kShiftTooWide, kInPlace, text(n, "a shift"))});
        return out;
      }
      default: return out;
    }
  }

  // "`y[v] + 1`"; `otherwise` if that is long.
  std::string text(Expr e, std::string_view otherwise) {
    return e->weight > kMostShown ? std::string(otherwise) : cat("`", show(e), "`");
  }

  const std::string& place() const { return place_; }

 private:
  ExprPool& pool_;
  std::string place_;
  std::vector<Expr> extents_;  // that fit
};

// What must hold before one expression is evaluated.
class Requirements {
 public:
  Requirements(Checks& checks, Expr root) : checks_(checks), root_(root) {}

  // In the order in which the parts are evaluated.
  std::vector<Check> unless(const Known& known) {
    find(root_.get(), known, 0);
    std::vector<Check> out;
    for (const auto& [node, check] : open_) {
      if (out.size() == kMostChecks) {
        out.push_back({safe(root_.get()), cat(checks_.place(), "an index or a divisor is out of range")});
        return out;
      }
      reached_.clear();
      safe_.clear();
      const Expr holds = where_reached(root_.get(), node, check.holds);
      out.push_back({holds, check.message});
      if (holds == check.holds) settled_.insert(holds.get());
    }
    return out;
  }

  // It holds if nothing can go wrong in the node and below it, and can be evaluated anywhere.
  Expr safe(const ExprNode* n) {
    if (const auto it = safe_.find(n); it != safe_.end()) return it->second;
    Expr out = checks_.truth();
    if (n->kind == ExprKind::kSelect) {
      const Expr a = safe(n->args[1]), b = safe(n->args[2]);
      const Expr sides = a == b ? a : select(n->args[0], a, b);
      out = checks_.both(safe(n->args[0]), sides);
    } else {
      for (const ExprNode* a : n->args) out = checks_.both(out, safe(a));
      if (const auto it = open_nodes_.find(n); it != open_nodes_.end()) {
        for (Expr holds : it->second) {
          if (!settled_.contains(holds.get())) out = checks_.both(out, holds);
        }
      }
    }
    safe_.emplace(n, out);
    return out;
  }

 private:
  // Finds what is not known to go well. A context is a side of a selection.
  void find(const ExprNode* n, const Known& known, size_t context) {
    if (!seen_.insert({n, context}).second) return;
    const bool tired = seen_.size() > kMostVisits;
    if (n->kind == ExprKind::kSelect && !tired) {
      find(n->args[0], known, context);
      for (size_t side = 1; side < 3; ++side) {
        Known here = known;
        here.assume(side == 1 ? Expr(n->args[0]) : logical_not(n->args[0]));
        find(n->args[side], here, ++contexts_);
      }
      return;
    }
    for (const ExprNode* a : n->args) find(a, tired ? Known() : known, tired ? SIZE_MAX : context);
    for (Check& c : checks_.of_node(n, known)) {
      if (known.holds(c.holds) || !listed_.insert({n, c.holds.get()}).second) continue;
      c = {checks_.in_full(c, known), c.message};
      open_nodes_[n].push_back(c.holds);
      open_.emplace_back(n, std::move(c));
    }
  }

  // The condition, where evaluating `n` reaches the node and nothing goes wrong on the way.
  Expr where_reached(const ExprNode* n, const ExprNode* node, Expr condition) {
    if (n == node) {
      Expr before = checks_.truth();
      for (const ExprNode* a : n->args) before = checks_.both(before, safe(a));
      return before.is_int(1) ? condition : select(before, condition, checks_.truth());
    }
    if (const auto it = reached_.find(n); it != reached_.end()) return it->second;
    Expr out = checks_.truth();
    if (n->kind == ExprKind::kSelect) {
      const Expr a = where_reached(n->args[1], node, condition),
                 b = where_reached(n->args[2], node, condition);
      const Expr chosen = a == b ? a : select(n->args[0], a, b);
      const Expr can_choose = safe(n->args[0]);
      out = can_choose.is_int(1) || chosen.is_int(1) ? chosen : select(can_choose, chosen, checks_.truth());
      out = checks_.both(where_reached(n->args[0], node, condition), out);
    } else {
      for (const ExprNode* a : n->args) out = checks_.both(out, where_reached(a, node, condition));
    }
    reached_.emplace(n, out);
    return out;
  }

  Checks& checks_;
  Expr root_;
  size_t contexts_ = 0;
  std::set<std::pair<const ExprNode*, size_t>> seen_;
  std::set<std::pair<const ExprNode*, const ExprNode*>> listed_;
  std::vector<std::pair<const ExprNode*, Check>> open_;
  std::unordered_map<const ExprNode*, std::vector<Expr>> open_nodes_;
  std::unordered_set<const ExprNode*>
      settled_;  // conditions that are required wherever the expression is evaluated
  std::unordered_map<const ExprNode*, Expr> safe_, reached_;
};

// Rewrites the statements of one kernel.
class Writer {
 public:
  Writer(const Kernel& k, ExprPool& pool) : pool_(pool), arena_(pool.arena()), checks_(k, pool) {}

  // What is known lasts, or ends with the next store, which may change what a condition has read.
  struct Facts {
    Known lasting, now;

    void bind(Expr var, Expr extent) {
      for (Known* k : {&lasting, &now}) k->bounds.bind(var, extent);
    }
    void assume(Expr condition) {
      now.assume(condition);
      if (!condition->has_load) lasting.assume(condition);
    }
    void forget() { now = lasting; }
  };

  Stmt kernel(const Kernel& k) {
    std::vector<Stmt> items{k.body}, out;
    if (const auto* seq = k.body->as<Seq>()) items.assign(seq->body.begin(), seq->body.end());
    Facts begin;
    for (Stmt s : items) {
      if (!s->as<Require>()) break;
      begin.assume(s->as<Require>()->condition);
    }
    for (const Buffer* b : k.temporaries) {
      for (const Check& c : checks_.of_extents(*b, begin.now)) require(c, begin.now, out);
    }
    if (out.empty()) return statement(k.body, {});
    out.push_back(k.body);
    return statement(make_sequence(arena_, out), {});
  }

  Stmt statement(Stmt s, Facts facts) {
    switch (s->kind) {
      case StmtKind::kFor: {
        For n = *s->as<For>();
        std::vector<Stmt> out = required({n.extent}, facts.now);
        require(
            checks_.of_size(n.extent, facts.now,
                            cat(checks_.text(n.extent, "it"), ", the extent of loop `", show(n.var), "`,")),
            facts.now, out);
        facts.forget();
        facts.bind(n.var, n.extent);
        n.body = statement(n.body, facts);
        out.push_back(changed(n, *s->as<For>(), n.body != s->as<For>()->body));
        return together(out, s);
      }
      case StmtKind::kBlock: return block(*s->as<Block>(), facts);
      case StmtKind::kStore: {
        const auto* n = s->as<Store>();
        std::vector<Stmt> out = required(expressions(s), facts.now);
        for (const Check& c : checks_.of_indices(*n->buffer, {n->indices.begin(), n->indices.end()}))
          require(c, facts.now, out);
        out.push_back(s);
        return together(out, s);
      }
      case StmtKind::kSeq: return sequence(*s->as<Seq>(), facts);
      case StmtKind::kIf: {
        If n = *s->as<If>();
        std::vector<Stmt> out = required({n.condition}, facts.now);
        Facts holds = facts;
        holds.assume(n.condition);
        n.then_branch = statement(n.then_branch, holds);
        if (n.else_branch) n.else_branch = statement(n.else_branch, facts);
        const auto* was = s->as<If>();
        out.push_back(
            changed(n, *was, n.then_branch != was->then_branch || n.else_branch != was->else_branch));
        return together(out, s);
      }
      case StmtKind::kAllocate: {
        Allocate n = *s->as<Allocate>();
        std::vector<Stmt> out;
        for (const Check& c : checks_.of_extents(*n.buffer, facts.now)) require(c, facts.now, out);
        n.body = statement(n.body, facts);
        out.push_back(changed(n, *s->as<Allocate>(), n.body != s->as<Allocate>()->body));
        return together(out, s);
      }
      case StmtKind::kRequire: {
        const auto* n = s->as<Require>();
        if (simplify(n->condition, facts.now.bounds).is_int(1)) return make_nop(arena_);
        std::vector<Stmt> out = required({n->condition}, facts.now);
        out.push_back(s);
        return together(out, s);
      }
      case StmtKind::kPrefetch:
      default: {
        static_assert(others_only_look<For, Block, Store, Seq, If, Allocate, Prefetch>);
        std::vector<Stmt> out = required(expressions(s), facts.now);
        out.push_back(s);
        return together(out, s);
      }
    }
  }

 private:
  template <class Node>
  Stmt changed(const Node& now, const Node& was, bool differs) {
    return differs ? arena_.make<Node>(now) : &was;
  }
  Stmt together(const std::vector<Stmt>& all, Stmt only) {
    return all.size() == 1 && all[0] == only ? only : make_sequence(arena_, all);
  }

  void require(const Check& check, const Known& known, std::vector<Stmt>& out) {
    if (known.holds(check.holds)) return;
    const Symbol message = pool_.symbols().intern(check.message);
    out.push_back(make_require(arena_, checks_.in_full(check, known), message));
  }
  std::vector<Stmt> required(const std::vector<Expr>& all, Known known) {
    std::vector<Stmt> out;
    for (Expr e : all) {
      for (const Check& c : Requirements(checks_, e).unless(known)) {
        require(c, known, out);
        known.assume(c.holds);
      }
    }
    return out;
  }

  Stmt sequence(const Seq& n, Facts facts) {
    std::vector<Stmt> out;
    bool differs = false;
    for (Stmt s : n.body) {
      Stmt now = statement(s, facts);
      differs |= now != s;
      out.push_back(now);
      // What the requirements that were put in front of a statement say is found again by
      // their conditions.
      if (const auto* r = s->as<Require>()) {
        facts.assume(r->condition);
      } else if (!s->as<Nop>() && !s->as<Prefetch>()) {
        facts.forget();
      }
    }
    return differs ? make_sequence(arena_, out) : &n;
  }

  Stmt block(const Block& b, const Facts& facts) {
    std::vector<Stmt> out;
    Facts where = facts;
    if (b.predicate) {
      out = required({b.predicate}, facts.now);
      where.assume(b.predicate);
    }
    // In front of the block, and so only if it runs.
    const auto before = [&](const Check& c) {
      if (where.now.holds(c.holds)) return;
      const Expr full = checks_.in_full(c, where.now);
      const Expr holds = b.predicate ? select(b.predicate, full, checks_.truth()) : full;
      require({holds, c.message}, facts.now, out);
      where.assume(full);
    };
    Facts inside = where;
    std::unordered_map<const ExprNode*, Expr> bindings;
    for (const BlockIter& i : b.iters) {
      for (Expr e : {i.binding, i.extent}) {
        for (const Check& c : Requirements(checks_, e).unless(where.now)) before(c);
      }
      before(checks_.of_size(
          i.extent, where.now,
          cat(checks_.text(i.extent, "it"), ", the extent of iterator `", show(i.var), "`,")));
      const Expr in_extent = logical_and(less_equal(pool_.integer(0), i.binding), less(i.binding, i.extent));
      if (!is_inside(i, where.now))
        before({in_extent,
                cat(checks_.place(), "iterator `", show(i.var), "` of block `", b.name.text(),
                    "` is outside of its extent ", checks_.text(i.extent, "there")),
                i.binding});
      bindings[i.var.get()] = i.binding;
      inside.bind(i.var, i.extent);
    }
    // The reference executor works regions out before it runs the body.
    for (Expr e : expressions_of_regions(b)) {
      for (const Check& c : Requirements(checks_, e).unless(inside.now))
        before({substitute(c.holds, bindings), c.message});
    }
    inside = where;
    for (const BlockIter& i : b.iters) inside.bind(i.var, i.extent);
    Block now = b;
    if (b.init) {
      now.init = statement(b.init, inside);
      inside.forget();
    }
    now.body = statement(b.body, inside);
    const bool differs = now.init != b.init || now.body != b.body;
    if (differs) now.instruction = {};  // it checks nothing
    out.push_back(changed(now, b, differs));
    return together(out, &b);
  }

  // Those that load nothing, as outside of blocks nothing may.
  static std::vector<Expr> expressions_of_regions(const Block& b) {
    std::vector<Expr> out;
    for (const auto& list : {b.reads, b.writes}) {
      for (const Region& r : list) {
        for (const auto& all : {r.min, r.extent}) out.insert(out.end(), all.begin(), all.end());
      }
    }
    std::erase_if(out, [](Expr e) { return e->has_load; });
    return out;
  }

  static bool is_inside(const BlockIter& i, const Known& known) {
    return known.bounds.proves_less_equal(i.binding->pool->integer(0), i.binding) &&
           known.bounds.proves_less(i.binding, i.extent);
  }

  ExprPool& pool_;
  Arena& arena_;
  Checks checks_;
};

}  // namespace

Kernel with_explicit_checks(const Kernel& k) {
  ExprPool* pool = pool_of(k);
  if (pool == nullptr || k.external) return k;
  Kernel out = with_initial_values(k);
  out.body = Writer(k, *pool).kernel(out);
  return out;
}

}  // namespace relay::kernel
