#include "kernel/schedule/stage.h"

#include <algorithm>
#include <cmath>

#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

// A perfect nest of serial loops, each bound to one iterator of the block inside, over all of its
// extent; null if it is something else.
const Block* plain_nest(Stmt s) {
  std::vector<const For*> loops;
  while (const auto* f = s->as<For>()) {
    if (f->how != ForKind::kSerial) return nullptr;
    loops.push_back(f);
    s = f->body;
  }
  const auto* b = s->as<Block>();
  if (b == nullptr || b->predicate || b->iters.size() != loops.size()) return nullptr;
  for (size_t i = 0; i < loops.size(); ++i) {
    const BlockIter& iter = b->iters[i];
    const bool whole = iter.binding == loops[i]->var && iter.extent == loops[i]->extent;
    const bool bound = whole || (iter.extent.is_int(1) && iter.binding.is_int(0));
    if (!bound) return nullptr;
  }
  return b;
}

// The store at the end of a block's body, and what is required before it.
const Store* split_requirements(Stmt body, std::vector<Stmt>& requirements) {
  if (const auto* seq = body->as<Seq>()) {
    for (size_t i = 0; i + 1 < seq->body.size(); ++i) {
      if (!seq->body[i]->as<Require>()) return nullptr;
      requirements.push_back(seq->body[i]);
    }
    body = seq->body.back();
  }
  return body->as<Store>();
}

bool loads_own(Expr e, const Buffer* buffer) {
  bool found = false;
  for_each_load(e, [&](const ExprNode* n) { found |= n->buffer == buffer; });
  return found;
}

// Are the indices the first iterators, in order, over the whole buffer, and spatial; and all
// others reductions?
bool own_place(const Block& b, const Store& store) {
  if (b.iters.size() < store.indices.size()) return false;
  for (size_t i = 0; i < b.iters.size(); ++i) {
    const BlockIter& it = b.iters[i];
    if (i >= store.indices.size()) {
      if (it.kind != IterKind::kReduction) return false;
      continue;
    }
    const bool indexed = store.indices[i] == it.var || (it.extent.is_int(1) && store.indices[i].is_int(0));
    if (it.kind != IterKind::kSpatial || !indexed || it.extent != store.buffer->shape[i]) return false;
  }
  return true;
}

// value = so_far < next ? next : so_far, or the other way round?
bool find_choice(Stage& stage, Expr so_far) {
  const Expr v = stage.value;
  if (v->kind != ExprKind::kSelect || v->args[0]->kind != ExprKind::kLess) return false;
  const Expr a = v->args[0]->args[0], b = v->args[0]->args[1], next = v->args[1];
  if (so_far != v->args[2] || loads_own(next, stage.buffer)) return false;
  if (!(a == so_far && b == next) && !(a == next && b == so_far)) return false;
  // Else there is nothing to compare with.
  if (stage.init->kind != ExprKind::kFloat || std::isnan(stage.init->float_value)) return false;
  stage.combine = Combination{a == so_far ? ExprKind::kMax : ExprKind::kMin, /*skips_nan=*/true};
  stage.next = next;
  return true;
}

// value = so_far op next?
void find_combination(Stage& stage, Expr so_far) {
  const Expr v = stage.value;
  if (find_choice(stage, so_far)) return;
  switch (v->kind) {
    case ExprKind::kAdd:
    case ExprKind::kMul:
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kAnd:
    case ExprKind::kOr: break;
    default: return;
  }
  // n-ary sums and products of indices are left as they are: nothing that takes time
  // computes with int64.
  if (v->args.size() != 2) return;
  for (size_t i = 0; i < 2; ++i) {
    const Expr other = v->args[1 - i];
    if (so_far == v->args[i] && !loads_own(other, stage.buffer)) {
      stage.combine = Combination{v->kind};
      stage.next = other;
      return;
    }
  }
}

