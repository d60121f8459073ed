#include "kernel/adjoint.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/cat.h"
#include "kernel/builder.h"
#include "kernel/derivative.h"
#include "kernel/limits.h"
#include "kernel/statements.h"
#include "kernel/step_versions.h"
#include "kernel/step_writes.h"

namespace relay::kernel {
namespace {

bool mentions_any(Expr e, const std::vector<StepAxis>& axes) {
  return std::any_of(axes.begin(), axes.end(), [&](const StepAxis& a) { return mentions(e, a.var); });
}

// Goes through the steps of a kernel forwards, where each write makes a new version of a tensor,
// and then backwards.
class Differentiation {
 public:
  Differentiation(const Kernel& k, ExprPool& pool, std::vector<Step> steps)
      : kernel_(k), pool_(pool), steps_(std::move(steps)), b_(pool, next_buffer_id(k)), v_(pool, b_) {}

  Adjoint run(std::string_view name, const std::vector<bool>& wanted) {
    for (const Buffer* x : kernel_.inputs) v_.set_input(x, b_.input(x->name.text(), x->dtype, shape_of(*x)));
    for (const Buffer* y : kernel_.outputs) {
      if (!y->dtype.is_float()) continue;
      add(y, b_.input(cat("d_", y->name.text()), y->dtype, shape_of(*y)));
    }
    std::vector<Versions> before, after;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& s = steps_[i];
      if (s.kind == StepKind::kExtremum && !is_moved(s)) begin_of_computed_[&s] = steps_[i - 1].value;
      before.push_back(v_.now());
      v_.run(s);
      after.push_back(v_.now());
      if (is_moved(s)) {
        if (covers(s)) rounded_.erase(s.buffer);
      } else {
        rounded_.insert(s.buffer);
      }
    }
    for (size_t i = steps_.size(); i-- > 0 && reason_.empty();) backwards(steps_[i], before[i], after[i]);
    if (!reason_.empty()) return {{}, reason_};
    std::vector<Tensor> out;
    for (size_t i = 0; i < kernel_.inputs.size(); ++i) {
      const Buffer* x = kernel_.inputs[i];
      if (x->dtype.is_float() && (wanted.empty() || wanted[i])) out.push_back(adjoint_of_input(x));
    }
    Adjoint made;
    made.kernel = b_.finish(name, cat("the adjoint of ", kernel_.name.text()), out);
    if (std::string deep = too_deep(*made.kernel); !deep.empty()) return {{}, cat("of its adjoint ", deep)};
    return made;
  }

 private:
  void add(const Buffer* b, Tensor part) { adjoints_[b].push_back(v_.keep(part)); }

  // The adjoint of the buffer so far, as one tensor.
  Tensor whole(const Buffer* b) {
    std::vector<Tensor>& parts = adjoints_.at(b);
    if (parts.size() > 1) {
      const std::vector<Tensor> all = std::exchange(parts, {});
      parts.push_back(v_.compute(cat("d_", b->name.text()), *b, [&](Indices i) {
        Expr sum = all[0].at(i);
        for (size_t p = 1; p < all.size(); ++p) sum = sum + all[p].at(i);
        return sum;
      }));
    }
    return parts[0];
  }
  Tensor adjoint_of_input(const Buffer* x) {
    if (adjoints_.contains(x)) return whole(x);
    return v_.compute(cat("d_", x->name.text()), *x, [&](Indices) { return pool_.constant(0, x->dtype); });
  }

  void refuse(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
  }

