// relay run: runs a model on one engine.
#include <fmt/format.h>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/counted.h"
#include "base/escape.h"
#include "base/file.h"
#include "driver/engines.h"
#include "driver/nonfinite.h"
#include "frontend/data/inputs.h"
#include "interp/machine.h"
#include "tools/artifact_model.h"
#include "tools/limits.h"
#include "tools/memory_limit.h"
#include "tools/model.h"
#include "tools/nonfinite.h"
#include "tools/options/options.h"
#include "tools/options/values.h"
#include "tools/overwriting.h"
#include "tools/session.h"
#include "tools/steps.h"
#include "tools/vta_profile.h"
#include "tools/weaker.h"

namespace relay::tools {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  TargetOptions target;
  std::string outputs, to, dump, plot;
  int64_t print = 16;
  uint64_t memory_limit = 0;  // bytes; 0: none
  bool nan_trap = false, profile = false;
  interp::Limits limits;
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
  if (t.size() == bad) return cat(counted(t.size(), "element"), ", none finite");
  std::string out =
      fmt::format("min {:g}, max {:g}, mean {:g}", least, most, sum / static_cast<double>(t.size() - bad));
  return bad ? cat(out, ", ", bad, " not finite") : out;
}

// A path that looks like a file of a kind that nobody writes: a folder of that name is
// not what was meant.
bool unknown_form(const std::string& path) {
  const std::filesystem::path p(path);
  std::error_code error;
  if (!p.has_filename() || !p.has_extension() || std::filesystem::is_directory(p, error)) return false;
  const std::string form = p.extension().string();
  return form != ".npz" && form != ".npy" && form != ".safetensors" && form != ".params";
}

// Is all that was read still there when tensors of these names are written?
bool spares_inputs(const Options& o, const driver::Model& model, std::span<const std::string> names,
                   const std::string& path, Session& s) {
  if (path.empty()) return true;
  std::vector<std::string> read = model.files;
  if (!o.inputs.inputs.empty()) {
    const std::vector<std::string> inputs = frontend::data::files_to_read(o.inputs.inputs);
    read.insert(read.end(), inputs.begin(), inputs.end());
  }
  return tools::spares_inputs(frontend::data::files_to_write(path, names, frontend::data::Role::kOutput),
                              read, s);
}

// The same before the program runs, as far as the names are known.
bool spares_inputs(const Options& o, const driver::Model& model, Session& s) {
  const std::vector<std::string> names = o.to.empty() ? model.output_names : std::vector<std::string>();
  const std::vector<std::string> plots(o.plot.empty() ? 0 : 1, o.plot);
  return spares_inputs(o, model, names, o.outputs, s) && spares_inputs(o, model, {}, o.dump, s) &&
         tools::spares_inputs(plots, model.files, s);
}

void write(const Options& o, const driver::Model& model, const frontend::data::NamedTensors& tensors,
           const std::string& path, Session& s) {
  std::vector<std::string> names;
  for (const frontend::data::NamedTensor& t : tensors) names.push_back(t.name);
  if (!spares_inputs(o, model, names, path, s)) return;
  Diagnostics diagnostics;
  if (!frontend::data::write_tensors(path, tensors, frontend::data::Role::kOutput, diagnostics))
    s.fail(diagnostics, model.module.context().sources());
}

// --to and --dump: one step's results in the place of the program's, and what all steps
// gave, in a file.
driver::Outcome run_steps(const Options& o, driver::Model& model, const driver::Engine& engine,
                          const driver::Prepared& p, const std::vector<Value>& args, Session& s) {
  const driver::Outcome failed{driver::Outcome::Kind::kExhausted, {}, {}};
  if (!p.executor) {
    s.fail(kUnsupported, cat("engine `", engine.name,
                             "` has no steps to stop at; `--engine graph` runs the same kernels, and ",
                             "`relay debug` shows every value of the interpreter"));
    return failed;
  }
  const Names values(model.module, model.is_listed);
  const std::vector<std::string> names = step_names(p.executor->plan(), values);
  frontend::data::NamedTensors kept;
  if (!o.dump.empty()) keep_results(*p.executor, names, kept);
  driver::Outcome outcome;
  if (o.to.empty()) {
    outcome = p.run(args);
  } else {
    const std::optional<size_t> step = find_step(names, values, o.to, s);
    if (!step) return failed;
    outcome = driver::outcome_of([&] {
      std::vector<Tensor> inputs;
      for (const Value& v : args) inputs.push_back(v.tensor());
      std::vector<Value> results;
      for (const Tensor& t : p.executor->run_to(*step, inputs)) results.push_back(Value(t));
      model.output_names.clear();
      for (size_t i = 0; i < results.size(); ++i)
        model.output_names.push_back(results.size() == 1 ? bare_name(names[*step])
                                                         : cat(bare_name(names[*step]), ".", i));
      return results.size() == 1 ? results[0] : Value::tuple(std::move(results));
    });
  }
  if (!o.dump.empty()) write(o, model, kept, o.dump, s);
  return outcome;
}

