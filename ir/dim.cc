// Arithmetic of dims. Constants are computed here; as soon as one side is symbolic, kernel
// expressions take over, whose canonical form makes equal dims the same pointer.
#include "ir/dim.h"

#include <algorithm>

#include "base/cat.h"
#include "kernel/polynomial.h"

namespace relay {
namespace {

using kernel::Proof;

using Magnitude = unsigned __int128;
constexpr Magnitude kMost = INT64_MAX;
Magnitude magnitude(int64_t v) { return v < 0 ? Magnitude(-(v + 1)) + 1 : Magnitude(v); }

bool any_unknown(Dim a, Dim b) { return a.is_unknown() || b.is_unknown(); }
// The result where an operand is unknown.
Dim neither(Dim a, Dim b) { return a.is_too_large() || b.is_too_large() ? Dim::too_large() : Dim::unknown(); }
bool both_const(Dim a, Dim b) { return a.is_const() && b.is_const(); }

// One of the two is symbolic; both as expressions of its pool.
template <class F>
Dim symbolic(Dim a, Dim b, F&& f) {
  kernel::ExprPool& pool = *(a.is_symbolic() ? a : b).symbolic()->pool;
  return Dim(f(a.expr(pool), b.expr(pool)));
}

// A constant result. The least number of 64 bits stands for unknown.
Dim constant(int64_t v) { return v == INT64_MIN ? Dim::too_large() : Dim(v); }

// A bound of every coefficient that sums and products with it can have: the sum of the magnitudes
// of its own. Saturates.
Magnitude size_of(Dim d) {
  if (d.is_const()) return magnitude(d.value());
  Magnitude sum = 0;
  for (const kernel::polynomial::Term& t : kernel::polynomial::terms(d.symbolic()))
    sum = std::min(sum + magnitude(t.coefficient), kMost + 1);
  return sum;
}
bool fits(Magnitude size) { return size <= kMost; }

int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

}  // namespace

Dim operator+(Dim a, Dim b) {
  if (any_unknown(a, b)) return neither(a, b);
  if (!both_const(a, b)) {
    if (!fits(size_of(a) + size_of(b))) return Dim::too_large();
    return symbolic(a, b, [](kernel::Expr x, kernel::Expr y) { return x + y; });
  }
  int64_t sum = 0;
  return __builtin_add_overflow(a.value(), b.value(), &sum) ? Dim::too_large() : constant(sum);
}

Dim operator-(Dim a, Dim b) {
  if (any_unknown(a, b)) return neither(a, b);
  if (!both_const(a, b)) {
    if (!fits(size_of(a) + size_of(b))) return Dim::too_large();
    return symbolic(a, b, [](kernel::Expr x, kernel::Expr y) { return x - y; });
  }
  int64_t difference = 0;
  return __builtin_sub_overflow(a.value(), b.value(), &difference) ? Dim::too_large() : constant(difference);
}

Dim operator*(Dim a, Dim b) {
  if (a == Dim(0) || b == Dim(0)) return Dim(0);
  if (any_unknown(a, b)) return neither(a, b);
  if (!both_const(a, b)) {
    if (!fits(size_of(a) * size_of(b))) return Dim::too_large();
    return symbolic(a, b, [](kernel::Expr x, kernel::Expr y) { return x * y; });
  }
  int64_t product = 0;
  return __builtin_mul_overflow(a.value(), b.value(), &product) ? Dim::too_large() : constant(product);
}

// No constant dim is INT64_MIN (that pattern means unknown), so a division by -1 cannot overflow.
Dim floor_div(Dim a, Dim b) {
  if (any_unknown(a, b) || b == Dim(0)) return neither(a, b);
  if (both_const(a, b)) return Dim(floor_quotient(a.value(), b.value()));
  return symbolic(a, b, [](kernel::Expr x, kernel::Expr y) { return kernel::floor_div(x, y); });
}

Dim floor_mod(Dim a, Dim b) {
  if (any_unknown(a, b) || b == Dim(0)) return neither(a, b);
  if (both_const(a, b)) {
    const int64_t rest = a.value() % b.value();
    return Dim(rest != 0 && (rest < 0) != (b.value() < 0) ? rest + b.value() : rest);
  }
  return symbolic(a, b, [](kernel::Expr x, kernel::Expr y) { return kernel::floor_mod(x, y); });
}

Dim ceil_div(Dim a, Dim b) {
  if (both_const(a, b) && b.value() != 0) {
    const int64_t q = floor_quotient(a.value(), b.value());
    return Dim(a.value() % b.value() != 0 ? q + 1 : q);
  }
  // (a + b - 1) // b reads best, and holds for the positive divisors that shapes have.
  if (b.is_const() && b.value() < 0) return Dim(0) - floor_div(Dim(0) - a, b);
  return floor_div(a + b - Dim(1), b);
}

Dim exact_quotient(Dim whole, Dim factor) {
  if (any_unknown(whole, factor)) return neither(whole, factor);
  if (both_const(whole, factor)) {
    const bool exact = factor.value() != 0 && whole.value() % factor.value() == 0;
    return exact ? Dim(whole.value() / factor.value()) : Dim::unknown();
  }
  kernel::ExprPool& pool = *(whole.is_symbolic() ? whole : factor).symbolic()->pool;
  const kernel::Expr q = kernel::polynomial::divide_exactly(pool, whole.expr(pool), factor.expr(pool));
  return q ? Dim(q) : Dim::unknown();
}

Dim min(Dim a, Dim b) {
  if (any_unknown(a, b)) return neither(a, b);
  if (both_const(a, b)) return Dim(std::min(a.value(), b.value()));
  return symbolic(a, b, [](kernel::Expr x, kernel::Expr y) { return kernel::min(x, y); });
}

Dim max(Dim a, Dim b) {
  if (any_unknown(a, b)) return neither(a, b);
  if (both_const(a, b)) return Dim(std::max(a.value(), b.value()));
  return symbolic(a, b, [](kernel::Expr x, kernel::Expr y) { return kernel::max(x, y); });
}

Dim broadcast(Dim a, Dim b) {
  if (any_unknown(a, b)) return neither(a, b);
  if (both_const(a, b)) return a == Dim(1) ? b : a;
  return symbolic(a, b, [](kernel::Expr x, kernel::Expr y) { return kernel::broadcast(x, y); });
}

Dim product(std::span<const Dim> dims) {
  // A product that does not fit is still 0 with a 0 behind it.
  if (std::find(dims.begin(), dims.end(), Dim(0)) != dims.end()) return Dim(0);
  Dim out(1);
  for (Dim d : dims) out = out * d;
  return out;
}

int64_t constant_part(std::span<const Dim> dims) {
  Dim out(1);
  for (Dim d : dims) out = out * (d.is_const() && d.value() > 0 ? d : Dim(1));
  constexpr int64_t kEnough = int64_t{1} << 62;
  return out.is_const() ? std::min(out.value(), kEnough) : kEnough;
}

Proof prove_equal(Dim a, Dim b) {
  if (any_unknown(a, b)) return Proof::kUnknown;
  if (both_const(a, b)) return a.value() == b.value() ? Proof::kProved : Proof::kRefuted;
  if (a == b) return Proof::kProved;
  if (!fits(size_of(a) + size_of(b))) return Proof::kUnknown;  // the difference could wrap
  kernel::ExprPool& pool = *(a.is_symbolic() ? a : b).symbolic()->pool;
  return kernel::prove_equal(a.expr(pool), b.expr(pool));
}

std::string show(Dim d) {
  if (d.is_unknown()) return "?";
  return d.is_const() ? cat(d.value()) : kernel::show(d.symbolic());
}

}  // namespace relay
