#include "kernel/codegen/expand.h"

#include <algorithm>

#include "base/check.h"
#include "kernel/fields.h"
#include "kernel/instructions.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::codegen {
namespace {

using Substitution = std::unordered_map<const ExprNode*, Expr>;

// Beyond these, text grows faster than speed.
constexpr int64_t kMostUnrolled = 64;  // iterations of one loop
constexpr int64_t kMostCopies = 1024;  // of one statement

class Expander {
 public:
  explicit Expander(ExprPool& pool) : pool_(pool), arena_(pool.arena()) {}

  Stmt expand(Stmt s) {
    switch (s->kind) {
      case StmtKind::kFor: return expand(*s->as<For>());
      case StmtKind::kBlock: return expand(*s->as<Block>());
      case StmtKind::kStore: {
        const auto* n = s->as<Store>();
        std::vector<Expr> indices;
        for (Expr i : n->indices) indices.push_back(here(i));
        return make_store(arena_, n->buffer, indices, here(n->value));
      }
      case StmtKind::kSeq: {
        std::vector<Stmt> body;
        for (Stmt c : s->as<Seq>()->body) body.push_back(expand(c));
        return make_sequence(arena_, body);
      }
      case StmtKind::kIf: {
        const auto* n = s->as<If>();
        return guarded(
            here(n->condition), [&] { return expand(n->then_branch); },
            [&] { return n->else_branch ? expand(n->else_branch) : nullptr; });
      }
      case StmtKind::kAllocate: {
        const auto* n = s->as<Allocate>();
        return with(arena_, *n, &Allocate::body, expand(n->body));
      }
      case StmtKind::kRequire: {
        const auto* n = s->as<Require>();
        const Expr condition = here(n->condition);
        if (condition.is_int(1)) return make_nop(arena_);
        return with(arena_, *n, &Require::condition, condition);
      }
      case StmtKind::kPrefetch:
      default:
        static_assert(others_only_look<For, Block, Store, Seq, If, Allocate, Prefetch>);
        return rewrite_expressions(arena_, s, [&](Expr e) { return here(e); });
    }
  }

 private:
  // The expression where we are: with the values of block variables and of unrolled loops.
  Expr here(Expr e) const { return simplify(substitute(e, by_), bounds_); }

  template <class Then, class Else>
  Stmt guarded(Expr condition, Then then_branch, Else else_branch) {
    if (condition.is_int(1)) return then_branch();
    if (condition.is_int(0)) {
      Stmt other = else_branch();
      return other ? other : make_nop(arena_);
    }
    Stmt body = then_branch(), other = else_branch();
    if (body->kind == StmtKind::kNop && !other) return body;
    return make_if(arena_, condition, body, other);
  }

  Stmt expand(const For& n) {
    const Expr extent = here(n.extent);
    if (extent.is_int(0)) return make_nop(arena_);
    if (Stmt s = with_init_in_front(n)) return s;
    const bool constant = extent->kind == ExprKind::kInt;
    const bool written_out = constant && n.how == ForKind::kUnrolled && extent->int_value <= kMostUnrolled &&
                             copies_ * extent->int_value <= kMostCopies;
    // A grid's loop stays, because it says how large the grid is.
    if (written_out || (extent.is_int(1) && n.how < ForKind::kBlockX)) {
      const int64_t outer = std::exchange(copies_, copies_ * extent->int_value);
      std::vector<Stmt> body;
      for (int64_t i = 0; i < extent->int_value; ++i) {
        by_[n.var.get()] = pool_.integer(i);
        // Each copy has local buffers of its own.
        Stmt copy = i == 0 ? n.body : refresh(pool_, n.body);
        body.push_back(expand(copy));
      }
      by_.erase(n.var.get());
      copies_ = outer;
      return make_sequence(arena_, body);
    }
    const Bounds outer = bounds_;
    bounds_.bind(n.var, extent);
    Stmt body = expand(n.body);
    bounds_ = outer;
    if (body->kind == StmtKind::kNop) return body;
    return changed_copy(arena_, n, [&](For& f) {
      f.extent = extent;
      f.body = body;
    });
  }

