#include "kernel/schedule/primitives/box.h"

#include <algorithm>

#include "base/cat.h"
#include "kernel/schedule/primitives/primitive.h"

namespace relay::kernel::schedule::primitives {

std::optional<Range> range_of(Expr index, const std::vector<const For*>& loops) {
  std::vector<std::pair<Expr, Expr>> ranges;
  for (const For* f : loops) ranges.emplace_back(f->var, f->extent);
  return range_over(index, ranges);
}

std::optional<Range> join(const Range& a, const Range& b) {
  const Expr ahead = b.min - a.min;
  if (ahead->kind != ExprKind::kInt || a.extent->kind != ExprKind::kInt || b.extent->kind != ExprKind::kInt) {
    return a.min == b.min && a.extent == b.extent ? std::optional(a) : std::nullopt;
  }
  const int64_t low = std::min<int64_t>(0, ahead->int_value);
  const int64_t high = std::max(a.extent->int_value, ahead->int_value + b.extent->int_value);
  return Range{a.min + low, a.min->pool->integer(high - low)};
}

namespace {

// Collects the box of a block's accesses to a buffer.
class Collector {
 public:
  Collector(Stmt scope, const Block* block, const Buffer* buffer) : block_(*block), buffer_(buffer) {
    loops_ = loops_around(scope, block);
    for (const BlockIter& i : block->iters) bindings_[i.var.get()] = i.binding;
  }

  std::optional<Box> collect(bool writes, std::string& reason) {
    bool nested = false;
    for (Stmt part : {block_.init, block_.body}) {
      if (part) visit(part, [&](Stmt s) { nested |= s->as<For>() || s->as<Block>(); });
    }
    if (nested) {  // its declared regions speak for what stands in it
      for (const Region& r : writes ? block_.writes : block_.reads) {
        if (r.buffer == buffer_) add(r.min, r.extent);
      }
    } else {
      for (Stmt part : {block_.init, block_.body}) {
        if (part) visit(part, [&](Stmt s) { accesses(s, writes); });
      }
    }
    const std::string_view verb = writes ? "writes" : "reads";
    if (bad_dim_) {
      reason = cat("what block `", block_.name.text(), "` ", verb, " in dim ", *bad_dim_, " is not a range");
      return std::nullopt;
    }
    if (!box_)
      reason = cat("block `", block_.name.text(), "` ", verb, " nothing of `", buffer_->name.text(), "`");
    return box_;
  }

 private:
  void accesses(Stmt s, bool writes) {
    const auto* store = s->as<Store>();
    if (writes && store && store->buffer == buffer_) add(store->indices, {});
    if (writes) return;
    for (Expr e : expressions(s)) {
      for_each_load(e, [&](const ExprNode* n) {
        if (n->buffer == buffer_) add(n->args, {});
      });
    }
  }
  // In terms of the block's iteration variables.
  template <class Indices>
  void add(const Indices& first, List<Expr> extents) {
    Box here;
    for (size_t d = 0; d < first.size() && !bad_dim_; ++d) {
      std::optional<Range> range = range_of(substitute(Expr(first[d]), bindings_), loops_);
      if (range && !extents.empty()) range->extent = range->extent + extents[d] - 1;
      if (range && box_) range = join((*box_)[d], *range);
      if (!range) {
        bad_dim_ = d;
      } else {
        here.push_back(*range);
      }
    }
    if (!bad_dim_) box_ = here;
  }

  const Block& block_;
  const Buffer* buffer_;
  std::vector<const For*> loops_;
  std::unordered_map<const ExprNode*, Expr> bindings_;
  std::optional<Box> box_;
  std::optional<size_t> bad_dim_;
};

}  // namespace

std::optional<Box> box_read(Stmt scope, const Block* block, const Buffer* buffer, std::string& reason) {
  return Collector(scope, block, buffer).collect(false, reason);
}
std::optional<Box> box_written(Stmt scope, const Block* block, const Buffer* buffer, std::string& reason) {
  return Collector(scope, block, buffer).collect(true, reason);
}

}  // namespace relay::kernel::schedule::primitives
