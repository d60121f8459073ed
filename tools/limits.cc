#include "tools/limits.h"

#include "base/cat.h"
#include "driver/engines.h"
#include "tools/options/values.h"

namespace relay::tools {

void add_limit_options(Command sub, interp::Limits& limits) {
  sub.option("--fuel", &limits.fuel,
             "steps of the machine before it gives up; without it there may be any number")
      .check(count_from(1))
      .kind("N");
  sub.option("--max-depth", &limits.max_depth, "how deeply evaluation may be nested in the machine")
      .check(count_from(1))
      .kind("N")
      .shows_default();
  sub.option("--max-time", &limits.max_time, "seconds before the machine gives up")
      .check(seconds())
      .kind("SECONDS");
  sub.option("--max-memory", &limits.max_bytes,
             "memory that the process may have allocated, as 2GB; without it three quarters of the machine's")
      .check(size())
      .kind("BYTES");
}

std::string limits_without_effect(Command sub, const std::string& engine) {
  if (driver::find_engine(engine)->on_machine) return {};
  for (const char* name : {"--fuel", "--max-depth", "--max-time", "--max-memory"}) {
    if (sub.given(name))
      return cat(name, " bounds the engines interp, jit and vta; the engine `", engine,
                 "` has no such bound: leave ", name, " out, or use --engine jit");
  }
  return {};
}

}  // namespace relay::tools