driver::Outcome execute(const Options& o, driver::Model& model, const driver::Engine& engine,
                        const std::vector<Value>& args, std::shared_ptr<const driver::VtaProgram>& vta,
                        Session& s) {
  const driver::Options options = {.opt_level = o.target.opt_level,
                                   .threads = o.target.threads,
                                   .target = target::target_of(o.target.target),
                                   .denormals = denormals_of(o.target.denormals),
                                   .limits = o.limits,
                                   .trap_nan = o.nan_trap};
  const auto pipeline = [&] {
    return limited(passes::default_pipeline(options.opt_level, options.target, options.denormals),
                   o.memory_limit);
  };
  const driver::Prepared p = o.memory_limit == 0
                                 ? engine.prepare(model.module, model.function, options)
                                 : driver::prepare_graph(model.module, model.function, pipeline(), options);
  if (!p.run) {
    s.fail(p.refusal, model.module.context().sources(), kUnsupported);
    s.fail(kUnsupported, cat("engine `", engine.name, "` cannot run this program: ", p.skipped));
    return {driver::Outcome::Kind::kExhausted, {}, {}};
  }
  say_weaker_form(engine.name, p, s);
  const driver::Outcome outcome =
      o.to.empty() && o.dump.empty() ? p.run(args) : run_steps(o, model, engine, p, args, s);
  if (outcome.interpreted_calls > 0)
    s.say(cat("relay: engine `", engine.name, "` interpreted ",
              counted(outcome.interpreted_calls, "operator call"), ", for which it has no code\n"));
  vta = p.vta;
  return outcome;
}

// Do the named tensors tell all of the result? A constructor, a cell or a function has no name.
bool is_told_by_tensors(const Value& result) {
  std::vector<const Value*> pending{&result};
  while (!pending.empty()) {
    const Value* v = pending.back();
    pending.pop_back();
    if (v->is_tensor()) continue;
    if (v->kind() != ValueKind::kTuple) return false;
    for (const Value& field : v->fields()) pending.push_back(&field);
  }
  return true;
}

// `profile`: what is known of the run besides; null if nothing is.
void show_outputs(const Options& o, const driver::Model& model, const Value& result,
                  const VtaProfile* profile, const Session& s) {
  const frontend::data::NamedTensors outputs = driver::name_outputs(model, result);
  if (s.json) {
    nlohmann::ordered_json j = nlohmann::ordered_json::array();
    for (const frontend::data::NamedTensor& t : outputs) {
      j.push_back({{"name", t.name},
                   {"dtype", t.value.dtype().name()},
                   {"shape", t.value.shape()},
                   {"values", t.value.doubles()}});
    }
    s.print_json(profile ? nlohmann::ordered_json{{"outputs", j}, {"profile", profile->json()}} : j, -1);
    return;
  }
  if (outputs.empty() || !is_told_by_tensors(result)) s.print(interp::show(result) + "\n");
  for (const frontend::data::NamedTensor& t : outputs) {
    s.print(cat(harmless(t.name, ""), ": ", show(t.value, o.print),
                t.value.size() > o.print ? cat("\n  ", summary(t.value)) : "", "\n"));
  }
  if (profile) s.print(profile->table());
}

