#include "tools/limits.h"

#include <cmath>

namespace relay::tools {

void add_limit_options(CLI::App& sub, interp::Limits& limits) {
  sub.add_option("--fuel", limits.fuel, "steps of the interpreter before it gives up");
  sub.add_option("--max-depth", limits.max_depth, "how deeply evaluation may be nested in the interpreter");
  sub.add_option_function<double>(
         "--max-time",
         [&limits](const double& seconds) {
           limits.max_time = std::chrono::nanoseconds(static_cast<int64_t>(std::min(seconds, 9e9) * 1e9));
         },
         "seconds before the interpreter gives up")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
  sub.add_option(
         "--max-memory", limits.max_bytes,
         "memory before the interpreter gives up, like 2GB; without it three quarters of the machine's")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES");
}

}  // namespace relay::tools
