#include "kernel/statements.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/cat.h"
#include "base/check.h"
#include "kernel/fields.h"
#include "kernel/polynomial.h"
#include "kernel/simplify.h"

namespace relay::kernel {
namespace {

// Collects one region for each distinct access.
class RegionCollector {
 public:
  RegionCollector(ExprPool& pool, const std::vector<BlockIter>& iters) : pool_(pool) {
    for (const BlockIter& i : iters) bounds_.bind(i.var, i.extent);
  }

  void add(Stmt s) {
    if (s) visit(s, [&](Stmt below) { look_at(below); });
  }
  Regions take() { return std::move(found_); }

 private:
  void look_at(Stmt s) {
    for (Expr e : expressions(s)) {
      for_each_load(e, [&](const ExprNode* n) { add(found_.reads, n->buffer, n->args, false); });
    }
    if (const auto* store = s->as<Store>()) add(found_.writes, store->buffer, store->indices, true);
    // The variables of what stands inside are no iteration variables, so regions must
    // not mention them.
    if (const auto* loop = s->as<For>()) {
      const Expr extent = substitute(loop->extent, inner_block_);
      bounds_.bind(loop->var, extent);
      inner_.emplace_back(loop->var, extent);
    }
    if (const auto* block = s->as<Block>()) {
      for (const BlockIter& i : block->iters) inner_block_[i.var.get()] = substitute(i.binding, inner_block_);
    }
    if (const auto* a = s->as<Allocate>()) own_.insert(a->buffer);
  }

  template <class Indices>
  void add(std::vector<Region>& to, const Buffer* buffer, const Indices& indices, bool writes) {
    if (own_.contains(buffer)) return;
    std::vector<Expr> min, extent;
    for (size_t d = 0; d < indices.size(); ++d) {
      const Expr size = buffer->shape[d];
      const std::optional<Range> range = inside(indices[d], size);
      min.push_back(range ? range->min : pool_.integer(0));
      extent.push_back(range ? range->extent : size);
    }
    // Expressions are interned: equal regions have the same pointers.
    std::vector<const void*> key{buffer, writes ? &found_.writes : &found_.reads};
    for (Expr e : min) key.push_back(e.get());
    for (Expr e : extent) key.push_back(e.get());
    if (known_.insert(std::move(key)).second)
      to.push_back({buffer, pool_.arena().list(min), pool_.arena().list(extent)});
  }
  // Nothing means the whole dim.
  std::optional<Range> inside(Expr index, Expr size) {
    index = substitute(index, inner_block_);
    if (index->has_load) return std::nullopt;
    const bool inner =
        std::any_of(inner_.begin(), inner_.end(), [&](const auto& l) { return mentions(index, l.first); });
    if (inner) {
      const std::optional<Range> range = range_over(index, inner_);
      if (!range || !bounds_.proves_less_equal(pool_.integer(0), range->min) ||
          !bounds_.proves_less_equal(range->min + range->extent, size))
        return std::nullopt;
      return range;
    }
    const bool above = bounds_.proves_less_equal(pool_.integer(0), index),
               below = bounds_.proves_less(index, size);
    if (!above) index = max(index, pool_.integer(0));
    if (!below) index = max(kernel::min(index, size - 1), pool_.integer(0));
    return Range{index, pool_.integer(1)};
  }

