#include "passes/rematerialise/tasks.h"

#include <algorithm>
#include <set>

namespace relay::passes::rematerialise {

std::vector<uint32_t> writers(const Tasks& tasks) {
  std::vector<uint32_t> out(tasks.bytes.size());
  for (uint32_t i = 0; i < tasks.all.size(); ++i) {
    for (uint32_t v : tasks.all[i].writes) out[v] = i;
  }
  return out;
}

bool may_repeat(const Tasks& tasks, const Task& task) {
  return std::all_of(task.writes.begin(), task.writes.end(), [&](uint32_t v) { return tasks.bytes[v] > 0; });
}

uint64_t peak(const Tasks& tasks, const Order& order) {
  constexpr size_t kNever = SIZE_MAX;
  // Each place of the order begins a life of each value that its task writes.
  struct Life {
    uint64_t bytes;
    size_t last;
  };
  std::vector<Life> lives;
  std::vector<size_t> now(tasks.bytes.size(), kNever), first_life(order.size() + 1);
  // Lives that are replaced if they end here, and the values that do it.
  std::vector<std::vector<std::pair<uint32_t, size_t>>> may_end(order.size());
  for (size_t at = 0; at < order.size(); ++at) {
    const Task& task = tasks.all[order[at]];
    for (uint32_t v : task.reads) {
      if (now[v] != kNever) lives[now[v]].last = at;
    }
    for (const Task::Replacement& r : task.replaces) {
      if (now[r.read] != kNever) may_end[at].emplace_back(r.written, now[r.read]);
    }
    first_life[at] = lives.size();
    for (uint32_t v : task.writes) {
      now[v] = lives.size();
      lives.push_back({tasks.bytes[v], at});
    }
  }
  first_life[order.size()] = lives.size();
  std::vector<uint64_t> freed(order.size());
  for (const Life& life : lives) freed[life.last] += life.bytes;
  uint64_t alive = 0, most = 0;
  for (size_t at = 0; at < order.size(); ++at) {
    for (size_t i = first_life[at]; i < first_life[at + 1]; ++i) alive += lives[i].bytes;
    uint64_t replaced = 0;
    std::set<uint32_t> has_place;
    std::set<size_t> ended;
    for (const auto& [written, life] : may_end[at]) {
      if (lives[life].last != at || has_place.contains(written) || !ended.insert(life).second) continue;
      has_place.insert(written);
      replaced += lives[life].bytes;
    }
    most = std::max(most, alive - replaced + tasks.all[order[at]].temporaries);
    alive -= freed[at];
  }
  return most;
}

double extra_cost(const Tasks& tasks, const Order& order) {
  double all = 0;
  for (uint32_t i : order) all += tasks.all[i].cost;
  for (const Task& task : tasks.all) all -= task.cost;
  return std::max(all, 0.0);
}

Tasks in_order(const Tasks& tasks, const Order& order) {
  Tasks out{{}, tasks.bytes};
  for (uint32_t i : order) out.all.push_back(tasks.all[i]);
  return out;
}

}  // namespace relay::passes::rematerialise
