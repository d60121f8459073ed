#include "op/apply.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "base/check.h"
#include "base/failure.h"
#include "base/reasons.h"
#include "ir/traverse.h"
#include "op/any_type.h"
#include "op/parts.h"
#include "op/registry.h"
#include "op/whole_extents.h"

namespace relay::op {
namespace {

// The leaves below some roots, in order. `children` gives the fields of a tuple, or
// null for a leaf.
template <class Item, class Children, class Leaf>
void for_each_leaf(std::span<const Item> roots, const Children& children, const Leaf& leaf) {
  std::vector<std::pair<std::span<const Item>, size_t>> pending{{roots, 0}};
  while (!pending.empty()) {
    auto& [items, next] = pending.back();
    if (next == items.size()) {
      pending.pop_back();
      continue;
    }
    const Item& item = items[next++];
    if (const std::optional<std::span<const Item>> fields = children(item)) {
      pending.emplace_back(*fields, 0);
    } else {
      leaf(item);
    }
  }
}

std::optional<std::span<const Value>> fields_of(const Value& v) {
  if (!v || v.kind() != ValueKind::kTuple) return std::nullopt;
  return std::span<const Value>(v.fields());
}

std::optional<std::span<const Type>> fields_of(Type t) {
  const auto* tuple = t ? t->as<TupleType>() : nullptr;
  if (!tuple) return std::nullopt;
  return std::span<const Type>(tuple->fields);
}

// The tensors of a type that may have parts which are not known yet: `flatten` wants all of them.
// Calls f on each tensor type once: types share parts.
template <class F>
void for_each_tensor(Type root, const F& f) {
  std::vector<Type> pending{root};
  std::unordered_set<Type> seen;
  while (!pending.empty()) {
    const Type t = pending.back();
    pending.pop_back();
    if (!t) continue;
    if (const auto* tensor = t->as<TensorType>()) f(*tensor);
    const auto* tuple = t->as<TupleType>();
    if (!tuple || !seen.insert(t).second) continue;
    for (size_t i = tuple->fields.size(); i-- > 0;) pending.push_back(tuple->fields[i]);
  }
}

bool is_data(const Value& v) {
  bool ok = true;
  for_each_leaf<Value>(
      std::span(&v, 1), [](const Value& x) { return fields_of(x); },
      [&](const Value& leaf) { ok = ok && leaf.is_tensor(); });
  return ok;
}

// The value of type `t` whose tensors are `results[next]` and on.
Value pack(Type t, Results results) {
  if (t->as<TensorType>()) return Value(results[0]);
  // Results are as deep as an operator makes them, not as deep as a user's program: two levels.
  std::vector<Value> fields;
  size_t next = 0;
  for (Type f : t->as<TupleType>()->fields) {
    const size_t count = flatten(std::span<const Type>(&f, 1)).size();
    fields.push_back(pack(f, results.subspan(next, count)));
    next += count;
  }
  return Value::tuple(std::move(fields));
}

std::string show_types(std::span<const Type> types) {
  return join(types, ", ", [](Type t) { return relay::show(t, 80); });
}

// An operator that is defined by others: its expansion, evaluated in a context that is thrown away
// afterwards, so that a loop which calls the operator a million times leaves nothing behind.
Value evaluate_expansion(const OpDef& op, std::span<const Value> args, const Attrs& attrs,
                         const EvaluatePart& evaluate_part) {
  Context scratch;
  Builder b(scratch);
  NodeMap<Value> values;
  std::vector<Expr> vars;
  for (const Value& v : args) {
    vars.push_back(b.var(cat("x", vars.size()), type_of(scratch, v)));
    values[vars.back()] = v;
  }
  const Expr root = expand(b, op, vars, attrs);
  for (Expr e : post_order(root)) {
    if (const auto* constant = e->as<Constant>()) {
      values[e] = Value(*constant->value);
    } else if (const auto* tuple = e->as<Tuple>()) {
      std::vector<Value> fields;
      for (Expr f : tuple->fields) fields.push_back(values.get(f));
      values[e] = Value::tuple(std::move(fields));
    } else if (const auto* proj = e->as<Proj>()) {
      values[e] = values.get(proj->tuple).fields()[proj->index];
    } else if (const auto* call = e->as<Call>()) {
      const OpDef* part = callee(*call);
      CHECK(part, cat("the expansion of `", op.name, "` calls something that is not an operator"));
      std::vector<Value> inputs;
      for (Expr a : call->args) inputs.push_back(values.get(a));
      values[e] = evaluate_part(scratch, *part, inputs, call->attrs);
    } else {
      CHECK(e->as<Var>() || e->as<OpRef>(),
            cat("the expansion of `", op.name, "` is not made of operator calls"));
    }
  }
  return values.get(root);
}

}  // namespace

namespace {

// The type with extents that are too complex unknown. Operators give tensors, or tuples of them.
Type without_complex_dims(Context& context, Type t) {
  if (const auto* tensor = t->as<TensorType>()) {
    std::vector<Dim> dims(tensor->dims.begin(), tensor->dims.end());
    if (std::none_of(dims.begin(), dims.end(), [](Dim d) { return d.is_too_complex(); })) return t;
    for (Dim& d : dims) d = d.is_too_complex() ? Dim::unknown() : d;
    return context.tensor_type(dims, tensor->dtype);
  }
  const auto* tuple = t->as<TupleType>();
  if (tuple == nullptr) return t;
  std::vector<Type> fields;
  for (Type field : tuple->fields) fields.push_back(without_complex_dims(context, field));
  return context.tuple_type(fields);
}

// As the operator says, once its extents are looked at.
Type relate_whole(Relation& r, const OpDef& op, const Attrs& attrs) {
  const Type result = op.relate(r, attrs);
  if (takes_any_type(op)) return result;  // it is as large and as deep as a program makes it
  for_each_tensor(result, [&](const TensorType& t) {
    for (size_t i = 0; i < t.rank(); ++i) {
      r.require_fits(t.dims[i], kAttributes, cat("dimension ", i, " of the result"));
      if (t.dims[i].is_const() && t.dims[i].value() < 0) {
        throw RelationError{kAttributes,
                            cat("the result would have the type `", relay::show(result, 80), "`"), kNoOther,
                            Slug("negative-result-dim")};
      }
    }
  });
  return result;
}

void require_arity(const OpDef& op, std::span<const Type> args) {
  if (args.size() == op.params.size()) return;
  throw RelationError{kAttributes, cat("takes ", op.params.size(), " arguments, not ", args.size())};
}

}  // namespace

Type relate(Relation& r, const OpDef& op, const Attrs& attrs) {
  const Type result = relate_whole(r, op, attrs);
  return takes_any_type(op) ? result : without_complex_dims(r.context(), result);
}

void require_countable(Type result) {
  for_each_tensor(result, [](const TensorType& t) {
    if (is_countable(t)) return;
    throw RelationError{
        kAttributes,
        cat("the result would be a `", relay::show(&t, 80), "`, which has more bytes than 63 bits count"),
        kNoOther, Slug("tensor-too-large")};
  });
}

Type infer(Context& context, const OpDef& op, std::span<const Type> args, const Attrs& attrs) {
  require_arity(op, args);
  Relation r(context, args);
  return relate(r, op, attrs);
}

Type infer_whole(Context& context, const OpDef& op, std::span<const Type> args, const Attrs& attrs) {
  require_arity(op, args);
  Relation r(context, args);
  return relate_whole(r, op, attrs);
}

Expr call(Builder& b, const OpDef& op, std::span<const Expr> args, const std::vector<AttrArg>& attrs) {
  const Attrs interned = b.context().attrs(attrs);
  std::vector<Type> types;
  for (Expr a : args) types.push_back(a->type);
  const bool typed = std::find(types.begin(), types.end(), nullptr) == types.end();
  return b.call(b.op(op), args, interned, typed ? infer(b.context(), op, types, interned) : nullptr);
}

std::vector<AttrArg> attr_args(const Attrs& attrs, std::string_view without) {
  std::vector<AttrArg> out;
  for (const Attr& a : attrs) {
    if (a.name.text() != without) out.push_back({std::string(a.name.text()), a.value});
  }
  return out;
}

Expr expand(Builder& b, const OpDef& op, std::span<const Expr> args, const Attrs& attrs) {
  if (!op.expand) return nullptr;
  return op.expand(b, attrs, Site{args});
}

Value evaluate(Context& context, const OpDef& op, std::span<const Value> args, const Attrs& attrs,
               Sums sums) {
  return evaluate_by_parts(
      context, op, args, attrs, sums,
      [sums](Context& scratch, const OpDef& part, std::span<const Value> inputs, const Attrs& given) {
        return evaluate(scratch, part, inputs, given, sums);
      });
}

Value evaluate_by_parts(Context& context, const OpDef& op, std::span<const Value> args, const Attrs& attrs,
                        Sums sums, const EvaluatePart& part) {
  if (!op.evaluate && !op.expand)
    throw Trap(cat("`", op.name, "` is still in the program; the pass `expand-grad` replaces it"));
  if (takes_any_type(op)) return args[0];
  std::vector<Type> types;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!is_data(args[i])) throw Trap(cat("`", op.name, "`: argument ", i, " is not a tensor"));
    types.push_back(type_of(context, args[i]));
  }
  Type result;
  try {
    result = infer(context, op, types, attrs);
    // What its relation lets through, a relation of its expansion may refuse.
    if (op.expand) return evaluate_expansion(op, args, attrs, part);
  } catch (const RelationError& error) {
    throw Trap(cat(kWrongShape, "`", op.name, "`: ", error.reason, " (called with ", show_types(types), ")"));
  }

  const std::vector<const TensorType*> out_types = flatten(std::span<const Type>(&result, 1));
  std::vector<Tensor> out(out_types.size());
  const auto reserve = [&](size_t i) {
    try {
      if (const std::optional<Shape> shape = out_types[i]->static_shape()) {
        out[i] = Tensor(out_types[i]->dtype, *shape);
      } else if (!op.extents) {  // the data do not tell it either
        throw Trap(cat(kWrongShape, "`", op.name, "`: the shape of the result is not known (called with ",
                       show_types(types), ")"));
      }
    } catch (const std::bad_alloc&) {
      throw Exhausted(
          cat(kNotEnoughMemory, "the result of `", op.name, "`, ", relay::show(out_types[i], 80)));
    } catch (const Exhausted& limit) {
      throw Exhausted(
          cat(limit.what(), " for the result of `", op.name, "`, ", relay::show(out_types[i], 80)));
    }
  };
  for (size_t i = 0; i < out.size(); ++i) reserve(i);
  // Results without elements need no work, however large their other extents are. But an update may
  // have no place in one.
  const bool nothing =
      op.effects == Effects::kNone &&
      std::all_of(out.begin(), out.end(), [](const Tensor& t) { return t.defined() && t.size() == 0; });
  try {
    if (!nothing) op.evaluate(attrs, flatten(args), out, sums);
  } catch (const Trap& trap) {
    throw Trap(cat("`", op.name, "`: ", trap.what()), trap.span);
  }
  for (size_t i = 0; i < out.size(); ++i) {
    CHECK(out[i].defined() && out[i].dtype() == out_types[i]->dtype && out[i].rank() == out_types[i]->rank(),
          cat("`", op.name, "` evaluated to something else than its relation says"));
  }
  return pack(result, out);
}

