// Every reader against mutated inputs, and the harness itself against readers that are wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <set>

#include "base/cat.h"
#include "base/check.h"
#include "op/registry.h"
#include "tests/fuzz/campaign.h"

namespace relay::fuzz {
namespace {

constexpr uint64_t kSeed = 1;

uint64_t mutations() {
  const char* wanted = std::getenv("RELAY_MUTATIONS");
  return wanted ? std::strtoull(wanted, nullptr, 10) : 2000;
}

Deadline in(std::chrono::seconds s) { return std::chrono::steady_clock::now() + s; }

class Mutations : public ::testing::TestWithParam<size_t> {
 protected:
  const Reader& reader() { return readers()[GetParam()]; }
};

TEST_P(Mutations, SeedsAreSound) {
  size_t accepted = 0;
  for (const std::string& seed : reader().seeds()) {
    const Outcome o = reader().read(seed);
    EXPECT_NE(o.kind, Outcome::Kind::kWrong) << o.text << "\n" << seed.substr(0, 2000);
    accepted += o.kind == Outcome::Kind::kAccepted;
  }
  // Programs of tests that must fail are among them, and models of operators that
  // are not supported.
  EXPECT_GT(accepted, reader().seeds().size() / 4);
}

TEST_P(Mutations, AreAcceptedOrRefused) {
  const uint64_t count = mutations();
  const Tally tally = run_campaign(reader(), kSeed, 0, count, in(std::chrono::hours(1)), reader().limits);
  for (const Finding& f : tally.findings) {
    ADD_FAILURE() << "mutation " << f.index << ": " << f.what << "\nbazel run //tests/fuzz -- --reader "
                  << reader().name << " --seed " << kSeed << " --index " << f.index;
  }
  std::printf("%s: %lu accepted, %lu refused, %lu over a limit, %.1f s, slowest %.0f ms\n",
              reader().name.c_str(), tally.accepted, tally.refused, tally.exhausted, tally.seconds,
              tally.slowest * 1000);
  EXPECT_EQ(tally.accepted + tally.refused + tally.trapped + tally.not_run + tally.exhausted +
                tally.findings.size() + tally.repeated,
            count);
  // Injuries must be neither always fatal nor always harmless, or nothing is tested.
  EXPECT_GT(tally.accepted, count / 100);
  EXPECT_GT(tally.refused, count / 10);
}

INSTANTIATE_TEST_SUITE_P(Reader, Mutations, ::testing::Range(size_t{0}, readers().size()),
                         [](const auto& info) {
                           std::string name = readers()[info.param].name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Mutation, DependsOnSeedReaderAndIndexOnly) {
  const Reader &npy = *find_reader("npy"), &npz = *find_reader("npz");
  std::set<std::string> different;
  for (uint64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(mutation(npy, 7, i), mutation(npy, 7, i));
    different.insert(mutation(npy, 7, i));
    different.insert(mutation(npy, 8, i));
    different.insert(mutation(npz, 7, i));
  }
  EXPECT_GT(different.size(), 130u);
}

TEST(Mutation, OfProgramsMostlyChecks) {
  const Reader& run = *find_reader("run");
  size_t refused = 0;
  for (uint64_t i = 0; i < 3000; ++i)
    refused += run.read(mutation(run, 11, i)).kind == Outcome::Kind::kRefused;
  EXPECT_LT(refused, 2000u);
}

// There are some thousand seeds, and many an operator is in one of them alone: ten draws for each
// seed miss one with probability e^-10.
TEST(Mutation, OfProgramsReachesEveryOperator) {
  const Reader& run = *find_reader("run");
  std::set<std::string> left;
  for (const op::OpDef* op : op::all_ops()) left.insert(op->name + "(");
  const uint64_t most = 10 * run.seeds().size();
  for (uint64_t i = 0; i < most && !left.empty(); ++i) {
    const std::string text = mutation(run, 11, i);
    std::erase_if(left, [&](const std::string& call) { return text.find(call) != std::string::npos; });
  }
  for (const std::string& call : left) ADD_FAILURE() << call << "...) was never called";
}

TEST(Mutation, StaysSmall) {
  for (const Reader& r : readers()) {
    size_t longest = 0;
    for (const std::string& seed : r.seeds()) longest = std::max(longest, seed.size());
    for (uint64_t i = 0; i < 300; ++i)
      EXPECT_LE(mutation(r, 3, i).size(), longest + 2 * kMostGrowth + (size_t{2} << 20)) << r.name;
  }
}

// --- readers that are wrong

const Seeds& two_seeds() {
  static const Seeds seeds{"0123456789abcdef", "BADBADBADBADBADB"};
  return seeds;
}
std::string unchanged(const std::string& seed, const Seeds&, Random&) { return seed; }
bool bad(std::string_view bytes) { return bytes.find("AD") != std::string_view::npos; }

Outcome aborts(std::string_view bytes) {
  CHECK(!bad(bytes), "this is meant to happen");
  return {};
}
Outcome crashes(std::string_view bytes) {
  if (bad(bytes)) std::raise(SIGSEGV);
  return {};
}
Outcome hangs(std::string_view bytes) {
  for (volatile bool on = bad(bytes); on;) {
  }
  return {};
}
Outcome throws(std::string_view bytes) {
  if (bad(bytes)) throw std::runtime_error("meant");
  return {};
}
Outcome is_wrong(std::string_view bytes) {
  return bad(bytes) ? Outcome{Outcome::Kind::kWrong, "it says: " + std::string(bytes)} : Outcome{};
}
Outcome hogs(std::string_view bytes) {
  std::vector<std::string> kept;
  while (bad(bytes)) kept.emplace_back(size_t{1} << 20, 'x');
  return {};
}

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kSegmentationFault = "AddressSanitizer: SEGV";
#else
constexpr const char* kSegmentationFault = "ended by Segmentation fault";
#endif

Tally campaign(Outcome (*read)(std::string_view)) {
  const Reader reader{"wrong", two_seeds, unchanged, read};
  return run_campaign(reader, 5, 0, 20, in(std::chrono::minutes(1)), {.memory_mib = 64, .cpu_seconds = 1});
}

TEST(Harness, GoesOnAfterWhatIsWrong) {
  const std::pair<Outcome (*)(std::string_view), std::string> readers[] = {
      {aborts, "this is meant to happen"},
      {crashes, kSegmentationFault},
      {throws, "it threw: meant"},
      {is_wrong, "it says"}};
  for (const auto& [read, expected] : readers) {
    const Tally tally = campaign(read);
    EXPECT_EQ(tally.done, 20u);
    ASSERT_FALSE(tally.findings.empty()) << expected;
    EXPECT_GT(tally.accepted, 0u);
    EXPECT_EQ(tally.accepted + tally.findings.size() + tally.repeated, 20u);
    for (const Finding& f : tally.findings) {
      EXPECT_NE(f.what.find(expected), std::string::npos) << f.what;
      EXPECT_TRUE(bad(f.bytes));
    }
  }
}

TEST(Harness, CountsWhatIsWrongInTheSameWay) {
  const Tally tally = campaign(crashes);
  EXPECT_EQ(tally.findings.size(), 1u);
  EXPECT_GT(tally.repeated, 0u);
}

TEST(Harness, EndsWhatDoesNotEnd) {
  const Reader reader{"wrong", two_seeds, unchanged, hangs};
  EXPECT_EQ(replay(reader, "BAD", false, {.cpu_seconds = 1}), "it took more than 1 s");
  EXPECT_EQ(replay(reader, "good", false, {.cpu_seconds = 1}), "");
}

TEST(Harness, LimitsMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer reserves all addresses";
#endif
  const Reader reader{"wrong", two_seeds, unchanged, hogs};
  EXPECT_EQ(replay(reader, "BAD", false, {.memory_mib = 64}), "it needs more than 64 MiB");
  EXPECT_EQ(replay(reader, "good", false, {.memory_mib = 64}), "");
}

TEST(Harness, Shrinks) {
  const Reader reader{"wrong", two_seeds, unchanged, is_wrong};
  const std::string input = "0123456789BADBAD0123456789";
  EXPECT_EQ(shrink(reader, {0, replay(reader, input, false), input}, std::chrono::seconds(20)), "AD");
}

}  // namespace
}  // namespace relay::fuzz
