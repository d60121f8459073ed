#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "passes/rematerialise/tasks.h"

namespace relay::passes::rematerialise {
namespace {

// More outputs are not tried: each costs a walk over the program.
constexpr size_t kMostOutputs = 64;
// The gradient of the first parameter needs all of the way back, whose values are read, too. So the
// loss is not always the output of which most is read, but the one of the fewest tasks among those
// of which more than this part of the most is read.
constexpr uint64_t kLeastShare = 4;

// What each task waits for: who writes what it reads, and the task before it that may trap.
struct Edges {
  std::vector<std::vector<uint32_t>> after;  // of each task those that wait for it
  std::vector<uint32_t> waits_for;           // how many
};

Edges edges_of(const Tasks& tasks, const std::vector<uint32_t>& writer) {
  Edges out{std::vector<std::vector<uint32_t>>(tasks.all.size()), std::vector<uint32_t>(tasks.all.size())};
  const auto add = [&](uint32_t from, uint32_t to) {
    out.after[from].push_back(to);
    ++out.waits_for[to];
  };
  std::optional<uint32_t> trap;
  for (uint32_t i = 0; i < tasks.all.size(); ++i) {
    for (uint32_t v : tasks.all[i].reads) add(writer[v], i);
    if (!tasks.all[i].may_trap) continue;
    if (trap) add(*trap, i);
    trap = i;
  }
  return out;
}

// The tasks that this one needs, itself included.
std::vector<bool> needed_by(const Tasks& tasks, const std::vector<uint32_t>& writer, uint32_t task) {
  std::vector<bool> in(tasks.all.size());
  std::vector<uint32_t> pending{task};
  while (!pending.empty()) {
    const uint32_t i = pending.back();
    pending.pop_back();
    if (in[i]) continue;
    in[i] = true;
    for (uint32_t v : tasks.all[i].reads) pending.push_back(writer[v]);
  }
  return in;
}

// The bytes that tasks outside of the set read of those inside.
uint64_t kept_bytes(const Tasks& tasks, const std::vector<uint32_t>& writer, const std::vector<bool>& in) {
  std::vector<bool> seen(tasks.bytes.size());
  uint64_t out = 0;
  for (uint32_t i = 0; i < tasks.all.size(); ++i) {
    if (in[i]) continue;
    for (uint32_t v : tasks.all[i].reads) {
      if (!in[writer[v]] || seen[v]) continue;
      seen[v] = true;
      out += tasks.bytes[v];
    }
  }
  return out;
}

// Of each task the last task of the way there whose values it needs on the way back; those of what
// it reads from the way back count, too.
std::vector<uint32_t> turns(const Tasks& tasks, const std::vector<uint32_t>& writer,
                            const std::vector<bool>& there) {
  std::vector<uint32_t> out(tasks.all.size(), UINT32_MAX);
  for (uint32_t i = 0; i < tasks.all.size(); ++i) {
    if (there[i]) continue;
    uint32_t kept = 0;
    bool reads_kept = false;
    for (uint32_t v : tasks.all[i].reads) {
      const uint32_t w = writer[v];
      if (there[w]) {
        kept = std::max(kept, w);
        reads_kept = true;
      } else {
        out[i] = std::min(out[i], out[w]);
      }
    }
    if (reads_kept) out[i] = std::min(out[i], kept);
  }
  return out;
}

// Puts tasks that take more memory than they free before their first readers.
Order sunk(const Tasks& tasks, const Order& order, const Edges& edges) {
  std::vector<uint32_t> place(order.size()), rank(order.size());
  std::vector<size_t> last_read(tasks.bytes.size());
  for (uint32_t at = 0; at < order.size(); ++at) {
    place[order[at]] = at;
    for (uint32_t v : tasks.all[order[at]].reads) last_read[v] = at;
  }
  for (uint32_t at = static_cast<uint32_t>(order.size()); at-- > 0;) {
    const uint32_t i = order[at];
    const Task& task = tasks.all[i];
    rank[i] = at;
    uint64_t taken = 0, freed = 0;
    for (uint32_t v : task.writes) taken += tasks.bytes[v];
    for (uint32_t v : task.reads) freed += last_read[v] == at ? tasks.bytes[v] : 0;
    if (task.may_trap || edges.after[i].empty() || taken <= freed || !may_repeat(tasks, task)) continue;
    rank[i] = UINT32_MAX;
    for (uint32_t reader : edges.after[i]) rank[i] = std::min(rank[i], rank[reader]);
  }
  Order out = order;
  std::sort(out.begin(), out.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(rank[a], place[a]) < std::tie(rank[b], place[b]);
  });
  return out;
}

}  // namespace

size_t way_there(const Tasks& tasks, std::vector<bool>& is_there) {
  const std::vector<uint32_t> writer = writers(tasks);
  is_there.assign(tasks.all.size(), true);
  struct Output {
    uint32_t task;
    uint64_t bytes;
    int64_t tasks;
  };
  std::vector<Output> outputs;
  uint64_t most = 0;
  for (uint32_t i = 0; i < tasks.all.size() && outputs.size() < kMostOutputs; ++i) {
    if (may_repeat(tasks, tasks.all[i])) continue;
    const std::vector<bool> in = needed_by(tasks, writer, i);
    outputs.push_back({i, kept_bytes(tasks, writer, in), std::count(in.begin(), in.end(), true)});
    most = std::max(most, outputs.back().bytes);
  }
  const Output* loss = nullptr;
  for (const Output& o : outputs) {
    if (o.bytes > most / kLeastShare && (!loss || o.tasks < loss->tasks)) loss = &o;
  }
  if (loss) is_there = needed_by(tasks, writer, loss->task);
  return static_cast<size_t>(std::count(is_there.begin(), is_there.end(), true));
}

Order as_tape(const Tasks& tasks) {
  const std::vector<uint32_t> writer = writers(tasks);
  std::vector<bool> there;
  way_there(tasks, there);
  const std::vector<uint32_t> turn = turns(tasks, writer, there);
  const Edges edges = edges_of(tasks, writer);
  // The way there first, then what needs its last values; else as before.
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
  const auto key = [&](uint32_t i) { return Key{!there[i], UINT32_MAX - turn[i], i}; };
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
  std::vector<uint32_t> waits = edges.waits_for;
  for (uint32_t i = 0; i < tasks.all.size(); ++i) {
    if (waits[i] == 0) ready.push(key(i));
  }
  Order order;
  while (!ready.empty()) {
    const uint32_t i = std::get<2>(ready.top());
    ready.pop();
    order.push_back(i);
    for (uint32_t j : edges.after[i]) {
      if (--waits[j] == 0) ready.push(key(j));
    }
  }
  return sunk(tasks, order, edges);
}

}  // namespace relay::passes::rematerialise
