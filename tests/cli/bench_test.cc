// `relay bench` and what it stands on: profiles, traces, levels, roofs.
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/cli.h"
#include "tools/opt_levels.h"

namespace relay::tests {
namespace {

class Bench : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    // A product of 2 * 24 * 32 * 40 operations; its softmax; the input as it is.
    write("m.relay",
          "def @main(%x: Tensor[(24, 32), float32], %w: Tensor[(32, 40), float32]) {\n"
          "  (nn.softmax(nn.matmul(%x, %w)), %x)\n"
          "}\n");
  }
  std::vector<std::string> bench(const std::vector<std::string>& more) const {
    std::vector<std::string> out{"bench", "m.relay", "--repeat", "3", "--warmup", "1"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  nlohmann::json json(const std::vector<std::string>& arguments) const {
    return nlohmann::json::parse(works(arguments));
  }
};

TEST_F(Bench, AProfileAddsUp) {
  const nlohmann::json j = json(bench({"--profile", "--json"}));
  EXPECT_EQ(j["engine"], "graph");
  EXPECT_EQ(j["runs"], 3);
  double seconds = 0, flops = 0, bytes = 0;
  bool copies = false;
  for (const auto& k : j["kernels"]) {
    seconds += k["seconds"].get<double>();
    flops += k["flops"].get<double>();
    bytes += k["bytes"].get<double>();
    copies |= k["kernel"] == "copy" && k["flops"] == 0 && k["bytes"] == 2 * 4 * 24 * 32;
    EXPECT_GE(k["calls"], 1);
  }
  EXPECT_TRUE(copies) << j;
  EXPECT_GE(flops, 2 * 24 * 32 * 40 + 4 * 24 * 40)
      << "the product, and of each element a maximum, exp, sum, division";
  EXPECT_LT(flops, 2 * 24 * 32 * 40 + 10 * 24 * 40);
  EXPECT_NEAR(j["total"]["seconds"], seconds, 1e-9);
  EXPECT_EQ(j["total"]["flops"], flops);
  EXPECT_EQ(j["total"]["bytes"], bytes);
  EXPECT_GT(j["run_seconds"], 0);
  EXPECT_NE(j["no_roof"].get<std::string>().find("relay doctor --measure"), std::string::npos);
}

TEST_F(Bench, AWeakerFormIsSaidAsRunSaysIt) {
  write(
      "weak.relay",
      "kernel @root(x: float32[2]) -> (y: float32[2]) {\n"
      "  for i in 2 {\n"
      "    block y {\n"
      "      spatial vi in 2 = i;\n"
      "      reads x[vi];\n"
      "      writes y[vi];\n"
      "      require(x[vi] < 99f, \"large\");\n"
      "      y[vi] = exp(x[vi]);\n"
      "    }\n"
      "  }\n"
      "}\n"
      "def @main(%x: Tensor[(2), float32]) {\n"
      "  fn (%p: Tensor[(2), float32], Primitive=True) -> Tensor[(2), float32] { negative(@root(%p)) }(%x)\n"
      "}\n");
  const std::string said = "relay: engine `jit` compiles operators one by one: cannot lower @root + negative";
  for (const char* command : {"run", "bench"}) {
    EXPECT_NE(relay({command, "weak.relay", "--engine", "jit"}).err.find(said), std::string::npos) << command;
    EXPECT_EQ(relay({command, "m.relay", "--engine", "jit"}).err.find("one by one"), std::string::npos)
        << command;
  }
}

TEST_F(Bench, AProfileFitsTheTerminal) {
  for (const char* columns : {"80", "120"}) {
    const Invocation how{.environment = {{"COLUMNS", columns}}};
    std::istringstream lines(works(bench({"--profile"}), how));
    size_t rows = 0;
    for (std::string line; std::getline(lines, line); ++rows)
      EXPECT_LE(line.size(), std::stoul(columns)) << line;
    EXPECT_GE(rows, 5u);
  }
  const std::string top = works(bench({"--profile", "--top", "1"}));
  EXPECT_NE(top.find("more kernels"), std::string::npos) << top;
}

TEST_F(Bench, ATraceHasEveryStepOfEveryRun) {
  works(bench({"--trace", "t.json"}));
  const nlohmann::json t = nlohmann::json::parse(read("t.json"));
  size_t runs = 0, kernels = 0;
  double last = 0;
  for (const auto& e : t["traceEvents"]) {
    EXPECT_EQ(e["ph"], "X");
    EXPECT_GE(e["dur"], 0);
    runs += e["cat"] == "run";
    if (e["cat"] != "kernel") continue;
    ++kernels;
    EXPECT_GE(e["ts"], last) << "steps follow each other";
    last = e["ts"].get<double>() + e["dur"].get<double>() - 1;
  }
  EXPECT_EQ(runs, 3u);
  EXPECT_GE(kernels, 6u);
  EXPECT_EQ(kernels % 3, 0u);
}

TEST_F(Bench, WhatCannotBeWatchedIsSaid) {
  refused(bench({"--profile", "--engine", "interp"}), kUnsupported, {"`interp`", "--engine graph"});
  refused(bench({"--profile", "--opt-levels"}), kUsage, {"exclude each other"});
  refused(bench({"--opt-levels", "--engine", "interp"}), kUsage, {"no levels of optimisation"});
  refused(bench({"--trace", "nowhere/t.json"}), kLimit, {"nowhere/t.json", "there is no folder nowhere"});
}

TEST_F(Bench, EveryLevelIsTimed) {
  const nlohmann::json j = json(bench({"--opt-levels", "--json"}));
  EXPECT_EQ(j["engine"], "aot-cpp");
  ASSERT_EQ(j["levels"].size(), 4u);
  bool slower = false;
  for (const auto& level : j["levels"]) {
    EXPECT_GT(level["min"], 0);
    EXPECT_GE(level["median"], level["min"]);
    slower |= level["ratio_to_last"].get<double>() > 1 + tools::kLevelNoise;
  }
  EXPECT_EQ(j["monotone"], !slower) << j;
  // A row for each level, in order, and one of the two verdicts as the whole last line.
  const std::string text = works(bench({"--opt-levels", "--engine", "graph"}));
  static const std::regex kTable(
      "level +min ms +median ms +to the last\n-O0 +[0-9.]+ +[0-9.]+ +-\n-O1( +[0-9.]+){3}\n"
      "-O2( +[0-9.]+){3}\n-O3( +[0-9.]+){3}\n[a-z ]+\n"
      "(monotone: no level is more than [0-9]+ % slower than the last|"
      "not monotone: -O[123] is [0-9]+ % slower than -O[012])\n");
  EXPECT_TRUE(std::regex_match(text, kTable)) << text;
}

TEST_F(Bench, EachPassIsLeftOut) {
  const nlohmann::json j = json(bench({"--passes-ablation", "--json"}));
  EXPECT_EQ(j["engine"], "graph");
  EXPECT_GT(j["all"]["median"], 0);
  EXPECT_GE(j["O0"]["kernels"], j["all"]["kernels"]);
  std::set<std::string> passes;
  for (const auto& row : j["without"]) {
    EXPECT_TRUE(passes.insert(row["pass"]).second) << "twice: " << row;
    if (!row.contains("refused")) {
      EXPECT_GT(row["median"], 0) << row;
    }
  }
  EXPECT_TRUE(passes.contains("fuse")) << j;
  EXPECT_FALSE(passes.contains("lower")) << j;
  const std::string text = works(bench({"--passes-ablation"}));
  for (const char* part :
       {"of the gain", "\nall ", "\n-O0 ", "\nwithout fuse ", "in turns with all passes, graph -O2"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  refused(bench({"--passes-ablation", "--opt-levels"}), kUsage, {"leave the others out"});
  refused(bench({"--passes-ablation", "--engine", "jit"}), kUsage, {"`graph`", "`jit`"});
  refused(bench({"--passes-ablation", "-O", "0"}), kUsage, {"give -O 1"});
}

TEST_F(Bench, CompilingTellsTheSharesOfItsStages) {
  const Ended ended = relay({"compile", "m.relay", "-o", "x.so", "--time"});
  ASSERT_EQ(ended.exit_code, kOk) << ended.err;
  std::istringstream lines(ended.err);
  double stages = 0, passes = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t percent = line.rfind(" %");
    if (percent == std::string::npos) continue;
    const double share = std::stod(line.substr(line.rfind("  ", percent)));
    (line.find("type check") == std::string::npos ? stages : passes) += share;
  }
  EXPECT_NEAR(stages, 100, 1) << ended.err;
  EXPECT_NEAR(passes, 200, 2) << "those of the passes, and their sum: " << ended.err;
}

TEST_F(Bench, CompilingSaysWhyThereIsNoPlan) {
  const std::string said = "the program is functions and no plan of static dataflow: ";
  EXPECT_EQ(relay({"compile", "m.relay", "-o", "x.so", "--time"}).err.find(said), std::string::npos);
  write("f.relay", "def @main(%c: bool) -> int32 { if (%c) { 1 } else { 2 } }");
  const Ended ended = relay({"compile", "f.relay", "-o", "f.so", "--time"});
  ASSERT_EQ(ended.exit_code, kOk) << ended.err;
  EXPECT_NE(ended.err.find(said + "`if`"), std::string::npos) << ended.err;
  EXPECT_EQ(relay({"compile", "f.relay", "-o", "f.so"}).err.find(said), std::string::npos);
}

// The machine's numbers are its own; that they fit each other is not.
TEST_F(Bench, TheRoofIsMeasuredOnceAndUsed) {
  const Invocation patient{.seconds = 240};
  const nlohmann::json roofs = nlohmann::json::parse(works({"doctor", "--measure", "--json"}, patient));
  ASSERT_FALSE(roofs["peaks"].empty());
  for (const auto& p : roofs["peaks"]) EXPECT_GT(p["one_core_gops"], 0) << p;
  ASSERT_GE(roofs["reads"].size(), 8u);
  EXPECT_GT(roofs["reads"].front()["one_core_gbs"], roofs["reads"].back()["one_core_gbs"])
      << "a cache is faster than memory";
  const nlohmann::json j = json(bench({"--profile", "--json"}));
  EXPECT_FALSE(j.contains("no_roof"));
  ASSERT_FALSE(j["kernels"].empty());
  for (const auto& k : j["kernels"]) {
    const std::string limit = k["limit"];
    EXPECT_TRUE(limit == "memory" || limit == "arithmetic") << k;
    EXPECT_GT(k["roof_seconds"], 0);
  }
  EXPECT_NE(works({"doctor"}).find("roofs.json"), std::string::npos);
  // Artifacts for `native` name the caches that they are made for, so that any
  // machine can make them.
  write_sum("m.relay");
  const auto target_of = [&](const std::string& target) {
    const std::string out = works({"compile", "m.relay", "--target", target, "--json", "-o", "m.so"});
    return nlohmann::json::parse(out)["target"].get<std::string>();
  };
  const std::string native = target_of("native");
  EXPECT_EQ(target_of(native), native);
  EXPECT_NE(works({"doctor"}).find(native), std::string::npos) << native;
}

}  // namespace
}  // namespace relay::tests
