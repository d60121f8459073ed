#include "typecheck/kinds.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/cat.h"
#include "base/nearest.h"
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
  // Type parameters are declared from here on, until `close`.
  void open(const List<const TypeVar*>& params, Span span) {
    for (const TypeVar* v : params) {
      if (++declared_[v->name] > 1)
        error(span, "duplicate-type-parameter",
              cat("type parameter `", v->name.text(), "` is declared twice"));
    }
  }

  void close(const List<const TypeVar*>& params) {
    for (const TypeVar* v : params) --declared_[v->name];
  }

  bool declares(Symbol name) const {
    const auto it = declared_.find(name);
    return it != declared_.end() && it->second > 0;
  }

  void data_type(const DataTypeDef& def) {
    open(def.params, def.span);
    for (const Constructor* ctor : def.ctors) {
      for (Type field : ctor->fields) {
        if (!field || field->has_hole) {
          error(ctor->span, "hole-in-data-type",
                cat("the fields of `", ctor->name.text(), "` must have complete types"))
              .note("a type parameter stands for a type that may vary: `type T[A] { C(A) }`");
        } else {
          check(field, ctor->span);
        }
      }
    }
    close(def.params);
  }

  bool enter(Expr e) {
    match(
        e,
        [&](const Fn& fn) {
          open(fn.type_params, fn.span);
          for (Type relation : fn.where) check(relation, fn.span);
          if (fn.result) check(fn.result, fn.span);
        },
        [](const Var&) {},   // is checked where it is bound
        [](const Call&) {},  // the type check finds its type arguments
        [](const auto& n) {
          static_assert(!holds_types<std::decay_t<decltype(n)>>, "who checks the types in it?");
        });
    for_each_binder(e, [&](const Var* v) {
      if (v->annotation) check(v->annotation, v->span);
    });
    return true;
  }

  void leave(Expr e) {
    if (const auto* fn = e->as<Fn>()) close(fn->type_params);
  }

  // One written type: the first thing that is wrong with it.
  void check(Type root, Span span) {
    if (!root->has_type_var && closed_.contains(root)) return;
    struct Step {
      Type t;
      bool closing;  // a function type whose parameters end
    };
    std::vector<Step> pending{{root, false}};
    std::vector<const FnType*> around;  // function types with parameters
    std::unordered_set<Type> seen;      // within one scope a type need not be looked at twice
    while (!pending.empty()) {
      const auto [t, closing] = pending.back();
      pending.pop_back();
      if (closing) {
        close(around.back()->type_params);
        around.pop_back();
        continue;
      }
      if (around.empty() && !seen.insert(t).second) continue;
      if (!t->has_type_var && !closed_.insert(t).second) continue;
      std::optional<Slug> slug;
      std::string message, note;
      Span other = Span::none();
      if (const auto* v = t->as<TypeVar>(); v && !declares(v->name)) {
        slug = Slug("unbound-type-parameter");
        message = cat("type parameter `", v->name.text(), "` is not declared here");
        note = cat("a function declares it as `fn[", v->name.text(), "](...)`");
      } else if (const auto* data = t->as<DataType>()) {
        const DataTypeDef* def = module_.data_type(data->name.text());
        if (!def) {
          slug = Slug("unknown-type");
          message = cat("there is no type `", data->name.text(), "`");
        } else if (def->params.size() != data->args.size()) {
          slug = Slug("wrong-type-arity");
          message = cat("`", data->name.text(), "` takes ", def->params.size(),
                        def->params.size() == 1 ? " type, not " : " types, not ", data->args.size());
          other = def->span;
        }
      } else if (const auto* tensor = t->as<TensorType>(); tensor && !is_countable(*tensor)) {
        slug = Slug("tensor-too-large");
        message = cat("a `", show(tensor, 80), "` has more bytes than 63 bits count");
      } else if (const auto* relation = t->as<RelationType>()) {
        if (auto wrong = wrong_relation(*relation)) std::tie(slug, message) = std::move(*wrong);
        if (slug == Slug("unknown-relation")) note = did_you_mean(relation->name.text(), relation_names());
      } else if (const auto* fn = t->as<FnType>(); fn && !fn->type_params.empty()) {
        open(fn->type_params, span);
        around.push_back(fn);
        pending.push_back({fn, true});
      }
      if (slug) {
        Diagnostic& d = error(span, *slug, std::move(message));
        if (other.known()) d.label(other, "the definition of the type");
        if (!note.empty()) d.note(note);
        bad_.insert(root);
        closed_.erase(t);
        closed_.erase(root);
        for (const FnType* fn : around) close(fn->type_params);
        return;
      }
      const size_t start = pending.size();
      for_each_part(t, [&](Type part) { pending.push_back({part, false}); });
      std::reverse(pending.begin() + static_cast<ptrdiff_t>(start), pending.end());
    }
  }

  static std::vector<std::string> relation_names() {
    std::vector<std::string> out;
    for (const op::OpDef* op : op::all_ops()) {
      out.push_back(op->name);
      if (!op->relation.empty()) out.emplace_back(op->relation);
    }
    return out;
  }

  // Returns nullopt if the relation makes sense.
  static std::optional<std::pair<Slug, std::string>> wrong_relation(const RelationType& r) {
    const op::OpDef* op = op::find_relation(r.name.text());
    if (!op) {
      return std::pair(Slug("unknown-relation"),
                       cat("there is no operator and no family of operators `", r.name.text(), "`"));
    }
    if (r.args().size() != op->params.size()) {
      return std::pair(Slug("wrong-relation-arity"),
                       cat("`", r.name.text(), "` is about ", op->params.size() + 1,
                           " types, arguments and result, not ", r.parts.size()));
    }
    if (r.has_hole) {
      return std::pair(Slug("hole-in-relation"), cat("the types of `", r.name.text(), "` must be complete"));
    }
    for (const op::AttrError& wrong :
         op->check_attrs ? op->check_attrs(r.attrs) : std::vector<op::AttrError>()) {
      return std::pair(wrong.slug,
                       cat("attribute `", wrong.name, "` of `", r.name.text(), "` ", wrong.reason));
    }
    return std::nullopt;
  }

  Diagnostic& error(Span span, Slug slug, std::string message) {
    return diagnostics_.error(span, slug, std::move(message));
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  std::unordered_map<Symbol, uint32_t> declared_;  // how often each type parameter is, around this place
  std::unordered_set<Type> closed_;                // good in every scope
  std::unordered_set<Type> bad_;
};

}  // namespace

std::unordered_set<Type> check_kinds(const Module& m, Diagnostics& diagnostics) {
  return KindCheck(m, diagnostics).run();
}

}  // namespace relay::typecheck