  void backwards(const Step& s, const Versions& before, const Versions& after) {
    if (!s.buffer->dtype.is_float() || !adjoints_.contains(s.buffer)) return;
    Tensor dy = whole(s.buffer);
    const Expr u = pool_.variable("u", s.buffer->dtype);
    const Derivative found = derivative(s.value, u);
    if (!found.reason.empty()) return refuse(found.reason);
    if (s.kind == StepKind::kWrite && !found.contributions.empty() && !writes_once(s)) {
      return refuse(cat("it cannot be told which iteration is the last one to write an element of `",
                        s.buffer->name.text(), "`"));
    }
    std::vector<Contribution> own, others;
    const auto is_own = [&](const ExprNode* load) { return load->buffer == s.buffer && !is_apart(s, load); };
    for (const Contribution& c : found.contributions) (is_own(c.load) ? own : others).push_back(c);
    bool reads_own = false, in_order = true;
    for_each_load(s.value, [&](const ExprNode* n) {
      if (!is_own(n)) return;
      reads_own = true;
      in_order = in_order && reads_earlier_element(s, n);
    });
    if (!in_order) {
      return refuse(
          cat("it is not known that `", s.buffer->name.text(), "` is complete where it is read again"));
    }
    if (!own.empty()) {
      dy = recurrence(s, own, u, dy, after);
      if (!reason_.empty()) return;
    }
    Expr seed = dy.at(s.place);
    if (s.kind == StepKind::kExtremum) seed = share(s, dy, before, after);
    // What the step does not replace has the adjoint of what was there before.
    adjoints_.erase(s.buffer);
    if (s.kind == StepKind::kAdd) {
      add(s.buffer, dy);
    } else if (s.kind == StepKind::kWrite && !covers(s) && before.contains(s.buffer)) {
      if (!keep_what_stays(s, dy, before)) return;
    }
    // A step that reads its own elements sees those that it has made.
    const Versions& seen = reads_own ? after : before;
    for (const Contribution& c : others) contribute(s, c, {{u.get(), seed}}, seen);
  }

  // Is the value only moved, so that it is the same wherever an engine computes it again? What is
  // computed may be rounded otherwise there: a product and a sum become one, and functions that
  // go through vectors are approximated.
  bool is_moved(const Step& s) const {
    bool moved = s.kind != StepKind::kAdd;
    const auto look = [&](Expr e) {
      for (const ExprNode* n : post_order(e)) {
        if (n->kind == ExprKind::kLoad) {
          moved = moved && !rounded_.contains(n->buffer);
        } else if (n->dtype.is_float()) {
          moved = moved &&
                  (n->kind == ExprKind::kFloat || n->kind == ExprKind::kSelect || n->kind == ExprKind::kMax ||
                   n->kind == ExprKind::kMin || n->kind == ExprKind::kCast || n->fn == Math::kAbs);
        }
      }
    };
    look(s.value);
    for (Expr e : s.conditions) look(e);
    for (Expr e : s.place) look(e);
    return moved;
  }

  // A value of the step for each iteration, computed once and kept.
  Expr kept_value(const Step& s, const Versions& before) {
    std::vector<Expr> place;
    for (const StepAxis& a : s.axes) place.push_back(a.var);
    // A sum of one: a reduction is not computed again where it is used.
    const Tensor kept =
        v_.keep(b_.reduce(cat(s.buffer->name.text(), "_values"), s.buffer->dtype, extents(s.axes),
                          {pool_.integer(1)}, b_.sum(s.buffer->dtype), [&](Indices i, Indices) {
                            ExprMap by;
                            bind(by, s.axes, i);
                            return v_.local(s.value, by, before);
                          }));
    return kept.at(place);
  }

