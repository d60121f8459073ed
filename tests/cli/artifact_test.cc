// Compiled artifacts in the place of models: `relay run`, `bench` and `check` on X.so.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

using Json = nlohmann::json;

class Artifacts : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write("m.relay",
          "def @main(%x: Tensor[(n, 2), float32], %b: Tensor[(2), float32]) {\n"
          "  (add(%x, %b), log(multiply(%b, -1f)))\n"
          "}\n");
  }
  void compile(const std::string& model, const std::string& library, Words more = {}) const {
    Words words{"compile", model, "-o", library};
    words.insert(words.end(), more.begin(), more.end());
    works(words);
  }
  // A library that anybody could have written.
  void compile_c(const std::string& text, const std::string& library) const {
    write("own.c", text);
    const Ended made =
        run({.command = {"/usr/bin/gcc", "-shared", "-fPIC", "own.c", "-o", library}, .folder = path("")});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  // An artifact of another program, with this ABI version. Opening it comes to `status`.
  void write_artifact(const std::string& library, int abi, int status, const std::string& description) const {
    const std::string version = std::to_string(abi), came = std::to_string(status);
    compile_c(
        "#include <string.h>\n"
        "struct options { unsigned size, threads; const void *p[5]; char* error; size_t room; };\n"
        "static int open_(struct options* o, void** m) {\n"
        "  *m = o; if (" +
            came +
            ") strncpy(o->error, \"this processor has no quux\", o->room);\n"
            "  return " +
            came +
            ";\n}\n"
            "static const char* describe(void* m) { return \"" +
            description +
            "\"; }\n"
            "static int close_(void* m) { return 0; }\n"
            "static int create(void* m, void** c) { *c = m; return 0; }\n"
            "static void free_(void* c) {}\n"
            "static const struct { unsigned size, abi; const void* f[15]; } api = {sizeof api, " +
            version +
            ", {open_, describe, close_, create, free_}};\n"
            "const void* relay_get_api(void) { return &api; }\n",
        library);
  }
};

TEST_F(Artifacts, RunGivesWhatTheModelGives) {
  compile(mnist(), "mnist.so");
  const Words inputs{"-i", mnist_inputs(), "--json"};
  const auto outputs = [&](Words words) {
    words.insert(words.end(), inputs.begin(), inputs.end());
    return works(words);
  };
  const std::string of_model = outputs({"run", mnist(), "--engine", "aot-cpp"});
  EXPECT_EQ(outputs({"run", "mnist.so"}), of_model);
  EXPECT_EQ(outputs({"run", "mnist.so", "--threads", "2"}), of_model) << "the same bits";
  EXPECT_EQ(Json::parse(of_model).at(0).at("name"), "Plus214_Output_0");
  // Its weights beside it, from another folder.
  std::filesystem::create_directory(path("there"));
  compile(mnist(), "there/beside.so", {"--weights-file"});
  EXPECT_EQ(outputs({"run", "there/beside.so"}), of_model);
  // A file that holds the results as the model's own run leaves them.
  works({"run", "mnist.so", "-i", mnist_inputs(), "-o", "out.npz"});
  works({"verify", mnist(), "-i", mnist_inputs(), "--expected", "out.npz", "--engines", "interp"});
}

TEST_F(Artifacts, FillAndShapesMeanWhatTheyMeanForTheModel) {
  compile("m.relay", "m.so");
  const Words shapes{"--input-shapes", "x:[3,2]", "--json", "--fill", "seed:7", "-q"};
  Words of_model{"run", "m.relay", "--engine", "graph"}, of_artifact{"run", "m.so"};
  of_model.insert(of_model.end(), shapes.begin(), shapes.end());
  of_artifact.insert(of_artifact.end(), shapes.begin(), shapes.end());
  EXPECT_EQ(works(of_artifact), works(of_model));
  refused({"run", "m.so"}, kUsage,
          {"input `x`", "--input-shapes", "remedy", "relay run m.so --input-shapes 'x:[1,2]'"});
  refused({"run", "m.so", "--input-shapes", "y:[3,2]"}, kUsage, {"`y`, which is no input", "x, b"});
  refused({"run", "m.so", "--input-shapes", "x:[3,3]"}, kUsage, {"input `x`", "its extent 1 is always 2"});
  refused({"run", "m.so", "-i", mnist_inputs()}, kUsage, {"Input3"});
  refused({"run", "m.so", "--fill", "nonsense"}, kUsage, {"--fill nonsense", "seed:N"});
}

