#include "kernel/count.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/integers.h"
#include "kernel/fields.h"
#include "kernel/polynomial.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

// Leaves that are visited at most; beyond, loops are no longer taken apart.
constexpr int64_t kMostVisits = 1 << 18;

// low, low + stride, ..., high: the values that an index takes, or some more.
// Joining keeps the form.
struct Steps {
  int64_t low, high, stride;  // stride 0: low alone

  bool empty() const { return high < low; }
  int64_t size() const { return empty() ? 0 : stride == 0 ? 1 : (high - low) / stride + 1; }
};

Steps join(Steps a, Steps b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  const int64_t stride = std::gcd(a.low - b.low, std::gcd(a.stride, b.stride));
  return {std::min(a.low, b.low), std::max(a.high, b.high), stride};
}

// What is touched of one buffer.
struct Touched {
  std::vector<Steps> box = {};
  double times = 0;  // accesses

  void add(const std::vector<Steps>& other) {
    if (box.empty()) box = other;
    for (size_t i = 0; i < box.size(); ++i) box[i] = join(box[i], other[i]);
  }
  double elements() const {
    double size = 1;
    for (const Steps& s : box) size *= static_cast<double>(s.size());
    return std::min(size, times);
  }
};

bool counts(ExprKind kind) {
  switch (kind) {
    case ExprKind::kAdd:
    case ExprKind::kMul:
    case ExprKind::kSub:
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kTruncDiv:
    case ExprKind::kTruncMod:
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kBroadcast:
    case ExprKind::kBitAnd:
    case ExprKind::kBitOr:
    case ExprKind::kBitXor:
    case ExprKind::kShiftLeft:
    case ExprKind::kShiftRight:
    case ExprKind::kMath: return true;
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kVar:
    case ExprKind::kEqual:
    case ExprKind::kNotEqual:
    case ExprKind::kLess:
    case ExprKind::kLessEqual:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kNot:
    case ExprKind::kSelect:
    case ExprKind::kCast:
    case ExprKind::kLoad: return false;
  }
  return false;
}

// Operations of the value, each shared part once. Indices of loads, and conditions, are left out.
double operations(Expr value) {
  double total = 0;
  std::unordered_set<const ExprNode*> seen;
  std::vector<const ExprNode*> pending{value.get()};
  while (!pending.empty()) {
    const ExprNode* e = pending.back();
    pending.pop_back();
    if (!seen.insert(e).second || e->kind == ExprKind::kLoad) continue;
    if (counts(e->kind)) {
      const bool is_call = e->kind == ExprKind::kMath || e->args.size() < 2;
      total += is_call ? 1 : static_cast<double>(e->args.size() - 1);
    }
    for (size_t i = e->kind == ExprKind::kSelect ? 1 : 0; i < e->args.size(); ++i)
      pending.push_back(e->args[i]);
  }
  return total;
}

// What a statement of no further statements costs each time that it runs.
struct Leaf {
  double flops = 0;
  std::vector<const Buffer*> accesses = {};
};

class Counter {
 public:
  explicit Counter(const Kernel& k) : kernel_(k) {
    for (const auto* list : {&k.inputs, &k.outputs, &k.temporaries}) {
      for (const Buffer* b : *list) parameters_.insert(b);
    }
  }

  std::optional<Count> run() {
    find_boxes(kernel_.body);
    find_guards(kernel_.body, {});
    walk(kernel_.body, 1);
    if (unknown_) return std::nullopt;
    Count out;
    out.flops = flops_;
    for (const auto* list : {&kernel_.inputs, &kernel_.outputs, &kernel_.temporaries}) {
      for (const Buffer* b : *list)
        out.bytes.push_back(touched_[b].elements() * static_cast<double>(b->dtype.bytes()));
    }
    return out;
  }

 private:
  using Values = std::unordered_map<const ExprNode*, int64_t>;

  // --- where accesses go: every iteration at once ---

  void find_boxes(Stmt s) {
    if (const auto* loop = s->as<For>()) {
      bind(loop->var, loop->extent);
    } else if (const auto* block = s->as<Block>()) {
      for (const BlockIter& i : block->iters) bind(i.var, i.extent);
    } else if (const auto* store = s->as<Store>()) {
      Leaf& leaf = leaves_[s];
      leaf.flops = operations(store->value);
      access(leaf, store->buffer, {store->indices.begin(), store->indices.end()});
    }
    for (Expr e : expressions(s)) {
      for_each_load(e, [&](const ExprNode* load) {
        access(leaves_[s], load->buffer, {load->args.begin(), load->args.end()});
      });
    }
    for (Stmt c : children(s)) find_boxes(c);
  }

  void bind(Expr variable, Expr extent) {
    bounds_.bind(variable, extent);
    const Interval range = bounds_.of(extent);
    if (range.high) extents_[variable.get()] = std::max<int64_t>(*range.high, 1);
  }

  void access(Leaf& leaf, const Buffer* buffer, const std::vector<Expr>& indices) {
    if (!parameters_.contains(buffer)) return;
    leaf.accesses.push_back(buffer);
    std::vector<Steps> box;
    for (size_t i = 0; i < indices.size(); ++i) box.push_back(steps(indices[i], buffer->shape[i]));
    touched_[buffer].add(box);
  }

