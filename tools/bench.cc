// relay bench: how long a model takes on an engine, kernel by kernel if asked, or on every level
// of optimisation.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/cat.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/parallel.h"
#include "driver/engines.h"
#include "passes/observer.h"
#include "passes/plan_memory.h"
#include "tools/ablation.h"
#include "tools/artifact_model.h"
#include "tools/model.h"
#include "tools/opt_levels.h"
#include "tools/options/options.h"
#include "tools/options/values.h"
#include "tools/peers.h"
#include "tools/profile.h"
#include "tools/roofs.h"
#include "tools/session.h"
#include "tools/steps.h"
#include "tools/weaker.h"

namespace relay::tools {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  TargetOptions target{.engine = "aot-cpp"};
  int runs = 20, warm_up = 3;
  std::vector<double> percentiles = {50, 90, 99};
  bool profile = false, opt_levels = false, passes_ablation = false;
  std::string trace, compare;
  size_t top = 20;
};

using Clock = std::chrono::steady_clock;
double since(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

// The smallest time that at least `percent` of the runs did not exceed.
double percentile(const std::vector<double>& sorted, double percent) {
  const auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

// A model, its arguments, and how to make it ready.
struct Case {
  driver::Model model;
  std::vector<Value> args;
  const driver::Engine* engine;
};

Result<Case> read_case(const Options& o, Session& s) {
  Result<driver::Model> model = load_model(with_examples(o.model, o.inputs), s);
  if (!model) return kReported;
  Result<std::vector<Value>> args = make_inputs(*model, o.inputs, s);
  if (!args) return kReported;
  model = specialise(*model, *args, s);
  if (!model) return kReported;
  return Case{*model, *args, driver::find_engine(o.target.engine)};
}

// Ready to run at a level; what cannot run is reported, and the result then has no `run`.
driver::Prepared prepare(const Case& c, const Options& o, int opt_level, Session& s) {
  driver::Prepared p = c.engine->prepare(c.model.module, c.model.function,
                                         {.opt_level = opt_level,
                                          .threads = o.target.threads,
                                          .target = target::target_of(o.target.target),
                                          .denormals = denormals_of(o.target.denormals)});
  if (!p.run) s.fail(kUnsupported, cat("engine `", c.engine->name, "` cannot run this program: ", p.skipped));
  say_weaker_form(c.engine->name, p, s);
  return p;
}

bool run_once(const driver::Prepared& p, const std::vector<Value>& args, Session& s) {
  const driver::Outcome outcome = p.run(args);
  if (outcome.kind == driver::Outcome::Kind::kValue) return true;
  return s.fail(kMismatch, cat("the program failed: ", outcome.message));
}

// Seconds of the timed runs; `before` and `after` each of them. Empty if one failed,
// which is reported.
std::vector<double> time_runs(const driver::Prepared& p, const std::vector<Value>& args, const Options& o,
                              Session& s, const std::function<void()>& before = {},
                              const std::function<void()>& after = {}) {
  std::vector<double> times;
  Progress progress(s, "bench");
  for (int i = 0; i < o.warm_up + o.runs; ++i) {
    progress.step(cat(i, " of ", o.warm_up + o.runs));
    const bool is_timed = i >= o.warm_up;
    if (is_timed && before) before();
    const auto begin = Clock::now();
    if (!run_once(p, args, s)) return {};
    const double took = since(begin);
    if (is_timed && after) after();
    if (is_timed) times.push_back(took);
  }
  return times;
}

// --- percentiles ---

// Of runs that were timed, none if one failed. `key` says in JSON what ran, `title`
// says it to people.
void report_times(std::vector<double> times, const Options& o, double prepared,
                  const std::pair<std::string, std::string>& key, const std::string& title, int threads,
                  Session& s) {
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  if (s.json) {
    nlohmann::ordered_json j = {{key.first, key.second},       {"threads", threads},   {"runs", o.runs},
                                {"prepare_seconds", prepared}, {"min", times.front()}, {"max", times.back()}};
    for (double q : o.percentiles) j[fmt::format("p{:g}", q)] = percentile(times, q);
    s.print_json(j);
    return;
  }
  s.print(fmt::format("{}, {}: made ready in {:.2f} s; {} after {} to warm up\n", title,
                      counted(threads, "thread"), prepared, counted(o.runs, "run"), o.warm_up));
  s.print(fmt::format("  min  {:10.3f} ms\n", times.front() * 1e3));
  for (double q : o.percentiles)
    s.print(fmt::format("  p{:<4g}{:10.3f} ms\n", q, percentile(times, q) * 1e3));
  s.print(fmt::format("  max  {:10.3f} ms\n", times.back() * 1e3));
}

void bench(const Options& o, Session& s) {
  const Result<Case> c = read_case(o, s);
  if (!c) return;
  const auto begin = Clock::now();
  const driver::Prepared p = prepare(*c, o, o.target.opt_level, s);
  const double prepared = since(begin);
  if (!p.run) return;
  report_times(time_runs(p, c->args, o, s), o, prepared, {"engine", std::string(c->engine->name)},
               cat(c->engine->name, " -O", o.target.opt_level), o.target.threads, s);
}

void bench_artifact(const Options& o, const ArtifactRun& run, Session& s) {
  const auto begin = Clock::now();
  const Result<ArtifactModel> artifact = open_artifact(o.model, run, s);
  const double opened = since(begin);
  if (!artifact) return;
  const Result<std::vector<Value>> args = make_inputs(artifact->model, of_artifact(o.inputs), s);
  if (!args) return;
  const int compiled_for = artifact->description.value("threads", 1);
  const int used = run.threads    ? static_cast<int>(run.threads)
                   : compiled_for ? compiled_for
                                  : static_cast<int>(usable_cores());
  report_times(time_runs(artifact->prepared, *args, o, s), o, opened, {"artifact", o.model.path},
               o.model.path, used, s);
}

// --- kernels ---

// Of the terminal, or what $COLUMNS says; enough for everything where neither is known.
size_t columns() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* given = std::getenv("COLUMNS");
  const int wanted = given ? std::atoi(given) : 0;
  return wanted > 0 ? static_cast<size_t>(wanted) : 120;
}

void profile(const Options& o, Session& s) {
  if (std::string wrong = o.trace.empty() ? "" : cannot_write(o.trace); !wrong.empty()) {
    s.fail(kLimit, wrong);
    return;
  }
  const Result<Case> c = read_case(o, s);
  if (!c) return;
  const driver::Prepared p = prepare(*c, o, o.target.opt_level, s);
  if (!p.run) return;
  if (!p.executor) {
    s.fail(kUnsupported, cat("the kernels of engine `", c->engine->name,
                             "` cannot be watched; `--engine graph` runs the same ones"));
    return;
  }
  Roofs roofs;
  const std::string no_roof = load_roofs(roofs);
  std::optional<Profile> profile;
  bool on = false;
  p.executor->set_observer([&](const passes::PlanStep& step, auto, auto, double seconds) {
    if (on) profile->step(step, seconds);
  });
  const auto threads = static_cast<unsigned>(o.target.threads);
  profile.emplace(p.executor->plan(),
                  step_names(p.executor->plan(), Names(c->model.module, c->model.is_listed)),
                  no_roof.empty() ? &roofs : nullptr, target::target_of(o.target.target), threads);
  const auto before = [&] {
    on = true;
    profile->begin_run();
  };
  const auto after = [&] {
    profile->end_run();
    on = false;
  };
  if (time_runs(p, c->args, o, s, before, after).empty()) return;
  if (!o.trace.empty()) {
    const std::string text = json_text(profile->trace());
    if (std::string wrong = write_file_atomically(o.trace, text + "\n"); !wrong.empty())
      s.fail(kLimit, wrong);
  }
  if (s.json) {
    nlohmann::ordered_json j = {{"engine", c->engine->name}, {"threads", o.target.threads}};
    j.update(profile->json());
    if (!no_roof.empty()) j["no_roof"] = no_roof;
    s.print_json(j);
    return;
  }
  s.print(profile->table(columns(), o.top));
  s.print(fmt::format("{:.3f} ms a whole run; medians of {}, {} -O{}, {}\n", profile->run_seconds() * 1e3,
                      counted(o.runs, "run"), c->engine->name, o.target.opt_level,
                      counted(o.target.threads, "thread")));
  s.say(no_roof.empty()
            ? "roof: the least time that this machine's arithmetic or memory allows, as a share of the time\n"
            : cat("no shares of the roof: ", no_roof, "\n"));
}

// --- another runtime ---

// Both in one call, one after the other twice: what else the machine does then shows as a
// difference of the two ratios.
void compare_with_peer(const Options& o, Session& s) {
  if (!o.model.path.ends_with(".onnx")) {
    s.fail(kUsage, cat("--compare ", o.compare, ": it reads .onnx models, and ", o.model.path, " is none"));
    return;
  }
  const Result<Case> c = read_case(o, s);
  if (!c) return;
  const driver::Prepared p = prepare(*c, o, o.target.opt_level, s);
  if (!p.run) return;
  frontend::data::NamedTensors inputs = c->model.fixed;
  for (size_t i = 0; i < c->args.size(); ++i)
    inputs.push_back({c->model.input_names[i], c->args[i].tensor()});
  const PeerRuns how{o.runs, o.warm_up, o.target.threads};
  std::vector<double> ours, theirs;
  std::string version;
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<double> times = time_runs(p, c->args, o, s);
    if (times.empty()) return;
    PeerTimes peer = time_onnxruntime(o.model.path, inputs, how);
    if (!peer.wrong.empty()) {
      s.fail(kUnsupported, peer.wrong);
      return;
    }
    std::sort(times.begin(), times.end());
    std::sort(peer.seconds.begin(), peer.seconds.end());
    ours.push_back(percentile(times, 50));
    theirs.push_back(percentile(peer.seconds, 50));
    version = peer.version;
  }
  const std::string name = cat("onnxruntime ", version);
  if (s.json) {
    s.print_json({{"engine", c->engine->name},
                  {"peer", name},
                  {"threads", o.target.threads},
                  {"runs", o.runs},
                  {"p50", ours},
                  {"peer_p50", theirs}});
    return;
  }
  s.print(fmt::format("{:<24} {:>10.3f} ms {:>10.3f} ms\n", cat("relay ", c->engine->name), ours[0] * 1e3,
                      ours[1] * 1e3));
  s.print(fmt::format("{:<24} {:>10.3f} ms {:>10.3f} ms\n", name, theirs[0] * 1e3, theirs[1] * 1e3));
  s.print(fmt::format("{:<24} {:>9.2f} x  {:>9.2f} x\n", "relay is faster by", theirs[0] / ours[0],
                      theirs[1] / ours[1]));
  s.print(fmt::format("medians of {}, {}, float32, in turns\n", counted(o.runs, "run"),
                      counted(o.target.threads, "thread")));
}

