#include "kernel/derivative.h"

#include <cmath>
#include <numbers>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/cat.h"
#include "kernel/walk.h"

namespace relay::kernel {
namespace {

// Choices in choices: each of them splits what comes after it.
constexpr size_t kMostChoices = 1024;

Expr number(Expr like, double value) { return like->pool->real(value, like->dtype); }

// The derivative of a function of one argument x, where y is its value; null where it is zero.
Expr slope(Math fn, Expr x, Expr y) {
  const Expr one = number(x, 1), square = x * x;
  switch (fn) {
    case Math::kExp: return y;
    case Math::kExpm1: return y + one;
    case Math::kLog: return one / x;
    case Math::kLog2: return number(x, std::numbers::log2e) / x;
    case Math::kLog10: return number(x, std::numbers::log10e) / x;
    case Math::kLog1p: return one / (x + one);
    case Math::kSqrt: return number(x, 0.5) / y;
    case Math::kRsqrt: return number(x, -0.5) * y / x;
    case Math::kSin: return math(Math::kCos, x);
    case Math::kCos: return -math(Math::kSin, x);
    case Math::kTan: return y * y + one;
    case Math::kAsin: return math(Math::kRsqrt, one - square);
    case Math::kAcos: return -math(Math::kRsqrt, one - square);
    case Math::kAtan: return one / (square + one);
    case Math::kSinh: return math(Math::kCosh, x);
    case Math::kCosh: return math(Math::kSinh, x);
    case Math::kTanh: return one - y * y;
    case Math::kAsinh: return math(Math::kRsqrt, square + one);
    case Math::kAcosh: return math(Math::kRsqrt, square - one);
    case Math::kAtanh: return one / (one - square);
    case Math::kErf: return number(x, 2 / std::sqrt(std::numbers::pi)) * exp(-square);
    case Math::kAbs: {
      const Expr zero = number(x, 0);
      return select(less(zero, x), one, select(less(x, zero), -one, zero));
    }
    default: return {};
  }
}

// The value without what its choices choose between; that is looked at afterwards.
class Reverse {
 public:
  explicit Reverse(Derivative& out) : out_(out) {}

  void run(Expr value, Expr seed) {
    pending_.push_back({value, seed, {}});
    for (size_t i = 0; i < pending_.size(); ++i) {
      if (i > kMostChoices) {
        out_.contributions.clear();
        out_.reason = cat("an expression makes more than ", kMostChoices, " choices");
        return;
      }
      const Item item = pending_[i];
      back(item);
    }
  }

 private:
  struct Item {
    Expr value, adjoint;
    std::vector<Expr> guards;
  };

  void back(const Item& item) {
    adjoints_.clear();
    add(item.value, item.adjoint);
    const std::vector<const ExprNode*> order = post_order(item.value);
    for (size_t i = order.size(); i-- > 0;) {
      const auto found = adjoints_.find(order[i]);
      if (found != adjoints_.end()) node(*order[i], found->second, item.guards);
    }
  }

  void add(Expr e, Expr adjoint) {
    if (!e->dtype.is_float() || !e->has_load) return;
    Expr& now = adjoints_[e.get()];
    now = now ? now + adjoint : adjoint;
  }

  void choice(Expr condition, Expr value, Expr adjoint, std::vector<Expr> guards) {
    if (!value->has_load) return;
    guards.push_back(condition);
    pending_.push_back({value, adjoint, std::move(guards)});
  }

  // No reference into adjoints_ stays: it grows.
  void node(const ExprNode& n, const Expr u, const std::vector<Expr>& guards) {
    const Expr y(&n);
    const auto arg = [&](size_t i) { return Expr(n.args[i]); };
    switch (n.kind) {
      case ExprKind::kLoad: out_.contributions.push_back({&n, guards, u}); return;
      case ExprKind::kAdd: return add(arg(0), u), add(arg(1), u);
      case ExprKind::kSub: return add(arg(0), u), add(arg(1), -u);
      case ExprKind::kMul: return add(arg(0), u * arg(1)), add(arg(1), u * arg(0));
      case ExprKind::kDiv: return add(arg(0), u / arg(1)), add(arg(1), -(u * y / arg(1)));
      case ExprKind::kMax: return smaller_gets_nothing(arg(0), arg(1), less(arg(0), arg(1)), u);
      case ExprKind::kMin: return smaller_gets_nothing(arg(0), arg(1), less(arg(1), arg(0)), u);
      case ExprKind::kSelect:
        choice(arg(0), arg(1), u, guards);
        choice(logical_not(arg(0)), arg(2), u, guards);
        return;
      case ExprKind::kCast:
        if (arg(0)->dtype.is_float()) add(arg(0), cast(arg(0)->dtype, u));
        return;
      case ExprKind::kMath: return function(n, y, u);
      default: return;
    }
  }

  void smaller_gets_nothing(Expr a, Expr b, Expr b_wins, Expr u) {
    const Expr zero = number(u, 0);
    add(a, select(b_wins, zero, u));
    add(b, select(b_wins, u, zero));
  }

  void function(const ExprNode& n, Expr y, Expr u) {
    const Expr x(n.args[0]);
    if (n.args.size() == 1) {
      if (const Expr s = slope(n.fn, x, y)) add(x, u * s);
      return;
    }
    const Expr z(n.args[1]);
    switch (n.fn) {
      case Math::kPow: {
        // The slope of x^0 is 0, and 0 * 0^-1 is NaN. Where the base is not positive the power has
        // no derivative by its exponent.
        const Expr zero = number(x, 0), one = number(x, 1);
        Expr base = select(equal(x, zero), one, x);
        if (!z.is_const()) {
          base = select(equal(z, zero), base, x);
        } else if (z->float_value != 0) {
          base = x;
        }
        add(x, u * z * math(Math::kPow, base, z - one));
        if (z->has_load) add(z, select(less(zero, x), u * y * log(x), zero));
        return;
      }
      case Math::kFmod:
        add(x, u);
        add(z, -(u * math(Math::kTrunc, x / z)));
        return;
      case Math::kAtan2: {
        const Expr length = x * x + z * z;
        add(x, u * z / length);
        add(z, -(u * x / length));
        return;
      }
      default: return;
    }
  }

  Derivative& out_;
  std::vector<Item> pending_;
  std::unordered_map<const ExprNode*, Expr> adjoints_;
};

}  // namespace

Derivative derivative(Expr value, Expr seed) {
  Derivative out;
  Reverse(out).run(value, seed);
  return out;
}

}  // namespace relay::kernel
