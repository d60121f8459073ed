#include "passes/known_branches.h"

#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/cat.h"

namespace relay::passes {
namespace {

enum class Fits : uint8_t { kNo, kUnknown, kYes };

// A value that is visibly made.
struct Made {
  const Constructor* ctor = nullptr;  // null: a tuple
  std::span<const Expr> fields;
  const Var* name = nullptr;  // of the let that binds it; null: it is made here
};

// What a let binds, and lets that go before it because a match looks into the value.
struct Bound {
  Expr value;
  Expr within;  // what it is evaluated in, of the old root
  std::vector<const Var*> before = {};
  bool done = false;  // the let has been made
};

struct Decision {
  int arm = -1;                                    // none
  std::vector<const Let*> around;                  // lets in the value of the match
  std::vector<const Var*> lets;                    // in order of evaluation
  std::unordered_map<const Var*, Expr> stand_for;  // variables of the pattern that need none
};

// A function whose type would be inferred anew, and perhaps made generic, where it
// is bound by a let.
bool is_open(Expr e) {
  const auto* fn = e->as<Fn>();
  if (!fn) return false;
  bool open = !fn->type_params.empty();
  for (const Var* p : fn->params) open = open || !p->annotation;
  return open;
}

class BranchRewriter {
 public:
  BranchRewriter(const Module& m, Expr root, BranchTypes types, const RewriteFn& f)
      : context_(m.context()), b_(context_), effects_(m), uses_(scopes(root).uses), types_(types), f_(f) {}

  BranchesTaken run(Expr root) {
    const std::vector<Expr> order = post_order(root);
    for (Expr e : order) {
      if (const auto* let = e->as<Let>()) let_of_[let->x] = let;
      if (const auto* match = e->as<Match>()) note_variables(*match);
    }
    std::vector<Expr> children;
    for (Expr e : order) {
      if (const auto* var = e->as<Var>()) {
        now_[e] = use_of(var);
        continue;
      }
      children.clear();
      for_each_child(e, [&](Expr child) { children.push_back(now_.get(child)); });
      b_.set_span(e->span);
      const Expr now = visit(e, children);
      now_[e] = now;
      if (uses_.get(e) > 1 && !is_leaf(now)) shared_as_[now] = e;
    }
    out_.root = now_.get(root);
    return std::move(out_);
  }

 private:
  void note_variables(const Match& match) {
    for (size_t i = 0; i < match.arms.size(); ++i) {
      std::vector<Pattern> pending{match.arms[i].pattern};
      while (!pending.empty()) {
        const Pattern p = pending.back();
        pending.pop_back();
        if (p->var) arm_of_[p->var] = {&match, static_cast<int>(i)};
        for (Pattern field : p->fields) pending.push_back(field);
      }
    }
  }

  Expr visit(Expr e, std::span<const Expr> children) {
    if (const auto* n = e->as<If>()) {
      if (std::optional<Expr> taken = branch(*n, children)) return *taken;
    } else if (const auto* n = e->as<Match>()) {
      if (std::optional<Expr> taken = arm(*n, children)) return *taken;
    } else if (const auto* n = e->as<Let>()) {
      return let(*n, children);
    } else if (const auto* n = e->as<Proj>()) {
      const std::optional<Made> made = made_by(children[0]);
      const Expr field = made && made->name ? made->fields[n->index] : nullptr;
      if (field && is_leaf(field) && field->type == e->type) return field;
    }
    return f_(b_, with_children(context_, e, children));
  }

  // Variables.

  // What stands where the variable is used. A value is visited before the uses of its name.
  Expr use_of(const Var* x) {
    if (const Let* let = let_of_.get(x)) {
      const Expr value = now_.get(let->value);
      if (!value) return x;  // a function that uses itself
      bound_.try_emplace(x, Bound{value, let->value});
      return value->kind == ExprKind::kConstant && value->type == x->type ? value : x;
    }
    const auto it = arm_of_.find(x);
    if (it == arm_of_.end()) return x;
    const auto& [match, index] = it->second;
    const Decision& d = decision(*match);
    if (d.arm != index) return x;
    const auto found = d.stand_for.find(x);
    return found == d.stand_for.end() ? x : found->second;
  }