// --- levels ---

void compare_levels(const Options& o, Session& s) {
  const Result<Case> c = read_case(o, s);
  if (!c) return;
  if (!c->engine->compiles) {
    s.fail(kUsage, cat("engine `", c->engine->name, "` has no levels of optimisation"));
    return;
  }
  std::vector<driver::Prepared> levels;
  std::vector<std::function<bool()>> runs;
  std::vector<Level> found;
  {
    Progress progress(s, "bench");
    for (int level = 0; level <= 3; ++level) {
      progress.step(cat("compiling -O", level));
      levels.push_back(prepare(*c, o, level, s));
      if (!levels.back().run) return;
    }
    for (const driver::Prepared& p : levels) runs.push_back([&] { return run_once(p, c->args, s); });
    progress.step("all levels, in turns");
    found = time_levels(runs, o.runs, o.warm_up, o.target.threads == 1);
  }
  if (found.empty()) return;
  if (s.json) {
    nlohmann::ordered_json j = {{"engine", c->engine->name}, {"threads", o.target.threads}};
    j.update(json(found));
    s.print_json(j);
  } else {
    s.print(show(found, o.target.threads == 1));
  }
}

// --- passes ---

// Which passes change the program.
class Changes : public passes::Observer {
 public:
  void ran(const passes::StepReport& r, Diagnostics&) override {
    if (r.changed()) passes_.insert(std::string(r.step().pass->name));
  }
  bool has(std::string_view pass) const { return passes_.contains(std::string(pass)); }

