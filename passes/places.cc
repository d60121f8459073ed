#include "passes/places.h"

#include <algorithm>
#include <numeric>

namespace relay::passes {
namespace {

uint64_t aligned(uint64_t bytes) {
  constexpr uint64_t kMost = UINT64_MAX / kPlaceAlignment * kPlaceAlignment;
  return bytes > kMost ? kMost : (bytes + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
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

}  // namespace

// The largest first, each at the lowest offset where it overlaps with nothing that is alive at the
// same time (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 4.2).
Places find_places(std::span<const Life> lives, std::span<const uint64_t> bytes) {
  struct Range {
    uint64_t begin, end;
    Life life;
  };
  Places out;
  out.offsets.resize(lives.size());
  const auto size = [&](size_t i) { return aligned(std::max<uint64_t>(bytes[i], 1)); };
  std::vector<Range> placed;  // by where they begin
  for (size_t i : in_order(lives.size(), [&](size_t a, size_t b) { return size(a) > size(b); })) {
    uint64_t begin = 0;
    for (const Range& other : placed) {
      if (other.life.last < lives[i].first || lives[i].last < other.life.first) continue;
      if (other.begin >= sum(begin, size(i))) break;
      begin = std::max(begin, other.end);
    }
    const Range r{begin, sum(begin, size(i)), lives[i]};
    out.offsets[i] = begin;
    out.bytes = std::max(out.bytes, r.end);
    out.bytes_without_sharing = sum(out.bytes_without_sharing, size(i));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), r,
                                   [](const Range& a, const Range& b) { return a.begin < b.begin; }),
                  r);
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
