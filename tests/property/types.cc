// Types: choosing them, and what the type parameters and shape variables of a function stand for.
//
// Types are made here and nest a few levels, so these functions recurse.
#include <algorithm>

#include "ir/type.h"
#include "tests/property/generator.h"

namespace relay::property {

DType Generator::dtype() {
  static const std::vector<DType> kChoices{kFloat32, kInt32, kFloat32, kBool,
                                           kInt32,   kInt64, kInt8,    kFloat32};
  return in_.choose(kChoices);
}

Dim Generator::dim() {
  if (!dims_.empty() && in_.below(2) == 1) {
    const Dim n = in_.choose(dims_);
    switch (in_.below(6)) {
      case 4: return n + Dim(1);
      case 5: return n * Dim(2);
      default: return n;
    }
  }
  static const std::vector<int64_t> kChoices{2, 1, 3, 2, 3, 4, 1, 3};
  return in_.once_in(60) ? 0 : in_.choose(kChoices);
}

const TensorType* Generator::tensor_type(size_t rank, DType d) {
  std::vector<Dim> dims;
  for (size_t i = 0; i < rank; ++i) dims.push_back(extent());
  return context_.tensor_type(dims, d);
}

Dim Generator::extent() {
  const bool open = options_.open_extents && !options_.dataflow && in_.once_in(16);
  return open ? Dim::unknown() : dim();
}

bool Generator::is_open(const TensorType& t) {
  return std::any_of(t.dims.begin(), t.dims.end(), [](Dim d) { return d.is_unknown(); });
}

// The type with extents in the place of open ones.
const TensorType* Generator::closed(const TensorType& t) {
  std::vector<Dim> dims(t.dims.begin(), t.dims.end());
  for (Dim& d : dims) {
    if (d.is_unknown()) d = dim();
  }
  return with_dims(t, dims);
}

const TensorType* Generator::tensor_type() {
  if (in_.below(2) == 1) {
    std::vector<const TensorType*> known;
    for (const Binding& x : scope_) {
      if (const auto* t = x.type->as<TensorType>()) known.push_back(t);
    }
    if (!known.empty()) return in_.choose(known);
  }
  static const std::vector<size_t> kRanks{0, 1, 2, 0, 2, 1, 3, 0};
  const size_t rank = in_.choose(kRanks);
  return tensor_type(rank, dtype());
}

namespace {

size_t size_of(Type t) {
  size_t n = 1;
  for_each_part(t, [&](Type part) { n += size_of(part); });
  return n;
}

}  // namespace

bool Generator::allowed(Type t, Allow allow) const {
  const bool kind = t->kind == TypeKind::kFn    ? allow == Allow::kAll && t->as<FnType>()->type_params.empty()
                    : t->kind == TypeKind::kRef ? allow != Allow::kData
                    : t->kind == TypeKind::kVar ? allow != Allow::kData
                                                : true;
  bool parts = true;
  for_each_part(t, [&](Type part) { parts = parts && allowed(part, allow); });
  return kind && parts;
}

// A type that something in scope has or gives, so that things come to be used.
Type Generator::known_type(Allow allow) {
  std::vector<Type> known;
  const auto add = [&](Type t) {
    // Types of types of types would grow without end.
    if (size_of(t) <= 8 && allowed(t, allow)) known.push_back(t);
  };
  for (size_t i = scope_.size(); i-- > 0 && known.size() < 16;) {
    const Type t = scope_[i].type;
    add(t);
    const auto* fn = t->as<FnType>();
    if (fn && fn->type_params.empty()) add(fn->result);
    if (const auto* ref = t->as<RefType>()) add(ref->contents);
  }
  return known.empty() ? nullptr : in_.choose(known);
}

Type Generator::type(Allow allow, int depth) {
  if (depth > 0 && !scope_.empty() && in_.below(3) == 2) {
    if (Type t = known_type(allow)) return t;
  }
  const uint32_t choice = depth > 0 ? in_.below(10) : 0;
  switch (choice) {
    case 3:
    case 4: {
      std::vector<Type> fields;
      for (uint32_t n = in_.below(4); n-- > 0;) fields.push_back(type(allow, depth - 1));
      return context_.tuple_type(fields);
    }
    case 5:
    case 6:
      if (!data_types_.empty()) return data_type(allow, depth);
      break;
    case 7:
      if (!type_vars_.empty()) return in_.choose(type_vars_);
      break;
    case 8:
      if (allow == Allow::kAll) {
        std::vector<Type> args;
        for (uint32_t n = 2 - in_.below(3); n-- > 0;) args.push_back(type(Allow::kCells, depth - 1));
        return context_.fn_type({}, args, type(Allow::kAll, depth - 1));
      }
      break;
    case 9:
      if (allow != Allow::kData) {
        const Type contents = type(Allow::kData, depth - 1);
        if (!has_function(contents)) return context_.ref_type(contents);
      }
      break;
    default: break;
  }
  return tensor_type();
}

Type Generator::data_type(Allow allow, int depth) {
  const DataTypeDef* def = in_.choose(data_types_);
  std::vector<Type> args;
  for (size_t i = 0; i < def->params.size(); ++i) args.push_back(type(allow, depth - 1));
  return context_.data_type(def->name.text(), args);
}

// A cell that holds a function could hold one that reads the cell and calls itself; a type
// parameter may stand for a function.
bool Generator::has_function(Type t) const {
  bool found = t->kind == TypeKind::kFn || t->kind == TypeKind::kVar;
  for_each_part(t, [&](Type part) { found = found || has_function(part); });
  return found;
}

Dim Generator::substituted(Dim d, const Instance& by) {
  return d.is_symbolic() ? Dim(kernel::substitute(d.symbolic(), by.dims)) : d;
}

Type Generator::substituted(Type t, const Instance& by) {
  if (const auto* v = t->as<TypeVar>()) {
    auto it = by.types.find(v->name);
    return it == by.types.end() ? t : it->second;
  }
  if (const auto* tensor = t->as<TensorType>()) {
    std::vector<Dim> dims;
    for (Dim d : tensor->dims) dims.push_back(substituted(d, by));
    return context_.tensor_type(dims, tensor->dtype);
  }
  std::vector<Type> parts;
  for_each_part(t, [&](Type part) { parts.push_back(substituted(part, by)); });
  return context_.with_parts(t, parts);
}

namespace {

bool binds(const FnType& fn, kernel::Expr variable) {
  const auto mentions = [&](auto& self, Type t) -> bool {
    if (const auto* tensor = t->as<TensorType>()) {
      return std::any_of(tensor->dims.begin(), tensor->dims.end(), [&](Dim d) {
        if (!d.is_symbolic()) return false;
        const auto all = kernel::variables(d.symbolic());
        return std::find(all.begin(), all.end(), variable) != all.end();
      });
    }
    bool found = false;
    for_each_part(t, [&](Type part) { found = found || self(self, part); });
    return found;
  };
  return std::any_of(fn.args.begin(), fn.args.end(), [&](Type arg) { return mentions(mentions, arg); });
}

}  // namespace

bool Generator::match(Dim pattern, Dim target, const FnType& of, Instance& found) {
  if (!pattern.is_symbolic()) return pattern == target;
  const kernel::Expr v = pattern.symbolic();
  // An expression over variables: whether it fits is known once they are; see callables().
  if (v->kind != kernel::ExprKind::kVar) return true;
  if (!binds(of, v)) return pattern == target;
  if (target.is_unknown()) return false;
  const auto [it, fresh] = found.dims.emplace(v.get(), target.expr(context_.pool()));
  return fresh || Dim(it->second) == target;
}

// Does the target arise from the pattern by a choice for what `of` binds?
bool Generator::match(Type pattern, Type target, const FnType& of, Instance& found) {
  if (const auto* v = pattern->as<TypeVar>()) {
    if (std::find(of.type_params.begin(), of.type_params.end(), v) == of.type_params.end())
      return pattern == target;
    if (!of.where.empty() && !is_number(target)) return false;
    const auto [it, fresh] = found.types.emplace(v->name, target);
    return fresh || it->second == target;
  }
  if (pattern->kind != target->kind) return false;
  if (const auto* p = pattern->as<TensorType>()) {
    const auto* t = target->as<TensorType>();
    if (p->dtype != t->dtype || p->rank() != t->rank()) return false;
    for (size_t i = 0; i < p->rank(); ++i) {
      if (!match(p->dims[i], t->dims[i], of, found)) return false;
    }
    return true;
  }
  if (const auto* p = pattern->as<DataType>(); p && p->name != target->as<DataType>()->name) return false;
  std::vector<Type> from, to;
  for_each_part(pattern, [&](Type part) { from.push_back(part); });
  for_each_part(target, [&](Type part) { to.push_back(part); });
  if (from.size() != to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!match(from[i], to[i], of, found)) return false;
  }
  return true;
}

