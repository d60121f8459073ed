#include "kernel/index_inverse.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "kernel/walk.h"

namespace relay::kernel {
namespace {

class Solver {
 public:
  Solver(const std::vector<StepAxis>& axes, const std::vector<Expr>& first) : axes_(axes), first_(first) {}

  IndexInverse run(const std::vector<Expr>& index, const std::vector<Expr>& p,
                   const std::vector<Expr>& shape) {
    std::vector<bool> done(index.size(), false);
    // An index that is an axis says what that is. So these come first.
    for (const bool alone : {true, false}) {
      for (size_t d = 0; d < index.size(); ++d) {
        if (done[d]) continue;
        const Expr e = substitute(index[d], out_.axes);
        const StepAxis* axis = best_axis(e, alone);
        if (axis == nullptr) continue;
        solve(*axis, e, p[d], shape[d]);
        checks_.back().index = index[d];
        done[d] = true;
      }
    }
    for (size_t d = 0; d < index.size(); ++d) {
      if (done[d]) continue;
      out_.sparse |= !shape[d].is_int(1);
      equalities_.emplace_back(index[d], p[d]);
    }
    for (const StepAxis& a : axes_) {
      if (!out_.axes.contains(a.var.get())) out_.left.push_back(a);
    }
    finish();
    return std::move(out_);
  }

 private:
  struct Check {
    const StepAxis* axis;
    Expr times, is;  // the iteration exists where times * axis is this
    bool in_range;
    Expr index = {};  // as the step writes it
  };

  const StepAxis* best_axis(Expr e, bool alone) const {
    const StepAxis* best = nullptr;
    std::tuple<bool, int64_t> most;
    for (const StepAxis& a : axes_) {
      if (out_.axes.contains(a.var.get()) || (alone && e != a.var) || coefficient_of(e, a.var) == 0) continue;
      const bool wanted = std::find(first_.begin(), first_.end(), a.var) != first_.end();
      const std::tuple now(wanted, a.extent->kind == ExprKind::kInt ? a.extent->int_value : INT64_MAX);
      if (best == nullptr || now > most) best = &a, most = now;
    }
    return best;
  }

  // coefficient * axis + rest = p
  void solve(const StepAxis& axis, Expr e, Expr p, Expr extent) {
    const int64_t c = coefficient_of(e, axis.var);
    ExprPool& pool = *p->pool;
    const Expr rest = e - axis.var * c;
    const Expr is = c > 0 ? p - rest : rest - p;
    const int64_t times = c > 0 ? c : -c;
    const Expr value = times == 1 ? is : floor_div(is, times);
    const bool whole = e == axis.var && axis.extent == extent;
    checks_.push_back({&axis, pool.integer(times), is, whole});
    for (auto& [var, known] : out_.axes) known = substitute(known, {{axis.var.get(), value}});
    for (Check& check : checks_) check.is = substitute(check.is, {{axis.var.get(), value}});
    out_.axes[axis.var.get()] = value;
  }

  void finish() {
    const auto require = [&](Expr condition) {
      if (!condition.is_int(1)) out_.conditions.push_back(condition);
    };
    for (const size_t c : order()) {
      const Check& check = checks_[c];
      if (check.in_range) continue;
      const Expr value = out_.axes.at(check.axis->var.get());
      ExprPool& pool = *value->pool;
      require(less_equal(pool.integer(0), check.is));
      require(less(value, check.axis->extent));
      if (!check.times.is_int(1)) require(equal(value * check.times, check.is));
    }
    for (const auto& [index, p] : equalities_) {
      const Expr is = substitute(index, out_.axes);
      require(equal(is, p));
    }
  }

  // The checks, each after those of the axes that its index mentions: it may load what they choose.
  std::vector<size_t> order() const {
    std::vector<size_t> out;
    std::vector<bool> seen(checks_.size(), false);
    const std::function<void(size_t)> visit = [&](size_t c) {
      if (seen[c]) return;
      seen[c] = true;
      for (size_t o = 0; o < checks_.size(); ++o) {
        if (mentions(checks_[c].index, checks_[o].axis->var)) visit(o);
      }
      out.push_back(c);
    };
    for (size_t c = 0; c < checks_.size(); ++c) visit(c);
    return out;
  }

  const std::vector<StepAxis>& axes_;
  const std::vector<Expr>& first_;
  IndexInverse out_;
  std::vector<Check> checks_;
  std::vector<std::pair<Expr, Expr>> equalities_;
};

}  // namespace

int64_t coefficient_of(Expr e, Expr axis) {
  const auto term = [&](const ExprNode* n) -> int64_t {
    if (axis == n) return 1;
    const bool scaled = n->kind == ExprKind::kMul && n->args.size() == 2;
    if (!scaled) return 0;
    for (size_t i : {0, 1}) {
      if (axis == n->args[i] && n->args[1 - i]->kind == ExprKind::kInt) return n->args[1 - i]->int_value;
    }
    return 0;
  };
  std::vector<const ExprNode*> terms{e.get()};
  if (e->kind == ExprKind::kAdd) terms.assign(e->args.begin(), e->args.end());
  int64_t found = 0;
  for (const ExprNode* n : terms) {
    const int64_t c = term(n);
    if (c == 0 && mentions(n, axis)) return 0;
    if (c != 0) found = c;
  }
  return found == INT64_MIN ? 0 : found;
}

IndexInverse index_inverse(const std::vector<StepAxis>& axes, const std::vector<Expr>& index,
                           const std::vector<Expr>& p, const std::vector<Expr>& shape,
                           const std::vector<Expr>& first) {
  return Solver(axes, first).run(index, p, shape);
}

bool needs_data(const IndexInverse& inverse) {
  return std::any_of(inverse.conditions.begin(), inverse.conditions.end(),
                     [](Expr e) { return e->has_load; }) ||
         std::any_of(inverse.axes.begin(), inverse.axes.end(),
                     [](const auto& axis) { return axis.second->has_load; });
}

}  // namespace relay::kernel
