#include "passes/map_types.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "ir/fields.h"
#include "ir/import.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "kernel/statements.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/new_constructors.h"

namespace relay::passes {
namespace {

class Mapper {
 public:
  Mapper(Context& context, const TypeMap& map) : context_(context), map_(map), ctors_(context) {}

  // Parts come before what they are parts of, each once in a scope: types may nest as deeply as
  // programs do.
  Type type(Type root) {
    if (!root) return root;
    std::vector<std::pair<Type, size_t>> pending{{root, 0}};
    while (!pending.empty()) {
      const auto [t, scope] = pending.back();
      if (scopes_[scope].done.contains(t)) {
        pending.pop_back();
        continue;
      }
      const size_t inner = scope_inside(t, scope), before = pending.size();
      for (Type part : in_order(t)) {
        if (part && !scopes_[inner].done.contains(part)) pending.emplace_back(part, inner);
      }
      if (pending.size() == before) {
        scopes_[scope].done[t] = mapped(t, scope, inner);
        pending.pop_back();
      } else {
        std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(before), pending.end());
      }
    }
    return scopes_[0].done.at(root);
  }

  Attrs attrs(const Attrs& attrs) {
    std::vector<AttrArg> mapped;
    bool changed = false;
    for (const Attr& a : attrs) {
      const AttrValue v = value(a.value);
      changed |= !(v == a.value);
      mapped.push_back({a.name.str(), v});
    }
    return changed ? context_.attrs(mapped) : attrs;
  }

  DType dtype(DType d) const { return map_.dtype ? map_.dtype(d) : d; }

  Module data_types(const Module& m) {
    Module out = m;
    for (const auto& [name, def] : m.data_types()) ctors_.declare(out, *def, [&](Type t) { return type(t); });
    return out;
  }

  Expr rewrite_node(relay::Builder& b, Expr e) {
    SpanScope at(b, e->span);
    const bool has_constructors = match(
        e, [](const auto& n) { return has_field<std::decay_t<decltype(n)>, const Constructor*, List<Arm>>; });
    if (!ctors_.empty() && has_constructors) {
      const std::vector<Expr> children = children_of(e);
      e = rebuild(context_, e,
                  {.children = children, .ctor = [this](const Constructor* c) { return ctors_.of(c); }});
    }
    return match(
        e,
        [&](const Constant& n) -> Expr {
          const DType d = dtype(n.value->dtype());
          return d == n.value->dtype() ? e : b.constant(n.value->converted(d));
        },
        [&](const Var& n) -> Expr {
          if (type(n.annotation) == n.annotation && type(n.type) == n.type) return e;
          return b.with_type(b.var(n.name.text(), type(n.annotation)), type(n.type));
        },
        [&](const Fn& n) -> Expr { return function(b, n); },
        [&](const Call& n) -> Expr { return call(b, n); },
        [&](const auto& n) -> Expr {
          using Form = std::decay_t<decltype(n)>;
          static_assert(!holds_types<Form> && !has_field<Form, Attrs, const Tensor*>, "who maps them?");
          return b.with_type(e, type(e->type));
        });
  }

 private:
  static std::vector<Expr> children_of(Expr e) {
    std::vector<Expr> out;
    for_each_child(e, [&](Expr child) { out.push_back(child); });
    return out;
  }

  Expr function(relay::Builder& b, const Fn& fn) {
    const Attrs mapped = attrs(fn.attrs);
    std::vector<Type> where;
    for (Type t : fn.where) where.push_back(type(t));
    const bool same_where = std::equal(where.begin(), where.end(), fn.where.begin());
    if (type(fn.result) == fn.result && mapped == fn.attrs && same_where)
      return b.with_type(&fn, type(fn.type));
    const Expr now = b.fn(fn.params, fn.body, type(fn.result), mapped, fn.type_params, where);
    return b.with_type(now, type(fn.type));
  }

  Expr call(relay::Builder& b, const Call& n) {
    Attrs mapped = attrs(n.attrs);
    const op::OpDef* def = op::callee(n);
    if (def && def->settle && !(mapped == n.attrs)) mapped = def->settle(context_, n.attrs, mapped);
    if (!(mapped == n.attrs)) return b.call(n.callee, n.args, mapped, type(n.type));
    const std::vector<Expr> children = children_of(&n);
    std::vector<Type> type_args;
    for (Type t : n.type_args) type_args.push_back(type(t));
    return rebuild(context_, &n, {.children = children, .type = type(n.type), .type_args = type_args});
  }

