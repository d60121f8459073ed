#include "tools/memory_limit.h"

#include <utility>

#include "tools/options/values.h"

namespace relay::tools {

Option add_memory_limit_option(Command sub, uint64_t& limit) {
  return sub
      .option("--memory-limit", &limit,
              "the most memory that the workspace of the plan may take, as 300MB: values are computed "
              "again in the place of being kept until it fits; all limits give the same bits")
      .check(size())
      .kind("BYTES");
}

passes::Pipeline limited(passes::Pipeline pipeline, uint64_t limit) {
  return limit == 0 ? pipeline : passes::within_memory(std::move(pipeline), limit);
}

}  // namespace relay::tools
