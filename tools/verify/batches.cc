#include "tools/verify/batches.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace relay::tools {

void run_in_batches(size_t count, const std::function<bool(size_t begin, size_t end)>& run) {
  struct Range {
    size_t begin, end;
  };
  std::vector<Range> pending;  // the next one last
  for (size_t begin = 0; begin < count; begin += kMostInBatch)
    pending.push_back({begin, std::min(begin + kMostInBatch, count)});
  std::reverse(pending.begin(), pending.end());
  while (!pending.empty()) {
    const Range r = pending.back();
    pending.pop_back();
    if (run(r.begin, r.end)) continue;
    const size_t middle = r.begin + (r.end - r.begin) / 2;
    CHECK(middle > r.begin, "a batch of one program cannot be taken apart");
    pending.push_back({middle, r.end});
    pending.push_back({r.begin, middle});
  }
}

}  // namespace relay::tools
