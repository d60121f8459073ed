// relay check: is the model sound, and what does it take and give?
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/escape.h"
#include "ir/traverse.h"
#include "op/registry.h"
#include "tools/engines.h"
#include "tools/model.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

constexpr size_t kLongestType =
    10'000;  // in characters: types that share parts can be longer than any memory

// Which engines take the model as it is, with what it leaves open, and why the others do not.
std::vector<std::pair<std::string_view, std::string>> verdicts(const Model& model, const Session& s) {
  Progress progress(s, "check");
  std::vector<std::pair<std::string_view, std::string>> out;
  for (const Engine& e : engines()) {
    progress.step(e.name);
    out.emplace_back(e.name, e.skips(model.module, model.function, {}));
  }
  return out;
}

// What a refused model says of itself.
void report_refused(const frontend::Interface& interface, const Session& s) {
  nlohmann::ordered_json j = {{"severity", "interface"}};
  std::string text;
  for (const auto& [role, ports] : {std::pair("input", &interface.inputs), {"output", &interface.outputs}}) {
    for (const frontend::Port& p : *ports) {
      j[cat(role, "s")].push_back(show(p));
      text += cat(fmt::format("{:<6} ", role), show(p), "\n");
    }
  }
  s.explain(text, j);
}

void report(const Model& model, const Session& s) {
  std::map<std::string, size_t> calls;
  for (const auto& [name, fn] : model.module.functions()) {
    for (Expr e : post_order(fn)) {
      if (const op::OpDef* def = op::callee(e)) ++calls[def->name];
    }
  }
  const Fn& fn = model.entry();
  if (s.json) {
    nlohmann::ordered_json j;
    for (size_t i = 0; i < fn.params.size(); ++i) {
      j["inputs"].push_back(
          {{"name", model.input_names[i]}, {"type", show(fn.params[i]->type, kLongestType)}});
    }
    j["result"] = show(fn.body->type, kLongestType);
    j["operators"] = calls;
    for (const auto& [engine, why] : verdicts(model, s)) {
      j["engines"][std::string(engine)]["takes"] = why.empty();
      if (!why.empty()) j["engines"][std::string(engine)]["why_not"] = why;
    }
    s.print_json(j);
    return;
  }
  for (size_t i = 0; i < fn.params.size(); ++i)
    s.print(cat("input  ", harmless(model.input_names[i], ""), ": ",
                harmless(show(fn.params[i]->type, kLongestType), ""), "\n"));
  s.print(cat("result ", harmless(show(fn.body->type, kLongestType), ""), "\n"));
  for (const auto& [name, count] : calls) s.print(fmt::format("{:6} {}\n", count, name));
  bool open = false;
  for (const auto& [engine, why] : verdicts(model, s)) {
    open |= !why.empty();
    s.print(cat(fmt::format("engine {:<9}", engine),
                why.empty() ? "takes it" : cat("no: ", harmless(why, "")), "\n"));
  }
  if (open) suggest_shapes(model, s);
}

}  // namespace

void add_check(CLI::App& app, Session& session) {
  auto options = std::make_shared<ModelOptions>();
  CLI::App* sub = app.add_subcommand("check", "read a model, check its types, and say which engines take it");
  add_model_options(*sub, *options);
  options->on_refusal = [&session](const frontend::Interface& i) { report_refused(i, session); };
  sub->callback([options, &session] {
    if (Result<Model> model = load_model(*options, session)) report(*model, session);
  });
}

}  // namespace relay::tools
