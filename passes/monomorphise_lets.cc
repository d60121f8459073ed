// `let %f = fn [A](...) { ... }; body` becomes `let %f_1 = fn (...) { ... }; let %f_2 = ...; body`,
// one let for each choice of types that the body calls %f with.
//
// Functions that are used in no other one come first, for what they call is known once their own
// types are. A copy shares with other copies what the function shared with the code around it, and
// nothing else. In a copy, %f itself is the copy; where it goes on with other types it stays
// generic and is bound again inside, to be looked at later.
#include "passes/monomorphise_lets.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "passes/type_choices.h"

namespace relay::passes {
namespace {

constexpr size_t kNone = SIZE_MAX;

// A let whose function is to be monomorphised.
struct Candidate {
  const Let* let;
  const Fn* fn;
  bool computes;
  std::vector<size_t> mentioned_by = {};  // other candidates
  uint32_t scope = 0;                     // that of the function's body
  size_t around = kNone;                  // the candidate in which it stands
  bool ready = true;                      // its uses are of known types
  bool stays = false;                     // one of them is not
  std::map<std::vector<Type>, const Var*> known = {};
  std::vector<std::vector<Type>> choices = {};  // in order
};

// A function by itself: variables stand for itself and for what it shares with the code around it.
struct Template {
  const Fn* fn;
  const Var* self;
  std::unordered_map<const Var*, Expr> shared = {};
  std::vector<Expr> order = {};  // of what is shared
};

class LetMonomorphiser {
 public:
  LetMonomorphiser(Context& context, const std::set<Symbol>& generic, size_t most, bool all,
                   Diagnostics& diagnostics)
      : context_(context),
        generic_(generic),
        most_(most),
        all_(all),
        diagnostics_(diagnostics),
        b_(context) {}

  const Fn* run(const Fn* root) {
    if (!has_generic_let(root)) return root;
    root = without_other_names(root);
    while (!diagnostics_.has_errors() && find_candidates(root)) root = step(root);
    return root;
  }

 private:
  static const Fn* generic_function(Expr e) {
    const auto* let = e->as<Let>();
    const auto* fn = let ? let->value->as<Fn>() : nullptr;
    const auto* type = fn && !fn->type_params.empty() && fn->type ? fn->type->as<FnType>() : nullptr;
    return type && type->type_params.size() == fn->type_params.size() ? fn : nullptr;
  }
  static bool has_generic_let(Expr root) {
    const std::vector<Expr> order = post_order(root);
    return std::any_of(order.begin(), order.end(), [](Expr e) { return generic_function(e) != nullptr; });
  }

  // `let %g = %f` gives another name to what is called at types of its own.
  const Fn* without_other_names(const Fn* root) {
    std::unordered_map<const Var*, const Var*> names;
    for (Expr e : post_order(root)) {
      const auto* let = e->as<Let>();
      const auto* to = let ? let->value->as<Var>() : nullptr;
      const auto* type = to && let->x->type ? let->x->type->as<FnType>() : nullptr;
      if (type && !type->type_params.empty()) names[let->x] = to;
    }
    if (names.empty()) return root;
    // The binder of another name becomes one of the name by itself, and goes.
    const Expr now = rewrite(context_, root, [&](relay::Builder&, Expr e) -> Expr {
      if (const auto* var = e->as<Var>()) {
        while (names.contains(var)) var = names.at(var);
        return var;
      }
      const auto* let = e->as<Let>();
      return let && let->value == let->x ? let->body : e;
    });
    return now->as<Fn>();
  }

