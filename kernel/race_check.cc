#include "kernel/race_check.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "kernel/affine.h"
#include "kernel/execute.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

constexpr std::string_view kShared = "as other iterations of an independent loop do";

// Counts what running a kernel takes: statements, and operations of expressions, as often as they
// are evaluated. Counts end at kMostRaceChecked + 1.
class Work {
 public:
  int64_t of(Stmt s, const Bounds& bounds) {
    int64_t total = 1;
    for (Expr e : expressions(s)) total = sum(total, of(e.get()));
    if (const auto* f = s->as<For>()) {
      const Interval times = bounds.of(f->extent);
      Bounds inside = bounds;
      inside.bind(f->var, f->extent);
      return sum(total, product(times.high ? std::max<int64_t>(*times.high, 0) : kTooMuch,
                                sum(1, of(f->body, inside))));
    }
    if (const auto* b = s->as<Block>()) {
      for (const auto& list : {b->reads, b->writes}) {
        for (const Region& r : list) {
          for (const auto& exprs : {r.min, r.extent}) {
            for (Expr e : exprs) total = sum(total, of(e.get()));
          }
        }
      }
    }
    if (const auto* a = s->as<Allocate>()) total = sum(total, elements(*a->buffer));  // they are forgotten
    for (Stmt c : children(s)) {
      if (total > kMostRaceChecked) break;
      total = sum(total, of(c, bounds));
    }
    return total;
  }
  static int64_t elements(const Buffer& b) {
    const std::optional<int64_t> extent = memory_extent(b);
    return extent ? std::min(*extent, kTooMuch) : kTooMuch;
  }
  static int64_t sum(int64_t a, int64_t b) { return std::min(a + b, kTooMuch); }

 private:
  static constexpr int64_t kTooMuch = kMostRaceChecked + 1;
  static int64_t product(int64_t a, int64_t b) {
    return a > kTooMuch / b ? kTooMuch : std::min(a * b, kTooMuch);
  }

  // At most: what is shared counts wherever it is used.
  int64_t of(const ExprNode* e) {
    if (const auto it = of_.find(e); it != of_.end()) return it->second;
    int64_t total = 1;
    for (const ExprNode* a : e->args) total = sum(total, of(a));
    return of_[e] = total;
  }

  std::unordered_map<const ExprNode*, int64_t> of_;
};

// What is computed, as numbers: the operations, and the tensors that are read.
void append_values(Stmt body, std::vector<int64_t>& out) {
  visit(body, [&](Stmt s) {
    const auto* store = s->as<Store>();
    if (store == nullptr) return;
    for_each_node(store->value, [&](const ExprNode* n) {
      if (n->dtype == kInt64 && n->kind != ExprKind::kLoad) return false;  // where, not what
      out.push_back(static_cast<int64_t>(n->kind));
      if (n->kind == ExprKind::kMath) out.push_back(static_cast<int64_t>(n->fn));
      if (n->kind == ExprKind::kLoad) out.push_back(n->buffer->scope == Scope::kGlobal ? n->buffer->id : -1);
      return n->kind != ExprKind::kLoad;
    });
    out.push_back(-1);
  });
}

bool reduces(const Block& b) {
  return std::any_of(b.iters.begin(), b.iters.end(),
                     [](const BlockIter& i) { return i.kind == IterKind::kReduction; });
}
bool contains(const std::vector<const BlockIter*>& list, const BlockIter* i) {
  return std::find(list.begin(), list.end(), i) != list.end();
}
bool names(List<Region> regions, const Buffer* buffer) {
  return std::any_of(regions.begin(), regions.end(), [&](const Region& r) { return r.buffer == buffer; });
}

