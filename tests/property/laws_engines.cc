// Laws about engines that run a program in this process, or a library of its own, held against the
// interpreter. On several threads they give the bits of one.
#include "base/cat.h"
#include "base/file.h"
#include "driver/engines.h"
#include "tests/property/expected.h"
#include "tests/property/law_list.h"
#include "tests/property/watch.h"
#include "tests/support/engine_skips.h"

namespace relay::property {
namespace {

// The slug of why the engine skips the program, or runs it in a weaker form; empty if it does not.
std::string_view slug_of(const driver::Prepared& prepared) {
  const auto& all = prepared.refusal.all();
  return all.empty() ? "" : all.front().slug().name();
}

// The same program on one thread, whose loops are the same.
std::string differs_on_one_thread(const driver::Engine& engine, const Module& m, driver::Options options,
                                  const std::vector<Value>& args, const driver::Outcome& got) {
  options.threads = 1;
  options.observers = {};
  const driver::Outcome one = engine.prepare(m, "main", options).run(args);
  if (one.kind == driver::Outcome::Kind::kExhausted)
    return "on one thread a limit is reached: " + one.message;
  return difference(run_of(got), run_of(one));
}

std::string broken_engine(std::string_view name, const Program& p, ByteSource& choices, Tally& tally) {
  std::string wrong;
  const Result<Module> m = checked(p.module, wrong);
  if (!m) return wrong;
  const Expected want(*m, p.args, result_of_engine(*m, p.args), p.smooth);
  count(want.run(), tally);
  if (!want.comparable() || want.run().kind == Run::Kind::kExhausted) return {};
  const driver::Engine& engine = *driver::find_engine(name);
  driver::Options options;
  options.opt_level = static_cast<int>(choices.below(4));
  options.threads = 1 + static_cast<int>(choices.below(kMostThreads));
  if (options.threads > 1) options.worth_threads = 1;
  Watch watch;
  options.observers.push_back(&watch);
  TemporaryFolder libraries;  // so that what a compiler makes serves twice
  if (wrong = libraries.make(); !wrong.empty()) return wrong;
  options.libraries = libraries.path();
  const std::string at = cat(name, " at -O", options.opt_level, " on ", options.threads, " threads: ");
  const driver::Prepared prepared = engine.prepare(*m, "main", options);
  if (!prepared.run) {
    ++tally[cat("skipped: ", slug_of(prepared))];
    return tests::may_skip(name, slug_of(prepared)) ? "" : cat(at, "skipped: ", prepared.skipped);
  }
  if (!prepared.refusal.all().empty())
    return cat(at, "not lowered: [", slug_of(prepared), "] ", driver::reason(prepared.refusal));
  const driver::Outcome got = prepared.run(p.args);
  if (got.interpreted_calls > 0) return cat(at, got.interpreted_calls, " calls are interpreted");
  std::string differs = want.difference(got, watch.winograd() ? kWinogradShare : 0);
  if (differs.empty() && options.threads > 1) {
    differs = differs_on_one_thread(engine, *m, options, p.args, got);
    if (!differs.empty()) differs = cat("the bits are not those of one thread: ", differs);
    tally[kOnThreads] += watch.parallel();
  }
  tally["agreed"] += differs.empty();
  return differs.empty() ? differs : cat(at, differs);
}

}  // namespace

std::vector<std::string> on_threads() { return {kOnThreads}; }

std::string broken_jit(const Program& p, ByteSource choices, Tally& tally) {
  return broken_engine("jit", p, choices, tally);
}

std::string broken_graph(const Program& p, ByteSource choices, Tally& tally) {
  return broken_engine("graph", p, choices, tally);
}

std::string broken_artifact(const Program& p, ByteSource choices, Tally& tally) {
  return broken_engine("aot-cpp", p, choices, tally);
}

}  // namespace relay::property
