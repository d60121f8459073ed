#include "tools/limits.h"

#include <algorithm>

#include "base/cat.h"
#include "tools/option_values.h"

namespace relay::tools {

void add_limit_options(CLI::App& sub, interp::Limits& limits) {
  sub.add_option("--fuel", limits.fuel,
                 "steps of the machine before it gives up; without it there may be any number")
      ->transform(count_from(1))
      ->type_name("N");
  sub.add_option("--max-depth", limits.max_depth, "how deeply evaluation may be nested in the machine")
      ->transform(count_from(1))
      ->type_name("N")
      ->capture_default_str();
  sub.add_option_function<double>(
         "--max-time",
         [&limits](const double& given) {
           limits.max_time = std::chrono::nanoseconds(static_cast<int64_t>(std::min(given, 9e9) * 1e9));
         },
         "seconds before the machine gives up")
      ->transform(seconds())
      ->type_name("SECONDS");
  sub.add_option(
         "--max-memory", limits.max_bytes,
         "memory that the process may have allocated, as 2GB; without it three quarters of the machine's")
      ->transform(size())
      ->type_name("BYTES");
}

std::string limits_without_effect(const CLI::App& sub, const std::string& engine) {
  if (engine == "interp" || engine == "jit") return {};
  for (const char* name : {"--fuel", "--max-depth", "--max-time", "--max-memory"}) {
    if (sub.get_option(name)->count() > 0)
      return cat(name, " bounds the engines interp and jit; the engine `", engine,
                 "` has no such bound: leave ", name, " out, or use --engine jit");
  }
  return {};
}

}  // namespace relay::tools