  // Type parameters that the type declares itself have nothing to do with others of their names.
  // The parameters of a generic function type hide those that are mapped around it. The first
  // scope is around all of them.
  struct Scope {
    const FnType* fn;
    size_t around;
    std::unordered_map<Type, Type> done = {};
    std::unordered_map<const FnType*, size_t> inside = {};
  };

  // The scope of the type's parts.
  size_t scope_inside(Type t, size_t scope) {
    const auto* fn = t->as<FnType>();
    if (!fn || !map_.variable || fn->type_params.empty()) return scope;
    const auto [it, is_new] = scopes_[scope].inside.try_emplace(fn, scopes_.size());
    const size_t inside = it->second;
    if (is_new) scopes_.push_back({fn, scope});
    return inside;
  }

  // The parts in the order in which they are mapped: a map may number what it meets. The result of
  // a function comes before what it takes.
  static std::vector<Type> in_order(Type t) {
    std::vector<Type> out;
    for_each_part(t, [&](Type part) { out.push_back(part); });
    if (const auto* fn = t->as<FnType>())
      std::rotate(out.begin() + static_cast<std::ptrdiff_t>(fn->where.size()), out.end() - 1, out.end());
    return out;
  }

  // The type with its parts mapped, which they have been in the scope `inner`.
  Type mapped(Type t, size_t scope, size_t inner) {
    std::vector<Type> parts;
    for_each_part(t, [&](Type part) { parts.push_back(part ? scopes_[inner].done.at(part) : part); });
    return match(
        t,
        [&](const TensorType& tensor) -> Type {
          const auto& [extents, type] = fields(tensor);
          std::vector<Dim> dims;
          for (Dim d : extents) dims.push_back(dim(d));
          return context_.tensor_type(dims, dtype(type));
        },
        [&](const RelationType& relation) -> Type {
          const auto& [name, unmapped, attributes] = fields(relation);
          return context_.relation_type(name.text(), parts, attrs(attributes));
        },
        [&](const TypeVar& variable) -> Type { return mapped_variable(&variable, scope); },
        [&](const HoleType&) -> Type { return t; },
        [&](const OneOf<TupleType, FnType, RefType, DataType> auto&) -> Type {
          return context_.with_parts(t, parts);
        });
  }

  Type mapped_variable(const TypeVar* v, size_t scope) {
    if (!map_.variable) return v;
    for (; scope != 0; scope = scopes_[scope].around) {
      const auto& own = scopes_[scope].fn->type_params;
      if (std::find(own.begin(), own.end(), v) != own.end()) return v;
    }
    return map_.variable(v);
  }

  Dim dim(Dim d) const { return map_.dim ? map_.dim(d) : d; }

  AttrValue value(const AttrValue& v) {
    switch (v.kind) {
      case AttrKind::kDim: return context_.attr_value(dim(v.dim));
      case AttrKind::kString: {
        const std::optional<DType> d = DType::parse(v.string.text());
        return d && !(dtype(*d) == *d) ? context_.attr_value(dtype(*d)) : v;
      }
      case AttrKind::kList: {
        std::vector<AttrValue> items;
        for (const AttrValue& item : v.list) items.push_back(value(item));
        return context_.attr_list(items);
      }
      case AttrKind::kNone:
      case AttrKind::kBool:
      case AttrKind::kInt:
      case AttrKind::kFloat: break;
    }
    return v;
  }

  Context& context_;
  const TypeMap& map_;
  std::vector<Scope> scopes_{{nullptr, 0}};
  NewConstructors ctors_;
};

}  // namespace

Type map_type(Context& context, Type type, const TypeMap& map) { return Mapper(context, map).type(type); }

Expr map_types(Context& context, Expr root, const TypeMap& map) {
  Mapper mapper(context, map);
  return rewrite(context, root, [&](relay::Builder& b, Expr e) { return mapper.rewrite_node(b, e); });
}

