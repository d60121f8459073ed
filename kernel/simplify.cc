#include "kernel/simplify.h"

#include <algorithm>
#include <numeric>

#include "kernel/fields.h"
#include "kernel/polynomial.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

using End = std::optional<int64_t>;

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

int64_t floor_div_of(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}
End divide(End a, int64_t c) { return a ? End(floor_div_of(*a, c)) : std::nullopt; }

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

// May the value be the result of an arithmetic that wrapped: a 64-bit number that was loaded?
bool may_wrap(const ExprNode* n) {
  if (n->kind == ExprKind::kLoad || n->kind == ExprKind::kCast) return inside(Interval{}, range_of(n->dtype));
  return std::any_of(n->args.begin(), n->args.end(), may_wrap);
}

}  // namespace

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
    const auto collect = [&](auto& self, Expr e) -> void {
      if (e->kind == ExprKind::kMin) {
        for (const ExprNode* a : e->args) self(self, a);
      } else {
        ends.push_back(e - 1);
      }
    };
    collect(collect, extent);
    last_[variable.get()] = {++bound_, ends};
  }
}

Interval Bounds::of(Expr e) const {
  const auto arg = [&](size_t i) { return of(e->args[i]); };
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

Expr Bounds::widen(Expr e, bool upwards, size_t choice) const {
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

Interval Bounds::difference(Expr a, Expr b) const {
  if (may_wrap(a.get()) || may_wrap(b.get())) return of(a) + -of(b);
  const Expr d = a - b;
  Interval out = of(d);
  if (!last_.empty()) {
    size_t choices = 0;
    for (const auto& [variable, ends] : last_) choices = std::max(choices, ends.values.size());
    for (size_t choice = 0; choice < choices; ++choice) {
      const End high = of(widen(d, true, choice)).high, low = of(widen(d, false, choice)).low;
      if (high && (!out.high || *high < *out.high)) out.high = high;
      if (low && (!out.low || *low > *out.low)) out.low = low;
    }
  }
  return out;
}

void Bounds::assume(Expr condition) {
  if (condition->kind == ExprKind::kAnd) {
    for (const ExprNode* a : condition->args) assume(a);
  }
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
  less_.push_back({sum, a->pool->integer(-floor_div_of(constant, g))});
}

bool Bounds::less_by_range(Expr a, Expr b) const {
  const Interval d = difference(a, b);
  return d.high && *d.high < 0;
}

bool Bounds::proves_less(Expr a, Expr b) const {
  if (less_by_range(a, b)) return true;
  if (may_wrap(a.get()) || may_wrap(b.get())) return false;
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
      if (less_by_range(a * k + (q - 1 - p) * c, b * k)) return true;
    }
  }
  // rest + x // c < b if rest * c + x < b * c, for c > 0.
  for (const polynomial::Term& t : polynomial::terms(a)) {
    if (t.coefficient != 1 || t.atoms.size() != 1 || t.atoms[0]->kind != ExprKind::kFloorDiv) continue;
    const Expr x = t.atoms[0]->args[0], c = t.atoms[0]->args[1];
    if (const Interval divisor = of(c); !divisor.low || *divisor.low < 1) continue;
    return proves_less((a - Expr(t.atoms[0])) * c + x, b * c);
  }
  return false;
}
bool Bounds::proves_less_equal(Expr a, Expr b) const {
  if (a == b) return true;
  const Interval d = difference(a, b);
  return d.high && *d.high <= 0;
}
bool Bounds::proves_equal(Expr a, Expr b) const { return a == b || difference(a, b) == Interval::single(0); }
bool Bounds::proves_not_equal(Expr a, Expr b) const {
  if (a == b) return false;
  const Interval d = difference(a, b);
  return (d.low && *d.low > 0) || (d.high && *d.high < 0);
}

namespace {

class Simplifier {
 public:
  explicit Simplifier(const Bounds& bounds) : bounds_(bounds) {}

