// Rebuilding programs bottom-up. Every function here is a loop over a post-order; what a node
// becomes is kept in a NodeMap, so that shared nodes stay shared.
#include "ir/rewrite.h"

#include <utility>

#include "ir/traverse.h"

namespace relay {
namespace {

// What variables become where they are bound; the variable itself if nothing changes.
using MapVar = std::function<const Var*(const Var*)>;
using MapCtor = std::function<const Constructor*(const Constructor*)>;

template <class T>
void change(const T*& field, const std::function<const T*(const T*)>& map, bool& changed) {
  const T* now = field && map ? map(field) : field;
  changed |= now != field;
  field = now;
}

Pattern rebuild_pattern(Context& context, Pattern root, const MapVar& map_var, const MapCtor& map_ctor) {
  // Children first: `done` holds the finished patterns of what was closed, in order.
  struct Step {
    Pattern p;
    bool closing;
  };
  std::vector<Step> stack{{root, false}};
  std::vector<Pattern> done;
  while (!stack.empty()) {
    const Step step = stack.back();
    stack.pop_back();
    const auto& fields = step.p->fields;
    if (!step.closing && !fields.empty()) {
      stack.push_back({step.p, true});
      for (size_t i = fields.size(); i-- > 0;) stack.push_back({fields[i], false});
      continue;
    }
    const std::span<const Pattern> rebuilt(done.data() + done.size() - fields.size(), fields.size());
    PatternNode copy = *step.p;
    bool changed = false;
    for_each_field(copy, Overload{
                             [](const PatternKind&) {},
                             [](const Span&) {},
                             [&](const Var*& field) { change(field, map_var, changed); },
                             [&](const Constructor*& field) { change(field, map_ctor, changed); },
                             [&](List<Pattern>& field) {
                               if (std::equal(rebuilt.begin(), rebuilt.end(), field.begin())) return;
                               field = context.arena().list(rebuilt);
                               changed = true;
                             },
                         });
    done.resize(done.size() - fields.size());
    done.push_back(changed ? context.arena().make<PatternNode>(copy) : step.p);
  }
  return done.back();
}

// Replaces the fields of a node one by one, noting whether anything changed.
class Rebuild {
 public:
  Rebuild(Context& context, std::span<const Expr> children, const MapVar& map_var,
          const MapCtor& map_ctor = nullptr, Type type = nullptr,
          const std::span<const Type>* type_args = nullptr)
      : context_(context),
        children_(children),
        map_var_(map_var),
        map_ctor_(map_ctor),
        type_(type),
        type_args_(type_args) {}

  Expr operator()(Expr e);

 private:
  template <class T>
  void set(T& field, T value) {
    changed_ |= field != value;
    field = value;
  }

  void replace(Expr& field) { set(field, children_[next_++]); }
  void replace(const Var*& field) {
    if (map_var_) set(field, map_var_(field));
  }
  void replace(const Constructor*& field) {
    if (map_ctor_) set(field, map_ctor_(field));
  }
  void replace(List<Expr>& field) {
    const std::span<const Expr> now = children_.subspan(next_, field.size());
    next_ += field.size();
    if (std::equal(now.begin(), now.end(), field.begin())) return;
    field = context_.arena().list(now);
    changed_ = true;
  }
  void replace(List<const Var*>& field) {
    if (!map_var_) return;
    std::vector<const Var*> now;
    for (const Var* v : field) now.push_back(map_var_(v));
    if (std::equal(now.begin(), now.end(), field.begin())) return;
    field = context_.arena().list(now);
    changed_ = true;
  }
  void replace(List<Arm>& field) {
    std::vector<Arm> now(field.begin(), field.end());
    const bool changed_before = std::exchange(changed_, false);
    for (Arm& arm : now) for_each_field(arm, [&](auto& part) { this->replace(part); });
    if (changed_) field = context_.arena().list(now);
    changed_ |= changed_before;
  }
  void replace(Pattern& field) { set(field, rebuild_pattern(context_, field, map_var_, map_ctor_)); }
  void replace(List<Type>& field) {  // of calls: the relations of a function stay
    if (!type_args_ || std::equal(type_args_->begin(), type_args_->end(), field.begin(), field.end())) return;
    field = context_.arena().list(*type_args_);
    changed_ = true;
  }
  template <
      OneOf<Symbol, Type, List<const TypeVar*>, Attrs, const Tensor*, const op::OpDef*, uint32_t, bool> Kept>
  void replace(Kept&) {}

