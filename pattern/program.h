// Program: a pattern as a list of numbered items, as the matcher wants it.
#pragma once

#include <memory>
#include <vector>

#include "pattern/pattern.h"

namespace relay::pattern {

struct Item {
  static constexpr uint32_t kNone = UINT32_MAX;

  const Node* node;
  std::vector<uint32_t> children;  // as in the node, but for the path of a dominator
  uint32_t path = kNone;           // of a dominator: its number in Program::paths
  uint32_t slot = kNone;           // items of one slot must match the same expression (N1, N2)
  bool tied = false;               // it, or something beneath it, has a slot
};

struct Program {
  explicit Program(const Pattern& p);

  std::vector<Item> items;  // children before parents; the last one is the whole pattern
  uint32_t slots = 0;
  std::vector<std::unique_ptr<Program>>
      paths;  // patterns of their own: they share no slot with this one (D1)

  uint32_t root() const { return static_cast<uint32_t>(items.size()) - 1; }

 private:
  bool meet(const std::vector<uint32_t>& group) const;  // can one way to match take two of these items?
};

}  // namespace relay::pattern
