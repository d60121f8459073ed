// relay verify: the same inputs on every engine and level, against the interpreter in float64.
#include "tools/verify.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/failure.h"
#include "frontend/data/inputs.h"
#include "interp/machine.h"
#include "tools/engines.h"
#include "tools/model.h"
#include "tools/tolerance.h"

namespace relay::tools {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The worst output of a run against the reference.
void judge(VerifyRow& row, const std::vector<Tensor>& got, const std::vector<Tensor>& reference,
           const std::vector<Bound>& bounds, const Model& model) {
  for (size_t i = 0; i < got.size(); ++i) {
    // Compared in float64, so that the reference is not rounded.
    const Tensor wide = got[i].dtype().is_float() ? got[i].converted(reference[i].dtype()) : got[i];
    const Comparison c = compare(wide, reference[i], bounds[i]);
    row.ok &= c.ok;
    if (i > 0 && c.needed <= row.worst.needed) continue;
    row.worst = c;
    row.output = i < model.output_names.size() ? model.output_names[i] : cat("output ", i);
    row.shape = reference[i].shape();
  }
}

// Another program rounds in its own ways, so it may be off by what is customary between runtimes, and by what this
// network makes of roundings where that is more: a network that quantises turns one into a whole step.
constexpr double kBetweenPrograms = 1e-4;  // of the largest magnitude

VerifyRow judge_given(const data::NamedTensors& given, const std::vector<Tensor>& reference,
                      const std::vector<Tensor>& plain, const std::vector<Bound>& bounds,
                      const Model& model) {
  VerifyRow row;
  row.engine = "expected";
  if (given.size() != reference.size()) {
    row.ok = false;
    row.failed = cat("there are ", given.size(), " outputs where the model has ", reference.size());
    return row;
  }
  std::vector<Tensor> got;
  std::vector<Bound> wider = bounds;
  for (size_t i = 0; i < given.size(); ++i) {
    const Tensor& t = given[i].value;
    if (t.dtype() != plain[i].dtype() || t.shape() != plain[i].shape()) {
      row.ok = false;
      row.failed = cat(given[i].name, " is ", t.dtype().name(), relay::show(t.shape()),
                       " where the model gives ", plain[i].dtype().name(), relay::show(plain[i].shape()));
      return row;
    }
    got.push_back(t);
    if (!t.dtype().is_float()) continue;
    double magnitude = 0;
    for (int64_t k = 0; k < t.size(); ++k) {
      if (std::isfinite(reference[i].get(k))) magnitude = std::max(magnitude, std::fabs(reference[i].get(k)));
    }
    wider[i] = [bound = bounds[i], custom = kBetweenPrograms * magnitude](int64_t k) {
      return std::max(bound(k), custom);
    };
  }
  judge(row, got, reference, wider, model);
  return row;
}

}  // namespace

Verifier::Verifier(const Model& model, const VerifyOptions& options, Session& session)
    : model_(model), wide_(widened(model.module)), session_(session) {
  Progress progress(session, "verify");
  const auto prepare = [&](const Engine& e, int level) {
    return e.prepare(model.module, model.function,
                     {.opt_level = level, .threads = options.threads, .target = options.target});
  };
  progress.step("preparing the unoptimised run");
  plain_ = prepare_unoptimised(model.module, model.function,
                               {.threads = options.threads, .target = options.target});
  for (const Engine& e : engines()) {
    const auto& only = options.engines;
    if (!only.empty() && std::find(only.begin(), only.end(), e.name) == only.end()) continue;
    for (int level : e.compiles ? options.levels : std::vector<int>{0}) {
      const std::string name = e.compiles ? cat(e.name, " -O", level) : std::string(e.name);
      progress.step(cat("preparing ", name));
      const auto begin = Clock::now();
      Prepared p = prepare(e, level);
      candidates_.push_back({name, &e, std::move(p), seconds_since(begin)});
    }
  }
}

