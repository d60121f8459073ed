// Unknowns and what is known of them: finding, resolving, levels, generic functions.
#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "typecheck/type_walk.h"

namespace relay::typecheck {

Unifier::Unifier(Context& context, FixedDim fixed) : context_(context), fixed_(std::move(fixed)) {
  poison_ = context_.hole_type();
  first_id_ = poison_->id;
  index_.push_back(0);
  holes_.emplace_back();
}

void Unifier::exhausted() { throw Exhausted("its types are too large"); }

Type Unifier::hole(Expr origin) {
  spend(8);
  const Type t = context_.hole_type();
  index_.resize(t->id - first_id_ + 1, 0);
  index_.back() = static_cast<uint32_t>(holes_.size());
  holes_.push_back({nullptr, level_, origin});
  return t;
}

Dim Unifier::dim_hole() {
  const kernel::Expr e = context_.pool().variable("?");
  dims_[e.get()].level = level_;
  return Dim(e);
}

void Unifier::set(Type hole, Type answer) {
  Hole& h = entry(hole);
  h.answer = answer;
  woken_.insert(woken_.end(), h.waiting.begin(), h.waiting.end());
  h.waiting.clear();
}

Type Unifier::adopt(Type written, Expr origin) {
  if (!written || !written->has_hole) return written;
  TypeMap memo;
  return map(written, memo, [&](Type t) -> Type {
    if (!t->has_hole) return t;
    if (t->kind != TypeKind::kHole) return nullptr;
    // Holes made here stand for themselves; those of the program get one each.
    if (t->id >= first_id_ && index_.size() > t->id - first_id_) return t;
    Type& own = adopted_[t];
    if (!own) own = hole(origin);
    return own;
  });
}

Type Unifier::find(Type t) {
  if (t->kind != TypeKind::kHole || t->id < first_id_) return t;
  Type end = t;
  while (end->kind == TypeKind::kHole && end->id >= first_id_ && entry(end).answer) end = entry(end).answer;
  // Chains of holes are shortened, so that a long one is walked once.
  while (t != end) {
    Hole& h = entry(t);
    const Type next = h.answer;
    h.answer = end;
    t = next;
    if (t->kind != TypeKind::kHole) break;
  }
  return end;
}

Unifier::DimHole* Unifier::open_hole(Dim d) {
  if (dims_.empty() || !d.is_symbolic()) return nullptr;
  auto it = dims_.find(d.symbolic().get());
  return it == dims_.end() || it->second.answer ? nullptr : &it->second;
}

bool Unifier::has_open_dim(Dim d) {
  if (dims_.empty() || !d.is_symbolic()) return false;
  for (kernel::Expr v : kernel::variables(d.symbolic())) {
    if (open_hole(Dim(v))) return true;
  }
  return false;
}

Dim Unifier::resolve(Dim d) {
  while (!dims_.empty() && d.is_symbolic()) {
    DimMap known;
    for (kernel::Expr v : kernel::variables(d.symbolic())) {
      auto it = dims_.find(v.get());
      if (it == dims_.end() || !it->second.answer) continue;
      if (it->second.answer->is_unknown()) return Dim::unknown();
      known.emplace(v.get(), it->second.answer->expr(context_.pool()));
    }
    if (known.empty()) return d;
    d = Dim(kernel::substitute(d.symbolic(), known));
  }
  return d;
}

Type Unifier::with_dims(const TensorType* t, const std::function<Dim(Dim)>& f) {
  std::vector<Dim> dims;
  for (Dim d : t->dims) dims.push_back(f(d));
  return context_.tensor_type(dims, t->dtype);
}

Type Unifier::resolve(Type root) {
  root = find(root);
  if (is_closed(root)) return root;
  if (auto it = resolved_.find(root); it != resolved_.end()) return it->second;
  TypeMap memo;
  const Type now = map(root, memo, [&](Type t) -> Type {
    if (is_closed(t) || t->kind == TypeKind::kHole) return t;
    if (auto it = resolved_.find(t); it != resolved_.end()) return it->second;
    const auto* tensor = t->as<TensorType>();
    return tensor ? with_dims(tensor, [&](Dim d) { return resolve(d); }) : nullptr;
  });
  if (is_final(now)) resolved_.insert(memo.begin(), memo.end());
  return now;
}

// Does nothing inside but poison stand for something else? What was found final before is
// not searched again.
bool Unifier::is_final(Type root) {
  std::vector<Type> pending{root}, seen;
  while (!pending.empty()) {
    const Type t = pending.back();
    pending.pop_back();
    spend(1);
    if (is_closed(t) || t == poison_ || !final_.insert(t).second) continue;
    seen.push_back(t);
    bool open = t->kind == TypeKind::kHole;
    if (const auto* tensor = t->as<TensorType>()) {
      for (Dim d : tensor->dims) open |= d.is_symbolic() && (has_open_dim(d) || resolve(d) != d);
    }
    if (open) {
      for (Type s : seen) final_.erase(s);
      return false;
    }
    for_each_part(t, [&](Type part) { pending.push_back(part); });
  }
  return true;
}

Type Unifier::unknown_in(Type root) {
  root = find(root);
  if (is_closed(root)) return nullptr;
  Type hole = nullptr, tensor = nullptr;
  walk(root, [&](Type t) {
    if (t == poison_) {
      hole = t;
      return false;
    }
    if (t->kind == TypeKind::kHole && !hole) hole = t;
    if (!tensor && t->kind == TypeKind::kTensor && t->has_symbolic_dim) {
      for (Dim d : t->as<TensorType>()->dims) {
        if (has_open_dim(resolve(d))) tensor = t;
      }
    }
    return true;
  });
  return hole ? hole : tensor;
}

void Unifier::forget_dims(Type root) {
  walk(root, [&](Type t) {
    if (t->kind == TypeKind::kTensor && t->has_symbolic_dim) {
      for (Dim d : t->as<TensorType>()->dims) {
        d = resolve(d);
        if (!d.is_symbolic()) continue;
        for (kernel::Expr v : kernel::variables(d.symbolic())) {
          if (DimHole* h = open_hole(Dim(v))) answer(*h, Dim::unknown());
        }
      }
    }
    return true;
  });
}

void Unifier::wait(Type unknown, uint32_t who) {
  if (unknown->kind == TypeKind::kHole) {
    entry(unknown).waiting.push_back(who);
    return;
  }
  for (Dim d : unknown->as<TensorType>()->dims) {
    d = resolve(d);
    if (!d.is_symbolic()) continue;
    for (kernel::Expr v : kernel::variables(d.symbolic())) {
      if (DimHole* h = open_hole(Dim(v))) {
        h->waiting.push_back(who);
        return;
      }
    }
  }
}

// Levels.

void Unifier::enter(const List<const TypeVar*>& params) {
  ++level_;
  declare(params);
}

// Names stay known after their level is left: a type that mentions one must not get out.
void Unifier::declare(const List<const TypeVar*>& params) {
  for (const TypeVar* v : params) param_levels_[v->name] = level_;
}

void Unifier::leave() { --level_; }

void Unifier::lower(Type root, uint32_t level) {
  if (is_closed(find(root))) return;
  walk(root, [&](Type t) {
    if (t->kind == TypeKind::kHole) {
      Hole& h = entry(t);
      h.level = std::min(h.level, level);
    } else if (t->kind == TypeKind::kTensor && t->has_symbolic_dim && !dims_.empty()) {
      for (Dim d : t->as<TensorType>()->dims) {
        d = resolve(d);
        if (!d.is_symbolic()) continue;
        for (kernel::Expr v : kernel::variables(d.symbolic())) {
          if (DimHole* h = open_hole(Dim(v))) h->level = std::min(h->level, level);
        }
      }
    }
    return true;
  });
}

// Generic functions.

std::vector<kernel::Expr> Unifier::bound_dims(const FnType* fn) {
  if (auto it = bound_dims_.find(fn); it != bound_dims_.end()) return it->second;
  std::vector<kernel::Expr> found;
  for (Type arg : fn->args) {
    if (!arg->has_symbolic_dim) continue;
    walk(arg, [&](Type t) {
      if (t->kind != TypeKind::kTensor || !t->has_symbolic_dim) return true;
      for (Dim d : t->as<TensorType>()->dims) {
        if (!d.is_symbolic()) continue;
        for (kernel::Expr v : kernel::variables(d.symbolic())) {
          if (v->shape_variable && std::find(found.begin(), found.end(), v) == found.end())
            found.push_back(v);
        }
      }
      return true;
    });
  }
  if (!fn->has_hole) bound_dims_.emplace(fn, found);
  return found;
}

bool Unifier::is_generic(Type t, const FixedDim& fixed) {
  const auto* fn = t->as<FnType>();
  if (!fn) return false;
  if (!fn->type_params.empty()) return true;
  if (!fn->has_symbolic_dim) return false;
  const std::vector<kernel::Expr> dims = bound_dims(fn);
  return !std::all_of(dims.begin(), dims.end(), fixed);
}

Type Unifier::substitute(Type root, const std::unordered_map<Symbol, Type>& types, const DimMap& dims) {
  TypeMap memo;
  return map(root, memo, [&](Type t) -> Type {
    if (is_closed(t) && !t->has_type_var && !t->has_symbolic_dim) return t;
    if (const auto* v = t->as<TypeVar>()) {
      auto it = types.find(v->name);
      return it == types.end() ? t : it->second;
    }
    if (t->kind == TypeKind::kHole) return t;
    const auto* tensor = t->as<TensorType>();
    if (!tensor) return nullptr;
    if (dims.empty() || !t->has_symbolic_dim) return t;
    return with_dims(
        tensor, [&](Dim d) { return d.is_symbolic() ? Dim(kernel::substitute(d.symbolic(), dims)) : d; });
  });
}

Type Unifier::instantiate(const FnType* fn, Expr origin, const FixedDim& fixed,
                          std::vector<Type>* type_args) {
  std::unordered_map<Symbol, Type> types;
  for (const TypeVar* v : fn->type_params) {
    const Type now = hole(origin);
    types.emplace(v->name, now);
    if (type_args) type_args->push_back(now);
  }
  DimMap dims;
  if (fn->has_symbolic_dim) {
    for (kernel::Expr v : bound_dims(fn)) {
      if (!fixed(v)) dims.emplace(v.get(), dim_hole().symbolic());
    }
  }
  if (types.empty() && dims.empty()) return fn;
  const Type plain = fn->type_params.empty() ? fn : context_.fn_type({}, fn->args, fn->result, fn->where);
  const Type chosen = substitute(plain, types, dims);
  const auto* now = chosen->as<FnType>();
  if (now->where.empty()) return now;
  for (Type relation : now->where) obligations_.push_back(relation->as<RelationType>());
  return context_.fn_type({}, now->args, now->result);
}

// A, B, ..., Z, A1, B1, ...: each name once in a module, so that an inner one cannot
// capture an outer one.
const TypeVar* Unifier::fresh_type_var() {
  for (;;) {
    const uint32_t n = next_name_++;
    std::string name(1, static_cast<char>('A' + n % 26));
    if (n >= 26) name += cat(n / 26);
    if (!reserved_.contains(name)) return context_.type_var(name);
  }
}

Dim Unifier::fresh_shape_variable() {
  for (;;) {
    const std::string name = cat("d", next_dim_name_++);
    if (!reserved_.contains(name)) return context_.shape_variable(name);
  }
}

Type Unifier::rename_dims(const FnType* fn, const FixedDim& clashes) {
  DimMap dims;
  if (fn->has_symbolic_dim) {
    for (kernel::Expr v : bound_dims(fn)) {
      if (clashes(v)) dims.emplace(v.get(), fresh_shape_variable().symbolic());
    }
  }
  return dims.empty() ? fn : substitute(fn, {}, dims);
}

Type Unifier::generalise(Type root, std::vector<const TypeVar*>& group) {
  const Type t = resolve(root);
  const auto* fn = t->as<FnType>();
  if (!fn) return t;
  std::vector<const TypeVar*> params(fn->type_params.begin(), fn->type_params.end());
  const std::unordered_set<Type> shared(group.begin(), group.end());
  std::unordered_set<Type> own(params.begin(), params.end());
  walk(t, [&](Type part) {
    if (const auto* v = part->as<TypeVar>()) {
      if (shared.contains(v) && own.insert(v).second) params.push_back(v);
    } else if (part->kind == TypeKind::kHole && part != poison_ && entry(part).level >= level_) {
      spend(32);
      const TypeVar* v = fresh_type_var();
      param_levels_[v->name] = level_;
      group.push_back(v);
      params.push_back(v);
      set(part, v);
    }
    return true;
  });
  if (!dims_.empty()) {
    for (Type arg : fn->args) {
      walk(arg, [&](Type part) {
        const auto* tensor = part->as<TensorType>();
        if (!tensor) return true;
        for (Dim d : tensor->dims) {
          d = resolve(d);
          if (!d.is_symbolic()) continue;
          for (kernel::Expr v : kernel::variables(d.symbolic())) {
            DimHole* h = open_hole(Dim(v));
            if (!h || h->level < level_) continue;
            answer(*h, fresh_shape_variable());
          }
        }
        return true;
      });
    }
  }
  const Type now = resolve(t);
  if (params.size() == fn->type_params.size()) return now;
  const auto* done = now->as<FnType>();
  return context_.fn_type(params, done->args, done->result, done->where);
}

}  // namespace relay::typecheck
