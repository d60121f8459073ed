#include "tools/steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cat.h"
#include "base/nearest.h"
#include "frontend/graph/unique_names.h"
#include "tools/options/values.h"

namespace relay::tools {

std::vector<std::string> step_names(const passes::Plan& plan, const Names& values) {
  frontend::UniqueNames names;
  std::vector<std::string> out(plan.steps.size());
  for (size_t i = out.size(); i-- > 0;) {  // the last step of a value gives it
    const passes::PlanStep& s = plan.steps[i];
    const std::string value = values.of(s.origin->span);
    out[i] = names.take(!value.empty() ? value : s.kernel ? s.kernel->name.str() : "copy");
  }
  return out;
}

std::optional<size_t> find_step(const std::vector<std::string>& names, const Names& values,
                                const std::string& wanted, Session& session) {
  const std::string meant = values.meant(wanted);
  for (const std::string& name : {wanted, meant}) {
    const auto it = std::find(names.begin(), names.end(), name);
    if (it != names.end()) return it - names.begin();
  }
  if (const std::optional<uint64_t> number = parse_count(wanted); number && *number < names.size())
    return *number;
  constexpr size_t kMostNames = 20;
  const std::span few(names.data(), std::min(names.size(), kMostNames));
  std::vector<std::string> all = values.all();
  all.insert(all.end(), names.begin(), names.end());
  const std::string near = meant.empty() ? did_you_mean(wanted, all) : "";
  session.fail(
      kUsage,
      cat("--to ", wanted, ": ",
          meant.empty() ? "there is no such step; " : "another step computes it on the way: take -O0; ",
          near.empty() ? "" : cat(near, " "), "there are 0 to ", names.size() - 1, ": ", join(few, ", "),
          few.size() < names.size() ? ", ..." : "",
          ". A step is called after the last value that is fused into it; at -O0 each operator is one"));
  return std::nullopt;
}

void name_results(const std::string& step, std::span<const Tensor> results,
                  frontend::data::NamedTensors& out) {
  for (size_t i = 0; i < results.size(); ++i)
    out.push_back({results.size() == 1 ? step : cat(step, ".", i), results[i]});
}

void keep_results(graph_runtime::Executor& executor, const std::vector<std::string>& names,
                  frontend::data::NamedTensors& out) {
  const passes::PlanStep* first = executor.plan().steps.data();
  executor.set_observer(
      [&out, &names, first](const passes::PlanStep& step, auto, std::span<const Tensor> results, double) {
        const auto number = static_cast<size_t>(&step - first);
        std::vector<Tensor> copies;
        for (const Tensor& t : results) copies.push_back(t.copy());
        name_results(fmt::format("{:03}_{}", number, bare_name(names[number])), copies, out);
      });
}

}  // namespace relay::tools
