// relay run: runs a model on one engine.
#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "frontend/data/inputs.h"
#include "interp/machine.h"
#include "tools/engines.h"
#include "tools/model.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  TargetOptions target;
  std::string outputs;
  int64_t print = 16;
  uint64_t fuel = UINT64_MAX;
};

std::string summary(const Tensor& t) {
  double least = INFINITY, most = -INFINITY, sum = 0;
  int64_t bad = 0;
  for (int64_t i = 0; i < t.size(); ++i) {
    const double v = t.get(i);
    if (!std::isfinite(v)) {
      ++bad;
      continue;
    }
    least = std::min(least, v);
    most = std::max(most, v);
    sum += v;
  }
  if (t.size() == bad) return cat(t.size(), " elements, none finite");
  std::string out =
      fmt::format("min {:g}, max {:g}, mean {:g}", least, most, sum / static_cast<double>(t.size() - bad));
  return bad ? cat(out, ", ", bad, " not finite") : out;
}

Outcome execute(const Options& o, const Model& model, const Engine& engine, const std::vector<Value>& args,
                Session& s) {
  if (engine.name == "interp" && o.fuel != UINT64_MAX) {
    return {Outcome::Kind::kValue,
            interp::Machine(model.module, {.fuel = o.fuel}).call(model.function, args),
            {}};
  }
  const Prepared p = engine.prepare(
      model.module, model.function,
      {.opt_level = o.target.opt_level, .threads = o.target.threads, .target = o.target.target});
  if (!p.run) {
    s.fail(kUnsupported, cat("engine `", engine.name, "` cannot run this program: ", p.skipped));
    return {Outcome::Kind::kExhausted, {}, {}};
  }
  return p.run(args);
}

void show_outputs(const Options& o, const Model& model, const Value& result, const Session& s) {
  const data::NamedTensors outputs = name_outputs(model, result);
  if (s.json) {
    nlohmann::ordered_json j = nlohmann::ordered_json::array();
    for (const data::NamedTensor& t : outputs) {
      j.push_back({{"name", t.name},
                   {"dtype", t.value.dtype().name()},
                   {"shape", t.value.shape()},
                   {"values", t.value.doubles()}});
    }
    s.print(j.dump() + "\n");
    return;
  }
  if (result.kind() == ValueKind::kData) s.print(interp::show(result) + "\n");
  for (const data::NamedTensor& t : outputs) {
    s.print(cat(t.name, ": ", show(t.value, o.print),
                t.value.size() > o.print ? cat("\n  ", summary(t.value)) : "", "\n"));
  }
}

void run(const Options& o, Session& s) {
  Result<Model> model = load_model(o.model, s);
  if (!model) return;
  const Engine* engine = find_engine(o.target.engine);
  if (!engine) {
    s.fail(kUsage, cat("there is no engine `", o.target.engine,
                       "`; there are: ", join(engines(), ", ", [](const Engine& e) { return e.name; })));
    return;
  }
  Result<std::vector<Value>> args = make_inputs(*model, o.inputs, s);
  if (!args) return;
  if (engine->compiles) {
    model = specialise(*model, *args, s);
    if (!model) return;
  }
  const Outcome outcome = execute(o, *model, *engine, *args, s);
  if (s.exit_code != kOk) return;
  if (outcome.kind != Outcome::Kind::kValue) {
    s.fail(outcome.kind == Outcome::Kind::kTrap ? kMismatch : kLimit,
           cat("the program failed: ", outcome.message));
    return;
  }
  show_outputs(o, *model, outcome.value, s);
  if (o.outputs.empty()) return;
  Diagnostics diagnostics;
  if (!data::write_tensors(o.outputs, name_outputs(*model, outcome.value), data::Role::kOutput,
                           diagnostics)) {
    s.fail(kLimit, diagnostics, model->module.context().sources());
  }
}

}  // namespace

void add_run(CLI::App& app, Session& session) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("run", "run a model on one engine");
  add_model_options(*sub, o->model);
  add_input_options(*sub, o->inputs);
  add_target_options(*sub, o->target);
  sub->add_option("-o,--outputs", o->outputs,
                  "where the results go: x.npz, x.safetensors, a folder, test_data_set_0/");
  sub->add_option("--print", o->print, "elements of each result that are printed")->capture_default_str();
  sub->add_option("--fuel", o->fuel, "steps of the interpreter before it gives up");
  sub->callback([o, &session] { run(*o, session); });
}

}  // namespace relay::tools
