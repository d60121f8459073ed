#include "passes/locations.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace relay::passes {
namespace {

uint64_t aligned(uint64_t bytes) {
  constexpr uint64_t kMost = UINT64_MAX / kLocationAlignment * kLocationAlignment;
  return bytes > kMost ? kMost : (bytes + kLocationAlignment - 1) / kLocationAlignment * kLocationAlignment;
}

// Saturates: no memory is that large, and whoever asks for it is told so.
uint64_t sum(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? UINT64_MAX : out;
}

std::vector<size_t> in_order(size_t count, const std::function<bool(size_t, size_t)>& before) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

// Who is alive at the same time. Steps are numbered anew, without those at which nothing begins or
// ends, and stand at the leaves of a binary tree: each life is noted at the few nodes whose leaves
// make up its steps.
class Timeline {
 public:
  explicit Timeline(std::span<const Life> lives) : lives_(lives) {
    for (const Life& l : lives) steps_.insert(steps_.end(), {l.first, l.last});
    std::sort(steps_.begin(), steps_.end());
    steps_.erase(std::unique(steps_.begin(), steps_.end()), steps_.end());
    nodes_.resize(2 * steps_.size());
  }

  void add(size_t i) {
    size_t from = leaf(lives_[i].first), to = leaf(lives_[i].last) + 1;
    for (; from < to; from /= 2, to /= 2) {
      if (from % 2 == 1) nodes_[from++].push_back(i);
      if (to % 2 == 1) nodes_[--to].push_back(i);
    }
    beginning_.emplace(lives_[i].first, i);
  }

  // Those added that share a step with `life`, each once. O(log steps + their number).
  std::vector<size_t> alive_with(const Life& life) const {
    std::vector<size_t> out;
    for (size_t node = leaf(life.first); node > 0; node /= 2)
      out.insert(out.end(), nodes_[node].begin(), nodes_[node].end());
    for (auto it = beginning_.upper_bound(life.first); it != beginning_.end() && it->first <= life.last; ++it)
      out.push_back(it->second);
    return out;
  }

 private:
  size_t leaf(size_t step) const {
    const auto it = std::lower_bound(steps_.begin(), steps_.end(), step);
    return steps_.size() + static_cast<size_t>(it - steps_.begin());
  }

  std::span<const Life> lives_;
  std::vector<size_t> steps_;
  std::vector<std::vector<size_t>> nodes_;
  std::multimap<size_t, size_t> beginning_;  // step -> who is alive from it
};

}  // namespace

// The largest first, each at the lowest offset where it overlaps with nothing that is alive at the
// same time (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 4.2).
Locations find_locations(std::span<const Life> lives, std::span<const uint64_t> bytes) {
  Locations out;
  out.offsets.resize(lives.size());
  const auto size = [&](size_t i) { return aligned(std::max<uint64_t>(bytes[i], 1)); };
  Timeline placed(lives);
  for (size_t i : in_order(lives.size(), [&](size_t a, size_t b) { return size(a) > size(b); })) {
    std::vector<size_t> others = placed.alive_with(lives[i]);
    std::sort(others.begin(), others.end(),
              [&](size_t a, size_t b) { return out.offsets[a] < out.offsets[b]; });
    uint64_t begin = 0;
    for (size_t other : others) {
      if (out.offsets[other] >= sum(begin, size(i))) break;
      begin = std::max(begin, sum(out.offsets[other], size(other)));
    }
    out.offsets[i] = begin;
    out.bytes = std::max(out.bytes, sum(begin, size(i)));
    out.bytes_without_sharing = sum(out.bytes_without_sharing, size(i));
    placed.add(i);
  }
  return out;
}

// The slot that is free and was last given to one of the same size, else any that is free: then it
// is as large as the larger one, which is less than both.
std::vector<size_t> find_slots(std::span<const Life> lives,
                               const std::function<bool(size_t, size_t)>& is_same_size) {
  std::vector<size_t> out(lives.size()), holder;  // of each slot, who had it last
  for (size_t i :
       in_order(lives.size(), [&](size_t a, size_t b) { return lives[a].first < lives[b].first; })) {
    size_t chosen = holder.size();
    for (size_t s = 0; s < holder.size(); ++s) {
      if (lives[holder[s]].last >= lives[i].first) continue;
      const bool same = is_same_size(holder[s], i);
      if (same || chosen == holder.size()) chosen = s;
      if (same) break;
    }
    if (chosen == holder.size()) holder.push_back(i);
    holder[chosen] = i;
    out[i] = chosen;
  }
  return out;
}

}  // namespace relay::passes
