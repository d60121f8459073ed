#include "passes/map_types.h"

#include <unordered_map>

#include "ir/rewrite.h"

namespace relay::passes {
namespace {

class Mapper {
 public:
  Mapper(Context& context, const TypeMap& map) : context_(context), map_(map) {}

  // Types nest only as deeply as a text or a model may: their readers have a limit.
  Type type(Type t) {
    if (!t) return t;
    if (auto it = types_.find(t); it != types_.end()) return it->second;
    Type out = t;
    const auto all = [&](const auto& list) {
      std::vector<Type> mapped;
      for (Type part : list) mapped.push_back(type(part));
      return mapped;
    };
    if (const auto* tensor = t->as<TensorType>()) {
      std::vector<Dim> dims;
      for (Dim d : tensor->dims) dims.push_back(dim(d));
      out = context_.tensor_type(dims, dtype(tensor->dtype));
    } else if (const auto* tuple = t->as<TupleType>()) {
      out = context_.tuple_type(all(tuple->fields));
    } else if (const auto* fn = t->as<FnType>()) {
      out = context_.fn_type(fn->type_params, all(fn->args), type(fn->result));
    } else if (const auto* ref = t->as<RefType>()) {
      out = context_.ref_type(type(ref->contents));
    } else if (const auto* data = t->as<DataType>()) {
      out = context_.data_type(data->name.text(), all(data->args));
    }
    types_[t] = out;
    return out;
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

  Expr rewrite_node(relay::Builder& b, Expr e) {
    SpanScope at(b, e->span);
    if (const auto* c = e->as<Constant>()) {
      const DType d = dtype(c->value->dtype());
      return d == c->value->dtype() ? e : b.constant(c->value->converted(d));
    }
    if (const auto* x = e->as<Var>()) {
      if (type(x->annotation) == x->annotation && type(x->type) == x->type) return e;
      return b.with_type(b.var(x->name.text(), type(x->annotation)), type(x->type));
    }
    if (const auto* fn = e->as<Fn>()) {
      const Attrs mapped = attrs(fn->attrs);
      if (type(fn->result) != fn->result || !(mapped == fn->attrs)) {
        e = b.fn(fn->params, fn->body, type(fn->result), mapped, fn->type_params);
        return b.with_type(e, type(fn->type));
      }
    } else if (const auto* call = e->as<Call>()) {
      const Attrs mapped = attrs(call->attrs);
      if (!(mapped == call->attrs)) return b.call(call->callee, call->args, mapped, type(call->type));
    }
    return b.with_type(e, type(e->type));
  }

 private:
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
      default: return v;
    }
  }

  Context& context_;
  const TypeMap& map_;
  std::unordered_map<Type, Type> types_;
};

}  // namespace

Module map_types(const Module& m, const TypeMap& map) {
  Mapper mapper(m.context(), map);
  return rewrite(m, [&](relay::Builder& b, Expr e) { return mapper.rewrite_node(b, e); });
}

Module bind_shape_variables(const Module& m, const std::map<std::string, int64_t>& values) {
  kernel::ExprPool& pool = m.context().pool();
  std::unordered_map<const kernel::ExprNode*, kernel::Expr> by;
  for (const auto& [name, value] : values) by.emplace(pool.shape_variable(name).get(), pool.integer(value));
  return map_types(
      m, {.dim = [&](Dim d) { return d.is_symbolic() ? Dim(kernel::substitute(d.symbolic(), by)) : d; },
          .dtype = {}});
}

}  // namespace relay::passes