 private:
  std::set<std::string> passes_;
};

void compare_passes(const Options& o, Session& s) {
  const Result<Case> c = read_case(o, s);
  if (!c) return;
  Changes changes;
  driver::Options options{.opt_level = o.target.opt_level,
                          .threads = o.target.threads,
                          .target = target::target_of(o.target.target),
                          .denormals = denormals_of(o.target.denormals),
                          .observers = {&changes}};
  const auto level = [&](int n) { return passes::default_pipeline(n, options.target, options.denormals); };
  const passes::Pipeline steps = level(o.target.opt_level);
  Contributions found;
  const auto prepare = [&](const passes::Pipeline& p, Timed& t) {
    driver::Prepared made = driver::prepare_graph(c->model.module, c->model.function, p, options);
    if (!made.run) {
      t.refused = made.skipped;
      return made;
    }
    for (const passes::PlanStep& step : made.executor->plan().steps) t.kernels += step.kernel != nullptr;
    return made;
  };
  {
    Progress progress(s, "bench");
    progress.step("compiling with all passes");
    const driver::Prepared whole = prepare(steps, found.all);
    // In turns with the whole, and in its time: what else the machine does shows in both.
    const auto time = [&](const passes::Pipeline& p, Timed& t) {
      const driver::Prepared other = prepare(p, t);
      if (!other.run) return true;
      const std::vector<std::function<bool()>> runs{[&] { return run_once(whole, c->args, s); },
                                                    [&] { return run_once(other, c->args, s); }};
      const std::vector<Level> times = time_levels(runs, o.runs, o.warm_up, o.target.threads == 1);
      if (times.empty()) return false;
      if (found.all.median == 0) found.all.median = times[0].median;
      t.median = found.all.median * times[1].median / times[0].median;
      return true;
    };
    if (found.all.refused.empty() && !time(level(0), found.least)) return;
    for (const Timed* t : {&found.all, &found.least}) {
      if (t->refused.empty()) continue;
      s.fail(kUnsupported, cat("engine `graph` cannot run this program: ", t->refused));
      return;
    }
    options.observers = {};
    // One at a time: a program may have many weights.
    for (const Ablation& a :
         ablations(steps, level(0), [&](std::string_view pass) { return changes.has(pass); })) {
      progress.step(cat("without ", a.pass));
      found.without.push_back({std::string(a.pass)});
      if (!time(a.steps, found.without.back())) return;
    }
  }
  if (s.json) {
    nlohmann::ordered_json j = {
        {"engine", "graph"}, {"opt_level", o.target.opt_level}, {"threads", o.target.threads}};
    j.update(json(found));
    s.print_json(j);
  } else {
    s.print(show(found));
    s.print(fmt::format("medians of {}, each in turns with all passes, graph -O{}, {}\n",
                        counted(o.runs, "run"), o.target.opt_level, counted(o.target.threads, "thread")));
  }
}

