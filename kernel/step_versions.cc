#include "kernel/step_versions.h"

#include "kernel/bounds.h"
#include "kernel/walk.h"

namespace relay::kernel {

std::vector<Expr> shape_of(const Buffer& b) { return {b.shape.begin(), b.shape.end()}; }

std::vector<Expr> extents(const std::vector<StepAxis>& axes) {
  std::vector<Expr> out;
  for (const StepAxis& a : axes) out.push_back(a.extent);
  return out;
}

void bind(ExprMap& by, const std::vector<StepAxis>& axes, Indices to) {
  for (size_t i = 0; i < axes.size(); ++i) by[axes[i].var.get()] = to[i];
}

std::vector<Expr> guarded_extents(const Step& s, const std::vector<Expr>& shape) {
  std::vector<Expr> out = extents(s.axes);
  for (Expr dim : shape) {
    if (Bounds().of(dim).low.value_or(0) > 0) continue;
    const Expr one = dim->pool->integer(1);
    if (out.empty()) out.push_back(one);
    out[0] = out[0] * min(dim, one);
  }
  return out;
}

ExprMap at_place(const Step& s, Indices i) {
  ExprMap by;
  for (size_t d = 0; d < s.place.size(); ++d) {
    if (s.place[d]->kind == ExprKind::kVar) by[s.place[d].get()] = i[d];
  }
  return by;
}

Tensor StepVersions::keep(Tensor t) {
  made_.insert({t.buffer(), t});
  return t;
}

Tensor StepVersions::compute(std::string_view name, const Buffer& like,
                             const std::function<Expr(Indices)>& f) {
  return keep(b_.compute(name, like.dtype, shape_of(like), f));
}

Expr StepVersions::local(Expr e, const ExprMap& by, const Versions& versions, const Buffer* self,
                         const Tensor* own) const {
  return rewrite_loads(substitute(e, by), [&](const ExprNode* n) -> Expr {
    const std::vector<Expr> at(n->args.begin(), n->args.end());
    if (self && n->buffer == self) return own->at(at);
    if (made_.contains(n->buffer)) return n;
    const auto found = versions.find(n->buffer);
    return found == versions.end() ? pool_.constant(0, n->dtype) : found->second.at(at);
  });
}

std::vector<Expr> StepVersions::local_all(const std::vector<Expr>& es, const ExprMap& by,
                                          const Versions& versions) const {
  std::vector<Expr> out;
  for (Expr e : es) out.push_back(local(e, by, versions));
  return out;
}

Expr StepVersions::element(const Versions& versions, const Buffer* b, Indices i) const {
  const auto found = versions.find(b);
  return found == versions.end() ? pool_.constant(0, b->dtype) : found->second.at(i);
}

Tensor StepVersions::made_by(const Step& s) {
  bool own = false;
  for_each_load(s.value, [&](const ExprNode* n) { own |= n->buffer == s.buffer; });
  if (!own && s.kind == StepKind::kWrite && covers(s)) {
    constants_.erase(s.buffer);
    if (s.value.is_const()) constants_[s.buffer] = s.value;
    return compute(s.buffer->name.text(), *s.buffer,
                   [&](Indices i) { return local(s.value, at_place(s, i), now_); });
  }
  const auto constant = constants_.find(s.buffer);
  const Expr begin = constant == constants_.end() ? Expr() : constant->second;
  constants_.erase(s.buffer);
  if (!own && s.kind != StepKind::kWrite && has_own_place(s)) return reduction(s, begin);
  if (!own && s.kind == StepKind::kWrite) {
    if (const auto made = part_written(s)) return *made;
  }
  return updated(s);
}

// One element after the other, as the step does it.
Tensor StepVersions::updated(const Step& s) {
  return keep(b_.update(
      s.buffer->name.text(), s.buffer->dtype, shape_of(*s.buffer),
      [&](Indices i) { return element(now_, s.buffer, i); },
      s.conditions.empty() ? extents(s.axes) : guarded_extents(s, shape_of(*s.buffer)),
      [&](Indices r) { return where(s, r); },
      [&](Tensor self, Indices r) {
        ExprMap by;
        bind(by, s.axes, r);
        const Expr before = self.at(where(s, r));
        const Expr value = local(s.value, by, now_, s.buffer, &self);
        const Expr then = s.kind == StepKind::kAdd ? before + value : value;
        return guarded(local_all(s.conditions, by, now_), then, before);
      }));
}

// Of a step that writes elements from their own places, each once: what it writes, and elsewhere
// the last version. Nothing if it cannot be told who writes an element.
std::optional<Tensor> StepVersions::part_written(const Step& s) {
  const std::vector<Expr> shape = shape_of(*s.buffer), p = element_variables(shape.size());
  const IndexInverse inverse = index_inverse(s.axes, s.place, p, shape, {});
  if (!inverse.left.empty() || (needs_data(inverse) && !s.conditions.empty())) return std::nullopt;
  return compute(s.buffer->name.text(), *s.buffer, [&](Indices i) {
    const auto [written, axes] = accessor_of(s, inverse, p, i, now_);
    return guarded(written, local(s.value, axes, now_), element(now_, s.buffer, i));
  });
}

std::pair<std::vector<Expr>, ExprMap> StepVersions::accessor_of(const Step& s, const IndexInverse& inverse,
                                                                const std::vector<Expr>& p, Indices i,
                                                                const Versions& versions) const {
  ExprMap of_element, axes = inverse.axes;
  for (size_t d = 0; d < p.size(); ++d) of_element[p[d].get()] = i[d];
  for (auto& [var, e] : axes) e = substitute(e, of_element);
  std::vector<Expr> accessed = local_all(inverse.conditions, of_element, versions);
  for (Expr c : s.conditions) accessed.push_back(local(c, axes, versions));
  return {std::move(accessed), std::move(axes)};
}

std::vector<Expr> StepVersions::element_variables(size_t rank) const {
  std::vector<Expr> p;
  for (size_t d = 0; d < rank; ++d) p.push_back(pool_.variable("p"));
  return p;
}

// The place of an iteration, or the first element if a condition does not hold.
std::vector<Expr> StepVersions::where(const Step& s, Indices r) const {
  ExprMap by;
  bind(by, s.axes, r);
  const std::vector<Expr> conditions = local_all(s.conditions, by, now_);
  std::vector<Expr> out;
  for (Expr p : s.place) out.push_back(guarded(conditions, local(p, by, now_), pool_.integer(0)));
  return out;
}

Tensor StepVersions::reduction(const Step& s, Expr begin) {
  const auto join = [&](Expr so_far, Expr next) {
    return s.kind == StepKind::kAdd       ? so_far + next
           : s.extremum == ExprKind::kMax ? max(so_far, next)
                                          : min(so_far, next);
  };
  const std::vector<StepAxis> axes = reduction_axes(s);
  const auto next = [&](Indices i, Indices r, Expr otherwise) {
    ExprMap by = at_place(s, i);
    bind(by, axes, r);
    return guarded(local_all(s.conditions, by, now_), local(s.value, by, now_), otherwise);
  };
  const Expr zero = pool_.constant(0, s.buffer->dtype);
  const std::string_view name = s.buffer->name.text();
  if (axes.empty()) {
    return compute(name, *s.buffer, [&](Indices i) {
      const bool extremum = begin && s.kind == StepKind::kExtremum;
      return join(extremum ? begin : element(now_, s.buffer, i), next(i, {}, zero));
    });
  }
  const Tensor sum =
      keep(b_.reduce(name, s.buffer->dtype, shape_of(*s.buffer), extents(axes), {begin ? begin : zero, join},
                     [&](Indices i, Indices r) { return next(i, r, zero); }));
  if (begin || !now_.contains(s.buffer)) return sum;
  return compute(name, *s.buffer, [&](Indices i) { return element(now_, s.buffer, i) + sum.at(i); });
}

}  // namespace relay::kernel
