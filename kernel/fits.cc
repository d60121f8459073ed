#include "kernel/fits.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "kernel/polynomial.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

// No run comes to an iteration of this number.
constexpr int64_t kMostIterations = int64_t{1} << 50;

bool is_data(Expr e) {
  bool found = false;
  for_each_load(e, [&](const ExprNode* n) { found |= n->dtype == kInt64; });
  return found;
}

// A range of numbers that may be beyond 64 bits.
struct Range {
  long double low, high;
};

Range range_of(const ExprNode* atom, const Bounds& bounds) {
  const Interval i = bounds.of(atom);
  const bool counts = atom->kind == ExprKind::kVar && !atom->shape_variable;
  const auto high = static_cast<long double>(i.high.value_or(counts ? kMostIterations : INT64_MAX));
  return {static_cast<long double>(i.low.value_or(INT64_MIN)), high};
}

Range range_of(const polynomial::Term& t, const Bounds& bounds) {
  const auto c = static_cast<long double>(t.coefficient);
  Range out{c, c};
  for (const ExprNode* atom : t.atoms) {
    const Range by = range_of(atom, bounds);
    const auto [low, high] =
        std::minmax({out.low * by.low, out.low * by.high, out.high * by.low, out.high * by.high});
    out = {low, high};
  }
  return out;
}

class Conditions {
 public:
  Conditions(ExprPool& pool, const Bounds& bounds, std::span<const Expr> known)
      : pool_(pool), bounds_(bounds), known_(known), all_(pool.integer(1, kBool)) {}

  void add(const ExprNode* e) {
    if (!seen_.insert(e).second || e->kind == ExprKind::kLoad) return;
    const bool is_polynomial = e->dtype == kInt64 && (e->kind == ExprKind::kAdd || e->kind == ExprKind::kMul);
    if (!is_polynomial) {
      for (const ExprNode* a : e->args) add(a);
      return;
    }
    const std::vector<polynomial::Term> terms = polynomial::terms(e);
    for (const polynomial::Term& t : terms) {
      for (const ExprNode* atom : t.atoms) add(atom);
    }
    if (!is_data(e) && !is_known(e) && !stays_within(terms)) require(terms);
  }
  Expr all() const { return all_; }

 private:
  bool is_known(Expr e) const {
    return std::any_of(known_.begin(), known_.end(), [&](Expr k) {
      return k == e || (bounds_.proves_less_equal(pool_.integer(0), e) && bounds_.proves_less_equal(e, k));
    });
  }
  bool stays_within(const std::vector<polynomial::Term>& terms) const {
    Range sum{0, 0};
    for (const polynomial::Term& t : terms) {
      const Range r = range_of(t, bounds_);
      sum = {sum.low + r.low, sum.high + r.high};
    }
    return sum.low >= static_cast<long double>(INT64_MIN) && sum.high <= static_cast<long double>(INT64_MAX);
  }

  static int64_t magnitude(int64_t v) { return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v; }
  void require(const std::vector<polynomial::Term>& terms) {
    int64_t left = INT64_MAX, parts = 0;
    for (const polynomial::Term& t : terms) {
      if (t.atoms.empty()) {
        left -= magnitude(t.coefficient);
      } else {
        ++parts;
      }
    }
    for (const polynomial::Term& t : terms) {
      if (!t.atoms.empty()) require(t, left / parts / magnitude(t.coefficient));
    }
  }
  // The product of the term's atoms is at most `most`, and no step on the way wraps.
  void require(const polynomial::Term& t, int64_t most) {
    Expr limit = pool_.integer(most);
    for (size_t i = t.atoms.size(); i-- > 1;) {
      const Expr by = t.atoms[i];
      if (!may_be_negative(by)) {
        limit = floor_div(limit, max(by, pool_.integer(1)));
        continue;
      }
      also(less_equal(pool_.integer(-INT64_MAX), by));
      limit = floor_div(limit, max(max(by, pool_.integer(0) - by), pool_.integer(1)));
    }
    const Expr first = t.atoms[0];
    also(less_equal(first, limit));
    if (may_be_negative(first)) also(less_equal(pool_.integer(0) - limit, first));
  }
  bool may_be_negative(Expr e) const {
    const Interval i = bounds_.of(e);
    return !i.low || *i.low < 0;
  }
  void also(Expr condition) { all_ = logical_and(all_, condition); }

  ExprPool& pool_;
  const Bounds& bounds_;
  std::span<const Expr> known_;
  Expr all_;
  std::unordered_set<const ExprNode*> seen_;
};

}  // namespace

Expr fits(Expr e, const Bounds& bounds, std::span<const Expr> known) {
  Conditions conditions(*e->pool, bounds, known);
  conditions.add(e.get());
  return conditions.all();
}

}  // namespace relay::kernel