std::vector<VerifyRow> Verifier::run(const std::vector<Value>& args, const data::NamedTensors* given) {
  Progress progress(session_, "verify");
  progress.step("the reference in float64");
  std::vector<Value> wide_args;
  for (const Value& v : args) wide_args.push_back(widened(v, wide_));
  const std::vector<Tensor> reference = tensors_of(interp::Machine(wide_).call(model_.function, wide_args));

  // The interpreter's own run takes the place of the unoptimised one if that failed.
  std::optional<Outcome> base;
  if (plain_.run) base = plain_.run(args);
  if (!base || base->kind != Outcome::Kind::kValue) {
    base = Outcome{Outcome::Kind::kValue, interp::Machine(model_.module).call(model_.function, args), {}};
  }
  const std::vector<Tensor> base_tensors = tensors_of(base->value);
  std::vector<Bound> bounds;
  for (size_t i = 0; i < reference.size(); ++i) {
    const bool exact = !reference[i].dtype().is_float();
    bounds.push_back(exact ? Bound([](int64_t) { return 0.0; })
                           : network_bound(reference[i], base_tensors[i]));
  }

  std::vector<VerifyRow> rows;
  for (const Candidate& c : candidates_) {
    progress.step(c.name);
    VerifyRow row;
    row.engine = c.name;
    row.prepare_seconds = c.prepare_seconds;
    row.skipped = c.prepared.skipped;
    if (c.prepared.run) {
      Outcome outcome;
      const auto timed = [&] {
        const auto begin = Clock::now();
        outcome = c.prepared.run(args);
        return seconds_since(begin);
      };
      row.seconds = timed();
      // The first run touches its memory, which one of seconds does not feel.
      if (c.engine->compiles && row.seconds < 1) row.seconds = timed();
      if (outcome.kind == Outcome::Kind::kValue) {
        judge(row, tensors_of(outcome.value), reference, bounds, model_);
        row.result = outcome.value;
      } else {
        row.ok = false;
        row.failed = outcome.message;
      }
    }
    rows.push_back(std::move(row));
  }
  if (given) rows.push_back(judge_given(*given, reference, base_tensors, bounds, model_));
  return rows;
}

std::string show(const std::vector<VerifyRow>& rows) {
  std::string out = fmt::format("{:<14} {:>11} {:>11} {:>11} {:>9}  {}\n", "engine", "time", "error", "bound",
                                "needed", "verdict");
  for (const VerifyRow& r : rows) {
    if (!r.skipped.empty()) {
      out += fmt::format("{:<14} {:>11} {:>11} {:>11} {:>9}  skipped: {}\n", r.engine, "", "", "", "",
                         r.skipped);
      continue;
    }
    const std::string verdict = !r.failed.empty() ? "FAILED: " + r.failed
                                : r.ok            ? "ok"
                                                  : "DIFFERS: " + show(r.worst, r.shape);
    const std::string time = r.seconds > 0 ? fmt::format("{:.3f} ms", r.seconds * 1e3) : "";
    out += fmt::format("{:<14} {:>11} {:>11.3g} {:>11.3g} {:>9.3g}  {}\n", r.engine, time, r.worst.error,
                       r.worst.bound, r.worst.needed, verdict);
  }
  return out;
}

namespace {

nlohmann::ordered_json to_json(const std::vector<VerifyRow>& rows) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const VerifyRow& r : rows) {
    nlohmann::ordered_json j = {{"engine", r.engine}};
    if (!r.skipped.empty()) {
      j["skipped"] = r.skipped;
    } else {
      j["ok"] = r.ok;
      if (r.seconds > 0) j["seconds"] = r.seconds;
      if (!r.failed.empty()) j["failed"] = r.failed;
      j["output"] = r.output;
      j["error"] = r.worst.error;
      j["bound"] = r.worst.bound;
      j["needed"] = r.worst.needed;
      j["index"] = r.worst.worst;
      j["got"] = r.worst.got;
      j["wanted"] = r.worst.want;
      j["ulps"] = r.worst.ulps;
    }
    out.push_back(std::move(j));
  }
  return out;
}

}  // namespace

void add_verify(CLI::App& app, Session& session) {
  struct Options {
    ModelOptions model;
    InputOptions inputs;
    VerifyOptions verify;
    std::string expected;
  };
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "verify", "run a model on every engine and level and compare with the float64 interpreter");
  add_model_options(*sub, o->model);
  add_input_options(*sub, o->inputs);
  sub->add_option("--engines", o->verify.engines, "only these")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(wrong_engine);
  sub->add_option("--levels", o->verify.levels, "opt levels of compiled engines")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 3));
  sub->add_option("--threads", o->verify.threads, "threads of a run")->check(CLI::Range(1, 1024));
  add_target_option(*sub, o->verify.target);
  sub->add_option("--expected", o->expected,
                  "outputs of another program to compare with: x.npz, a folder, ...");
  sub->callback([o, &session] {
    Result<Model> model = load_model(o->model, session);
    if (!model) return;
    Result<std::vector<Value>> args = make_inputs(*model, o->inputs, session);
    if (!args) return;
    model = specialise(*model, *args, session);
    if (!model) return;
    data::NamedTensors given;
    if (!o->expected.empty()) {
      Diagnostics diagnostics;
      Result<data::NamedTensors> read =
          data::read_named(o->expected, model->output_names, data::Role::kOutput, {}, diagnostics);
      if (!read) {
        session.fail(diagnostics, model->module.context().sources(), kUsage);
        return;
      }
      given = std::move(*read);
    }
    const std::vector<VerifyRow> rows =
        Verifier(*model, o->verify, session).run(*args, o->expected.empty() ? nullptr : &given);
    session.json ? session.print_json(to_json(rows)) : session.print(show(rows));
    for (const VerifyRow& r : rows) {
      if (!r.ok) session.exit_code = kMismatch;
    }
  });
}

}  // namespace relay::tools
