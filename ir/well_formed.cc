// Invariants of modules that only a bug in the compiler can break.
#include <algorithm>
#include <map>

#include "base/cat.h"
#include "ir/analysis.h"

namespace relay {
namespace {

class Checker {
 public:
  explicit Checker(const Module& m) : module_(m) {}

  std::vector<std::string> run() {
    for (const auto& [name, fn] : module_.functions()) {
      function_ = name;
      if (!fn) {
        problem("is null");
      } else if (complete(fn)) {
        names_exist(fn);
        scoped(fn);
      }
    }
    return std::move(problems_);
  }

 private:
  void problem(std::string_view what) { problems_.push_back(cat("@", function_.text(), ": ", what)); }

  // Nothing is null; each binder binds a variable of its own.
  bool complete(Expr root) {
    const size_t before = problems_.size();
    std::vector<Expr> pending{root};
    NodeMap<bool> seen;
    seen[root] = true;
    while (!pending.empty()) {
      const Expr e = pending.back();
      pending.pop_back();
      if (!fields_complete(e)) continue;
      for_each_binder(e, [&](const Var* v) { bind(v, e); });
      for_each_child(e, [&](Expr child) {
        if (!child) {
          problem(cat("expression ", e->id, " has a child that is null"));
        } else if (!seen[child]) {
          seen[child] = true;
          pending.push_back(child);
        }
      });
    }
    return problems_.size() == before;
  }

  bool fields_complete(Expr e) {
    bool good = true;
    match(e, [&](const auto& n) { for_each_field(n, [&](const auto& field) { good &= present(field); }); });
    if (!good) problem(cat("expression ", e->id, " lacks a part"));
    return good;
  }

  // A field, by its type. Children are looked at one by one, and annotations may be missing.
  template <
      OneOf<Expr, List<Expr>, Symbol, Type, List<Type>, List<const TypeVar*>, Attrs, uint32_t, bool> Field>
  static bool present(const Field&) {
    return true;
  }
  static bool present(const Tensor* tensor) { return tensor && tensor->defined(); }
  static bool present(const op::OpDef* op) { return op != nullptr; }
  static bool present(const Constructor* ctor) { return ctor != nullptr; }
  static bool present(const Var* v) { return v != nullptr; }
  static bool present(const List<const Var*>& list) {
    return std::all_of(list.begin(), list.end(), [](const Var* v) { return v != nullptr; });
  }
  static bool present(const List<Arm>& arms) {
    return std::all_of(arms.begin(), arms.end(), [](const Arm& arm) {
      bool good = true;
      for_each_field(arm, [&](const auto& part) { good &= present(part); });
      return good;
    });
  }
  static bool present(Pattern root) {
    std::vector<Pattern> pending{root};
    while (!pending.empty()) {
      const Pattern p = pending.back();
      pending.pop_back();
      if (!p || !parts_present(*p)) return false;
      pending.insert(pending.end(), p->fields.begin(), p->fields.end());
    }
    return true;
  }
  static bool parts_present(const PatternNode& p) {
    switch (p.kind) {
      case PatternKind::kVar: return p.var != nullptr;
      case PatternKind::kCtor: return p.ctor != nullptr;
      case PatternKind::kWildcard:
      case PatternKind::kTuple: return true;
    }
    return false;
  }

  void bind(const Var* v, Expr binder) {
    Expr& known = binder_of_[v];
    if (known) problem(cat("variable %", v->name.text(), " is bound twice"));
    known = binder;
  }

  void constructor_exists(const Constructor* c) {
    if (module_.constructor(c->name.text()) != c)
      problem(cat("constructor ", c->name.text(), " is not in the module"));
  }

