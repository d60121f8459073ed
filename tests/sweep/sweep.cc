// Random calls of every operator, compiled, against the interpreter.
//
//   sweep                                      every operator: 50 cases, each on one setting
//   sweep --nightly                            200, each on every setting, and ahead-of-time code; the first
//                                              number follows from the day, or is --first N
//   sweep --operator nn.conv2d --count 500     of one operator
//   sweep --first 200 --count 1000             cases that no suite looks at
//   sweep --operator nn.conv2d --bytes 1f07ff  the case of these bytes, as a failure prints them
//   sweep ... --show                           prints the cases, too
//   sweep --dump FILE                          writes gradients as JSON, for tests/sweep/pytorch
#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "base/cat.h"
#include "base/check.h"
#include "base/stopwatch.h"
#include "op/operators.h"
#include "op/registry.h"
#include "tests/property/shrink.h"
#include "tests/support/day.h"
#include "tests/sweep/gradients.h"
#include "tests/sweep/known.h"
#include "tests/sweep/settings.h"
#include "tools/verify/batches.h"

namespace relay::sweep {
namespace {

using property::Bytes;
using property::bytes_of_hex;
using property::hex;

constexpr uint64_t kCases = 50, kNightly = 200;  // of an operator: about an hour of two cores
constexpr uint64_t kAheadOfTime = 48;            // of them by a C++ compiler, which is slow
constexpr size_t kTraps = 6;                     // of a batch, each compiled by itself
constexpr size_t kQuestions = 150;               // of the shrinker
constexpr int kReports = 3;                      // of an operator
constexpr uint64_t kGradients = 4, kGradientsNightly = 200, kDrafts = 10;

struct Flags {
  std::string op, dump;
  std::optional<uint64_t> first;
  uint64_t start = 0;  // `first`, or what follows from the day
  uint64_t count = 0;  // 0: as the suite says
  Bytes bytes;
  bool has_bytes = false, nightly = false, show = false;

  // The ordinary run looks at each case on one setting, so that it takes a third of the time.
  bool takes_turns() const { return !nightly && !has_bytes && op.empty(); }
  // Is all drawn, so that each line of the list explains something?
  bool draws_all() const { return nightly && !has_bytes && count == 0; }
};
Flags flags;

std::vector<Setting> settings(uint64_t first) {
  std::vector<Setting> out{{"jit", 2}, {"jit", 0}, {"graph", 2}};
  if (flags.nightly && first - flags.start < kAheadOfTime) {
    out.push_back({"aot-cpp", 0});
    out.push_back({"aot-cpp", 2});
  }
  return out;
}

class OperatorTest : public testing::Test {
 public:
  OperatorTest(const op::OpDef& op, const std::vector<Known>& known)
      : op_(op), known_(known, kSweep, op.name) {}

  void TestBody() override {
    seeds_ = seeds_of(op_);
    ASSERT_FALSE(seeds_.empty()) << "no well-typed call of `" << op_.name
                                 << "` is known: its exec test has none that runs";
    if (flags.has_bytes) {
      some({flags.bytes}, flags.start);
    } else {
      const uint64_t count = flags.count ? flags.count : flags.nightly ? kNightly : kCases;
      const uint64_t end = flags.start + count;
      for (uint64_t first = flags.start; first < end && reports_ < kReports; first += tools::kMostInBatch) {
        std::vector<Bytes> all;
        for (uint64_t i = first; i < std::min(end, first + tools::kMostInBatch); ++i)
          all.push_back(property::bytes_of_seed(i));
        some(all, first);
      }
    }
    std::printf("  %zu calls of %zu seeds:", tally_["cases"], seeds_.size());
    for (const auto& [what, n] : tally_) std::printf(" %zu %s", n, what.c_str());
    std::printf("\n");
    EXPECT_GT(tally_["values"] + (flags.has_bytes ? 1 : 0), 0u) << "no call gives a value";
    if (flags.draws_all() && !HasFailure()) {
      EXPECT_EQ(known_.unused(), "") << "known.txt has what nothing is known of: take it out";
    }
  }

 private:
  void some(const std::vector<Bytes>& all, uint64_t first) {
    const Module empty;
    std::vector<Case> cases;
    for (const Bytes& bytes : all) {
      const Activity activity("a case of", command(bytes));
      cases.push_back(make_case(empty, seeds_, bytes, cases.size()));
      Case& c = cases.back();
      if (flags.show && c.wrong.empty()) std::printf("%s\n", reproducer(c, "").c_str());
      count(c);
      if (!c.wrong.empty()) report("check", c, bytes, c.wrong);
    }
    const std::vector<Setting> on = settings(first);
    for (size_t k = 0; k < on.size(); ++k)
      run_on(on[k], cases, all, first, flags.takes_turns() ? on.size() : 1, k);
  }

