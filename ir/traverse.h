// Traversal, iterative: programs may be nested as deeply as memory allows.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "ir/fields.h"
#include "ir/module.h"

namespace relay {

// A side table over expressions, indexed by their dense ids; grows on demand. Memory and time
// follow the ids that are used, wherever they lie: asking about many small functions of a large
// module stays linear.
template <class T>
class NodeMap {
 public:
  // References stay valid while the map lives.
  T& operator[](Expr e) {
    const uint32_t number = e->id / kPageSize;
    if (Page* page = find(number)) return page->slots[e->id % kPageSize].value;
    if (2 * (used_ + 1) > pages_.size()) grow();
    Page& page = pages_[place_of(number)];
    page.number = number;
    page.slots.resize(kPageSize);
    ++used_;
    return page.slots[e->id % kPageSize].value;
  }
  // The value, or a default-made one if none was ever set.
  const T& get(Expr e) const {
    static const T none{};
    const Page* page = find(e->id / kPageSize);
    return page ? page->slots[e->id % kPageSize].value : none;
  }

 private:
  static constexpr uint32_t kPageSize = 64;
  struct Slot {  // keeps std::vector<bool> away
    T value{};
  };
  struct Page {
    uint32_t number = 0;
    std::vector<Slot> slots = {};  // empty: the place is free
  };

  // Where a page is or would be: a hash table with linear probing, at most half full. The hash is
  // multiplicative: pages at regular distances, as parts that are made alike have them, would
  // collide in a plainer one.
  size_t place_of(uint32_t number) const {
    const size_t mask = pages_.size() - 1;
    size_t i = (number * uint64_t{0x9e3779b97f4a7c15} >> 32) & mask;
    while (!pages_[i].slots.empty() && pages_[i].number != number) i = (i + 1) & mask;
    return i;
  }
  const Page* find(uint32_t number) const {
    if (pages_.empty()) return nullptr;
    const Page& page = pages_[place_of(number)];
    return page.slots.empty() ? nullptr : &page;
  }
  Page* find(uint32_t number) { return const_cast<Page*>(std::as_const(*this).find(number)); }

  void grow() {
    std::vector<Page> before =
        std::exchange(pages_, std::vector<Page>(std::max<size_t>(4, 2 * pages_.size())));
    for (Page& page : before) {
      if (!page.slots.empty()) pages_[place_of(page.number)] = std::move(page);
    }
  }

  std::vector<Page> pages_;  // a power of two of them
  size_t used_ = 0;
};

// Each node reachable from the roots once, children before parents, in evaluation order.
// Binders (parameters, let variables, pattern variables) are visited only where they are
// used as expressions.
std::vector<Expr> post_order(Expr root);
std::vector<Expr> post_order(std::span<const Expr> roots);

// Walks the program as a tree of scopes over a DAG: every node is entered and left once, at its
// first occurrence. `enter` may return false to skip the children (then `leave` is not called).
void walk(Expr root, const std::function<bool(Expr)>& enter, const std::function<void(Expr)>& leave);

}  // namespace relay