// Numbers that went wrong, and where that began: `find_origin` says it, or what to do to learn it.
void warn_of_nonfinite(const driver::Model& model, const Value& result,
                       const std::function<std::string()>& find_origin, const Session& s) {
  nlohmann::ordered_json j = {{"severity", "warning"}, {"outputs", nlohmann::ordered_json::array()}};
  std::string text;
  for (const frontend::data::NamedTensor& t : driver::name_outputs(model, result)) {
    const driver::NonFinite n = driver::count_nonfinite(t.value);
    if (!n.any()) continue;
    j["outputs"].push_back({{"name", t.name}, {"nans", n.nans}, {"infinities", n.infinities}});
    text += cat("relay: output `", harmless(t.name, ""), "` has ", n.text(), " among ",
                counted(t.value.size(), "element"), "\n");
  }
  if (text.empty()) return;
  std::string origin;
  const driver::Outcome again = driver::outcome_of([&] {
    origin = find_origin();
    return Value();
  });
  if (again.kind == driver::Outcome::Kind::kValue && !origin.empty()) {
    j["origin"] = origin;
    text += cat("relay: ", harmless(origin));
  }
  s.explain(text, j);
}

// What a run came to: its outputs, or why it has none.
void report(const Options& o, const driver::Model& model, const driver::Outcome& outcome,
            const VtaProfile* profile, const std::function<std::string()>& find_origin, Session& s) {
  if (outcome.kind == driver::Outcome::Kind::kExhausted) {
    s.fail(kLimit, outcome.message);
    return;
  }
  if (outcome.kind == driver::Outcome::Kind::kTrap) {
    const std::string place = model.module.context().sources().place(outcome.at);
    s.fail(kMismatch, cat("the program failed: ", outcome.message, place.empty() ? "" : " at ", place));
    return;
  }
  show_outputs(o, model, outcome.value, profile, s);
  if (!s.quiet) warn_of_nonfinite(model, outcome.value, find_origin, s);
  if (!o.outputs.empty()) write(o, model, driver::name_outputs(model, outcome.value), o.outputs, s);
}

// Do the paths that are written look like a kind that there is?
bool known_forms(const Options& o, Session& s) {
  for (const auto& [option, path] : {std::pair("--outputs ", o.outputs), {"--dump ", o.dump}}) {
    if (!unknown_form(path)) continue;
    return s.fail(kUsage,
                  cat(option, path,
                      ": expected x.npz, x.npy, x.safetensors, x.params or a folder (which ends in / if its "
                      "name has a dot)"));
  }
  return true;
}

// Whoever forgot --inputs must not take what comes for an answer.
void say_if_random(const InputOptions& inputs, const driver::Model& model, const Session& s) {
  if (!model.input_names.empty() && inputs.inputs.empty() && inputs.fill == "random")
    s.say("relay: the inputs are random numbers; --inputs gives yours\n");
}

void run(const Options& o, Session& s) {
  Result<driver::Model> model = load_model(with_examples(o.model, o.inputs), s);
  if (!model || !spares_inputs(o, *model, s)) return;
  const driver::Engine* engine = driver::find_engine(o.target.engine);
  Result<std::vector<Value>> args = make_inputs(*model, o.inputs, s);
  if (!args) return;
  say_if_random(o.inputs, *model, s);
  if (engine->compiles) {
    model = specialise(*model, *args, s);
    if (!model) return;
  }
  std::shared_ptr<const driver::VtaProgram> vta;
  const driver::Outcome outcome = execute(o, *model, *engine, *args, vta, s);
  if (s.exit_code != kOk) return;
  std::optional<VtaProfile> profile;
  if (vta) profile.emplace(*vta);
  const Denormals denormals = engine->compiles ? denormals_of(o.target.denormals) : Denormals::kKeep;
  report(
      o, *model, outcome, o.profile ? &*profile : nullptr,
      [&] { return origin_of_nonfinite(*model, *args, denormals); }, s);
  if (s.exit_code != kOk || o.plot.empty()) return;
  if (std::string wrong = write_file_atomically(o.plot, profile->plot()); !wrong.empty())
    s.fail(kLimit, wrong);
}

void run_artifact(const Options& o, const ArtifactRun& run, Session& s) {
  const Result<ArtifactModel> artifact = open_artifact(o.model, run, s);
  if (!artifact || !spares_inputs(o, artifact->model, s)) return;
  const Result<std::vector<Value>> args = make_inputs(artifact->model, of_artifact(o.inputs), s);
  if (!args) return;
  say_if_random(o.inputs, artifact->model, s);
  report(
      o, artifact->model, artifact->prepared.run(*args), nullptr,
      [] {
        return std::string(
            "an artifact does not know which operator gave it: `relay run MODEL`, with the model that it was "
            "compiled from, names it\n");
      },
      s);
}

