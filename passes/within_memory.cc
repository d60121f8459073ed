#include "passes/within_memory.h"

#include <algorithm>

namespace relay::passes {

Pipeline within_memory(Pipeline pipeline, uint64_t limit) {
  const int64_t usual = step(kFuse).values.at("addends");
  for (Step& s : pipeline) {
    if (s.pass == &kFuse && s.values.at("addends") == usual) s.values["addends"] = 2;
  }
  pipeline.push_back(step(kRematerialise));
  int64_t& most = pipeline.back().values["limit"];
  most = static_cast<int64_t>(std::min(limit, static_cast<uint64_t>(most)));
  pipeline.back().values["strict"] = 1;
  return pipeline;
}

}  // namespace relay::passes
