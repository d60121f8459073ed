#include <algorithm>

#include "base/cat.h"
#include "kernel/builder.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

// What changes nothing when it is combined with.
Expr identity(ExprPool& pool, ExprKind combine, DType dtype) {
  Builder b(pool);
  switch (combine) {
    case ExprKind::kMul: return pool.constant(1, dtype);
    case ExprKind::kMin: return b.highest(dtype);
    case ExprKind::kMax: return b.lowest(dtype);
    case ExprKind::kAnd: return pool.integer(1, kBool);
    case ExprKind::kOr: return pool.integer(0, kBool);
    default: return pool.constant(0, dtype);
  }
}

// The operand of the combination that is not the element itself.
Expr next_of(Expr value, Expr self) {
  if (value->kind == ExprKind::kAdd && value->dtype == kInt64) return value - self;
  if (value->args.size() != 2) return {};
  return self == value->args[0] ? value->args[1] : value->args[0];
}

Expr combine(ExprKind kind, Expr a, Expr b) { return a->pool->make(kind, a->dtype, {a, b}); }

Stmt nest(Arena& arena, const std::vector<Expr>& vars, const std::vector<Expr>& extents, Stmt body) {
  for (size_t i = vars.size(); i-- > 0;) body = make_for(arena, vars[i], extents[i], ForKind::kSerial, body);
  return body;
}

// Loops and iterators over all of `extents`.
struct Space {
  std::vector<Expr> loops, extents;
  std::vector<BlockIter> iters;
  std::vector<Expr> at;  // the iteration variables

  void add(ExprPool& pool, std::string_view name, Expr extent, IterKind kind) {
    loops.push_back(pool.variable(name));
    extents.push_back(extent);
    at.push_back(pool.variable(cat("v", name)));
    iters.push_back({at.back(), extent, kind, loops.back()});
  }
};

// A block that reduces, and one of its loops, which is to become a dim of partial results.
class Factored {
 public:
  Factored(const Kernel& k, const Block& block, const std::vector<const For*>& loops, const For& loop)
      : k_(k),
        block_(block),
        loops_(loops),
        loop_(loop),
        pool_(*pool_of(k)),
        arena_(pool_.arena()),
        real_(pool_.integer(1, kBool)),
        spatial_predicate_(real_) {}

  // Each of these returns why there are no partial results, or an empty text. In this order.
  std::string find_reduction();
  std::string find_place();
  std::string wrong_loop() const;
  std::string find_step();
  std::string find_iterators();
  std::string split_predicate();

  Outcome write();

 private:
  std::string_view name() const { return block_.name.text(); }
  Stmt write_partial(const Buffer* partial) const;
  Stmt write_result(const Buffer* partial) const;

  const Kernel& k_;
  const Block& block_;
  const std::vector<const For*>& loops_;
  const For& loop_;
  ExprPool& pool_;
  Arena& arena_;
  const Store* store_ = nullptr;
  const Store* init_ = nullptr;
  std::vector<const BlockIter*> spatial_;  // one for each dim that is written
  Expr next_;                              // what a step combines with the result so far
  Expr factored_;                          // the iterator of the loop
  std::vector<BlockIter> iters_;           // of the block of partial results
  std::unordered_map<const ExprNode*, Expr> of_loop_, of_iter_;
  // Steps beyond the end, where the loops were split, are done as well: `real_` is false in them.
  Expr real_, spatial_predicate_;
};

std::string Factored::find_reduction() {
  store_ = single_store(block_);
  init_ = block_.init ? block_.init->as<Store>() : nullptr;
  if (store_ == nullptr || init_ == nullptr || !is_commutative_reduction(block_))
    return cat("block `", name(), "` is no sum, product, minimum or maximum with its init");
  if (writers(k_.body, store_->buffer).size() != 1)
    return cat("several blocks write `", store_->buffer->name.text(), "`");
  return {};
}

// The place that is written: spatial iterators, each a dim of its own and over all of it.
std::string Factored::find_place() {
  for (Expr index : store_->indices) {
    const auto it = std::find_if(block_.iters.begin(), block_.iters.end(), [&](const BlockIter& i) {
      return i.var == index && i.kind == IterKind::kSpatial &&
             i.extent == store_->buffer->shape[spatial_.size()];
    });
    const bool again =
        std::any_of(spatial_.begin(), spatial_.end(), [&](auto* s) { return s->var == index; });
    if (it == block_.iters.end() || again)
      return cat("block `", name(), "` does not write each element by an iterator for each dim");
    spatial_.push_back(it);
  }
  return {};
}

std::string Factored::wrong_loop() const {
  bool reduces = false;
  for (const BlockIter& i : block_.iters) {
    if (!mentions(i.binding, loop_.var)) continue;
    reduces |= i.kind == IterKind::kReduction;
    if (i.kind == IterKind::kSpatial)
      return cat("loop `", show(loop_.var), "` is not of the reduction alone");
  }
  if (!reduces) return cat("block `", name(), "` does not reduce over `", show(loop_.var), "`");
  for (Expr v : variables(loop_.extent)) {
    if (!v->shape_variable) return cat("the extent of `", show(loop_.var), "` depends on the loops around");
  }
  return {};
}

std::string Factored::find_step() {
  next_ =
      next_of(store_->value, pool_.load(store_->buffer, {store_->indices.begin(), store_->indices.end()}));
  return next_ ? "" : cat("block `", name(), "` combines more than two values");
}

