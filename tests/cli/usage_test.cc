// Wrong command lines: the message names what is wrong and what there is instead, and nothing runs.
#include <filesystem>

#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

// Commands that read a model, with arguments that are right but for the options that a test adds.
const std::vector<std::string> kModelCommands = {"check", "run", "verify", "compile", "opt", "bench"};

class Usage : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_sum("m.relay");
  }
};

TEST_F(Usage, ACommandIsNeeded) {
  refused({}, kUsage, {"a command is needed", "verify", "relay --help"});
  refused({"--json"}, kUsage, {"a command is needed"});
}

TEST_F(Usage, AnUnknownCommandIsNamedWithThoseThereAre) {
  refused({"nonsense"}, kUsage, {"no command `nonsense`", "check, fmt", "relay --help"});
  refused({"--quiet", "nonsense", "m.relay"}, kUsage, {"no command `nonsense`"});
}

TEST_F(Usage, AnUnknownOptionIsNamedWithWhereToLook) {
  for (const std::string& command : kModelCommands)
    refused({command, "m.relay", "--nonsense"}, kUsage, {"--nonsense", "relay " + command + " --help"});
  for (const std::string command : {"fmt", "import"})
    refused({command, "m.relay", "--nonsense"}, kUsage, {"--nonsense", "relay " + command + " --help"});
  for (const std::string command : {"ops", "doctor", "demo", "explain"})
    refused({command, "--nonsense"}, kUsage, {"--nonsense", "relay " + command + " --help"});
}

TEST_F(Usage, AModelIsNeeded) {
  for (const std::string& command : kModelCommands) refused({command}, kUsage, {"model", command});
  refused({"import"}, kUsage, {"model", "relay import --help"});
  refused({"fmt"}, kUsage, {"file", "relay fmt --help"});
}

TEST_F(Usage, AnOptionWithoutItsValueIsNamed) {
  refused({"run", "m.relay", "--engine"}, kUsage, {"--engine", "relay run --help"});
  refused({"compile", "m.relay", "-o"}, kUsage, {"--output", "relay compile --help"});
}

TEST_F(Usage, EveryCommandWithEnginesListsThemForAnUnknownOne) {
  const Words words{"no engine `nonsense`", "interp, jit, graph, aot-cpp, aot-cuda, vta"};
  refused({"run", "m.relay", "--engine", "nonsense"}, kUsage, words);
  refused({"bench", "m.relay", "--engine", "nonsense"}, kUsage, words);
  refused({"verify", "m.relay", "--engines", "interp,nonsense"}, kUsage, words);
}

TEST_F(Usage, EveryCommandWithTargetsListsThemForAnUnknownOne) {
  for (const std::string command : {"run", "bench", "verify", "compile", "opt"})
    refused({command, "m.relay", "--target", "cpu:nonsense"}, kUsage,
            {"no target `cpu:nonsense`", "native, sse2", "--target"});
}

TEST_F(Usage, OfSeveralTargetsEachMustExistAndBeAbleToRun) {
  refused({"compile", "m.relay", "--target", "cpu:avx2,cpu:nonsense"}, kUsage, {"no target `cpu:nonsense`"});
  refused({"compile", "m.relay", "--target", "cpu:sse2,cpu:avx2"}, kUsage,
          {"cpu:avx2 would never run", "cpu:sse2", "the best first"});
}

TEST_F(Usage, ABoundIsOfAShapeVariableThatThereIs) {
  write("n.relay", "def @main(%x: Tensor[(n), float32], %y: Tensor[(k, 2), float32]) { (negative(%x), %y) }");
  const auto with = [](const std::string& bound) {
    return std::vector<std::string>{"compile", "n.relay", "--bounds", bound};
  };
  refused(with("m:4"), kUsage, {"no input has the shape variable `m`", "k, n"});
  refused({"compile", "n.relay", "--bounds", "n:4,n:5"}, kUsage,
          {"--bounds: `n` is given twice, as 4 and 5"});
  refused({"compile", "m.relay", "--bounds", "n:4"}, kUsage, {"no input has the shape variable `n`", "none"});
  for (const std::string wrong : {"n", "n:", "n:0", "n:-1", "n:4x", "n:99999999999999999999", ":4"})
    refused(with(wrong), kUsage, {"--bounds", "`" + wrong + "`"});
}

TEST_F(Usage, WhatMeansNothingForAGraphIsRefused) {
  refused({"compile", "m.relay", "--emit", "graph", "--bounds", "n:4"}, kUsage,
          {"--bounds", "--input-shapes"});
  refused({"compile", "m.relay", "--emit", "graph", "--threads", "2"}, kUsage, {"--threads", "relay run"});
}