void run(const Options& o, Session& s) {
  const int forms = o.opt_levels + o.profile + o.passes_ablation;
  if (o.passes_ablation && (forms > 1 || !o.compare.empty() || !o.trace.empty())) {
    s.fail(kUsage, "--passes-ablation is a comparison of its own: leave the others out");
  } else if (o.passes_ablation && o.target.engine != "graph") {
    s.fail(kUsage, cat("--passes-ablation runs on the engine `graph`, not on `", o.target.engine, "`"));
  } else if (o.passes_ablation && o.target.opt_level == 0) {
    s.fail(kUsage, "--passes-ablation compares a level with -O0: give -O 1, -O 2 or -O 3");
  } else if (o.passes_ablation) {
    compare_passes(o, s);
  } else if (!o.compare.empty() && (o.opt_levels || o.profile)) {
    s.fail(kUsage, "--compare is about whole runs: leave --opt-levels and --profile out");
  } else if (!o.compare.empty()) {
    compare_with_peer(o, s);
  } else if (o.opt_levels && o.profile) {
    s.fail(kUsage, "--opt-levels and --profile exclude each other");
  } else if (o.opt_levels) {
    compare_levels(o, s);
  } else if (o.profile || !o.trace.empty()) {
    profile(o, s);
  } else {
    bench(o, s);
  }
}

}  // namespace

void add_bench(Command app, Session& session) {
  auto o = std::make_shared<Options>();
  Command sub = app.command("bench", "time a model on an engine, or what it was compiled to");
  add_model_options(sub, o->model, /*takes_artifacts=*/true);
  add_library_option(sub, o->model);
  add_input_options(sub, o->inputs);
  add_target_options(sub, o->target);
  sub.option("--repeat", &o->runs, "runs that are timed").check(count(1, 1000000)).shows_default();
  sub.option("--warmup", &o->warm_up, "runs before those").check(count(0, 1000000)).shows_default();
  sub.option("--percentiles", &o->percentiles, "as 50,90,99")
      .separated_by_commas()
      .one_at_a_time()
      .check(number(0, 100));
  sub.flag(
      "--profile", &o->profile,
      "each kernel's time, arithmetic and bytes, and its share of what this machine can do; on the engine "
      "graph unless --engine says otherwise");
  sub.option("--top", &o->top, "kernels that --profile lists").check(count(1, 100000)).shows_default();
  sub.option("--trace", &o->trace, "a file for every kernel of every run, as chrome://tracing reads it");
  sub.flag("--opt-levels", &o->opt_levels, "compare -O0 to -O3, in turns");
  sub.flag("--passes-ablation", &o->passes_ablation,
           "time the level without each of its passes, in turns: what each contributes; on the engine graph");
  sub.option("--compare", &o->compare,
             "time another runtime on the same inputs, where python3 (or RELAY_PYTHON) has it")
      .check(one_of("runtime", {"onnxruntime"}));
  sub.action([o, sub, &session] {
    if (driver::is_artifact(o->model.path)) {
      if (fits_artifact(sub, o->model.path, session))
        bench_artifact(*o, artifact_run(sub, o->target), session);
      return;
    }
    const bool watches = o->profile || !o->trace.empty();
    if ((watches || o->passes_ablation) && !sub.given("--engine")) o->target.engine = "graph";
    run(*o, session);
  });
}

}  // namespace relay::tools
