#include "kernel/schedule/canonical_form.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "base/cat.h"
#include "kernel/schedule/stage.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

bool surely_positive(Expr e, const Bounds& bounds) {
  const Interval range = bounds.of(e);
  return range.low && *range.low >= 1;
}

// Is it the same wherever the kernel stands?
bool is_fixed(Expr e) {
  bool fixed = true;
  for_each_node(e, [&](const ExprNode* n) {
    fixed &= n->kind != ExprKind::kLoad && (n->kind != ExprKind::kVar || n->shape_variable);
    return fixed;
  });
  return fixed;
}

bool is_integer_division(const ExprNode* n) {
  switch (n->kind) {
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kTruncDiv:
    case ExprKind::kTruncMod: return true;
    default: return false;
  }
}

// Does the expression depend on these iterators and shape variables alone, and divide by nothing
// that could be 0?
bool is_total(Expr e, const std::vector<BlockIter>& iters) {
  Bounds bounds;
  for (const BlockIter& i : iters) bounds.bind(i.var, i.extent);
  bool total = true;
  for_each_node(e, [&](const ExprNode* n) {
    if (n->kind == ExprKind::kVar && !n->shape_variable)
      total &= std::any_of(iters.begin(), iters.end(), [&](const BlockIter& i) { return i.var == n; });
    if (is_integer_division(n)) total &= surely_positive(n->args[1], bounds);
    return total;
  });
  return total;
}

class Reader {
 public:
  Reader(const Kernel& k, ExprPool& pool) : k_(k), pool_(pool) {}

  std::optional<CanonicalForm> read() {
    std::vector<Stmt> items{k_.body}, nests;
    if (const auto* seq = k_.body->as<Seq>()) items.assign(seq->body.begin(), seq->body.end());
    CanonicalForm out{k_, {}};
    size_t i = 0;
    for (; i < items.size() && items[i]->as<Require>(); ++i) out.requirements.push_back(items[i]);
    for (; i < items.size(); ++i) {
      if (!add_nest(items[i], nests)) return std::nullopt;
    }
    out.kernel.body = make_sequence(pool_.arena(), nests);
    if (nests.empty() || !in_stages(out.kernel)) return std::nullopt;
    return out;
  }

 private:
  // The nest as Builder writes it, behind the others; false if it is of another form.
  bool add_nest(Stmt s, std::vector<Stmt>& nests) {
    std::vector<const For*> loops;
    while (const auto* f = s->as<For>()) {
      if (f->how != ForKind::kSerial || !is_fixed(f->extent)) return false;
      loops.push_back(f);
      s = f->body;
    }
    const auto* b = s->as<Block>();
    if (b == nullptr || b->predicate || !b->instruction.empty()) return false;
    const auto* store = b->body->as<Store>();
    if (store == nullptr) return false;
    const auto* init = b->init ? b->init->as<Store>() : nullptr;
    if (b->init && (!init || init->buffer != store->buffer || !(init->indices == store->indices)))
      return false;
    std::vector<BlockIter> spatial, reduction;
    if (!bind(loops, *b, *store, spatial, reduction) || (init && reduction.empty())) return false;
    if (init && !is_total(init->value, spatial)) return false;

    std::vector<BlockIter> all = spatial;
    all.insert(all.end(), reduction.begin(), reduction.end());
    if (!is_total(store->value, all)) return false;
    const auto make = [&](std::string_view name, const std::vector<BlockIter>& iters, Stmt first,
                          Stmt body) -> Stmt {
      Stmt nest = make_block(pool_, unused(name), iters, {}, first, body);
      for (size_t i = iters.size(); i-- > 0;)
        nest = make_for(pool_.arena(), iters[i].binding, iters[i].extent, ForKind::kSerial, nest);
      return nest;
    };
    const bool reduces_something = std::all_of(reduction.begin(), reduction.end(), [](const BlockIter& i) {
      return surely_positive(i.extent, Bounds());
    });
    if (init && !reduces_something) {
      // The result of a reduction over nothing is the init's.
      nests.push_back(refresh(pool_, make(cat(b->name.text(), "_init"), spatial, nullptr, init)));
      init = nullptr;
    }
    nests.push_back(make(b->name.text(), all, init, store));
    return true;
  }