  Expr operator()(Expr e) { return visit(e.get()); }

 private:
  Expr visit(const ExprNode* n) {
    if (n->args.empty()) return settle(n);
    if (auto it = done_.find(n); it != done_.end()) return it->second;
    std::vector<Expr> args;
    bool changed = false;
    for (const ExprNode* a : n->args) {
      args.push_back(visit(a));
      changed |= args.back().get() != a;
    }
    Expr e = n;
    if (changed) {
      e = n->pool->with_args(*n, args);
    }
    // What was rebuilt or made by a rule may be simplified further; rules make expressions
    // smaller, so this ends.
    Expr out = e.get() == n ? rules(e) : e;
    if (out.get() != n) out = out->args.empty() ? settle(out.get()) : visit(out.get());
    done_.emplace(n, out);
    return out;
  }

  // A variable with one possible value.
  Expr settle(const ExprNode* n) {
    if (n->kind != ExprKind::kVar) return n;
    const Interval i = bounds_.of(n);
    return i.is_single() ? n->pool->integer(*i.low, n->dtype) : Expr(n);
  }

  Expr boolean(Expr e, bool value) { return e->pool->integer(value, kBool); }

  Expr rules(Expr e) {
    if (e->args.size() < 2 || e->args[0]->dtype != kInt64) return e;
    const Expr a = e->args[0], b = e->args[1];
    switch (e->kind) {
      case ExprKind::kAdd: return rejoin(e);
      case ExprKind::kFloorDiv:
      case ExprKind::kFloorMod: return divide(e, a, b);
      case ExprKind::kTruncDiv:
      case ExprKind::kTruncMod: {
        const Interval x = bounds_.of(a), y = bounds_.of(b);
        if (!x.low || *x.low < 0 || !y.low || *y.low < 1) return e;
        return e->kind == ExprKind::kTruncDiv ? floor_div(a, b) : floor_mod(a, b);
      }
      case ExprKind::kMin:
        if (bounds_.proves_less_equal(a, b)) return a;
        return bounds_.proves_less_equal(b, a) ? b : e;
      case ExprKind::kMax:
        if (bounds_.proves_less_equal(a, b)) return b;
        return bounds_.proves_less_equal(b, a) ? a : e;
      case ExprKind::kLess:
        if (bounds_.proves_less(a, b)) return boolean(e, true);
        return bounds_.proves_less_equal(b, a) ? boolean(e, false) : e;
      case ExprKind::kLessEqual:
        if (bounds_.proves_less_equal(a, b)) return boolean(e, true);
        return bounds_.proves_less(b, a) ? boolean(e, false) : e;
      case ExprKind::kEqual:
        if (bounds_.proves_equal(a, b)) return boolean(e, true);
        return bounds_.proves_not_equal(a, b) ? boolean(e, false) : e;
      case ExprKind::kNotEqual:
        if (bounds_.proves_equal(a, b)) return boolean(e, false);
        return bounds_.proves_not_equal(a, b) ? boolean(e, true) : e;
      default: return e;
    }
  }

