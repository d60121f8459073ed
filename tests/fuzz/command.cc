#include "tests/fuzz/command.h"

#include <errno.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "base/cat.h"
#include "base/file.h"
#include "tests/fuzz/campaign.h"
#include "tools/options/options.h"
#include "tools/options/values.h"

namespace relay::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// Bazel runs a program in a folder of its own, and says here where the user is.
fs::path users_folder() {
  for (const char* name : {"TEST_UNDECLARED_OUTPUTS_DIR", "BUILD_WORKING_DIRECTORY"}) {
    if (const char* folder = std::getenv(name)) return folder;
  }
  return fs::current_path();
}

std::string file_of(const Reader& reader, uint64_t seed, uint64_t index) {
  return (users_folder() / cat("fuzz-", reader.name, "-", seed, "-", index)).string();
}

void report(const Reader& reader, uint64_t seed, Finding finding, std::chrono::seconds shrinking) {
  const size_t size = finding.bytes.size();
  finding.bytes = shrink(reader, finding, shrinking, reader.limits);
  const std::string file = file_of(reader, seed, finding.index);
  std::string wrong = write_file_atomically(file, finding.bytes);
  std::printf(
      "FAIL %s: %s\n  %s has the input (%zu bytes, shrunk from %zu)%s%s\n"
      "  replay it with: bazel run //tests/fuzz:%s -- --replay %s %s\n",
      reader.name.c_str(), finding.what.c_str(), file.c_str(), finding.bytes.size(), size,
      wrong.empty() ? "" : "; ", wrong.c_str(), program_invocation_short_name, reader.name.c_str(),
      file.c_str());
}

void summarise(const Reader& reader, const Tally& tally) {
  std::printf(
      "%-12s %9lu inputs in %6.1f s: %9lu accepted, %9lu refused, %7lu trapped, %7lu not run, %6lu over a "
      "limit, %2zu "
      "findings (%lu times); slowest %.0f ms (%lu)\n",
      reader.name.c_str(), tally.done, tally.seconds, tally.accepted, tally.refused, tally.trapped,
      tally.not_run, tally.exhausted, tally.findings.size(), tally.findings.size() + tally.repeated,
      tally.slowest * 1000, tally.slowest_index);
}

int replay_file(const Reader& reader, const std::string& path) {
  std::string bytes;
  if (std::string wrong = read_file((users_folder() / path).string(), kMostBytes, bytes); !wrong.empty()) {
    std::fprintf(stderr, "relay: %s\n", wrong.c_str());
    return 2;
  }
  const std::string wrong = replay(reader, bytes, true, reader.limits);
  std::printf("%s: %s\n", reader.name.c_str(), wrong.empty() ? "all is well" : wrong.c_str());
  return wrong.empty() ? 0 : 1;
}

int one_mutation(const std::vector<const Reader*>& wanted, uint64_t seed, uint64_t index) {
  int code = 0;
  for (const Reader* reader : wanted) {
    const std::string file = file_of(*reader, seed, index);
    if (std::string wrong = write_file_atomically(file, mutation(*reader, seed, index)); !wrong.empty()) {
      std::fprintf(stderr, "relay: %s\n", wrong.c_str());
      return 2;
    }
    std::printf("%s\n", file.c_str());
    code = std::max(code, replay_file(*reader, file));
  }
  return code;
}

int fuzz(const std::vector<const Reader*>& wanted, uint64_t seed, uint64_t count, double seconds) {
  constexpr uint64_t kTurn = 5000;  // readers take turns, so that each has its share of the time
  const auto time_of = [](double s) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(s));
  };
  const auto end = std::chrono::steady_clock::now() + time_of(seconds);
  std::printf("seed %lu\n", seed);
  std::vector<Tally> tallies(wanted.size());
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < wanted.size(); ++i) {
      Tally& tally = tallies[i];
      const uint64_t turn = std::min(kTurn, count - tally.done);
      if (turn == 0 || tally.findings.size() >= kMostFindings || std::chrono::steady_clock::now() >= end)
        continue;
      // A slow reader must not use up the time of the others.
      const auto turn_end = std::chrono::steady_clock::now() +
                            time_of(std::min(5.0, seconds / static_cast<double>(wanted.size())));
      const Tally part = run_campaign(*wanted[i], seed, tally.done, turn,
                                      count == UINT64_MAX ? std::min(end, turn_end) : end, wanted[i]->limits);
      const size_t known = tally.findings.size();
      tally.add(part);
      for (size_t n = known; n < tally.findings.size(); ++n)
        report(*wanted[i], seed, tally.findings[n], std::chrono::seconds(20));
      more = true;
    }
  }
  bool failed = false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    summarise(*wanted[i], tallies[i]);
    failed = failed || !tallies[i].findings.empty();
  }
  return failed ? 1 : 0;
}

}  // namespace

int fuzz_command(int argc, char** argv, const std::vector<Reader>& readers) {
  std::vector<std::string> names, replayed;
  const auto find = [&](const std::string& name) {
    return &*std::find_if(readers.begin(), readers.end(), [&](const Reader& r) { return r.name == name; });
  };
  for (const Reader& r : readers) names.push_back(r.name);
  double seconds = 0;
  uint64_t count = 0, seed = std::random_device()(), index = UINT64_MAX;
  tools::CommandLine line(
      "Feeds mutated inputs to the readers: each must be accepted or refused, soon and in little memory.");
  tools::Command app = line.program();
  app.option("--seconds", &seconds, "stop after this time");
  app.option("--count", &count, "mutations of each reader");
  app.option("--reader", &names, "only this reader (may be repeated)").check(tools::one_of("reader", names));
  app.option("--seed", &seed, "the same seed gives the same mutations; drawn unless given");
  app.option("--index", &index, "write this mutation of each reader to a file, and read it");
  app.option("--replay", &replayed, "READER FILE: read one input").expects(2, 2);
  if (const std::optional<int> code = line.parse_or_report(argc, argv)) return *code;
  if (!replayed.empty()) {
    if (std::count(names.begin(), names.end(), replayed[0]) != 0)
      return replay_file(*find(replayed[0]), replayed[1]);
    std::fprintf(stderr, "relay: there is no reader `%s`\n", replayed[0].c_str());
    return 2;
  }
  if (seconds <= 0 && count == 0) seconds = 60;
  std::vector<const Reader*> wanted;
  for (const std::string& name : names) wanted.push_back(find(name));
  if (index != UINT64_MAX) return one_mutation(wanted, seed, index);
  return fuzz(wanted, seed, count == 0 ? UINT64_MAX : count, seconds <= 0 ? 1e9 : seconds);
}

}  // namespace relay::fuzz
