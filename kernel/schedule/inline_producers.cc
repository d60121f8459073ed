#include "kernel/schedule/inline_producers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kernel/limits.h"
#include "kernel/schedule/primitives/inline.h"
#include "kernel/schedule/primitives/primitive.h"
#include "kernel/schedule/stage_list.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

// Chains in which each tensor is used twice double with every link; this ends them.
constexpr double kLargestTree = 100000;
// What is done to a kernel later makes expressions deeper, and they stay within the limit.
constexpr uint32_t kDeepestValue = kDeepestExpr / 4 * 3;

// What it costs to compute an expression again.
struct Cost {
  int operations = 0, loads = 0;
  bool expensive = false;  // a transcendental function or a division
};

Cost cost_of(Expr e) {
  Cost cost;
  for_each_node(e, [&](const ExprNode* n) {
    switch (n->kind) {
      case ExprKind::kInt:
      case ExprKind::kFloat:
      case ExprKind::kVar: break;
      case ExprKind::kLoad: ++cost.loads; break;
      case ExprKind::kMath: {
        const bool light = n->fn == Math::kAbs || n->fn == Math::kFloor || n->fn == Math::kCeil ||
                           n->fn == Math::kTrunc || n->fn == Math::kIsNan || n->fn == Math::kIsInf ||
                           n->fn == Math::kIsFinite;
        cost.expensive |= !light;
        ++cost.operations;
        break;
      }
      default:
        cost.expensive |= n->kind == ExprKind::kDiv;
        // The arithmetic of coordinates is not counted: most of it is done outside the inner loop.
        cost.operations += n->dtype != kInt64 && !n->dtype.is_bool();
    }
    return true;
  });
  return cost;
}

bool guards_loads(Expr e, const Bounds& bounds) {
  bool found = false;
  for_each_node(e, [&](const ExprNode* n) {
    found |= n->kind == ExprKind::kSelect && protects_loads(n, bounds);
    return !found;
  });
  return found;
}

// The nodes of the expression as a tree, in which what is shared stands several times; without the
// arithmetic of indices.
double tree_size(Expr e) {
  std::unordered_map<const ExprNode*, double> sizes;
  for (const ExprNode* n : post_order(e)) {
    double& size = sizes[n] = 1;
    for (const ExprNode* a : n->args) size += n->kind == ExprKind::kLoad ? 0 : sizes.at(a);
  }
  return sizes.at(e.get());
}

// What the decisions ask of a stage, found once as long as the stage stays as it is.
struct Facts {
  Cost cost = {};
  double tree = 0;
  std::optional<bool> guards = {};  // is there a condition around a load?
  StageList::Loads loads = {};
};

class Inliner {
 public:
  Inliner(const Kernel& k, ExprPool& pool, const MayPad& may_pad)
      : kernel_(k),
        pool_(pool),
        may_pad_(may_pad),
        outputs_(k.outputs.begin(), k.outputs.end()),
        stages_(pool, k.body) {
    look_at_all();
  }

  Kernel run();

 private:
  using Numbers = StageList::Numbers;
  using Replacements = std::map<size_t, Stmt>;

  // Should the stage be computed where it is used?
  bool worth_inlining(size_t number);
  // Does this reader, which loads the producer's tensor so often, allow it?
  bool allows(size_t reader, size_t loads, size_t producer);
  const Facts& facts(size_t number);
  bool guards(size_t number);

  // As `compute_inline`. False if that is refused.
  bool inline_block(const std::string& name);
  bool is_only_writer(const Buffer* buffer) const;
  bool operands_change_later(size_t number, const Block* block) const;

  void replace(const Replacements& by);
  void start_again(const Replacements& by);
  bool prefetches_in_vain() const;
  void look_at_all();
  void look_at(const Numbers& statements);
  // Looks at what has the same block name as a statement, or is loaded by its stage.
  void look_around(size_t number);

