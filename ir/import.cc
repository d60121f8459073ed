// Copying types, attributes and kernels between contexts, with stacks of our own
// instead of recursion.
#include "ir/import.h"

#include <algorithm>
#include <map>

#include "base/cat.h"
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

// The shape of a buffer holds no loads, so this and `expr` do not call each other deeply.
const kernel::Buffer* Importer::buffer(const kernel::Buffer* b) {
  if (auto it = buffers_.find(b); it != buffers_.end()) return it->second;
  std::vector<kernel::Expr> shape, strides;
  for (kernel::Expr d : b->shape) shape.push_back(expr(d));
  for (kernel::Expr d : b->strides) strides.push_back(expr(d));
  kernel::Buffer copy = *b;
  copy.id = to_.next_buffer_id();
  copy.name = symbol(b->name);
  copy.dtype = dtype(b->dtype);
  copy.shape = to_.arena().list(shape);
  copy.strides = to_.arena().list(strides);
  return buffers_[b] = to_.arena().make<kernel::Buffer>(copy);
}

kernel::Stmt Importer::statement(kernel::Stmt root) {
  using namespace kernel;
  Arena& arena = to_.arena();
  std::unordered_map<Stmt, Stmt> done;
  struct Step {
    Stmt s;
    bool closing;
  };
  const auto exprs = [&](const List<kernel::Expr>& list) {
    std::vector<kernel::Expr> out;
    for (kernel::Expr e : list) out.push_back(expr(e));
    return arena.list(out);
  };
  const auto regions = [&](const List<Region>& list) {
    std::vector<Region> out;
    for (const Region& r : list) out.push_back({buffer(r.buffer), exprs(r.min), exprs(r.extent)});
    return arena.list(out);
  };
  const auto child = [&](Stmt s) { return s ? done.at(s) : nullptr; };
  const auto copied = [&](Stmt s) -> Stmt {
    switch (s->kind) {
      case StmtKind::kFor: {
        For n = *s->as<For>();
        n.var = expr(n.var);
        n.extent = expr(n.extent);
        n.body = child(n.body);
        return arena.make<For>(n);
      }
      case StmtKind::kBlock: {
        Block n = *s->as<Block>();
        std::vector<BlockIter> iters;
        for (const BlockIter& i : n.iters)
          iters.push_back({expr(i.var), expr(i.extent), i.kind, expr(i.binding)});
        n.name = symbol(n.name);
        n.instruction = dtype_ ? Symbol() : symbol(n.instruction);
        n.iters = arena.list(iters);
        n.reads = regions(n.reads);
        n.writes = regions(n.writes);
        n.predicate = expr(n.predicate);
        n.init = child(n.init);
        n.body = child(n.body);
        return arena.make<Block>(n);
      }
      case StmtKind::kStore: {
        Store n = *s->as<Store>();
        n.buffer = buffer(n.buffer);
        n.indices = exprs(n.indices);
        n.value = expr(n.value);
        return arena.make<Store>(n);
      }
      case StmtKind::kSeq: {
        Seq n = *s->as<Seq>();
        std::vector<Stmt> body;
        for (Stmt part : n.body) body.push_back(child(part));
        n.body = arena.list(body);
        return arena.make<Seq>(n);
      }
      case StmtKind::kIf: {
        kernel::If n = *s->as<kernel::If>();
        n.condition = expr(n.condition);
        n.then_branch = child(n.then_branch);
        n.else_branch = child(n.else_branch);
        return arena.make<kernel::If>(n);
      }
      case StmtKind::kAllocate: {
        Allocate n = *s->as<Allocate>();
        n.buffer = buffer(n.buffer);
        n.body = child(n.body);
        return arena.make<Allocate>(n);
      }
      case StmtKind::kRequire: {
        Require n = *s->as<Require>();
        n.condition = expr(n.condition);
        n.message = symbol(n.message);
        return arena.make<Require>(n);
      }
      case StmtKind::kPrefetch: {
        Prefetch n = *s->as<Prefetch>();
        n.buffer = buffer(n.buffer);
        n.indices = exprs(n.indices);
        return arena.make<Prefetch>(n);
      }
      case StmtKind::kNop: break;
    }
    return arena.make<Nop>(*s->as<Nop>());
  };
  std::vector<Step> stack{{root, false}};
  while (!stack.empty()) {
    const auto [s, closing] = stack.back();
    stack.pop_back();
    if (done.contains(s)) continue;
    if (closing) {
      done.emplace(s, copied(s));
      continue;
    }
    stack.push_back({s, true});
    for (Stmt part : kernel::children(s)) stack.push_back({part, false});
  }
  return done.at(root);
}

const kernel::Kernel* Importer::kernel(const kernel::Kernel& k) {
  // Canonical sums are ordered by the age of variables and buffers: bring them over oldest first,
  // so that the copy reads like the original.
  std::vector<const kernel::Buffer*> buffers = kernel::all_buffers(k);
  std::sort(buffers.begin(), buffers.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  for (const kernel::Buffer* b : buffers) buffer(b);
  std::vector<const kernel::ExprNode*> variables;
  kernel::visit(k.body, [&](kernel::Stmt s) {
    if (const auto* loop = s->as<kernel::For>()) variables.push_back(loop->var.get());
    if (const auto* block = s->as<kernel::Block>()) {
      for (const kernel::BlockIter& i : block->iters) variables.push_back(i.var.get());
    }
  });
  std::sort(variables.begin(), variables.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  for (const kernel::ExprNode* v : variables) expr(v);

  const auto all = [&](const List<const kernel::Buffer*>& list) {
    std::vector<const kernel::Buffer*> out;
    for (const kernel::Buffer* b : list) out.push_back(buffer(b));
    return to_.arena().list(out);
  };
  kernel::Kernel copy = k;
  copy.name = symbol(k.name);
  copy.origin = symbol(k.origin);
  copy.batched = symbol(k.batched);
  copy.inputs = all(k.inputs);
  copy.outputs = all(k.outputs);
  copy.temporaries = all(k.temporaries);
  copy.body = statement(k.body);
  std::vector<kernel::ReadExtent> read(k.read_extents.begin(), k.read_extents.end());
  for (kernel::ReadExtent& r : read) r.variable = expr(r.variable);
  copy.read_extents = to_.arena().list(read);
  if (k.external) {
    kernel::External external = *k.external;
    std::vector<kernel::Expr> extents;
    for (kernel::Expr e : external.extents) extents.push_back(expr(e));
    external.symbol = symbol(external.symbol);
    external.library = symbol(external.library);
    external.extents = to_.arena().list(extents);
    copy.external = to_.arena().make<kernel::External>(external);
  }
  return to_.arena().make<kernel::Kernel>(copy);
}

}  // namespace relay
