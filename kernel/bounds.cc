#include "kernel/bounds.h"

#include <algorithm>
#include <numeric>

#include "base/integers.h"
#include "kernel/limits.h"
#include "kernel/polynomial.h"
#include "kernel/walk.h"

namespace relay::kernel {
namespace {

using End = std::optional<int64_t>;

constexpr size_t kMostEnds = 64;  // of one variable: a proof may try all of them

// Arithmetic on ends; what does not fit 64 bits is unbounded.
End add(End a, End b) {
  int64_t r;
  if (!a || !b || __builtin_add_overflow(*a, *b, &r)) return std::nullopt;
  return r;
}
End negate(End a) { return a && *a != INT64_MIN ? End(-*a) : std::nullopt; }

Interval operator+(const Interval& a, const Interval& b) { return {add(a.low, b.low), add(a.high, b.high)}; }
Interval operator-(const Interval& a) { return {negate(a.high), negate(a.low)}; }

Interval times(const Interval& a, const Interval& b) {
  if (a == Interval::single(0) || b == Interval::single(0)) return Interval::single(0);
  const bool non_negative = a.low && *a.low >= 0 && b.low && *b.low >= 0;
  if (a.low && a.high && b.low && b.high) {
    Interval out;
    bool first = true;
    for (int64_t x : {*a.low, *a.high}) {
      for (int64_t y : {*b.low, *b.high}) {
        int64_t r;
        if (__builtin_mul_overflow(x, y, &r)) return non_negative ? Interval{0, {}} : Interval{};
        out.low = first ? r : std::min(*out.low, r);
        out.high = first ? r : std::max(*out.high, r);
        first = false;
      }
    }
    return out;
  }
  if (non_negative) {
    int64_t r;
    return {__builtin_mul_overflow(*a.low, *b.low, &r) ? 0 : r, {}};
  }
  if (b.is_single())
    return *b.low > 0 ? Interval{a.low ? times({a.low, a.low}, b).low : End(),
                                 a.high ? times({a.high, a.high}, b).high : End()}
                      : -times(a, -b);
  if (a.is_single()) return times(b, a);
  return {};
}

End divide(End a, int64_t c) { return a ? End(quotient_down(*a, c)) : std::nullopt; }

Interval least(const Interval& a, const Interval& b) {
  End high = a.high && b.high ? End(std::min(*a.high, *b.high)) : a.high ? a.high : b.high;
  return {a.low && b.low ? End(std::min(*a.low, *b.low)) : std::nullopt, high};
}
Interval greatest(const Interval& a, const Interval& b) { return -least(-a, -b); }
Interval either(const Interval& a, const Interval& b) { return {least(a, b).low, greatest(a, b).high}; }

Interval range_of(DType d) {
  if (d.is_bool()) return {0, 1};
  if (!d.is_int() || d.bits >= 64) return {};
  if (d.is_unsigned_int()) return {0, (int64_t{1} << d.bits) - 1};
  return {-(int64_t{1} << (d.bits - 1)), (int64_t{1} << (d.bits - 1)) - 1};
}
bool inside(const Interval& a, const Interval& b) {
  return (!b.low || (a.low && *a.low >= *b.low)) && (!b.high || (a.high && *a.high <= *b.high));
}

// Are there values of the variables for which `a < b` is seen to fail? Linear in both. Each
// variable has the least value of its range, and shape variables without one are large. An iterator
// may be 0, because what it stands in runs only if its extent is more.
bool fails_somewhere(Expr a, Expr b, const std::unordered_map<const ExprNode*, Interval>& ranges) {
  constexpr int64_t kLarge = 1'000'003;
  std::unordered_map<const ExprNode*, int64_t> values;
  for (Expr e : {a, b}) {
    for (Expr v : variables(e)) {
      const auto range = ranges.find(v.get());
      const End low = range != ranges.end() ? range->second.low : v->shape_variable ? End(kLarge) : End();
      if (!low) return false;
      values[v.get()] = *low;
    }
  }
  const std::optional<int64_t> x = evaluate(a, values), y = evaluate(b, values);
  return x && y && *x >= *y;
}

}  // namespace

bool may_wrap(const ExprNode* n) { return n->may_wrap; }

void Bounds::set(Expr variable, Interval range) {
  ranges_[variable.get()] = range;
  last_.erase(variable.get());
}

void Bounds::bind(Expr variable, Expr extent) {
  const Interval e = of(extent);
  ranges_[variable.get()] = {0, add(e.high, -1)};
  if (extent->kind == ExprKind::kInt) {
    last_.erase(variable.get());
  } else {
    std::vector<Expr> ends;
    for_each_node(extent, [&](const ExprNode* n) {
      if (n->kind == ExprKind::kMin) return ends.size() < kMostEnds;
      if (ends.size() < kMostEnds) ends.push_back(Expr(n) - 1);
      return false;
    });
    last_[variable.get()] = {++bound_, ends};
  }
}

Interval Bounds::of(Expr e) const {
  if (e->depth > kDeepestExpr) return range_of(e->dtype);
  Known known;
  return of(e, known);
}

Interval Bounds::of(Expr e, Known& known) const {
  if (e->weight <= kSmallWeight) return compute(e, known);
  if (const auto it = known.find(e.get()); it != known.end()) return it->second;
  const Interval out = compute(e, known);
  known.emplace(e.get(), out);
  return out;
}

Interval Bounds::compute(Expr e, Known& known) const {
  const auto arg = [&](size_t i) { return of(e->args[i], known); };
  const auto fit = [&](Interval i) {
    return e->dtype == kInt64 || inside(i, range_of(e->dtype)) ? i : range_of(e->dtype);
  };
  if (e->dtype.is_float()) return {};
  switch (e->kind) {
    case ExprKind::kInt:
      return e->dtype == kUInt64 && e->int_value < 0 ? Interval{} : Interval::single(e->int_value);
    case ExprKind::kVar: {
      if (auto it = ranges_.find(e.get()); it != ranges_.end()) return it->second;
      return e->shape_variable ? Interval{0, {}} : range_of(e->dtype);
    }
    case ExprKind::kAdd: {
      Interval sum = arg(0);
      for (size_t i = 1; i < e->args.size(); ++i) sum = sum + arg(i);
      return fit(sum);
    }
    case ExprKind::kSub: return fit(arg(0) + -arg(1));
    case ExprKind::kMul: {
      Interval product = arg(0);
      for (size_t i = 1; i < e->args.size(); ++i) product = times(product, arg(i));
      return fit(product);
    }
    case ExprKind::kFloorDiv:
    case ExprKind::kTruncDiv: {
      const Interval a = arg(0), b = arg(1);
      const bool floor = e->kind == ExprKind::kFloorDiv || (a.low && *a.low >= 0);
      if (b.is_single() && *b.low > 0 && floor) return fit({divide(a.low, *b.low), divide(a.high, *b.low)});
      if (a.low && *a.low >= 0 && b.low && *b.low >= 1) return fit({0, a.high});
      return range_of(e->dtype);
    }
    case ExprKind::kFloorMod:
    case ExprKind::kTruncMod: {
      const Interval a = arg(0), b = arg(1);
      const bool floor = e->kind == ExprKind::kFloorMod || (a.low && *a.low >= 0);
      if (!floor || !b.low || *b.low < 1) return range_of(e->dtype);
      if (b.is_single() && a.low && a.high && divide(a.low, *b.low) == divide(a.high, *b.low)) {
        const int64_t base = *divide(a.low, *b.low) * *b.low;
        return {*a.low - base, *a.high - base};
      }
      Interval out{0, add(b.high, -1)};
      if (a.low && *a.low >= 0) out = least(out, {0, a.high});
      return out;
    }
    case ExprKind::kMin: return least(arg(0), arg(1));
    case ExprKind::kMax: return greatest(arg(0), arg(1));
    case ExprKind::kBroadcast: return either(arg(0), arg(1));
    case ExprKind::kSelect: return either(arg(1), arg(2));
    case ExprKind::kCast: {
      if (e->args[0]->dtype.is_float()) return range_of(e->dtype);
      const Interval a = arg(0);
      return inside(a, range_of(e->dtype)) && e->dtype != kUInt64 && !e->dtype.is_bool() ? a
                                                                                         : range_of(e->dtype);
    }
    default: return range_of(e->dtype);
  }
}

Expr Bounds::widen(Expr e, bool upwards, size_t choice, size_t& choices) const {
  // Each round replaces one variable by its end, the one that was bound last first: its end may
  // cancel the others.
  size_t limit = bound_ + 1;
  while (true) {
    const ExprNode* variable = nullptr;
    const Ends* ends = nullptr;
    const std::vector<polynomial::Term> terms = polynomial::terms(e);
    for (const polynomial::Term& t : terms) {
      for (const ExprNode* atom : t.atoms) {
        const auto it = last_.find(atom);
        if (it == last_.end() || it->second.order >= limit || (ends && it->second.order <= ends->order))
          continue;
        variable = atom;
        ends = &it->second;
      }
    }
    if (!ends) return e;
    limit = ends->order;
    if (choices < kMostEnds) choices = std::lcm(choices, ends->values.size());
    Expr next = e->pool->integer(0);
    for (const polynomial::Term& t : terms) {
      Expr rest = e->pool->integer(1), end = e->pool->integer(1);
      bool replaced = false;
      for (const ExprNode* atom : t.atoms) {
        if (atom == variable && !replaced) {
          replaced = true;
          end = variable;
        } else {
          rest = rest * Expr(atom);
        }
      }
      if (const Interval of_rest = of(rest); replaced && of_rest.low && *of_rest.low >= 0) {
        if ((t.coefficient > 0) != upwards) continue;  // the variable's other end, which is 0
        end = ends->values[choice % ends->values.size()];
      }
      next = next + rest * end * t.coefficient;
    }
    e = next;
  }
}

template <class Visit>
bool Bounds::any_widened(Expr e, bool upwards, Visit enough) const {
  size_t most = 0;
  for (const auto& [variable, ends] : last_) most = std::max(most, ends.values.size());
  // A choice takes the end of its number modulo their number. So results repeat after the least
  // common multiple of these numbers.
  size_t choices = 1;
  for (size_t choice = 0; choice < std::min(choices, most); ++choice) {
    const Expr widened = widen(e, upwards, choice, choices);
    if (widened != e && enough(widened)) return true;
  }
  return false;
}

bool Bounds::is_at_most(Expr a, Expr b, int64_t most) const {
  const auto fits = [&](const Interval& d) { return d.high && *d.high <= most; };
  // Often enough, and without making an expression.
  if (fits(of(a) + -of(b))) return true;
  if (may_wrap(a.get()) || may_wrap(b.get())) return false;
  const Expr d = a - b;
  return fits(of(d)) || any_widened(d, /*upwards=*/true, [&](Expr e) { return fits(of(e)); });
}

Interval Bounds::difference(Expr a, Expr b) const {
  if (may_wrap(a.get()) || may_wrap(b.get())) return of(a) + -of(b);
  const Expr d = a - b;
  Interval out = of(d);
  any_widened(d, /*upwards=*/true, [&](Expr e) {
    const End high = of(e).high;
    if (high && (!out.high || *high < *out.high)) out.high = high;
    return false;
  });
  any_widened(d, /*upwards=*/false, [&](Expr e) {
    const End low = of(e).low;
    if (low && (!out.low || *low > *out.low)) out.low = low;
    return false;
  });
  return out;
}

void Bounds::assume(Expr condition) {
  for (Expr part : conjuncts(condition)) assume_comparison(part);
}

void Bounds::assume_comparison(Expr condition) {
  if (condition->args.size() != 2 || condition->args[0]->dtype != kInt64) return;
  const Expr a = condition->args[0], b = condition->args[1];
  if (condition->kind != ExprKind::kLess && condition->kind != ExprKind::kLessEqual) return;
  // sum + constant < 0, where g divides the sum: sum / g < ceil(-constant / g).
  const Expr difference = condition->kind == ExprKind::kLess ? a - b : a - b - 1;
  int64_t g = 0, constant = 0;
  for (const polynomial::Term& t : polynomial::terms(difference)) {
    if (t.atoms.empty()) {
      constant = t.coefficient;
    } else {
      g = std::gcd(g, t.coefficient);
    }
  }
  if (g <= 0 || constant == INT64_MIN) return;
  Expr sum = a->pool->integer(0);
  for (const polynomial::Term& t : polynomial::terms(difference)) {
    if (t.atoms.empty()) continue;
    Expr product = a->pool->integer(t.coefficient / g);
    for (const ExprNode* x : t.atoms) product = product * Expr(x);
    sum = sum + product;
  }
  less_.push_back({sum, a->pool->integer(-quotient_down(constant, g))});
}

bool Bounds::proves_less(Expr a, Expr b) const {
  if (is_at_most(a, b, -1)) return true;
  if (may_wrap(a.get()) || may_wrap(b.get())) return false;
  // Each attempt below is linear, and there is one for each quotient on the way down.
  if (less_.empty() && a->weight > kSmallWeight && fails_somewhere(a, b, ranges_)) return false;
  // p < q is p <= q - 1, so a <= a + c * (q - 1 - p) for c > 0. The c to try is the one that
  // cancels the first term.
  for (const auto& [p, q] : less_) {
    if (may_wrap(p.get())) continue;
    const polynomial::Term first = polynomial::terms(p)[0];
    for (const polynomial::Term& t : polynomial::terms(a - b)) {
      if (t.atoms != first.atoms || t.coefficient == 0) continue;
      const bool multiple = t.coefficient % first.coefficient == 0;
      const int64_t c = multiple ? t.coefficient / first.coefficient : 1;
      // a < b if k * a < k * b.
      const int64_t k = multiple                                 ? 1
                        : first.coefficient % t.coefficient == 0 ? first.coefficient / t.coefficient
                                                                 : 0;
      if (c < 1 || k < 1) continue;
      if (is_at_most(a * k + (q - 1 - p) * c, b * k, -1)) return true;
    }
  }
  // rest + x // c < b if rest * c + x < b * c, for c > 0.
  for (const polynomial::Term& t : polynomial::terms(a)) {
    if (t.coefficient != 1 || t.atoms.size() != 1 || t.atoms[0]->kind != ExprKind::kFloorDiv) continue;
    const Expr x = t.atoms[0]->args[0], c = t.atoms[0]->args[1];
    if (const Interval divisor = of(c); !divisor.low || *divisor.low < 1) continue;
    if (x->depth > kDeepestExpr) return false;
    return proves_less((a - Expr(t.atoms[0])) * c + x, b * c);
  }
  return false;
}
bool Bounds::proves_less_equal(Expr a, Expr b) const { return a == b || is_at_most(a, b, 0); }
bool Bounds::proves_equal(Expr a, Expr b) const { return a == b || difference(a, b) == Interval::single(0); }
bool Bounds::proves_not_equal(Expr a, Expr b) const {
  if (a == b) return false;
  const Interval d = difference(a, b);
  return (d.low && *d.low > 0) || (d.high && *d.high < 0);
}

}  // namespace relay::kernel
