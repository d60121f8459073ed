#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "passes/rematerialise/tasks.h"

namespace relay::passes::rematerialise {
namespace {

class Greedy {
 public:
  Greedy(const Tasks& tasks, uint64_t limit, uint64_t& looks)
      : tasks_(tasks),
        limit_(limit),
        looks_(looks),
        writer_(writers(tasks)),
        reads_(tasks.bytes.size()),
        next_(tasks.bytes.size()),
        here_(tasks.bytes.size()),
        pins_(tasks.bytes.size()) {
    for (uint32_t i = 0; i < tasks.all.size(); ++i) {
      for (uint32_t v : tasks.all[i].reads) reads_[v].push_back(i);
      all_cost_ += tasks.all[i].cost;
    }
  }

  std::optional<Order> run() {
    for (uint32_t i = 0; i < tasks_.all.size(); ++i) {
      now_ = i;
      if (!fetch(i) || !perform(i)) return std::nullopt;
      now_ = i + 1;
      for (uint32_t v : tasks_.all[i].reads) unpin(v);
      for (uint32_t v : tasks_.all[i].writes) drop_if_unused(v);
    }
    return std::move(order_);
  }

 private:
  bool counts(uint32_t v) const { return tasks_.bytes[v] > 0; }

  // The next task of the given order that reads the value.
  std::optional<uint32_t> next_use(uint32_t v) {
    while (next_[v] < reads_[v].size() && reads_[v][next_[v]] < now_) ++next_[v];
    return next_[v] < reads_[v].size() ? std::optional(reads_[v][next_[v]]) : std::nullopt;
  }

  // The tasks that compute it from what is in memory, in order.
  std::vector<uint32_t> recipe(uint32_t v) {
    std::set<uint32_t> found;
    std::vector<uint32_t> pending{writer_[v]};
    while (!pending.empty()) {
      const uint32_t i = pending.back();
      pending.pop_back();
      look();
      if (!found.insert(i).second) continue;
      for (uint32_t read : tasks_.all[i].reads) {
        if (counts(read) && !here_[read]) pending.push_back(writer_[read]);
      }
    }
    return {found.begin(), found.end()};
  }

  // Reads of the task are in memory afterwards, and pinned once each.
  bool fetch(uint32_t task) {
    std::set<uint32_t> pinned;
    const auto pin_once = [&](uint32_t v) {
      if (here_[v] && pinned.insert(v).second) pin(v);
    };
    for (uint32_t v : tasks_.all[task].reads) pin_once(v);
    for (uint32_t v : tasks_.all[task].reads) {
      if (!counts(v)) continue;
      if (!here_[v] && !recompute(v)) return false;
      pin_once(v);
    }
    return true;
  }

  // Runs the recipe of the value. What the recipe reads stays until it has read it.
  bool recompute(uint32_t v) {
    const std::vector<uint32_t> steps = recipe(v);
    std::unordered_map<uint32_t, uint32_t> readers;  // how many of the steps that are left
    for (uint32_t i : steps) {
      for (uint32_t read : tasks_.all[i].reads) ++readers[read];
    }
    for (const auto& [read, count] : readers) pins_[read] += here_[read] ? count : 0;
    for (uint32_t i : steps) {
      extra_ += tasks_.all[i].cost;
      std::vector<uint32_t> made;
      for (uint32_t w : tasks_.all[i].writes) {
        if (counts(w) && !here_[w]) made.push_back(w);
      }
      if (extra_ > all_cost_ || !perform(i)) return false;
      for (uint32_t w : made) {
        const auto left = readers.find(w);
        pins_[w] += left == readers.end() ? 0 : left->second;
      }
      for (uint32_t read : tasks_.all[i].reads) unpin(read);
      for (uint32_t w : made) {
        if (w != v) drop_if_unused(w);
      }
    }
    return true;
  }

  void pin(uint32_t v) { ++pins_[v]; }
  void unpin(uint32_t v) {
    if (!counts(v)) return;
    if (pins_[v] > 0) --pins_[v];
    drop_if_unused(v);
  }
  void drop_if_unused(uint32_t v) {
    if (here_[v] && pins_[v] == 0 && !next_use(v)) drop(v);
  }
  void drop(uint32_t v) {
    here_[v] = false;
    alive_ -= tasks_.bytes[v];
    resident_.erase(v);
  }