// The variables of the block's accesses that leave their buffers for some values of the
// iterators. Conditions around the block keep it from these values, so nobody can ask that it be
// run with all of them.
std::unordered_set<const ExprNode*> kept_from_values(const Block& b) {
  Bounds bounds;
  for (const BlockIter& i : b.iters) bounds.bind(i.var, i.extent);
  std::unordered_set<const ExprNode*> out;
  const auto access = [&](const Buffer& buffer, const auto& indices) {
    for (size_t d = 0; d < indices.size(); ++d) {
      const Interval index = bounds.of(indices[d]), extent = bounds.of(buffer.shape[d]);
      const bool leaves =
          index.low && index.high && extent.is_single() && (*index.low < 0 || *index.high >= *extent.low);
      if (!leaves) continue;
      for (Expr v : variables(indices[d])) out.insert(v.get());
    }
  };
  visit(b.body, [&](Stmt s) {
    for (Expr e : expressions(s)) {
      for_each_node(e, [&](const ExprNode* n) {
        if (n->kind == ExprKind::kLoad) access(*n->buffer, n->args);
        return n->kind != ExprKind::kSelect;  // a choice keeps the load from these values, not the block
      });
    }
  });
  return out;
}

using Places = std::vector<const int64_t*>;
std::vector<int64_t> values_at(const Places& places) {
  std::vector<int64_t> out;
  for (const int64_t* p : places) out.push_back(*p);
  return out;
}

}  // namespace

bool stores_zero(const Block& b) {
  const auto* store = b.body->as<Store>();
  if (store == nullptr || b.init) return false;
  const Expr v = store->value;
  return v->kind == ExprKind::kFloat ? v->float_value == 0 : v.is_int(0);
}

const Buffer* goes_on_with(const Block& b) {
  const bool step = b.writes.size() == 1 && reduces(b) && names(b.reads, b.writes[0].buffer);
  return step ? b.writes[0].buffer : nullptr;
}

std::function<void()> RaceCheck::watch_values(const Block& b, const Slots& slot) {
  std::vector<const BlockIter*> iters = iters_of_sources(b);
  const bool in_tensor = std::any_of(b.writes.begin(), b.writes.end(), [&](const Region& w) {
    return w.buffer->scope == Scope::kGlobal && names(b.reads, w.buffer);
  });
  const std::unordered_set<const ExprNode*> partial = kept_from_values(b);
  std::erase_if(iters, [&](const BlockIter* i) {
    return i->extent->kind != ExprKind::kInt || (!in_tensor && i->kind == IterKind::kReduction) ||
           partial.contains(i->var.get());
  });
  if (iters.empty()) return {};
  std::vector<int64_t> extents;
  std::vector<std::vector<size_t>> choices;
  for (size_t i = 0; i < iters.size(); ++i) {
    extents.push_back(iters[i]->extent->int_value);
    choices.push_back({i});
  }
  if (in_tensor && reduces(b)) {
    const IndependentIters independent = independent_iters(b, kernel_);
    std::vector<size_t> together;
    for (size_t i = 0; i < iters.size(); ++i) {
      if (contains(independent.iters, iters[i]) || contains(independent.untold, iters[i]))
        together.push_back(i);
    }
    if (together.size() > 1) choices.push_back(std::move(together));
  }
  std::vector<std::pair<size_t, Places>> domains;
  for (const std::vector<size_t>& chosen : choices) {
    Places places;
    for (size_t i : chosen) places.push_back(slot(*iters[i]));
    domains.emplace_back(domain_of(b, iters, extents, chosen), std::move(places));
  }
  return [this, domains] {
    for (const auto& [domain, places] : domains) domains_[domain].seen.insert(values_at(places));
  };
}

