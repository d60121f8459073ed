// relay check: is the model sound, and what does it take and give?
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/escape.h"
#include "ir/traverse.h"
#include "op/registry.h"
#include "tools/model.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

constexpr size_t kLongestType =
    10'000;  // in characters: types that share parts can be longer than any memory

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
    s.print_json(j);
    return;
  }
  for (size_t i = 0; i < fn.params.size(); ++i)
    s.print(cat("input  ", harmless(model.input_names[i], ""), ": ",
                harmless(show(fn.params[i]->type, kLongestType), ""), "\n"));
  s.print(cat("result ", harmless(show(fn.body->type, kLongestType), ""), "\n"));
  for (const auto& [name, count] : calls) s.print(fmt::format("{:6} {}\n", count, name));
}

}  // namespace

void add_check(CLI::App& app, Session& session) {
  auto options = std::make_shared<ModelOptions>();
  CLI::App* sub = app.add_subcommand("check", "read a model and check its types");
  add_model_options(*sub, *options);
  sub->callback([options, &session] {
    if (Result<Model> model = load_model(*options, session)) report(*model, session);
  });
}

}  // namespace relay::tools
