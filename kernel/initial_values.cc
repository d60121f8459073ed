#include "kernel/initial_values.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/cat.h"
#include "kernel/definite_assignment.h"
#include "kernel/fields.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

using Values = std::unordered_map<const ExprNode*, Expr>;

bool depends_on(Expr e, const std::unordered_set<const ExprNode*>& on) {
  const std::vector<Expr> all = variables(e);
  return std::any_of(all.begin(), all.end(), [&](Expr v) { return on.contains(v.get()); });
}

// The variables of the loops that the block's iterators of this kind are bound to.
std::unordered_set<const ExprNode*> bound_to(const Block& b, IterKind kind) {
  std::unordered_set<const ExprNode*> out;
  for (const BlockIter& i : b.iters) {
    if (i.kind != kind) continue;
    for (Expr v : variables(i.binding)) out.insert(v.get());
  }
  return out;
}

// Names of blocks: schedules find a block by its name.
class Names {
 public:
  explicit Names(Stmt body) {
    for (const Block* b : blocks(body)) taken_.insert(b->name.str());
  }
  std::string unused(std::string_view wanted) {
    std::string name(wanted);
    for (int i = 1; !taken_.insert(name).second; ++i) name = cat(wanted, "_", i);
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
};

// A block with an init, and what stands between it and a loop of its reduction.
struct Reduction {
  const Block* block;
  std::vector<const For*> loops;
  std::vector<Expr> conditions;
};

class Inits {
 public:
  Inits(const Kernel& k, ExprPool& pool, Names& names)
      : kernel_(k), pool_(pool), arena_(pool.arena()), names_(names) {}

  Stmt run() {
    std::vector<Stmt> items{kernel_.body}, out;
    if (const auto* seq = kernel_.body->as<Seq>()) items.assign(seq->body.begin(), seq->body.end());
    bool differs = false;
    Bounds known;
    for (Stmt s : items) {
      const std::optional<std::vector<Stmt>> two = in_two(s, known);
      if (two) {
        out.insert(out.end(), two->begin(), two->end());
      } else {
        out.push_back(statement(s, known));
      }
      differs |= two || out.back() != s;
      if (const auto* r = s->as<Require>()) assume(r->condition, known);
    }
    return differs ? make_sequence(arena_, out) : kernel_.body;
  }

 private:
  bool runs(Expr extent, const Bounds& known) const { return known.proves_less(pool_.integer(0), extent); }
  static void assume(Expr condition, Bounds& known) {
    if (!condition->has_load) known.assume(condition);
  }
  std::string init_name(const Block& b) const { return names_.unused(cat(b.name.text(), "_init")); }

  // A nest of serial loops around one reduction, each loop with an iterator of its own: first its
  // inits, then its steps.
  std::optional<std::vector<Stmt>> in_two(Stmt nest, const Bounds& known) const {
    std::vector<const For*> loops;
    Stmt s = nest;
    for (const For* f = s->as<For>(); f != nullptr; s = f->body, f = s->as<For>()) {
      if (f->how != ForKind::kSerial) return std::nullopt;
      loops.push_back(f);
    }
    const auto* b = s->as<Block>();
    if (b == nullptr || b->init == nullptr || b->predicate || !goes_on(*b)) return std::nullopt;
    std::vector<const For*> outer;
    std::vector<BlockIter> spatial;
    bool all_run = true;
    for (const For* f : loops) {
      const BlockIter* own = nullptr;
      for (const BlockIter& i : b->iters) {
        if (!mentions(i.binding, f->var)) continue;
        if (own || i.binding != f->var) return std::nullopt;
        own = &i;
      }
      for (const For* other : loops) {
        if (mentions(f->extent, other->var)) return std::nullopt;
      }
      if (own == nullptr) return std::nullopt;
      if (own->kind == IterKind::kReduction) {
        all_run &= runs(f->extent, known);
      } else {
        outer.push_back(f);
      }
    }
    if (all_run) return std::nullopt;
    Values first;
    for (const BlockIter& i : b->iters) {
      if (i.kind == IterKind::kSpatial) spatial.push_back(i);
      const bool single = i.binding->kind == ExprKind::kInt;
      if (single && !i.binding.is_int(0)) return std::nullopt;
      if (i.kind == IterKind::kReduction) first[i.var.get()] = pool_.integer(0);
    }
    Stmt init = make_block(pool_, init_name(*b), spatial, {}, nullptr, substitute(arena_, b->init, first));
    for (size_t l = outer.size(); l-- > 0;)
      init = make_for(arena_, outer[l]->var, outer[l]->extent, ForKind::kSerial, init);
    Block without_init = *b;
    without_init.init = nullptr;
    Stmt steps = arena_.make<Block>(without_init);
    for (size_t l = loops.size(); l-- > 0;)
      steps = make_for(arena_, loops[l]->var, loops[l]->extent, ForKind::kSerial, steps);
    return std::vector<Stmt>{refresh(pool_, init), steps};
  }

