#include "kernel/polynomial.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace relay::kernel::polynomial {
namespace {

// A product of two sums is multiplied out only up to this many terms; a larger one stays a product,
// whose factors are then atoms.
constexpr size_t kMostTerms = 64;
// A sum of more terms, and a product of more factors, is one of sums and products: adding one more
// does not take the time and the memory of all that are there.
constexpr size_t kLongest = 128;

int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

bool atom_less(const ExprNode* a, const ExprNode* b) { return compare(a, b) < 0; }

int compare_atoms(const std::vector<const ExprNode*>& a, const std::vector<const ExprNode*>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (int c = compare(a[i], b[i])) return c;
  }
  // Longer products first, so that the constant comes last.
  return a.size() > b.size() ? -1 : a.size() < b.size() ? 1 : 0;
}

Term term_of(const ExprNode* n) {
  if (n->kind == ExprKind::kInt) return {n->int_value, {}};
  if (n->kind != ExprKind::kMul) return {1, {n}};
  Term t{1, {}};
  for (const ExprNode* a : n->args) {
    if (a->kind == ExprKind::kInt) {
      t.coefficient = wrapping_mul(t.coefficient, a->int_value);
    } else {
      t.atoms.push_back(a);
    }
  }
  return t;
}

// Sorts, merges terms of equal atoms, drops zeros.
void normalise(std::vector<Term>& sum) {
  std::stable_sort(sum.begin(), sum.end(),
                   [](const Term& a, const Term& b) { return compare_atoms(a.atoms, b.atoms) < 0; });
  std::vector<Term> out;
  for (Term& t : sum) {
    if (!out.empty() && out.back().atoms == t.atoms) {
      out.back().coefficient = wrapping_add(out.back().coefficient, t.coefficient);
    } else {
      out.push_back(std::move(t));
    }
  }
  std::erase_if(out, [](const Term& t) { return t.coefficient == 0; });
  sum = std::move(out);
}

Expr build(ExprPool& pool, const Term& t) {
  if (t.atoms.empty()) return pool.integer(t.coefficient);
  std::vector<const ExprNode*> factors = t.atoms;
  if (t.coefficient != 1) factors.push_back(pool.integer(t.coefficient).get());
  return factors.size() == 1 ? Expr(factors[0]) : pool.as_is(ExprKind::kMul, kInt64, factors);
}

Expr build(ExprPool& pool, std::vector<Term> sum) {
  normalise(sum);
  if (sum.empty()) return pool.integer(0);
  std::vector<const ExprNode*> parts;
  for (const Term& t : sum) parts.push_back(build(pool, t).get());
  return parts.size() == 1 ? Expr(parts[0]) : pool.as_is(ExprKind::kAdd, kInt64, parts);
}

// The quotient of two products, if there is one. Both have their atoms in canonical order.
std::optional<Term> divide(const Term& a, const Term& b) {
  // -1 apart, because INT64_MIN / -1 overflows.
  if (b.coefficient != -1 && a.coefficient % b.coefficient != 0) return std::nullopt;
  Term q{b.coefficient == -1 ? wrapping_mul(a.coefficient, -1) : a.coefficient / b.coefficient, {}};
  std::set_difference(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
                      std::back_inserter(q.atoms), atom_less);
  if (q.atoms.size() + b.atoms.size() != a.atoms.size()) return std::nullopt;
  return q;
}

// Splits e into q*c + r, where r keeps the terms that c does not divide and a constant in [0, c).
struct Split {
  std::vector<Term> quotient, rest;
};
Split split(Expr e, int64_t c) {
  Split s;
  for (Term& t : terms(e)) {
    if (t.coefficient % c == 0) {
      t.coefficient /= c;
      s.quotient.push_back(std::move(t));
    } else if (t.atoms.empty()) {
      const int64_t low = ((t.coefficient % c) + c) % c;
      if (t.coefficient != low) s.quotient.push_back({(t.coefficient - low) / c, {}});
      s.rest.push_back({low, {}});
    } else {
      s.rest.push_back(std::move(t));
    }
  }
  return s;
}

enum class Sign { kNegative, kNonNegative, kPositive, kUnknown };

Sign sign(Expr e) {
  bool none_negative = true, none_positive = true;
  int64_t constant = 0;
  for (const Term& t : terms(e)) {
    if (t.atoms.empty()) constant = t.coefficient;
    const bool known =
        std::all_of(t.atoms.begin(), t.atoms.end(), [](const ExprNode* a) { return a->non_negative; });
    if (!known || t.coefficient < 0) none_negative = false;
    if (!known || t.coefficient > 0) none_positive = false;
  }
  if (none_negative) return constant > 0 ? Sign::kPositive : Sign::kNonNegative;
  if (none_positive && constant < 0) return Sign::kNegative;
  return Sign::kUnknown;
}

}  // namespace

std::vector<Term> terms(Expr e) {
  std::vector<Term> out;
  if (e->kind == ExprKind::kAdd) {
    for (const ExprNode* a : e->args) out.push_back(term_of(a));
  } else {
    out.push_back(term_of(e.get()));
  }
  return out;
}

Expr add(ExprPool& pool, const std::vector<Expr>& args) {
  const auto length = [](Expr a) { return a->kind == ExprKind::kAdd ? a->args.size() : 1; };
  size_t all = 0;
  for (Expr a : args) all += length(a);
  std::vector<Term> sum;
  for (Expr a : args) {
    if (all > kLongest && length(a) > kLongest / 2) {
      sum.push_back({1, {a.get()}});
      continue;
    }
    for (Term& t : terms(a)) sum.push_back(std::move(t));
  }
  return build(pool, std::move(sum));
}

