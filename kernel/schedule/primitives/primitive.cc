#include "kernel/schedule/primitives/primitive.h"

#include <algorithm>
#include <unordered_set>

#include "base/cat.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

bool find_path(Stmt s, const Block* block, std::vector<Stmt>& path) {
  path.push_back(s);
  if (s == block) return true;
  for (Stmt c : children(s)) {
    if (find_path(c, block, path)) return true;
  }
  path.pop_back();
  return false;
}

bool mentions_buffer(List<Region> regions, const Buffer* buffer) {
  return std::any_of(regions.begin(), regions.end(), [&](const Region& r) { return r.buffer == buffer; });
}

}  // namespace

std::vector<Stmt> path_to(Stmt root, const Block* block) {
  std::vector<Stmt> path;
  find_path(root, block, path);
  return path;
}

std::vector<const For*> loops_around(Stmt root, const Block* block) {
  std::vector<const For*> out;
  for (Stmt s : path_to(root, block)) {
    if (const auto* f = s->as<For>()) out.push_back(f);
    if (s != block && s->as<Block>()) out.clear();
  }
  return out;
}

const For* find_loop(const Kernel& k, const LoopName& name, std::string& reason) {
  const Block* block = find_block(k.body, name.block);
  if (block == nullptr) {
    reason = cat("there is no block `", name.block, "`");
    return nullptr;
  }
  const auto loops = loops_around(k.body, block);
  if (name.depth >= loops.size()) {
    reason = cat("block `", name.block, "` stands in ", loops.size(), " loops, and loop ", name.depth,
                 " was asked for");
    return nullptr;
  }
  return loops[name.depth];
}

std::vector<const For*> perfect_nest(const Kernel& k, const LoopName& name, std::string& reason) {
  if (find_loop(k, name, reason) == nullptr) return {};
  const Block* block = find_block(k.body, name.block);
  std::vector<const For*> loops = loops_around(k.body, block);
  loops.erase(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(name.depth));
  for (size_t i = 0; i < loops.size(); ++i) {
    if (loops[i]->body == (i + 1 < loops.size() ? static_cast<Stmt>(loops[i + 1]) : block)) continue;
    reason = cat("loop `", show(loops[i]->var), "` contains more than one statement");
    return {};
  }
  return loops;
}

const Buffer* find_buffer(const Kernel& k, std::string_view name) {
  for (const Buffer* b : all_buffers(k)) {
    if (b->name == name) return b;
  }
  return nullptr;
}

std::vector<const Block*> outermost_blocks(Stmt s) {
  if (const auto* b = s->as<Block>()) return {b};
  std::vector<const Block*> out;
  for (Stmt c : children(s)) {
    const std::vector<const Block*> below = outermost_blocks(c);
    out.insert(out.end(), below.begin(), below.end());
  }
  return out;
}

Stmt rewrite_outermost_blocks(Arena& arena, Stmt s, const std::function<Stmt(const Block&)>& f) {
  for (const Block* b : outermost_blocks(s)) s = replace(arena, s, b, f(*b));
  return s;
}

// What a block reads and writes stays the same, whatever becomes of the loops in it.
Stmt replace(Arena& arena, Stmt root, Stmt old, Stmt by) {
  return rewrite(arena, root, [&](Stmt s) { return s == old ? by : s; });
}

Stmt remove_block(Arena& arena, Stmt root, const Block* block) {
  const std::vector<Stmt> path = path_to(root, block);
  // The outermost statement that does nothing but run this block.
  Stmt outermost = block;
  for (size_t i = path.size(); i-- > 0;) {
    if (path[i]->as<Seq>()) break;
    outermost = path[i];
  }
  return replace(arena, root, outermost, make_nop(arena));
}

Kernel with_body(const Kernel& k, Stmt body) {
  ExprPool& pool = *pool_of(k);
  std::unordered_set<const Buffer*> used;
  for (const Block* b : blocks(body)) {
    for (const Region& r : b->reads) used.insert(r.buffer);
    for (const Region& r : b->writes) used.insert(r.buffer);
  }
  Kernel out = k;
  std::vector<const Buffer*> temporaries;
  std::unordered_set<const Buffer*> dropped;
  for (const Buffer* t : k.temporaries) {
    if (used.contains(t)) {
      temporaries.push_back(t);
    } else {
      dropped.insert(t);
    }
  }
  if (!dropped.empty()) {
    out.temporaries = pool.arena().list(temporaries);
    body = rewrite(pool.arena(), body, [&](Stmt s) {
      const auto* n = s->as<Prefetch>();
      return n && dropped.contains(n->buffer) ? make_nop(pool.arena()) : s;
    });
  }
  out.body = body;
  return out;
}