  // The cases whose turn it is: one of `turns`, from `turn` on.
  void run_on(const Setting& s, const std::vector<Case>& cases, const std::vector<Bytes>& all, uint64_t first,
              size_t turns, size_t turn) {
    const Activity activity("cases on", cat(s.name(), " of ", op_.name, " from ", first));
    const Stopwatch watch;
    std::vector<Case> own;
    std::vector<size_t> places;
    for (size_t i = turn % turns; i < cases.size(); i += turns) {
      own.push_back(cases[i]);
      places.push_back(i);
    }
    run_cases(s, own, kTraps, [&](size_t i, const std::string& wrong) {
      report(s.name(), own[i], all[places[i]], wrong, &s);
    });
    tally_["ms"] += static_cast<size_t>(watch.seconds() * 1000);
  }

  void count(const Case& c) {
    ++tally_["cases"];
    tally_["symbolic"] += c.is_symbolic;
    if (!c.wrong.empty()) return;
    using Kind = driver::Outcome::Kind;
    ++tally_[c.want.kind == Kind::kValue ? "values" : c.want.kind == Kind::kTrap ? "traps" : "limits"];
  }

  std::string command(const Bytes& bytes) const {
    return cat("bazel run //tests/sweep -- --operator ", op_.name, " --bytes ", hex(bytes));
  }

  // What is wrong with the case on a setting, alone; empty if nothing is.
  std::string ask(const Bytes& bytes, const Setting* setting, Case* kept = nullptr) const {
    const Module empty;
    Case c = make_case(empty, seeds_, bytes, 0);
    std::string wrong = setting ? "" : c.wrong;
    if (setting && c.wrong.empty())
      run_cases(*setting, {&c, 1}, 1, [&](size_t, const std::string& found) { wrong = found; });
    if (kept) *kept = std::move(c);
    return wrong;
  }

  const Known* explained(const std::string& finding, const Case& c) {
    return known_.explain(finding, c.wrong.empty() ? op::text_of(c.module) : "");
  }

  void report(const std::string& where, const Case& found_in, const Bytes& bytes, const std::string& wrong,
              const Setting* setting = nullptr) {
    const std::string finding = cat(where, ": ", wrong);
    if (const Known* k = explained(finding, found_in)) {
      ++tally_[cat("known (", k->part, ")")];
      return;
    }
    if (reports_ == kReports) return;
    // One of a kind: what differs in numbers alone is the same finding.
    std::string kind;
    for (char c : finding) kind += c >= '0' && c <= '9' ? '#' : c;
    if (!kinds_.insert(kind.substr(0, 60)).second) return;
    ++reports_;
    if (ask(bytes, setting).empty()) {
      ADD_FAILURE() << op_.name << ": " << finding << "\nbut not alone: " << command(bytes);
      return;
    }
    const Bytes small = property::shrink(
        bytes,
        [&](const Bytes& b) {
          Case c;
          const std::string found = ask(b, setting, &c);
          return !found.empty() && !explained(cat(where, ": ", found), c);
        },
        kQuestions);
    Case c;
    const std::string found = ask(small, setting, &c);
    ADD_FAILURE() << op_.name << " on " << where << ": " << found << "\n"
                  << (c.wrong.empty() ? reproducer(c, cat("Found by tests/sweep on ", where, ".")) : "")
                  << "again: " << command(small);
  }

  const op::OpDef& op_;
  KnownOf known_;
  std::vector<Seed> seeds_;
  std::map<std::string, size_t> tally_;
  std::set<std::string> kinds_;
  int reports_ = 0;
};

// Operators whose results are no floats, or hide a change of their arguments by rounding.
bool has_nothing_to_compare(std::string_view op) {
  static const std::set<std::string_view> kAll{"iota", "random.threefry_generate", "random.threefry_split"};
  return kAll.contains(op);
}

class GradientTest : public testing::Test {
 public:
  GradientTest(const op::OpDef& op, const std::vector<Known>& known)
      : op_(op), known_(known, kGradient, op.name) {}