Stage sequential(Stmt s, const Block* last) {
  Stage stage;
  stage.statement = s;
  if (last != nullptr) {
    stage.name = last->name.str();
    if (!last->writes.empty()) stage.buffer = last->writes[0].buffer;
  }
  return stage;
}

Stage stage_of(ExprPool& pool, Stmt s, const Block* init_block, const Block* block) {
  Stage stage = sequential(s, block);
  if (block == nullptr) return stage;
  std::vector<Stmt> requirements;
  const Store* store = split_requirements(block->body, requirements);
  if (store == nullptr || !own_place(*block, *store)) return stage;
  const size_t rank = store->indices.size();
  const Store* init = nullptr;
  if (block->init) {
    init = block->init->as<Store>();
    if (init == nullptr || init->buffer != store->buffer || !(init->indices == store->indices)) return stage;
  }
  if (init_block) {
    if (block->init || init_block->init || init_block->iters.size() != rank) return stage;
    std::vector<Stmt> none;
    init = split_requirements(init_block->body, none);
    if (init == nullptr || !none.empty() || !own_place(*init_block, *init)) return stage;
  }
  const bool reduces = block->iters.size() > rank;
  if (reduces != (init != nullptr)) return stage;
  if (!reduces && loads_own(store->value, store->buffer)) return stage;

  for (const BlockIter& i : block->iters) {
    (i.kind == IterKind::kSpatial ? stage.spatial : stage.reduction).push_back({i.var, i.extent});
    stage.bounds.bind(i.var, i.extent);
  }
  stage.buffer = store->buffer;
  stage.requirements = requirements;
  stage.value = store->value;
  if (!reduces) {
    stage.kind = StageKind::kCompute;
    return stage;
  }
  // The first value may depend on the place; give it the block's own variables.
  if (init_block) {
    std::unordered_map<const ExprNode*, Expr> by;
    for (size_t i = 0; i < rank; ++i) by[init_block->iters[i].var.get()] = block->iters[i].var;
    stage.init = substitute(init->value, by);
  } else {
    stage.init = init->value;
  }
  const Expr so_far = pool.load(store->buffer, {store->indices.begin(), store->indices.end()});
  // It may load its own tensor only where it writes.
  bool elsewhere = loads_own(stage.init, store->buffer);
  for_each_load(stage.value,
                [&](const ExprNode* n) { elsewhere |= n->buffer == store->buffer && so_far != n; });
  if (elsewhere) return stage;
  stage.kind = StageKind::kReduce;
  find_combination(stage, so_far);
  return stage;
}

}  // namespace

Expr Combination::of(ExprPool& pool, Expr so_far, Expr next) const {
  if (!skips_nan) return pool.make(kind, so_far->dtype, {so_far, next});
  return select(kind == ExprKind::kMax ? less(so_far, next) : less(next, so_far), next, so_far);
}

std::vector<Stage> stages_of(const Kernel& k) {
  ExprPool* pool = pool_of(k);
  if (pool == nullptr) return {};  // no loop, no store: it does nothing
  std::vector<Stmt> items;
  if (const auto* seq = k.body->as<Seq>()) {
    items.assign(seq->body.begin(), seq->body.end());
  } else {
    items.push_back(k.body);
  }
  std::vector<Stage> out;
  for (size_t i = 0; i < items.size(); ++i) {
    const Block* block = plain_nest(items[i]);
    // A nest that starts a tensor and the nest that goes on with it are one stage.
    const Block* next = i + 1 < items.size() ? plain_nest(items[i + 1]) : nullptr;
    if (block && next && !block->writes.empty() && !next->writes.empty() &&
        block->writes[0].buffer == next->writes[0].buffer) {
      out.push_back(stage_of(*pool, make_sequence(pool->arena(), {items[i], items[i + 1]}), block, next));
      ++i;
    } else {
      out.push_back(stage_of(*pool, items[i], nullptr, block));
    }
  }
  return out;
}

}  // namespace relay::kernel::schedule
