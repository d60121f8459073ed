// Making two types agree. A work list of pairs instead of recursion; the first pair that cannot
// agree is the answer.
#include "typecheck/unify.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/cat.h"
#include "typecheck/type_walk.h"

namespace relay::typecheck {

using kernel::Proof;

std::optional<Mismatch> Unifier::unify(Type expected, Type actual) { return unify(expected, actual, true); }

std::optional<Mismatch> Unifier::unify(Type root_expected, Type root_actual, bool check) {
  std::vector<std::pair<Type, Type>> pending{{root_expected, root_actual}};
  std::set<std::pair<uint32_t, uint32_t>> seen;  // shared parts are compared once
  const auto push_all = [&](const List<Type>& a, const List<Type>& b) {
    for (size_t i = a.size(); i-- > 0;) pending.emplace_back(a[i], b[i]);
  };
  while (!pending.empty()) {
    const Type expected = find(pending.back().first), actual = find(pending.back().second);
    pending.pop_back();
    spend(2);
    if (expected == actual) continue;
    const Mismatch different{Mismatch::Why::kDifferent, expected, actual};
    if (expected == poison_ || actual == poison_) {
      poison_all(expected == poison_ ? actual : expected);
      continue;
    }
    if (expected->kind == TypeKind::kHole || actual->kind == TypeKind::kHole) {
      const bool left = expected->kind == TypeKind::kHole;
      if (auto wrong = bind(left ? expected : actual, left ? actual : expected)) return wrong;
      continue;
    }
    if (expected->kind != actual->kind) return different;
    if (const auto* t = expected->as<TensorType>()) {
      if (auto wrong = tensors(t, actual->as<TensorType>(), check)) return wrong;
      continue;
    }
    if (!seen.emplace(expected->id, actual->id).second) continue;
    switch (expected->kind) {
      case TypeKind::kTuple: {
        const auto &a = expected->as<TupleType>()->fields, &b = actual->as<TupleType>()->fields;
        if (a.size() != b.size()) return different;
        push_all(a, b);
        break;
      }
      case TypeKind::kRef:
        pending.emplace_back(expected->as<RefType>()->contents, actual->as<RefType>()->contents);
        break;
      case TypeKind::kData: {
        const auto *a = expected->as<DataType>(), *b = actual->as<DataType>();
        if (!(a->name == b->name) || a->args.size() != b->args.size()) return different;
        push_all(a->args, b->args);
        break;
      }
      case TypeKind::kFn: {
        const auto *a = expected->as<FnType>(), *b = actual->as<FnType>();
        if (a->args.size() != b->args.size()) return different;
        if (a->type_params.size() != b->type_params.size()) {
          // A generic function serves where a plain one is expected, not the other way round.
          if (!a->type_params.empty()) return different;
          pending.emplace_back(a, instantiate(b, nullptr, [](kernel::Expr) { return true; }));
          break;
        }
        if (!a->type_params.empty()) {
          const auto plain = without_parameters(a, b);
          if (!plain) return different;
          pending.push_back(*plain);
          break;
        }
        // What the found function binds itself may be chosen.
        if (b->has_symbolic_dim) b = instantiate(b, nullptr, fixed_)->as<FnType>();
        pending.emplace_back(a->result, b->result);
        push_all(a->args, b->args);
        break;
      }
      case TypeKind::kVar: return different;  // two of different names
      case TypeKind::kTensor:
      case TypeKind::kHole:
      case TypeKind::kRelation: return different;  // not met here
    }
  }
  return std::nullopt;
}

// Both are generic: they must agree for types that nobody else knows.
std::optional<std::pair<Type, Type>> Unifier::without_parameters(const FnType* expected,
                                                                 const FnType* actual) {
  std::unordered_map<Symbol, Type> in_expected, in_actual;
  for (size_t i = 0; i < expected->type_params.size(); ++i) {
    const TypeVar* common = context_.type_var(cat("#", next_skolem_++));
    param_levels_[common->name] = UINT32_MAX;
    in_expected[expected->type_params[i]->name] = common;
    in_actual[actual->type_params[i]->name] = common;
  }
  // Whoever calls it knows the relations of the expected type, and no others.
  std::set<Type> known;
  for (Type relation : expected->where) known.insert(resolve(substitute(relation, in_expected, {})));
  for (Type relation : actual->where) {
    if (!known.contains(resolve(substitute(relation, in_actual, {})))) return std::nullopt;
  }
  return std::pair{substitute(context_.fn_type({}, expected->args, expected->result), in_expected, {}),
                   substitute(context_.fn_type({}, actual->args, actual->result), in_actual, {})};
}

std::optional<Mismatch> Unifier::bind(Type hole, Type t) {
  const uint32_t level = entry(hole).level;
  std::optional<Mismatch> wrong;
  if (t->has_hole || t->has_type_var) {
    walk(t, [&](Type part) {
      if (part == hole) {
        wrong = Mismatch{Mismatch::Why::kEndless, hole, t};
      } else if (const auto* v = part->as<TypeVar>()) {
        auto it = param_levels_.find(v->name);
        if (it != param_levels_.end() && it->second > level)
          wrong = Mismatch{Mismatch::Why::kEscape, hole, part};
      }
      return !wrong;
    });
    if (wrong) return wrong;
  }
  lower(t, level);
  set(hole, t);
  return std::nullopt;
}

void Unifier::poison_all(Type t) {
  std::vector<Type> holes;
  walk(t, [&](Type part) {
    if (part->kind == TypeKind::kHole && part != poison_) holes.push_back(part);
    return true;
  });
  for (Type hole : holes) set(hole, poison_);
}

// Dims.

void Unifier::answer(DimHole& hole, Dim d) {
  hole.answer = d;
  woken_.insert(woken_.end(), hole.waiting.begin(), hole.waiting.end());
  hole.waiting.clear();
}

Unifier::Agree Unifier::dims(Dim expected, Dim actual) {
  expected = resolve(expected);
  actual = resolve(actual);
  if (expected == actual) return Agree::kYes;
  const auto mentions = [](Dim d, Dim hole) {
    if (!d.is_symbolic()) return false;
    const auto vars = kernel::variables(d.symbolic());
    return std::find(vars.begin(), vars.end(), hole.symbolic()) != vars.end();
  };
  for (const auto& [hole, other] : {DimPair(expected, actual), DimPair(actual, expected)}) {
    DimHole* h = open_hole(hole);
    if (!h || mentions(other, hole)) continue;
    if (other.is_symbolic()) {
      for (kernel::Expr v : kernel::variables(other.symbolic())) {
        if (DimHole* inner = open_hole(Dim(v))) inner->level = std::min(inner->level, h->level);
      }
    }
    answer(*h, other);
    return Agree::kYes;
  }
  if (expected.is_unknown()) return Agree::kYes;
  if (actual.is_unknown()) return Agree::kAtRunTime;
  if (has_open_dim(expected) || has_open_dim(actual)) return Agree::kLater;
  switch (prove_equal(expected, actual)) {
    case Proof::kProved: return Agree::kYes;
    case Proof::kRefuted: return Agree::kNo;
    case Proof::kUnknown: break;
  }
  return Agree::kAtRunTime;
}

std::optional<Mismatch> Unifier::tensors(const TensorType* expected, const TensorType* actual, bool check) {
  if (expected->dtype != actual->dtype || expected->rank() != actual->rank()) {
    return Mismatch{Mismatch::Why::kDifferent, expected, actual};
  }
  for (size_t i = 0; i < expected->rank(); ++i) {
    const Later pair{expected, actual, i, {expected->dims[i], actual->dims[i]}, check};
    const Agree how = dims(pair.dims.first, pair.dims.second);
    if (how == Agree::kLater) {
      later_.push_back(pair);
    } else if (auto wrong = decide(pair, how)) {
      return wrong;
    }
  }
  return std::nullopt;
}

std::optional<Mismatch> Unifier::decide(const Later& pair, Agree how) {
  const Dim expected = resolve(pair.dims.first), actual = resolve(pair.dims.second);
  if (how == Agree::kNo) {
    return Mismatch{
        Mismatch::Why::kDim, resolve(pair.expected), resolve(pair.actual), pair.dim, expected, actual};
  }
  if (how == Agree::kAtRunTime && pair.check) checks_.emplace_back(expected, actual);
  return std::nullopt;
}

// a*h + b == other, for the one unknown h on the left: h is (other - b) / a if that comes out even.
// The form is guessed from three points, so the answer is tried before it is believed.
bool Unifier::solve_linear(Dim with_hole, Dim other) {
  const kernel::Expr e = with_hole.symbolic();
  kernel::Expr unknown;
  for (kernel::Expr v : kernel::variables(e)) {
    if (!open_hole(Dim(v))) continue;
    if (unknown) return false;
    unknown = v;
  }
  if (!unknown) return false;
  const auto at = [&](Dim value) {
    return Dim(kernel::substitute(e, {{unknown.get(), value.expr(context_.pool())}}));
  };
  const Dim b = at(Dim(0)), a = at(Dim(1)) - b;
  if (!a.is_const() || a.value() == 0) return false;
  const Dim rest = other - b;
  if (floor_mod(rest, a) != Dim(0)) return false;
  const Dim h = floor_div(rest, a);
  if (h.is_unknown() || (h.is_const() && h.value() < 0) || prove_equal(at(h), other) != Proof::kProved)
    return false;
  answer(*open_hole(Dim(unknown)), h);
  return true;
}

std::optional<Mismatch> Unifier::settle() {
  std::optional<Mismatch> first;
  for (const Later& pair : std::exchange(later_, {})) {
    Agree how = dims(pair.dims.first, pair.dims.second);
    if (how == Agree::kLater) {
      const Dim expected = resolve(pair.dims.first), actual = resolve(pair.dims.second);
      const bool left = expected.is_symbolic() && !has_open_dim(actual);
      const bool right = actual.is_symbolic() && !has_open_dim(expected);
      if ((left && solve_linear(expected, actual)) || (right && solve_linear(actual, expected)))
        how = Agree::kYes;
    }
    if (how == Agree::kLater) {
      parked_.push_back(pair);
    } else if (auto wrong = decide(pair, how); wrong && !first) {
      first = wrong;
    }
  }
  return first;
}

std::optional<Mismatch> Unifier::settle_end() {
  later_.insert(later_.end(), parked_.begin(), parked_.end());
  parked_.clear();
  auto first = settle();
  // Whatever is still open depends on unknown dims that nothing determines.
  for (const Later& pair : std::exchange(parked_, {})) {
    for (Type t : {pair.expected, pair.actual}) forget_dims(t);
    if (auto wrong = decide(pair, dims(pair.dims.first, pair.dims.second)); wrong && !first) first = wrong;
  }
  return first;
}

// Joining.

std::optional<Mismatch> Unifier::join(Type a, Type b, Type& out) {
  out = a;
  if (find(a) == find(b)) return std::nullopt;
  if (auto wrong = unify(a, b, false)) return wrong;
  if (auto wrong = settle()) return wrong;
  out = widen(resolve(a), resolve(b));
  return std::nullopt;
}

// Of two types that agree: the one that promises no more than both. Goes into tensors and tuples of
// them; in other types the first one stands.
Type Unifier::widen(Type root_a, Type root_b) {
  using Pair = std::pair<Type, Type>;
  if (root_a == root_b) return root_a;
  std::map<Pair, Type> done;
  struct Step {
    Pair pair;
    bool closing;
  };
  std::vector<Step> stack{{{root_a, root_b}, false}};
  while (!stack.empty()) {
    const auto [pair, closing] = stack.back();
    stack.pop_back();
    if (done.contains(pair)) continue;
    const auto [a, b] = pair;
    const auto *x = a->as<TupleType>(), *y = b->as<TupleType>();
    if (closing) {
      std::vector<Type> fields;
      for (size_t i = 0; i < x->fields.size(); ++i) fields.push_back(done.at({x->fields[i], y->fields[i]}));
      done[pair] = context_.tuple_type(fields);
    } else if (x && y && a != b && x->fields.size() == y->fields.size()) {
      stack.push_back({pair, true});
      for (size_t i = 0; i < x->fields.size(); ++i) stack.push_back({{x->fields[i], y->fields[i]}, false});
    } else if (const auto* s = a->as<TensorType>(), *t = b->as<TensorType>();
               s && t && s->rank() == t->rank()) {
      std::vector<Dim> dims;
      for (size_t i = 0; i < s->rank(); ++i) {
        const Dim p = s->dims[i], q = t->dims[i];
        dims.push_back(p == q || prove_equal(p, q) == Proof::kProved ? p : Dim::unknown());
      }
      done[pair] = context_.tensor_type(dims, s->dtype);
    } else {
      done[pair] = a;
    }
  }
  return done.at({root_a, root_b});
}

}  // namespace relay::typecheck
