// Runs the laws over seeded programs.
//
//   property                                    every law, as many programs as the ordinary suite looks at
//   property --nightly                          many more
//   property --law passes --seed 17             one program of one law
//   property --law passes --first 1000 --count 500
//   property --law passes --bytes 1f07ff        the program of these bytes, as a failure prints them
//   property ... --show                         prints the programs, too
//   property ... --isolate                      each program in a process of its own, so that crashes are shrunk
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "base/cat.h"
#include "base/check.h"
#include "tests/property/laws.h"
#include "tests/property/shrink.h"

namespace relay::property {
namespace {

struct Flags {
  std::string law;
  uint64_t first = 0;
  uint64_t count = 0;  // 0: as the law says
  Bytes bytes;
  bool has_bytes = false, nightly = false, show = false, isolate = false;
};
Flags flags;

std::string hex(const Bytes& bytes) {
  std::string out;
  for (uint8_t b : bytes) out += fmt::format("{:02x}", b);
  return out.empty() ? "\"\"" : out;
}

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
std::string report(const Law& law, const Bytes& bytes, const std::string& which) {
  Tally ignored;
  const Bytes small = shrink(bytes, [&](const Bytes& b) { return !ask(law, b, ignored).empty(); });
  return cat("law `", law.name, "`: ", law.doc, "\n", ask(law, small, ignored),
             "\nthe smallest program that breaks it:\n", show(generate(small, law.options)),
             "again:  ", command(law, cat("--bytes ", hex(small))), "\nfrom:   ", command(law, which), "\n");
}

class LawTest : public testing::Test {
 public:
  explicit LawTest(const Law& law) : law_(law) {}

  void TestBody() override {
    Tally tally;
    if (flags.has_bytes) {
      one(flags.bytes, cat("--bytes ", hex(flags.bytes)), tally);
      return;
    }
    const uint64_t count = flags.count ? flags.count : flags.nightly ? law_.nightly : law_.programs;
    for (uint64_t seed = flags.first; seed < flags.first + count && !HasFailure(); ++seed) {
      one(bytes_of_seed(seed), cat("--seed ", seed), tally);
    }
    for (const auto& [what, n] : tally)
      std::printf("  %8llu %s\n", static_cast<unsigned long long>(n), what.c_str());
    if (!HasFailure() && !law_.counts.empty() && !flags.count && !flags.isolate) {
      EXPECT_GE(tally[std::string(law_.counts)] * 100, count * law_.share)
          << "too few programs counted as " << law_.counts;
    }
  }

 private:
  void one(const Bytes& bytes, const std::string& which, Tally& tally) {
    // A CHECK that fails says what was being done.
    const Activity activity("a program of", command(law_, cat(which, " --isolate")));
    if (flags.show) std::printf("%s\n", show(generate(bytes, law_.options)).c_str());
    const std::string wrong = ask(law_, bytes, tally);
    if (!wrong.empty()) ADD_FAILURE() << report(law_, bytes, which);
  }

  const Law& law_;
};

uint64_t number(std::string_view text) {
  uint64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

Bytes bytes_of_hex(std::string_view text) {
  Bytes out;
  for (size_t i = 0; i + 2 <= text.size(); i += 2) {
    uint8_t b = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, b, 16);
    out.push_back(b);
  }
  return out;
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
  for (const Law& law : laws()) {
    if (!flags.law.empty() && law.name != flags.law) continue;
    testing::RegisterTest("property", std::string(law.name).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [&law]() -> testing::Test* { return new LawTest(law); });
  }
  return RUN_ALL_TESTS();
}