// Is it a tensor that operators of numbers take, whatever happens in a run?
bool Generator::is_number(Type t) {
  const auto* tensor = t->as<TensorType>();
  return tensor && !tensor->dtype.is_bool() && !is_open(*tensor);
}

// What the result left open is chosen freely.
void Generator::complete(const FnType& of, Instance& found) {
  for (const TypeVar* v : of.type_params) {
    if (found.types.contains(v->name)) continue;
    static const std::vector<DType> kNumbers{kFloat32, kInt32, kInt64};
    const Type chosen =
        of.where.empty() ? type(Allow::kCells, 1) : closed(*tensor_type(in_.below(3), in_.choose(kNumbers)));
    found.types.emplace(v->name, chosen);
  }
  const auto open_dims = [&](auto& self, Type t) -> void {
    if (const auto* tensor = t->as<TensorType>()) {
      for (Dim d : tensor->dims) {
        if (!d.is_symbolic()) continue;
        for (kernel::Expr v : kernel::variables(d.symbolic())) {
          if (!found.dims.contains(v.get())) found.dims.emplace(v.get(), dim().expr(context_.pool()));
        }
      }
    }
    for_each_part(t, [&](Type part) { self(self, part); });
  };
  for (Type arg : of.args) open_dims(open_dims, arg);
}

std::vector<Type> Generator::fields_of(const Constructor& ctor, const DataType& of) {
  Instance by;
  for (const DataTypeDef* def : data_types_) {
    if (def->name != of.name) continue;
    for (size_t i = 0; i < def->params.size(); ++i) by.types.emplace(def->params[i]->name, of.args[i]);
  }
  std::vector<Type> out;
  for (Type field : ctor.fields) out.push_back(substituted(field, by));
  return out;
}

}  // namespace relay::property