  // The adjoint of an element goes to the values that are the extremum, in equal shares.
  Expr share(const Step& s, const Tensor& dy, const Versions& before, const Versions& after) {
    const Expr one = pool_.constant(1, s.buffer->dtype), zero = pool_.constant(0, s.buffer->dtype);
    Step of_kept = s;
    Tensor all = after.at(s.buffer);
    if (const auto begin = begin_of_computed_.find(&s); begin != begin_of_computed_.end()) {
      of_kept.value = kept_value(s, before);
      all = v_.reduction(of_kept, begin->second);
    }
    const Expr hit = equal(of_kept.value, all.at(s.place));
    const std::vector<StepAxis> axes = reduction_axes(s);
    const auto one_if_hit = [&](Indices i, Indices r) {
      ExprMap by = at_place(s, i);
      bind(by, axes, r);
      return select(v_.local(hit, by, before), one, zero);
    };
    if (axes.empty()) return select(hit, dy.at(s.place), zero);
    const Tensor shares =
        v_.keep(b_.reduce(cat(s.buffer->name.text(), "_shares"), s.buffer->dtype, shape_of(*s.buffer),
                          extents(axes), b_.sum(s.buffer->dtype), one_if_hit));
    return select(hit, dy.at(s.place) / shares.at(s.place), zero);
  }

  bool keep_what_stays(const Step& s, const Tensor& dy, const Versions& before) {
    const std::vector<Expr> shape = shape_of(*s.buffer);
    const std::vector<Expr> p = v_.element_variables(shape.size());
    const IndexInverse inverse = index_inverse(s.axes, s.place, p, shape, {});
    if (!inverse.left.empty() || (needs_data(inverse) && !s.conditions.empty())) {
      refuse(cat("it cannot be told which elements of `", s.buffer->name.text(), "` are written over"));
      return false;
    }
    add(s.buffer, v_.compute(cat("d_", s.buffer->name.text()), *s.buffer, [&](Indices i) {
      const std::vector<Expr> written = v_.accessor_of(s, inverse, p, i, before).first;
      return guarded(written, pool_.constant(0, s.buffer->dtype), dy.at(i));
    }));
    return true;
  }

  // --- one element that is read ------------------------------------------------------------------

  // Adds to the adjoint of the buffer that is read. `by`: what the value mentions besides the axes.
  void contribute(const Step& s, const Contribution& c, const ExprMap& by, const Versions& versions) {
    const Buffer& x = *c.load->buffer;
    if (x.dtype != c.value->dtype) return refuse("a load has another dtype than its buffer");
    const std::string name = cat("d_", x.name.text());
    std::vector<Expr> conditions = s.conditions;
    conditions.insert(conditions.end(), c.guards.begin(), c.guards.end());
    const std::vector<Expr> index(c.load->args.begin(), c.load->args.end());
    const Expr value = substitute(c.value, by);
    const std::vector<Expr> p = v_.element_variables(index.size());
    std::vector<Expr> first;
    for (const StepAxis& a : s.axes) {
      if (std::any_of(s.place.begin(), s.place.end(), [&](Expr e) { return mentions(e, a.var); }))
        first.push_back(a.var);
    }
    const Expr zero = pool_.constant(0, x.dtype);
    const IndexInverse inverse = index_inverse(s.axes, index, p, shape_of(x), first);
    // What asks for data before the conditions that guard them would fail.
    const bool guarded_data = needs_data(inverse) && !conditions.empty();
    if (guarded_data || (inverse.sparse && !inverse.left.empty()))
      return add(&x, scatter(s, name, x, conditions, index, value, versions));
    const auto term = [&](Indices i, Indices r) {
      ExprMap of_element, axes = inverse.axes;
      for (size_t d = 0; d < p.size(); ++d) of_element[p[d].get()] = i[d];
      bind(of_element, inverse.left, r);
      for (auto& [var, e] : axes) e = substitute(e, of_element);
      bind(axes, inverse.left, r);
      std::vector<Expr> all;
      for (Expr e : inverse.conditions) all.push_back(v_.local(substitute(e, of_element), {}, versions));
      for (Expr e : conditions) all.push_back(v_.local(e, axes, versions));
      return guarded(all, v_.local(value, axes, versions), zero);
    };
    if (inverse.left.empty()) {
      add(&x, v_.compute(name, x, [&](Indices i) { return term(i, {}); }));
    } else {
      add(&x, b_.reduce(name, x.dtype, shape_of(x), extents(inverse.left), b_.sum(x.dtype), term));
    }
  }