  Context& context_;
  std::span<const Expr> children_;
  MapVar map_var_;
  MapCtor map_ctor_;
  Type type_;
  const std::span<const Type>* type_args_;
  size_t next_ = 0;
  bool changed_ = false;
};

// Outside of the class: clang 19 forgets the templates above if they are first needed before
// it has read them.
Expr Rebuild::operator()(Expr e) {
  if (e->kind != ExprKind::kCall) type_args_ = nullptr;
  return relay::match(e, [&](const auto& n) -> Expr {
    auto copy = n;
    if (type_) set(copy.type, type_);
    for_each_field(copy, [&](auto& field) { this->replace(field); });
    return changed_ ? context_.node(copy) : e;
  });
}

// The state of one rewrite, which may go over several roots.
class Rewriter {
 public:
  Rewriter(Context& context, const RewriteFn& f) : context_(context), builder_(context), f_(f) {
    map_var_ = [this](const Var* v) {
      const auto* replacement = replace(v)->as<Var>();
      return replacement ? replacement : v;  // another expression takes the uses only: the binder stays
    };
  }

  Expr operator()(std::span<const Expr> roots) {
    std::vector<Expr> children;
    for (Expr e : post_order(roots)) {
      if (e->kind == ExprKind::kVar) {
        replace(e);
        continue;
      }
      children.clear();
      for_each_child(e, [&](Expr child) { children.push_back(now_[child]); });
      Expr rebuilt = Rebuild(context_, children, map_var_)(e);
      builder_.set_span(e->span);
      now_[e] = f_(builder_, rebuilt);
    }
    return roots.empty() ? nullptr : now_[roots.front()];
  }

  Expr now(Expr e) { return now_[e]; }

 private:
  // Variables are asked about once, where they are first used or bound.
  Expr replace(const ExprNode* var) {
    Expr& now = now_[var];
    if (!now) {
      builder_.set_span(var->span);
      Expr replacement = f_(builder_, var);  // may make nodes; `now` stays valid
      now = replacement;
    }
    return now;
  }

  Context& context_;
  Builder builder_;
  const RewriteFn& f_;
  MapVar map_var_;
  NodeMap<Expr> now_;
};

}  // namespace

Expr rewrite(Context& context, Expr root, const RewriteFn& f) {
  return Rewriter(context, f)(std::span<const Expr>(&root, 1));
}

Module rewrite(const Module& m, const RewriteFn& f) {
  std::vector<Expr> roots;
  for (const auto& [name, fn] : m.functions()) roots.push_back(fn);
  Rewriter rewriter(m.context(), f);
  rewriter(roots);
  Module out = m;
  for (const auto& [name, fn] : m.functions()) {
    const auto* now = rewriter.now(fn)->as<Fn>();
    CHECK(now != nullptr, "a rewrite must replace a function of the module by a function");
    if (now != fn) out.set_function(name.text(), now);
  }
  return out;
}

Expr with_children(Context& context, Expr e, std::span<const Expr> children) {
  return Rebuild(context, children, nullptr)(e);
}

Expr rebuild(Context& context, Expr e, const Changes& changes) {
  return Rebuild(context, changes.children, changes.var, changes.ctor, changes.type, &changes.type_args)(e);
}

Expr substitute(Context& context, Expr e, const std::unordered_map<const Var*, Expr>& by) {
  if (by.empty()) return e;
  return rewrite(context, e, [&](Builder&, Expr now) -> Expr {
    const auto* var = now->as<Var>();
    if (!var) return now;
    auto it = by.find(var);
    return it == by.end() ? now : it->second;
  });
}

Expr refresh(Context& context, Expr e) {
  NodeMap<bool> bound;
  for (Expr node : post_order(e)) {
    for_each_binder(node, [&](const Var* v) { bound[v] = true; });
  }
  // Nodes that rebuilding made are new already; the others are copied, so that the copy shares no
  // evaluation with the original. Leaves are values, not evaluations.
  const uint32_t first_new = context.node_count();
  return rewrite(context, e, [&](Builder&, Expr now) -> Expr {
    const bool value = is_leaf(now) && !bound.get(now);
    if (value || now->id >= first_new) return now;
    return match(now, [&](const auto& n) -> Expr { return context.node(n); });
  });
}

}  // namespace relay
