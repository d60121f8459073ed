// Copying types, attributes and kernels between contexts, with stacks of our own
// instead of recursion.
#include "ir/import.h"

#include <algorithm>
#include <map>

#include "base/cat.h"
#include "kernel/fields.h"
#include "kernel/statements.h"

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

kernel::Expr Importer::expr(kernel::Expr root) {
  if (!root) return {};
  kernel::ExprPool& pool = to_.pool();
  struct Step {
    const kernel::ExprNode* n;
    bool closing;
  };
  std::vector<Step> stack{{root.get(), false}};
  while (!stack.empty()) {
    const auto [n, closing] = stack.back();
    stack.pop_back();
    if (exprs_.contains(n)) continue;
    if (!closing && !n->args.empty()) {
      stack.push_back({n, true});
      for (const kernel::ExprNode* a : n->args) stack.push_back({a, false});
      continue;
    }
    std::vector<kernel::Expr> args;
    for (const kernel::ExprNode* a : n->args) args.push_back(exprs_.at(a));
    kernel::Expr now;
    switch (n->kind) {
      case kernel::ExprKind::kInt: now = pool.integer(n->int_value, n->dtype); break;
      case kernel::ExprKind::kFloat: now = pool.real(n->float_value, dtype(n->dtype)); break;
      case kernel::ExprKind::kVar:
        now = n->shape_variable ? pool.shape_variable(n->name.text())
                                : pool.variable(n->name.text(), dtype(n->dtype));
        break;
      case kernel::ExprKind::kLoad: now = pool.load(buffer(n->buffer), args); break;
      case kernel::ExprKind::kMath: now = pool.math(n->fn, args); break;
      case kernel::ExprKind::kCast: now = pool.cast(dtype(n->dtype), args[0]); break;
      default: now = pool.make(n->kind, dtype(n->dtype), args);
    }
    exprs_.emplace(n, now);
  }
  return exprs_.at(root.get());
}

List<kernel::Expr> Importer::exprs(const List<kernel::Expr>& list) {
  std::vector<kernel::Expr> out;
  for (kernel::Expr e : list) out.push_back(expr(e));
  return to_.arena().list(out);
}

// The shape of a buffer holds no loads, so this and `expr` do not call each other deeply.
const kernel::Buffer* Importer::buffer(const kernel::Buffer* b) {
  if (auto it = buffers_.find(b); it != buffers_.end()) return it->second;
  const auto& [id, name, type, shape, scope, strides] = *b;
  const List<kernel::Expr> extents = exprs(shape), steps = exprs(strides);
  return buffers_[b] = to_.arena().make<kernel::Buffer>(to_.next_buffer_id(), symbol(name), dtype(type),
                                                        extents, scope, steps);
}

List<const kernel::Buffer*> Importer::buffers(const List<const kernel::Buffer*>& list) {
  std::vector<const kernel::Buffer*> out;
  for (const kernel::Buffer* b : list) out.push_back(buffer(b));
  return to_.arena().list(out);
}

namespace {

// Copies one statement whose children are copied, field by field.
class StatementCopy {
 public:
  StatementCopy(Importer& importer, Arena& arena, const std::unordered_map<kernel::Stmt, kernel::Stmt>& done)
      : importer_(importer), arena_(arena), done_(done) {}

  template <class T>
  T* operator()(const T& n) {
    T* copy = arena_.make<T>(n);
    bring_fields(*copy);
    return copy;
  }

 private:
  template <class T>
  void bring_fields(T& n) {
    for_each_field(n, [&](auto& field) { bring(field); });
  }
  void bring(kernel::Expr& e) { e = importer_.expr(e); }
  void bring(List<kernel::Expr>& list) { list = importer_.exprs(list); }
  void bring(const kernel::Buffer*& b) { b = importer_.buffer(b); }
  void bring(Symbol& s) { s = importer_.symbol(s); }
  void bring(kernel::Stmt& s) {
    if (s) s = done_.at(s);
  }
  void bring(kernel::ForKind&) {}
  void bring(kernel::IterKind&) {}
  void bring(List<kernel::Stmt>& list) {
    each(list, [&](kernel::Stmt& s) { bring(s); });
  }
  void bring(List<kernel::BlockIter>& list) {
    each(list, [&](kernel::BlockIter& i) { bring_fields(i); });
  }
  void bring(List<kernel::Region>& list) {
    each(list, [&](kernel::Region& r) { bring_fields(r); });
  }
  template <class T, class F>
  void each(List<T>& list, F&& f) {
    std::vector<T> out(list.begin(), list.end());
    for (T& item : out) f(item);
    list = arena_.list(out);
  }

  Importer& importer_;
  Arena& arena_;
  const std::unordered_map<kernel::Stmt, kernel::Stmt>& done_;
};

}  // namespace

kernel::Stmt Importer::statement(kernel::Stmt root) {
  std::unordered_map<kernel::Stmt, kernel::Stmt> done;
  StatementCopy copy(*this, to_.arena(), done);
  std::vector<std::pair<kernel::Stmt, bool>> stack{{root, false}};
  while (!stack.empty()) {
    const auto [s, closing] = stack.back();
    stack.pop_back();
    if (done.contains(s)) continue;
    if (!closing) {
      stack.emplace_back(s, true);
      for (kernel::Stmt part : kernel::children(s)) stack.emplace_back(part, false);
      continue;
    }
    done[s] = kernel::match(
        s,
        [&](const kernel::Block& b) -> kernel::Stmt {
          kernel::Block* now = copy(b);
          if (dtype_) now->instruction = {};
          return now;
        },
        [&](const auto& n) -> kernel::Stmt { return copy(n); });
  }
  return done.at(root);
}

const kernel::External* Importer::external(const kernel::External* e) {
  if (!e) return nullptr;
  const auto& [name, extents, library, function] = *e;
  return to_.arena().make<kernel::External>(symbol(name), exprs(extents), symbol(library), function);
}

List<kernel::ReadExtent> Importer::read_extents(const List<kernel::ReadExtent>& list) {
  std::vector<kernel::ReadExtent> out;
  for (const auto& [variable, input, element] : list) out.push_back({expr(variable), input, element});
  return to_.arena().list(out);
}

const kernel::Kernel* Importer::kernel(const kernel::Kernel& k) {
  // Canonical sums are ordered by the age of variables and buffers: bring them over oldest first,
  // so that the copy reads like the original.
  std::vector<const kernel::Buffer*> oldest = kernel::all_buffers(k);
  std::sort(oldest.begin(), oldest.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  for (const kernel::Buffer* b : oldest) buffer(b);
  std::vector<kernel::Expr> variables;
  kernel::visit(k.body, [&](kernel::Stmt s) {
    for (kernel::Expr v : kernel::binders(s)) variables.push_back(v);
  });
  std::sort(variables.begin(), variables.end(), [](kernel::Expr a, kernel::Expr b) { return a->id < b->id; });
  for (kernel::Expr v : variables) expr(v);

  const auto& [name, inputs, outputs, temporaries, body, origin, batched, read, from_library] = k;
  kernel::Kernel copy{symbol(name),         buffers(inputs),    buffers(outputs),
                      buffers(temporaries), statement(body),    symbol(origin),
                      symbol(batched),      read_extents(read), external(from_library)};
  return to_.arena().make<kernel::Kernel>(copy);
}

}  // namespace relay