  Kernel kernel_;  // as it was, but for the temporaries that are still there
  ExprPool& pool_;
  const MayPad& may_pad_;
  std::unordered_set<const Buffer*> outputs_;
  StageList stages_;
  std::unordered_map<size_t, Facts> facts_;
  Numbers pending_;    // stages to decide about; all others are not worth it, or refused
  Numbers unsettled_;  // statements that another `simplify` may change
};

Kernel Inliner::run() {
  bool changed = false;
  while (!pending_.empty()) {
    const size_t number = *pending_.begin();
    pending_.erase(pending_.begin());
    if (!stages_.stages().contains(number) || !worth_inlining(number)) continue;
    changed |= inline_block(std::string(stages_.stages().at(number).name));
  }
  if (!changed) return kernel_;
  return primitives::with_body(kernel_, make_sequence(pool_.arena(), stages_.statements()));
}

const Facts& Inliner::facts(size_t number) {
  const auto [it, is_new] = facts_.try_emplace(number);
  Facts& f = it->second;
  if (!is_new) return f;
  f.loads = stages_.loads(number);
  if (const Expr value = stages_.stages().at(number).value) {
    f.cost = cost_of(value);
    f.tree = tree_size(value);
  }
  return f;
}

bool Inliner::guards(size_t number) {
  std::optional<bool>& known = facts_.at(number).guards;
  const Stage& s = stages_.stages().at(number);
  if (!known) known = guards_loads(s.value, s.bounds);
  return *known;
}

bool Inliner::allows(size_t reader, size_t loads, size_t producer) {
  const Stage& s = stages_.stages().at(reader);
  const Stage& p = stages_.stages().at(producer);
  const Cost& cost = facts(producer).cost;
  if (s.value && facts(reader).tree * facts(producer).tree > kLargestTree) return false;
  if (s.value && p.value && s.value->depth + p.value->depth > kDeepestValue) return false;
  if (s.kind == StageKind::kSequential) return false;
  if (s.kind == StageKind::kCompute) return s.requirements.empty();
  // The body of a reduction runs often: only a move of data or light arithmetic on one element.
  if (cost.expensive || cost.loads > 1 || cost.operations > 4) return false;
  // `so_far or true` is true: what it forgets was computed for nothing.
  if (p.value.is_const()) return false;
  // A condition around a load (padding) would keep the body, or the packing of it, from
  // being vectorised.
  return !guards(producer) || (loads == 1 && may_pad_(p, s));
}

bool Inliner::worth_inlining(size_t number) {
  const Stage& producer = stages_.stages().at(number);
  if (producer.kind != StageKind::kCompute || !producer.requirements.empty()) return false;
  if (outputs_.contains(producer.buffer)) return false;
  const Cost& cost = facts(number).cost;
  const bool cheap = !cost.expensive && cost.loads <= 2 && cost.operations <= 4;
  size_t sites = 0;
  Numbers readers;
  for (const size_t n : stages_.loading(producer.buffer)) {
    const size_t reader = stages_.stage_with(n);
    if (!readers.insert(reader).second) continue;
    const size_t loads = facts(reader).loads.at(producer.buffer);
    sites += loads;
    // Several elements with a condition each: better one copy with padding around it.
    if (sites > 1 && (!cheap || guards(number))) return false;
    if (!allows(reader, loads, number)) return false;
  }
  return true;
}

bool Inliner::is_only_writer(const Buffer* buffer) const {
  const Numbers& all = stages_.writing(buffer);
  return all.size() == 1 && primitives::writers(stages_.statement(*all.begin()), buffer).size() == 1;
}

bool Inliner::operands_change_later(size_t number, const Block* block) const {
  const bool later = std::any_of(block->reads.begin(), block->reads.end(), [&](const Region& r) {
    const Numbers& all = stages_.writing(r.buffer);
    return !all.empty() && *all.rbegin() > number;
  });
  return later || primitives::operands_change_later(stages_.statement(number), block);
}

