#include <algorithm>
#include <unordered_map>

#include "base/cat.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

// Is the value zero wherever all that it loads is zero?
bool vanishes(Expr value) {
  std::unordered_map<const ExprNode*, bool> zero;
  const auto is_zero = [&](const ExprNode* n) { return zero.at(n); };
  for (const ExprNode* n : post_order(value)) {
    bool& out = zero[n] = n->kind == ExprKind::kLoad;
    if (n->kind == ExprKind::kMul) out = std::any_of(n->args.begin(), n->args.end(), is_zero);
    if (n->kind == ExprKind::kAdd || n->kind == ExprKind::kCast)
      out = std::all_of(n->args.begin(), n->args.end(), is_zero);
  }
  return zero.at(value.get());
}

// A copy between a buffer and its padded twin, or the other way: a plain nest over `shape`.
Stmt copy_nest(ExprPool& pool, std::string_view name, const Buffer* to,
               const std::function<Expr(const std::vector<Expr>&)>& f) {
  Arena& arena = pool.arena();
  std::vector<BlockIter> iters;
  std::vector<Expr> at;
  for (size_t d = 0; d < to->shape.size(); ++d) {
    at.push_back(pool.variable(cat("vi", d)));
    iters.push_back({at[d], to->shape[d], IterKind::kSpatial, pool.variable(cat("i", d))});
  }
  Stmt nest = make_block(pool, name, iters, {}, nullptr, make_store(arena, to, at, f(at)));
  for (size_t d = at.size(); d-- > 0;)
    nest = make_for(arena, iters[d].binding, to->shape[d], ForKind::kSerial, nest);
  return nest;
}

// Why the factors do not fit the block, or the block is no plain sum; empty if all is well.
std::string wrong_form(const Kernel& k, const Block& block, const std::vector<const For*>& loops,
                       const std::vector<int64_t>& factors) {
  const std::string_view name = block.name.text();
  if (factors.size() != block.iters.size())
    return cat("block `", name, "` has ", block.iters.size(), " iterators, and ", factors.size(),
               " factors were given");
  for (int64_t f : factors) {
    if (f < 1 || f > kMostAlignment)
      return cat("an extent cannot be a multiple of ", f, " (at most ", kMostAlignment, ")");
  }
  const bool plain_loops =
      loops.size() == block.iters.size() && !block.predicate &&
      std::equal(loops.begin(), loops.end(), block.iters.begin(), [](const For* f, const BlockIter& i) {
        return i.binding == f->var && f->extent == i.extent && f->how == ForKind::kSerial;
      });
  std::string ignored;
  if (!plain_loops || perfect_nest(k, {std::string(name), 0}, ignored).empty())
    return cat("block `", name, "` does not stand in one serial loop for each iterator");
  const Store* store = single_store(block);
  const auto* init = block.init ? block.init->as<Store>() : nullptr;
  if (store == nullptr || init == nullptr || store->value->kind != ExprKind::kAdd ||
      !is_commutative_reduction(block))
    return cat("block `", name, "` is no sum with its init");
  if (writers(k.body, store->buffer).size() != 1)
    return cat("several blocks write `", store->buffer->name.text(), "`");
  return {};
}

// A sum of the right form, and padded twins of its tensors.
class PaddedSum {
 public:
  PaddedSum(const Kernel& k, const Block& block, const std::vector<int64_t>& factors)
      : out_(k),
        block_(block),
        factors_(factors),
        store_(*single_store(block)),
        pool_(*pool_of(k)),
        self_(pool_.load(store_.buffer, {store_.indices.begin(), store_.indices.end()})) {
    for (size_t i = 0; i < block.iters.size(); ++i) number_[block.iters[i].var.get()] = i;
  }

  // Returns why zeros would change the sum, or an empty text.
  std::string cannot_pad() {
    if (!at_iterators(store_.buffer, store_.indices))
      return cat("block `", block_.name.text(), "` does not write at its iterators");
    for (const ExprNode* a : store_.value->args) {
      if (self_ != a && !vanishes(a))
        return cat("what block `", block_.name.text(), "` sums up is no product of elements");
    }
    std::string reason;
    for_each_operand([&](const ExprNode* n) {
      if (std::string wrong = cannot_pad(*n); !wrong.empty()) reason = wrong;
      if (twins_.emplace(n->buffer, nullptr).second) order_.push_back(n->buffer);
    });
    return reason;
  }

  // Makes the twins, as far as tensors need one. Returns what stands in the way, or an empty text.
  std::string make_twins() {
    bool twice = false;
    for_each_operand([&](const ExprNode* n) {
      const Buffer*& t = twins_[n->buffer];
      if (t == nullptr) {
        t = twin(n->buffer, n->args);
        return;
      }
      for (size_t d = 0; d < n->args.size(); ++d)
        twice |= t->shape[d] != (t == n->buffer ? n->buffer->shape[d] : extent(number_.at(n->args[d])));
    });
    if (twice)
      return cat("block `", block_.name.text(), "` reads an operand at iterators with different factors");
    result_ = twin(store_.buffer, store_.indices);
    return {};
  }