TEST_F(Usage, ThreadsOfAModelAreThoseOfItsCompilation) {
  const auto says = [&](const std::string& threads, const std::string& text) {
    const std::string source = works({"compile", "m.relay", "--emit", "cpp", "--threads", threads});
    EXPECT_NE(source.find(text), std::string::npos) << threads;
  };
  says("0", "kDefaultThreads = 0;");
  says("3", "kDefaultThreads = 3;");
  refused({"compile", "m.relay", "--threads", "-1"}, kUsage, {"--threads"});
}

TEST_F(Usage, ThePlanOfShapeVariablesHasAFormula) {
  write("n.relay", "def @main(%x: Tensor[(n, 8), float32]) { nn.softmax(multiply(nn.softmax(%x), 2f)) }");
  // Where rows are shorter than a vector, what is between the stages takes memory.
  const std::string plan = works({"opt", "n.relay", "-O2", "--emit", "plan", "--target", "cpu:avx512"});
  EXPECT_NE(plan.find("\nworkspace: "), std::string::npos) << plan;
  EXPECT_NE(plan.find("*n"), std::string::npos) << plan;
}

TEST_F(Usage, AnAcceleratorIsATargetOfItsEngineAlone) {
  const std::string why = "has an accelerator";
  for (const char* engine : {"jit", "graph", "aot-cpp", "aot-cuda"})
    refused({"run", "m.relay", "--engine", engine, "--target", "vta"}, kUnsupported, {why});
  refused({"bench", "m.relay", "--engine", "graph", "--target", "vta"}, kUnsupported, {why});
  refused({"compile", "m.relay", "--target", "avx2,vta{block=8}"}, kUsage, {"code for no other target"});
  refused({"compile", "m.relay", "--target", "vta", "--emit", "exe"}, kUsage, {"--emit exe", "a driver"});
  refused({"compile", "m.relay", "--target", "vta", "--emit", "python"}, kUsage,
          {"--emit python", "a driver"});
  refused({"compile", "m.relay", "--target", "vta{host=avx2}", "--emit", "graph"}, kUsage,
          {"--target cpu:avx2"});
  refused({"opt", "m.relay", "-O2", "--target", "vta{host=avx2}"}, kUnsupported, {why, "cpu:avx2"});
  refused({"run", "m.relay", "--target", "vta{block=3}"}, kUsage, {"a power of two from 4 to 64"});
  refused({"run", "m.relay", "--engine", "vta"}, kUnsupported, {"nothing of it is for a VTA"});
  refused({"run", "m.relay", "--engine", "vta", "--target", "cuda"}, kUnsupported, {"is a GPU"});
  refused({"run", "m.relay", "--engine", "jit", "--profile"}, kUsage, {"--profile", "engine vta", "bench"});
  refused({"run", "m.relay", "--plot", "x.svg"}, kUsage, {"--plot", "engine vta"});
  refused({"run", "m.relay", "--engine", "vta", "--plot", "x.png"}, kUsage, {"--plot x.png", "x.svg"});
  refused({"compile", "m.relay", "--emit", "vta"}, kUnsupported, {"nothing of it is for a VTA"});
  refused({"compile", "m.relay", "--emit", "vta-stream"}, kUsage, {"name the folder with -o"});
  refused({"compile", "m.relay", "--emit", "vta", "--threads", "2"}, kUsage,
          {"--threads", "virtual threads"});
  refused({"compile", "m.relay", "--emit", "vta", "--target", "avx2,sse2"}, kUsage, {"one target"});
  refused({"compile", "m.relay", "--emit", "vta", "--weights-file"}, kUsage, {"--weights-file", "no place"});
}

