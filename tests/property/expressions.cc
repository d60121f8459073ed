// Forms: an expression of a wanted type from each form that can have it.
#include <algorithm>

#include "base/check.h"
#include "op/ops.h"
#include "tests/property/generator.h"

namespace relay::property {
Expr Generator::expr(Type t, int depth) {
  if (depth <= 0 || in_.exhausted() || expressions_ >= options_.most_expressions) return leaf(t);
  ++expressions_;
  Expr e = any_form(t, depth);
  if (!e) return leaf(t);
  if (!is_leaf(e)) made_.emplace_back(e, t);
  return e;
}

// The smallest expression of the type.
Expr Generator::leaf(Type t) {
  if (const auto* tensor = t->as<TensorType>()) {
    if (in_.below(3) != 0) {
      if (Expr e = one_of_scope(t)) return e;
    }
    return constant(*tensor);
  }
  if (const auto* tuple = t->as<TupleType>()) {
    std::vector<Expr> fields;
    for (Type field : tuple->fields) fields.push_back(leaf(field));
    return b_.tuple(fields);
  }
  if (const auto* fn = t->as<FnType>()) {
    if (Expr e = one_of_scope(t)) return e;
    return lambda(*fn, 0, true);
  }
  if (const auto* ref = t->as<RefType>()) {
    if (Expr e = one_of_scope(t)) return e;
    return b_.ref_new(leaf(ref->contents));
  }
  if (const auto* data = t->as<DataType>()) {
    const Constructor& first = *program_.module.data_type(data->name.text())->ctors[0];
    std::vector<Expr> fields;
    for (Type field : fields_of(first, *data)) fields.push_back(leaf(field));
    return constructed(first, fields, data);
  }
  Expr e = one_of_scope(t);
  CHECK(e != nullptr, "a type parameter without a value");
  return e;
}

Expr Generator::constant(const TensorType& t) {
  if (is_open(t)) return opened(t, 0);
  const auto shape = t.static_shape();
  if (!shape) return fill(t);
  Tensor value(t.dtype, *shape);
  const int64_t first = in_.below(8), step = value.size() > 1 ? in_.below(4) : 0;
  for (int64_t i = 0; i < value.size(); ++i) {
    const int64_t v = (first + 3 + i * step) % 7 - 3;
    value.set_int(i, t.dtype.is_bool() ? (v > 0) : v);
  }
  return b_.constant(std::move(value));
}

// let %x: Tensor[(?), ...] = a tensor of known extents; %x
Expr Generator::opened(const TensorType& t, int depth) {
  const Var* x = variable(&t);
  return b_.let(x, expr(closed(t), depth), x);
}

// What is given to somebody who has said its type, and compares the extents that are not known
// before the program runs: now and then `?` stands for one, and now and then it is another one.
Expr Generator::operand(Type t, int depth) {
  const auto* tensor = t->as<TensorType>();
  if (!options_.open_extents || options_.dataflow || !tensor || tensor->rank() == 0 || !in_.once_in(12))
    return expr(t, depth);
  const uint32_t axis = in_.below(static_cast<uint32_t>(tensor->rank()));
  std::vector<Dim> made(tensor->dims.begin(), tensor->dims.end()), said = made;
  if (in_.once_in(6)) made[axis] = dim();
  said[axis] = Dim::unknown();
  const Var* x = variable(with_dims(*tensor, said));
  return b_.let(x, expr(closed(*with_dims(*tensor, made)), depth), x);
}

// Extents that only a run tells get a name: match_shape %x: Tensor[(s), ...] = value; ...
Expr Generator::match_shape(Type t, int depth) {
  if (!options_.open_extents) return nullptr;
  const DType d = dtype();
  Expr value = expr(context_.tensor_type(std::vector<Dim>{Dim::unknown()}, d), depth - 1);
  const Dim named = context_.shape_variable("s" + std::to_string(names_++));
  const Type type = context_.tensor_type(std::vector<Dim>{named}, d);
  const Var* x = variable(type);
  const Inside inside(*this);
  bind(x, type);
  dims_.push_back(named);
  Expr body = using_(scope_.back(), t, depth - 1);
  dims_.pop_back();
  return b_.call(b_.fn(std::span(&x, 1), body), {value});
}

Expr Generator::any_form(Type t, int depth) {
  const uint32_t choice = in_.below(32);
  if (options_.dataflow) {
    if (choice < 18) return form_of(t, depth);
    if (choice < 21) return one_of_scope(t);
    if (choice < 26) return shared(t);
    return choice < 30 ? let(t, depth) : projection(t, depth);
  }
  switch (choice) {
    case 11: return let_loop(t, depth);
    case 12:
    case 13: return one_of_scope(t);
    case 14:
    case 15:
    case 16: return shared(t);
    case 17:
    case 18: return let(t, depth);
    case 19: return let_function(t, depth);
    case 20: return let_generic(t, depth);
    case 21: return let_cell(t, depth);
    case 22:
    case 23: return effect_first(t, depth);
    case 24: return if_(t, depth);
    case 25: return match_(t, depth);
    case 26:
    case 27: return call(t, depth);
    case 28: return in_.below(3) == 2 ? match_shape(t, depth) : curried_call(t, depth);
    case 29: return projection(t, depth);
    case 30: return in_.below(2) == 0 ? read(t, depth) : shared_cell(t, depth);
    case 31:
    case 10:
    case 9: return using_any(t, depth);
    default: return form_of(t, depth);
  }
}

// The form that makes values of the type.
Expr Generator::form_of(Type t, int depth) {
  if (const auto* tensor = t->as<TensorType>()) {
    const bool open = is_open(*tensor) && in_.below(2) == 0;
    return open ? opened(*tensor, depth - 1) : operation(*tensor, depth);
  }
  if (const auto* tuple = t->as<TupleType>()) {
    std::vector<Expr> fields;
    for (Type field : tuple->fields) fields.push_back(expr(field, depth - 1));
    return b_.tuple(fields);
  }
  if (const auto* fn = t->as<FnType>()) return function_value(*fn, depth);
  if (const auto* ref = t->as<RefType>()) return b_.ref_new(expr(ref->contents, depth - 1));
  if (const auto* data = t->as<DataType>()) {
    const auto& ctors = program_.module.data_type(data->name.text())->ctors;
    const Constructor& ctor = *ctors[in_.below(static_cast<uint32_t>(ctors.size()))];
    const std::vector<Type> types = fields_of(ctor, *data);
    std::vector<Expr> fields;
    // A field that is declared with extents is compared with them.
    for (size_t i = 0; i < types.size(); ++i)
      fields.push_back(types[i] == ctor.fields[i] ? operand(types[i], depth - 1) : expr(types[i], depth - 1));
    return constructed(ctor, fields, data);
  }
  const bool is_number = std::find(number_vars_.begin(), number_vars_.end(), t) != number_vars_.end();
  return is_number && in_.below(3) != 2 ? operation_on_numbers(t, depth) : one_of_scope(t);
}

// Of an empty list nothing says what it could hold: then an annotation does.
Expr Generator::constructed(const Constructor& ctor, std::span<const Expr> fields, Type t) {
  Expr e = b_.call(b_.ctor(ctor), fields);
  if (determines_type(ctor)) return e;
  const Var* x = variable(t, true);
  return b_.let(x, e, x);
}

// Does every parameter of the data type occur in the constructor's fields?
bool Generator::determines_type(const Constructor& ctor) const {
  const auto mentions = [](auto& self, Type t, Type part) -> bool {
    bool found = t == part;
    for_each_part(t, [&](Type p) { found = found || self(self, p, part); });
    return found;
  };
  const List<const TypeVar*>& params = program_.module.data_type(ctor.data_type.text())->params;
  return std::all_of(params.begin(), params.end(), [&](const TypeVar* v) {
    return std::any_of(ctor.fields.begin(), ctor.fields.end(),
                       [&](Type field) { return mentions(mentions, field, v); });
  });
}

const Var* Generator::variable(Type t, bool annotated) { return b_.var(name(), annotated ? t : nullptr); }

// ---- let ----

// let x = value; ..., where what is bound is often used at once.
Expr Generator::let_in(const Var* x, Type bound, Expr value, Type t, int depth) {
  const Inside inside(*this);
  bind(x, bound);
  return b_.let(x, value, in_.below(2) == 1 ? using_(scope_.back(), t, depth) : expr(t, depth));
}

Expr Generator::let(Type t, int depth) {
  const Type bound = options_.dataflow ? Type(tensor_type()) : in_.below(3) == 0 ? t : type(Allow::kAll, 2);
  const bool annotated = in_.below(2) == 1;
  Expr value = annotated ? operand(bound, depth - 1) : expr(bound, depth - 1);
  return let_in(variable(bound, annotated), bound, value, t, depth - 1);
}

Expr Generator::let_function(Type t, int depth) {
  if (t->kind == TypeKind::kTensor && in_.below(3) == 2) {  // of a type that operators have, too
    const FnType* fn = context_.fn_type({}, std::vector<Type>(1 + in_.below(2), t), t);
    return let_in(variable(fn, true), fn, function_value(*fn, depth - 1), t, depth - 1);
  }
  std::vector<Type> args;
  for (uint32_t n = 1 + in_.below(2); n-- > 0;) args.push_back(type(Allow::kAll, 1));
  const FnType* fn = context_.fn_type({}, args, in_.below(4) == 3 ? type(Allow::kAll, 2) : t);
  Expr value = lambda(*fn, depth - 1, true);
  return let_in(variable(fn, in_.below(3) == 2), fn, value, t, depth - 1);
}

// A function with a type parameter, written down or left to inference.
Expr Generator::let_generic(Type t, int depth) {
  const bool written = in_.below(2) == 1;
  const TypeVar* a = context_.type_var("T" + std::to_string(names_++));
  const Type other = type(Allow::kCells, 1);
  std::vector<Type> args{a};
  Type result = a;
  switch (in_.below(4)) {
    case 1: result = context_.tuple_type(std::vector<Type>{a, a}); break;
    case 2:
      args.push_back(other);
      result = context_.tuple_type(std::vector<Type>{other, a});
      break;
    case 3: args = {context_.fn_type({}, std::vector<Type>{a}, a), a}; break;
    default: break;
  }
  Expr value = nullptr;
  {
    const Inside inside(*this);
    std::vector<const Var*> params;
    for (Type arg : args) {
      // A cell or an operand of an operator needs its type; the parameter itself does not.
      params.push_back(variable(arg, written || !(arg->kind == TypeKind::kVar)));
      if (!written && arg->kind == TypeKind::kFn) params.back() = variable(arg, false);
      bind(params.back(), arg);
    }
    type_vars_.push_back(a);
    Expr body = expr(result, written ? depth - 1 : 0);
    type_vars_.pop_back();
    const std::vector<const TypeVar*> type_params{a};
    value = b_.fn(params, body, written ? result : nullptr, {},
                  written ? std::span<const TypeVar* const>(type_params) : std::span<const TypeVar* const>());
  }
  const Type generic = context_.fn_type(std::vector<const TypeVar*>{a}, args, result);
  return let_in(variable(generic, false), generic, value, t, depth - 1);
}

// let %loop = fn (%fuel: int32, ...) { if (%fuel <= 0) {...} else {... %loop(%fuel - 1,
// ...) ...} }; ...
Expr Generator::let_loop(Type t, int depth) {
  const Type fuel_type = context_.scalar_type(kInt32);
  std::vector<Type> args{fuel_type};
  for (uint32_t n = in_.below(3); n-- > 0;) args.push_back(type(Allow::kCells, 1));
  const Type result = in_.below(3) == 2 ? type(Allow::kCells, 1) : t;
  const FnType* fn = context_.fn_type({}, args, result);
  const Var* x = variable(fn, false);
  Expr value = nullptr;
  std::vector<const Var*> params;
  for (Type arg : args) params.push_back(variable(arg));
  {
    const Inside inside(*this);
    scope_.push_back({x, fn, params[0], Binding::Calls::kNever});
    const size_t self = scope_.size() - 1;
    for (size_t i = 0; i < params.size(); ++i) bind(params[i], args[i]);
    Expr body = with_fuel(params[0], self, result, depth - 1);
    value = b_.fn(params, body, in_.below(4) == 3 ? nullptr : result);
  }
  const Inside inside(*this);
  scope_.push_back({x, fn, params[0], Binding::Calls::kFreely});
  return b_.let(x, value, in_.below(3) != 0 ? using_(scope_.back(), t, depth - 1) : expr(t, depth - 1));
}

// Only the second branch may call the function again. What it makes must not be used outside: a
// shared expression is evaluated before the branch is chosen.
Expr Generator::with_fuel(const Var* fuel, size_t callable, Type t, int depth) {
  Expr out_of_fuel = b_.call(b_.op(op::kLessEqual), {fuel, b_.scalar(kInt32, 0)});
  Expr base = expr(t, depth - 1);
  const bool local = callable < scope_.size();
  if (local) {
    scope_[callable].calls = Binding::Calls::kWithLessFuel;
  } else {
    own_fuel_ = fuel;
  }
  const Inside inside(*this);
  Expr again = expr(t, depth);
  if (local) {
    scope_[callable].calls = Binding::Calls::kNever;
  } else {
    own_fuel_ = nullptr;
  }
  return b_.if_(out_of_fuel, base, again);
}

// ---- branches ----

Expr Generator::condition(int depth) { return expr(context_.scalar_type(kBool), depth - 1); }

Expr Generator::if_(Type t, int depth) {
  Expr cond = condition(depth);
  Expr then_branch = expr(t, depth - 1);
  return b_.if_(cond, then_branch, expr(t, depth - 1));
}

Generator::Case Generator::case_of_anything(Type t) {
  if (in_.below(3) == 0) return {b_.wildcard(), {}};
  const Var* x = variable(t, in_.below(6) == 5);
  return {b_.bind(x), {{x, t}}};
}

// Patterns that together fit every tuple of fields, each value exactly one of them: one field
// is split further.
std::vector<Generator::Case> Generator::cases_of_fields(
    const std::vector<Type>& fields, int depth,
    const std::function<Pattern(std::span<const Pattern>)>& make) {
  const size_t split = fields.empty() ? 0 : in_.below(static_cast<uint32_t>(fields.size()));
  std::vector<Case> inner{{nullptr, {}}};
  if (!fields.empty()) inner = cases(fields[split], depth - 1);
  std::vector<Case> out;
  for (const Case& at_split : inner) {
    std::vector<Pattern> parts;
    std::vector<std::pair<const Var*, Type>> bound;
    for (size_t i = 0; i < fields.size(); ++i) {
      const Case part = i == split ? at_split : case_of_anything(fields[i]);
      parts.push_back(part.pattern);
      bound.insert(bound.end(), part.bound.begin(), part.bound.end());
    }
    out.push_back({make(parts), std::move(bound)});
  }
  return out;
}

std::vector<Generator::Case> Generator::cases(Type t, int depth) {
  if (depth <= 0 || in_.below(3) == 0) return {case_of_anything(t)};
  if (const auto* tuple = t->as<TupleType>()) {
    return cases_of_fields({tuple->fields.begin(), tuple->fields.end()}, depth,
                           [&](std::span<const Pattern> parts) { return b_.tuple_pattern(parts); });
  }
  const auto* data = t->as<DataType>();
  if (!data) return {case_of_anything(t)};
  std::vector<Case> out;
  for (const Constructor* ctor : program_.module.data_type(data->name.text())->ctors) {
    const std::vector<Case> of_ctor =
        cases_of_fields(fields_of(*ctor, *data), depth,
                        [&](std::span<const Pattern> parts) { return b_.ctor_pattern(*ctor, parts); });
    out.insert(out.end(), of_ctor.begin(), of_ctor.end());
  }
  return out;
}

Expr Generator::match_(Type t, int depth) {
  Type of = nullptr;
  if (!data_types_.empty() && in_.below(4) != 0) {
    of = data_type(Allow::kCells, 1);
  } else {
    of = type(Allow::kAll, 2);
  }
  Expr value = expr(of, depth - 1);
  std::vector<Case> all = cases(of, 3);
  if (all.size() > 1 && in_.below(3) == 2) {  // the last ones together
    all.resize(1 + in_.below(static_cast<uint32_t>(all.size() - 1)));
    all.push_back(case_of_anything(of));
  }
  const bool total = all.size() == 1 || in_.below(5) != 4;
  if (!total) all.pop_back();
  std::vector<Arm> arms;
  for (const Case& c : all) {
    const Inside inside(*this);
    for (const auto& [x, type] : c.bound) bind(x, type);
    arms.push_back({c.pattern, expr(t, depth - 1)});
  }
  return b_.match(value, arms, total);
}

// ---- the rest ----

Expr Generator::projection(Type t, int depth) {
  const uint32_t size = 1 + in_.below(3), index = in_.below(size);
  std::vector<Type> fields;
  for (uint32_t i = 0; i < size; ++i) {
    fields.push_back(i == index ? t : options_.dataflow ? Type(tensor_type()) : type(Allow::kAll, 1));
  }
  return b_.proj(expr(context_.tuple_type(fields), depth - 1), index);
}

Expr Generator::using_any(Type t, int depth) {
  if (scope_.empty()) return nullptr;
  const size_t back = in_.below(static_cast<uint32_t>(std::min<size_t>(scope_.size(), 8)));
  return using_(scope_[scope_.size() - 1 - back], t, depth);
}

// An expression of type t whose value depends on x, whatever type that has.
Expr Generator::using_(Binding x, Type t, int depth) {
  if (depth <= 0 || x.calls == Binding::Calls::kNever || x.type == t) return expr(t, depth);
  if (const auto* tensor = x.type->as<TensorType>()) {
    const auto* wanted = t->as<TensorType>();
    const DType d = wanted && wanted->dtype.is_float() ? kFloat32 : kInt32;
    Expr number =
        tensor->dtype == d ? Expr(x.var) : b_.call(b_.op(op::kCast), {x.var}, context_.attrs({{"dtype", d}}));
    // The least of no elements is not a small integer, but their sum is.
    number = b_.call(b_.op(is_open(*tensor) ? op::kSum : op::kMin), {number});
    const auto* scalar = context_.scalar_type(d);
    if (relay::product(tensor->dims) == Dim(0)) return expr(t, depth);
    if (wanted && wanted->dtype == d) {
      const Inside inside(*this);
      const Var* y = variable(scalar);
      bind(y, scalar);
      return b_.let(y, number,
                    b_.call(b_.op(in_.below(2) == 0 ? op::kAdd : op::kMaximum), {expr(t, depth - 1), y}));
    }
    Expr positive = b_.call(b_.op(op::kLess), {b_.scalar(d, 0), number});
    Expr then_branch = expr(t, depth - 1);
    return b_.if_(positive, then_branch, expr(t, depth - 1));
  }
  if (const auto* ref = x.type->as<RefType>()) {
    if (in_.below(2) == 0)
      return let_in(variable(ref->contents, false), ref->contents, b_.ref_read(x.var), t, depth - 1);
    Expr value = expr(ref->contents, depth - 1);
    return b_.proj(b_.tuple({b_.ref_write(x.var, value), expr(t, depth - 1)}), 1);
  }
  if (const auto* tuple = x.type->as<TupleType>(); tuple && !tuple->fields.empty()) {
    const uint32_t i = in_.below(static_cast<uint32_t>(tuple->fields.size()));
    return let_in(variable(tuple->fields[i], false), tuple->fields[i], b_.proj(x.var, i), t, depth - 1);
  }
  if (const auto* fn = x.type->as<FnType>()) {
    Callable f{x.var, fn, x.calls == Binding::Calls::kWithLessFuel ? x.fuel : nullptr, x.fuel != nullptr, {}};
    for (Dim d : dims_) f.instance.dims.emplace(d.symbolic().get(), d.symbolic());
    complete(*fn, f.instance);
    const Type result = substituted(fn->result, f.instance);
    Expr value = call_of(f, depth - 1);
    return let_in(variable(result, false), result, value, t, depth - 1);
  }
  if (x.type->kind == TypeKind::kData) {
    std::vector<Arm> arms;
    for (const Case& c : cases(x.type, 2)) {
      const Inside inside(*this);
      for (const auto& [v, type] : c.bound) bind(v, type);
      arms.push_back({c.pattern, c.bound.empty() ? expr(t, depth - 1) : using_(scope_.back(), t, depth - 1)});
    }
    return b_.match(x.var, arms, true);
  }
  return expr(t, depth);
}

// An expression that is there already, used once more: it is evaluated once, where the scope of all
// its uses begins.
Expr Generator::shared(Type t) {
  std::vector<Expr> candidates;
  for (size_t i = made_.size(); i-- > 0 && candidates.size() < 8;) {
    if (made_[i].second == t) candidates.push_back(made_[i].first);
  }
  return candidates.empty() ? nullptr : in_.choose(candidates);
}

Expr Generator::lambda(const FnType& t, int depth, bool annotated) {
  const Inside inside(*this);
  std::vector<const Var*> params;
  for (Type arg : t.args) {
    params.push_back(variable(arg, annotated));
    bind(params.back(), arg);
  }
  Expr body = expr(t.result, depth);
  return b_.fn(params, body, in_.below(3) == 2 ? t.result : nullptr);
}

}  // namespace relay::property