  // The kernel with the padded sum in the place of the block's outermost loop.
  Outcome write(const std::vector<const For*>& loops) const {
    std::vector<Stmt> parts;
    for (const Buffer* b : order_) {
      if (twins_.at(b) != b) parts.push_back(pad(b, twins_.at(b)));
    }
    parts.push_back(sum(loops));
    if (result_ != store_.buffer) {
      const std::string name = unused_block_name(out_.body, cat(block_.name.text(), "_crop"));
      parts.push_back(copy_nest(pool_, name, store_.buffer,
                                [&](const std::vector<Expr>& at) { return pool_.load(result_, at); }));
    }
    Arena& arena = pool_.arena();
    const Stmt body = replace(arena, out_.body, loops.front(), make_sequence(arena, parts));
    return with_body(out_, simplify(pool_, body));
  }

 private:
  template <class F>
  void for_each_operand(const F& f) const {
    for_each_load(store_.value, [&](const ExprNode* n) {
      if (self_ != n) f(n);
    });
  }

  // Is every access at iterators, one for each dim and over all of it?
  template <class Indices>
  bool at_iterators(const Buffer* b, const Indices& indices) const {
    for (size_t d = 0; d < indices.size(); ++d) {
      const auto it = number_.find(Expr(indices[d]).get());
      if (it == number_.end() || block_.iters[it->second].extent != b->shape[d]) return false;
    }
    return true;
  }

  std::string cannot_pad(const ExprNode& load) const {
    std::string reason;
    if (!at_iterators(load.buffer, load.args))
      reason = cat("`", load.buffer->name.text(), "` is not read at iterators");
    for (size_t i = 0; i < factors_.size(); ++i) {
      const BlockIter& it = block_.iters[i];
      const bool padded = !floor_mod(it.extent, factors_[i]).is_int(0);
      // Elsewhere a zero would meet what may be an infinity.
      if (padded && it.kind == IterKind::kReduction &&
          std::find(load.args.begin(), load.args.end(), it.var.get()) == load.args.end())
        reason = cat("`", load.buffer->name.text(), "` has no dim for `", show(it.var),
                     "`, which would be padded");
    }
    return reason;
  }

  Expr extent(size_t i) const { return divide_up(block_.iters[i].extent, factors_[i]) * factors_[i]; }

  template <class Indices>
  const Buffer* twin(const Buffer* b, const Indices& indices) {
    std::vector<Expr> shape;
    for (size_t d = 0; d < indices.size(); ++d) shape.push_back(extent(number_.at(Expr(indices[d]).get())));
    if (std::equal(shape.begin(), shape.end(), b->shape.begin())) return b;
    const Buffer* made =
        new_buffer(pool_, out_, cat(b->name.text(), "_pad"), b->dtype, shape, Scope::kGlobal);
    std::vector<const Buffer*> all(out_.temporaries.begin(), out_.temporaries.end());
    all.push_back(made);
    out_.temporaries = pool_.arena().list(all);
    return made;
  }

  // Copies the tensor to its twin, with zeros around.
  Stmt pad(const Buffer* b, const Buffer* padded) const {
    const std::string name = unused_block_name(out_.body, padded->name.text());
    return copy_nest(pool_, name, padded, [&](const std::vector<Expr>& at) {
      Expr inside = pool_.integer(1, kBool);
      for (size_t d = 0; d < at.size(); ++d) {
        if (b->shape[d] != padded->shape[d]) inside = logical_and(inside, less(at[d], b->shape[d]));
      }
      return select(inside, pool_.load(b, at), pool_.constant(0, b->dtype));
    });
  }

  // The block over the twins.
  Stmt sum(const std::vector<const For*>& loops) const {
    Arena& arena = pool_.arena();
    std::vector<BlockIter> iters(block_.iters.begin(), block_.iters.end());
    for (size_t i = 0; i < iters.size(); ++i) iters[i].extent = extent(i);
    const Expr value = rewrite_loads(store_.value, [&](const ExprNode* n) -> Expr {
      const std::vector<Expr> at(n->args.begin(), n->args.end());
      return pool_.load(self_ == n ? result_ : twins_.at(n->buffer), at);
    });
    const std::vector<Expr> place(store_.indices.begin(), store_.indices.end());
    Stmt nest = make_block(pool_, block_.name.text(), iters, {},
                           make_store(arena, result_, place, block_.init->as<Store>()->value),
                           make_store(arena, result_, place, value));
    for (size_t i = loops.size(); i-- > 0;)
      nest = make_for(arena, loops[i]->var, iters[i].extent, ForKind::kSerial, nest);
    return nest;
  }

  Kernel out_;  // with the twins among its temporaries
  const Block& block_;
  const std::vector<int64_t>& factors_;
  const Store& store_;
  ExprPool& pool_;
  const Expr self_;                                         // the sum so far
  std::unordered_map<const ExprNode*, size_t> number_;      // of the iterators
  std::unordered_map<const Buffer*, const Buffer*> twins_;  // of operands
  std::vector<const Buffer*> order_;                        // of the operands
  const Buffer* result_ = nullptr;
};

}  // namespace

Outcome pad_einsum(const Kernel& k, std::string_view name, const std::vector<int64_t>& factors) {
  const Block* block = find_block(k.body, name);
  if (block == nullptr) return Outcome::refused(cat("there is no block `", name, "`"));
  const std::vector<const For*> loops = loops_around(k.body, block);
  std::string wrong = wrong_form(k, *block, loops, factors);
  if (!wrong.empty()) return Outcome::refused(wrong);
  PaddedSum padded(k, *block, factors);
  wrong = padded.cannot_pad();
  if (wrong.empty()) wrong = padded.make_twins();
  return wrong.empty() ? padded.write(loops) : Outcome::refused(wrong);
}

}  // namespace relay::kernel::schedule::primitives
