#include "passes/pipeline.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/cat.h"
#include "base/split.h"
#include "passes/lists.h"

namespace relay::passes {
namespace {

// --- what the levels run -------------------------------------------------------------------------

enum class For : uint8_t {
  kAll,
  kProcessors,  // blocks of channels and panels of weights are for vectors, steps in pairs for caches
};

struct Row {
  const Pass* pass;
  int least_level;
  For where = For::kAll;
};

// In order. What is written twice is shared before functions are inlined: a checkpoint of
// `gradient` is a function that computes again on purpose. The second round is for functions that
// are called in what the first one does not take alone: more may be inlined then.
constexpr Row kRows[] = {
    {&kInlineLets, 1},
    {&kEliminateCommonSubexpressions, 1},
    {&kPartialEvaluation, 3},
    {&kInline, 1},
    {&kMonomorphise, 0},
    {&kBindKnownExtents, 0},
    {&kSimplifyInference, 0},
    {&kExpandOperators, 0},
    {&kInlineLets, 1},
    {&kFoldConstants, 1},
    {&kDeadCode, 1},
    {&kInline, 1},
    {&kBindKnownExtents, 1},
    {&kInlineLets, 1},
    {&kEinsumToProducts, 1},
    {&kSimplify, 1},
    {&kSimplifyFloats, 3},
    {&kExpandOperators, 3},  // what was recognised may have no lowering of its own
    {&kFoldConstants, 1},
    {&kFoldScaleAxis, 2},
    {&kFlushDenormals, 1},
    {&kBlockChannels, 2, For::kProcessors},
    {&kFoldConstants, 2, For::kProcessors},
    {&kHoistInvariants, 2, For::kProcessors},
    {&kJoinProducts, 2, For::kProcessors},
    {&kPairSteps, 2, For::kProcessors},
    {&kPackWeights, 2, For::kProcessors},
    {&kDeadCode, 1},
    {&kRecomputeProducers, 3, For::kProcessors},
    {&kFuse, 0},
    {&kLower, 0},
    {&kDeadCode, 1},
};

// --- texts ---------------------------------------------------------------------------------------

std::string_view trim(std::string_view s) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!s.empty() && space(s.front())) s.remove_prefix(1);
  while (!s.empty() && space(s.back())) s.remove_suffix(1);
  return s;
}

// The parts that hold something, without blanks around them.
std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  for (std::string_view part : split_outside_braces(text)) {
    if (part = trim(part); !part.empty()) items.push_back(part);
  }
  return items;
}

bool parse_values(std::string_view text, Step& step, Diagnostics& diagnostics) {
  for (std::string_view item : items_of(text)) {
    const size_t equal = item.find('=');
    const std::string name(trim(item.substr(0, equal)));
    const std::string value(equal == std::string_view::npos ? "" : trim(item.substr(equal + 1)));
    const auto parameter = std::find_if(step.pass->parameters.begin(), step.pass->parameters.end(),
                                        [&](const Parameter& p) { return p.name == name; });
    if (parameter == step.pass->parameters.end()) {
      diagnostics
          .error(Span::none(), "bad-pipeline",
                 cat("pass `", step.pass->name, "` has no parameter `", name, "`"))
          .note(step.pass->parameters.empty()
                    ? "it has none"
                    : cat("it has: ",
                          join(step.pass->parameters, ", ", [](const Parameter& p) { return p.name; })));
      return false;
    }
    if (is_list(*parameter)) {
      if (read_list(value, name, step.values)) continue;
      diagnostics.error(Span::none(), "bad-pipeline",
                        cat("parameter `", name, "` of pass `", step.pass->name,
                            "` needs different items with `+` between them, found `", value, "`"));
      return false;
    }
    char* end = nullptr;
    errno = 0;
    const long long number = std::strtoll(value.c_str(), &end, 10);
    if (value.empty() || *end != '\0' || errno != 0) {
      diagnostics.error(Span::none(), "bad-pipeline",
                        cat("parameter `", name, "` of pass `", step.pass->name,
                            "` needs an integer, found `", value, "`"));
      return false;
    }
    if (number < parameter->least || number > parameter->most) {
      diagnostics.error(Span::none(), "bad-pipeline",
                        cat("parameter `", name, "` of pass `", step.pass->name, "` is ", number,
                            "; it may be ", parameter->least, " to ", parameter->most));
      return false;
    }
    step.values[name] = number;
  }
  return true;
}

}  // namespace

Step step(const Pass& pass) {
  Step out{&pass, {}};
  for (const Parameter& p : pass.parameters) out.values[std::string(p.name)] = p.default_value;
  return out;
}

Pipeline default_pipeline(int opt_level, const target::Target& target, Denormals denormals) {
  Pipeline out;
  for (const Row& row : kRows) {
    if (row.pass == &kFlushDenormals && denormals == Denormals::kKeep) continue;
    if (opt_level < row.least_level || (target.gpu && row.where == For::kProcessors)) continue;
    out.push_back(step(*row.pass));
    // At -O0 every operator is a kernel of its own, as it was written.
    if (opt_level <= 0 && row.pass == &kFuse) out.back().values["max-ops"] = 1;
    if (row.pass == &kEliminateCommonSubexpressions) out.back().values["kernels"] = 1;
  }
  return out;
}

Pipeline until(const Pipeline& pipeline, const Pass& stop) {
  const auto is_it = [&](const Step& s) { return s.pass == &stop; };
  return {pipeline.begin(), std::find_if(pipeline.begin(), pipeline.end(), is_it)};
}

Result<Pipeline> parse_pipeline(std::string_view text, Diagnostics& diagnostics) {
  Pipeline steps;
  for (std::string_view item : items_of(text)) {
    const size_t brace = item.find('{');
    const std::string_view name = trim(item.substr(0, brace));
    const Pass* pass = find_pass(name);
    if (!pass) {
      Diagnostic& d = diagnostics.error(Span::none(), "bad-pipeline", no_such_pass(name));
      if (name.find(' ') != std::string_view::npos)
        d.note("commas stand between passes: `fold-constants,fuse`");
      return kReported;
    }
    Step step = passes::step(*pass);
    if (brace != std::string_view::npos) {
      if (item.back() != '}') {
        diagnostics.error(Span::none(), "bad-pipeline", cat("`", item, "` lacks its closing brace"));
        return kReported;
      }
      if (!parse_values(item.substr(brace + 1, item.size() - brace - 2), step, diagnostics)) return kReported;
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

std::string show(const Step& s) {
  std::string values;
  for (const Parameter& p : s.pass->parameters) {
    const int64_t v = s.values.at(std::string(p.name));
    if (v == p.default_value) continue;
    values += cat(values.empty() ? "" : ",", p.name, "=", is_list(p) ? show_list(s.values, p.name) : cat(v));
  }
  return values.empty() ? std::string(s.pass->name) : cat(s.pass->name, "{", values, "}");
}

std::string show(const Pipeline& pipeline) {
  return join(pipeline, ",", [](const Step& s) { return show(s); });
}

}  // namespace relay::passes
