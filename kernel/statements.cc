#include "kernel/statements.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/cat.h"
#include "base/check.h"
#include "kernel/polynomial.h"
#include "kernel/simplify.h"

namespace relay::kernel {
namespace {

bool has_load(Expr e) {
  bool found = false;
  for_each_load(e, [&](const ExprNode*) { found = true; });
  return found;
}

// Collects one region for each distinct access.
class RegionCollector {
 public:
  RegionCollector(ExprPool& pool, const std::vector<BlockIter>& iters) : pool_(pool) {
    for (const BlockIter& i : iters) bounds_.bind(i.var, i.extent);
  }

  void statement(Stmt s) {
    if (s == nullptr) return;
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
    for (Stmt c : children(s)) statement(c);
  }
  Regions take() { return std::move(found_); }

 private:
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
    if (has_load(index)) return std::nullopt;
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
  return arena.make<For>(StmtNode{StmtKind::kFor}, var, extent, how, body);
}

Stmt make_store(Arena& arena, const Buffer* buffer, const std::vector<Expr>& indices, Expr value) {
  CHECK(indices.size() == buffer->shape.size(), "a store needs one index for each dim");
  CHECK(value->dtype == buffer->dtype, cat("a value of dtype ", value->dtype.name(), " is stored to buffer ",
                                           buffer->name.text(), " of dtype ", buffer->dtype.name()));
  return arena.make<Store>(StmtNode{StmtKind::kStore}, buffer, arena.list(indices), value);
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
  return arena.make<Seq>(StmtNode{StmtKind::kSeq}, arena.list(flat));
}

Stmt make_if(Arena& arena, Expr condition, Stmt then_branch, Stmt else_branch) {
  return arena.make<If>(StmtNode{StmtKind::kIf}, condition, then_branch, else_branch);
}
Stmt make_allocate(Arena& arena, const Buffer* buffer, Stmt body) {
  return arena.make<Allocate>(StmtNode{StmtKind::kAllocate}, buffer, body);
}
Stmt make_require(Arena& arena, Expr condition, Symbol message) {
  return arena.make<Require>(StmtNode{StmtKind::kRequire}, condition, message);
}
Stmt make_prefetch(Arena& arena, const Buffer* buffer, const std::vector<Expr>& indices) {
  CHECK(indices.size() == buffer->shape.size(), "a prefetch needs one index for each dim");
  return arena.make<Prefetch>(StmtNode{StmtKind::kPrefetch}, buffer, arena.list(indices));
}
Stmt make_nop(Arena& arena) { return arena.make<Nop>(StmtNode{StmtKind::kNop}); }

Stmt make_block(ExprPool& pool, std::string_view name, const std::vector<BlockIter>& iters, Expr predicate,
                Stmt init, Stmt body, Symbol instruction) {
  if (predicate && predicate.is_int(1)) predicate = {};
  const Regions r = derive_regions(pool, iters, init, body);
  Arena& arena = pool.arena();
  return arena.make<Block>(StmtNode{StmtKind::kBlock}, pool.symbols().intern(name), arena.list(iters),
                           arena.list(r.reads), arena.list(r.writes), predicate, init, body, instruction);
}

std::optional<Range> range_over(Expr index, const std::vector<std::pair<Expr, Expr>>& loops) {
  if (has_load(index)) return std::nullopt;
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
  collector.statement(init);
  collector.statement(body);
  return collector.take();
}

std::vector<Stmt> children(Stmt s) {
  switch (s->kind) {
    case StmtKind::kFor: return {s->as<For>()->body};
    case StmtKind::kBlock: {
      const auto* b = s->as<Block>();
      return b->init ? std::vector<Stmt>{b->init, b->body} : std::vector<Stmt>{b->body};
    }
    case StmtKind::kSeq: return {s->as<Seq>()->body.begin(), s->as<Seq>()->body.end()};
    case StmtKind::kIf: {
      const auto* i = s->as<If>();
      return i->else_branch ? std::vector<Stmt>{i->then_branch, i->else_branch}
                            : std::vector<Stmt>{i->then_branch};
    }
    case StmtKind::kAllocate: return {s->as<Allocate>()->body};
    case StmtKind::kStore:
    case StmtKind::kRequire:
    case StmtKind::kPrefetch:
    case StmtKind::kNop: return {};
  }
  return {};
}

std::vector<Expr> expressions(Stmt s) {
  switch (s->kind) {
    case StmtKind::kFor: return {s->as<For>()->extent};
    case StmtKind::kBlock: {
      const auto* b = s->as<Block>();
      std::vector<Expr> out;
      for (const BlockIter& i : b->iters) {
        out.push_back(i.extent);
        out.push_back(i.binding);
      }
      if (b->predicate) out.push_back(b->predicate);
      return out;
    }
    case StmtKind::kStore: {
      const auto* st = s->as<Store>();
      std::vector<Expr> out(st->indices.begin(), st->indices.end());
      out.push_back(st->value);
      return out;
    }
    case StmtKind::kIf: return {s->as<If>()->condition};
    case StmtKind::kRequire: return {s->as<Require>()->condition};
    case StmtKind::kPrefetch: {
      const auto* n = s->as<Prefetch>();
      return {n->indices.begin(), n->indices.end()};
    }
    case StmtKind::kSeq:
    case StmtKind::kAllocate:
    case StmtKind::kNop: return {};
  }
  return {};
}

void visit(Stmt s, const std::function<void(Stmt)>& enter) {
  enter(s);
  for (Stmt c : children(s)) visit(c, enter);
}

Stmt rewrite(Arena& arena, Stmt s, const std::function<Stmt(Stmt)>& f) {
  const auto down = [&](Stmt c) -> Stmt { return c ? rewrite(arena, c, f) : nullptr; };
  Stmt out = s;
  switch (s->kind) {
    case StmtKind::kFor: {
      const auto* n = s->as<For>();
      if (Stmt b = down(n->body); b != n->body) out = make_for(arena, n->var, n->extent, n->how, b);
      break;
    }
    case StmtKind::kBlock: {
      const auto* n = s->as<Block>();
      Stmt init = down(n->init), body = down(n->body);
      if (init != n->init || body != n->body) {
        Block copy = *n;
        copy.init = init;
        copy.body = body;
        out = arena.make<Block>(copy);
      }
      break;
    }
    case StmtKind::kSeq: {
      const auto* n = s->as<Seq>();
      std::vector<Stmt> body;
      for (Stmt c : n->body) body.push_back(down(c));
      if (!std::equal(body.begin(), body.end(), n->body.begin())) out = make_sequence(arena, body);
      break;
    }
    case StmtKind::kIf: {
      const auto* n = s->as<If>();
      Stmt a = down(n->then_branch), b = down(n->else_branch);
      if (a != n->then_branch || b != n->else_branch) out = make_if(arena, n->condition, a, b);
      break;
    }
    case StmtKind::kAllocate: {
      const auto* n = s->as<Allocate>();
      if (Stmt b = down(n->body); b != n->body) out = make_allocate(arena, n->buffer, b);
      break;
    }
    case StmtKind::kStore:
    case StmtKind::kRequire:
    case StmtKind::kPrefetch:
    case StmtKind::kNop: break;
  }
  return f(out);
}

namespace {

List<Expr> map_list(Arena& arena, List<Expr> in, const std::function<Expr(Expr)>& f) {
  std::vector<Expr> out;
  for (Expr e : in) out.push_back(f(e));
  return std::equal(out.begin(), out.end(), in.begin()) ? in : arena.list(out);
}

List<Region> map_regions(Arena& arena, List<Region> in, const std::function<Expr(Expr)>& f) {
  std::vector<Region> out;
  bool changed = false;
  for (const Region& r : in) {
    out.push_back({r.buffer, map_list(arena, r.min, f), map_list(arena, r.extent, f)});
    changed |= out.back().min.data() != r.min.data() || out.back().extent.data() != r.extent.data();
  }
  return changed ? arena.list(out) : in;
}

// The statement with its own expressions mapped.
Stmt map_own(Arena& arena, Stmt s, const std::function<Expr(Expr)>& f) {
  switch (s->kind) {
    case StmtKind::kFor: {
      const auto* n = s->as<For>();
      Expr extent = f(n->extent);
      return extent == n->extent ? s : make_for(arena, n->var, extent, n->how, n->body);
    }
    case StmtKind::kBlock: {
      const auto* n = s->as<Block>();
      Block copy = *n;
      std::vector<BlockIter> iters;
      bool changed = false;
      for (const BlockIter& i : n->iters) {
        iters.push_back({i.var, f(i.extent), i.kind, f(i.binding)});
        changed |= iters.back().extent != i.extent || iters.back().binding != i.binding;
      }
      if (changed) copy.iters = arena.list(iters);
      copy.reads = map_regions(arena, n->reads, f);
      copy.writes = map_regions(arena, n->writes, f);
      if (n->predicate) copy.predicate = f(n->predicate);
      changed |= copy.reads.data() != n->reads.data() || copy.writes.data() != n->writes.data() ||
                 copy.predicate != n->predicate;
      return changed ? arena.make<Block>(copy) : s;
    }
    case StmtKind::kStore: {
      const auto* n = s->as<Store>();
      List<Expr> indices = map_list(arena, n->indices, f);
      Expr value = f(n->value);
      if (indices.data() == n->indices.data() && value == n->value) return s;
      return arena.make<Store>(StmtNode{StmtKind::kStore}, n->buffer, indices, value);
    }
    case StmtKind::kIf: {
      const auto* n = s->as<If>();
      Expr c = f(n->condition);
      return c == n->condition ? s : make_if(arena, c, n->then_branch, n->else_branch);
    }
    case StmtKind::kRequire: {
      const auto* n = s->as<Require>();
      Expr c = f(n->condition);
      return c == n->condition ? s : make_require(arena, c, n->message);
    }
    case StmtKind::kPrefetch: {
      const auto* n = s->as<Prefetch>();
      List<Expr> indices = map_list(arena, n->indices, f);
      if (indices.data() == n->indices.data()) return s;
      return arena.make<Prefetch>(StmtNode{StmtKind::kPrefetch}, n->buffer, indices);
    }
    case StmtKind::kSeq:
    case StmtKind::kAllocate:
    case StmtKind::kNop: return s;
  }
  return s;
}

}  // namespace

Stmt rewrite_expressions(Arena& arena, Stmt s, const std::function<Expr(Expr)>& f) {
  return rewrite(arena, s, [&](Stmt n) { return map_own(arena, n, f); });
}

Stmt substitute(Arena& arena, Stmt s, const std::unordered_map<const ExprNode*, Expr>& by) {
  return rewrite_expressions(arena, s, [&](Expr e) { return substitute(e, by); });
}

Stmt refresh(ExprPool& pool, Stmt s) {
  std::unordered_map<const ExprNode*, Expr> by;
  const auto fresh = [&](Expr v) { by[v.get()] = pool.variable(v->name.text(), v->dtype); };
  visit(s, [&](Stmt n) {
    if (const auto* loop = n->as<For>()) fresh(loop->var);
    if (const auto* block = n->as<Block>()) {
      for (const BlockIter& i : block->iters) fresh(i.var);
    }
  });
  const auto renamed = [&](Expr e) { return substitute(e, by); };
  Arena& arena = pool.arena();
  return rewrite(arena, s, [&](Stmt n) -> Stmt {
    n = map_own(arena, n, renamed);
    if (const auto* loop = n->as<For>())
      return make_for(arena, renamed(loop->var), loop->extent, loop->how, loop->body);
    if (const auto* block = n->as<Block>()) {
      Block copy = *block;
      std::vector<BlockIter> iters(block->iters.begin(), block->iters.end());
      for (BlockIter& i : iters) i.var = renamed(i.var);
      copy.iters = arena.list(iters);
      return arena.make<Block>(copy);
    }
    return n;
  });
}

void for_each_node(Expr e, const std::function<bool(const ExprNode*)>& f) {
  std::unordered_set<const ExprNode*> seen;
  const auto down = [&](auto& self, const ExprNode* n) -> void {
    if (!seen.insert(n).second || !f(n)) return;
    for (const ExprNode* a : n->args) self(self, a);
  };
  down(down, e.get());
}

void for_each_load(Expr e, const std::function<void(const ExprNode*)>& f) {
  std::unordered_set<const ExprNode*> seen;
  const auto down = [&](auto& self, const ExprNode* n) -> void {
    if (!seen.insert(n).second) return;
    for (const ExprNode* a : n->args) self(self, a);
    if (n->kind == ExprKind::kLoad) f(n);
  };
  down(down, e.get());
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

Expr rewrite_loads(Expr e, const std::function<Expr(const ExprNode*)>& f) {
  std::unordered_map<const ExprNode*, Expr> done;
  const auto down = [&](auto& self, const ExprNode* n) -> Expr {
    if (n->args.empty() && n->kind != ExprKind::kLoad) return n;
    if (auto it = done.find(n); it != done.end()) return it->second;
    std::unordered_map<const ExprNode*, Expr> by;
    for (const ExprNode* a : n->args) {
      if (Expr b = self(self, a); b.get() != a) by[a] = b;
    }
    Expr out = n;
    if (!by.empty()) {
      std::vector<Expr> args;
      for (const ExprNode* a : n->args) args.push_back(by.contains(a) ? by[a] : Expr(a));
      ExprPool& pool = *n->pool;
      out = n->kind == ExprKind::kLoad   ? pool.load(n->buffer, args)
            : n->kind == ExprKind::kMath ? pool.math(n->fn, args)
            : n->kind == ExprKind::kCast ? pool.cast(n->dtype, args[0])
                                         : pool.make(n->kind, n->dtype, args);
    }
    if (out->kind == ExprKind::kLoad) {
      if (Expr replaced = f(out.get())) out = replaced;
    }
    done.emplace(n, out);
    return out;
  };
  return down(down, e.get());
}

bool mentions(Expr e, Expr variable) {
  const std::vector<Expr> found = variables(e);
  return std::find(found.begin(), found.end(), variable) != found.end();
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

const Buffer* new_buffer(ExprPool& pool, const Kernel& k, std::string_view name, DType dtype,
                         const std::vector<Expr>& shape, Scope scope) {
  uint32_t id = 0;
  std::unordered_set<std::string> names;
  for (const Buffer* b : all_buffers(k)) {
    id = std::max(id, b->id + 1);
    names.insert(b->name.str());
  }
  std::string unique(name);
  for (int i = 1; names.contains(unique); ++i) unique = cat(name, "_", i);
  return pool.arena().make<Buffer>(id, pool.symbols().intern(unique), dtype, pool.arena().list(shape), scope);
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
