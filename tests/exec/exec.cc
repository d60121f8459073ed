// Runs tests/exec: programs with results from outside of the interpreter, on every engine.
//
// Each call line is a test of its own: first the interpreter against the expected result, then
// every other engine against the interpreter, within the operator's tolerance. An engine may skip
// what its users are told that it is not for (tests/support/engine_skips.h); skips are printed. How
// many calls of each file an engine skips is in skips.txt; of `vta`, how many it takes.
// uncapped.txt names the functions whose bounds have no cap. The ordinary run is at -O2, and for
// some files at another level too. `relay verify tests/exec` is the same at every level.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "base/nearest.h"
#include "tests/exec/joined_engines.h"
#include "tests/support/engine_skips.h"
#include "tests/support/own_cache.h"
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

// One file, parsed and checked once for all of its calls.
tools::ExecProgram& program_of(const std::string& path) {
  struct Kept {
    explicit Kept(const std::string& file) : program(file), engines(program, functions_of(program)) {}

    tools::ExecProgram program;
    JoinedEngines engines;
  };
  static std::map<std::string, std::unique_ptr<Kept>> all;
  std::unique_ptr<Kept>& kept = all[path];
  if (!kept) {
    kept = std::make_unique<Kept>(path);
    // All levels are run with what users get.
    if (!std::getenv("RELAY_LEVELS")) {
      kept->program.prepare_by([&engines = kept->engines](const driver::EngineAt& at,
                                                          const std::string& function,
                                                          const driver::Options& options) {
        return engines.prepare(at, function, options);
      });
    }
  }
  return kept->program;
}

// The opt levels of a file: 2, and one more for three files of sixteen, by the hash of the file's
// name. RELAY_LEVELS=0,1 says it for all files.
std::vector<int> levels_of(const std::string& path) {
  std::vector<int> out;
  const char* given = std::getenv("RELAY_LEVELS");
  std::istringstream in(given ? given : "2");
  for (std::string level; std::getline(in, level, ',');) out.push_back(std::stoi(level));
  if (given) return out;
  uint32_t hash = 2166136261u;  // FNV-1a, which is the same everywhere
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  const std::map<uint32_t, int> more{{0, 0}, {1, 1}, {2, 3}};
  if (const auto it = more.find(hash / 16 % 16); it != more.end()) out.push_back(it->second);
  return out;
}

// RELAY_ENGINES=graph,aot-cuda runs these and no others.
driver::VerifyOptions options(const std::string& path) {
  driver::VerifyOptions out{.levels = levels_of(path)};
  const char* only = std::getenv("RELAY_ENGINES");
  std::istringstream in(only ? only : "");
  for (std::string name; std::getline(in, name, ',');) out.engines.push_back(name);
  if (!only) out.engines = names_of(driver::engines(), [](const driver::Engine& e) { return e.name; });
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

// How many calls of a file each engine skips, or takes (`lists_taken`), by "graph
// tests/exec/lang/if.relay".
using Skips = std::map<std::string, size_t>;

// Lines like "graph tests/exec/lang/if.relay 3".
const Skips& listed_skips() {
  static const Skips all = [] {
    Skips out;
    std::ifstream in("tests/exec/skips.txt");
    std::string engine, path;
    for (size_t count; in >> engine >> path >> count;) out[engine + " " + path] = count;
    return out;
  }();
  return all;
}

// The level that the list is of. At -O0 an engine may skip more: less is decided before
// the program runs.
constexpr int kListedLevel = 2;

// Counts the skips of one file, and compares as soon as all of its calls have run.
void count_skips(const std::string& path, const std::vector<driver::VerifyRow>& rows) {
  struct Counted {
    size_t calls = 0;
    std::map<std::string, size_t> skips;  // also of engines that skip nothing
  };
  const std::vector<int> levels = levels_of(path);
  if (std::find(levels.begin(), levels.end(), kListedLevel) == levels.end()) return;
  static std::map<std::string, Counted> all;
  Counted& file = all[path];
  ++file.calls;
  for (const driver::VerifyRow& row : rows) {
    const bool counts = !row.level || *row.level == kListedLevel;
    file.skips[row.engine] += counts && row.skipped.empty() == lists_taken(row);
  }
  if (file.calls < program_of(path).calls().size()) return;
  for (const auto& [engine, count] : file.skips) {
    const std::string key = engine + " " + path;
    const auto listed = listed_skips().find(key);
    EXPECT_EQ(count, listed == listed_skips().end() ? 0 : listed->second)
        << "calls that the engine skips (takes, if it has a device): if that is right, tests/exec/skips.txt "
           "needs the line\n"
        << key << " " << count;
  }
}

// Holds the calls of one file to uncapped.txt, and compares as soon as all of them have run.
void list_uncapped(const std::string& path, const std::string& function,
                   const std::vector<driver::VerifyRow>& rows) {
  static UncappedList list("tests/exec/uncapped.txt");
  static std::map<std::string, size_t> calls;
  for (const driver::VerifyRow& row : rows) list.saw(path + "@" + function, row.uncapped);
  if (++calls[path] < program_of(path).calls().size()) return;
  // A few engines may have run none of the calls.
  if (!std::getenv("RELAY_ENGINES")) list.finish(path + "@");
}

class ExecTest : public testing::Test {
 public:
  ExecTest(std::string path, std::string line) : path_(std::move(path)), line_(std::move(line)) {}

  void TestBody() override {
    const tools::CallLine call = tools::parse_call(line_);
    const std::vector<driver::VerifyRow> rows = program_of(path_).run(call, options(path_));
    count_skips(path_, rows);
    list_uncapped(path_, call.function, rows);
    for (const driver::VerifyRow& row : rows) {
      if (!row.skipped.empty() && !lists_taken(row)) {
        print_skip(path_, call.function, row);
        EXPECT_TRUE(may_skip(row.engine, row.slug))
            << row.engine << " skips it: [" << row.slug << "] " << row.skipped;
      }
      EXPECT_TRUE(row.ok) << row.engine << " " << path_ << ": " << line_ << ": " << row.trouble();
      EXPECT_EQ(row.interpreted_calls, 0u) << row.engine << " " << path_ << ": " << line_;
      EXPECT_EQ(row.weaker, "") << row.engine << " does not lower " << path_ << ": " << line_;
    }
  }

 private:
  std::string path_, line_;
};

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
  using relay::tests::ExecTest;
  relay::tests::keep_what_is_compiled();
  relay::tests::Shard shard;
  testing::InitGoogleTest(&argc, argv);
  for (const std::string& path : relay::tools::test_files_beneath("tests/exec")) {
    const relay::tools::TestFile file = relay::tools::read_test_file(path);
    const std::vector<std::string> lines = relay::tools::call_lines(file);
    if (!shard.takes(lines)) continue;
    // A file without calls would pass by testing nothing.
    if (lines.empty()) throw relay::tools::Malformed(path + ": there is no call");
    int number = 0;
    for (const std::string& line : lines) {
      const std::string suite = std::filesystem::path(path).stem().string();
      const std::string name = std::to_string(++number) + " " + line;
      testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [path, line]() -> testing::Test* { return new ExecTest(path, line); });
    }
  }
  return RUN_ALL_TESTS();
}