  // The functions that are to be monomorphised: they compute with what is generic, or
  // mention one that does.
  bool find_candidates(const Fn* root) {
    candidates_.clear();
    place_.clear();
    std::vector<Candidate> all;
    std::unordered_map<Expr, size_t> place;
    for (Expr e : post_order(root)) {
      const Fn* fn = generic_function(e);
      const auto* let = e->as<Let>();
      if (!fn || stuck_.contains(let->x)) continue;
      const std::vector<Symbol> globals = mentioned_globals(fn);
      const bool computes =
          all_ || computes_with_parameters(*fn) ||
          std::any_of(globals.begin(), globals.end(), [&](Symbol s) { return generic_.contains(s); });
      place[let->x] = all.size();
      all.push_back({let, fn, computes});
    }
    std::vector<size_t> pending;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].computes) pending.push_back(i);
      for (Expr e : post_order(all[i].fn->body)) {
        if (const auto it = place.find(e); it != place.end()) all[it->second].mentioned_by.push_back(i);
      }
    }
    while (!pending.empty()) {
      const size_t i = pending.back();
      pending.pop_back();
      for (size_t user : all[i].mentioned_by) {
        if (std::exchange(all[user].computes, true)) continue;
        pending.push_back(user);
      }
    }
    for (Candidate& c : all) {
      if (!c.computes) continue;
      place_[c.let->x] = candidates_.size();
      candidates_.push_back(std::move(c));
    }
    return !candidates_.empty();
  }

  // --- Where things are --------------------------------------------------------------------------

  void locate(const Scopes& scopes) {
    std::unordered_map<uint32_t, size_t> opened;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      candidates_[i].scope = scopes.opens.get(candidates_[i].fn);
      opened.emplace(candidates_[i].scope, i);
    }
    inside_.assign(scopes.all.size(), kNone);
    for (uint32_t s = 1; s < scopes.all.size(); ++s) {
      const size_t around = inside_[scopes.all[s].parent];
      const auto it = opened.find(s);
      inside_[s] = it == opened.end() ? around : it->second;
      if (it != opened.end()) candidates_[it->second].around = around;
    }
  }
  // The candidate in which a node is evaluated, and that in which it uses its children.
  size_t place_of(const Scopes& scopes, Expr e) const { return inside_[scopes.scope_of.get(e)]; }
  size_t place_of_use(const Scopes& scopes, Expr user) const {
    return user->kind == ExprKind::kFn ? inside_[scopes.opens.get(user)] : place_of(scopes, user);
  }
  // The outermost candidate around that place.
  size_t outermost(size_t place) const {
    while (candidates_[place].around != kNone) place = candidates_[place].around;
    return place;
  }
  bool is_inside(size_t place, const Candidate& c) const {
    for (; place != kNone; place = candidates_[place].around) {
      if (candidates_[place].scope == c.scope) return true;
    }
    return false;
  }

  // --- One step: what is ready becomes lets of known types ---------------------------------------

  const Fn* step(const Fn* root) {
    const std::vector<Expr> order = post_order(root);
    const Scopes scopes = relay::scopes(root);
    locate(scopes);
    std::unordered_map<uint32_t, std::vector<Expr>> parts;  // of outermost candidates, by their scopes
    for (Expr e : order) {
      const size_t place = place_of(scopes, e), use = place_of_use(scopes, e);
      if (place != kNone) parts[candidates_[outermost(place)].scope].push_back(e);
      for_each_child(e, [&](Expr child) {
        const auto it = place_.find(child);
        if (it == place_.end() || use == kNone) return;
        Candidate& c = candidates_[it->second];
        if (!is_inside(use, c)) c.ready = false;
      });
    }
    for (Candidate& c : candidates_) {
      if (place_of(scopes, c.let) != kNone) c.ready = false;
    }
    NodeMap<Expr> now;
    for (Expr e : order) {
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
      const auto* let = e->as<Let>();
      const auto bound = let ? place_.find(let->x) : place_.end();
      if (place_of_use(scopes, e) == kNone) use_instances(e, children);
      if (bound != place_.end() && candidates_[bound->second].ready) {
        Candidate& c = candidates_[bound->second];
        const Template made = template_of(c, parts[c.scope], now);
        now[e] = lets(c, made, children);
      } else {
        now[e] = with_other_children(e, children);
      }
    }
    return now.get(root)->as<Fn>();
  }

  // Puts instances in the place of ready functions among the children of an expression whose
  // types are known.
  void use_instances(Expr e, std::vector<Expr>& children) {
    std::vector<Type> wanted;
    size_t next = 0;
    for_each_child(e, [&](Expr child) {
      const size_t at = next++;
      const auto it = place_.find(child);
      if (it == place_.end() || !candidates_[it->second].ready) return;
      Candidate& c = candidates_[it->second];
      const auto types = types_of_use(e, at, *c.fn->type->as<FnType>(), wanted);
      const Var* instance = types ? instance_of(c, *types, e->span) : nullptr;
      if (instance) {
        children[at] = instance;
      } else {
        c.stays = true;
      }
    });
  }

  // The types at which the child is used; nothing if they are not known. `wanted` is filled
  // when it is needed.
  std::optional<std::vector<Type>> types_of_use(Expr user, size_t child, const FnType& general,
                                                std::vector<Type>& wanted) {
    const auto* call = user->as<Call>();
    std::optional<std::vector<Type>> types;
    if (call && child == 0) {
      types = std::vector<Type>(call->type_args.begin(), call->type_args.end());
    } else {
      if (wanted.empty()) {
        const Type callee = call ? call->callee->type : nullptr;
        wanted = wanted_types(context_, user, callee ? callee->as<FnType>() : nullptr);
      }
      types = types_chosen(general, wanted[child]);
    }
    const bool known = types && types->size() == general.type_params.size() && !any_is_generic(*types);
    return known ? types : std::nullopt;
  }

  const Var* instance_of(Candidate& c, const std::vector<Type>& types, Span span) {
    const auto [it, fresh] = c.known.emplace(types, nullptr);
    if (!fresh) return it->second;
    const auto first = origin_.find(c.let->x);
    const Var* counted = first == origin_.end() ? c.let->x : first->second;
    if (++count_[counted] > most_) {
      report_too_many(span, cat("%", counted->name.text()), most_, diagnostics_);
      return nullptr;
    }
    c.choices.push_back(types);
    const Type type = type_for(context_, *c.fn->type->as<FnType>(), types);
    SpanScope at(b_, c.let->x->span);
    it->second = typed_var(cat(c.let->x->name.text(), "_", c.choices.size()), type);
    return it->second;
  }

  const Var* typed_var(std::string_view name, Type type) {
    return b_.with_type(b_.var(name), type)->as<Var>();
  }

  // An instance has no type parameters to call it with.
  Expr with_other_children(Expr e, std::span<const Expr> children) {
    const auto* call = e->as<Call>();
    if (!call || !place_.contains(call->callee) || children[0] == call->callee)
      return with_children(context_, e, children);
    SpanScope at(b_, e->span);
    return b_.call(children[0], children.subspan(1), call->attrs, call->type);
  }

  // --- Copies ------------------------------------------------------------------------------------

  // `parts` are evaluated in the function, children first; `now` is what other nodes have become.
  Template template_of(const Candidate& c, const std::vector<Expr>& parts, const NodeMap<Expr>& now) {
    Template out{c.fn, b_.var(c.let->x->name.text())};
    std::unordered_map<Expr, Expr> copies{{c.let->x, out.self}};
    const auto copy_of = [&](Expr e) {
      const auto [it, fresh] = copies.emplace(e, e);
      if (fresh && !is_leaf(e)) {
        const Var* var = typed_var("shared", e->type);
        out.shared[var] = now.get(e);
        out.order.push_back(now.get(e));
        it->second = var;
      }
      return it->second;
    };
    for (Expr e : parts) {
      if (is_leaf(e)) continue;
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(copy_of(child)); });
      copies[e] = with_children(context_, e, children);
    }
    const Expr body = copy_of(c.fn->body);
    out.fn = with_children(context_, c.fn, std::span(&body, 1))->as<Fn>();
    return out;
  }

  const Fn* instance(const Candidate& c, const Template& t, const std::vector<Type>& types) {
    Expr made = with_types(context_, *refresh(context_, t.fn)->as<Fn>(), types);
    made = annotated(made->as<Fn>());
    bool goes_on = false;  // with other types
    made = rewrite(context_, made,
                   [&](relay::Builder&, Expr e) { return with_itself(c, t, types, e, goes_on); });
    if (goes_on) {
      const Var* again = typed_var(c.let->x->name.text(), c.let->x->type);
      const auto first = origin_.find(c.let->x);
      origin_[again] = first == origin_.end() ? c.let->x : first->second;
      const Expr copy = substitute(context_, refresh(context_, t.fn), {{t.self, again}});
      const Expr body = substitute(context_, made->as<Fn>()->body, {{t.self, again}});
      const Expr bound = b_.let(again, copy, body);
      made = with_children(context_, made, std::span(&bound, 1));
    }
    return substitute(context_, made, t.shared)->as<Fn>();
  }

  // The node of a copy with the copy in the place of the function, where that is used at
  // the copy's types.
  Expr with_itself(const Candidate& c, const Template& t, const std::vector<Type>& types, Expr e,
                   bool& goes_on) {
    std::vector<Type> wanted;
    std::vector<Expr> children;
    bool changed = false;
    for_each_child(e, [&](Expr child) {
      const size_t at = children.size();
      children.push_back(child);
      if (child != t.self) return;
      const bool same = types_of_use(e, at, *c.fn->type->as<FnType>(), wanted) == types;
      if (same) children[at] = c.known.at(types);
      changed |= same;
      goes_on |= !same;
    });
    if (!changed) return e;
    const auto* call = e->as<Call>();
    if (!call || children[0] == call->callee) return with_children(context_, e, children);
    SpanScope at(b_, e->span);
    return b_.call(children[0], std::span(children).subspan(1), call->attrs, call->type);
  }

  // What its types are is not to be inferred again: that would make it generic.
  const Fn* annotated(const Fn* fn) {
    std::unordered_map<const Var*, Expr> by;
    for (const Var* p : fn->params) {
      SpanScope at(b_, p->span);
      if (!p->annotation) by[p] = b_.with_type(b_.var(p->name.text(), p->type), p->type);
    }
    return substitute(context_, fn, by)->as<Fn>();
  }

  // The lets that take the place of one, around what its body has become.
  Expr lets(const Candidate& c, const Template& t, const std::vector<Expr>& children) {
    SpanScope at(b_, c.let->span);
    Expr out = children[1];
    for (size_t i = c.choices.size(); i-- > 0;)
      out = b_.let(c.known.at(c.choices[i]), instance(c, t, c.choices[i]), out);
    if (c.stays) {
      stuck_.insert(c.let->x);
      return b_.let(c.let->x, children[0], out);
    }
    // Where a shared node is evaluated follows from all of its uses: this one is where
    // the function was.
    if (t.order.empty()) return out;
    const Expr shared = b_.tuple(t.order);
    return b_.let(typed_var("shared", shared->type), shared, out);
  }

  Context& context_;
  const std::set<Symbol>& generic_;
  const size_t most_;
  const bool all_;
  Diagnostics& diagnostics_;
  relay::Builder b_;
  std::vector<Candidate> candidates_;
  std::unordered_map<Expr, size_t> place_;             // by what the lets bind
  std::vector<size_t> inside_;                         // of each scope, the innermost candidate around it
  std::unordered_set<const Var*> stuck_;               // what is used at types that are not known
  std::unordered_map<const Var*, const Var*> origin_;  // of what is bound again: what it comes from
  std::unordered_map<const Var*, size_t> count_;       // of its copies
};

}  // namespace

const Fn* monomorphise_lets(Context& context, const Fn* fn, const std::set<Symbol>& generic, size_t most,
                            bool all, Diagnostics& diagnostics) {
  return LetMonomorphiser(context, generic, most, all, diagnostics).run(fn);
}

}  // namespace relay::passes