  // Does the block store one element, which no other values of its spatial iterators store, and
  // look at no other one of its output? Then nothing notices that all inits come before all steps.
  static bool goes_on(const Block& b) {
    const auto* init = b.init->as<Store>();
    const auto* step = b.body->as<Store>();
    if (!init || !step || init->buffer != step->buffer || !(init->indices == step->indices)) return false;
    for (const BlockIter& i : b.iters) {
      const auto times = std::count(step->indices.begin(), step->indices.end(), i.var);
      const bool is_place = times == 1 || (times == 0 && i.extent.is_int(1));
      if (i.kind == IterKind::kSpatial ? !is_place : times > 0) return false;
    }
    const auto is_iter_or_0 = [&](Expr index) {
      return index.is_int(0) ||
             std::any_of(b.iters.begin(), b.iters.end(), [&](const BlockIter& i) { return i.var == index; });
    };
    bool alone = std::all_of(step->indices.begin(), step->indices.end(), is_iter_or_0);
    for_each_load(step->value, [&](const ExprNode* n) {
      alone &= n->buffer != step->buffer ||
               std::equal(n->args.begin(), n->args.end(), step->indices.begin(), step->indices.end(),
                          [](const ExprNode* a, Expr at) { return at == a; });
    });
    for_each_load(init->value, [&](const ExprNode* n) { alone &= n->buffer != step->buffer; });
    return alone;
  }

  Stmt statement(Stmt s, Bounds known) {
    switch (s->kind) {
      case StmtKind::kFor: return loop(*s->as<For>(), known);
      case StmtKind::kBlock: {
        Block n = *s->as<Block>();
        for (const BlockIter& i : n.iters) known.bind(i.var, i.extent);
        n.body = statement(n.body, known);
        if (n.body == s->as<Block>()->body) return s;
        n.instruction = {};  // it does nothing for no steps
        return arena_.make<Block>(n);
      }
      case StmtKind::kSeq: {
        std::vector<Stmt> out;
        for (Stmt c : s->as<Seq>()->body) {
          out.push_back(statement(c, known));
          if (const auto* r = c->as<Require>()) assume(r->condition, known);
        }
        const auto& was = s->as<Seq>()->body;
        return std::equal(out.begin(), out.end(), was.begin()) ? s : make_sequence(arena_, out);
      }
      case StmtKind::kIf: {
        If n = *s->as<If>();
        Bounds holds = known;
        assume(n.condition, holds);
        n.then_branch = statement(n.then_branch, holds);
        if (n.else_branch) n.else_branch = statement(n.else_branch, known);
        const auto* was = s->as<If>();
        const bool same = n.then_branch == was->then_branch && n.else_branch == was->else_branch;
        return same ? s : arena_.make<If>(n);
      }
      case StmtKind::kAllocate: {
        Allocate n = *s->as<Allocate>();
        n.body = statement(n.body, known);
        return n.body == s->as<Allocate>()->body ? s : arena_.make<Allocate>(n);
      }
      case StmtKind::kStore:
      case StmtKind::kPrefetch: return s;
      default: static_assert(others_only_look<For, Block, Store, Seq, If, Allocate, Prefetch>); return s;
    }
  }

