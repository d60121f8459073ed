// relay check: is the model sound, and what does it take and give?
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/escape.h"
#include "driver/engines.h"
#include "ir/traverse.h"
#include "op/registry.h"
#include "tools/artifact_model.h"
#include "tools/model.h"
#include "tools/options/options.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

constexpr size_t kLongestType =
    10'000;  // in characters: types that share parts can be longer than any memory

// Which engines take the model as it is, with what it leaves open, and why the others do not.
std::vector<std::pair<std::string_view, std::string>> verdicts(const driver::Model& model, const Session& s) {
  Progress progress(s, "check");
  std::vector<std::pair<std::string_view, std::string>> out;
  driver::Question question(model.module, model.function);
  for (const driver::Engine& e : driver::engines()) {
    progress.step(e.name);
    std::string why = e.skips(question);
    if (why.empty() || !e.for_device) out.emplace_back(e.name, std::move(why));
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

// Of a module without the function that engines run.
void report_functions(const Module& module, const std::map<std::string, size_t>& calls, const Session& s) {
  if (s.json) {
    nlohmann::ordered_json j = {{"functions", nlohmann::ordered_json::object()}, {"operators", calls}};
    for (const auto& [name, fn] : module.functions())
      j["functions"][name.str()] = show(fn->type, kLongestType);
    s.print_json(j);
    return;
  }
  for (const auto& [name, fn] : module.functions())
    s.print(
        cat("function ", harmless(name.text(), ""), ": ", harmless(show(fn->type, kLongestType), ""), "\n"));
  for (const auto& [name, count] : calls) s.print(fmt::format("{:6} {}\n", count, name));
  s.say("relay: it has no @main; with --function, check says which engines take one of the others\n");
}

void report(const driver::Model& model, const Session& s) {
  std::map<std::string, size_t> calls;
  for (const auto& [name, fn] : model.module.functions()) {
    for (Expr e : post_order(fn)) {
      if (const op::OpDef* def = op::callee(e)) ++calls[def->name];
    }
  }
  if (model.function.empty()) {
    report_functions(model.module, calls, s);
    return;
  }
  const Fn& fn = model.entry();
  if (s.json) {
    nlohmann::ordered_json j = nlohmann::ordered_json::object();
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

// What an artifact says of itself (docs/artifacts.md).
void report_artifact(const nlohmann::ordered_json& d, const Session& s) {
  if (s.json) {
    s.print_json(d);
    return;
  }
  const auto line = [&](std::string_view key, const std::string& value) {
    s.print(cat(fmt::format("{:<9} ", key), harmless(value, ""), "\n"));
  };
  const auto name = [](const nlohmann::ordered_json& j) { return j.at("name").get<std::string>(); };
  const auto is_data = [](const nlohmann::ordered_json& type) { return type.at("kind") == "data"; };
  const auto types = d.value("types", nlohmann::ordered_json::array());
  if (std::any_of(types.begin(), types.end(), is_data)) {  // inputs and outputs are not all there is
    const auto type = [&](const nlohmann::ordered_json& number) {
      return types.at(number.get<size_t>()).at("type").get<std::string>();
    };
    for (const auto& p : d.at("parameters")) line("parameter", cat(name(p), ": ", type(p.at("type"))));
    line("result", type(d.at("result")));
  }
  for (const auto& p : d.at("inputs")) line("input", cat(name(p), ": ", type_of_port(p)));
  for (const auto& p : d.at("outputs")) line("output", cat(name(p), ": ", type_of_port(p)));
  const auto number = [&](const char* key) { return cat(d.at(key).get<uint64_t>()); };
  const auto text = [](const nlohmann::ordered_json& j) { return j.get<std::string>(); };
  line("target",
       cat(text(d.at("target")), d.at("features").empty() ? "" : ": ", join(d.at("features"), ", ", text)));
  line("compiled", cat("-O", number("opt_level"), ", --threads ", number("threads")));
  line("kernels", number("kernels"));
  if (d.contains("vta")) {
    const auto& parameters = d.at("vta").at("parameters");
    std::vector<std::string> list;
    for (const auto& [key, value] : parameters.items()) list.push_back(cat(key, " ", value.get<int>()));
    line("needs", "a VTA with " + join(list, ", "));
    for (const auto& layer : d.at("vta").at("layers")) line("on it", text(layer));
  }
  line("workspace", cat(number("workspace_bytes"), " bytes"));
  line("weights", cat(number("weights_bytes"), " bytes, ", text(d.at("weights"))));
}

void check_artifact(Command sub, const std::string& path, Session& s) {
  if (!fits_artifact(sub, path, s)) return;
  if (sub.given("--input-shapes")) {
    s.fail(kUsage, cat("--input-shapes means nothing here; `relay run ", path, "` takes it"));
    return;
  }
  describe_artifact(path, s, [&](const auto& description) { report_artifact(description, s); });
}

}  // namespace

void add_check(Command app, Session& session) {
  auto options = std::make_shared<ModelOptions>();
  Command sub = app.command("check",
                            "read a model, check its types, and say which engines take it; of what "
                            "it was compiled to, list what it takes and needs");
  add_model_options(sub, *options, /*takes_artifacts=*/true);
  options->on_refusal = [&session](const frontend::Interface& i) { report_refused(i, session); };
  sub.action([options, sub, &session] {
    if (driver::is_artifact(options->path)) {
      check_artifact(sub, options->path, session);
      return;
    }
    options->may_lack_function = !sub.given("--function");
    if (Result<driver::Model> model = load_model(*options, session)) report(*model, session);
  });
}

}  // namespace relay::tools
