#include "kernel/schedule/writer.h"

#include <algorithm>

#include "base/cat.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {

Writer::Writer(const Kernel& k) : pool_(*pool_of(k)), next_buffer_(next_buffer_id(k)) {
  for (const Buffer* b : all_buffers(k)) names_.insert(b->name.str());
}

const Buffer* Writer::local(std::string_view name, DType dtype, std::vector<Expr> shape) {
  return buffer(name, dtype, shape, Scope::kLocal);
}
const Buffer* Writer::shared(std::string_view name, DType dtype, std::vector<Expr> shape) {
  return buffer(name, dtype, shape, Scope::kShared);
}
const Buffer* Writer::temporary(std::string_view name, DType dtype, std::vector<Expr> shape) {
  temporaries_.push_back(buffer(name, dtype, shape, Scope::kGlobal));
  return temporaries_.back();
}

const Buffer* Writer::buffer(std::string_view name, DType dtype, const std::vector<Expr>& shape,
                             Scope scope) {
  std::string unique(name);
  for (int i = 1; !names_.insert(unique).second; ++i) unique = cat(name, "_", i);
  Arena& arena = pool_.arena();
  return arena.make<Buffer>(next_buffer_++, pool_.symbols().intern(unique), dtype, arena.list(shape), scope);
}

Stmt Writer::around(const std::vector<Binding>& places, const std::function<Stmt()>& body) {
  const size_t before = places_.size();
  places_.insert(places_.end(), places.begin(), places.end());
  Stmt s = body();
  places_.resize(before);
  return s;
}

Expr Writer::here(Expr e) const {
  std::unordered_map<const ExprNode*, Expr> by;
  for (const Binding& b : places_) by[b.axis.var.get()] = b.value;
  return substitute(e, by);
}

Stmt Writer::block(std::string_view name, const std::vector<Binding>& bindings, Stmt body) {
  std::string unique(name);
  for (int i = 1; !names_.insert("block " + unique).second; ++i) unique = cat(name, "_", i);
  std::unordered_set<const ExprNode*> used;
  visit(body, [&](Stmt s) {
    for (Expr e : expressions(s)) {
      for (Expr v : variables(e)) used.insert(v.get());
    }
  });
  std::vector<BlockIter> iters;
  std::unordered_map<const ExprNode*, Expr> fresh;
  std::vector<Binding> all = bindings;
  all.insert(all.end(), places_.begin(), places_.end());
  for (const Binding& b : all) {
    // Each iteration of a reduction is a step of its own, also where all add the same.
    const bool counts = b.kind == IterKind::kReduction && !b.axis.extent.is_int(1);
    if (!counts && !used.contains(b.axis.var.get())) continue;
    const Expr var = pool_.variable(b.axis.var->name.text());
    fresh[b.axis.var.get()] = var;
    iters.push_back({var, b.axis.extent, b.kind, b.value});
  }
  return make_block(pool_, unique, iters, {}, nullptr, substitute(pool_.arena(), body, fresh));
}

Stmt Writer::store(const Buffer* buffer, const std::vector<Expr>& indices, Expr value) {
  return make_store(pool_.arena(), buffer, indices, value);
}
Stmt Writer::allocate(const Buffer* buffer, Stmt body) { return make_allocate(pool_.arena(), buffer, body); }
Stmt Writer::sequence(const std::vector<Stmt>& body) { return make_sequence(pool_.arena(), body); }

Stmt Writer::choose(Expr condition, Stmt then_branch, Stmt else_branch) {
  if (condition->kind == ExprKind::kInt) {
    return condition->int_value ? then_branch : else_branch ? else_branch : make_nop(pool_.arena());
  }
  return make_if(pool_.arena(), condition, then_branch, else_branch);
}

Stmt Writer::loop(ForKind how, std::string_view name, Expr extent, const std::function<Stmt(Expr)>& body) {
  if (extent.is_int(1)) return body(index(0));
  if (extent.is_int(0)) return make_nop(pool_.arena());
  const Expr v = variable(name);
  return make_for(pool_.arena(), v, extent, how, body(v));
}

Stmt Writer::loops(ForKind how, std::string_view name, const std::vector<Expr>& extents,
                   const std::function<Stmt(const std::vector<Expr>&)>& body) {
  std::vector<Expr> at;
  const auto down = [&](auto& self) -> Stmt {
    if (at.size() == extents.size()) return body(at);
    return loop(how, cat(name, at.size()), extents[at.size()], [&](Expr v) {
      at.push_back(v);
      Stmt inner = self(self);
      at.pop_back();
      return inner;
    });
  };
  return down(down);
}

Stmt Writer::fused(ForKind how, std::string_view name, const std::vector<Expr>& extents,
                   const std::function<Stmt(const std::vector<Expr>&)>& body) {
  return loop(how, name, product(pool_, extents), [&](Expr v) { return body(unflatten(v, extents)); });
}

std::vector<Expr> unflatten(Expr flat, const std::vector<Expr>& extents) {
  std::vector<Expr> at(extents.size());
  for (size_t d = extents.size(); d-- > 0;) {
    if (d == 0) {
      at[d] = flat;
    } else if (extents[d].is_int(1)) {
      at[d] = flat->pool->integer(0);
    } else {
      at[d] = floor_mod(flat, extents[d]);
      flat = floor_div(flat, extents[d]);
    }
  }
  return at;
}

Expr product(ExprPool& pool, const std::vector<Expr>& extents) {
  Expr total = pool.integer(1);
  for (Expr e : extents) total = total * e;
  return total;
}

}  // namespace relay::kernel::schedule
