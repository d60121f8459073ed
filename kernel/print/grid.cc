#include "kernel/print/grid.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"
#include "kernel/codegen/vectors.h"
#include "kernel/fields.h"
#include "kernel/statements.h"

namespace relay::kernel::print {
namespace {

bool is_thread(const Stmt s) {
  const auto* f = s->as<For>();
  return f && f->how >= ForKind::kThreadX;
}

// Of a buffer: which thread indices its accesses begin with.
struct Use {
  bool in_threads = false;
  bool written_in_threads = false;
  std::optional<std::vector<ForKind>> by = {};
};

void look(Stmt s, const Buffer* buffer, std::vector<const For*>& threads, Use& use) {
  const auto access = [&](std::span<const Expr> indices) {
    use.in_threads |= !threads.empty();
    std::vector<ForKind> by;
    for (Expr i : indices) {
      const auto it = std::find_if(threads.begin(), threads.end(), [&](const For* f) { return f->var == i; });
      if (it == threads.end()) break;
      by.push_back((*it)->how);
    }
    if (!use.by) use.by = by;
    const auto [end, unused] = std::mismatch(use.by->begin(), use.by->end(), by.begin(), by.end());
    use.by->erase(end, use.by->end());
  };
  for (Expr e : expressions(s)) {
    for_each_load(e, [&](const ExprNode* n) {
      if (n->buffer != buffer) return;
      const std::vector<Expr> indices(n->args.begin(), n->args.end());
      access(indices);
    });
  }
  if (const auto* store = s->as<Store>(); store && store->buffer == buffer) {
    use.written_in_threads |= !threads.empty();
    access({store->indices.begin(), store->indices.end()});
  }
  const bool thread = is_thread(s);
  if (thread) threads.push_back(s->as<For>());
  for (Stmt c : children(s)) look(c, buffer, threads, use);
  if (thread) threads.pop_back();
}

Stmt with_pieces(ExprPool& pool, const Allocate& a) {
  Use use;
  std::vector<const For*> threads;
  look(a.body, a.buffer, threads, use);
  if (!use.in_threads) return &a;
  const size_t taken = use.by ? use.by->size() : 0;
  CHECK(taken > 0 || !use.written_in_threads,
        cat("threads share the local buffer ", a.buffer->name.text(), " of a kernel"));
  if (taken == 0) return &a;
  CHECK(a.buffer->strides.empty(), "a buffer with a piece for each thread has strides");
  Arena& arena = pool.arena();
  Buffer piece = *a.buffer;
  std::vector<Expr> shape(piece.shape.begin() + static_cast<std::ptrdiff_t>(taken), piece.shape.end());
  if (shape.empty()) shape.push_back(pool.integer(1));
  piece.shape = arena.list(shape);
  const Buffer* by = arena.make<Buffer>(piece);
  const auto rest = [&](auto indices) {
    std::vector<Expr> out(indices.begin() + static_cast<std::ptrdiff_t>(taken), indices.end());
    if (out.empty()) out.push_back(pool.integer(0));
    return out;
  };
  Stmt body = rewrite_expressions(arena, a.body, [&](Expr e) {
    return rewrite_loads(e, [&](const ExprNode* n) -> Expr {
      return n->buffer == a.buffer ? pool.load(by, rest(n->args)) : Expr();
    });
  });
  body = rewrite(arena, body, [&](Stmt s) -> Stmt {
    const auto* n = s->as<Store>();
    return n && n->buffer == a.buffer ? make_store(arena, by, rest(n->indices), n->value) : s;
  });
  return make_allocate(arena, by, body);
}

Stmt outside_threads(ExprPool& pool, Stmt s) {
  if (is_thread(s)) return s;
  Arena& arena = pool.arena();
  switch (s->kind) {
    case StmtKind::kFor: {
      const auto* n = s->as<For>();
      return with(arena, *n, &For::body, outside_threads(pool, n->body));
    }
    case StmtKind::kSeq: {
      std::vector<Stmt> body;
      for (Stmt c : s->as<Seq>()->body) body.push_back(outside_threads(pool, c));
      return make_sequence(arena, body);
    }
    case StmtKind::kIf: {
      const auto* n = s->as<If>();
      return changed_copy(arena, *n, [&](If& i) {
        i.then_branch = outside_threads(pool, n->then_branch);
        if (n->else_branch) i.else_branch = outside_threads(pool, n->else_branch);
      });
    }
    case StmtKind::kAllocate: {
      const auto* n = s->as<Allocate>();
      const Allocate* inner = with(arena, *n, &Allocate::body, outside_threads(pool, n->body));
      return n->buffer->scope == Scope::kLocal ? with_pieces(pool, *inner) : inner;
    }
    case StmtKind::kBlock:
    case StmtKind::kStore:
    case StmtKind::kPrefetch: return s;
    default: static_assert(others_only_look<For, Block, Store, Seq, If, Allocate, Prefetch>); return s;
  }
}

// A step of a join by `half`: the store, and the loop over rows around it.
struct Step {
  const For* rows = nullptr;
  const For* threads = nullptr;
  const Store* store = nullptr;
};

std::optional<Step> step_of(Stmt s, int64_t half) {
  Step out;
  const auto* f = s->as<For>();
  if (f && f->how >= ForKind::kThreadY) {
    out.rows = f;
    f = f->body->as<For>();
  }
  if (f == nullptr || f->how != ForKind::kThreadX || !f->extent.is_int(half)) return std::nullopt;
  out.threads = f;
  out.store = f->body->as<Store>();
  if (out.store == nullptr || out.store->indices.empty()) return std::nullopt;
  return out;
}

// What `__shfl_down_sync` takes.
bool has_shuffle(DType d) { return d.bits >= 32 && (d.is_int() || d.is_float()); }

}  // namespace

Stmt give_to_threads(ExprPool& pool, Stmt s) { return outside_threads(pool, s); }

std::optional<WarpJoin> find_warp_join(ExprPool& pool, const List<Stmt>& body, size_t first,
                                       const Bounds& bounds) {
  if (body.size() < first + kWarpSteps) return std::nullopt;
  WarpJoin out;
  for (size_t i = 0; i < kWarpSteps; ++i) {
    const int64_t half = target::kWarpThreads / 2 >> i;
    const std::optional<Step> step = step_of(body[first + i], half);
    if (!step) return std::nullopt;
    const Store& store = *step->store;
    if (i == 0) {
      if (!has_shuffle(store.buffer->dtype) || store.buffer->scope != Scope::kShared) return std::nullopt;
      out.rows = step->rows;
      out.buffer = store.buffer;
      out.lane = step->threads->var;
      out.row = step->rows ? Expr(step->rows->var) : Expr();
      out.at.assign(store.indices.begin(), store.indices.end());
      out.mine = pool.variable("mine", store.buffer->dtype);
      out.other = pool.variable("other", store.buffer->dtype);
    }
    if (store.buffer != out.buffer || (step->rows == nullptr) != (out.rows == nullptr)) return std::nullopt;
    if (out.rows && (step->rows->how != out.rows->how || step->rows->extent != out.rows->extent))
      return std::nullopt;
    // In terms of the first step's variables. The last step's thread is always 0.
    std::unordered_map<const ExprNode*, Expr> by{{step->threads->var.get(), out.lane}};
    if (out.rows) by[step->rows->var.get()] = out.row;
    const auto here = [&](Expr offset) { return substitute(offset, by); };
    Bounds inside = bounds;
    const Expr mine = here(codegen::offset_of(*store.buffer, store.indices, inside, pool));
    const Expr expected = codegen::offset_of(*out.buffer, pool.arena().list(out.at), inside, pool);
    const Expr own = half == 1 ? substitute(expected, {{out.lane.get(), pool.integer(0)}}) : expected;
    if (mine != own) return std::nullopt;
    bool known = true;
    const Expr joined = rewrite_loads(store.value, [&](const ExprNode* n) -> Expr {
      if (n->buffer != out.buffer) {
        known = false;
        return {};
      }
      const Expr at = here(codegen::offset_of(*n->buffer, n->args, inside, pool));
      if (at == mine) return out.mine;
      if (at == mine + half) return out.other;
      known = false;
      return {};
    });
    if (!known || mentions(joined, step->threads->var) || (i > 0 && joined != out.joined))
      return std::nullopt;
    if (out.rows && mentions(joined, step->rows->var)) return std::nullopt;
    out.joined = joined;
  }
  return out;
}

}  // namespace relay::kernel::print