TEST_F(Artifacts, NanIsCountedAndTheRemedyNamed) {
  compile("m.relay", "m.so");
  const Ended ended = relay({"run", "m.so", "--input-shapes", "x:[1,2]", "--fill", "ones"});
  EXPECT_EQ(ended.exit_code, kOk) << ended.err;
  for (const std::string word : {"output `output_1` has 2 NaN among 2 elements", "`relay run MODEL`"})
    EXPECT_NE(ended.err.find(word), std::string::npos) << ended.err;
}

TEST_F(Artifacts, ControlFlowTrapsAndBoundsAreSaid) {
  write("f.relay",
        "def @go(%k: int32, %x: Tensor[(n), int32]) -> Tensor[(n), int32] {\n"
        "  if (equal(%k, 0)) { %x } else { @go(subtract(%k, 1), divide(%x, %x)) }\n"
        "}\n"
        "def @main(%k: int32, %x: (Tensor[(n), int32], int32)) { @go(%k, add(%x.0, %x.1)) }\n");
  compile("f.relay", "f.so");
  const Words shapes{"--input-shapes", "x_0:[3]", "--fill"};
  const auto filled = [&](const std::string& how) {
    return Words{"run", "f.so", shapes[0], shapes[1], "--fill", how};
  };
  EXPECT_NE(works(filled("ones")).find("[1, 1, 1]"), std::string::npos);
  refused({"run", "f.so", "--input-shapes", "x_0:[2]", "-i", "nowhere.npz"}, kUsage, {"nowhere.npz"});
  write("bounded.relay", "def @main(%x: Tensor[(n), int32]) { divide(1, %x) }\n");
  compile("bounded.relay", "bounded.so", {"--bounds", "n:4"});
  refused({"run", "bounded.so", "--input-shapes", "x:[5]", "--fill", "ones"}, kMismatch,
          {"`n` is 5", "at most 4"});
  refused({"run", "bounded.so", "--input-shapes", "x:[4]", "--fill", "zeros"}, kMismatch,
          {"the program failed", "zero"});
}

TEST_F(Artifacts, OptionsOfCompilingAreRefusedByName) {
  compile("m.relay", "m.so");
  const std::vector<Words> for_both{{"--engine", "jit"},    {"--target", "native"}, {"-O", "1"},
                                    {"--function", "main"}, {"--library", "x.so"},  {"--fix-input", "b=1"}};
  const std::vector<Words> for_run{
      {"--to", "k0"}, {"--dump", "x.npz"}, {"--nan-trap"}, {"--fuel", "9"}, {"--max-memory", "1GB"}};
  const std::vector<Words> for_bench{
      {"--profile"}, {"--trace", "x.json"}, {"--opt-levels"}, {"--top", "3"}, {"--compare", "onnxruntime"}};
  const auto refuses = [&](const std::string& command, const std::vector<Words>& options) {
    for (const Words& option : options) {
      Words words{command, "m.so"};
      words.insert(words.end(), option.begin(), option.end());
      refused(words, kUsage, {option[0] + " means nothing for m.so", "model"});
    }
  };
  refuses("run", for_both);
  refuses("run", for_run);
  refuses("bench", for_both);
  refuses("bench", for_bench);
  refuses("check", {{"--function", "main"}, {"--fix-input", "b=1"}});
}

TEST_F(Artifacts, BenchTimesIt) {
  compile(mnist(), "mnist.so", {"--threads", "2"});
  const Json j = Json::parse(works({"bench", "mnist.so", "--repeat", "3", "--warmup", "1", "--json"}));
  EXPECT_EQ(j.at("artifact"), "mnist.so");
  EXPECT_EQ(j.at("threads"), 2) << "as it was compiled";
  EXPECT_EQ(j.at("runs"), 3);
  EXPECT_GT(j.at("p50"), 0);
  const std::string text = works({"bench", "mnist.so", "--repeat", "2", "--threads", "1"});
  EXPECT_NE(text.find("mnist.so, 1 thread: made ready in"), std::string::npos) << text;
  EXPECT_NE(text.find("; 2 runs after 3 to warm up"), std::string::npos) << text;
  const std::string once = works({"bench", "mnist.so", "--repeat", "1"});
  EXPECT_NE(once.find("mnist.so, 2 threads: made ready in"), std::string::npos) << once;
  EXPECT_NE(once.find("; 1 run after 3 to warm up"), std::string::npos) << once;
}

