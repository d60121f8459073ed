// recompute-producers: what several kernels read, and is cheap to compute, each of them computes.
//
//   %0 = multiply(%x, 2f);                         becomes
//   (sum(%0, axis=[0]), sum(%0, axis=[1]))         (sum(multiply(%x, 2f), axis=[0]),
//                                                   sum(multiply(%x, 2f), axis=[1]))
//
// A tensor that kernels share is written once and read by each of them. If it is computed element
// by element from tensors that are no larger, computing it again moves fewer bytes. The cost model
// (kernel_cost.h) says where that is less than the arithmetic: of all such tensors together, what
// shares a kernel is asked again (analysis/kernel_groups.h), and the program with less predicted
// time stays. Every element has the same bits. A function may run more often than what it reads
// from around it, so nothing is computed again in there, nor in a branch.
//
// Before: `fuse` comes next. After: as many kernels as before, or fewer, which take less time as
// predicted.
#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/evaluation_regions.h"
#include "analysis/kernel_groups.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/registry.h"
#include "passes/accepts.h"
#include "passes/each_function.h"
#include "passes/kernel_cost.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

using Calls = std::vector<const Call*>;

// What the kernels cost together. Those whose cost is not known, as of open extents, are the same
// in both programs that are compared: their producers stay.
double predicted(const analysis::KernelGroups& groups, const target::Cpu& cpu) {
  double sum = 0;
  for (const Calls& g : groups) sum += kernel_cycles(g, cpu).value_or(0);
  return sum;
}

class Producers {
 public:
  Producers(const Module& m, const Fn* fn, const target::Target& target)
      : m_(m),
        cpu_(target.cpu),
        accepts_(accepts_of(target)),
        fn_(fn),
        order_(post_order(fn)),
        groups_(analysis::kernel_groups(m, fn, accepts_)) {
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (const Call* call : groups_[g]) group_of_[call] = g;
    }
  }

  // The function in which producers are computed again; itself if that does not pay.
  Expr run() {
    find();
    if (chosen_.empty()) return fn_;
    const Expr now = rewritten();
    const analysis::KernelGroups groups = analysis::kernel_groups(m_, now, accepts_);
    const bool pays = groups.size() <= groups_.size() && predicted(groups, cpu_) < predicted(groups_, cpu_);
    return pays ? now : fn_;
  }

 private:
  // Groups whose result is worth computing in each group that reads it.
  void find() {
    std::unordered_map<size_t, std::unordered_set<size_t>> readers;
    std::unordered_set<size_t> read_elsewhere;
    for (Expr e : order_) {
      const auto reader = group_of_.find(e);
      for_each_child(e, [&](Expr child) {
        const auto from = group_of_.find(child);
        if (from == group_of_.end()) return;
        if (reader == group_of_.end())
          read_elsewhere.insert(from->second);
        else if (reader->second != from->second)
          readers[from->second].insert(reader->second);
      });
    }
    analysis::Effects effects(m_, fn_);
    const Scopes where = scopes(fn_);
    const std::vector<uint32_t> regions = analysis::evaluation_regions(where, order_);
    const auto region = [&](size_t g) { return regions[where.scope_of.get(groups_[g].back())]; };
    for (size_t g = 0; g < groups_.size(); ++g) {
      const auto found = readers.find(g);
      const bool shared = found != readers.end() && found->second.size() > 1 && !read_elsewhere.contains(g);
      if (!shared || !is_elementwise(groups_[g]) || !effects.silent(groups_[g].back())) continue;
      const auto is_left_out = [&](size_t reader) {
        return chosen_.contains(reader) || region(reader) != region(g);
      };
      if (std::any_of(found->second.begin(), found->second.end(), is_left_out) || reads_chosen(g)) continue;
      if (gain(g, found->second) > 0) chosen_.insert(g);
    }
  }

  static bool is_elementwise(const Calls& group) {
    return std::all_of(group.begin(), group.end(), [](const Call* call) {
      const op::OpDef* def = op::callee(*call);
      return def && def->fusion <= op::Fusion::kBroadcast && def->lower;
    });
  }

  bool reads_chosen(size_t g) const {
    for (const Call* call : groups_[g]) {
      for (Expr arg : call->args) {
        const auto from = group_of_.find(arg);
        if (from != group_of_.end() && from->second != g && chosen_.contains(from->second)) return true;
      }
    }
    return false;
  }

  double gain(size_t g, const std::unordered_set<size_t>& readers) const {
    const auto own = kernel_cycles(groups_[g], cpu_);
    if (!own) return 0;
    double sum = *own;
    for (size_t reader : readers) {
      Calls both = groups_[g];
      both.insert(both.end(), groups_[reader].begin(), groups_[reader].end());
      const auto apart = kernel_cycles(groups_[reader], cpu_), joined = kernel_cycles(both, cpu_);
      if (!apart || !joined) return 0;
      sum += *apart - *joined;
    }
    return sum;
  }

  // Each group that reads a chosen one gets a copy of its calls.
  Expr rewritten() {
    Context& context = m_.context();
    std::unordered_map<Expr, Expr> now;
    std::unordered_map<size_t, std::unordered_map<Expr, Expr>> copies;  // by the reading group
    for (Expr e : order_) {
      const auto reader = group_of_.find(e);
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) {
        const auto from = group_of_.find(child);
        const bool copied = from != group_of_.end() && reader != group_of_.end() &&
                            from->second != reader->second && chosen_.contains(from->second);
        children.push_back(copied ? copy(context, groups_[from->second], now, copies[reader->second])
                                  : now.at(child));
      });
      now[e] = with_children(context, e, children);
    }
    return now.at(fn_);
  }

  // The last call of a copy of the group, which the reading group has once.
  static Expr copy(Context& context, const Calls& group, const std::unordered_map<Expr, Expr>& now,
                   std::unordered_map<Expr, Expr>& known) {
    for (const Call* call : group) {
      if (known.contains(call)) continue;
      std::vector<Expr> children;
      for_each_child(call, [&](Expr child) {
        const auto found = known.find(child);
        children.push_back(found == known.end() ? now.at(child) : found->second);
      });
      const Expr same = with_children(context, call, children);
      known[call] = same == call ? context.node(*call) : same;
    }
    return known.at(group.back());
  }

  const Module& m_;
  const target::Cpu& cpu_;
  const kernel::schedule::Accepts accepts_;
  const Fn* fn_;
  const std::vector<Expr> order_;
  const analysis::KernelGroups groups_;
  std::unordered_map<Expr, size_t> group_of_;
  std::unordered_set<size_t> chosen_;
};

Module run(const Module& m, const PassContext& pass) {
  return with_each_function(m, [&](const Fn* fn) { return Producers(m, fn, pass.target).run(); });
}

}  // namespace

const Pass kRecomputeProducers = {
    .name = "recompute-producers",
    .doc = "compute cheap tensors in each kernel that reads them, where that is predicted to take less time",
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
