#include "kernel/schedule/primitives/inline.h"

#include <algorithm>

#include "base/cat.h"
#include "kernel/schedule/primitives/primitive.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

Outcome refuse(std::string_view block, std::string_view why) {
  return Outcome::refused(cat("block `", block, "` ", why));
}

}  // namespace

bool operands_change_later(Stmt root, const Block* block) {
  const std::vector<const Block*> all = blocks(root);
  const auto here = std::find(all.begin(), all.end(), block);
  for (const Region& r : block->reads) {
    for (const Block* w : writers(root, r.buffer)) {
      if (std::find(all.begin(), all.end(), w) >= here) return true;
    }
  }
  return false;
}

Stmt inline_loads(ExprPool& pool, Stmt s, const Block& producer) {
  const Store* store = single_store(producer);
  const auto inlined = [&](const ExprNode* load) -> Expr {
    if (load->buffer != store->buffer) return {};
    std::unordered_map<const ExprNode*, Expr> by;
    for (size_t i = 0; i < producer.iters.size(); ++i) by[producer.iters[i].var.get()] = load->args[i];
    return substitute(store->value, by);
  };
  return rewrite(pool.arena(), s, [&](Stmt inner) -> Stmt {
    const auto* b = inner->as<Block>();
    if (b == nullptr) return inner;
    const auto expression = [&](Expr e) { return rewrite_loads(e, inlined); };
    Stmt init = b->init ? rewrite_expressions(pool.arena(), b->init, expression) : nullptr;
    Stmt body = rewrite_expressions(pool.arena(), b->body, expression);
    if (init == b->init && body == b->body) return inner;
    return make_block(pool, b->name.text(), {b->iters.begin(), b->iters.end()}, b->predicate, init, body);
  });
}

Outcome compute_inline(const Kernel& k, std::string_view name) {
  const Block* block = find_block(k.body, name);
  if (block == nullptr) return Outcome::refused(cat("there is no block `", name, "`"));
  if (!is_plain(*block)) return refuse(name, "does not write each element once from its iteration variables");
  const Store* store = single_store(*block);
  if (is_output(k, store->buffer)) return refuse(name, "writes an output");
  if (writers(k.body, store->buffer).size() != 1) return refuse(name, "is not the only writer of its tensor");
  if (operands_change_later(k.body, block)) return refuse(name, "reads what is written later");

  ExprPool& pool = *pool_of(k);
  const Stmt body = remove_block(pool.arena(), k.body, block);
  return with_body(k, simplify(pool, inline_loads(pool, body, *block)));
}

Outcome reverse_compute_inline(const Kernel& k, std::string_view name) {
  const Block* consumer = find_block(k.body, name);
  if (consumer == nullptr) return Outcome::refused(cat("there is no block `", name, "`"));
  if (!is_plain(*consumer))
    return refuse(name, "does not write each element once from its iteration variables");
  const Store* store = single_store(*consumer);

  // The temporary that it reads at its own iteration variables, in their order.
  const Buffer* between = nullptr;
  bool elsewhere = false;
  for_each_load(store->value, [&](const ExprNode* n) {
    const bool temporary =
        std::find(k.temporaries.begin(), k.temporaries.end(), n->buffer) != k.temporaries.end();
    if (!temporary) return;
    for (const Block* reader : readers(k.body, n->buffer)) {  // a reduction reads what it writes
      const auto writes = writers(k.body, n->buffer);
      if (reader != consumer && std::find(writes.begin(), writes.end(), reader) == writes.end()) return;
    }
    const bool same = n->args.size() == store->indices.size() &&
                      std::equal(n->args.begin(), n->args.end(), store->indices.begin(),
                                 [](const ExprNode* a, Expr b) { return a == b.get(); }) &&
                      n->buffer->shape == store->buffer->shape;
    if (between == nullptr) between = n->buffer;
    elsewhere |= !same && n->buffer == between;
  });
  if (between == nullptr) return refuse(name, "is not the only reader of a temporary");
  if (elsewhere) return refuse(name, "reads the temporary at other places than its own");
  const std::vector<const Block*> from = writers(k.body, between);
  if (from.size() != 1) return refuse(name, "reads what several blocks write");
  const Block* producer = from[0];
  const Store* produced = single_store(*producer);
  if (produced == nullptr || producer->init != nullptr ||
      std::any_of(producer->iters.begin(), producer->iters.end(),
                  [](const BlockIter& i) { return i.kind == IterKind::kReduction; })) {
    return refuse(name, "reads what a reduction writes: cache it first");
  }
  for (const Region& r : consumer->reads) {
    const std::vector<const Block*> all = blocks(k.body);
    for (const Block* w : writers(k.body, r.buffer)) {
      if (w != producer &&
          std::find(all.begin(), all.end(), w) > std::find(all.begin(), all.end(), producer)) {
        return refuse(name, "reads what is written after the temporary");
      }
    }
  }

  ExprPool& pool = *pool_of(k);
  std::unordered_map<const ExprNode*, Expr> by;
  for (size_t i = 0; i < consumer->iters.size(); ++i) by[consumer->iters[i].var.get()] = produced->indices[i];
  const Expr value = rewrite_loads(substitute(store->value, by), [&](const ExprNode* n) {
    return n->buffer == between ? produced->value : Expr();
  });
  Stmt merged = make_block(
      pool, name, {producer->iters.begin(), producer->iters.end()}, producer->predicate, nullptr,
      make_store(pool.arena(), store->buffer, {produced->indices.begin(), produced->indices.end()}, value));
  Stmt body = remove_block(pool.arena(), k.body, consumer);
  return with_body(k, simplify(pool, replace(pool.arena(), body, producer, merged)));
}

}  // namespace relay::kernel::schedule::primitives