namespace {

Tensor absolute(Tensor t) {
  if (!t.dtype().is_float()) return t;
  t = t.copy();
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, std::fabs(t.get(i)));
  return t;
}

Value absolute(const Value& v) {
  if (v.is_tensor()) return Value(absolute(v.tensor()));
  std::vector<Value> fields;
  for (const Value& field : v.fields()) fields.push_back(absolute(field));
  return Value::tuple(std::move(fields));
}

}  // namespace

Expr packed(Builder& b, const OpDef& op, Expr constant, const std::vector<AttrArg>& attrs) {
  const Expr typed = call(b, op, {constant}, attrs);
  const std::vector<Value> value{Value(*constant->as<Constant>()->value)};
  return b.constant(evaluate(b.context(), op, value, typed->as<Call>()->attrs).tensor());
}

std::vector<Tensor> magnitudes(Context& context, const OpDef& op, std::span<const Value> args,
                               const Attrs& attrs, std::span<const Tensor> results) {
  std::vector<Tensor> out;
  if (op.tolerance.magnitude == Tolerance::Magnitude::kResult) {
    for (const Tensor& t : results) out.push_back(absolute(t));
  } else if (op.tolerance.terms) {
    for (const Tensor& t : results) out.push_back(t.copy());
    op.tolerance.terms(attrs, flatten(args), out);
  } else {
    std::vector<Value> positive;
    for (const Value& v : args) positive.push_back(absolute(v));
    out = flatten(std::vector<Value>{evaluate(context, op, positive, attrs)});
  }
  return out;
}

