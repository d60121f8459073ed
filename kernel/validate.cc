#include "kernel/validate.h"

#include <algorithm>
#include <unordered_set>

#include "base/cat.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

class Validator {
 public:
  explicit Validator(const Kernel& k) : kernel_(k) {}

  std::vector<std::string> run() {
    for (const auto& list : {kernel_.inputs, kernel_.outputs, kernel_.temporaries}) {
      for (const Buffer* b : list) declare(b);
    }
    statement(kernel_.body, {});
    for (const Buffer* b : kernel_.outputs) {
      // A tensor of no elements has nothing to be written.
      const bool empty =
          std::any_of(b->shape.begin(), b->shape.end(), [](const Expr& e) { return e.is_int(0); });
      if (!empty && !covered_.contains(b))
        report(cat("output `", b->name.text(), "` is not written everywhere"));
    }
    return std::move(problems_);
  }

 private:
  void report(std::string problem) { problems_.push_back(std::move(problem)); }
  std::string place() const { return block_ ? cat("block `", block_->name.text(), "`: ") : ""; }

  void declare(const Buffer* b) {
    if (!buffers_.insert(b).second) report(cat("buffer `", b->name.text(), "` is declared twice"));
    if (!ids_.insert(b->id).second) report(cat("buffer `", b->name.text(), "` has the id of another one"));
  }
  void bind(Expr var, Expr extent, Bounds& bounds) {
    if (!bound_.insert(var.get()).second) report(cat(place(), "variable `", show(var), "` is bound twice"));
    in_scope_.insert(var.get());
    bounds.bind(var, extent);
  }

  void expression(Expr e) {
    for (Expr v : variables(e)) {
      if (!v->shape_variable && !in_scope_.contains(v.get()))
        report(cat(place(), "variable `", show(v), "` is not bound"));
    }
    for_each_load(e, [&](const ExprNode* n) { access(n->buffer, n->args.size()); });
  }
  void known(const Buffer* b, size_t indices) {
    if (!buffers_.contains(b)) report(cat(place(), "buffer `", b->name.text(), "` is not known here"));
    if (indices != b->shape.size())
      report(cat(place(), "`", b->name.text(), "` has another number of dims than indices"));
  }
  void access(const Buffer* b, size_t indices) {
    known(b, indices);
    if (block_ == nullptr) report(cat("`", b->name.text(), "` is accessed outside any block"));
  }

  void statement(Stmt s, Bounds bounds) {
    switch (s->kind) {
      case StmtKind::kFor: {
        const auto* n = s->as<For>();
        expression(n->extent);
        if (n->how == ForKind::kVectorized && n->extent->kind != ExprKind::kInt) {
          report(cat("vectorized loop `", show(n->var), "` has no constant extent"));
        }
        bind(n->var, n->extent, bounds);
        loops_.push_back({n, allocated_.size()});
        statement(n->body, bounds);
        loops_.pop_back();
        in_scope_.erase(n->var.get());
        return;
      }
      case StmtKind::kBlock: return block(*s->as<Block>(), bounds);
      case StmtKind::kStore: {
        const auto* n = s->as<Store>();
        for (Expr e : expressions(s)) expression(e);
        access(n->buffer, n->indices.size());
        for (Expr i : n->indices) {
          if (i->dtype != kInt64) report(cat(place(), "index `", show(i), "` is of dtype ", i->dtype.name()));
        }
        if (n->value->dtype != n->buffer->dtype)
          report(cat(place(), "a value of dtype ", n->value->dtype.name(), " is stored to `",
                     n->buffer->name.text(), "`"));
        return;
      }
      case StmtKind::kAllocate: {
        const auto* n = s->as<Allocate>();
        declare(n->buffer);
        allocated_.push_back(n->buffer);
        statement(n->body, bounds);
        allocated_.pop_back();
        buffers_.erase(n->buffer);
        return;
      }
      case StmtKind::kPrefetch: {
        const auto* n = s->as<Prefetch>();
        for (Expr e : expressions(s)) expression(e);
        known(n->buffer, n->indices.size());
        if (n->buffer->scope == Scope::kLocal)
          report(cat(place(), "local buffer `", n->buffer->name.text(), "` is prefetched"));
        return;
      }
      case StmtKind::kIf: return conditional(*s->as<If>(), bounds);
      case StmtKind::kRequire:
      case StmtKind::kSeq:
      case StmtKind::kNop:
        for (Expr e : expressions(s)) expression(e);
        for (Stmt c : children(s)) statement(c, bounds);
        return;
    }
  }

  void conditional(const If& n, const Bounds& bounds) {
    expression(n.condition);
    Bounds holds = bounds;
    holds.assume(n.condition);
    statement(n.then_branch, holds);
    if (n.else_branch) statement(n.else_branch, bounds);
  }

  void block(const Block& b, Bounds bounds) {
    const Block* outer = std::exchange(block_, &b);
    for (const BlockIter& i : b.iters) {
      expression(i.extent);
      expression(i.binding);
    }
    if (b.predicate) expression(b.predicate);
    Bounds where = bounds;
    if (b.predicate) where.assume(b.predicate);
    for (const BlockIter& i : b.iters) iterator(i, where);
    independence(b);
    cover(b, bounds);
    Bounds inside = bounds;
    for (const BlockIter& i : b.iters) bind(i.var, i.extent, inside);
    for (const auto& list : {b.reads, b.writes}) {
      for (const Region& r : list) region(r, inside);
    }
    const Regions needed =
        derive_regions(*pool_of(kernel_), {b.iters.begin(), b.iters.end()}, b.init, b.body);
    for (const Region& r : needed.reads) declared(r, b.reads, inside, "reads");
    for (const Region& r : needed.writes) declared(r, b.writes, inside, "writes");
    if (b.init) statement(b.init, inside);
    statement(b.body, inside);
    for (const BlockIter& i : b.iters) in_scope_.erase(i.var.get());
    block_ = outer;
  }