// Says which options change nothing, to a user who named no engine: the default one compiles
// nothing. Whoever names the interpreter may compare engines, with one set of options for all.
void say_what_has_no_effect(Command sub, const Options& o, const Session& session) {
  if (sub.given("--engine") || driver::find_engine(o.target.engine)->compiles) return;
  std::vector<std::string> unused;
  for (const char* name : {"-O", "--threads", "--target"}) {
    if (sub.given(name)) unused.emplace_back(name);
  }
  if (unused.empty()) return;
  session.say(cat("relay: no effect on the engine `", o.target.engine,
                  "`, which compiles nothing: ", join(unused, ", "), "; use --engine jit\n"));
}

}  // namespace

void add_run(Command app, Session& session) {
  auto o = std::make_shared<Options>();
  Command sub = app.command("run", "run a model on one engine, or what it was compiled to");
  add_model_options(sub, o->model, /*takes_artifacts=*/true);
  add_library_option(sub, o->model);
  add_input_options(sub, o->inputs);
  add_target_options(sub, o->target);
  sub.option("-o,--outputs", &o->outputs,
             "where the results go: x.npz, x.safetensors, x.params, a folder, test_data_set_0/");
  sub.option("--to", &o->to,
             "with --engine graph: run only what this value needs, and give it: %y of a text, a tensor "
             "or a node of an "
             "ONNX model, or the number of a step");
  sub.option("--dump", &o->dump,
             "with --engine graph: where the results of all steps go, in their order: x.npz, x.params, "
             "a folder, ...");
  sub.option("--print", &o->print, "elements of each result that are printed")
      .check(count(0, INT64_MAX))
      .shows_default();
  sub.flag("--nan-trap", &o->nan_trap,
           "on the engines interp, jit and vta: fail at the first call that gives a NaN");
  sub.flag(
      "--profile", &o->profile,
      "with --engine vta: print what each layer takes on the model of the machine, and what stays on the "
      "CPU");
  sub.option("--plot", &o->plot, "with --engine vta: an SVG with the roofline and a point for each layer");
  add_memory_limit_option(sub, o->memory_limit);
  add_limit_options(sub, o->limits);
  sub.action([o, sub, &session] {
    if (driver::is_artifact(o->model.path)) {
      if (fits_artifact(sub, o->model.path, session) && known_forms(*o, session))
        run_artifact(*o, artifact_run(sub, o->target), session);
      return;
    }
    if (std::string wrong = limits_without_effect(sub, o->target.engine); !wrong.empty()) {
      session.fail(kUsage, wrong);
      return;
    }
    if (o->memory_limit != 0 && o->target.engine != "graph") {
      session.fail(kUsage, cat("--memory-limit is of the engine graph, not of `", o->target.engine,
                               "`; `relay compile --memory-limit` makes an artifact within it"));
      return;
    }
    if (o->nan_trap && !driver::find_engine(o->target.engine)->on_machine) {
      session.fail(kUsage, cat("--nan-trap is of the engines interp, jit and vta; the engine `",
                               o->target.engine, "` has no place to stop: use --engine jit"));
      return;
    }
    if ((o->profile || !o->plot.empty()) && o->target.engine != "vta") {
      session.fail(kUsage, cat(o->profile ? "--profile" : "--plot", " is of the engine vta, not of `",
                               o->target.engine, "`: `relay bench --profile` measures kernels"));
      return;
    }
    if (!o->plot.empty() && !o->plot.ends_with(".svg")) {
      session.fail(kUsage, cat("--plot ", o->plot, ": expected x.svg"));
      return;
    }
    if (std::string wrong = o->plot.empty() ? "" : cannot_write(o->plot); !wrong.empty()) {
      session.fail(kLimit, wrong);
      return;
    }
    if (!known_forms(*o, session)) return;
    say_what_has_no_effect(sub, *o, session);
    run(*o, session);
  });
}

}  // namespace relay::tools
