// Traversal, iterative: programs may be nested as deeply as memory allows.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "ir/fields.h"
#include "ir/module.h"

namespace relay {

// A side table over expressions, indexed by their dense ids; grows on demand. Memory and time follow the ids that
// are used, not the largest one: asking about many small functions of a large module stays linear.
template <class T>
class NodeMap {
 public:
  // References stay valid while the map lives.
  T& operator[](Expr e) {
    const uint32_t page = e->id / kPageSize;
    if (pages_.empty()) first_ = page;
    if (page < first_) {
      const uint32_t more =
          std::min(first_, std::max<uint32_t>(first_ - page, static_cast<uint32_t>(pages_.size())));
      pages_.insert(pages_.begin(), more, {});
      first_ -= more;
    }
    if (page - first_ >= pages_.size()) pages_.resize(page - first_ + 1);
    std::vector<Slot>& slots = pages_[page - first_];
    if (slots.empty()) slots.resize(kPageSize);
    return slots[e->id % kPageSize].value;
  }
  // The value, or a default-made one if none was ever set.
  const T& get(Expr e) const {
    static const T none{};
    const uint32_t page = e->id / kPageSize;
    if (page < first_ || page - first_ >= pages_.size() || pages_[page - first_].empty()) return none;
    return pages_[page - first_][e->id % kPageSize].value;
  }

 private:
  static constexpr uint32_t kPageSize = 64;
  struct Slot {  // keeps std::vector<bool> away
    T value{};
  };
  uint32_t first_ = 0;  // number of pages_[0]
  std::vector<std::vector<Slot>> pages_;
};

// Each node reachable from the roots once, children before parents, in evaluation order. Binders (parameters, let
// variables, pattern variables) are visited only where they are used as expressions.
std::vector<Expr> post_order(Expr root);
std::vector<Expr> post_order(std::span<const Expr> roots);

// Walks the program as a tree of scopes over a DAG: every node is entered and left once, at its first
// occurrence. `enter` may return false to skip the children (then `leave` is not called).
void walk(Expr root, const std::function<bool(Expr)>& enter, const std::function<void(Expr)>& leave);

}  // namespace relay