TEST_F(Artifacts, CheckListsWhatItTakesAndNeeds) {
  compile("m.relay", "m.so", {"--target", "cpu:sse2", "-O", "1"});
  const std::string text = works({"check", "m.so"});
  for (const std::string line :
       {"input     x: Tensor[(n, 2), float32]\n", "output    output_0: Tensor[(n, 2), float32]\n",
        "target    cpu:sse2", "compiled  -O1, --threads 1\n", "workspace 0 bytes\n", "embedded\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_EQ(Json::parse(works({"check", "m.so", "--json"})).at("abi_version"), 2);
  refused({"check", "m.so", "--input-shapes", "x:1x2"}, kUsage, {"--input-shapes", "relay run m.so"});
}

TEST_F(Artifacts, ValuesOfDataTypesAreListedAndNotRun) {
  write("l.relay",
        "type List[A] { Cons(A, List[A]), Nil }\n"
        "def @main(%x: Tensor[(3), float32], %l: List[Tensor[(3), float32]]) { Cons(%x, %l) }\n");
  compile("l.relay", "l.so");
  EXPECT_NE(works({"check", "l.so"}).find("parameter l: List[Tensor[(3), float32]]\n"), std::string::npos);
  for (const std::string command : {"run", "bench"})
    refused({command, "l.so"}, kUnsupported, {"l.so", "List[Tensor[(3), float32]]", "relay_call"});
}

TEST_F(Artifacts, WhatIsNoArtifactIsRefusedBeforeItIsLoaded) {
  write("text.so", "def @main() { 1 }\n");
  write("empty.so", "");
  compile("m.relay", "m.so");
  write("cut.so", read("m.so").substr(0, 9000));
  write("head.so", read("m.so").substr(0, 20));
  std::string foreign = read("m.so");
  foreign[18] = static_cast<char>(183);  // e_machine: EM_AARCH64
  foreign[19] = 0;
  write("arm.so", foreign);
  // It would end the process if it were loaded.
  compile_c("#include <stdlib.h>\n__attribute__((constructor)) static void at_once(void) { abort(); }\n",
            "own.so");
  compile("m.relay", "m.a");
  std::filesystem::create_directory(path("folder.so"));
  for (const std::string command : {"run", "bench", "check"}) {
    refused({command, "text.so"}, kBadModel, {"text.so", "no shared library"});
    refused({command, "empty.so"}, kBadModel, {"empty.so", "no shared library"});
    refused({command, "cut.so"}, kBadModel, {"cut.so is cut short"});
    refused({command, "head.so"}, kBadModel, {"head.so is cut short"});
    refused({command, "arm.so"}, kBadModel, {"arm.so is for another machine (aarch64)"});
    refused({command, "own.so"}, kBadModel, {"own.so is no artifact", "relay_get_api", "relay compile"});
    refused({command, "m.a"}, kUsage, {"m.a is a static library", "relay compile MODEL -o m.so"});
    refused({command, "nowhere.so"}, kUsage, {"nowhere.so", "No such file"});
    refused({command, "folder.so"}, kUsage, {"folder.so", "a folder"});
  }
  for (const std::string command : {"verify", "compile", "opt", "debug", "import"})
    refused({command, "m.so"}, kUsage, {"m.so"});
  // By another name it is looked into.
  std::filesystem::copy(path("m.so"), path("m"));
  refused({"run", "m"}, kUsage,
          {"m: a model is a .onnx", "a program or a library", "an artifact is called X.so"});
}

TEST_F(Artifacts, ANameMayHaveAVersion) {
  write("m.relay", "def @main(%x: Tensor[(2), float32]) { %x + 1f }\n");
  compile("m.relay", "libm_model.so.1.2");
  for (const std::string command : {"run", "check", "bench"}) works({command, "libm_model.so.1.2"});
}

TEST_F(Artifacts, WhatCannotBeOpenedNamesTheFileAndTheRemedy) {
  compile(mnist(), "mnist.so", {"--weights-file"});
  std::filesystem::rename(path("mnist.safetensors"), path("away.safetensors"));
  write_artifact("old.so", 1, 0, "{}");
  write_artifact("quux.so", 2, 4, "{}");
  write_artifact("odd.so", 2, 0, "{}");
  write_artifact("odder.so", 2, 0, "no JSON");
  for (const std::string command : {"run", "check"}) {
    refused({command, "mnist.so"}, kBadModel, {"mnist.so", "mnist.safetensors", "No such file"});
    refused({command, "old.so"}, kBadModel, {"old.so", "ABI version 1", "compile the model again"});
    refused({command, "quux.so"}, kUnsupported, {"quux.so", "this processor has no quux"});
    refused({command, "odd.so"}, kBadModel, {"odd.so", "description", "compile the model again"});
    refused({command, "odder.so"}, kBadModel, {"odder.so", "description", "compile the model again"});
  }
  refused({"run", "mnist.so", "-o", "mnist.so"}, kUsage, {"mnist.so"});
}

}  // namespace
}  // namespace relay::tests