  // The binding stays in [0, extent), by the ranges of the loops or by the conditions around it.
  void iterator(const BlockIter& i, const Bounds& bounds) {
    const Interval range = bounds.of(i.binding);
    const Expr zero = i.binding->pool->integer(0);
    if (range.low && *range.low < 0 && !bounds.proves_less(zero, i.binding + 1)) {
      report(cat(place(), "iterator `", show(i.var), "` may be negative"));
    }
    // Of ranges that stay symbolic nothing is said: what is not proved of them need not be wrong.
    if (!range.high || i.extent->kind != ExprKind::kInt || bounds.proves_less(i.binding, i.extent)) return;
    report(cat(place(), "iterator `", show(i.var), "` may exceed its extent"));
  }

  void region(const Region& r, const Bounds& bounds) {
    for (size_t d = 0; d < r.min.size(); ++d) {
      const Expr zero = r.min[d]->pool->integer(0), end = r.min[d] + r.extent[d];
      const bool below = bounds.proves_less(r.min[d], zero);
      const bool above = bounds.proves_less(r.buffer->shape[d], end);
      // With constants, what is not proved does happen.
      const Interval low = bounds.of(r.min[d]), high = bounds.of(end);
      const bool constant = r.buffer->shape[d]->kind == ExprKind::kInt && low.low && high.high;
      if (below || above || (constant && (*low.low < 0 || *high.high > r.buffer->shape[d]->int_value))) {
        report(cat(place(), "a region of `", r.buffer->name.text(), "` leaves the buffer in dim ", d));
      }
    }
  }

  void declared(const Region& needed, List<Region> regions, const Bounds& bounds, std::string_view what) {
    const bool found = std::any_of(regions.begin(), regions.end(), [&](const Region& r) {
      if (r.buffer != needed.buffer) return false;
      for (size_t d = 0; d < r.min.size(); ++d) {
        if (r.min[d] == needed.min[d] && r.extent[d] == needed.extent[d]) continue;
        if (!bounds.proves_less_equal(r.min[d], needed.min[d])) return false;
        if (!bounds.proves_less_equal(needed.min[d] + needed.extent[d], r.min[d] + r.extent[d])) return false;
      }
      return true;
    });
    if (!found)
      report(cat(place(), what, " `", needed.buffer->name.text(), "` outside the declared regions"));
  }

  // Different iterations of an independent loop must write different elements, or memory of their own.
  void independence(const Block& b) {
    for (const auto& [loop, allocated] : loops_) {
      if (loop->how != ForKind::kParallel && loop->how != ForKind::kVectorized) continue;
      // One iteration at most, as of the `n % 2` rows that tiles of two leave.
      if (const Interval times = Bounds().of(loop->extent); times.high && *times.high <= 1) continue;
      for (const Region& w : b.writes) {
        const bool own = std::find(allocated_.begin() + static_cast<std::ptrdiff_t>(allocated),
                                   allocated_.end(), w.buffer) != allocated_.end();
        if (own) continue;
        const bool separated = std::any_of(b.iters.begin(), b.iters.end(), [&](const BlockIter& i) {
          if (!mentions(i.binding, loop->var)) return false;
          return std::any_of(w.min.begin(), w.min.end(), [&](Expr m) { return mentions(m, i.var); });
        });
        if (!separated) {
          report(cat(place(), "iterations of the independent loop `", show(loop->var),
                     "` write the same elements of `", w.buffer->name.text(), "`"));
        }
      }
    }
  }

  // Each iterator that indexes the output reaches the last element of its dim.
  void cover(const Block& b, const Bounds& bounds) {
    for (const Region& w : b.writes) {
      if (std::find(kernel_.outputs.begin(), kernel_.outputs.end(), w.buffer) == kernel_.outputs.end())
        continue;
      bool reaches = true;
      for (size_t d = 0; d < w.min.size(); ++d) {
        for (const BlockIter& i : b.iters) {
          if (w.min[d] != i.var) continue;
          const Interval range = bounds.of(i.binding), extent = bounds.of(w.buffer->shape[d]);
          if (range.high && extent.is_single() && *range.high + 1 < *extent.low) reaches = false;
        }
      }
      if (reaches) covered_.insert(w.buffer);
      partly_[w.buffer].push_back(&b);
      // Several blocks may share an output between them: pieces of an axis. Their union is not proved.
      if (partly_[w.buffer].size() > 1) covered_.insert(w.buffer);
    }
  }

  const Kernel& kernel_;
  std::vector<std::string> problems_;
  std::unordered_set<const Buffer*> buffers_;
  std::unordered_set<uint32_t> ids_;
  std::unordered_set<const ExprNode*> bound_, in_scope_;
  std::vector<std::pair<const For*, size_t>> loops_;  // and the number of buffers allocated around it
  std::vector<const Buffer*> allocated_;
  std::unordered_set<const Buffer*> covered_;
  std::unordered_map<const Buffer*, std::vector<const Block*>> partly_;
  const Block* block_ = nullptr;
};

}  // namespace

std::vector<std::string> validate(const Kernel& k) { return Validator(k).run(); }

}  // namespace relay::kernel