  bool perform(uint32_t i) {
    const Task& task = tasks_.all[i];
    uint64_t needed = task.temporaries;
    for (uint32_t v : task.writes) needed += here_[v] ? 0 : tasks_.bytes[v];
    Replaced replaced;
    for (const Task::Replacement& r : task.replaces) {
      if (replaced.may_add(r) && may_replace(r) && ends_with(r.read, i)) needed -= add(replaced, r);
    }
    if (!make_room(task, needed, replaced)) return false;
    for (uint32_t v : replaced.reads) drop(v);
    for (uint32_t v : task.writes) {
      if (!counts(v) || here_[v]) continue;
      here_[v] = true;
      alive_ += tasks_.bytes[v];
      resident_.insert(v);
    }
    order_.push_back(i);
    return true;
  }

  // What a task replaces.
  struct Replaced {
    std::set<uint32_t> writes, reads;
    bool may_add(const Task::Replacement& r) const {
      return !writes.contains(r.written) && !reads.contains(r.read);
    }
  };
  uint64_t add(Replaced& replaced, const Task::Replacement& r) const {
    replaced.writes.insert(r.written);
    replaced.reads.insert(r.read);
    return tasks_.bytes[r.written];
  }
  // Nobody but the task holds the old value, and the new one is not in memory.
  bool may_replace(const Task::Replacement& r) const {
    return here_[r.read] && !here_[r.written] && pins_[r.read] == 1 && counts(r.read);
  }
  // Does nobody read the value after this run of the task?
  bool ends_with(uint32_t v, uint32_t task) const {
    const uint32_t done = task == now_ ? task : now_ - 1;  // a task that runs again belongs to none
    return reads_[v].empty() || reads_[v].back() <= done;
  }

  // Forgets values until there is room for so many bytes, or lets the task replace one of them that
  // is needed again.
  bool make_room(const Task& task, uint64_t needed, Replaced& replaced) {
    while (alive_ + needed > limit_) {
      uint32_t best = UINT32_MAX;
      const Task::Replacement* best_replaced = nullptr;
      double least = std::numeric_limits<double>::infinity();
      for (uint32_t v : resident_) {
        look();
        if (pins_[v] > 0 || !may_repeat(tasks_, tasks_.all[writer_[v]])) continue;
        const double h = ratio(v);
        if (h < least) least = h, best = v;
      }
      for (const Task::Replacement& r : task.replaces) {
        if (!replaced.may_add(r) || !may_replace(r) || !may_repeat(tasks_, tasks_.all[writer_[r.read]]))
          continue;
        const double h = ratio(r.read);
        if (h < least) least = h, best_replaced = &r;
      }
      if (looks_ == 0) return false;
      if (best_replaced) {
        needed -= add(replaced, *best_replaced);
      } else if (best != UINT32_MAX) {
        drop(best);
      } else {
        return false;
      }
    }
    return true;
  }

  double ratio(uint32_t v) {
    const std::optional<uint32_t> use = next_use(v);
    if (!use) return 0;
    double cost = 0;
    here_[v] = false;
    bool can = true;
    for (uint32_t i : recipe(v)) {
      cost += tasks_.all[i].cost;
      can = can && may_repeat(tasks_, tasks_.all[i]);
    }
    here_[v] = true;
    if (!can) return std::numeric_limits<double>::infinity();
    return cost / (static_cast<double>(tasks_.bytes[v]) * (*use - now_ + 1));
  }

  void look() { looks_ -= looks_ > 0; }

  const Tasks& tasks_;
  const uint64_t limit_;
  uint64_t& looks_;  // that are left
  const std::vector<uint32_t> writer_;
  std::vector<std::vector<uint32_t>> reads_;  // of each value the tasks that read it, in order
  std::vector<size_t> next_;
  std::vector<bool> here_;  // is it in memory?
  std::vector<uint32_t> pins_;
  std::set<uint32_t> resident_;
  Order order_;
  uint64_t alive_ = 0;
  double all_cost_ = 0, extra_ = 0;
  uint32_t now_ = 0;
};

}  // namespace

std::optional<Order> recompute_greedily(const Tasks& tasks, uint64_t limit, uint64_t& looks) {
  return Greedy(tasks, limit, looks).run();
}

}  // namespace relay::passes::rematerialise