  // Adds one element after the other.
  Tensor scatter(const Step& s, const std::string& name, const Buffer& x, const std::vector<Expr>& conditions,
                 const std::vector<Expr>& index, Expr value, const Versions& versions) {
    const Expr zero = pool_.constant(0, x.dtype);
    const auto place = [&](Indices r) {
      ExprMap by;
      bind(by, s.axes, r);
      const std::vector<Expr> all = v_.local_all(conditions, by, versions);
      std::vector<Expr> out;
      for (Expr e : index) out.push_back(guarded(all, v_.local(e, by, versions), pool_.integer(0)));
      return out;
    };
    return b_.update(
        name, x.dtype, shape_of(x), [&](Indices) { return zero; },
        conditions.empty() ? extents(s.axes) : guarded_extents(s, shape_of(x)), place,
        [&](Tensor self, Indices r) {
          ExprMap by;
          bind(by, s.axes, r);
          const Expr more =
              guarded(v_.local_all(conditions, by, versions), v_.local(value, by, versions), zero);
          return self.at(place(r)) + more;
        });
  }

  // --- recurrences -------------------------------------------------------------------------------

  // Does no iteration write what this load reads?
  static bool is_apart(const Step& s, const ExprNode* load) {
    for (size_t d = 0; d < s.place.size(); ++d) {
      const Expr by = Expr(load->args[d]) - s.place[d];
      if (by->kind == ExprKind::kInt && by->int_value != 0 && !mentions_any(s.place[d], s.axes)) return true;
    }
    return false;
  }

  // An axis that a place mentions once: in which dim, and does the index rise or fall with it?
  struct Direction {
    size_t dim;
    int64_t sign;
  };
  // Of each axis, in their order. Nothing if an axis is in no dim, or in several, or not alone.
  static std::optional<std::vector<Direction>> directions(const Step& s) {
    std::vector<Direction> out;
    for (const StepAxis& a : s.axes) {
      size_t at = 0, found = 0;
      for (size_t d = 0; d < s.place.size(); ++d) {
        if (mentions(s.place[d], a.var)) at = d, ++found;
      }
      const int64_t sign = found == 1 ? coefficient_of(s.place[at], a.var) : 0;
      const bool taken = std::any_of(out.begin(), out.end(), [&](const Direction& o) { return o.dim == at; });
      if ((sign != 1 && sign != -1) || taken) return std::nullopt;
      out.push_back({at, sign});
    }
    return out;
  }

  // Is the element that the step reads of its own tensor complete by then? So it is if an earlier
  // iteration writes it, or none.
  static bool reads_earlier_element(const Step& s, const ExprNode* load) {
    const auto axes = directions(s);
    if (!axes) return false;
    std::vector<int64_t> shift;  // of what is read against what is written, by dim
    for (size_t d = 0; d < s.place.size(); ++d) {
      const Expr by = Expr(load->args[d]) - s.place[d];
      if (by->kind != ExprKind::kInt) return false;
      shift.push_back(by->int_value);
    }
    for (const Direction& a : *axes) {
      if (shift[a.dim] != 0) return shift[a.dim] * a.sign < 0;
    }
    return false;
  }

