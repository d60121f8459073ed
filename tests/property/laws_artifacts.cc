// Laws about artifacts of the ahead-of-time compiler: many programs become one library, and each is
// run through its C interface.
#include "aot/cuda/build.h"
#include "base/cat.h"
#include "base/file.h"
#include "driver/artifact.h"
#include "driver/emitted.h"
#include "driver/results.h"
#include "tests/property/law_list.h"
#include "tests/support/joined_artifacts.h"

namespace relay::property {
namespace {

// One of the engines that compile ahead of time.
struct Compiler {
  driver::Emitted (*emit)(const Module& m, std::string_view function, const driver::Options& options);
  const kernel::print::Dialect& dialect;
  // Returns what is wrong, or an empty text. The library is `folder`/model.so.
  std::string (*build)(const aot::Sources& sources, const std::string& folder, const std::string& library);
};

std::string build_for_cpu(const aot::Sources& sources, const std::string&, const std::string& library) {
  return tests::build_unoptimised(sources, library);
}

const Compiler kCpu{driver::emit_aot, kernel::print::kCppDialect, build_for_cpu};
const Compiler kGpu{driver::emit_aot_cuda, kernel::print::kCudaDialect, aot::cuda::build_emulated};

// A program that is about to be compiled.
struct Item {
  size_t number;  // among those that are asked about
  int level;
  Module module;
  Run want;
  double slack;
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
    const Run want = result_of_engine(*m, p.args);
    count(want, tally_);
    if (!comparable(p, want) || want.kind == Run::Kind::kExhausted) return {};
    driver::Options options;
    options.opt_level = static_cast<int>(asked_[i].choices.below(4));
    driver::Emitted emitted = compiler_.emit(*m, "main", options);
    if (!emitted.program) {
      ++tally_[cat("skipped: ", emitted.skipped)];
      return {};
    }
    tally_["static dataflow"] += emitted.program->functions.empty();
    items_.push_back({i, options.opt_level, *m, want, slack(p, want), p.args, std::move(emitted)});
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

  // What is wrong with two runs of the program, of which the second finds what the first one left.
  std::string compare(Item& item, const std::string& library, size_t number) {
    driver::Artifact artifact;
    if (const std::string wrong = artifact.open(library, 1, tests::joined_entry(number)); !wrong.empty())
      return at(item, wrong);
    for (int i = 0; i < 2; ++i) {
      const driver::Outcome got = driver::outcome_of([&] {
        Value result = artifact.run(*item.emitted.program, item.args);
        driver::compare_result(item.module, "main", item.args, result);
        return result;
      });
      if (const std::string differs = difference(got, item.want, item.slack); !differs.empty())
        return at(item, differs);
    }
    ++tally_["agreed"];
    return {};
  }

  static std::string at(const Item& item, const std::string& wrong) {
    return cat("at -O", item.level, ": ", wrong);
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
