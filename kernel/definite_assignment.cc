#include "kernel/definite_assignment.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/fields.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

constexpr size_t kMostBoxes = 16;  // that are remembered of one buffer

// The elements [low, low + length) along one dim, over the variables of the loops around.
struct Side {
  Expr low, length;
  bool one_may_be_negative = false;  // of the extents that make up the length

  friend bool operator==(const Side&, const Side&) = default;
};
struct Box {
  const Buffer* buffer;
  std::vector<Side> sides;

  friend bool operator==(const Box&, const Box&) = default;
};

bool fills(const Box& box) {
  for (size_t d = 0; d < box.sides.size(); ++d) {
    const Side& s = box.sides[d];
    if (!s.low.is_int(0) || prove_equal(s.length, box.buffer->shape[d]) != Proof::kProved) return false;
  }
  return true;
}

// Goes through the statements in the order in which they run, and keeps the boxes that are
// written for certain.
class Flow {
 public:
  explicit Flow(const Kernel& k) : kernel_(k) {}

  std::unordered_set<const Buffer*> run() {
    inputs_.insert(kernel_.inputs.begin(), kernel_.inputs.end());
    statement(kernel_.body, {});
    for (const Buffer* b : kernel_.outputs) {
      const bool empty =
          std::any_of(b->shape.begin(), b->shape.end(), [](const Expr& e) { return e.is_int(0); });
      const bool filled = std::any_of(written_.begin(), written_.end(),
                                      [&](const Box& box) { return box.buffer == b && fills(box); });
      if (!empty && !filled) open_.insert(b);
    }
    return std::move(open_);
  }

 private:
  struct Around {
    const For* loop;
    Expr extent;
  };
  using Known = Bounds;

  void statement(Stmt s, Known known) {
    switch (s->kind) {
      case StmtKind::kFor: return loop(*s->as<For>(), std::move(known));
      case StmtKind::kBlock: return block(*s->as<Block>(), known);
      case StmtKind::kStore: {
        for (Expr e : expressions(s)) read(e, known);
        const auto* n = s->as<Store>();
        Box box{n->buffer, {}};
        for (Expr i : n->indices) box.sides.push_back({now(i), i->pool->integer(1)});
        return write(std::move(box));
      }
      case StmtKind::kSeq:
        for (Stmt c : s->as<Seq>()->body) {
          statement(c, known);
          if (const auto* r = c->as<Require>(); r && !r->condition->has_load) known.assume(now(r->condition));
        }
        return;
      case StmtKind::kIf: return choice(*s->as<If>(), known);
      case StmtKind::kAllocate: {
        const auto* n = s->as<Allocate>();
        statement(n->body, std::move(known));
        std::erase_if(written_, [&](const Box& box) { return box.buffer == n->buffer; });
        return;
      }
      case StmtKind::kPrefetch: return;
      default:
        static_assert(others_only_look<For, Block, Store, Seq, If, Allocate, Prefetch>);
        for (Expr e : expressions(s)) read(e, known);
        return;
    }
  }

  // In terms of loops alone.
  Expr now(Expr e) const { return bindings_.empty() ? e : substitute(e, bindings_); }

  void read(Expr e, const Known& known) {
    for_each_load(e, [&](const ExprNode* n) {
      if (inputs_.contains(n->buffer) || open_.contains(n->buffer)) return;
      std::vector<Expr> at;
      for (const ExprNode* i : n->args) at.push_back(now(i));
      const bool found = std::any_of(written_.begin(), written_.end(), [&](const Box& box) {
        return box.buffer == n->buffer && holds(box, at, known);
      });
      if (!found) open_.insert(n->buffer);
    });
  }
  static bool holds(const Box& box, const std::vector<Expr>& at, const Known& known) {
    for (size_t d = 0; d < at.size(); ++d) {
      const Side& s = box.sides[d];
      if (s.low == at[d] && s.length.is_int(1)) continue;
      // Checks keep accesses within the buffer.
      if (s.low.is_int(0) && prove_equal(s.length, box.buffer->shape[d]) == Proof::kProved) continue;
      if (!known.proves_less_equal(s.low, at[d]) || !known.proves_less(at[d], s.low + s.length)) return false;
    }
    return true;
  }

  void write(Box box) {
    for (const Side& s : box.sides) {
      if (s.low->has_load) return;
    }
    size_t of_buffer = 0;
    for (const Box& b : written_) {
      if (b == box) return;
      of_buffer += b.buffer == box.buffer;
    }
    if (of_buffer < kMostBoxes) written_.push_back(std::move(box));
  }
  std::vector<Box> take_since(size_t mark) {
    std::vector<Box> out(std::make_move_iterator(written_.begin() + static_cast<std::ptrdiff_t>(mark)),
                         std::make_move_iterator(written_.end()));
    written_.resize(mark);
    return out;
  }