  // a // b and a % b, where a = q*b + r with r in [0, b), or where a and b share a factor.
  Expr divide(Expr e, Expr a, Expr b) {
    if (may_wrap(a.get()) || may_wrap(b.get())) return e;
    ExprPool& pool = *e->pool;
    const bool quotient = e->kind == ExprKind::kFloorDiv;
    const Expr zero = pool.integer(0);
    if (bounds_.proves_less_equal(zero, a) && bounds_.proves_less(a, b)) return quotient ? zero : a;
    if (b->kind != ExprKind::kInt) return divide_by_symbol(e, a, b);
    const int64_t c = b->int_value;
    if (c <= 0) return e;
    const Interval i = bounds_.of(a);
    if (i.low && i.high && floor_div_of(*i.low, c) == floor_div_of(*i.high, c)) {
      const int64_t q = floor_div_of(*i.low, c);
      return quotient ? pool.integer(q) : a - q * c;
    }
    // a = g*q + r with 0 <= r < g and g dividing c: then a // c = q // (c/g) and a % c =
    // g*(q % (c/g)) + r.
    const std::vector<polynomial::Term> terms = polynomial::terms(a);
    for (const polynomial::Term& candidate : terms) {
      const int64_t g = std::gcd(candidate.coefficient, c);
      if (g <= 1 || g >= c) continue;
      Expr q = zero, r = zero;
      for (const polynomial::Term& t : terms) {
        Expr atoms = pool.integer(1);
        for (const ExprNode* x : t.atoms) atoms = atoms * Expr(x);
        const int64_t whole = t.atoms.empty() ? floor_div_of(t.coefficient, g) : t.coefficient / g;
        if (t.atoms.empty() || t.coefficient % g == 0) {
          q = q + atoms * whole;
          r = r + atoms * (t.coefficient - whole * g);
        } else {
          r = r + atoms * t.coefficient;
        }
      }
      const Interval rest = bounds_.of(r);
      if (!rest.low || *rest.low < 0 || !rest.high || *rest.high >= g) continue;
      return quotient ? floor_div(q, c / g) : floor_mod(q, c / g) * g + r;
    }
    return e;
  }

  // (i*n + j) // n with j in [0, n).
  Expr divide_by_symbol(Expr e, Expr a, Expr b) {
    if (b->kind != ExprKind::kVar) return e;
    Expr q = e->pool->integer(0), r = q;
    for (const polynomial::Term& t : polynomial::terms(a)) {
      bool divided = false;
      Expr product = e->pool->integer(t.coefficient);
      for (const ExprNode* x : t.atoms) {
        if (x == b.get() && !divided) {
          divided = true;
        } else {
          product = product * Expr(x);
        }
      }
      (divided ? q : r) = (divided ? q : r) + product;
    }
    if (q.is_int(0) || !bounds_.proves_less_equal(e->pool->integer(0), r) || !bounds_.proves_less(r, b))
      return e;
    return e->kind == ExprKind::kFloorDiv ? q : r;
  }

  // k*c*(a // c) + k*(a % c) = k*a.
  Expr rejoin(Expr e) {
    const std::vector<polynomial::Term> terms = polynomial::terms(e);
    for (const polynomial::Term& term : terms) {
      for (const ExprNode* mod : term.atoms) {
        if (mod->kind != ExprKind::kFloorMod) continue;
        Expr k = e->pool->integer(term.coefficient);
        bool left_out = false;  // one factor, which may stand there twice
        for (const ExprNode* a : term.atoms) {
          if (a == mod && !left_out) {
            left_out = true;
          } else {
            k = k * Expr(a);
          }
        }
        const Expr a = mod->args[0], c = mod->args[1];
        const Expr whole = k * c * e->pool->make(ExprKind::kFloorDiv, kInt64, {a, c});
        // Only if exactly that term stands there.
        const std::vector<polynomial::Term> wanted = polynomial::terms(whole);
        if (wanted.size() != 1) continue;
        for (const polynomial::Term& t : terms) {
          if (t.atoms == wanted[0].atoms && t.coefficient == wanted[0].coefficient)
            return e - whole - k * Expr(mod) + k * a;
        }
      }
    }
    return e;
  }

  const Bounds& bounds_;
  std::unordered_map<const ExprNode*, Expr> done_;
};

}  // namespace

Expr simplify(Expr e, const Bounds& bounds) { return Simplifier(bounds)(e); }