  // The iterators by what they are for: those of the element's place, in the order of its
  // dims, then those of the reduction from the outermost loop inwards. Each is bound to a
  // loop of its own.
  bool bind(const std::vector<const For*>& loops, const Block& b, const Store& store,
            std::vector<BlockIter>& spatial, std::vector<BlockIter>& reduction) {
    std::vector<size_t> loop_of;  // of each iterator
    for (const BlockIter& i : b.iters) {
      const auto loop = std::find_if(loops.begin(), loops.end(), [&](const For* f) {
        return i.binding == f->var && i.extent == f->extent;
      });
      const bool single = i.extent.is_int(1) && i.binding.is_int(0);
      if (loop == loops.end() && !single) return false;
      loop_of.push_back(static_cast<size_t>(loop - loops.begin()));
    }
    for (size_t l = 0; l < loops.size(); ++l) {
      if (std::count(loop_of.begin(), loop_of.end(), l) != 1) return false;
    }
    std::vector<bool> taken(b.iters.size(), false);
    const auto bound = [&](size_t i) {
      BlockIter out = b.iters[i];
      if (loop_of[i] == loops.size()) out.binding = pool_.variable("i");
      return out;
    };
    for (size_t d = 0; d < store.indices.size(); ++d) {
      const Expr at = store.indices[d], extent = store.buffer->shape[d];
      size_t i = 0;
      while (i < b.iters.size() && b.iters[i].var != at) ++i;
      if (i == b.iters.size()) {
        if (!at.is_int(0) || !extent.is_int(1)) return false;
        spatial.push_back({pool_.variable("v"), extent, IterKind::kSpatial, pool_.variable("i")});
        continue;
      }
      if (taken[i] || b.iters[i].kind != IterKind::kSpatial || b.iters[i].extent != extent) return false;
      taken[i] = true;
      spatial.push_back(bound(i));
    }
    for (size_t l = 0; l <= loops.size(); ++l) {  // those without a loop come last
      for (size_t i = 0; i < b.iters.size(); ++i) {
        if (taken[i] || loop_of[i] != l) continue;
        if (b.iters[i].kind != IterKind::kReduction) return false;
        reduction.push_back(bound(i));
      }
    }
    return true;
  }

  // Do the nests compute one tensor after the other?
  bool in_stages(const Kernel& k) const {
    const auto has = [](const auto& list, const Buffer* b) {
      return std::find(list.begin(), list.end(), b) != list.end();
    };
    std::vector<const Buffer*> written;
    for (const Stage& s : stages_of(k)) {
      if (s.kind == StageKind::kSequential || has(written, s.buffer)) return false;
      if (!has(k.outputs, s.buffer) && !has(k.temporaries, s.buffer)) return false;
      if (!s.buffer->strides.empty() || s.buffer->scope != Scope::kGlobal) return false;
      bool known = true;
      const auto look = [&](const ExprNode* n) {
        const bool own = s.kind == StageKind::kReduce && n->buffer == s.buffer;
        known = known && (own || has(k.inputs, n->buffer) || has(written, n->buffer));
      };
      for_each_load(s.value, look);
      if (s.init) for_each_load(s.init, look);
      if (!known) return false;
      written.push_back(s.buffer);
    }
    return std::all_of(k.outputs.begin(), k.outputs.end(), [&](const Buffer* b) { return has(written, b); });
  }

  // A schedule finds blocks by their names.
  std::string unused(std::string_view wanted) {
    std::string unique(wanted);
    for (int i = 1; !names_.insert(unique).second; ++i) unique = cat(wanted, "_", i);
    return unique;
  }

  const Kernel& k_;
  ExprPool& pool_;
  std::unordered_set<std::string> names_;
};

}  // namespace

std::optional<CanonicalForm> canonical_form(const Kernel& k) {
  ExprPool* pool = pool_of(k);
  if (pool == nullptr || k.external != nullptr) return std::nullopt;
  return Reader(k, *pool).read();
}

}  // namespace relay::kernel::schedule
