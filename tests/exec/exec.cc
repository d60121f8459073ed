// Runs tests/exec: programs with results from outside of the interpreter, on every engine.
//
// Each call line is a test of its own: first the interpreter against the expected result, then
// every other engine against the interpreter, within the operator's tolerance. An engine may skip
// what its users are told that it is not for (tests/support/engine_skips.h); skips are printed. How
// many calls of each file an engine skips is in skips.txt; of `vta`, how many it takes.
// uncapped.txt names the functions whose bounds have no cap. The ordinary run is at -O2 and on one
// thread, and for some files at another level or on two threads too. `relay verify tests/exec` is
// the same at every level.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "base/cat.h"
#include "base/nearest.h"
#include "tests/exec/joined_engines.h"
#include "tests/exec/skips.h"
#include "tests/support/engine_skips.h"
#include "tests/support/own_cache.h"
#include "tests/support/parallel_kernels.h"
#include "tests/support/uncapped.h"
#include "tools/test_files/test_file.h"
#include "tools/verify/exec_program.h"

namespace relay::tests {
namespace {

// The functions that the calls of a file name, each once.
std::vector<std::string> functions_of(const tools::ExecProgram& program) {
  std::vector<std::string> out;
  for (const std::string& line : program.calls()) {
    const std::string function = tools::parse_call(line).function;
    if (program.module().function(function) && std::find(out.begin(), out.end(), function) == out.end())
      out.push_back(function);
  }
  return out;
}

// The kernels of all runs on several threads.
ParallelKernels& parallel_kernels() {
  static ParallelKernels all;
  return all;
}

// The numbers of a variable like "0,1"; none if it is not set.
std::vector<int> numbers_of(const char* variable) {
  std::vector<int> out;
  const char* given = std::getenv(variable);
  std::istringstream in(given ? given : "");
  for (std::string number; std::getline(in, number, ',');) out.push_back(std::stoi(number));
  return out;
}

// One file, parsed and checked once for all of its calls on so many threads.
tools::ExecProgram& program_of(const std::string& path, int threads) {
  struct Kept {
    explicit Kept(const std::string& file) : program(file), engines(program, functions_of(program)) {}

    tools::ExecProgram program;
    JoinedEngines engines;
  };
  static std::map<std::pair<std::string, int>, std::unique_ptr<Kept>> all;
  std::unique_ptr<Kept>& kept = all[{path, threads}];
  if (!kept) {
    kept = std::make_unique<Kept>(path);
    kept->program.prepare_by([&own = *kept, threads](const driver::EngineAt& at, const std::string& function,
                                                     const driver::Options& options) {
      const driver::Options given = on_threads(options, threads, parallel_kernels());
      // All levels are run with what users get.
      if (threads == 1 && !numbers_of("RELAY_LEVELS").empty())
        return at.engine->prepare(own.program.module(), function, given);
      return own.engines.prepare(at, function, given);
    });
  }
  return kept->program;
}

// The opt levels of a file, by the number of threads.
using Levels = std::map<int, std::vector<int>>;

// A file runs at -O2 on one thread. Four files of sixteen, chosen by the hash of the file's name,
// run in one more way. That is never -O0 on two threads: kernels are left as they were written
// there, and have no parallel loop. RELAY_LEVELS=0,1 and RELAY_THREADS=1,2 say it for all files.
Levels levels_of(const std::string& path) {
  struct More {
    int level, threads;
  };
  uint32_t hash = 2166136261u;  // FNV-1a, which is the same everywhere
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  const std::map<uint32_t, More> others{{0, {0, 1}}, {1, {1, 2}}, {2, {3, 2}}, {3, {2, 2}}};
  const auto more = others.find(hash / 16 % 16);
  std::vector<int> levels = numbers_of("RELAY_LEVELS"), threads = numbers_of("RELAY_THREADS");
  if (levels.empty() && threads.empty()) {
    Levels out{{1, {2}}};
    if (more != others.end()) out[more->second.threads].push_back(more->second.level);
    return out;
  }
  if (levels.empty()) {
    levels = {2};
    if (more != others.end() && more->second.level != 2) levels.push_back(more->second.level);
  }
  if (threads.empty()) threads = {1};
  Levels out;
  for (const int n : threads) out[n] = levels;
  return out;
}

// RELAY_ENGINES=graph,aot-cuda runs these and no others.
std::vector<std::string> engine_names() {
  const char* only = std::getenv("RELAY_ENGINES");
  if (!only) return names_of(driver::engines(), [](const driver::Engine& e) { return e.name; });
  std::vector<std::string> out;
  std::istringstream in(only);
  for (std::string name; std::getline(in, name, ',');) out.push_back(name);
  return out;
}

// How a file runs on so many threads.
driver::VerifyOptions options(const Levels& all, int threads) {
  driver::VerifyOptions out{.engines = engine_names(), .levels = all.at(threads), .threads = threads};
  // A GPU has threads of its own: at a level, one run is enough.
  const bool is_more =
      threads > 1 && all.contains(1) && std::all_of(out.levels.begin(), out.levels.end(), [&](int level) {
        return std::find(all.at(1).begin(), all.at(1).end(), level) != all.at(1).end();
      });
  if (is_more) std::erase(out.engines, "aot-cuda");
  return out;
}

// Few programs have something for the device of an engine: what it takes is listed, not what it
// skips.
bool lists_taken(const driver::VerifyRow& row) {
  const driver::Engine* engine = driver::find_engine(row.engine);
  return engine && engine->for_device;
}

// Once for each function, however many calls it has.
void print_skip(const std::string& path, const std::string& function, const driver::VerifyRow& row) {
  static std::set<std::string> printed;
  if (!printed.insert(row.engine + " " + path + " @" + function).second) return;
  std::printf("skip %s %s @%s: %s\n", row.engine.c_str(), path.c_str(), function.c_str(),
              row.skipped.c_str());
}

// Counts the skips of one file on so many threads, and compares as soon as all of its calls have
// run.
void count_skips(const std::string& path, int threads, const std::vector<driver::VerifyRow>& rows) {
  struct Counted {
    size_t calls = 0;
    // By engine and level, also of those that skip nothing.
    std::map<std::pair<std::string, std::optional<int>>, size_t> skips;
  };
  static std::map<std::pair<std::string, int>, Counted> all;
  Counted& file = all[{path, threads}];
  ++file.calls;
  for (const driver::VerifyRow& row : rows)
    file.skips[{row.engine, row.level}] += row.skipped.empty() == lists_taken(row);
  if (file.calls < program_of(path, threads).calls().size()) return;
  for (const auto& [at, count] : file.skips) {
    const auto& [engine, level] = at;
    EXPECT_EQ(count, listed_skips(engine, path, level))
        << "calls that the engine skips (takes, if it has a device): if that is right, tests/exec/skips.txt "
           "needs the line\n"
        << skips_line(engine, path, level, count);
  }
}

// Holds a run of one call to uncapped.txt, and compares after `runs` of them, which are all of the
// file.
void list_uncapped(const std::string& path, const std::string& function,
                   const std::vector<driver::VerifyRow>& rows, size_t runs) {
  static UncappedList list("tests/exec/uncapped.txt");
  static std::map<std::string, size_t> done;
  for (const driver::VerifyRow& row : rows) list.saw(path + "@" + function, row.uncapped);
  if (++done[path] < runs) return;
  // A few engines may have run none of the calls.
  if (!std::getenv("RELAY_ENGINES")) list.finish(path + "@");
}

class ExecTest : public testing::Test {
 public:
  ExecTest(std::string path, std::string line) : path_(std::move(path)), line_(std::move(line)) {}

