#include <algorithm>
#include <limits>
#include <numeric>

#include "passes/rematerialise/tasks.h"

namespace relay::passes::rematerialise {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr size_t kNone = SIZE_MAX;
// Smaller values than this part of all that is kept stay in memory: nobody gains by them.
constexpr uint64_t kSmallPart = 1000;

// A stage of the way there, and what belongs to it on the way back.
struct Stage {
  size_t begin, end;              // tasks of the way there
  size_t back = 0, back_end = 0;  // tasks of the way back
  double cost = 0;                // of the way there
  uint64_t gives = 0;             // bytes that later stages of the way there read
  uint64_t keeps = 0;             // bytes of its own that the way back or later stages read
  uint64_t passes = 0;            // the most at once while it runs and keeps nothing
  uint64_t builds = 0;            // the same while it keeps
  uint64_t returns = 0;           // the most on its way back, beside what is kept
  bool reads_input = false;       // does its way back read what earlier stages gave it?
  uint64_t carries = 0;           // of the way back, bytes that are alive where its own begins
};

class Chain {
 public:
  Chain(const Tasks& tasks, size_t there)
      : tasks_(tasks), there_(there), writer_(writers(tasks)), uses_(tasks.bytes.size()) {
    for (size_t i = 0; i < tasks.all.size(); ++i) {
      for (uint32_t v : tasks.all[i].reads) {
        Use& use = uses_[v];
        if (i < there) {
          use.last_there = i;
        } else {
          use.first_back = std::min(use.first_back, i);
          use.last_back = i;
        }
      }
    }
    stays_.resize(tasks.bytes.size());
    cut();
    find_ways_back();
    measure();
  }

  // Nothing if the stages do not fit.
  std::optional<Order> order(uint64_t limit) {
    if (stages_.empty() || limit <= staying_bytes_) return std::nullopt;
    slot_ = (limit - staying_bytes_ + kSlots - 1) / kSlots;
    top_ = (limit - staying_bytes_) / slot_;
    solve();
    return best(0, stages_.size() - 1)[top_] == kNever ? std::nullopt : std::optional(pruned(unfold()));
  }

 private:
  struct Use {
    size_t last_there = kNone, first_back = kNone, last_back = kNone;
  };

  bool is_there(uint32_t v) const { return writer_[v] < there_; }
  bool goes_back(uint32_t v) const { return uses_[v].first_back != kNone; }

