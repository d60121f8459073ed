#include "kernel/simplify.h"

#include <algorithm>
#include <numeric>

#include "base/integers.h"
#include "kernel/fields.h"
#include "kernel/limits.h"
#include "kernel/polynomial.h"
#include "kernel/statements.h"

namespace relay::kernel {
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
      case ExprKind::kBroadcast: return broadcast_of(e, a, b);
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

  // An operand of one that is surely not 1, or the other one of an operand that is.
  Expr broadcast_of(Expr e, Expr a, Expr b) {
    const Expr one = e->pool->integer(1);
    if (bounds_.proves_equal(a, one) || bounds_.proves_not_equal(b, one)) return b;
    return bounds_.proves_equal(b, one) || bounds_.proves_not_equal(a, one) ? a : e;
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
    if (i.low && i.high && quotient_down(*i.low, c) == quotient_down(*i.high, c)) {
      const int64_t q = quotient_down(*i.low, c);
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
        const int64_t whole = t.atoms.empty() ? quotient_down(t.coefficient, g) : t.coefficient / g;
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

Expr simplify(Expr e, const Bounds& bounds) { return e->depth > kDeepestExpr ? e : Simplifier(bounds)(e); }

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
    case StmtKind::kPrefetch:
    default:
      static_assert(others_only_look<For, Block, Store, Seq, If, Allocate, Prefetch>);
      return rewrite_expressions(arena, s, simple);
  }
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