// The other reduction loops get an iterator each; the block's own are sums of these.
std::string Factored::find_iterators() {
  factored_ = pool_.variable(loop_.var->name.text());
  iters_.push_back({factored_, loop_.extent, IterKind::kSpatial, loop_.var});
  of_loop_[loop_.var.get()] = factored_;
  for (const BlockIter& i : block_.iters) {
    if (i.kind == IterKind::kSpatial) {
      iters_.push_back(i);
      continue;
    }
    for (const For* f : loops_) {
      if (f == &loop_ || !mentions(i.binding, f->var) || of_loop_.contains(f->var.get())) continue;
      for (const BlockIter& s : block_.iters) {
        if (s.kind == IterKind::kSpatial && mentions(s.binding, f->var))
          return cat("loop `", show(f->var), "` is spatial and a reduction");
      }
      const Expr var = pool_.variable(f->var->name.text());
      iters_.push_back({var, f->extent, IterKind::kReduction, f->var});
      of_loop_[f->var.get()] = var;
    }
    of_iter_[i.var.get()] = substitute(i.binding, of_loop_);
  }
  // It stays a reduction, if only of one step.
  if (std::none_of(iters_.begin(), iters_.end(),
                   [](const BlockIter& i) { return i.kind == IterKind::kReduction; }))
    iters_.push_back({pool_.variable("step"), pool_.integer(1), IterKind::kReduction, pool_.integer(0)});
  return {};
}

std::string Factored::split_predicate() {
  if (!block_.predicate) return {};
  for (Expr condition : conjuncts(block_.predicate)) {
    const std::vector<Expr> all = variables(condition);
    const auto of_reduction = [&](Expr v) { return of_loop_.contains(v.get()); };
    if (std::none_of(all.begin(), all.end(), of_reduction)) {
      spatial_predicate_ = logical_and(spatial_predicate_, condition);
    } else if (std::all_of(all.begin(), all.end(),
                           [&](Expr v) { return v->shape_variable || of_reduction(v); })) {
      real_ = logical_and(real_, substitute(condition, of_loop_));
    } else {
      return cat("the predicate of block `", name(), "` mixes the reduction with other loops");
    }
  }
  return {};
}

Outcome Factored::write() {
  std::vector<Expr> shape{loop_.extent};  // the loop's iteration first
  shape.insert(shape.end(), store_->buffer->shape.begin(), store_->buffer->shape.end());
  const Buffer* partial = new_buffer(pool_, k_, cat(store_->buffer->name.text(), "_rf"),
                                     store_->buffer->dtype, shape, Scope::kGlobal);
  Stmt steps = replace(arena_, loops_.front(), &block_, write_partial(partial));
  Stmt both = make_sequence(arena_, {steps, write_result(partial)});
  Kernel out = k_;
  std::vector<const Buffer*> temporaries(k_.temporaries.begin(), k_.temporaries.end());
  temporaries.push_back(partial);
  out.temporaries = arena_.list(temporaries);
  return with_body(out, simplify(pool_, replace(arena_, k_.body, loops_.front(), both)));
}

// A step that is not real changes nothing.
Stmt Factored::write_partial(const Buffer* partial) const {
  const ExprKind how = store_->value->kind;
  std::vector<Expr> place{factored_};
  place.insert(place.end(), store_->indices.begin(), store_->indices.end());
  const Expr so_far = pool_.load(partial, place), nothing = identity(pool_, how, partial->dtype);
  const Expr step = select(real_, substitute(next_, of_iter_), nothing);
  return make_block(pool_, unused_block_name(k_.body, cat(name(), "_rf")), iters_, spatial_predicate_,
                    make_store(arena_, partial, place, nothing),
                    make_store(arena_, partial, place, combine(how, so_far, step)));
}

Stmt Factored::write_result(const Buffer* partial) const {
  Space last;
  for (size_t d = 0; d < spatial_.size(); ++d)
    last.add(pool_, cat("i", d), store_->buffer->shape[d], IterKind::kSpatial);
  const std::vector<Expr> at = last.at;
  last.add(pool_, "r", loop_.extent, IterKind::kReduction);
  std::vector<Expr> from{last.at.back()};
  from.insert(from.end(), at.begin(), at.end());
  std::unordered_map<const ExprNode*, Expr> own;
  for (size_t d = 0; d < spatial_.size(); ++d) own[spatial_[d]->var.get()] = at[d];
  const Expr all = combine(store_->value->kind, pool_.load(store_->buffer, at), pool_.load(partial, from));
  return nest(arena_, last.loops, last.extents,
              make_block(pool_, name(), last.iters, {},
                         make_store(arena_, store_->buffer, at, substitute(init_->value, own)),
                         make_store(arena_, store_->buffer, at, all)));
}

}  // namespace

Outcome rfactor(const Kernel& k, const LoopName& name) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  const Block* block = find_block(k.body, name.block);
  const std::vector<const For*> loops = perfect_nest(k, {name.block, 0}, reason);
  if (loops.empty()) return Outcome::refused(reason);
  Factored factored(k, *block, loops, *loop);
  reason = factored.find_reduction();
  if (reason.empty()) reason = factored.find_place();
  if (reason.empty()) reason = factored.wrong_loop();
  if (reason.empty()) reason = factored.find_step();
  if (reason.empty()) reason = factored.find_iterators();
  if (reason.empty()) reason = factored.split_predicate();
  return reason.empty() ? factored.write() : Outcome::refused(reason);
}

}  // namespace relay::kernel::schedule::primitives