std::function<bool(int64_t, int64_t)> RaceCheck::watch_steps(const Block& b,
                                                             const std::vector<const BlockIter*>& enclosing,
                                                             const Slots& slot) {
  const Buffer* sums = b.writes[0].buffer;
  const IndependentIters independent = independent_iters(b, kernel_);
  bool known = independent.untold.empty();
  Places every, spatial, reduction;
  std::vector<int64_t> extents;
  // What a block counts within another one starts anew for each iteration of that.
  for (const BlockIter* i : enclosing) {
    every.push_back(slot(*i));
    if (i->kind == IterKind::kSpatial) spatial.push_back(every.back());
  }
  for (const BlockIter& i : b.iters) every.push_back(slot(i));
  // Blocks that go over different domains do different steps, whatever the values of
  // their iterators.
  std::vector<int64_t> domain;
  const auto goes_over = [&](const BlockIter& i) {
    domain.push_back(static_cast<int64_t>(i.kind));
    domain.push_back(i.extent->kind == ExprKind::kInt ? i.extent->int_value : -1);
  };
  for (const BlockIter* i : enclosing) goes_over(*i);
  for (const BlockIter& i : b.iters) goes_over(i);
  for (const BlockIter* i : independent.iters) {
    (i->kind == IterKind::kSpatial ? spatial : reduction).push_back(slot(*i));
    if (i->kind == IterKind::kSpatial) continue;
    known &= i->extent->kind == ExprKind::kInt;
    extents.push_back(i->extent->int_value);
  }
  // Several blocks that add to one local buffer need not say in the same words which part of
  // a sum is theirs.
  const std::vector<const Block*> all = blocks(kernel_.body);
  const auto adds = [&](const Block* other) {
    return blocks(other->body).empty() && names(other->reads, sums) && names(other->writes, sums);
  };
  if (sums->scope != Scope::kGlobal && std::count_if(all.begin(), all.end(), adds) > 1) open_.insert(extents);
  return [=, this, name = b.name.str()](int64_t element, int64_t beginning) {
    std::vector<int64_t> step = values_at(every);
    step.insert(step.end(), domain.begin(), domain.end());
    if (!is_new_step(*sums, element, beginning, step)) return false;
    if (known) count(*sums, name, extents, values_at(spatial), values_at(reduction));
    return true;
  };
}

void RaceCheck::enter_iteration(int64_t activation, int64_t iteration) {
  strands_.push_back({strand_, activation, iteration, strand_ < 0 ? 0 : strands_[index(strand_)].depth + 1});
  strand_ = static_cast<int32_t>(strands_.size()) - 1;
}

std::string_view RaceCheck::read(ElementHistory& e, const Buffer* of, const BlockState& by) const {
  if (by.number != e.writer) {
    e.pending = false;
    e.taken |= by.goes_on != of;
  }
  if (conflict(e.write_strand, strand_)) return kShared;
  if (!conflict(e.read_strand, strand_)) {
    e.read_strand = strand_;
  } else if (!conflict(e.other_read_strand, strand_)) {
    e.other_read_strand = strand_;
  }
  return {};
}

std::string_view RaceCheck::write(ElementHistory& e, const BlockState& by) {
  if (conflict(e.write_strand, strand_) || conflict(e.read_strand, strand_) ||
      conflict(e.other_read_strand, strand_))
    return kShared;
  const bool step = by.goes_on && !by.in_init;
  if (!step) {
    // The same block may compute an element again where neighbours both need it; another one
    // has no reason to.
    if (e.pending && !e.blank && (e.updated || e.writer != by.number)) return "over what nothing has read";
    e.beginning = ++beginnings_;
    e.taken = false;
  }
  if (step && e.taken) return "which another block has read before the reduction was done";
  e.updated = step;
  e.blank = by.blanks;
  e.writer = by.number;
  e.pending = true;
  e.write_strand = strand_;
  return {};
}

bool RaceCheck::is_new_step(const Buffer& sums, int64_t element, int64_t beginning,
                            const std::vector<int64_t>& step) {
  std::vector<int64_t> key{static_cast<int64_t>(sums.id), element, beginning};
  key.insert(key.end(), step.begin(), step.end());
  return done_.insert(std::move(key)).second;
}

