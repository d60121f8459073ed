// Calls that become the bodies of what they call, for passes that want one dataflow.
#pragma once

#include <cstdint>
#include <functional>

#include "ir/module.h"

namespace relay::passes {

struct InlineOptions {
  int64_t most_nodes = 256;  // a larger function is inlined only if it is used once or marked `Inline`
  bool marked_only = false;  // functions without the mark stay
  // May a function that is used once move to its use, and so go? If not, the module keeps all.
  bool moves = true;
  // Functions that stay; null: those that recur alone.
  std::function<bool(const Fn*)> stays = {};
};

// What the pass `inline` makes of a typed module.
Module with_inlined_calls(const Module& m, const InlineOptions& options);

}  // namespace relay::passes
