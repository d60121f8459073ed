#include "kernel/validate.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/cat.h"
#include "kernel/affine.h"
#include "kernel/execute.h"
#include "kernel/external.h"
#include "kernel/fields.h"
#include "kernel/instructions.h"
#include "kernel/limits.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

class Validator {
 public:
  explicit Validator(const Kernel& k) : kernel_(k), pool_(pool_of(k)) {}

  std::vector<std::string> run() {
    if (std::string deep = too_deep(kernel_); !deep.empty()) return {std::move(deep)};
    visit(kernel_.body, [&](Stmt s) {
      const auto* b = s->as<Block>();
      if (b == nullptr || !reduces(*b)) return;
      for (const Region& w : b->writes) ++updaters_[w.buffer];
    });
    for (const auto& list : {kernel_.inputs, kernel_.outputs}) {
      for (const Buffer* b : list) {
        declare(b);
        if (!b->strides.empty())
          report(cat("`", b->name.text(), "` is not dense, and callers would not know"));
      }
    }
    for (const Buffer* b : kernel_.temporaries) declare(b);
    read_extents();
    statement(kernel_.body, {});
    for (const Buffer* b : kernel_.outputs) {
      // A tensor of no elements has nothing to be written.
      const bool empty =
          std::any_of(b->shape.begin(), b->shape.end(), [](const Expr& e) { return e.is_int(0); });
      if (!empty && !covered_.contains(b))
        report(cat("output `", b->name.text(), "` is not written everywhere"));
    }
    if (problems_.empty()) {
      if (std::string wrong = check_races(kernel_); !wrong.empty()) report(std::move(wrong));
    }
    return std::move(problems_);
  }

 private:
  void report(std::string problem) { problems_.push_back(std::move(problem)); }
  std::string place() const { return block_ ? cat("block `", block_->name.text(), "`: ") : ""; }

  void declare(const Buffer* b) {
    if (!buffers_.insert(b).second) report(cat("buffer `", b->name.text(), "` is declared twice"));
    if (!ids_.insert(b->id).second) report(cat("buffer `", b->name.text(), "` has the id of another one"));
    strides(*b);
    countable(*b);
  }
  // No tensor has more bytes than 63 bits count.
  void countable(const Buffer& b) {
    const auto may_be_empty = [](const Expr& e) { return e->kind != ExprKind::kInt || e->int_value == 0; };
    if (std::any_of(b.shape.begin(), b.shape.end(), may_be_empty)) return;
    auto bytes = static_cast<int64_t>(b.dtype.bytes());
    for (Expr e : b.shape) {
      if (__builtin_mul_overflow(bytes, e->int_value, &bytes))
        return report(cat("`", b.name.text(), "` has more bytes than 63 bits count"));
    }
  }
  void read_extents() {
    std::unordered_set<const ExprNode*> told;
    for (const Buffer* b : kernel_.inputs) {
      for (Expr e : b->shape) {
        for (Expr v : variables(e)) told.insert(v.get());
      }
    }
    for (const ReadExtent& r : kernel_.read_extents) {
      if (!told.insert(r.variable.get()).second)
        report(cat("shape variable `", show(r.variable), "` is read, and told by something else"));
      const Buffer& from = *kernel_.inputs[r.input];
      if (from.dtype != kInt64 || from.shape.size() != 1 || from.shape[0]->kind != ExprKind::kInt)
        report(cat("extents are read from `", from.name.text(),
                   "`, which is no vector of int64 of constant length"));
      else if (from.shape[0]->int_value <= r.element)
        report(cat("the extent `", show(r.variable), "` is read from outside of `", from.name.text(), "`"));
    }
  }