  void TestBody() override {
    const tools::CallLine call = tools::parse_call(line_);
    const Levels levels = levels_of(path_);
    for (const auto& [threads, unused] : levels) {
      const std::vector<driver::VerifyRow> rows =
          program_of(path_, threads).run(call, options(levels, threads));
      count_skips(path_, threads, rows);
      list_uncapped(path_, call.function, rows, levels.size() * program_of(path_, threads).calls().size());
      for (const driver::VerifyRow& row : rows) judge(row, call, threads);
    }
  }

 private:
  void judge(const driver::VerifyRow& row, const tools::CallLine& call, int threads) const {
    const std::string what =
        cat(row.label(), threads > 1 ? cat(", ", threads, " threads") : "", ": ", path_, ": ", line_);
    if (!row.skipped.empty() && !lists_taken(row)) {
      print_skip(path_, call.function, row);
      EXPECT_TRUE(may_skip(row.engine, row.slug)) << what << ": [" << row.slug << "] " << row.skipped;
    }
    EXPECT_TRUE(row.ok) << what << ": " << row.trouble();
    EXPECT_EQ(row.interpreted_calls, 0u) << what;
    EXPECT_EQ(row.weaker, "") << what << ": it is not lowered";
  }

  std::string path_, line_;
};

// A test of runs on several threads that share no loop would test nothing. It comes last.
class LoopsAreShared : public testing::Test {
 public:
  void TestBody() override {
    const ParallelKernels& kernels = parallel_kernels();
    std::printf("%zu of %zu kernels on several threads have a parallel loop\n", kernels.parallel(),
                kernels.all());
    EXPECT_GT(kernels.parallel(), 0u);
  }
};

// Are there files with several threads, on an engine whose loops these share?
bool shares_loops(const Levels& levels) {
  const std::vector<std::string> engines = engine_names();
  return levels.rbegin()->first > 1 && std::find(engines.begin(), engines.end(), "jit") != engines.end();
}

TEST(SkipsList, NamesWhatExists) { EXPECT_EQ(faults_of_skips(), ""); }

// The part of the tests that this process runs, if there are several: whole files, because calls of
// one function share what engines compile for it. GoogleTest would deal them out one by one.
class Shard {
 public:
  Shard() : functions_(take("GTEST_TOTAL_SHARDS", 1)), index_(take("GTEST_SHARD_INDEX", 0)) {}