  Stmt loop(const For& f, const Bounds& known) {
    const Expr some = less(pool_.integer(0), f.extent);
    Bounds inside = known;
    inside.bind(f.var, f.extent);
    inside.assume(some);
    For n = f;
    n.body = statement(f.body, inside);
    Stmt now = n.body == f.body ? &f : arena_.make<For>(n);
    if (runs(f.extent, known)) return now;
    std::vector<Reduction> found;
    Reduction around{};
    collect(f.body, f, around, found);
    std::vector<Stmt> inits;
    for (const Reduction& r : found) inits.push_back(init_of(r, f));
    return inits.empty() ? now : make_if(arena_, some, now, make_sequence(arena_, inits));
  }

  // The blocks that reduce over the loop and have an init. What stands in another block, or counts
  // in a buffer that is allocated inside, has no meaning outside of it.
  static void collect(Stmt s, const For& f, Reduction& around, std::vector<Reduction>& found) {
    switch (s->kind) {
      case StmtKind::kBlock: {
        const auto* b = s->as<Block>();
        if (!b->init || !bound_to(*b, IterKind::kReduction).contains(f.var.get())) return;
        found.push_back(around);
        found.back().block = b;
        return;
      }
      case StmtKind::kFor:
        around.loops.push_back(s->as<For>());
        collect(s->as<For>()->body, f, around, found);
        around.loops.pop_back();
        return;
      case StmtKind::kIf:
        around.conditions.push_back(s->as<If>()->condition);
        collect(s->as<If>()->then_branch, f, around, found);
        if (Stmt other = s->as<If>()->else_branch) {
          around.conditions.back() = logical_not(around.conditions.back());
          collect(other, f, around, found);
        }
        around.conditions.pop_back();
        return;
      case StmtKind::kSeq:
        for (Stmt c : s->as<Seq>()->body) collect(c, f, around, found);
        return;
      case StmtKind::kAllocate:
      case StmtKind::kStore:
      case StmtKind::kPrefetch: return;
      default: static_assert(others_only_look<For, Block, Store, Seq, If, Allocate, Prefetch>); return;
    }
  }

  // The init for each combination of the spatial iterators in the loop `f`, which has no iteration.
  Stmt init_of(const Reduction& r, const For& f) const {
    const Block& b = *r.block;
    const auto of_places = bound_to(b, IterKind::kSpatial), of_steps = bound_to(b, IterKind::kReduction);
    std::unordered_set<const ExprNode*> shared, left_out{f.var.get()};
    std::vector<const For*> loops;
    if (of_places.contains(f.var.get())) shared.insert(f.var.get());
    for (const For* l : r.loops) {
      const ExprNode* var = l->var.get();
      if (of_places.contains(var) && !of_steps.contains(var)) {
        loops.push_back(l);
        continue;
      }
      left_out.insert(var);
      if (of_places.contains(var)) shared.insert(var);
    }
    Values first;
    for (const ExprNode* v : left_out) first[v] = pool_.integer(0);
    Values values = first;
    std::vector<BlockIter> spatial;
    std::vector<std::pair<Expr, Expr>> own_loops;
    Expr begins = pool_.integer(1, kBool);
    for (BlockIter i : b.iters) {
      if (i.kind == IterKind::kReduction) {
        const Expr at = substitute(i.binding, first);
        if (!at.is_int(0)) begins = logical_and(begins, equal(at, pool_.integer(0)));
        values[i.var.get()] = pool_.integer(0);
        continue;
      }
      i.extent = substitute(i.extent, first);
      // Nothing tells which values it takes in a loop that is the reduction's, too: all of them.
      if (depends_on(i.binding, shared)) {
        own_loops.emplace_back(pool_.variable(i.var->name.text()), i.extent);
        i.binding = own_loops.back().first;
      } else {
        i.binding = substitute(i.binding, first);
      }
      spatial.push_back(i);
    }
    // What is said of steps says nothing of a reduction that has none.
    std::vector<Expr> conditions;
    for (Expr c : r.conditions) conditions.push_back(c);
    if (b.predicate) conditions.push_back(b.predicate);
    for (Expr c : conditions) {
      for (Expr part : conjuncts(c)) {
        if (!depends_on(part, left_out)) begins = logical_and(begins, part);
      }
    }
    Stmt out = make_block(pool_, init_name(b), spatial, {}, nullptr, substitute(arena_, b.init, values));
    if (!begins.is_int(1)) out = make_if(arena_, begins, out);
    for (size_t l = own_loops.size(); l-- > 0;)
      out = make_for(arena_, own_loops[l].first, own_loops[l].second, ForKind::kSerial, out);
    for (size_t l = loops.size(); l-- > 0;) {
      const ForKind how = loops[l]->how == ForKind::kVectorized ? ForKind::kSerial : loops[l]->how;
      out = make_for(arena_, loops[l]->var, substitute(loops[l]->extent, first), how, out);
    }
    return refresh(pool_, out);
  }

