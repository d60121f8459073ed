#include "typecheck/kinds.h"

#include <algorithm>
#include <deque>
#include <tuple>

#include "base/cat.h"
#include "ir/traverse.h"
#include "op/registry.h"

namespace relay::typecheck {
namespace {

class KindCheck {
 public:
  KindCheck(const Module& m, Diagnostics& diagnostics) : module_(m), diagnostics_(diagnostics) {}

  std::unordered_set<Type> run() {
    for (const auto& [name, def] : module_.data_types()) data_type(*def);
    for (const auto& [name, fn] : module_.functions()) {
      walk(fn, [&](Expr e) { return enter(e); }, [&](Expr e) { leave(e); });
    }
    return std::move(bad_);
  }

 private:
  // The type parameters that a place may mention, innermost scope first.
  struct Names {
    const Names* outer;
    List<const TypeVar*> params;
  };

  bool declares(const Names* scope, Symbol name) const {
    for (; scope; scope = scope->outer) {
      for (const TypeVar* v : scope->params) {
        if (v->name == name) return true;
      }
    }
    return false;
  }

  const Names* open(const Names* scope, const List<const TypeVar*>& params, Span span) {
    if (params.empty()) return scope;
    for (size_t i = 0; i < params.size(); ++i) {
      const Symbol name = params[i]->name;
      const auto before = std::find(params.begin(), params.begin() + i, params[i]);
      if (before != params.begin() + i || declares(scope, name)) {
        error(span, "duplicate-type-parameter", cat("type parameter `", name.text(), "` is declared twice"));
      }
    }
    return &names_.emplace_back(Names{scope, params});
  }

  void data_type(const DataTypeDef& def) {
    const Names* scope = open(nullptr, def.params, def.span);
    for (const Constructor* ctor : def.ctors) {
      for (Type field : ctor->fields) {
        if (!field || field->has_hole) {
          error(ctor->span, "hole-in-data-type",
                cat("the fields of `", ctor->name.text(), "` must have complete types"))
              .note("a type parameter stands for a type that may vary: `type T[A] { C(A) }`");
        } else {
          check(field, scope, ctor->span);
        }
      }
    }
  }

  bool enter(Expr e) {
    if (const auto* fn = e->as<Fn>()) {
      scopes_.push_back(scope_);
      scope_ = open(scope_, fn->type_params, fn->span);
      for (Type relation : fn->where) check(relation, scope_, fn->span);
      if (fn->result) check(fn->result, scope_, fn->span);
    }
    for_each_binder(e, [&](const Var* v) {
      if (v->annotation) check(v->annotation, scope_, v->span);
    });
    return true;
  }

  void leave(Expr e) {
    if (e->kind != ExprKind::kFn) return;
    scope_ = scopes_.back();
    scopes_.pop_back();
  }

  // One written type: the first thing that is wrong with it.
  void check(Type root, const Names* root_scope, Span span) {
    if (!root->has_type_var && closed_.contains(root)) return;
    std::vector<std::pair<Type, const Names*>> pending{{root, root_scope}};
    std::unordered_set<Type> seen;  // within one scope a type need not be looked at twice
    while (!pending.empty()) {
      auto [t, scope] = pending.back();
      pending.pop_back();
      if (scope == root_scope && !seen.insert(t).second) continue;
      if (!t->has_type_var && !closed_.insert(t).second) continue;
      std::string slug, message, note;
      Span other = Span::none();
      if (const auto* v = t->as<TypeVar>(); v && !declares(scope, v->name)) {
        slug = "unbound-type-parameter";
        message = cat("type parameter `", v->name.text(), "` is not declared here");
        note = cat("a function declares it as `fn[", v->name.text(), "](...)`");
      } else if (const auto* data = t->as<DataType>()) {
        const DataTypeDef* def = module_.data_type(data->name.text());
        if (!def) {
          slug = "unknown-type";
          message = cat("there is no type `", data->name.text(), "`");
        } else if (def->params.size() != data->args.size()) {
          slug = "wrong-type-arity";
          message = cat("`", data->name.text(), "` takes ", def->params.size(),
                        def->params.size() == 1 ? " type, not " : " types, not ", data->args.size());
          other = def->span;
        }
      } else if (const auto* tensor = t->as<TensorType>(); tensor && !is_countable(*tensor)) {
        slug = "tensor-too-large";
        message = cat("a `", show(tensor, 80), "` has more bytes than 63 bits count");
      } else if (const auto* relation = t->as<RelationType>()) {
        std::tie(slug, message) = wrong_relation(*relation);
      } else if (const auto* fn = t->as<FnType>()) {
        scope = open(scope, fn->type_params, span);
      }
      if (!slug.empty()) {
        Diagnostic& d = error(span, slug, std::move(message));
        if (other.known()) d.label(other, "the definition of the type");
        if (!note.empty()) d.note(note);
        bad_.insert(root);
        closed_.erase(t);
        closed_.erase(root);
        return;
      }
      const size_t start = pending.size();
      for_each_part(t, [&](Type part) { pending.emplace_back(part, scope); });
      std::reverse(pending.begin() + static_cast<ptrdiff_t>(start), pending.end());
    }
  }

  // Slug and message; empty if the relation makes sense.
  static std::pair<std::string, std::string> wrong_relation(const RelationType& r) {
    const op::OpDef* op = op::find_relation(r.name.text());
    if (!op) {
      return {"unknown-relation",
              cat("there is no operator and no family of operators `", r.name.text(), "`")};
    }
    if (r.args().size() != op->params.size()) {
      return {"wrong-relation-arity", cat("`", r.name.text(), "` is about ", op->params.size() + 1,
                                          " types, arguments and result, not ", r.parts.size())};
    }
    if (r.has_hole) return {"hole-in-relation", cat("the types of `", r.name.text(), "` must be complete")};
    for (const op::AttrError& wrong :
         op->check_attrs ? op->check_attrs(r.attrs) : std::vector<op::AttrError>()) {
      return {std::string(wrong.slug),
              cat("attribute `", wrong.name, "` of `", r.name.text(), "` ", wrong.reason)};
    }
    return {};
  }

  Diagnostic& error(Span span, std::string_view slug, std::string message) {
    return diagnostics_.error(span, slug, std::move(message));
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  std::deque<Names> names_;
  const Names* scope_ = nullptr;
  std::vector<const Names*> scopes_;
  std::unordered_set<Type> closed_;  // good in every scope
  std::unordered_set<Type> bad_;
};

}  // namespace

std::unordered_set<Type> check_kinds(const Module& m, Diagnostics& diagnostics) {
  return KindCheck(m, diagnostics).run();
}

}  // namespace relay::typecheck
