// Pipelines: passes in the order in which they run, with the values of their parameters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "passes/pass.h"
#include "runtime/denormals.h"
#include "target/target.h"

namespace relay::passes {

struct Step {
  const Pass* pass;
  std::map<std::string, int64_t> values;  // of all its parameters
};
using Pipeline = std::vector<Step>;

// With the values that its parameters have where nobody says otherwise.
Step step(const Pass& pass);

// What -O0 to -O3 run before a compiled engine executes a module. Where denormals are kept, those
// of constants are, too.
Pipeline default_pipeline(int opt_level, const target::Target& target = target::default_target(),
                          Denormals denormals = Denormals::kFlush);

// The steps before the first one of the pass; all if there is none.
Pipeline until(const Pipeline& pipeline, const Pass& stop);

// Texts are for people: "fold-constants,fuse{max-ops=64}". Reports "bad-pipeline", naming the pass
// or the parameter and what there is.
Result<Pipeline> parse_pipeline(std::string_view text, Diagnostics& diagnostics);
std::string show(const Step& step);
std::string show(const Pipeline& pipeline);

}  // namespace relay::passes