Kernel with_buffer(const Kernel& k, const Buffer* old, const Buffer* by,
                   const std::function<std::vector<Expr>(const std::vector<Expr>&)>& f) {
  ExprPool& pool = *pool_of(k);
  Arena& arena = pool.arena();
  const auto index = [&](const std::vector<Expr>& at) { return f ? f(at) : at; };
  const auto list = [&](List<const Buffer*> buffers) {
    std::vector<const Buffer*> out(buffers.begin(), buffers.end());
    std::replace(out.begin(), out.end(), old, by);
    return arena.list(out);
  };
  Kernel out = k;
  out.inputs = list(k.inputs);
  out.outputs = list(k.outputs);
  out.temporaries = list(k.temporaries);
  const Stmt moved = move_elements(
      pool, k.body, [&](const Buffer* b, const std::vector<Expr>& at) -> std::optional<Element> {
        if (b != old) return std::nullopt;
        return Element{by, index(at)};
      });
  out.body = rewrite(arena, moved, [&](Stmt s) -> Stmt {
    if (const auto* n = s->as<Allocate>(); n && n->buffer == old) return make_allocate(arena, by, n->body);
    if (const auto* n = s->as<Prefetch>(); n && n->buffer == old) {
      if (by->scope == Scope::kLocal) return make_nop(arena);
      return make_prefetch(arena, by, index({n->indices.begin(), n->indices.end()}));
    }
    const auto* b = s->as<Block>();
    if (b == nullptr || !(mentions_buffer(b->reads, old) || mentions_buffer(b->writes, old))) return s;
    return make_block(pool, b->name.text(), {b->iters.begin(), b->iters.end()}, b->predicate, b->init,
                      b->body, b->instruction);
  });
  return out;
}

const Store* single_store(const Block& b) { return b.body->as<Store>(); }

bool is_plain(const Block& b) {
  const Store* store = single_store(b);
  if (store == nullptr || b.init != nullptr || b.predicate || b.iters.size() != store->indices.size())
    return false;
  bool reads_itself = false;
  for_each_load(store->value, [&](const ExprNode* n) { reads_itself |= n->buffer == store->buffer; });
  if (reads_itself) return false;
  for (size_t i = 0; i < b.iters.size(); ++i) {
    const BlockIter& it = b.iters[i];
    // An iterator of extent 1 may have been replaced by its only value.
    const bool indexed = store->indices[i] == it.var || (it.extent.is_int(1) && store->indices[i].is_int(0));
    if (it.kind != IterKind::kSpatial || !indexed || it.extent != store->buffer->shape[i]) return false;
  }
  return true;
}

const Block& innermost(const Block& b) {
  Stmt s = b.body;
  while (const auto* f = s->as<For>()) s = f->body;
  const auto* inner = s->as<Block>();
  return inner ? innermost(*inner) : b;
}

bool is_commutative_reduction(const Block& b) {
  const Store* store = single_store(innermost(b));
  if (store == nullptr) return false;
  const Expr v = store->value;
  switch (v->kind) {
    case ExprKind::kAdd:
    case ExprKind::kMul:
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kAnd:
    case ExprKind::kOr: break;
    default: return false;
  }
  const Expr self = v->pool->load(store->buffer, {store->indices.begin(), store->indices.end()});
  size_t as_operand = 0, elsewhere = 0;
  for (const ExprNode* a : v->args) {
    if (self == a) {
      ++as_operand;
    } else {
      for_each_load(a, [&](const ExprNode* n) { elsewhere += n->buffer == store->buffer; });
    }
  }
  return as_operand == 1 && elsewhere == 0;
}

std::vector<const Block*> readers(Stmt root, const Buffer* buffer) {
  std::vector<const Block*> out;
  for (const Block* b : outermost_blocks(root)) {
    if (mentions_buffer(b->reads, buffer)) out.push_back(b);
  }
  return out;
}

std::vector<const Block*> writers(Stmt root, const Buffer* buffer) {
  std::vector<const Block*> out;
  for (const Block* b : outermost_blocks(root)) {
    if (mentions_buffer(b->writes, buffer)) out.push_back(b);
  }
  return out;
}

bool is_temporary(const Kernel& k, const Buffer* buffer) {
  return std::find(k.temporaries.begin(), k.temporaries.end(), buffer) != k.temporaries.end();
}

bool is_output(const Kernel& k, const Buffer* buffer) {
  return std::find(k.outputs.begin(), k.outputs.end(), buffer) != k.outputs.end();
}

Expr divide_up(Expr a, int64_t b) { return floor_div(a + (b - 1), b); }

}  // namespace relay::kernel::schedule::primitives