  // No two elements share a place.
  void strides(const Buffer& b) {
    if (b.strides.empty()) return;
    if (b.strides.size() != b.shape.size())
      return report(cat("`", b.name.text(), "` has another number of strides than dims"));
    for (size_t d = b.shape.size(); d-- > 0;) {
      const bool last = d + 1 == b.shape.size();
      int64_t elements;
      if (b.strides[d]->kind == ExprKind::kInt && b.shape[d]->kind == ExprKind::kInt &&
          __builtin_mul_overflow(b.strides[d]->int_value, b.shape[d]->int_value, &elements))
        return report(cat("`", b.name.text(), "` has more elements than 63 bits count"));
      const Expr least = last ? b.strides[d]->pool->integer(1) : b.strides[d + 1] * b.shape[d + 1];
      if (!Bounds().proves_less_equal(least, b.strides[d]))
        report(cat("the stride ", show(b.strides[d]), " of dim ", d, " of `", b.name.text(),
                   "` is less than ", show(least)));
    }
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
        loops_.push_back({n, allocated_.size(), depth_});
        const bool runs =
            std::exchange(runs_, runs_ && !(n->extent->kind == ExprKind::kInt && n->extent->int_value <= 0));
        statement(n->body, bounds);
        runs_ = runs;
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
      case StmtKind::kSeq:
      default:
        static_assert(others_only_look<For, Block, Store, Seq, If, Allocate, Prefetch>);
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
    ++depth_;
    for (const BlockIter& i : b.iters) {
      expression(i.extent);
      expression(i.binding);
    }
    if (b.predicate) expression(b.predicate);
    Bounds where = bounds;
    if (b.predicate) where.assume(b.predicate);
    for (const BlockIter& i : b.iters) iterator(i, where);
    bindings(b);
    reduction(b, bounds);
    if (!b.instruction.empty()) instruction(b);
    independence(b);
    cover(b, bounds);
    Bounds inside = bounds;
    for (const BlockIter& i : b.iters) bind(i.var, i.extent, inside);
    for (const auto& list : {b.reads, b.writes}) {
      for (const Region& r : list) region(r, inside);
    }
    // An iterator without values: nothing is accessed.
    const bool never =
        std::any_of(b.iters.begin(), b.iters.end(), [](const BlockIter& i) { return i.extent.is_int(0); });
    if (pool_ && !never) {
      const Regions needed = derive_regions(*pool_, {b.iters.begin(), b.iters.end()}, b.init, b.body);
      declared(needed.reads, b.reads, inside, "reads");
      declared(needed.writes, b.writes, inside, "writes");
    }
    if (b.init) statement(b.init, inside);
    statement(b.body, inside);
    for (const BlockIter& i : b.iters) in_scope_.erase(i.var.get());
    block_ = outer;
    --depth_;
  }