bool Inliner::inline_block(const std::string& name) {
  const Numbers& named = stages_.with_block(name);
  if (named.empty()) return false;
  const size_t number = *named.begin();
  const Block* block = find_block(stages_.statement(number), name);
  if (!primitives::is_plain(*block)) return false;
  const Buffer* buffer = primitives::single_store(*block)->buffer;
  if (outputs_.contains(buffer) || !is_only_writer(buffer) || operands_change_later(number, block))
    return false;

  Replacements by{{number, primitives::remove_block(pool_.arena(), stages_.statement(number), block)}};
  for (const size_t n : stages_.loading(buffer)) {
    Stmt& s = by.try_emplace(n, stages_.statement(n)).first->second;
    s = primitives::inline_loads(pool_, s, *block);
  }
  for (const size_t n : unsettled_) by.try_emplace(n, stages_.statement(n));
  unsettled_.clear();
  for (auto& [n, s] : by) {
    const Stmt simple = simplify(pool_, s);
    if (simple != s && !simple->as<Nop>()) unsettled_.insert(n);
    s = simple;
  }
  std::erase_if(by, [&](const auto& r) { return r.second == stages_.statement(r.first); });
  replace(by);
  return true;
}

void Inliner::replace(const Replacements& by) {
  const bool flat = std::none_of(by.begin(), by.end(),
                                 [](const auto& r) { return r.second->template as<Seq>() != nullptr; });
  if (!flat) return start_again(by);
  std::vector<std::pair<size_t, const Buffer*>> written;
  for (const auto& [n, s] : by) {
    look_around(n);
    for (const Block* b : primitives::outermost_blocks(stages_.statement(n))) {
      for (const Region& r : b->writes) written.emplace_back(n, r.buffer);
    }
  }
  for (const size_t n : stages_.replace(by)) {
    facts_.erase(n);
    pending_.insert(n);
    look_around(n);
  }
  // Whether a tensor may be read later, and by whom it is written, depends on who writes it.
  for (const auto& [n, buffer] : written) {
    if (stages_.writing(buffer).contains(n)) continue;
    look_at(stages_.writing(buffer));
    look_at(stages_.loading(buffer));
  }
  if (prefetches_in_vain()) start_again({});
}

// A statement became several, or a prefetch goes: the kernel is taken apart anew. That is rare,
// and happens once to each such statement: a condition that always holds, or a prefetch.
void Inliner::start_again(const Replacements& by) {
  std::vector<Stmt> body;
  for (const size_t n : stages_.numbers()) {
    const auto it = by.find(n);
    body.push_back(it == by.end() ? stages_.statement(n) : it->second);
  }
  const Kernel now = primitives::with_body(kernel_, make_sequence(pool_.arena(), body));
  kernel_.temporaries = now.temporaries;
  stages_ = StageList(pool_, now.body);
  look_at_all();
}

// Is a temporary prefetched that no block accesses any more? Then the prefetch goes with it.
bool Inliner::prefetches_in_vain() const {
  const std::vector<const Buffer*> all = stages_.prefetched();
  return std::any_of(all.begin(), all.end(), [&](const Buffer* b) {
    return stages_.accessing(b).empty() && primitives::is_temporary(kernel_, b);
  });
}

void Inliner::look_at_all() {
  facts_.clear();
  unsettled_ = stages_.numbers();
  pending_ = unsettled_;
}

void Inliner::look_at(const Numbers& statements) {
  for (const size_t n : statements) pending_.insert(stages_.stage_with(n));
}

void Inliner::look_around(size_t number) {
  for (const Block* b : blocks(stages_.statement(number))) look_at(stages_.with_block(b->name.text()));
  for (const auto& [buffer, times] : stages_.loads(stages_.stage_with(number)))
    look_at(stages_.writing(buffer));
}

}  // namespace

Kernel inline_producers(const Kernel& k, const MayPad& may_pad) {
  ExprPool* pool = pool_of(k);
  return pool == nullptr ? k : Inliner(k, *pool, may_pad).run();
}

}  // namespace relay::kernel::schedule
