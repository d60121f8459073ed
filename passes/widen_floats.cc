// widen-floats: every float32 of the program becomes a float64.
//
// The program that results is what the original means without the roundings of float32: the reference that whole
// networks are measured against (docs/semantics.md, "How far an engine may be away").
#include <unordered_map>

#include "ir/rewrite.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

class Widener {
 public:
  explicit Widener(Context& context) : context_(context) {}

  // Types nest only as deeply as a text or a model may (its reader has a limit).
  Type widen(Type t) {
    if (!t) return t;
    if (auto it = types_.find(t); it != types_.end()) return it->second;
    Type out = t;
    const auto all = [&](const auto& list) {
      std::vector<Type> wide;
      for (Type part : list) wide.push_back(widen(part));
      return wide;
    };
    if (const auto* tensor = t->as<TensorType>()) {
      if (tensor->dtype == kFloat32) out = context_.tensor_type(tensor->dims, kFloat64);
    } else if (const auto* tuple = t->as<TupleType>()) {
      out = context_.tuple_type(all(tuple->fields));
    } else if (const auto* fn = t->as<FnType>()) {
      out = context_.fn_type(fn->type_params, all(fn->args), widen(fn->result));
    } else if (const auto* ref = t->as<RefType>()) {
      out = context_.ref_type(widen(ref->contents));
    } else if (const auto* data = t->as<DataType>()) {
      out = context_.data_type(data->name.text(), all(data->args));
    }
    types_[t] = out;
    return out;
  }

  Attrs widen(const Attrs& attrs) {
    std::vector<AttrArg> wide;
    bool changed = false;
    for (const Attr& a : attrs) {
      const bool names_dtype = a.value.kind == AttrKind::kString && a.value.string == "float32";
      changed |= names_dtype;
      if (names_dtype) {
        wide.push_back({a.name.str(), std::string("float64")});
      } else {
        wide.push_back({a.name.str(), a.value});
      }
    }
    return changed ? context_.attrs(wide) : attrs;
  }

 private:
  Context& context_;
  std::unordered_map<Type, Type> types_;
};

Module run(const Module& m, const PassContext&) {
  Widener w(m.context());
  Module out = rewrite(m, [&](relay::Builder& b, Expr e) -> Expr {
    SpanScope at(b, e->span);
    if (const auto* c = e->as<Constant>()) {
      if (c->value->dtype() != kFloat32) return e;
      return b.constant(c->value->converted(kFloat64));
    }
    if (const auto* x = e->as<Var>()) {
      const bool same = w.widen(x->annotation) == x->annotation && w.widen(x->type) == x->type;
      if (same) return e;
      return b.with_type(b.var(x->name.text(), w.widen(x->annotation)), w.widen(x->type));
    }
    if (const auto* fn = e->as<Fn>(); fn && w.widen(fn->result) != fn->result) {
      e = b.fn(fn->params, fn->body, w.widen(fn->result), fn->attrs, fn->type_params);
      return b.with_type(e, w.widen(fn->type));
    }
    if (const auto* call = e->as<Call>()) {
      const Attrs attrs = w.widen(call->attrs);
      if (!(attrs == call->attrs)) return b.call(call->callee, call->args, attrs, w.widen(call->type));
    }
    return b.with_type(e, w.widen(e->type));
  });
  return out;
}

}  // namespace

const Pass kWidenFloats = {
    .name = "widen-floats",
    .doc = "compute in float64 what the program computes in float32",
    .run = run,
};

}  // namespace relay::passes