  // The binding stays in [0, extent), by the ranges of the loops or by the conditions around it.
  void iterator(const BlockIter& i, const Bounds& bounds) {
    if (!runs_) return;
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
    if (!runs_) return;
    // Loops over a buffer of no elements never run, and conditions keep what runs, such as padding,
    // away from it. An access that happens all the same is found by the race check.
    const auto empty = [](Expr extent) { return extent->kind == ExprKind::kInt && extent->int_value == 0; };
    if (std::any_of(r.buffer->shape.begin(), r.buffer->shape.end(), empty)) return;
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

  static std::vector<const void*> key_of(const Region& r) {
    std::vector<const void*> key{r.buffer};
    for (const auto& list : {r.min, r.extent}) {
      for (Expr e : list) key.push_back(e.get());
    }
    return key;
  }
  void declared(const std::vector<Region>& needed, List<Region> regions, const Bounds& bounds,
                std::string_view what) {
    // Expressions are interned, and most regions are declared as they are derived.
    std::set<std::vector<const void*>> known;
    for (const Region& r : regions) known.insert(key_of(r));
    for (const Region& n : needed) {
      if (!known.contains(key_of(n))) declared(n, regions, bounds, what);
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

  // Different iterations of an independent loop must write different elements, or
  // memory of their own.
  void independence(const Block& b) {
    for (const auto& [loop, allocated, depth] : loops_) {
      if (depth + 1 != depth_) continue;  // of the block around, which was looked at
      if (loop->how == ForKind::kSerial || loop->how == ForKind::kUnrolled) continue;
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

  static bool reduces(const Block& b) {
    return std::any_of(b.iters.begin(), b.iters.end(),
                       [](const BlockIter& i) { return i.kind == IterKind::kReduction; });
  }

  // Bindings are quasi-affine, and the iterators that say where the block writes are independent.
  void bindings(const Block& b) {
    std::unordered_map<const ExprNode*, std::vector<Digits>> digits;
    for (const BlockIter& i : b.iters) {
      if (std::string why = not_quasi_affine(i.binding); !why.empty())
        report(cat(place(), "the binding of iterator `", show(i.var), "` is not quasi-affine: ", why));
      if (auto found = digits_of(i.binding)) digits[i.var.get()] = std::move(*found);
    }
    for (const Region& w : b.writes) {
      std::vector<Expr> where;
      for (Expr m : w.min) {
        for (Expr v : variables(m)) {
          if (digits.contains(v.get()) && std::find(where.begin(), where.end(), v) == where.end())
            where.push_back(v);
        }
      }
      for (size_t i = 0; i < where.size(); ++i) {
        for (size_t j = i + 1; j < where.size(); ++j) {
          if (overlap(digits[where[i].get()], digits[where[j].get()]))
            report(cat(place(), "iterators `", show(where[i]), "` and `", show(where[j]),
                       "` are not independent"));
        }
      }
    }
  }

  // Can the binding take all values of the extent, as far as constants say?
  static bool may_fill(Expr binding, Expr extent, const Bounds& bounds) {
    const Interval range = bounds.of(binding), all = bounds.of(extent);
    if (!all.is_single()) return true;
    if ((range.high && *range.high + 1 < *all.low) || (range.low && *range.low > 0 && *all.low > 0))
      return false;
    int64_t values = 1;
    for (Expr v : variables(binding)) {
      const Interval of = bounds.of(v);
      if (!of.low || !of.high || __builtin_mul_overflow(values, *of.high - *of.low + 1, &values)) return true;
    }
    return values >= *all.low;
  }

  // A reduction that one block does must go through all of its steps. What is summed up in local
  // memory may be a part.
  void reduction(const Block& b, const Bounds& bounds) {
    const bool alone = std::all_of(b.writes.begin(), b.writes.end(), [&](const Region& w) {
      return updaters_[w.buffer] == 1 && w.buffer->scope == Scope::kGlobal;
    });
    if (!alone) return;
    for (const BlockIter& i : b.iters) {
      if (i.kind == IterKind::kReduction && !may_fill(i.binding, i.extent, bounds))
        report(cat(place(), "the reduction over `", show(i.var), "` leaves out steps"));
    }
  }

  void instruction(const Block& b) {
    std::string why;
    if (!operands_of(b, why)) report(cat(place(), "instruction `", b.instruction.text(), "`: ", why));
  }

  // Each iterator that indexes the output reaches all of its dim.
  void cover(const Block& b, const Bounds& bounds) {
    for (const Region& w : b.writes) {
      if (std::find(kernel_.outputs.begin(), kernel_.outputs.end(), w.buffer) == kernel_.outputs.end())
        continue;
      bool reaches = true;
      for (size_t d = 0; d < w.min.size(); ++d) {
        for (const BlockIter& i : b.iters) {
          if (w.min[d] == i.var && !may_fill(i.binding, w.buffer->shape[d], bounds)) reaches = false;
        }
      }
      if (reaches) covered_.insert(w.buffer);
      // Several blocks may share an output between them: pieces of an axis. Their union is left
      // to the race check.
      if (++writers_[w.buffer] > 1) covered_.insert(w.buffer);
    }
  }

  const Kernel& kernel_;
  ExprPool* pool_;
  std::vector<std::string> problems_;
  std::unordered_set<const Buffer*> buffers_;
  std::unordered_set<uint32_t> ids_;
  std::unordered_set<const ExprNode*> bound_, in_scope_;
  struct Around {
    const For* loop;
    size_t allocated, depth;  // the numbers of buffers allocated, and of blocks, around it
  };
  std::vector<Around> loops_;
  size_t depth_ = 0;
  std::vector<const Buffer*> allocated_;
  std::unordered_set<const Buffer*> covered_;
  std::unordered_map<const Buffer*, size_t> writers_, updaters_;  // how many blocks; those with a reduction
  const Block* block_ = nullptr;
  bool runs_ = true;  // false in a loop of constant extent 0: nothing in it leaves a range
};

}  // namespace

std::vector<std::string> validate(const Kernel& k) {
  return k.external ? validate_external(k) : Validator(k).run();
}

}  // namespace relay::kernel