  // Is the next file of this part? It goes to the one that has the fewest functions so far.
  bool takes(const std::vector<std::string>& calls) {
    std::set<std::string> functions;
    for (const std::string& line : calls) functions.insert(line.substr(0, line.find('(')));
    const auto least = std::min_element(functions_.begin(), functions_.end());
    *least += functions.size();
    return static_cast<size_t>(least - functions_.begin()) == index_;
  }

 private:
  // The variable's number; GoogleTest does not see it.
  static size_t take(const char* variable, size_t otherwise) {
    const char* text = std::getenv(variable);
    const size_t out = text ? std::stoul(text) : otherwise;
    unsetenv(variable);
    return out;
  }

  std::vector<size_t> functions_;  // of each part
  size_t index_;
};

}  // namespace
}  // namespace relay::tests

int main(int argc, char** argv) {
  using namespace relay::tests;
  keep_what_is_compiled();
  Shard shard;
  testing::InitGoogleTest(&argc, argv);
  bool on_threads = false;
  for (const std::string& path : relay::tools::test_files_beneath("tests/exec")) {
    const relay::tools::TestFile file = relay::tools::read_test_file(path);
    const std::vector<std::string> lines = relay::tools::call_lines(file);
    if (!shard.takes(lines)) continue;
    // A file without calls would pass by testing nothing.
    if (lines.empty()) throw relay::tools::Malformed(path + ": there is no call");
    on_threads |= shares_loops(levels_of(path));
    int number = 0;
    for (const std::string& line : lines) {
      const std::string suite = std::filesystem::path(path).stem().string();
      const std::string name = std::to_string(++number) + " " + line;
      testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [path, line]() -> testing::Test* { return new ExecTest(path, line); });
    }
  }
  if (on_threads) {
    testing::RegisterTest("threads", "share loops", nullptr, nullptr, __FILE__, __LINE__,
                          []() -> testing::Test* { return new LoopsAreShared; });
  }
  return RUN_ALL_TESTS();
}