  std::optional<Made> made_by(Expr e) const {
    const Var* name = nullptr;
    while (const auto* x = e->as<Var>()) {
      const auto it = bound_.find(x);
      if (it == bound_.end()) return std::nullopt;
      name = x;
      e = it->second.value;
    }
    if (const auto* tuple = e->as<Tuple>())
      return Made{nullptr, {tuple->fields.begin(), tuple->fields.end()}, name};
    if (const auto* ctor = e->as<CtorRef>()) {
      if (!ctor->ctor->fields.empty()) return std::nullopt;
      return Made{ctor->ctor, {}, name};
    }
    const auto* call = e->as<Call>();
    const auto* ctor = call ? call->callee->as<CtorRef>() : nullptr;
    if (!ctor) return std::nullopt;
    return Made{ctor->ctor, {call->args.begin(), call->args.end()}, name};
  }

  // Known branches.

  // The value without the lets around it, which are to be put around what takes its place.
  Expr inside(Expr e, std::vector<const Let*>& around) const {
    while (const auto* let = e->as<Let>()) {
      if (shared_as_.get(let)) break;
      around.push_back(let);
      e = let->body;
    }
    return e;
  }

  std::optional<Expr> branch(const If& n, std::span<const Expr> children) {
    if (types_ == BranchTypes::kNone) return std::nullopt;
    std::vector<const Let*> around;
    const auto* cond = inside(children[0], around)->as<Constant>();
    if (!cond) return std::nullopt;
    const Expr taken = children[cond->value->get_int(0) != 0 ? 1 : 2];
    if (!may_become(taken, n.type)) return std::nullopt;
    out_.touched.push_back(&n);
    return with_lets(around, typed(taken, n.type));
  }

  std::optional<Expr> arm(const Match& n, std::span<const Expr> children) {
    const Decision& d = decision(n);
    if (d.arm < 0) return std::nullopt;
    const Expr taken = children[1 + static_cast<size_t>(d.arm)];
    return with_lets(d.around, with_lets(d.lets, typed(taken, n.type)));
  }

  // Functions of another type would be inferred anew.
  bool may_become(Expr e, Type type) const {
    if (is_open(e)) return false;
    return e->type == type || (type && type->kind != TypeKind::kFn && e->type);
  }

  Expr typed(Expr e, Type type) {
    if (e->type == type || types_ == BranchTypes::kInferred) return e;
    const Var* x = fresh(type);
    return b_.let(x, e, x);
  }
  // A variable for a value of this type, which may be written.
  const Var* fresh(Type type) {
    const Type written = types_ == BranchTypes::kWritten ? type : nullptr;
    return b_.with_type(b_.var(cat("field", fresh_++), written), type)->as<Var>();
  }

  const Decision& decision(const Match& n) {
    const auto [it, is_new] = decisions_.try_emplace(&n);
    Decision& d = it->second;
    if (!is_new || types_ == BranchTypes::kNone) return d;
    const Expr value = inside(now_.get(n.value), d.around);
    for (size_t i = 0; i < n.arms.size(); ++i) {
      const Fits fits = look(n.arms[i].pattern, value);
      if (fits == Fits::kNo) continue;
      // Arms are typed like the match, or none is taken.
      if (fits == Fits::kYes && may_become(n.arms[i].body, n.type)) {
        d.arm = static_cast<int>(i);
        out_.touched.push_back(&n);
        bind(n.arms[i].pattern, value, n, d);
      }
      break;
    }
    return d;
  }

  // Does the value fit? What can be bound only by a let that is not there yet makes it unknown.
  Fits look(Pattern pattern, Expr value) {
    std::vector<std::pair<Pattern, Expr>> pending{{pattern, value}};
    std::vector<Expr> to_bind;
    bool known = true;
    while (!pending.empty()) {
      const auto [p, e] = pending.back();  // e is null if nothing is known of it
      pending.pop_back();
      if (p->kind == PatternKind::kWildcard) continue;
      if (p->kind == PatternKind::kVar) {
        if (e && !may_become(e, p->var->type)) known = false;
        continue;
      }
      const std::optional<Made> made = e ? made_by(e) : std::nullopt;
      if (!made) {
        // A tuple has fields, whatever they are.
        if (p->kind != PatternKind::kTuple || (e && !e->type)) known = false;
        for (Pattern field : p->fields) pending.emplace_back(field, nullptr);
        continue;
      }
      if (made->ctor != p->ctor) return Fits::kNo;
      if (!all_leaves(made->fields)) {
        if (made->name && bound_.at(made->name).done) known = false;
        if (const Expr shared = made->name ? nullptr : shared_as_.get(e)) to_bind.push_back(shared);
      }
      for (size_t i = 0; i < p->fields.size(); ++i) pending.emplace_back(p->fields[i], made->fields[i]);
    }
    if (known && to_bind.empty()) return Fits::kYes;
    if (known) out_.to_bind.insert(to_bind.begin(), to_bind.end());
    return Fits::kUnknown;
  }