TEST_F(Usage, AGpuIsATargetByItself) {
  refused({"compile", "m.relay", "--target", "cuda:sm_1"}, kUsage, {"no target `cuda:sm_1`", "cuda:sm_90"});
  refused({"compile", "m.relay", "--target", "cuda:sm_90,cpu:avx2"}, kUsage, {"--target", "no other target"});
  refused({"compile", "m.relay", "--target", "cuda", "--threads", "2"}, kUsage, {"--threads"});
  refused({"compile", "m.relay", "--target", "cuda", "--bounds", "n:4"}, kUsage,
          {"--bounds", "no input has the shape variable `n`"});
  refused({"compile", "m.relay", "--target", "cuda", "--emit", "cpp"}, kUsage, {"--emit cuda"});
  write("loop.relay", R"(
def @main(%x: Tensor[(n), float32], %i: int32) -> Tensor[(n), float32] {
  if (%i == 0) { %x } else { @main(%x + %x, %i - 1) }
})");
  const std::string source =
      works({"compile", "loop.relay", "--target", "cuda", "--emit", "cuda", "--bounds", "n:2048"});
  EXPECT_NE(source.find("if (!truth(run, "), std::string::npos) << source;
  EXPECT_NE(source.find("kVariableBounds[] = {2048"), std::string::npos) << source;
  EXPECT_NE(works({"compile", "loop.relay", "--target", "cuda", "--emit", "cuda", "--weights-file"})
                .find(".safetensors"),
            std::string::npos);
  refused({"compile", "m.relay", "--emit", "cuda"}, kUsage, {"--target cuda:sm_90"});
  refused({"run", "m.relay", "--engine", "graph", "--target", "cuda"}, kUnsupported,
          {"`cuda:sm_90` is a GPU"});
  refused({"opt", "m.relay", "-O2", "--target", "cuda", "--emit", "llvm"}, kUnsupported, {"--emit cuda"});
}

TEST_F(Usage, AnUnknownPassIsNamedWithThoseThereAre) {
  for (const std::string command : {"opt", "compile"}) {
    refused({command, "m.relay", "--passes", "fuse,nonsense"}, kUsage,
            {"[bad-pipeline]", "no pass `nonsense`", "fold-constants"});
  }
  refused({"opt", "m.relay", "--passes", "fuse{nonsense=1}"}, kUsage,
          {"[bad-pipeline]", "`nonsense`", "max-ops"});
  refused({"opt", "m.relay", "--passes", "fold-constants fuse"}, kUsage,
          {"[bad-pipeline]", "commas stand between passes: `fold-constants,fuse`"});
  refused({"opt", "m.relay", "--passes", "fuse{max-ops=many}"}, kUsage,
          {"[bad-pipeline]", "max-ops", "many"});
  refused({"opt", "m.relay", "--passes", "fuse{max-ops=1"}, kUsage, {"[bad-pipeline]", "closing brace"});
  refused({"opt", "m.relay", "--passes", "fuse", "--print-after", "nonsense"}, kUsage,
          {"no pass `nonsense`", "changed", "fold-constants"});
}

TEST_F(Usage, AMemoryLimitIsOfPlans) {
  refused({"run", "m.relay", "--engine", "jit", "--memory-limit", "1MB"}, kUsage,
          {"--memory-limit is of the engine graph"});
  refused({"compile", "m.relay", "--memory-limit", "small"}, kUsage, {"--memory-limit"});
  refused({"compile", "m.relay", "--emit", "graph", "-o", "g", "--memory-limit", "1MB"}, kUsage,
          {"relay run --memory-limit"});
}

