// relay bench: how long a model takes on an engine.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "tools/engines.h"
#include "tools/model.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  TargetOptions target{.engine = "aot-cpp"};
  int runs = 20, warm_up = 3;
  std::vector<double> percentiles = {50, 90, 99};
};

// The smallest time that at least `percent` of the runs did not exceed.
double percentile(const std::vector<double>& sorted, double percent) {
  const auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

void run(const Options& o, Session& s) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  Result<Model> model = load_model(o.model, s);
  if (!model) return;
  const Engine* engine = find_engine(o.target.engine);
  Result<std::vector<Value>> args = make_inputs(*model, o.inputs, s);
  if (!args) return;
  model = specialise(*model, *args, s);
  if (!model) return;
  auto begin = Clock::now();
  const Prepared p = engine->prepare(
      model->module, model->function,
      {.opt_level = o.target.opt_level, .threads = o.target.threads, .target = o.target.target});
  const double prepared = seconds(begin);
  if (!p.run) {
    s.fail(kUnsupported, cat("engine `", engine->name, "` cannot run this program: ", p.skipped));
    return;
  }
  std::vector<double> times;
  Progress progress(s, "bench");
  for (int i = 0; i < o.warm_up + o.runs; ++i) {
    progress.step(cat(i, " of ", o.warm_up + o.runs));
    begin = Clock::now();
    const Outcome outcome = p.run(*args);
    const double took = seconds(begin);
    if (outcome.kind != Outcome::Kind::kValue) {
      s.fail(kMismatch, cat("the program failed: ", outcome.message));
      return;
    }
    if (i >= o.warm_up) times.push_back(took);
  }
  std::sort(times.begin(), times.end());
  if (s.json) {
    nlohmann::ordered_json j = {{"engine", engine->name}, {"threads", o.target.threads},
                                {"runs", o.runs},         {"prepare_seconds", prepared},
                                {"min", times.front()},   {"max", times.back()}};
    for (double q : o.percentiles) j[fmt::format("p{:g}", q)] = percentile(times, q);
    s.print_json(j);
    return;
  }
  s.print(fmt::format("{} -O{}, {} threads: made ready in {:.2f} s; {} runs after {} to warm up\n",
                      engine->name, o.target.opt_level, o.target.threads, prepared, o.runs, o.warm_up));
  s.print(fmt::format("  min  {:10.3f} ms\n", times.front() * 1e3));
  for (double q : o.percentiles)
    s.print(fmt::format("  p{:<4g}{:10.3f} ms\n", q, percentile(times, q) * 1e3));
  s.print(fmt::format("  max  {:10.3f} ms\n", times.back() * 1e3));
}

}  // namespace

void add_bench(CLI::App& app, Session& session) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("bench", "time a model on an engine");
  add_model_options(*sub, o->model);
  add_input_options(*sub, o->inputs);
  add_target_options(*sub, o->target);
  sub->add_option("--repeat", o->runs, "runs that are timed")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  sub->add_option("--warmup", o->warm_up, "runs before those")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  sub->add_option("--percentiles", o->percentiles, "as 50,90,99")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0.0, 100.0));
  sub->callback([o, &session] { run(*o, session); });
}

}  // namespace relay::tools