  void names_exist(Expr root) {
    for (Expr e : post_order(root)) {
      if (const auto* g = e->as<Global>()) {
        const std::string_view name = g->name.text();
        if (!module_.function(name) && !module_.kernel(name)) problem(cat("@", name, " does not exist"));
      }
      match(e,
            [&](const auto& n) { for_each_field(n, [&](const auto& field) { constructors_exist(field); }); });
    }
  }
  // A field, by its type.
  template <OneOf<Expr, List<Expr>, const Var*, List<const Var*>, Symbol, Type, List<Type>,
                  List<const TypeVar*>, Attrs, const Tensor*, const op::OpDef*, uint32_t, bool>
                Field>
  void constructors_exist(const Field&) {}
  void constructors_exist(const Constructor* ctor) { constructor_exists(ctor); }
  void constructors_exist(const List<Arm>& arms) {
    std::vector<Pattern> pending;
    for (const Arm& arm : arms) pending.push_back(arm.pattern);
    while (!pending.empty()) {
      const Pattern p = pending.back();
      pending.pop_back();
      if (p->ctor) constructor_exists(p->ctor);
      pending.insert(pending.end(), p->fields.begin(), p->fields.end());
    }
  }

  // Every node is evaluated in a scope in which the variables it mentions are bound. A variable's
  // scopes are the bodies that its binder opens; the ranges of a depth-first numbering tell whether
  // one scope is inside another.
  void scoped(const Fn* root) {
    const Scopes s = scopes(root);
    std::vector<uint32_t> size(s.all.size(), 1);
    for (size_t i = s.all.size(); i-- > 1;) size[s.all[i].parent] += size[i];
    std::vector<uint32_t> first(s.all.size(), 0), next(s.all.size(), 1);
    for (size_t i = 1; i < s.all.size(); ++i) {
      const uint32_t parent = s.all[i].parent;
      first[i] = next[parent];
      next[parent] += size[i];
      next[i] = first[i] + 1;
    }
    const auto inside = [&](uint32_t inner, uint32_t outer) {
      return first[inner] >= first[outer] && first[inner] < first[outer] + size[outer];
    };

    // Scopes that a binder opens carry the binder's index; several may, and then any
    // of them will do.
    NodeMap<std::vector<uint32_t>> opened;  // by variable
    const std::vector<Expr> order = post_order(root);
    std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>>
        by_edge;  // (parent scope, body id) -> scopes
    for (uint32_t i = 1; i < s.all.size(); ++i) by_edge[{s.all[i].parent, s.all[i].body->id}].push_back(i);
    const auto open = [&](const Var* v, Expr binder, Expr body) {
      for (uint32_t scope : by_edge[{s.scope_of.get(binder), body->id}]) opened[v].push_back(scope);
    };
    for (Expr e : order) {
      match(
          e,
          [&](const Fn& fn) {
            for (const Var* p : fn.params) open(p, &fn, fn.body);
          },
          [&](const Let& let) {
            open(let.x, &let, let.body);
            if (const auto* f = let.value->as<Fn>()) open(let.x, f, f->body);
          },
          [&](const Match& m) {
            for (const Arm& arm : m.arms) {
              for_each_pattern(arm.pattern, [&](Pattern p) {
                if (p->var) open(p->var, &m, arm.body);
              });
            }
          },
          [](const auto& n) {
            static_assert(!binds_variables<std::decay_t<decltype(n)>>, "where are its variables bound?");
          });
    }
    NodeMap<bool> reported;
    for (Expr e : order) {
      size_t position = 0;
      for_each_child(e, [&](Expr child) {
        const size_t i = position++;
        const auto* v = child->as<Var>();
        if (!v || reported.get(v)) return;
        // A variable that is a body stands in the scope which that body opens.
        std::vector<uint32_t> places{s.scope_of.get(e)};
        if (opens_scope(e, i)) places = by_edge[{s.scope_of.get(e), v->id}];
        bool good = false;
        for (uint32_t place : places) {
          for (uint32_t scope : opened.get(v)) good |= inside(place, scope);
        }
        if (!good) {
          reported[v] = true;
          problem(cat("variable %", v->name.text(), " is used outside the scope that binds it"));
        }
      });
    }
  }

  const Module& module_;
  Symbol function_;
  NodeMap<Expr> binder_of_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> well_formed(const Module& m) { return Checker(m).run(); }

}  // namespace relay