TEST_F(Usage, OptionsOfCompilersHaveNoEffectOnTheDefaultEngine) {
  const Ended ended = relay({"run", "m.relay", "-O3", "--threads", "2"});
  EXPECT_EQ(ended.exit_code, kOk) << ended.err;
  EXPECT_NE(ended.err.find("no effect on the engine `interp`"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("-O, --threads; use --engine jit"), std::string::npos) << ended.err;
  for (const std::string engine : {"interp", "jit"}) {
    EXPECT_EQ(relay({"run", "m.relay", "--fill", "ones", "--engine", engine, "-O3", "--threads", "2"}).err,
              "")
        << engine;
  }
  EXPECT_EQ(relay({"run", "m.relay", "--fill", "ones"}).err, "");
  EXPECT_EQ(relay({"run", "m.relay", "-O3", "-q"}).err, "");
}

TEST_F(Usage, WhatLooksAtPassesNeedsSome) {
  const std::vector<std::vector<std::string>> options = {{"--verify", "semantics"},
                                                         {"--verify", "types"},
                                                         {"--print-after", "all"},
                                                         {"--reproducer", "r.relay"},
                                                         {"--time"},
                                                         {"--verbose"}};
  for (const std::vector<std::string>& option : options) {
    std::vector<std::string> arguments{"opt", "m.relay"};
    arguments.insert(arguments.end(), option.begin(), option.end());
    refused(arguments, kUsage, {option[0], "none runs", "-O2"});
    arguments.emplace_back("-O1");
    works(arguments);
  }
  works({"opt", "m.relay", "--verify", "none"});
  EXPECT_FALSE(exists("r.relay"));
}

TEST_F(Usage, AFolderWithAModelStandsForIt) {
  for (const char* folder : {"text", "onnx"}) std::filesystem::create_directory(path(folder));
  write_sum("text/model.relay");
  std::filesystem::copy_file(mnist(), path("onnx/model.onnx"));
  for (const std::string command : {"check", "run", "opt"}) {
    for (const std::string folder : {"text", "onnx/"}) works({command, folder});
  }
  EXPECT_EQ(works({"import", "onnx"}), works({"import", mnist()}));
  refused({"import", "text"}, kUsage, {"text/model.relay", "a text already"});
  std::filesystem::create_directory(path("empty"));
  for (const std::string command : {"opt", "import"}) refused({command, "empty"}, kUsage, {"empty"});
}

TEST_F(Usage, KernelsAreThereOnceTheyAreMade) {
  for (const std::string form : {"kernel", "llvm", "plan"}) {
    refused({"opt", "m.relay", "--emit", form}, kUsage, {"--emit " + form, "the pass `lower`", "-O2"});
    refused({"opt", "m.relay", "--passes", "fuse", "--emit", form}, kUsage, {"fuse,lower"});
    EXPECT_NE(works({"opt", "m.relay", "--passes", "fuse,lower", "--emit", form}), "") << form;
  }
  works({"opt", "m.relay", "-O2", "-o", "lowered.relay"});
  EXPECT_NE(works({"opt", "lowered.relay", "--emit", "kernel"}).find("kernel k0_add"), std::string::npos);
}

TEST_F(Usage, AnUnknownOperatorIsNamedWithWhatLooksLikeIt) {
  refused({"ops", "nn.conv"}, kUsage, {"no operator `nn.conv`", "nn.conv2d"});
  refused({"ops", "0"}, kUsage, {"no operator `0`", "`relay ops`"});
  // Names of the established system: why there is no such operator, or what a call means.
  refused({"ops", "torch_op"}, kUsage, {"no operator `torch_op` on purpose", "PyTorch"});
  EXPECT_NE(works({"ops", "grad"}).find("C1: f is a function"), std::string::npos);  // in no list
  EXPECT_NE(works({"ops", "debug"}).find("debug(program) = program"), std::string::npos);
  EXPECT_NE(works({"ops", "debug", "--json"}).find("\"read_as\""), std::string::npos);
}

TEST_F(Usage, AnOperatorOfOnnxIsFoundByItsName) {
  const auto is_one_row = [](const std::string& text, const std::string& name) {
    EXPECT_EQ(text.rfind(name + " ", 0), 0u) << text;
    EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
  };
  is_one_row(works({"ops", "--onnx", "LRN"}), "LRN");
  is_one_row(works({"ops", "--onnx", "QLinearAdd"}), "com.microsoft.QLinearAdd");
  is_one_row(works({"ops", "--onnx", "com.microsoft.QLinearAdd"}), "com.microsoft.QLinearAdd");
  refused({"ops", "--onnx", "Covn"}, kUsage, {"no ONNX operator `Covn`", "did you mean `Conv`?"});
  refused({"ops", "--onnx", "nn.conv2d"}, kUsage, {"no ONNX operator `nn.conv2d`", "relay ops --onnx"});
  refused({"ops", "Softmax"}, kUsage, {"nn.softmax", "`relay ops --onnx Softmax`"});
  EXPECT_EQ(relay({"ops", "nn.sofmax"}).err.find("--onnx"), std::string::npos);
}

TEST_F(Usage, NumbersOutsideTheirRangeAreNamedWithTheRange) {
  struct {
    std::vector<std::string> arguments;
    Words words;
  } const cases[] = {
      {{"run", "m.relay", "-O", "7"}, {"opt-level", "7", "0 to 3"}},
      {{"run", "m.relay", "-O", "fast"}, {"opt-level", "fast"}},
      {{"compile", "m.relay", "-O", "-1"}, {"opt-level", "-1", "0 to 3"}},
      {{"run", "m.relay", "--threads", "0"}, {"--threads", "0", "1 to 1024"}},
      {{"verify", "m.relay", "--threads", "1000000"}, {"--threads", "1000000", "1 to 1024"}},
      {{"verify", "m.relay", "--levels", "2,4"}, {"--levels", "4", "0 to 3"}},
      {{"run", "m.relay", "--print", "-1"}, {"--print", "-1"}},
      {{"run", "m.relay", "--fuel", "much"}, {"--fuel", "much"}},
      {{"bench", "m.relay", "--repeat", "0"}, {"--repeat", "0", "1 to"}},
      {{"bench", "m.relay", "--percentiles", "50,101"}, {"--percentiles", "101", "0 to 100"}},
      {{"demo", "--images", "0"}, {"--images", "0", "1 to 100"}},
  };
  for (const auto& c : cases) refused(c.arguments, kUsage, c.words);
}

TEST_F(Usage, WordsOtherThanThoseOfAnOptionAreNamedWithThem) {
  refused({"compile", "m.relay", "--emit", "nonsense"}, kUsage,
          {"--emit", "nonsense", "so, python, package, exe, header, cpp, cuda, graph"});
  refused({"opt", "m.relay", "--emit", "nonsense"}, kUsage,
          {"--emit", "nonsense", "relay, kernel, llvm, plan"});
  refused({"opt", "m.relay", "--verify", "nonsense"}, kUsage, {"--verify", "nonsense", "semantics"});
  for (const std::string command : {"run", "verify", "bench"}) {
    refused({command, "m.relay", "--fill", "nonsense"}, kUsage, {"--fill nonsense", "random, zeros"});
    refused({command, "m.relay", "--fill", "seed:x"}, kUsage, {"--fill seed:x", "number"});
  }
}

TEST_F(Usage, AShapeThatIsNoneIsQuotedWithAnExample) {
  for (const std::string shape : {"x", ":[1]", "x:[1", "x:1]", "x:[1,,2]", "x:[-2]", "x:1.5", "x:[0x10]",
                                  "x:[99999999999999999999]", "x:[1,a b]", "x:[3"}) {
    for (const std::string& command : kModelCommands) {
      refused({command, "m.relay", "--input-shapes", shape}, kUsage,
              {"--input-shapes " + shape, "NAME:[1,3,224,224]"});
    }
  }
  refused({"run", "m.relay", "--input-shapes", "x:[3]", "--input-shapes", "x:[3]"}, kUsage,
          {"--input-shapes x:[3]", "once"});
}

TEST_F(Usage, FilesOfOtherKindsAreRefusedByName) {
  write("m.so", "");
  write("m.txt", "");
  for (const std::string& command : kModelCommands) {
    for (const std::string file : {"m.txt", "m"})
      refused({command, file}, kUsage, {file, ".onnx, .relay or .json file"});
    // Some commands take artifacts, so they look into the file.
    const bool takes_artifacts = command == "run" || command == "bench" || command == "check";
    refused({command, "m.so"}, takes_artifacts ? kBadModel : kUsage,
            {"m.so", takes_artifacts ? "is no shared library" : "is compiled already"});
    // A folder of models is something to verify.
    if (command != "verify") refused({command, "."}, kUsage, {"`.`", "has no graph"});
  }
  refused({"check", "m.txt"}, kUsage, {"[model-form-unknown]"});
  refused({"import", "m.relay"}, kUsage, {"m.relay", "only .onnx models and graphs"});
  write("m.onnx", "");
  refused({"fmt", "m.onnx"}, kUsage, {"m.onnx", "only .relay"});
}

TEST_F(Usage, AResultFileOfAnUnknownKindIsRefusedBeforeAnythingRuns) {
  refused({"run", "m.relay", "-o", "result.txt"}, kUsage, {"result.txt", "x.npz", "folder"});
  works({"run", "m.relay", "-o", "v1.2/"});
  EXPECT_TRUE(exists("v1.2/output.npy"));
}

// Lists take one word an occurrence, or the model that comes after them would be their second.
TEST_F(Usage, AnOptionLeavesTheModelBehindItAlone) {
  works({"run", "--input-shapes", "x:[3]", "--input-shapes", "y:3", "m.relay"});
  works({"verify", "--engines", "interp", "m.relay"});
  works({"verify", "--engines", "interp", "--levels", "0,1", "m.relay"});
  works({"opt", "-O2", "--print-after", "fuse", "m.relay"});
  works({"opt", "-v", "--passes", "partial-evaluation", "m.relay"});
  works({"bench", "--engine", "interp", "--repeat", "1", "--percentiles", "50", "m.relay"});
}

TEST_F(Usage, TheDemoSaysWhereItsModelShouldBe) {
  refused({"demo"}, kUsage, {"/nowhere/examples", "RELAY_ROOT"},
          {.environment = {{"RELAY_ROOT", "/nowhere"}}});
}

}  // namespace
}  // namespace relay::tests
