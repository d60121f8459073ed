// relay verify: the same inputs on every engine and level, against the interpreter.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/failure.h"
#include "driver/verifier.h"
#include "frontend/data/inputs.h"
#include "tools/model.h"
#include "tools/options/options.h"
#include "tools/options/values.h"
#include "tools/session.h"
#include "tools/verify/exec_program.h"
#include "tools/verify/report.h"
#include "tools/verify/sources.h"

namespace relay::tools {
namespace {

struct Options {
  std::vector<std::string> paths;
  ModelOptions model;  // but for its path
  InputOptions inputs;
  driver::VerifyOptions verify;  // but for its target
  std::string target = "native", denormals = "flush";
  std::string expected;
  bool every_op = false;
};

// Options that say something of one model are no use for several.
bool fit(const Options& o, const std::vector<VerifySource>& sources, Session& session) {
  const std::pair<const char*, bool> of_one[] = {{"--inputs", !o.inputs.inputs.empty()},
                                                 {"--expected", !o.expected.empty()},
                                                 {"--input-shapes", !o.model.input_shapes.empty()},
                                                 {"--fix-input", !o.model.fixed_inputs.empty()},
                                                 {"--function", o.model.function != "main"}};
  for (const auto& [option, given] : of_one) {
    if (!given) continue;
    if (sources.size() > 1)
      return session.fail(kUsage, cat(option, " is about one model, and there are ", sources.size()));
    if (sources[0].is_exec)
      return session.fail(kUsage, cat(option, ": the calls in ", sources[0].name, " say it themselves"));
  }
  return true;
}

// What another program computed: all outputs, tensors by name, or both.
struct Theirs {
  std::optional<frontend::data::NamedTensors> outputs = {};
  frontend::data::NamedTensors tensors = {};
};

// A file with a name that is no output is one of tensors: outputs are among them, and need not be.
// Nothing if it is wrong.
std::optional<Theirs> read_theirs(const driver::Model& model, const Names& names, const std::string& path,
                                  Session& session) {
  if (path.empty()) return Theirs{};
  Diagnostics ignored;
  const Result<frontend::data::NamedTensors> all =
      frontend::data::read_tensors(path, frontend::data::Role::kOutput, {}, ignored);
  const auto is_output = [&](const frontend::data::NamedTensor& t) {
    return std::find(model.output_names.begin(), model.output_names.end(), t.name) !=
           model.output_names.end();
  };
  const auto is_between = [&](const frontend::data::NamedTensor& t) {
    return !is_output(t) && !names.meant(t.name).empty();
  };
  if (all && std::any_of(all->begin(), all->end(), is_between)) return Theirs{.tensors = *all};
  Diagnostics diagnostics;
  Result<frontend::data::NamedTensors> read =
      frontend::data::read_named(path, model.output_names, frontend::data::Role::kOutput, {}, diagnostics);
  if (!read) {
    session.fail(diagnostics, model.module.context().sources(), kUsage);
    return std::nullopt;
  }
  return Theirs{.outputs = std::move(*read)};
}

// Nothing if it cannot run: that is reported, and the exit code set.
std::optional<ProgramReport> verify_model(const Options& o, const VerifySource& source, Session& session) {
  ModelOptions options = o.model;
  options.path = source.model;
  InputOptions from = o.inputs;
  std::string expected = o.expected;
  if (from.inputs.empty()) {
    from.inputs = source.inputs;
    if (expected.empty()) expected = source.outputs;  // they belong to these inputs
  }
  Result<driver::Model> model = load_model(with_examples(options, from), session);
  if (!model) return std::nullopt;
  Result<std::vector<Value>> args = make_inputs(*model, from, session);
  if (!args) return std::nullopt;
  model = specialise(*model, *args, session);
  if (!model) return std::nullopt;
  const Names names(model->module, model->is_listed);
  std::optional<Theirs> theirs = read_theirs(*model, names, expected, session);
  if (!theirs) return std::nullopt;
  ProgramReport report{.program = source.name};
  std::optional<Progress> progress(std::in_place, session, "verify");
  driver::Verifier verifier(*model, o.verify, [&](std::string_view now) { progress->step(now); });
  report.rows = verifier.run(*args, theirs->outputs ? &*theirs->outputs : nullptr);
  if (!theirs->tensors.empty()) {
    progress->step("each tensor of the other program");
    report.tensors = compare_tensors(*model, names, *args, theirs->tensors);
  }
  progress.reset();
  report.notes = verifier.notes();
  if (o.every_op) {
    report.operators = verify_every_op(model->module, model->function, *args, model->is_listed,
                                       driver::engines_at(o.verify), o.verify, session);
  }
  return report;
}

std::vector<ProgramReport> verify_calls(const Options& o, const VerifySource& source, Session& session) {
  ExecProgram program(source.name, o.model.libraries);
  std::vector<std::pair<std::string, CallLine>> calls;
  bool all_rejected = true;
  for (const std::string& line : program.calls()) {
    calls.emplace_back(line, parse_call(line));
    all_rejected &= calls.back().second.assertion == "rejected";
  }
  std::vector<ProgramReport> out;
  if (!program.problem().empty() && !all_rejected) {
    session.fail(program.diagnostics(), program.sources());
    return out;
  }
  for (const auto& [line, call] : calls) {
    ProgramReport report{.program = source.name, .call = line};
    report.rows = program.run(call, o.verify);
    const auto uncapped = std::find_if(report.rows.begin(), report.rows.end(),
                                       [](const driver::VerifyRow& r) { return !r.uncapped.empty(); });
    if (uncapped != report.rows.end())
      report.notes.push_back(cat("the bound of @", call.function, " is not capped: ", uncapped->uncapped));
    if (o.every_op && program.problem().empty()) {
      report.operators = verify_every_op(program.module(), call.function, program.arguments(call, 0),
                                         /*is_listed=*/false, driver::engines_at(o.verify),
                                         program.as_said(o.verify), session);
    }
    out.push_back(std::move(report));
  }
  return out;
}

// What one source has to say ends with it: others are verified nevertheless.
std::vector<ProgramReport> verify(const Options& o, const VerifySource& source, Session& session) {
  try {
    if (source.is_exec) return verify_calls(o, source, session);
    if (std::optional<ProgramReport> report = verify_model(o, source, session)) return {*report};
  } catch (const Malformed& e) {
    const std::string what = e.what();
    session.fail(kBadModel, what.starts_with(source.name) ? what : cat(source.name, ": ", what));
  } catch (const Trap& trap) {
    session.fail(kMismatch, cat("the program failed: ", trap.what()));
  } catch (const Exhausted& limit) {
    session.fail(kLimit, limit.what());
  }
  return {};
}

void run(const Options& o, Session& session) {
  const Result<std::vector<VerifySource>> sources = find_sources(o.paths, session);
  if (!sources || !fit(o, *sources, session)) return;
  VerifyReport report;
  Progress progress(session, "verify");
  int exit_code = kOk;
  for (size_t i = 0; i < sources->size(); ++i) {
    const VerifySource& source = (*sources)[i];
    if (sources->size() > 1) progress.step(source.name, i, sources->size());
    session.exit_code = kOk;
    if (sources->size() > 1) session.arguments = {"verify", source.name};  // a remedy is for this one
    for (ProgramReport& p : verify(o, source, session)) report.add(std::move(p));
    if (session.exit_code == kOk) continue;
    report.add({.program = source.name, .call = {}, .not_run = session.exit_code});
    if (sources->size() > 1) session.say(cat("relay: ", source.name, ": not verified, see above\n"));
    if (exit_code == kOk) exit_code = session.exit_code;
  }
  session.exit_code = report.ok() ? exit_code : kMismatch;
  if (report.ran()) session.json ? session.print_json(report.json()) : session.print(report.text());
}

}  // namespace

void add_verify(Command app, Session& session) {
  auto o = std::make_shared<Options>();
  Command sub =
      app.command("verify", "run models on every engine and level and compare with the float64 interpreter");
  sub.option("model", &o->paths,
             "models (.onnx, .relay, a graph's folder or .json), exec tests, and folders of them; a model's "
             "folder may have its inputs/ and outputs/")
      .required();
  add_library_option(sub, o->model);
  add_known_input_options(sub, o->model);
  sub.option("--function", &o->model.function, "the function to run").shows_default();
  add_input_options(sub, o->inputs);
  sub.option("--engines", &o->verify.engines, "only these")
      .separated_by_commas()
      .one_at_a_time()
      .check({driver::wrong_engine})
      .kind("ENGINE");
  sub.option("--levels", &o->verify.levels, "opt levels of compiled engines")
      .separated_by_commas()
      .one_at_a_time()
      .check(count(0, 3));
  sub.option("--threads", &o->verify.threads, "threads of a run").check(count(1, 1024));
  add_target_option(sub, o->target);
  add_denormals_option(sub, o->denormals);
  sub.option("--expected", &o->expected,
             "outputs of another program to compare with: x.npz, a folder, ...; a file that names what "
             "is computed on the way too is "
             "compared tensor by tensor");
  sub.flag("--every-op", &o->every_op,
           "also compare every call of an operator or a kernel by itself, and name the first that "
           "differs: each is compiled "
           "with the values it had, in batches");
  sub.action([o, &session] {
    o->verify.target = target::target_of(o->target);
    o->verify.denormals = denormals_of(o->denormals);
    run(*o, session);
  });
}

}  // namespace relay::tools