  const Kernel& kernel_;
  ExprPool& pool_;
  Arena& arena_;
  Names& names_;
};

// A local buffer around loops over threads belongs to no thread that could fill it.
bool is_of_threads(const Allocate& a) {
  bool found = false;
  visit(a.body, [&](Stmt s) {
    const auto* f = s->as<For>();
    found |= f && f->how >= ForKind::kThreadX;
  });
  return found && a.buffer->scope == Scope::kLocal;
}

// Stores 0 in each element.
Stmt fill(ExprPool& pool, Names& names, const Buffer* b) {
  std::vector<BlockIter> iters;
  std::vector<Expr> at;
  for (Expr extent : b->shape) {
    iters.push_back({pool.variable("v"), extent, IterKind::kSpatial, pool.variable("i")});
    at.push_back(iters.back().var);
  }
  Stmt out = make_block(pool, names.unused(cat(b->name.text(), "_zeros")), iters, {}, nullptr,
                        make_store(pool.arena(), b, at, pool.constant(0, b->dtype)));
  for (size_t d = iters.size(); d-- > 0;)
    out = make_for(pool.arena(), iters[d].binding, iters[d].extent, ForKind::kSerial, out);
  return out;
}

}  // namespace

Kernel with_initial_values(const Kernel& k) {
  ExprPool* pool = pool_of(k);
  if (pool == nullptr || k.external) return k;
  Kernel out = k;
  Names names(k.body);
  out.body = Inits(k, *pool, names).run();
  const std::unordered_set<const Buffer*> open = not_definitely_assigned(out);
  if (open.empty()) return out;

  Arena& arena = pool->arena();
  out.body = rewrite(arena, out.body, [&](Stmt s) -> Stmt {
    const auto* a = s->as<Allocate>();
    if (!a || !open.contains(a->buffer) || is_of_threads(*a)) return s;
    return make_allocate(arena, a->buffer, make_sequence(arena, {fill(*pool, names, a->buffer), a->body}));
  });
  // Requirements stay at the beginning: schedules look for them there.
  std::vector<Stmt> items{out.body}, fills;
  if (const auto* seq = out.body->as<Seq>()) items.assign(seq->body.begin(), seq->body.end());
  for (const auto& list : {k.outputs, k.temporaries}) {
    for (const Buffer* b : list) {
      if (open.contains(b)) fills.push_back(fill(*pool, names, b));
    }
  }
  const auto nest = std::find_if(items.begin(), items.end(), [](Stmt s) { return !s->as<Require>(); });
  items.insert(nest, fills.begin(), fills.end());
  out.body = make_sequence(arena, items);
  return out;
}

}  // namespace relay::kernel
