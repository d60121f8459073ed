// Laws about artifacts of the ahead-of-time compiler: many programs become one library, and each is
// run through its C interface.
#include "aot/cuda/build.h"
#include "base/cat.h"
#include "base/file.h"
#include "driver/artifact.h"
#include "driver/emitted.h"
#include "driver/results.h"
#include "tests/property/expected.h"
#include "tests/property/law_list.h"
#include "tests/property/watch.h"
#include "tests/support/joined_artifacts.h"

namespace relay::property {
namespace {

// One of the engines that compile ahead of time.
struct Compiler {
  driver::Emitted (*emit)(const Module& m, std::string_view function, const driver::Options& options);
  const kernel::print::Dialect& dialect;
  uint32_t most_threads;
  // Returns what is wrong, or an empty text. The library is `folder`/model.so.
  std::string (*build)(const aot::Sources& sources, const std::string& folder, const std::string& library);
};

std::string build_for_cpu(const aot::Sources& sources, const std::string&, const std::string& library) {
  return tests::build_unoptimised(sources, library);
}

const Compiler kCpu{driver::emit_aot, kernel::print::kCppDialect, kMostThreads, build_for_cpu};
const Compiler kGpu{driver::emit_aot_cuda, kernel::print::kCudaDialect, 1, aot::cuda::build_emulated};

// A program that is about to be compiled.
struct Item {
  size_t number;  // among those that are asked about
  driver::Options options;
  Module module;
  Expected want;
  double share;   // that results may be away
  bool parallel;  // it has loops that threads share
  std::vector<Value> args;
  driver::Emitted emitted;
};

class Batch {
 public:
  Batch(const Compiler& compiler, std::span<Asked> asked, Tally& tally)
      : compiler_(compiler), asked_(asked), tally_(tally), wrong_(asked.size()) {}

  std::vector<std::string> run() {
    for (size_t i = 0; i < asked_.size(); ++i) {
      try {
        wrong_[i] = prepare(i);
      } catch (const std::exception& e) {
        wrong_[i] = unexpected(e);
      }
    }
    compile(items_);
    return std::move(wrong_);
  }

 private:
  // What is wrong with the program before it is compiled. One that can be compiled is
  // put to the others.
  std::string prepare(size_t i) {
    std::string wrong;
    const Program& p = asked_[i].program;
    const Result<Module> m = checked(p.module, wrong);
    if (!m) return wrong;
    Expected want(*m, p.args, result_of_engine(*m, p.args), p.smooth);
    count(want.run(), tally_);
    if (!want.comparable() || want.run().kind == Run::Kind::kExhausted) return {};
    driver::Options options;
    options.opt_level = static_cast<int>(asked_[i].choices.below(4));
    options.threads = 1 + static_cast<int>(asked_[i].choices.below(compiler_.most_threads));
    if (options.threads > 1) options.worth_threads = 1;
    Watch watch;
    options.observers.push_back(&watch);
    driver::Emitted emitted = compiler_.emit(*m, "main", options);
    options.observers.clear();
    if (!emitted.program) return cat("at -O", options.opt_level, " it is skipped: ", emitted.skipped);
    tally_["static dataflow"] += emitted.program->functions.empty();
    items_.push_back({i, options, *m, std::move(want), watch.winograd() ? kWinogradShare : 0,
                      watch.parallel(), p.args, std::move(emitted)});
    return {};
  }

  // Compiles them together. If that fails, each alone: then it is known who is to blame.
  void compile(std::span<Item> items) {
    if (items.empty()) return;
    TemporaryFolder folder;
    std::string wrong = folder.make();
    const std::string library = folder.path() + "/model.so";
    std::vector<const aot::Sources*> sources;
    for (const Item& item : items) sources.push_back(&item.emitted.sources);
    if (wrong.empty())
      wrong = compiler_.build(tests::joined(sources, compiler_.dialect), folder.path(), library);
    if (wrong.empty()) {
      for (size_t i = 0; i < items.size(); ++i) wrong_[items[i].number] = compare(items[i], library, i);
      return;
    }
    if (items.size() > 1) {
      for (size_t i = 0; i < items.size(); ++i) compile(items.subspan(i, 1));
    }
    std::string& first = wrong_[items.front().number];
    if (items.size() == 1 || first.empty()) first = at(items.front(), wrong);
  }

  // What the artifact gives on so many threads, when it runs twice: the second run finds what the
  // first one left.
  std::vector<driver::Outcome> outcomes(const Item& item, const std::string& library, size_t number,
                                        int threads, std::string& wrong) {
    driver::Artifact artifact;
    std::vector<driver::Outcome> out;
    wrong = artifact.open(library, static_cast<unsigned>(threads), tests::joined_entry(number));
    for (int i = 0; i < 2 && wrong.empty(); ++i) {
      out.push_back(driver::outcome_of([&] {
        Value result = artifact.run(*item.emitted.program, item.args);
        driver::compare_result(item.module, "main", item.args, result);
        return result;
      }));
    }
    return out;
  }

  std::string compare(const Item& item, const std::string& library, size_t number) {
    std::string wrong;
    const int threads = item.options.threads;
    const std::vector<driver::Outcome> all = outcomes(item, library, number, threads, wrong);
    for (const driver::Outcome& got : all) {
      if (wrong.empty()) wrong = item.want.difference(got, item.share);
    }
    if (!wrong.empty()) return at(item, wrong);
    ++tally_["agreed"];
    if (threads == 1) return {};
    const std::vector<driver::Outcome> one = outcomes(item, library, number, 1, wrong);
    if (wrong.empty()) wrong = difference(run_of(all[0]), run_of(one[0]));
    tally_[kOnThreads] += item.parallel;
    return wrong.empty() ? wrong : at(item, cat("the bits are not those of one thread: ", wrong));
  }

  static std::string at(const Item& item, const std::string& wrong) {
    return cat("at -O", item.options.opt_level, " on ", item.options.threads, " threads: ", wrong);
  }

  const Compiler& compiler_;
  const std::span<Asked> asked_;
  Tally& tally_;
  std::vector<std::string> wrong_;
  std::vector<Item> items_;
};

}  // namespace

std::vector<std::string> broken_aot(std::span<Asked> asked, Tally& tally) {
  return Batch(kCpu, asked, tally).run();
}

std::vector<std::string> broken_cuda(std::span<Asked> asked, Tally& tally) {
  return Batch(kGpu, asked, tally).run();
}

}  // namespace relay::property