  // The values of an index inside of an extent: a guard keeps what is outside from being touched.
  Steps steps(Expr index, Expr extent) {
    const std::optional<int64_t> size = evaluate(extent, {});
    if (!size) unknown_ = true;
    const int64_t last = size.value_or(1) - 1;
    const Interval range = bounds_.of(index);
    if (!range.low || !range.high) return {0, last, 1};
    Steps s{*range.low, *range.high, range.is_single() ? 0 : stride(index)};
    const int64_t step = std::max<int64_t>(s.stride, 1);
    if (s.low < 0) s.low += ceil_div(-s.low, step) * step;
    if (s.high > last) s.high -= ceil_div(s.high - last, step) * step;
    return s;
  }

  // Differences of the index's values are multiples of it.
  int64_t stride(Expr index) const {
    int64_t common = 0;
    for (const polynomial::Term& t : polynomial::terms(index)) {
      if (t.atoms.empty()) continue;
      // A loop of one iteration moves nothing.
      const auto at = t.atoms.size() == 1 ? extents_.find(t.atoms[0]) : extents_.end();
      if (at == extents_.end() || at->second != 1) common = std::gcd(common, t.coefficient);
    }
    return std::max<int64_t>(common, 1);
  }

  // --- how often statements run ---

  // Notes the loops whose variable decides what runs below: those must be taken apart.
  void find_guards(Stmt s, std::unordered_map<const ExprNode*, std::vector<const ExprNode*>> means) {
    const auto decides = [&](Expr e) {
      for (Expr v : variables(e)) {
        const auto at = means.find(v.get());
        if (at == means.end())
          guards_.insert(v.get());
        else
          guards_.insert(at->second.begin(), at->second.end());
      }
    };
    if (const auto* loop = s->as<For>()) decides(loop->extent);
    if (const auto* branch = s->as<If>()) decides(branch->condition);
    if (const auto* block = s->as<Block>()) {
      if (block->predicate) decides(block->predicate);
      for (const BlockIter& i : block->iters) {
        std::vector<const ExprNode*> from;
        for (Expr v : variables(i.binding)) {
          const auto at = means.find(v.get());
          if (at == means.end())
            from.push_back(v.get());
          else
            from.insert(from.end(), at->second.begin(), at->second.end());
        }
        means[i.var.get()] = std::move(from);
      }
    }
    for (Stmt c : children(s)) find_guards(c, means);
  }

  void walk(Stmt s, double times) {
    if (const auto at = leaves_.find(s); at != leaves_.end()) {
      flops_ += at->second.flops * times;
      for (const Buffer* b : at->second.accesses) touched_[b].times += times;
    }
    ++visits_;
    switch (s->kind) {
      case StmtKind::kFor: return walk_loop(*s->as<For>(), times);
      case StmtKind::kBlock: return walk_block(*s->as<Block>(), times);
      case StmtKind::kIf: {
        const auto* branch = s->as<If>();
        const std::optional<int64_t> holds = evaluate(branch->condition, values_);
        if (!holds || *holds) walk(branch->then_branch, times);
        if (branch->else_branch && (!holds || !*holds)) walk(branch->else_branch, times);
        return;
      }
      case StmtKind::kSeq:
      case StmtKind::kAllocate:
        for (Stmt c : children(s)) walk(c, times);
        return;
      case StmtKind::kStore:
      case StmtKind::kPrefetch: return;
      default: static_assert(others_only_look<For, Block, Store, Seq, If, Allocate, Prefetch>); return;
    }
  }

  void walk_loop(const For& loop, double times) {
    std::optional<int64_t> extent = evaluate(loop.extent, values_);
    if (!extent) extent = bounds_.of(loop.extent).high;  // loops around were not taken apart
    if (!extent) {
      unknown_ = true;
      return;
    }
    if (*extent <= 0) return;
    if (!guards_.contains(loop.var.get()) || visits_ > kMostVisits) {
      values_.erase(loop.var.get());
      return walk(loop.body, times * static_cast<double>(*extent));
    }
    for (int64_t i = 0; i < *extent; ++i) {
      values_[loop.var.get()] = i;
      walk(loop.body, times);
    }
    values_.erase(loop.var.get());
  }

  void walk_block(const Block& block, double times) {
    if (block.predicate && evaluate(block.predicate, values_) == 0) return;
    double reductions = 1;
    for (const BlockIter& i : block.iters) {
      const std::optional<int64_t> value = evaluate(i.binding, values_);
      if (value)
        values_[i.var.get()] = *value;
      else
        values_.erase(i.var.get());
      if (i.kind == IterKind::kReduction)
        reductions *= static_cast<double>(std::max<int64_t>(1, bounds_.of(i.extent).high.value_or(1)));
    }
    if (block.init) walk(block.init, times / reductions);
    walk(block.body, times);
  }

  const Kernel& kernel_;
  std::unordered_set<const Buffer*> parameters_;
  Bounds bounds_;
  std::unordered_map<const ExprNode*, int64_t> extents_;
  std::unordered_map<Stmt, Leaf> leaves_;
  std::unordered_map<const Buffer*, Touched> touched_;
  std::unordered_set<const ExprNode*> guards_;
  Values values_;  // of loops that were taken apart
  double flops_ = 0;
  int64_t visits_ = 0;
  bool unknown_ = false;
};

}  // namespace

double Count::total_bytes() const { return std::accumulate(bytes.begin(), bytes.end(), 0.0); }

std::optional<Count> count(const Kernel& k) {
  if (k.external) return std::nullopt;
  return Counter(k).run();
}

}  // namespace relay::kernel
