#include "kernel/distinct_places.h"

#include <algorithm>
#include <unordered_set>

#include "kernel/polynomial.h"

namespace relay::kernel {
namespace {

// a // b // c is a // (b * c).
Expr with_one_division(Expr e) {
  const auto divisor = [](Expr q) -> int64_t {
    if (q->kind != ExprKind::kFloorDiv || q->args[1]->kind != ExprKind::kInt) return 0;
    return q->args[1]->int_value;
  };
  int64_t by = 0;
  while (divisor(e) > 0 && divisor(e->args[0]) > 0 &&
         !__builtin_mul_overflow(divisor(e), divisor(e->args[0]), &by)) {
    e = floor_div(Expr(e->args[0]->args[0]), by);
  }
  return e;
}

class Place {
 public:
  Place(const std::vector<Expr>& loops, const Bounds& bounds) : bounds_(bounds) {
    for (Expr var : loops) {
      if (bounds.of(var).high.value_or(1) > 0) open_.insert(var.get());
    }
  }

  bool tells_all(const std::vector<Expr>& place) {
    for (Expr e : place) tell(e);
    bool more = true;
    while (more && !open_.empty()) {
      more = false;
      for (size_t i = 0; i < told_.size(); ++i) {
        const Expr e = told_[i];
        more |= digits(e);
        more |= quotient(e);
      }
    }
    return open_.empty();
  }

 private:
  // Does it depend on variables that are not told yet?
  bool is_open(Expr e) const {
    const std::vector<Expr> all = variables(e);
    return std::any_of(all.begin(), all.end(), [&](Expr v) { return open_.contains(v.get()); });
  }
  bool is_told(Expr e) const { return std::find(told_.begin(), told_.end(), e) != told_.end(); }

  // The place tells the value of the expression. False if that is nothing new.
  bool tell(Expr e) {
    e = with_one_division(e);
    if (e->has_load || !is_open(e) || is_told(e)) return false;
    if (e->kind == ExprKind::kVar) return open_.erase(e.get()) > 0;
    told_.push_back(e);
    return true;
  }

  // Does factor * part + rest tell both? It does if all values of the rest are less than a factor
  // apart.
  bool is_digit(Expr factor, Expr rest) const {
    const Interval range = bounds_.of(rest);
    int64_t width = 0;
    if (factor->kind == ExprKind::kInt && range.low && range.high &&
        !__builtin_sub_overflow(*range.high, *range.low, &width)) {
      const int64_t f = factor->int_value;
      if (f > 0 ? width < f : -width > f) return true;
    }
    return bounds_.proves_less_equal(rest->pool->integer(0), rest) && bounds_.proves_less(rest, factor);
  }

  bool digits(Expr e) {
    ExprPool& pool = *e->pool;
    struct Digit {
      Expr factor, part;
    };
    std::vector<Digit> all;
    Expr sum = pool.integer(0);
    for (const polynomial::Term& t : polynomial::terms(e)) {
      Digit d{pool.integer(t.coefficient), {}};
      for (const ExprNode* atom : t.atoms) {
        if (!is_open(atom)) {
          d.factor = d.factor * Expr(atom);
        } else if (d.part) {
          return false;
        } else {
          d.part = atom;
        }
      }
      if (!d.part) continue;
      all.push_back(d);
      sum = sum + d.factor * d.part;
    }
    bool more = false;
    for (const Digit& d : all) {
      const Expr rest = sum - d.factor * d.part;
      if (is_digit(d.factor, rest)) {
        more |= tell(d.part);
        more |= tell(rest);
      }
    }
    return more;
  }

  // e // n and e % n tell e.
  bool quotient(Expr e) {
    if (e->kind != ExprKind::kFloorMod) return false;
    const Expr whole(e->args[0]), by(e->args[1]);
    if (is_open(by)) return false;
    const Expr q = with_one_division(floor_div(whole, by));
    return (!is_open(q) || is_told(q)) && tell(whole);
  }

  const Bounds& bounds_;
  std::unordered_set<const ExprNode*> open_;  // variables that are not told yet
  std::vector<Expr> told_;                    // expressions that the place tells
};

}  // namespace

bool are_distinct(const std::vector<Expr>& place, const std::vector<Expr>& loops, const Bounds& bounds) {
  return Place(loops, bounds).tells_all(place);
}

}  // namespace relay::kernel