namespace {

bool changes(const kernel::Kernel& k, const TypeMap& map) {
  const std::vector<const kernel::Buffer*> buffers = kernel::all_buffers(k);
  return std::any_of(buffers.begin(), buffers.end(),
                     [&](const auto* b) { return !(map.dtype(b->dtype) == b->dtype); });
}

// A C function takes what it takes. The external kernel gets another name, and its own belongs to a
// function that converts what it is given, and what the kernel gives.
void convert_around(Module& m, const kernel::Kernel& k, const TypeMap& map) {
  Context& context = m.context();
  std::string inner = cat(k.name.text(), "_as_declared");
  while (m.kernel(inner) || m.function(inner)) inner += "_";
  kernel::Kernel renamed = k;
  renamed.name = context.symbol(inner);

  relay::Builder b(context);
  const auto type_of = [&](const kernel::Buffer* buffer, DType d) {
    return context.tensor_type(std::vector<Dim>(buffer->shape.begin(), buffer->shape.end()), d);
  };
  const auto converted = [&](Expr e, DType from, DType to) {
    return from == to ? e : op::call(b, op::kCast, {e}, {{"dtype", to}});
  };
  std::vector<const Var*> params;
  std::vector<Expr> args, results;
  for (const kernel::Buffer* x : k.inputs) {
    const DType d = map.dtype(x->dtype);
    params.push_back(b.var(x->name.text(), type_of(x, d)));
    args.push_back(converted(params.back(), d, x->dtype));
  }
  std::vector<Type> given;
  for (const kernel::Buffer* y : k.outputs) given.push_back(type_of(y, y->dtype));
  const bool one = given.size() == 1;
  const Type result = one ? given[0] : context.tuple_type(given);
  std::vector<Type> taken;
  for (Expr arg : args) taken.push_back(arg->type);
  const Expr made = b.call(b.global(inner, context.fn_type({}, taken, result)), args, {}, result);
  for (uint32_t i = 0; i < k.outputs.size(); ++i) {
    const DType d = k.outputs[i]->dtype;
    results.push_back(converted(one ? made : b.proj(made, i), d, map.dtype(d)));
  }
  const Expr body = one ? results[0] : b.tuple(results);
  m.set_kernel(inner, context.arena().make<kernel::Kernel>(renamed));
  m.set_function(k.name.text(), b.fn(params, body, body->type));
}

// Shape variables of a kernel are its own; dtypes are the program's.
Module map_kernels(const Module& m, const TypeMap& map) {
  Module out = m;
  for (const auto& [name, kernel] : m.kernels()) {
    if (kernel->external || !changes(*kernel, map)) continue;
    Importer copy(m.context());
    copy.kernels().map_dtypes(map.dtype);
    out.set_kernel(name.text(), copy.kernels().kernel(*kernel));
  }
  return out;
}

}  // namespace

Module map_types(const Module& m, const TypeMap& map) {
  Mapper mapper(m.context(), map);
  const Module with_types = mapper.data_types(m);
  Module out = rewrite(map.dtype ? map_kernels(with_types, map) : with_types,
                       [&](relay::Builder& b, Expr e) { return mapper.rewrite_node(b, e); });
  for (const auto& [name, kernel] : m.kernels()) {
    if (map.dtype && kernel->external && changes(*kernel, map)) convert_around(out, *kernel, map);
  }
  return out;
}

std::vector<kernel::Expr> shape_variables(Context& context, Expr root,
                                          const std::function<bool(Expr)>& enter) {
  std::map<uint32_t, kernel::Expr> found;
  const TypeMap look{.dim =
                         [&](Dim d) {
                           if (d.is_symbolic()) {
                             for (kernel::Expr v : kernel::variables(d.symbolic())) found.emplace(v->id, v);
                           }
                           return d;
                         },
                     .dtype = {}};
  Mapper mapper(context, look);
  relay::Builder b(context);
  walk(root, enter, [&](Expr e) {
    mapper.rewrite_node(b, e);
    for_each_binder(e, [&](const Var* v) { mapper.rewrite_node(b, v); });
  });
  std::vector<kernel::Expr> out;
  for (const auto& [id, v] : found) out.push_back(v);
  return out;
}

Module bind_shape_variables(const Module& m, std::string_view function,
                            const std::map<std::string, int64_t>& values) {
  kernel::ExprPool& pool = m.context().pool();
  std::unordered_map<const kernel::ExprNode*, kernel::Expr> by;
  for (const auto& [name, value] : values) by.emplace(pool.shape_variable(name).get(), pool.integer(value));
  const TypeMap map{
      .dim = [&](Dim d) { return d.is_symbolic() ? Dim(kernel::substitute(d.symbolic(), by)) : d; },
      .dtype = {}};
  const Expr bound = map_types(m.context(), m.function(function), map);
  Module out = m;
  out.set_function(function, bound->as<Fn>());
  return out;
}

}  // namespace relay::passes
