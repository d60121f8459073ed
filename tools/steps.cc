#include "tools/steps.h"

#include <fmt/format.h>

#include "base/cat.h"
#include "base/nearest.h"
#include "graph_runtime/unique_names.h"
#include "tools/option_values.h"

namespace relay::tools {

std::string_view node_at(Span at, const SourceMap& sources) {
  if (!at.known()) return {};
  const std::string_view line = sources.text(at.file).substr(at.begin, at.end - at.begin);
  const size_t begin = line.find('"');
  const size_t end = begin == std::string_view::npos ? begin : line.find('"', begin + 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(begin + 1, end - begin - 1);
}

std::vector<std::string> step_names(const passes::Plan& plan, const Model& model) {
  const SourceMap& sources = model.module.context().sources();
  graph_runtime::UniqueNames names;
  std::vector<std::string> out;
  for (const passes::PlanStep& s : plan.steps) {
    std::string base;
    if (model.is_listed) base = node_at(s.origin->span, sources);
    if (base.empty()) base = s.kernel ? s.kernel->name.str() : "copy";
    out.push_back(names.take(base));
  }
  return out;
}

std::optional<size_t> find_step(const std::vector<std::string>& names, const std::string& wanted,
                                Session& session) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == wanted) return i;
  }
  if (const std::optional<uint64_t> number = parse_count(wanted); number && *number < names.size())
    return *number;
  constexpr size_t kMostNames = 20;
  const std::span few(names.data(), std::min(names.size(), kMostNames));
  const std::string near = did_you_mean(wanted, names);
  session.fail(
      kUsage,
      cat("--to ", wanted, ": there is no such step; ", near.empty() ? "" : cat(near, " "), "there are 0 to ",
          names.size() - 1, ": ", join(few, ", "), few.size() < names.size() ? ", ..." : "",
          ". A step is called after the last node that is fused into it; at -O0 each operator is one"));
  return std::nullopt;
}

void name_results(const std::string& step, std::span<const Tensor> results, data::NamedTensors& out) {
  for (size_t i = 0; i < results.size(); ++i)
    out.push_back({results.size() == 1 ? step : cat(step, ".", i), results[i]});
}

void keep_results(graph_runtime::Executor& executor, const std::vector<std::string>& names,
                  data::NamedTensors& out) {
  const passes::PlanStep* first = executor.plan().steps.data();
  executor.set_observer(
      [&out, &names, first](const passes::PlanStep& step, auto, std::span<const Tensor> results, double) {
        const auto number = static_cast<size_t>(&step - first);
        std::vector<Tensor> copies;
        for (const Tensor& t : results) copies.push_back(t.copy());
        name_results(fmt::format("{:03}_{}", number, names[number]), copies, out);
      });
}

}  // namespace relay::tools
