// Copying types and attributes between contexts, with stacks of our own instead of recursion.
#include "ir/import.h"

#include <map>

#include "base/cat.h"

namespace relay {
namespace {

// One import of a type that mentions type variables. The same type means different things in
// different scopes, so results are kept by (type, scope).
class TypeCopy {
 public:
  TypeCopy(Importer& importer, Context& to, bool rename, std::unordered_map<Type, Type>& closed)
      : importer_(importer), to_(to), rename_(rename), closed_(closed) {}

  Type operator()(Type root, const TypeScope* scope) {
    std::vector<Step> stack{{root, scope, false}};
    while (!stack.empty()) {
      const Step step = stack.back();
      stack.pop_back();
      if (find(step.t, step.scope)) continue;
      if (step.closing) {
        result(step.t, step.scope) = build(step.t, step.scope);
        continue;
      }
      stack.push_back({step.t, step.scope, true});
      const TypeScope* inner = inner_scope(step.t, step.scope);
      for_each_part(step.t, [&](Type part) { stack.push_back({part, inner, false}); });
    }
    return find(root, scope);
  }

 private:
  struct Step {
    Type t;
    const TypeScope* scope;
    bool closing;
  };

  Type find(Type t, const TypeScope* scope) const {
    if (!t->has_type_var) {
      auto it = closed_.find(t);
      return it == closed_.end() ? nullptr : it->second;
    }
    auto it = open_.find({t, scope});
    return it == open_.end() ? nullptr : it->second;
  }
  Type& result(Type t, const TypeScope* scope) { return t->has_type_var ? open_[{t, scope}] : closed_[t]; }

  const TypeScope* inner_scope(Type t, const TypeScope* scope) {
    const auto* fn = t->as<FnType>();
    if (!fn || fn->type_params.empty()) return scope;
    auto [it, made] = inner_.try_emplace({t, scope}, nullptr);
    if (made) {
      it->second =
          to_.arena().make<TypeScope>(TypeScope{scope, fn->type_params, scope ? scope->level + 1 : 0});
    }
    return it->second;
  }

  const TypeVar* variable(const TypeVar* v, const TypeScope* scope) {
    for (; rename_ && scope; scope = scope->outer) {
      for (size_t i = 0; i < scope->params.size(); ++i) {
        if (scope->params[i]->name == v->name) return to_.type_var(cat("#", scope->level, ".", i));
      }
    }
    return to_.type_var(v->name.text());
  }

  Type build(Type t, const TypeScope* scope);

  // A field, by its type. The parts of the type are there already.
  void bring(DType&, const TypeScope*, Arena&) {}
  void bring(Symbol& field, const TypeScope*, Arena&) { field = importer_.symbol(field); }
  void bring(Attrs& field, const TypeScope*, Arena&) { field = importer_.attrs(field); }
  void bring(Dim& field, const TypeScope*, Arena&) { field = importer_.dim(field); }
  void bring(Type& field, const TypeScope* inner, Arena&) { field = find(field, inner); }
  void bring(const TypeVar*& field, const TypeScope* inner, Arena&) { field = variable(field, inner); }
  template <class Item>
  void bring(List<Item>& field, const TypeScope* inner, Arena& lists) {
    std::vector<Item> items(field.begin(), field.end());
    for (Item& item : items) bring(item, inner, lists);
    field = lists.list(items);
  }

  Importer& importer_;
  Context& to_;
  bool rename_;
  std::unordered_map<Type, Type>& closed_;
  std::map<std::pair<Type, const TypeScope*>, Type> open_;
  std::map<std::pair<Type, const TypeScope*>, const TypeScope*> inner_;
};

// Outside of the class: clang 19 forgets the template above if it is first needed before it has
// read it.
Type TypeCopy::build(Type t, const TypeScope* scope) {
  const TypeScope* inner = inner_scope(t, scope);
  return relay::match(
      t, [&](const TypeVar& v) -> Type { return variable(&v, scope); },
      // Each hole is a type of its own, but two that stand at the same place say the same.
      [&](const HoleType&) -> Type { return rename_ ? Type(to_.type_var("#_")) : to_.hole_type(); },
      [&](auto fields) -> Type {
        Arena lists;
        for_each_field(fields, [&](auto& field) { this->bring(field, inner, lists); });
        return to_.type(fields);
      });
}

}  // namespace

Type Importer::type(Type t, const TypeScope* scope) {
  if (!t) return nullptr;
  if (!t->has_type_var) {
    if (auto it = closed_types_.find(t); it != closed_types_.end()) return it->second;
  }
  return TypeCopy(*this, to_, rename_, closed_types_)(t, scope);
}

Attrs Importer::attrs(const Attrs& a) {
  std::vector<Attr> items(a.begin(), a.end());
  for (Attr& item : items) {
    for_each_field(item, Overload{
                             [this](Symbol& field) { field = symbol(field); },
                             [this](AttrValue& field) { field = attr_value(field); },
                         });
  }
  return to_.intern_attrs(std::move(items));
}

AttrValue Importer::attr_value(const AttrValue& root) {
  struct Open {
    const AttrValue* list;
    std::vector<AttrValue> done;
  };
  std::vector<Open> open;
  const AttrValue* next = &root;
  for (;;) {
    if (next->kind == AttrKind::kList && !next->list.empty()) {
      open.push_back({next, {}});
      next = &open.back().list->list[0];
      continue;
    }
    AttrValue value = *next;
    for_each_field(value,
                   Overload{
                       []<OneOf<AttrKind, bool, int64_t, double> Plain>(Plain&) {},
                       [this](Symbol& field) { field = symbol(field); },
                       [this](Dim& field) { field = dim(field); }, [](List<AttrValue>&) {},  // none, or below
                   });
    // Closes every list that this value is the last item of.
    for (;;) {
      if (open.empty()) return value;
      Open& top = open.back();
      top.done.push_back(value);
      if (top.done.size() < top.list->list.size()) break;
      value = to_.attr_list(top.done);
      open.pop_back();
    }
    next = &open.back().list->list[open.back().done.size()];
  }
}

}  // namespace relay