  // The elements in the opposite order: each one's adjoint is complete before an element that it
  // was made of looks at it.
  Tensor recurrence(const Step& s, const std::vector<Contribution>& own, Expr u, const Tensor& dy,
                    const Versions& after) {
    const std::vector<Expr> shape = shape_of(*s.buffer);
    std::vector<Direction> dims = *directions(s);
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto is_it = [&](const Direction& a) { return a.dim == d; };
      if (std::none_of(dims.begin(), dims.end(), is_it)) dims.push_back({d, -1});
    }
    const std::vector<Expr> p = v_.element_variables(shape.size());
    std::vector<Expr> loops;
    for (const Direction& a : dims) loops.push_back(shape[a.dim]);
    std::vector<IndexInverse> readers;
    for (const Contribution& c : own) {
      readers.push_back(index_inverse(s.axes, {c.load->args.begin(), c.load->args.end()}, p, shape, {}));
      if (needs_data(readers.back()) && !(s.conditions.empty() && c.guards.empty()))
        refuse(cat("data that are read under a condition say where `", s.buffer->name.text(),
                   "` is read again"));
    }
    const auto element_of = [&](Indices r) {
      std::vector<Expr> i(shape.size());
      for (size_t l = 0; l < dims.size(); ++l) {
        const size_t d = dims[l].dim;
        i[d] = dims[l].sign > 0 ? shape[d] - r[l] - 1 : r[l];
      }
      return i;
    };
    const Expr zero = pool_.constant(0, s.buffer->dtype);
    return v_.keep(b_.update(
        cat("d_", s.buffer->name.text()), s.buffer->dtype, shape, [&](Indices) { return zero; }, loops,
        element_of,
        [&](Tensor self, Indices r) {
          const std::vector<Expr> i = element_of(r);
          Expr sum = dy.at(i);
          for (size_t k = 0; k < own.size(); ++k) {
            auto [conditions, axes] = v_.accessor_of(s, readers[k], p, i, after);
            for (Expr g : own[k].guards) conditions.push_back(v_.local(g, axes, after));
            const Expr seed = self.at(v_.local_all(s.place, axes, after));
            const Expr value = substitute(v_.local(own[k].value, axes, after), {{u.get(), seed}});
            sum = sum + guarded(conditions, value, zero);
          }
          return sum;
        }));
  }

  const Kernel& kernel_;
  ExprPool& pool_;
  const std::vector<Step> steps_;
  Builder b_;
  StepVersions v_;
  std::unordered_map<const Buffer*, std::vector<Tensor>> adjoints_;  // the sum of the parts
  std::unordered_set<const Buffer*> rounded_;  // hold what was computed, not only moved, so far
  // The extrema of computed values, and what they begin with.
  std::unordered_map<const Step*, Expr> begin_of_computed_;
  std::string reason_;
};

}  // namespace

Adjoint adjoint_of(const Kernel& k, std::string_view name, const std::vector<bool>& wanted) {
  Steps read = steps_of(k);
  if (!read.reason.empty()) return {{}, std::move(read.reason)};
  return Differentiation(k, *pool_of(k), std::move(read.steps)).run(name, wanted);
}

Adjoint tangent_of(const Kernel& k, std::string_view name) {
  const Adjoint back = adjoint_of(k, name);
  if (!back.kernel) return back;
  const List<const Buffer*>& all = back.kernel->inputs;
  std::vector<bool> wanted(all.size(), true);
  std::fill_n(wanted.begin(), k.inputs.size(), false);
  Adjoint out = adjoint_of(*back.kernel, name, wanted);
  if (!out.kernel) return out;
  std::vector<const Buffer*> inputs(out.kernel->inputs.begin(), out.kernel->inputs.end());
  const auto first = inputs.begin() + static_cast<std::ptrdiff_t>(k.inputs.size());
  inputs.erase(first, inputs.begin() + static_cast<std::ptrdiff_t>(all.size()));
  for (const Block* b : blocks(out.kernel->body)) {
    for (const Region& r : b->reads) {
      const auto& known = out.kernel->inputs;
      const bool dropped = std::find(known.begin(), known.end(), r.buffer) != known.end() &&
                           std::find(inputs.begin(), inputs.end(), r.buffer) == inputs.end();
      if (dropped) return {{}, "its adjoint is not linear"};
    }
  }
  out.kernel->inputs = pool_of(k)->arena().list(inputs);
  out.kernel->origin = pool_of(k)->symbols().intern(cat("the tangent of ", k.name.text()));
  return out;
}

}  // namespace relay::kernel