  static bool all_leaves(std::span<const Expr> fields) {
    for (Expr e : fields) {
      if (!is_leaf(e)) return false;
    }
    return true;
  }

  // Binds what the pattern does, left to right.
  void bind(Pattern pattern, Expr value, const Match& n, Decision& d) {
    const auto let = [&](const Var* x, Expr e) {
      bound_.emplace(x, Bound{e, &n});
      d.lets.push_back(x);
      return x;
    };
    std::vector<std::pair<Pattern, Expr>> pending{{pattern, value}};
    while (!pending.empty()) {
      auto [p, e] = pending.back();
      pending.pop_back();
      if (p->kind == PatternKind::kWildcard) {
        if (!effects_.silent(e)) let(fresh(e->type), e);
        continue;
      }
      if (p->kind == PatternKind::kVar) {
        const bool same = e->type == p->var->type;
        if (is_leaf(e) && (same || types_ == BranchTypes::kInferred)) {
          d.stand_for[p->var] = e;
        } else if (types_ == BranchTypes::kInferred) {
          let(p->var, e);
        } else {
          d.stand_for[p->var] = let(fresh(p->var->type), e);
        }
        continue;
      }
      std::vector<Expr> fields;
      if (const std::optional<Made> made = made_by(e)) {
        fields =
            made->name ? named_fields(*made) : std::vector<Expr>(made->fields.begin(), made->fields.end());
      } else {
        if (!is_leaf(e)) e = let(fresh(e->type), e);
        for (uint32_t i = 0; i < p->fields.size(); ++i) fields.push_back(b_.proj(e, i));
      }
      for (size_t i = fields.size(); i-- > 0;) pending.emplace_back(p->fields[i], fields[i]);
    }
  }

  // The fields of what a let binds, each bound by a let before it.
  std::vector<Expr> named_fields(const Made& made) {
    std::vector<Expr> fields(made.fields.begin(), made.fields.end());
    if (all_leaves(fields)) return fields;
    Bound& bound = bound_.at(made.name);
    out_.touched.push_back(bound.within);
    for (Expr& field : fields) {
      if (is_leaf(field)) continue;
      const Var* x = fresh(field->type);
      bound_.emplace(x, Bound{field, bound.within});
      bound.before.push_back(x);
      field = x;
    }
    std::vector<Expr> children;
    if (const auto* call = bound.value->as<Call>()) children.push_back(call->callee);
    children.insert(children.end(), fields.begin(), fields.end());
    bound.value = with_children(context_, bound.value, children);
    return fields;
  }

  // Lets.

  Expr let(const Let& n, std::span<const Expr> children) {
    const auto it = bound_.find(n.x);
    if (it == bound_.end() || it->second.before.empty()) {
      if (it != bound_.end()) it->second.done = true;
      return f_(b_, with_children(context_, &n, children));
    }
    const Var* x = n.x;
    return with_lets(std::span(&x, 1), children[1]);
  }

  Expr with_lets(std::span<const Let* const> lets, Expr body) {
    for (size_t i = lets.size(); i-- > 0;) {
      const SpanScope at(b_, lets[i]->span);
      body = b_.let(lets[i]->x, lets[i]->value, body);
    }
    return body;
  }

  // let x = its value; ... body, each with what goes before it.
  Expr with_lets(std::span<const Var* const> lets, Expr body) {
    std::vector<const Var*> pending(lets.begin(), lets.end());
    // From the last to the first: a let's own come out after it.
    while (!pending.empty()) {
      const Var* x = pending.back();
      pending.pop_back();
      Bound& bound = bound_.at(x);
      bound.done = true;
      pending.insert(pending.end(), bound.before.begin(), bound.before.end());
      body = b_.let(x, bound.value, body);
    }
    return body;
  }

  Context& context_;
  Builder b_;
  analysis::Effects effects_;
  NodeMap<uint32_t> uses_;
  BranchTypes types_;
  const RewriteFn& f_;
  BranchesTaken out_;
  NodeMap<Expr> now_;
  NodeMap<Expr> shared_as_;  // of new expressions: the shared old one that became it
  NodeMap<const Let*> let_of_;
  std::unordered_map<const Var*, std::pair<const Match*, int>> arm_of_;
  std::unordered_map<const Match*, Decision> decisions_;
  std::unordered_map<const Var*, Bound> bound_;
  size_t fresh_ = 0;
};

}  // namespace

BranchesTaken rewrite_known_branches(const Module& m, Expr root, BranchTypes types, const RewriteFn& f) {
  return BranchRewriter(m, root, types, f).run(root);
}

}  // namespace relay::passes