Expr multiply(ExprPool& pool, const std::vector<Expr>& args) {
  std::vector<Term> product{{1, {}}};
  const auto times = [&](const std::vector<Term>& factor) {
    std::vector<Term> next;
    for (const Term& x : product) {
      for (const Term& y : factor) {
        Term t{wrapping_mul(x.coefficient, y.coefficient), x.atoms};
        t.atoms.insert(t.atoms.end(), y.atoms.begin(), y.atoms.end());
        std::sort(t.atoms.begin(), t.atoms.end(), atom_less);
        next.push_back(std::move(t));
      }
    }
    normalise(next);
    product = std::move(next);
  };
  const auto length = [](const std::vector<Term>& sum) {
    size_t most = 0;
    for (const Term& t : sum) most = std::max(most, t.atoms.size());
    return most;
  };
  size_t all = 0;
  for (Expr a : args) all += length(terms(a));
  for (Expr a : args) {
    const std::vector<Term> factor = terms(a);
    const bool too_many =
        product.size() * factor.size() > kMostTerms || (all > kLongest && length(factor) > kLongest / 2);
    times(too_many ? std::vector<Term>{{1, {a.get()}}} : factor);
  }
  return build(pool, std::move(product));
}

Expr broadcast(ExprPool& pool, Expr a, Expr b) {
  std::vector<const ExprNode*> parts, pending{a.get(), b.get()};
  while (!pending.empty()) {
    const ExprNode* n = pending.back();
    pending.pop_back();
    if (n->kind == ExprKind::kBroadcast) {
      pending.insert(pending.end(), n->args.begin(), n->args.end());
    } else if (!Expr(n).is_int(1)) {
      parts.push_back(n);
    }
  }
  if (parts.empty()) return pool.integer(1);
  std::sort(parts.begin(), parts.end(), atom_less);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  for (const ExprNode* n : parts) {
    if (!n->has_data && never_zero(Expr(n) - 1)) return n;
  }
  const ExprNode* out = parts[0];
  for (size_t i = 1; i < parts.size(); ++i)
    out = pool.as_is(ExprKind::kBroadcast, kInt64, {out, parts[i]}).get();
  return out;
}

// Moving whole multiples out of a division is exact only if the sum does not wrap, which holds for
// indices and dims but not for data.
Expr simplify_binary(ExprPool& pool, ExprKind kind, Expr a, Expr b) {
  const bool constant = b->kind == ExprKind::kInt;
  const int64_t c = b->int_value;
  switch (kind) {
    case ExprKind::kFloorDiv: {
      if (!constant || c <= 0) return {};
      if (c == 1) return a;
      if (a->has_data) return {};
      Split s = split(a, c);
      if (s.quotient.empty()) return {};
      Expr rest = build(pool, std::move(s.rest));
      return add(pool,
                 {build(pool, std::move(s.quotient)), pool.make(ExprKind::kFloorDiv, kInt64, {rest, b})});
    }
    case ExprKind::kFloorMod: {
      if (!constant || c <= 0) return {};
      if (c == 1) return pool.integer(0);
      if (a->has_data) return {};
      Split s = split(a, c);
      if (s.quotient.empty()) return {};
      return pool.make(ExprKind::kFloorMod, kInt64, {build(pool, std::move(s.rest)), b});
    }
    case ExprKind::kTruncDiv: return constant && c == 1 ? a : Expr();
    case ExprKind::kMin:
    case ExprKind::kMax: {
      const bool smaller = kind == ExprKind::kMin;
      if (a == b) return a;
      if (a->has_data || b->has_data) return {};
      const Sign s = sign(a - b);
      if (s == Sign::kNegative) return smaller ? a : b;
      if (s == Sign::kPositive || s == Sign::kNonNegative) return smaller ? b : a;
      return {};
    }
    case ExprKind::kEqual:
    case ExprKind::kNotEqual: {
      if (a == b) return pool.integer(kind == ExprKind::kEqual, kBool);
      if (a->has_data || b->has_data) return {};
      return never_zero(a - b) ? pool.integer(kind == ExprKind::kNotEqual, kBool) : Expr();
    }
    case ExprKind::kLess:
    case ExprKind::kLessEqual: {
      if (a->has_data || b->has_data)
        return a == b ? pool.integer(kind == ExprKind::kLessEqual, kBool) : Expr();
      const Sign s = sign(a - b);
      if (s == Sign::kNegative) return pool.integer(1, kBool);
      if (s == Sign::kPositive) return pool.integer(0, kBool);
      if (s == Sign::kNonNegative && kind == ExprKind::kLess) return pool.integer(0, kBool);
      const Sign reverse = sign(b - a);  // b >= a
      if (reverse == Sign::kNonNegative && kind == ExprKind::kLessEqual) return pool.integer(1, kBool);
      return {};
    }
    default: return {};
  }
}

// Long division by the leading term, which is the first of the canonical order: an order of
// products that need not respect multiplication, so the number of steps is bounded and only a
// remainder of zero counts.
Expr divide_exactly(ExprPool& pool, Expr a, Expr b) {
  const Term lead = terms(b)[0];
  if (lead.coefficient == 0) return {};
  std::vector<Term> quotient;
  for (Expr rest = a; rest != pool.integer(0);) {
    const Term t = terms(rest)[0];
    std::optional<Term> q = divide(t, lead);
    if (!q || quotient.size() == kMostTerms) return {};
    rest = rest - build(pool, *q) * b;
    quotient.push_back(std::move(*q));
  }
  return build(pool, std::move(quotient));
}

bool never_zero(Expr e) {
  const Sign s = sign(e);
  return s == Sign::kPositive || s == Sign::kNegative;
}

}  // namespace relay::kernel::polynomial