Stmt simplify(ExprPool& pool, Stmt s, Bounds bounds) {
  Arena& arena = pool.arena();
  const auto simple = [&](Expr e) { return simplify(e, bounds); };
  switch (s->kind) {
    case StmtKind::kFor: {
      const auto* n = s->as<For>();
      const Expr extent = simple(n->extent);
      if (extent->kind == ExprKind::kInt && extent->int_value <= 0) return make_nop(arena);
      bounds.bind(n->var, extent);
      Stmt body = simplify(pool, n->body, bounds);
      if (body->as<Nop>()) return body;
      if (extent == n->extent && body == n->body) return s;
      return changed_copy(arena, *n, [&](For& f) {
        f.extent = extent;
        f.body = body;
      });
    }
    case StmtKind::kBlock: {
      const auto* n = s->as<Block>();
      const Expr predicate = n->predicate ? simple(n->predicate) : Expr();
      if (predicate && predicate.is_int(0)) return make_nop(arena);
      std::vector<BlockIter> iters;
      bool changed = predicate != n->predicate;
      Bounds inner = bounds;
      for (const BlockIter& i : n->iters) {
        iters.push_back({i.var, simple(i.extent), i.kind, simple(i.binding)});
        changed |= iters.back().extent != i.extent || iters.back().binding != i.binding;
        inner.bind(i.var, iters.back().extent);
      }
      // An iterator of extent 1 stays a variable: regions and accesses name it.
      Stmt init = n->init ? simplify(pool, n->init, inner) : nullptr, body = simplify(pool, n->body, inner);
      changed |= init != n->init || body != n->body;
      if (!changed) return s;
      return make_block(pool, n->name.text(), iters, predicate, init, body, n->instruction);
    }
    case StmtKind::kIf: {
      const auto* n = s->as<If>();
      const Expr c = simple(n->condition);
      if (c.is_int(1)) return simplify(pool, n->then_branch, bounds);
      if (c.is_int(0)) return n->else_branch ? simplify(pool, n->else_branch, bounds) : make_nop(arena);
      Stmt a = simplify(pool, n->then_branch, bounds);
      Stmt b = n->else_branch ? simplify(pool, n->else_branch, bounds) : nullptr;
      return c == n->condition && a == n->then_branch && b == n->else_branch ? s : make_if(arena, c, a, b);
    }
    case StmtKind::kSeq: {
      const auto* n = s->as<Seq>();
      std::vector<Stmt> body;
      for (Stmt c : n->body) body.push_back(simplify(pool, c, bounds));
      return std::equal(body.begin(), body.end(), n->body.begin()) ? s : make_sequence(arena, body);
    }
    case StmtKind::kAllocate: {
      const auto* n = s->as<Allocate>();
      Stmt body = simplify(pool, n->body, bounds);
      return body == n->body ? s : with(arena, *n, &Allocate::body, body);
    }
    case StmtKind::kRequire: {
      const auto* n = s->as<Require>();
      const Expr c = simple(n->condition);
      if (c.is_int(1)) return make_nop(arena);
      return c == n->condition ? s : with(arena, *n, &Require::condition, c);
    }
    case StmtKind::kStore:
    case StmtKind::kPrefetch: return rewrite_expressions(arena, s, simple);
    case StmtKind::kNop: return s;
  }
  return s;
}

Expr flat_offset(const Buffer& buffer, const std::vector<Expr>& indices, const Bounds& bounds) {
  if (indices.empty()) return {};
  Expr flat;
  if (buffer.strides.empty()) {
    flat = indices[0];
    for (size_t d = 1; d < indices.size(); ++d) flat = flat * buffer.shape[d] + indices[d];
  } else {
    flat = indices[0] * buffer.strides[0];
    for (size_t d = 1; d < indices.size(); ++d) flat = flat + indices[d] * buffer.strides[d];
  }
  return simplify(flat, bounds);
}

Kernel simplify(const Kernel& k) {
  ExprPool* pool = pool_of(k);
  if (pool == nullptr) return k;
  Kernel out = k;
  out.body = simplify(*pool, k.body);
  return out;
}

}  // namespace relay::kernel
