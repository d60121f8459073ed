#include "aot/cuda/target.h"

#include <algorithm>
#include <array>

#include "base/cat.h"

namespace relay::aot::cuda {
namespace {

// From Volta on, threads of a warp may part and meet again, which our kernels count on; nvcc 13
// begins with Turing.
constexpr std::array kCapabilities = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};
constexpr int kDefault = 90;

}  // namespace

bool is_target(std::string_view text) { return text == "cuda" || text.starts_with("cuda:"); }

std::string parse_target(const std::string& text, Target& out) {
  const auto name = [](int capability) { return cat("sm_", capability); };
  for (int capability : kCapabilities) {
    if (text != "cuda:" + name(capability) && !(text == "cuda" && capability == kDefault)) continue;
    out = {cat("cuda:", name(capability)), capability};
    return {};
  }
  return cat("there is no target `", text, "`; of CUDA there are: cuda (which is cuda:", name(kDefault),
             "), ", join(kCapabilities, ", ", [&](int c) { return "cuda:" + name(c); }));
}

std::string default_pipeline(int opt_level) { return passes::default_pipeline(std::min(opt_level, 1)); }

void aim_at_gpu(int opt_level, passes::RunnerOptions& options) {
  options.target.opt_level = opt_level;
  options.gpu = kernel::schedule::GpuOptions{.opt_level = opt_level};
}

}  // namespace relay::aot::cuda