std::vector<Tensor> flatten(std::span<const Value> values) {
  std::vector<Tensor> out;
  for_each_leaf<Value>(
      values, [](const Value& v) { return fields_of(v); },
      [&](const Value& v) {
        CHECK(v.is_tensor(), "flatten: not a tensor");
        out.push_back(v.tensor());
      });
  return out;
}

std::vector<const TensorType*> flatten(std::span<const Type> types) {
  std::vector<const TensorType*> out;
  for_each_leaf<Type>(
      types, [](Type t) { return fields_of(t); },
      [&](Type t) {
        CHECK(t && t->as<TensorType>(), cat("flatten: ", relay::show(t, 80), " is not a tensor"));
        out.push_back(t->as<TensorType>());
      });
  return out;
}

Type type_of(Context& context, const Value& v) {
  // Tuples that are being read, each with the types of the fields seen so far.
  struct Open {
    const Value* tuple;
    std::vector<Type> types;
  };
  std::vector<Open> open;
  const Value* now = &v;
  for (;;) {
    Type done = nullptr;
    if (fields_of(*now)) {
      open.push_back({now, {}});
    } else {
      CHECK(now->is_tensor(), "type_of: not a tensor");
      done = context.tensor_type(now->tensor().shape(), now->tensor().dtype());
    }
    // Close what is complete; then go on with the next field.
    for (;;) {
      if (done) {
        if (open.empty()) return done;
        open.back().types.push_back(done);
        done = nullptr;
      }
      Open& top = open.back();
      if (top.types.size() < top.tuple->fields().size()) {
        now = &top.tuple->fields()[top.types.size()];
        break;
      }
      done = context.tuple_type(top.types);
      open.pop_back();
    }
  }
}

}  // namespace relay::op