  ExprPool& pool_;
  Bounds bounds_;
  std::vector<std::pair<Expr, Expr>> inner_;  // loops within
  std::unordered_map<const ExprNode*, Expr> inner_block_;
  std::unordered_set<const Buffer*> own_;
  std::set<std::vector<const void*>> known_;
  Regions found_;
};

}  // namespace

Stmt make_for(Arena& arena, Expr var, Expr extent, ForKind how, Stmt body) {
  return make_stmt<For>(arena, var, extent, how, body);
}

Stmt make_store(Arena& arena, const Buffer* buffer, const std::vector<Expr>& indices, Expr value) {
  CHECK(indices.size() == buffer->shape.size(), "a store needs one index for each dim");
  CHECK(value->dtype == buffer->dtype, cat("a value of dtype ", value->dtype.name(), " is stored to buffer ",
                                           buffer->name.text(), " of dtype ", buffer->dtype.name()));
  return make_stmt<Store>(arena, buffer, arena.list(indices), value);
}

Stmt make_sequence(Arena& arena, const std::vector<Stmt>& body) {
  std::vector<Stmt> flat;
  for (Stmt s : body) {
    if (s == nullptr || s->as<Nop>()) continue;
    if (const auto* seq = s->as<Seq>()) {
      flat.insert(flat.end(), seq->body.begin(), seq->body.end());
    } else {
      flat.push_back(s);
    }
  }
  if (flat.empty()) return make_nop(arena);
  if (flat.size() == 1) return flat[0];
  return make_stmt<Seq>(arena, arena.list(flat));
}

Stmt make_if(Arena& arena, Expr condition, Stmt then_branch, Stmt else_branch) {
  return make_stmt<If>(arena, condition, then_branch, else_branch);
}
Stmt make_allocate(Arena& arena, const Buffer* buffer, Stmt body) {
  return make_stmt<Allocate>(arena, buffer, body);
}
Stmt make_require(Arena& arena, Expr condition, Symbol message) {
  return make_stmt<Require>(arena, condition, message);
}
Stmt make_prefetch(Arena& arena, const Buffer* buffer, const std::vector<Expr>& indices) {
  CHECK(indices.size() == buffer->shape.size(), "a prefetch needs one index for each dim");
  return make_stmt<Prefetch>(arena, buffer, arena.list(indices));
}
Stmt make_nop(Arena& arena) { return make_stmt<Nop>(arena); }

Stmt make_block(ExprPool& pool, std::string_view name, const std::vector<BlockIter>& iters, Expr predicate,
                Stmt init, Stmt body, Symbol instruction) {
  if (predicate && predicate.is_int(1)) predicate = {};
  const Regions r = derive_regions(pool, iters, init, body);
  Arena& arena = pool.arena();
  return make_stmt<Block>(arena, pool.symbols().intern(name), arena.list(iters), arena.list(r.reads),
                          arena.list(r.writes), predicate, init, body, instruction);
}

std::optional<Range> range_over(Expr index, const std::vector<std::pair<Expr, Expr>>& loops) {
  if (index->has_load) return std::nullopt;
  std::unordered_map<const ExprNode*, Expr> first, last;
  for (const auto& [var, extent] : loops) {
    if (!mentions(index, var)) continue;
    for (const polynomial::Term& t : polynomial::terms(index)) {
      const bool uses =
          std::any_of(t.atoms.begin(), t.atoms.end(), [&](const ExprNode* a) { return mentions(a, var); });
      const bool linear = t.atoms.size() == 1 && var == t.atoms[0] && t.coefficient > 0;
      if (uses && !linear) return std::nullopt;
    }
    first[var.get()] = index->pool->integer(0);
    last[var.get()] = extent - 1;
  }
  const Expr min = substitute(index, first), extent = substitute(index, last) - min + 1;
  for (const auto& [var, unused] : loops) {
    if (mentions(extent, var) || mentions(min, var)) return std::nullopt;
  }
  return Range{min, extent};
}

Regions derive_regions(ExprPool& pool, const std::vector<BlockIter>& iters, Stmt init, Stmt body) {
  RegionCollector collector(pool, iters);
  collector.add(init);
  collector.add(body);
  return collector.take();
}

namespace {

bool exists(const ExprNode* load, const Bounds& bounds) {
  for (size_t d = 0; d < load->args.size(); ++d) {
    const Expr at = load->args[d];
    const Interval range = bounds.of(at);
    if (!range.low || *range.low < 0 || !bounds.proves_less(at, load->buffer->shape[d])) return false;
  }
  return true;
}

}  // namespace

bool protects_loads(const ExprNode* selection, const Bounds& bounds) {
  std::unordered_set<const ExprNode*> loaded;
  for_each_node(selection->args[0], [&](const ExprNode* n) {
    if (n->kind == ExprKind::kSelect || n->kind == ExprKind::kAnd || n->kind == ExprKind::kOr) return false;
    if (n->kind == ExprKind::kLoad) loaded.insert(n);
    return true;
  });
  bool found = false;
  for (size_t i = 1; i < 3; ++i) {
    for_each_load(selection->args[i],
                  [&](const ExprNode* n) { found = found || !(loaded.contains(n) || exists(n, bounds)); });
  }
  return found;
}

Stmt move_elements(ExprPool& pool, Stmt s, const MovedElement& f) {
  const Stmt loads = rewrite_expressions(pool.arena(), s, [&](Expr e) {
    return rewrite_loads(e, [&](const ExprNode* n) -> Expr {
      const std::optional<Element> to = f(n->buffer, {n->args.begin(), n->args.end()});
      return to ? pool.load(to->buffer, to->indices) : Expr();
    });
  });
  return rewrite(pool.arena(), loads, [&](Stmt inner) -> Stmt {
    const auto* store = inner->as<Store>();
    const std::optional<Element> to =
        store ? f(store->buffer, {store->indices.begin(), store->indices.end()}) : std::nullopt;
    return to ? make_store(pool.arena(), to->buffer, to->indices, store->value) : inner;
  });
}

std::vector<const Block*> blocks(Stmt s) {
  std::vector<const Block*> out;
  visit(s, [&](Stmt n) {
    if (const auto* b = n->as<Block>()) out.push_back(b);
  });
  return out;
}

const Block* find_block(Stmt s, std::string_view name) {
  for (const Block* b : blocks(s)) {
    if (b->name == name) return b;
  }
  return nullptr;
}

std::vector<const Buffer*> all_buffers(const Kernel& k) {
  std::vector<const Buffer*> out;
  for (const auto& list : {k.inputs, k.outputs, k.temporaries})
    out.insert(out.end(), list.begin(), list.end());
  visit(k.body, [&](Stmt s) {
    if (const auto* a = s->as<Allocate>()) out.push_back(a->buffer);
  });
  return out;
}

uint32_t next_buffer_id(const Kernel& k) {
  uint32_t id = 0;
  for (const Buffer* b : all_buffers(k)) id = std::max(id, b->id + 1);
  return id;
}

const Buffer* new_buffer(ExprPool& pool, const Kernel& k, std::string_view name, DType dtype,
                         const std::vector<Expr>& shape, Scope scope) {
  std::unordered_set<std::string> names;
  for (const Buffer* b : all_buffers(k)) names.insert(b->name.str());
  std::string unique(name);
  for (int i = 1; names.contains(unique); ++i) unique = cat(name, "_", i);
  Arena& arena = pool.arena();
  return arena.make<Buffer>(next_buffer_id(k), pool.symbols().intern(unique), dtype, arena.list(shape),
                            scope);
}

std::string unused_block_name(Stmt s, std::string_view wanted) {
  std::string unique(wanted);
  for (int i = 1; find_block(s, unique) != nullptr; ++i) unique = cat(wanted, "_", i);
  return unique;
}

ExprPool* pool_of(const Kernel& k) {
  ExprPool* pool = nullptr;
  visit(k.body, [&](Stmt s) {
    for (Expr e : expressions(s)) pool = e->pool;
  });
  return pool;
}

}  // namespace relay::kernel
