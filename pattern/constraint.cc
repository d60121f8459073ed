#include "pattern/constraint.h"

#include <algorithm>
#include <cstdlib>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/text/literal.h"
#include "ir/text/printer.h"
#include "op/registry.h"

namespace relay::pattern {
namespace {

// ---- Types ----

// Equal, but that a hole of `want` stands for any type (T1).
bool fits(Type want, Type have) {
  std::vector<std::pair<Type, Type>> pending{{want, have}};
  while (!pending.empty()) {
    const auto [a, b] = pending.back();
    pending.pop_back();
    if (a->kind == TypeKind::kHole || (a == b && !a->has_type_var)) continue;
    if (a->kind != b->kind) return false;
    if (!a->has_hole) {
      if (!alpha_equal(a, b)) return false;
      continue;
    }
    if (const auto* data = a->as<DataType>(); data && !(data->name == b->as<DataType>()->name)) return false;
    std::vector<Type> parts, others;
    for_each_part(a, [&](Type t) { parts.push_back(t); });
    for_each_part(b, [&](Type t) { others.push_back(t); });
    if (parts.size() != others.size()) return false;
    for (size_t i = 0; i < parts.size(); ++i) pending.emplace_back(parts[i], others[i]);
  }
  return true;
}

// Symbolic dims of two contexts are equal if their texts are: those are canonical.
bool same_dim(Dim a, Dim b) { return a == b || (a.is_symbolic() && b.is_symbolic() && show(a) == show(b)); }

bool shape_fits(const std::vector<std::optional<Dim>>& want, const List<Dim>& have) {
  return std::equal(want.begin(), want.end(), have.begin(), have.end(),
                    [](const std::optional<Dim>& a, Dim b) { return !a || same_dim(*a, b); });
}

// ---- Attributes ----

// The text of a value as the operator reads it: several spellings mean the same.
std::string as_read(std::string_view type, const std::string& text) {
  if (type.ends_with("?")) type.remove_suffix(1);
  if (text == "None") return text;
  if (type == "bool") return text == "1" ? "True" : text == "0" ? "False" : text;
  if (type == "float") {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return end == text.c_str() ? text : text::show_double(value);
  }
  const bool list = type == "ints" || type == "floats" || type == "dims" || type == "strings";
  return list && !text.starts_with("[") ? cat("[", text, "]") : text;
}

bool call_has(const Call& call, const std::string& name, const std::string& want) {
  const op::AttrField* field = nullptr;
  if (const op::OpDef* def = op::callee(call)) {
    const auto found = std::find_if(def->attrs.begin(), def->attrs.end(),
                                    [&](const op::AttrField& f) { return f.name == name; });
    if (found != def->attrs.end()) field = &*found;
  }
  const std::string_view type = field ? std::string_view(field->type) : std::string_view();
  if (const AttrValue* v = call.attrs.find(name)) return as_read(type, print(*v)) == as_read(type, want);
  return field && !field->default_text.empty() && as_read(type, field->default_text) == as_read(type, want);
}

std::string_view word(op::Effects e) {
  switch (e) {
    case op::Effects::kNone: return "\"none\"";
    case op::Effects::kTraps: return "\"traps\"";
    case op::Effects::kEffect: return "\"effect\"";
  }
  return "";
}

std::string_view word(op::Fusion f) {
  switch (f) {
    case op::Fusion::kElementwise: return "\"elementwise\"";
    case op::Fusion::kBroadcast: return "\"broadcast\"";
    case op::Fusion::kInjective: return "\"injective\"";
    case op::Fusion::kReduction: return "\"reduction\"";
    case op::Fusion::kOutputFusable: return "\"output-fusable\"";
    case op::Fusion::kOpaque: return "\"opaque\"";
  }
  return "";
}

bool operator_has(const op::OpDef& def, const std::string& name, const std::string& want) {
  const auto flag = [&](bool value) { return want == (value ? "True" : "False"); };
  if (name == "effects") return word(def.effects) == want;
  if (name == "fusion") return word(def.fusion) == want;
  if (name == "commutative") return flag(def.commutative);
  if (name == "view") return flag(def.view);
  return false;
}

bool has(Expr e, const std::string& name, const std::string& want) {
  return relay::match(
      e, [&](const Call& n) { return call_has(n, name, want); },
      [&](const Fn& n) {
        const AttrValue* v = n.attrs.find(name);
        return v && print(*v) == want;
      },
      [&](const OpRef& n) { return operator_has(*n.op, name, want); },
      [](const auto& n) {
        static_assert(!has_field<std::decay_t<decltype(n)>, Attrs>, "what are its attributes?");
        return false;
      });
}

bool has_attributes(Expr e) {
  return relay::match(
      e, [](const auto& n) { return has_field<std::decay_t<decltype(n)>, Attrs, const op::OpDef*>; });
}

const TensorType* tensor_type(Expr e) { return e->type ? e->type->as<TensorType>() : nullptr; }

}  // namespace

bool demand_holds(const Node& n, Expr e) {
  switch (n.kind) {
    case Kind::kExpr:
      if (n.op) return e->kind == ExprKind::kOpRef && e->as<OpRef>()->op == n.op;
      return e == n.expr || (e->kind == n.expr->kind && alpha_equal(n.expr, e));
    case Kind::kVar: {
      const auto* v = e->as<Var>();
      return v && (!n.var || v->name == *n.var);
    }
    case Kind::kConstant: return e->kind == ExprKind::kConstant;
    case Kind::kCall: {
      const auto* call = e->as<Call>();
      return call && (n.any || call->args.size() + 1 == n.children.size());
    }
    case Kind::kFunction: {
      const auto* fn = e->as<Fn>();
      return fn && (n.any || fn->params.size() + 1 == n.children.size());
    }
    case Kind::kIf: return e->kind == ExprKind::kIf;
    case Kind::kLet: return e->kind == ExprKind::kLet;
    case Kind::kTuple: {
      const auto* tuple = e->as<Tuple>();
      return tuple && (n.any || tuple->fields.size() == n.children.size());
    }
    case Kind::kTupleGetItem: {
      const auto* proj = e->as<Proj>();
      return proj && (n.any || proj->index == n.index);
    }
    case Kind::kAlt:
    case Kind::kWildcard:
    case Kind::kOnce:  // the program says it, not the expression
    case Kind::kDominator: return true;
    case Kind::kType: return e->type && fits(n.type, e->type);
    case Kind::kDataType: return tensor_type(e) && tensor_type(e)->dtype == n.dtype;
    case Kind::kShape: return tensor_type(e) && shape_fits(n.dims, tensor_type(e)->dims);
    case Kind::kAttr:
      return has_attributes(e) && std::all_of(n.attrs.begin(), n.attrs.end(),
                                              [&](const auto& a) { return has(e, a.first, a.second); });
  }
  return false;
}

}  // namespace relay::pattern
