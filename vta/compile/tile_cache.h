// Which tile is in which slot of a scratchpad, while a stream is written.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "vta/compile/schedule.h"

namespace relay::vta {

// A tile that is not there takes the slot that was used least recently.
class TileCache {
 public:
  // The section, and the begin of the tile in each dim that tells tiles apart.
  using Key = std::array<int64_t, 6>;

  TileCache(const Slots& slots, int64_t base) : size_(slots.size), base_(base) {
    entries_.resize(static_cast<size_t>(std::max<int64_t>(slots.count, 1)));
    for (size_t i = 0; i < entries_.size(); i++) entries_[i].slot = static_cast<int64_t>(i);
  }

  struct Found {
    int64_t base = 0;  // in the scratchpad
    bool loaded = false;
  };
  Found find(const Key& key) {
    auto it = std::find_if(entries_.begin(), entries_.end(),
                           [&](const Entry& e) { return e.used && e.key == key; });
    const bool loaded = it != entries_.end();
    if (!loaded) it = entries_.begin();
    Entry entry = {key, it->slot, true};
    entries_.erase(it);
    entries_.push_back(entry);
    return {base_ + entry.slot * size_, loaded};
  }

 private:
  struct Entry {
    Key key = {};
    int64_t slot = 0;
    bool used = false;
  };
  int64_t size_, base_;
  std::vector<Entry> entries_;  // the least recently used one first
};

}  // namespace relay::vta
