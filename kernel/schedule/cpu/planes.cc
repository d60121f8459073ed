// Kernels that go over planes: the adjoint of a maximum over windows.
//
//   most[n, c, w] = max over the window w of x[n, c];  hits[n, c, w] = how often it is there;
//   dx[n, c, i] = sum over the windows w of i of dy[n, c, w] / hits[n, c, w], where x[n, c, i] is most
//
// All reductions are computed for one plane (n, c) before the next plane begins, so that what only
// later stages need is a local buffer of one plane and takes no memory of the caller's. Each
// element is computed as it would be alone, so results are the same bits.
#include <algorithm>
#include <optional>

#include "base/cat.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

// Of local buffers together. Threads have stacks of 4 MiB or more (kernel/limits.h).
constexpr int64_t kMostOnStack = 128 * 1024;

// Have other rules better loops for the stage? They write into a kernel that nobody sees.
bool has_own_rule(Writer& unseen, const Job& job, const AnchoredStage& a) {
  return write_fast_reduction(unseen, job, a, /*reorders=*/!job.settings.in_order) != nullptr;
}

class Planes {
 public:
  Planes(const Job& job, std::span<const AnchoredStage> all) : job_(job), all_(all) {}

  // How many of the stages go over the same planes, from the first one on.
  size_t count() {
    size_t n = 0;
    for (; n < all_.size(); ++n) {
      const std::optional<size_t> axes = common_axes(all_[n]);
      if (!axes || *axes == 0) break;
      axes_ = *axes;
      written_.push_back(all_[n].output());
    }
    return n;
  }

  // Null if what only the stages themselves read is nothing, or does not fit the stack.
  Stmt write(Writer& w, std::span<const Buffer* const> kept) {
    std::vector<std::pair<const Buffer*, const Buffer*>> locals;  // what was a temporary, and what is one now
    int64_t bytes = 0;
    for (const AnchoredStage& a : all_) {
      const Buffer* b = a.output();
      if (std::find(kept.begin(), kept.end(), b) != kept.end()) continue;
      std::vector<Expr> shape(b->shape.begin() + static_cast<ptrdiff_t>(axes_), b->shape.end());
      std::optional<int64_t> size = static_cast<int64_t>(b->dtype.bytes());
      for (Expr e : shape) {
        if (e->kind != ExprKind::kInt || __builtin_mul_overflow(*size, e->int_value, &*size)) return nullptr;
      }
      if (__builtin_add_overflow(bytes, *size, &bytes) || bytes > kMostOnStack) return nullptr;
      locals.emplace_back(b, w.local(cat(b->name.text(), "_plane"), b->dtype, shape));
    }
    if (locals.empty()) return nullptr;
    // The last stage does about as much as the others.
    std::vector<Expr> work = extents_of(all_.back().stage.spatial);
    const std::vector<Expr> planes(work.begin(), work.begin() + static_cast<ptrdiff_t>(axes_));
    for (const Axis& a : all_.back().stage.reduction) work.push_back(a.extent);
    Stmt body = w.fused(outer_kind(job_, work), "plane", planes, [&](const std::vector<Expr>& plane) {
      std::vector<Stmt> parts;
      for (const AnchoredStage& a : all_) parts.push_back(write_plane(w, a, plane));
      Stmt s = w.sequence(parts);
      for (const auto& [from, to] : locals) s = w.allocate(to, s);
      return s;
    });
    body = move_elements(w.pool(), body,
                         [&](const Buffer* b, const std::vector<Expr>& at) -> std::optional<Element> {
                           for (const auto& [from, to] : locals) {
                             if (b == from)
                               return Element{to, {at.begin() + static_cast<ptrdiff_t>(axes_), at.end()}};
                           }
                           return std::nullopt;
                         });
    return rewrite(w.pool().arena(), body, [&](Stmt s) -> Stmt {  // with the regions that are now
      const auto* b = s->as<Block>();
      return b ? make_block(w.pool(), b->name.text(), {b->iters.begin(), b->iters.end()}, b->predicate,
                            b->init, b->body, b->instruction)
               : s;
    });
  }

 private:
  // How many of the first axes are those of the stages before, which it reads in its own plane
  // only. Nothing if the stage has to run alone.
  std::optional<size_t> common_axes(const AnchoredStage& a) const {
    const Stage& s = a.stage;
    // What is computed element by element goes in vectors, which are better than a cache.
    if (s.kind != StageKind::kReduce || !s.requirements.empty() || s.spatial.size() < 2) return std::nullopt;
    const std::vector<Axis>& first = all_.front().stage.spatial;
    size_t axes = written_.empty() ? s.spatial.size() - 1 : std::min(axes_, s.spatial.size() - 1);
    for (size_t d = 0; d < axes; ++d) {
      if (s.spatial[d].extent != first[d].extent) axes = d;
    }
    axes = std::min(axes, own_axes(s.value, s.spatial, axes));
    if (s.init) axes = std::min(axes, own_axes(s.init, s.spatial, axes));
    if (a.epilogue) axes = std::min(axes, own_axes(a.epilogue->value, a.epilogue->spatial, axes));
    return axes;
  }

  // In how many of the first axes the value reads what the stages wrote at its own place.
  size_t own_axes(Expr value, const std::vector<Axis>& spatial, size_t axes) const {
    for_each_load(value, [&](const ExprNode* n) {
      if (std::find(written_.begin(), written_.end(), n->buffer) == written_.end()) return;
      for (size_t d = 0; d < axes; ++d) {
        if (d >= n->args.size() || !is_place(n->args[d], spatial[d])) axes = d;
      }
    });
    return axes;
  }

  // The stage for one plane.
  Stmt write_plane(Writer& w, const AnchoredStage& a, const std::vector<Expr>& plane) const {
    const Stage& s = a.stage;
    const std::vector<Expr> extents = extents_of(s.spatial);
    const std::vector<Expr> inner(extents.begin() + static_cast<ptrdiff_t>(axes_), extents.end());
    return w.loops(ForKind::kSerial, "i", inner, [&](const std::vector<Expr>& at) {
      std::vector<Expr> place = plane;
      place.insert(place.end(), at.begin(), at.end());
      return reduce_element(w, a, sum_order(job_, s, 1), place);
    });
  }

  const Job& job_;
  std::span<const AnchoredStage> all_;
  std::vector<const Buffer*> written_;  // by the stages looked at so far
  size_t axes_ = 0;                     // of a plane's place
};

}  // namespace

size_t stages_over_planes(const Kernel& k, const Job& job, std::span<const AnchoredStage> all) {
  const size_t count = Planes(job, all).count();
  const auto run = all.first(count);
  if (count < 2) return 0;  // one alone keeps nothing
  Writer unseen(k);
  return std::any_of(run.begin(), run.end(), [&](const auto& a) { return has_own_rule(unseen, job, a); })
             ? 0
             : count;
}

Stmt write_planes(Writer& w, const Job& job, std::span<const Buffer* const> kept,
                  std::span<const AnchoredStage> all) {
  Planes planes(job, all);
  return planes.count() == all.size() ? planes.write(w, kept) : nullptr;
}

}  // namespace relay::kernel::schedule::cpu
