// Calls that partial evaluation has unfolded: an equal one has the value of the first.
//
// So `@fib(7, %x)` of a naive recursion becomes as many additions as there are different calls, and
// not an exponential number. Calls are equal if they call one function with the types of one call,
// and if their arguments are equal as far as they are known, and else are of one name. A value is
// known while the block is open in which it has a name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "passes/partial_values.h"

namespace relay::passes {

class CallMemo {
 public:
  using Key = std::vector<uint64_t>;
  // Nothing if an argument holds more than is compared.
  static std::optional<Key> key(const Fn* fn, const std::vector<Partial>& args);

  const Partial* find(const Key& key) const;
  // `entries`: of the residual program so far. `depth`: of the open block.
  void add(const Key& key, Partial value, size_t entries, size_t depth);
  // Blocks deeper than this are closed.
  void forget_deeper(size_t depth);
  // Entries from this one on are taken back.
  void forget_since(size_t entries);

 private:
  struct Row {
    std::map<Key, Partial>::iterator at;
    size_t entries, depth;
  };
  std::map<Key, Partial> values_;
  std::vector<Row> rows_;  // in the order in which they were added: neither number gets smaller
};

}  // namespace relay::passes