  // Ends stages where few bytes are alive.
  void cut() {
    std::vector<int64_t> change(there_ + 2);
    for (uint32_t v = 0; v < uses_.size(); ++v) {
      if (!is_there(v) || uses_[v].last_there == kNone) continue;
      change[writer_[v] + 1] += static_cast<int64_t>(tasks_.bytes[v]);
      change[uses_[v].last_there + 1] -= static_cast<int64_t>(tasks_.bytes[v]);
    }
    std::partial_sum(change.begin(), change.end(), change.begin());
    std::vector<size_t> places(there_ > 0 ? there_ - 1 : 0);
    std::iota(places.begin(), places.end(), size_t{1});
    std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) { return change[a] < change[b]; });
    const size_t apart = std::max<size_t>(1, there_ / (2 * kMostStages));
    std::vector<bool> near(there_ + 1);
    std::vector<size_t> ends{there_};
    for (size_t p : places) {
      if (ends.size() == kMostStages) break;
      if (near[p]) continue;
      ends.push_back(p);
      for (size_t q = p - std::min(p, apart - 1); q < std::min(p + apart, there_); ++q) near[q] = true;
    }
    std::sort(ends.begin(), ends.end());
    size_t begin = 0;
    for (size_t end : ends) {
      if (end == begin) continue;
      stages_.push_back({begin, end});
      begin = end;
    }
    stage_of_.resize(there_);
    for (size_t s = 0; s < stages_.size(); ++s) {
      for (size_t i = stages_[s].begin; i < stages_[s].end; ++i) stage_of_[i] = s;
    }
  }

  size_t stage(uint32_t v) const { return stage_of_[writer_[v]]; }
  // The last stage of the way there that reads the value, or has it.
  size_t last_stage(uint32_t v) const {
    return uses_[v].last_there == kNone ? stage(v) : stage_of_[uses_[v].last_there];
  }

  void stay(uint32_t v) {
    if (stays_[v]) return;
    stays_[v] = true;
    staying_bytes_ += tasks_.bytes[v];
  }

  // The way back of a stage begins where a fifth of its own bytes has been asked for; those that
  // the next stage gets as well are asked for by that one first.
  void find_ways_back() {
    uint64_t all = 0;
    std::vector<std::vector<uint32_t>> of(stages_.size());
    for (uint32_t v = 0; v < uses_.size(); ++v) {
      if (!is_there(v) || !goes_back(v)) continue;
      all += tasks_.bytes[v];
      of[stage(v)].push_back(v);
    }
    for (uint32_t v = 0; v < uses_.size(); ++v) {
      if (!is_there(v)) continue;
      if (last_stage(v) > stage(v) + 2) stay(v);
      if (goes_back(v) && tasks_.bytes[v] < all / kSmallPart) stay(v);
    }
    size_t from = there_;
    for (size_t s = stages_.size(); s-- > 0;) {
      std::vector<std::pair<size_t, uint64_t>> asked;
      uint64_t own = 0;
      for (uint32_t v : of[s]) {
        if (stays_[v]) continue;
        asked.emplace_back(last_stage(v) > s ? uses_[v].last_back : uses_[v].first_back, tasks_.bytes[v]);
        own += tasks_.bytes[v];
      }
      std::sort(asked.begin(), asked.end());
      size_t begin = from;
      uint64_t seen = 0;
      for (const auto& [at, bytes] : asked) {
        seen += bytes;
        begin = std::max(from, at);
        if (seen * 5 >= own) break;
      }
      if (s + 1 == stages_.size()) begin = there_;
      stages_[s].back = from = begin;
    }
    for (size_t s = 0; s < stages_.size(); ++s)
      stages_[s].back_end = s == 0 ? tasks_.all.size() : stages_[s - 1].back;
    keep_what_others_read();
  }

  // The way back of a stage finds the stage's own values, and what the stage was given. All else
  // that it reads has to stay.
  void keep_what_others_read() {
    for (size_t s = 0; s < stages_.size(); ++s) {
      for (size_t i = stages_[s].back; i < stages_[s].back_end; ++i) {
        for (uint32_t v : tasks_.all[i].reads) {
          if (!is_there(v) || stage(v) == s) continue;
          if (stage(v) > s || last_stage(v) < s) stay(v);
          stages_[s].reads_input = stages_[s].reads_input || !stays_[v];
        }
      }
    }
  }

  void measure() {
    const size_t count = stages_.size();
    for (uint32_t v = 0; v < uses_.size(); ++v) {
      if (!is_there(v) || stays_[v]) continue;
      if (goes_back(v) || last_stage(v) > stage(v)) stages_[stage(v)].keeps += tasks_.bytes[v];
      for (size_t s = stage(v); s < std::min(last_stage(v), count); ++s) stages_[s].gives += tasks_.bytes[v];
    }
    for (Stage& s : stages_) measure_there(s);
    std::vector<int64_t> change(tasks_.all.size() + 1);
    for (uint32_t v = 0; v < uses_.size(); ++v) {
      if (is_there(v)) continue;
      change[writer_[v]] += static_cast<int64_t>(tasks_.bytes[v]);
      change[(goes_back(v) ? uses_[v].last_back : writer_[v]) + 1] -= static_cast<int64_t>(tasks_.bytes[v]);
    }
    std::partial_sum(change.begin(), change.end(), change.begin());
    for (uint32_t v = 0; v < uses_.size(); ++v) {
      if (is_there(v) || !goes_back(v)) continue;
      for (Stage& s : stages_)
        s.carries += writer_[v] < s.back && s.back <= uses_[v].last_back ? tasks_.bytes[v] : 0;
    }
    for (Stage& s : stages_) {
      for (size_t i = s.back; i < s.back_end; ++i)
        s.returns = std::max(s.returns, static_cast<uint64_t>(change[i]) + tasks_.all[i].temporaries);
    }
  }

  void measure_there(Stage& s) {
    uint64_t passing = 0, kept = 0;
    std::vector<uint64_t> ends(s.end - s.begin + 1);
    for (size_t i = s.begin; i < s.end; ++i) {
      const Task& task = tasks_.all[i];
      s.cost += task.cost;
      uint64_t here = 0;
      for (uint32_t v : task.writes) {
        if (stays_[v]) continue;
        const size_t last = uses_[v].last_there == kNone ? i : uses_[v].last_there;
        if (goes_back(v) || last >= s.end) {
          kept += tasks_.bytes[v];
        }
        passing += tasks_.bytes[v];
        if (last < s.end) ends[last - s.begin] += tasks_.bytes[v];
        here += goes_back(v) || last >= s.end ? 0 : tasks_.bytes[v];
      }
      s.passes = std::max(s.passes, passing + task.temporaries);
      s.builds = std::max({s.builds, kept + here + task.temporaries, passing + task.temporaries});
      passing -= ends[i - s.begin];
    }
  }

  // --- the least cost ----------------------------------------------------------------------------

  size_t place(size_t s, size_t t) const { return s * stages_.size() + t; }
  std::vector<double>& best(size_t s, size_t t) { return best_[place(s, t)]; }
  size_t slots(uint64_t bytes) const { return static_cast<size_t>((bytes + slot_ - 1) / slot_); }

  // best(s, t)[m]: the cost of stages s to t there and back, in so many slots beside what the stage
  // s is given. choice: the stages before the k-th run first, and keep what the k-th is given, or all
  // of the stage before it (kWhole) where its way back needs no more; k = s if the stage s is kept.
  static constexpr size_t kWhole = size_t{1} << 32;
  void solve() {
    const size_t count = stages_.size();
    best_.assign(count * count, {});
    choice_.assign(count * count, {});
    for (size_t length = 1; length <= count; ++length) {
      for (size_t s = 0; s + length <= count; ++s) solve(s, s + length - 1);
    }
  }

  void solve(size_t s, size_t t) {
    std::vector<double>& costs = best(s, t);
    std::vector<size_t>& choice = choice_[place(s, t)];
    costs.assign(kSlots + 1, kNever);
    choice.assign(kSlots + 1, s);
    const Stage& first = stages_[s];
    const size_t kept = slots(first.keeps);
    const uint64_t carried = stages_[t].carries;
    const size_t least = slots(std::max(first.keeps + first.returns, first.builds + carried));
    for (size_t m = least; m <= kSlots; ++m) costs[m] = first.cost + (s == t ? 0 : best(s + 1, t)[m - kept]);
    double there = 0;
    size_t most = 0;
    for (size_t k = s + 1; k <= t + 1; ++k) {
      there += stages_[k - 1].cost;
      const uint64_t input = k - 1 > s ? stages_[k - 2].gives : 0;
      most = std::max(most, slots(stages_[k - 1].passes + input + carried));
      const size_t given = slots(stages_[k - 1].gives);
      for (size_t m = std::max(most, given); k <= t && m <= kSlots; ++m) {
        const double cost = there + best(k, t)[m - given] + best(s, k - 1)[m];
        if (cost < costs[m]) costs[m] = cost, choice[m] = k;
      }
      const Stage& whole = stages_[k - 1];
      if (k - 1 == s || whole.reads_input) continue;
      const size_t all = slots(whole.keeps);
      for (size_t m = std::max(most, slots(whole.keeps + whole.returns)); m <= kSlots; ++m) {
        const double after = k > t ? 0 : best(k, t)[m - all];
        const double cost = there + after + best(s, k - 2)[m];
        if (cost < costs[m]) costs[m] = cost, choice[m] = k + kWhole;
      }
    }
  }

  Order unfold() {
    struct Work {
      size_t s, t, m;
      bool back = false;  // only the way back of s
    };
    Order out;
    const auto append = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) out.push_back(static_cast<uint32_t>(i));
    };
    std::vector<Work> pending{{0, stages_.size() - 1, top_}};
    while (!pending.empty()) {
      const Work w = pending.back();
      pending.pop_back();
      const Stage& first = stages_[w.s];
      if (w.back) {
        append(first.back, first.back_end);
        continue;
      }
      const size_t k = choice_[place(w.s, w.t)][w.m];
      if (k == w.s) {
        append(first.begin, first.end);
        pending.push_back({w.s, w.s, 0, true});
        if (w.s < w.t) pending.push_back({w.s + 1, w.t, w.m - slots(first.keeps)});
      } else if (k >= kWhole) {
        const size_t next = k - kWhole;
        append(first.begin, stages_[next - 1].end);
        pending.push_back({w.s, next - 2, w.m});
        pending.push_back({next - 1, next - 1, 0, true});
        if (next <= w.t) pending.push_back({next, w.t, w.m - slots(stages_[next - 1].keeps)});
      } else {
        append(first.begin, stages_[k].begin);
        pending.push_back({w.s, k - 1, w.m});
        pending.push_back({k, w.t, w.m - slots(stages_[k - 1].gives)});
      }
    }
    return out;
  }

  // Without runs whose values nobody reads.
  Order pruned(const Order& order) const {
    std::vector<bool> is_first(order.size()), ran(tasks_.all.size());
    for (size_t at = 0; at < order.size(); ++at) {
      is_first[at] = !ran[order[at]];
      ran[order[at]] = true;
    }
    std::vector<bool> needed(tasks_.bytes.size());
    Order out;
    for (size_t at = order.size(); at-- > 0;) {
      const Task& task = tasks_.all[order[at]];
      const bool stays = std::all_of(task.writes.begin(), task.writes.end(),
                                     [&](uint32_t v) { return stays_[v] || tasks_.bytes[v] == 0; });
      bool runs = std::any_of(task.writes.begin(), task.writes.end(), [&](uint32_t v) { return needed[v]; });
      if (!is_first[at] && (stays || !may_repeat(tasks_, task))) runs = false;
      if (is_first[at] && (task.may_trap || !may_repeat(tasks_, task))) runs = true;
      if (!runs) continue;
      out.push_back(order[at]);
      for (uint32_t v : task.writes) needed[v] = false;
      for (uint32_t v : task.reads) needed[v] = true;
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  const Tasks& tasks_;
  const size_t there_;
  const std::vector<uint32_t> writer_;
  std::vector<Use> uses_;
  std::vector<bool> stays_;  // values that are in memory from their task to their last use
  uint64_t staying_bytes_ = 0, slot_ = 1;
  size_t top_ = 0;  // slots that there are
  std::vector<Stage> stages_;
  std::vector<size_t> stage_of_;  // of the tasks of the way there
  std::vector<std::vector<double>> best_;
  std::vector<std::vector<size_t>> choice_;
};

}  // namespace

std::optional<Order> recompute_stages(const Tasks& tasks, size_t there, uint64_t limit) {
  if (there == 0 || there >= tasks.all.size()) return std::nullopt;
  Chain chain(tasks, there);
  // The bytes of stages are estimates, mostly too high: what comes out is measured.
  std::optional<Order> best;
  for (double share : {1.5, 1.25, 1.1, 1.05, 1.0, 0.95, 0.9}) {
    std::optional<Order> order = chain.order(static_cast<uint64_t>(static_cast<double>(limit) * share));
    if (!order || peak(tasks, *order) > limit) continue;
    if (!best || extra_cost(tasks, *order) < extra_cost(tasks, *best)) best = std::move(order);
  }
  return best;
}

}  // namespace relay::passes::rematerialise