  void loop(const For& n, Known known) {
    read(n.extent, known);
    const Expr extent = now(n.extent), zero = extent->pool->integer(0);
    const bool runs = known.proves_less(zero, extent);
    const bool counts = known.proves_less_equal(zero, extent);
    const size_t mark = written_.size();
    known.bind(n.var, extent);
    known.assume(less(zero, extent));  // where the body runs
    around_.push_back({&n, extent});
    statement(n.body, std::move(known));
    around_.pop_back();
    for (Box& box : take_since(mark)) {
      if (std::optional<Box> whole = over(std::move(box), n.var, extent, runs, counts))
        write(std::move(*whole));
    }
  }

  // What all iterations together write, of which one writes the box.
  static std::optional<Box> over(Box box, Expr var, Expr extent, bool runs, bool counts) {
    Side* along = nullptr;
    for (Side& s : box.sides) {
      if (mentions(s.length, var)) return std::nullopt;
      if (!mentions(s.low, var)) continue;
      if (along) return std::nullopt;
      along = &s;
    }
    if (!along) return runs ? std::optional(std::move(box)) : std::nullopt;
    const Expr next = substitute(along->low, {{var.get(), var + 1}});
    if (next - along->low != along->length) return std::nullopt;
    // A product of two negative extents would be a length that nothing runs for.
    if (!counts && along->one_may_be_negative) return std::nullopt;
    along->one_may_be_negative |= !counts;
    along->low = substitute(along->low, {{var.get(), extent->pool->integer(0)}});
    along->length = along->length * extent;
    return box;
  }

  void choice(const If& n, const Known& known) {
    read(n.condition, known);
    const Expr condition = now(n.condition);
    const size_t mark = written_.size();
    conditions_.push_back(condition);
    Known holds = known;
    if (!condition->has_load) holds.assume(condition);
    statement(n.then_branch, std::move(holds));
    std::vector<Box> first = take_since(mark);
    if (n.else_branch) statement(n.else_branch, known);
    conditions_.pop_back();
    const std::vector<Box> second = take_since(mark);
    std::erase_if(
        first, [&](const Box& box) { return std::find(second.begin(), second.end(), box) == second.end(); });
    for (Box& box : first) write(std::move(box));
  }

  void block(const Block& b, Known known) {
    for (const BlockIter& i : b.iters) {
      read(i.extent, known);
      read(i.binding, known);
    }
    if (b.predicate) read(b.predicate, known);
    const Expr predicate = b.predicate ? now(b.predicate) : Expr();
    std::vector<std::pair<const ExprNode*, Expr>> bound;
    for (const BlockIter& i : b.iters) bound.emplace_back(i.var.get(), now(i.binding));
    const bool begins = b.init && begins_with_init(b, predicate);
    for (const auto& [var, binding] : bound) bindings_[var] = binding;
    if (predicate) {
      conditions_.push_back(predicate);
      if (!predicate->has_load) known.assume(predicate);
    }
    const size_t mark = written_.size();
    if (b.init) {
      statement(b.init, known);
      if (!begins) written_.resize(mark);
    }
    statement(b.body, known);
    if (predicate) {
      conditions_.pop_back();
      written_.resize(mark);
    }
    for (const auto& [var, binding] : bound) bindings_.erase(var);
  }

  // Is the first of the block's iterations, for each combination of its spatial iterators, the one
  // with its init? So it is if the loops of the reduction are its alone, in order, begin at 0, and
  // nothing leaves out their first iterations.
  bool begins_with_init(const Block& b, Expr predicate) const {
    std::unordered_set<const ExprNode*> spatial, reduction;
    std::unordered_map<const ExprNode*, Expr> first;
    for (const BlockIter& i : b.iters) {
      for (Expr v : variables(now(i.binding)))
        (i.kind == IterKind::kSpatial ? spatial : reduction).insert(v.get());
    }
    const auto depends = [&](Expr e) {
      const std::vector<Expr> all = variables(e);
      return std::any_of(all.begin(), all.end(), [&](Expr v) { return reduction.contains(v.get()); });
    };
    for (const Around& a : around_) {
      const ExprNode* var = a.loop->var.get();
      if (depends(a.extent)) return false;
      if (!reduction.contains(var)) continue;
      const bool in_order = a.loop->how == ForKind::kSerial || a.loop->how == ForKind::kUnrolled;
      if (!in_order || spatial.contains(var)) return false;
      first[var] = a.extent->pool->integer(0);
    }
    if (std::any_of(conditions_.begin(), conditions_.end(), depends)) return false;
    if (predicate && depends(predicate)) return false;
    return std::all_of(b.iters.begin(), b.iters.end(), [&](const BlockIter& i) {
      return i.kind == IterKind::kSpatial || substitute(now(i.binding), first).is_int(0);
    });
  }

  const Kernel& kernel_;
  std::unordered_set<const Buffer*> inputs_, open_;
  std::vector<Box> written_;
  std::vector<Around> around_;
  std::vector<Expr> conditions_;  // around
  std::unordered_map<const ExprNode*, Expr> bindings_;
};

}  // namespace

std::unordered_set<const Buffer*> not_definitely_assigned(const Kernel& k) { return Flow(k).run(); }

}  // namespace relay::kernel