void RaceCheck::count(const Buffer& sums, const std::string& block, const std::vector<int64_t>& extents,
                      const std::vector<int64_t>& spatial, const std::vector<int64_t>& reduction) {
  const int64_t where = sums.scope == Scope::kGlobal ? static_cast<int64_t>(sums.id) : -1;
  Steps& s = steps_[{where, extents, spatial}];
  s.block = block;
  s.all = 1;
  for (int64_t e : extents) s.all *= e;
  s.seen.insert(reduction);
}

size_t RaceCheck::domain_of(const Block& b, const std::vector<const BlockIter*>& among,
                            const std::vector<int64_t>& extents, const std::vector<size_t>& chosen) {
  std::set<int64_t> tensors;
  for (const auto& list : {b.reads, b.writes}) {
    for (const Region& r : list) {
      if (r.buffer->scope == Scope::kGlobal) tensors.insert(r.buffer->id);
    }
  }
  std::vector<int64_t> key(tensors.begin(), tensors.end());
  key.push_back(blocks(b.body).empty() ? -1 : -2);  // ends the tensors
  append_values(b.body, key);
  key.insert(key.end(), extents.begin(), extents.end());
  key.insert(key.end(), chosen.begin(), chosen.end());
  const auto [it, fresh] = domain_by_key_.emplace(std::move(key), domains_.size());
  if (fresh) {
    Domain d{b.name.str(), {}, {}, {}};
    for (size_t i : chosen) {
      d.names.push_back(among[i]->var->name.str());
      d.extents.push_back(extents[i]);
    }
    domains_.push_back(std::move(d));
  }
  return it->second;
}

std::string RaceCheck::Domain::hole() const {
  if (seen.empty()) return {};
  // They come in order: the first that is not the next one leaves a hole before it.
  std::vector<int64_t> next(extents.size(), 0);
  auto at = seen.begin();
  for (; at != seen.end() && *at == next; ++at) {
    for (size_t d = next.size(); d-- > 0;) {
      next[d] = (next[d] + 1) % extents[d];
      if (next[d] != 0) break;
    }
  }
  const bool all_done =
      at == seen.end() && std::all_of(next.begin(), next.end(), [](int64_t n) { return n == 0; });
  if (all_done) return {};
  return cat("block `", block, "` is never run with ", join(next, ", "), " for ",
             names.size() == 1 ? "iterator `" : "iterators `", join(names, "`, `"), "`");
}

std::string RaceCheck::missing() const {
  for (const Domain& d : domains_) {
    if (std::string hole = d.hole(); !hole.empty()) return hole;
  }
  for (const auto& [key, s] : steps_) {
    const auto& [where, extents, spatial] = key;
    if (where < 0 && open_.contains(extents)) continue;
    if (static_cast<int64_t>(s.seen.size()) != s.all) {
      return cat("block `", s.block, "` does ", s.seen.size(), " of the ", s.all,
                 " steps of its reduction at [", join(spatial, ", "), "]");
    }
  }
  return {};
}

bool RaceCheck::conflict(int32_t a, int32_t b) const {
  if (a < 0 || b < 0 || a == b) return false;
  const auto depth = [&](int32_t s) { return strands_[index(s)].depth; };
  const auto parent = [&](int32_t s) { return strands_[index(s)].parent; };
  while (depth(a) > depth(b)) a = parent(a);
  while (depth(b) > depth(a)) b = parent(b);
  if (a == b) return false;
  while (parent(a) != parent(b)) a = parent(a), b = parent(b);
  return strands_[index(a)].activation == strands_[index(b)].activation;
}

std::optional<int64_t> race_check_work(const Kernel& k) {
  if (k.external || !shape_parameters(k).empty()) return std::nullopt;
  Work work;
  int64_t total = work.of(k.body, {});
  for (const auto& list : {k.inputs, k.outputs, k.temporaries}) {
    for (const Buffer* b : list) total = Work::sum(total, Work::elements(*b));
  }
  return total <= kMostRaceChecked ? std::optional(total) : std::nullopt;
}

}  // namespace relay::kernel
