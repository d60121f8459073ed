// Program: a pattern as a list of numbered items, as the matcher wants it.
#pragma once

#include <functional>
#include <vector>

#include "pattern/pattern.h"

namespace relay::pattern {

struct Item {
  static constexpr uint32_t kNone = UINT32_MAX;

  const Node* node;
  std::vector<uint32_t> children;  // as in the node, but for the path of a dominator
  uint32_t path = kNone;           // of a dominator: its number in Programs::all
  uint32_t slot = kNone;           // items of one slot must match the same expression (N1, N2)
  bool tied = false;               // it, or something beneath it, has a slot
};

struct Program {
  // `number_of` says which program is that of a path.
  Program(const Node* whole, const std::function<uint32_t(const Node* path)>& number_of);

  std::vector<Item> items;  // children before parents; the last one is the whole pattern
  uint32_t slots = 0;

  uint32_t root() const { return static_cast<uint32_t>(items.size()) - 1; }

 private:
  bool meet(const std::vector<uint32_t>& group) const;  // can one way to match take two of these items?
};

// A pattern, and the paths of its dominators: patterns of their own, which share no slot with it
// (D1). A path that several dominators have is there once.
struct Programs {
  explicit Programs(const Pattern& p);

  std::vector<Program> all;  // the first is that of the whole pattern
};

}  // namespace relay::pattern