  // A nest of loops around nothing but one block, all of them loops of its reduction: the
  // initial value can be stored once before them, instead of asking in each iteration whether
  // it is the first.
  Stmt with_init_in_front(const For& outermost) {
    std::vector<const For*> loops;
    Stmt inner = &outermost;
    while (const auto* f = inner->as<For>()) {
      if (f->how != ForKind::kSerial && f->how != ForKind::kUnrolled) return nullptr;
      const Interval range = bounds_.of(here(f->extent));
      if (!range.low || *range.low < 1) return nullptr;
      loops.push_back(f);
      inner = f->body;
    }
    const auto* block = inner->as<Block>();
    if (block == nullptr || block->init == nullptr) return nullptr;
    const auto inside = [&](Expr e) {
      return e && std::any_of(loops.begin(), loops.end(), [&](const For* f) { return mentions(e, f->var); });
    };
    if (inside(block->predicate)) return nullptr;
    Substitution first = by_;
    for (const For* f : loops) first[f->var.get()] = pool_.integer(0);
    const auto at_start = [&](Expr e) { return simplify(substitute(e, first), bounds_); };
    Expr condition = block->predicate ? here(block->predicate) : pool_.integer(1, kBool);
    Substitution at = by_;
    for (const BlockIter& i : block->iters) {
      if (i.kind == IterKind::kSpatial && inside(i.binding)) return nullptr;
      at[i.var.get()] = at_start(i.binding);
      if (i.kind == IterKind::kReduction)
        condition = logical_and(condition, equal(at_start(i.binding), pool_.integer(0)));
    }
    condition = simplify(condition, bounds_);
    Stmt init = guarded(
        condition,
        [&] {
          const Substitution outer = std::exchange(by_, at);
          Stmt s = expand(block->init);
          by_ = outer;
          return s;
        },
        [] { return nullptr; });

    Block rest = *block;
    rest.init = nullptr;
    Stmt body = arena_.make<Block>(rest);
    for (size_t l = loops.size(); l-- > 0;) {
      body = with(arena_, *loops[l], &For::body, body);
    }
    return make_sequence(arena_, {init, expand(body)});
  }

  Stmt expand(const Block& n) {
    const Expr predicate = n.predicate ? here(n.predicate) : pool_.integer(1, kBool);
    return guarded(
        predicate,
        [&] {
          Expr first = pool_.integer(1, kBool);
          Substitution inside = by_;
          for (const BlockIter& i : n.iters) {
            const Expr value = here(i.binding);
            inside[i.var.get()] = value;
            if (i.kind == IterKind::kReduction) first = logical_and(first, equal(value, pool_.integer(0)));
          }
          const Substitution outer = std::exchange(by_, inside);
          std::vector<Stmt> body;
          if (n.init)
            body.push_back(
                guarded(simplify(first, bounds_), [&] { return expand(n.init); }, [] { return nullptr; }));
          body.push_back(instruction(n, expand(n.body)));
          by_ = outer;
          return make_sequence(arena_, body);
        },
        [] { return nullptr; });
  }

  // A block that an instruction does stays one, without iterators: its regions are where the
  // operands begin, in order.
  Stmt instruction(const Block& n, Stmt body) {
    if (n.instruction.empty()) return body;
    std::string unused;
    const std::optional<std::vector<Operand>> operands = operands_of(n, unused);
    if (!operands) return body;
    std::vector<Region> reads, writes;
    for (size_t i = 0; i < operands->size(); ++i) {
      const Operand& o = (*operands)[i];
      std::vector<Expr> first;
      for (Expr e : o.first) first.push_back(here(e));
      const Region at{o.buffer, arena_.list(first), {}};
      (i + 1 == operands->size() ? writes : reads).push_back(at);
    }
    Block copy = n;
    copy.iters = {};
    copy.predicate = {};
    copy.init = nullptr;
    copy.reads = arena_.list(reads);
    copy.writes = arena_.list(writes);
    copy.body = body;
    return arena_.make<Block>(copy);
  }

  ExprPool& pool_;
  Arena& arena_;
  Substitution by_;
  Bounds bounds_;
  int64_t copies_ = 1;
};

}  // namespace

Stmt expand(ExprPool& pool, const Kernel& k) { return Expander(pool).expand(k.body); }

}  // namespace relay::kernel::codegen