  void TestBody() override {
    const std::vector<Seed> seeds = seeds_of(op_);
    const uint64_t most = flags.nightly ? kGradientsNightly : kGradients;
    std::map<std::string, int> skipped;
    uint64_t calls = 0;
    int64_t elements = 0;
    // Many drafts are integers, or too large: some are tried for each that counts.
    const uint64_t end = flags.start + most * kDrafts;
    for (uint64_t seed = flags.start; seed < end && calls < most && !HasFailure(); ++seed) {
      const Bytes bytes = flags.has_bytes ? flags.bytes : property::bytes_of_seed(seed);
      const Activity activity("a gradient of", cat(op_.name, ", seed ", seed));
      const GradientCall found = check_gradient(seeds, bytes);
      if (!found.skipped.empty()) ++skipped[found.skipped];
      calls += found.compared > 0;
      if (!flags.dump.empty() && found.compared > 0)
        std::ofstream(flags.dump, std::ios::app) << found.json << "\n";
      elements += found.compared;
      if (found.wrong.empty() || known_.explain(found.wrong, found.text)) continue;
      ADD_FAILURE() << found.text << ": " << found.wrong << "\nagain: bazel run //tests/sweep -- --operator "
                    << op_.name << " --bytes " << hex(bytes);
    }
    std::printf("  %zu calls, %lld elements compared\n", static_cast<size_t>(calls),
                static_cast<long long>(elements));
    for (const auto& [why, n] : skipped) std::printf("    %d skipped: %s\n", n, why.c_str());
    if (op_.differentiate && !flags.has_bytes && !HasFailure()) {
      EXPECT_EQ(calls == 0, has_nothing_to_compare(op_.name)) << "differences say nothing of any call";
    }
    if (flags.draws_all() && !HasFailure()) {
      EXPECT_EQ(known_.unused(), "") << "known.txt has what nothing is known of: take it out";
    }
  }

 private:
  const op::OpDef& op_;
  KnownOf known_;
};

// The word that was not understood, or an empty text.
std::string read_flags(std::span<char*> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string_view flag = args[i];
    if (flag == "--nightly") {
      flags.nightly = true;
    } else if (flag == "--show") {
      flags.show = true;
    } else if (i + 1 == args.size()) {
      return std::string(flag);
    } else if (const std::string_view value = args[++i]; flag == "--operator") {
      if (!op::find(value)) return std::string(value);
      flags.op = value;
    } else if (flag == "--dump") {
      flags.dump = value;
    } else if (flag == "--first") {
      std::from_chars(value.data(), value.data() + value.size(), flags.first.emplace());
    } else if (flag == "--count") {
      std::from_chars(value.data(), value.data() + value.size(), flags.count);
    } else if (flag == "--bytes") {
      flags.bytes = bytes_of_hex(value);
      flags.has_bytes = true;
    } else {
      return std::string(flag);
    }
  }
  return flags.has_bytes && flags.op.empty() ? "--bytes without --operator" : "";
}

// A test of calls for each operator, and one of gradients for each that has one.
void add_tests(std::vector<Known> list) {
  static const std::vector<Known> known = std::move(list);
  std::set<std::pair<std::string_view, std::string>> tests;
  for (const op::OpDef* op : op::all_ops()) {
    tests.emplace(kSweep, op->name);
    const bool has_gradient = op->differentiate || op->expand;
    if (has_gradient) tests.emplace(kGradient, op->name);
    if (!flags.op.empty() && op->name != flags.op) continue;
    std::string name = op->name;
    for (char& c : name) c = c == '.' ? '_' : c;
    if (flags.dump.empty())
      testing::RegisterTest("sweep", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [op]() -> testing::Test* { return new OperatorTest(*op, known); });
    if (!has_gradient) continue;
    testing::RegisterTest("gradients", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [op]() -> testing::Test* { return new GradientTest(*op, known); });
  }
  for (const Known& k : known) {
    if (!tests.contains({k.suite, k.op}))
      throw std::runtime_error(cat("known.txt: no test looks at ", k.suite, " | ", k.op));
  }
}

}  // namespace
}  // namespace relay::sweep

int main(int argc, char** argv) {
  using namespace relay::sweep;
  testing::InitGoogleTest(&argc, argv);
  if (const std::string wrong = read_flags({argv + 1, static_cast<size_t>(argc - 1)}); !wrong.empty()) {
    std::fprintf(stderr, "sweep: what is %s? The head of tests/sweep/sweep.cc has the options\n",
                 wrong.c_str());
    return 2;
  }
  try {
    flags.start = flags.first ? *flags.first : flags.nightly ? relay::tests::first_of_day() : 0;
    add_tests(read_known("tests/sweep/known.txt"));
  } catch (const std::runtime_error& e) {
    std::fprintf(stderr, "sweep: %s\n", e.what());
    return 2;
  }
  if (flags.nightly)
    std::printf("calls from number %llu on: --first has them again\n",
                static_cast<unsigned long long>(flags.start));
  return RUN_ALL_TESTS();
}
