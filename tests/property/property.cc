// Runs the laws over seeded programs.
//
//   property                                    every law, as many programs as the ordinary suite looks at
//   property --nightly                          many more; their numbers follow from the day, or from --first
//   property --law passes --seed 17             one program of one law
//   property --law passes --first 1000 --count 500
//   property --law passes --bytes 1f07ff        the program of these bytes, as a failure prints them
//   property ... --show                         prints the programs, too
//   property ... --isolate                      each in its own process, so crashes are shrunk
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <stdexcept>

#include "base/cat.h"
#include "base/check.h"
#include "tests/property/laws.h"
#include "tests/property/shrink.h"
#include "tests/support/day.h"

namespace relay::property {
namespace {

struct Flags {
  std::string law;
  std::optional<uint64_t> first;
  uint64_t count = 0;  // 0: as the law says
  Bytes bytes;
  bool has_bytes = false, nightly = false, show = false, isolate = false;
};
Flags flags;

std::string command(const Law& law, const std::string& which) {
  return cat("bazel run //tests/property -- --law ", law.name, " ", which);
}

// As `broken`, in a process of its own: a crash is a way of being broken.
std::string broken_in_isolation(const Law& law, const Bytes& bytes) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    Tally ignored;
    const std::string wrong = broken(law, bytes, ignored);
    const ssize_t written = write(ends[1], wrong.data(), wrong.size());
    _exit(written == static_cast<ssize_t>(wrong.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string wrong;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    wrong.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? wrong : "it crashed";
}

std::string ask(const Law& law, const Bytes& bytes, Tally& tally) {
  return flags.isolate ? broken_in_isolation(law, bytes) : broken(law, bytes, tally);
}

// What a person needs: the smallest program, how it fails, and how to see that again.
// `wrong`: how it failed.
std::string report(const Law& law, const Bytes& bytes, const std::string& wrong, const std::string& which) {
  Tally ignored;
  const std::string head = cat("law `", law.name, "`: ", law.doc, "\n");
  if (ask(law, bytes, ignored).empty()) {
    return cat(head, wrong, "\nbut not alone; the program:\n", show(generate(bytes, law.options)),
               "again:  ", command(law, which), "\n");
  }
  // What a compiler says takes a while.
  const size_t questions = law.compiles ? 400 : 4000;
  const Bytes small = shrink(bytes, [&](const Bytes& b) { return !ask(law, b, ignored).empty(); }, questions);
  return cat(head, ask(law, small, ignored), "\nthe smallest program that breaks it:\n",
             show(generate(small, law.options)), "again:  ", command(law, cat("--bytes ", hex(small))),
             "\nfrom:   ", command(law, which), "\n");
}

class LawTest : public testing::Test {
 public:
  // Of the programs of these seeds.
  LawTest(const Law& law, uint64_t first, uint64_t count) : law_(law), first_(first), count_(count) {}

  void TestBody() override {
    Tally tally;
    if (flags.has_bytes) {
      some({&flags.bytes, 1}, cat("--bytes ", hex(flags.bytes)), tally);
      return;
    }
    const uint64_t together = law_.broken_together && !flags.isolate ? kTogether : 1;
    for (uint64_t seed = first_, end = first_ + count_; seed < end && !HasFailure();) {
      std::vector<Bytes> all;
      const uint64_t n = std::min(together, end - seed);
      for (uint64_t i = 0; i < n; ++i) all.push_back(bytes_of_seed(seed + i));
      some(all, n == 1 ? cat("--seed ", seed) : cat("--first ", seed, " --count ", n), tally);
      seed += n;
    }
    for (const auto& [what, n] : tally)
      std::printf("  %8llu %s\n", static_cast<unsigned long long>(n), what.c_str());
    if (!HasFailure() && !law_.counts.empty() && !flags.count && !flags.isolate) {
      EXPECT_GE(tally[std::string(law_.counts)] * 100, count_ * law_.share)
          << "too few programs counted as " << law_.counts;
    }
    for (const auto& [what, share] : law_.at_most) {
      if (HasFailure() || flags.count || flags.isolate) break;
      EXPECT_LE(tally[std::string(what)] * 100, count_ * share) << "too many programs counted as " << what;
    }
    if (HasFailure() || !law_.demands || flags.count || flags.isolate) return;
    for (const std::string& what : law_.demands())
      EXPECT_GE(tally[what], kLeastDemanded) << "too seldom " << what;
  }

 private:
  // Asks of these programs, at once if there are several. `which`: the options that choose them.
  void some(std::span<const Bytes> all, const std::string& which, Tally& tally) {
    // A CHECK that fails says what was being done.
    const Activity activity("programs of", command(law_, cat(which, " --isolate")));
    for (const Bytes& bytes : all) {
      if (flags.show) std::printf("%s\n", show(generate(bytes, law_.options)).c_str());
    }
    const std::vector<std::string> wrong =
        all.size() == 1 ? std::vector<std::string>{ask(law_, all[0], tally)} : broken(law_, all, tally);
    for (size_t i = 0; i < wrong.size() && !HasFailure(); ++i) {
      if (!wrong[i].empty()) ADD_FAILURE() << report(law_, all[i], wrong[i], which);
    }
  }

  const Law& law_;
  const uint64_t first_, count_;
};

// Registers the law as one test of the programs from `start` on; as several where the nightly suite
// compiles many programs, so that no test takes an hour.
void add_tests(const Law& law, uint64_t start) {
  constexpr uint64_t kMostCompiled = 2000;
  const uint64_t count = flags.count ? flags.count : flags.nightly ? law.nightly : law.programs;
  const uint64_t most = law.compiles && flags.nightly && !flags.count ? kMostCompiled : count;
  for (uint64_t done = 0; done < count; done += most) {
    const uint64_t first = start + done, some = std::min(most, count - done);
    const std::string name = most == count ? std::string(law.name) : cat(law.name, "_", done);
    testing::RegisterTest("property", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [&law, first, some]() -> testing::Test* { return new LawTest(law, first, some); });
  }
}

uint64_t number(std::string_view text) {
  uint64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

// The word that was not understood, or an empty text.
std::string read_flags(std::span<char*> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string_view flag = args[i];
    if (flag == "--nightly") {
      flags.nightly = true;
    } else if (flag == "--show") {
      flags.show = true;
    } else if (flag == "--isolate") {
      flags.isolate = true;
    } else if (i + 1 == args.size()) {
      return std::string(flag);
    } else if (const std::string_view value = args[++i]; flag == "--law") {
      if (!find_law(value)) return std::string(value);
      flags.law = value;
    } else if (flag == "--seed") {
      flags.first = number(value);
      flags.count = 1;
    } else if (flag == "--first") {
      flags.first = number(value);
    } else if (flag == "--count") {
      flags.count = number(value);
    } else if (flag == "--bytes") {
      flags.bytes = bytes_of_hex(value);
      flags.has_bytes = true;
    } else {
      return std::string(flag);
    }
  }
  return {};
}

}  // namespace
}  // namespace relay::property

int main(int argc, char** argv) {
  using namespace relay::property;
  testing::InitGoogleTest(&argc, argv);
  if (const std::string wrong = read_flags({argv + 1, static_cast<size_t>(argc - 1)}); !wrong.empty()) {
    std::fprintf(
        stderr,
        "property: what is %s? The head of tests/property/property.cc has the options; laws:", wrong.c_str());
    for (const Law& law : laws()) std::fprintf(stderr, " %s", std::string(law.name).c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  uint64_t start = flags.first.value_or(0);
  try {
    if (flags.nightly && !flags.first) start = relay::tests::first_of_day();
  } catch (const std::runtime_error& e) {
    std::fprintf(stderr, "property: %s\n", e.what());
    return 2;
  }
  if (flags.nightly)
    std::printf("programs from number %llu on: --first has them again\n",
                static_cast<unsigned long long>(start));
  for (const Law& law : laws()) {
    if (!flags.law.empty() && law.name != flags.law) continue;
    add_tests(law, start);
  }
  return RUN_ALL_TESTS();
}
