// External kernels: C functions that programs declare, from shared libraries and
// linked into artifacts.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

using Json = nlohmann::json;

class External : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write("kernels.c", R"(#include <stdint.h>
// y = x * w, row by row; w must not begin with a negative number.
int32_t scale_rows(const float* x, const float* w, float* y, int64_t n) {
  if (w[0] < 0) return 7;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < 4; ++j) y[4 * i + j] = x[4 * i + j] * w[j];
  return 0;
}
// What lies below the mean and what lies above.
int32_t split(const float* x, float* low, float* high, int64_t n) {
  float mean = 0;
  for (int64_t i = 0; i < n; ++i) mean += x[i] / (float)n;
  for (int64_t i = 0; i < n; ++i) {
    low[i] = x[i] < mean ? x[i] : mean;
    high[i] = x[i] < mean ? mean : x[i];
  }
  return 0;
}
)");
    write("m.relay", R"(
extern kernel @scale_rows(x: float32[n, 4], w: float32[4]) -> (y: float32[n, 4]) symbol "scale_rows";
def @main(%x: Tensor[(n, 4), float32], %w: Tensor[(4), float32]) {
  let %y = @scale_rows(tanh(add(%x, 1f)), %w);
  multiply(sum(%y, axis=[0]), @scale_rows(ones(shape=[1, 4], dtype="float32"), %w))
}
)");
    // In branches, in a recursive function, as a value, with two results.
    write("loop.relay", R"(
extern kernel @split(x: float32[n]) -> (low: float32[n], high: float32[n]) symbol "split";
extern kernel @scale_rows(x: float32[n, 4], w: float32[4]) -> (y: float32[n, 4]) symbol "scale_rows";
def @apply(%f: fn(Tensor[(4), float32]) -> (Tensor[(4), float32], Tensor[(4), float32]), %x: Tensor[(4), float32]) {
  let %r = %f(%x);
  subtract(%r.1, %r.0)
}
def @repeat(%k: int32, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  if (equal(%k, 0)) { %x } else { @repeat(subtract(%k, 1), @apply(@split, %x)) }
}
def @main(%x: Tensor[(4), float32]) {
  @scale_rows(reshape(@repeat(2, %x), newshape=[1, 4]), %x)
}
)");
    compile_c({"-shared", "-fPIC", "kernels.c", "-o", "kernels.so"});
  }

  void compile_c(Words arguments) const {
    arguments.insert(arguments.begin(), "/usr/bin/gcc");
    const Ended made = run({.command = arguments, .folder = path("")});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  Words on(const std::string& engine, const std::string& library = "kernels.so") const {
    return {"run",   "m.relay", "--engine", engine,           "--library",
            library, "--fill",  "range",    "--input-shapes", "x:2x4"};
  }
};

const Words kTwoRows = {"--input-shapes", "x:2x4"};

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(External, EveryEngineButCudaRunsThem) {
  for (const char* program : {"m.relay", "loop.relay"}) {
    Words command{"verify", program, "--library", "kernels.so", "--fill", "range", "--json"};
    if (std::string(program) == "m.relay") command = command + kTwoRows;
    const Json j = Json::parse(works(command));
    EXPECT_EQ(j.at("verdict"), "agrees") << program;
    for (const Json& engine : j.at("summary").at("engines")) {
      const std::string name = engine.at("engine");
      const bool has_static_dataflow = std::string(program) == "m.relay";
      if (name.starts_with("aot-cuda") || (name.starts_with("graph") && !has_static_dataflow)) {
        EXPECT_EQ(engine.at("skipped"), 1) << program << name;
      } else {
        EXPECT_EQ(engine.at("agreed"), 1) << program << name;
      }
    }
  }
}

TEST_F(External, OnAGpuTheyAreRefused) {
  refused(on("aot-cuda"), kUnsupported, {"scale_rows", "runs on the CPU", "aot-cpp"});
  refused({"compile", "loop.relay", "--target", "cuda:sm_90", "--link", "kernels.c"}, kUsage, {"--link"});
  // The message points at the call.
  refused({"compile", "loop.relay", "--target", "cuda:sm_90", "--emit", "cuda"}, kUnsupported,
          {"scale_rows", "runs on the CPU", "loop.relay:", "^"});
}

TEST_F(External, EveryCallIsComparedByItself) {
  const Json j = Json::parse(works(Words{"verify", "m.relay", "--library", "kernels.so", "--fill", "range",
                                         "--every-op", "--levels", "2", "--json"} +
                                   kTwoRows));
  size_t kernels = 0;
  for (const Json& op : j.at("programs").at(0).at("operators").at("list")) {
    if (op.at("operator") != "@scale_rows") continue;
    ++kernels;
    for (const Json& engine : op.at("engines")) {
      const bool on_gpu = engine.at("engine") == "aot-cuda";
      EXPECT_EQ(engine.at("verdict"), on_gpu ? "skipped" : "agrees") << engine;
      if (!on_gpu) {
        EXPECT_EQ(engine.at("bound"), 0) << engine;
      }
    }
  }
  EXPECT_EQ(kernels, 2u);
}

TEST_F(External, AGraphHasNoPlaceForThem) {
  refused(
      {"compile", "m.relay", "--emit", "graph", "-o", "g", "--input-shapes", "x:2x4"}, kUnsupported,
      {"m.relay:4:", "no place for the C function `scale_rows` (kernel @scale_rows)", "`aot-cpp`", "--link"});
}

TEST_F(External, AnExecTestMayHaveThem) {
  write("exec.relay", "RUN exec\nThe C functions of a library.\n---- input\n" + read("m.relay") +
                          "---- calls\n@main([[-1, -1, -1, -1]], [1, 2, 3, 4]) == [[0, 0, 0, 0]]\n"
                          "@main([[-1, -1, -1, -1]], [-1, 2, 3, 4]) traps \"the C function `scale_rows` "
                          "failed with code 7\"\n");
  works({"verify", "exec.relay", "--library", "kernels.so"});
  refused({"verify", "exec.relay"}, kUsage, {"scale_rows", "--library", "[unresolved-symbol]"});
}

TEST_F(External, TheCodeOfAFailureIsToldEverywhere) {
  for (const char* engine : {"interp", "jit", "graph", "aot-cpp"}) {
    Words command = on(engine);
    command[7] = "seed:3";  // w begins with a negative number
    const Ended ended = relay(command);
    EXPECT_EQ(ended.exit_code, kMismatch) << engine << ended.err;
    EXPECT_NE(ended.err.find("the C function `scale_rows` failed with code 7"), std::string::npos)
        << engine << ended.err;
  }
}

TEST_F(External, WithoutALibraryThereIsNothingToRun) {
  for (const char* engine : {"interp", "jit", "graph", "aot-cpp"}) {
    const Words plain = {"run", "m.relay", "--engine", engine, "--input-shapes", "x:2x4"};
    refused(plain, kUsage, {"kernel @scale_rows", "`scale_rows`", "--library", "[unresolved-symbol]"});
  }
  refused(on("jit", "nowhere.so"), kUsage, {"nowhere.so", "[file-unreadable]"});
  write("text.so", "no library");
  refused(on("jit", "text.so"), kUsage, {"text.so", "[file-unreadable]"});
  // What the library depends on was not named: libc has `printf`.
  write("libc.relay",
        "extern kernel @p(x: float32[4]) -> (y: float32[4]) symbol \"printf\";\n"
        "def @main(%x: Tensor[(4), float32]) { @p(%x) }\n");
  refused({"run", "libc.relay", "--library", "kernels.so"}, kUsage, {"printf", "kernels.so has not"});
  // What is not reached needs nothing; neither do commands that run nothing.
  write("unused.relay",
        "extern kernel @p(x: float32[4]) -> (y: float32[4]) symbol \"nothing_has_this\";\n"
        "def @other(%x: Tensor[(4), float32]) { @p(%x) }\ndef @main(%x: Tensor[(4), float32]) { %x }\n");
  works({"run", "unused.relay"});
  works({"run", "unused.relay", "--engine", "jit"});
  works({"check", "libc.relay"});
  works({"opt", "libc.relay", "-O", "3"});
  works({"fmt", "libc.relay"});
}

TEST_F(External, SeveralLibrariesTheFirstThatHasIt) {
  write("other.c",
        "#include <stdint.h>\nint32_t scale_rows(const float* x, const float* w, float* y, int64_t n) {\n"
        "  for (int64_t i = 0; i < 4 * n; ++i) y[i] = 0;\n  return x == 0 || w == 0;\n}\n");
  compile_c({"-shared", "-fPIC", "other.c", "-o", "other.so"});
  for (const char* engine : {"interp", "jit", "graph", "aot-cpp"}) {
    const std::string zero = works(on(engine, "other.so") + Words{"--library", "kernels.so"});
    EXPECT_NE(zero.find("[0, 0, 0, 0]"), std::string::npos) << engine << zero;
    EXPECT_NE(works(on(engine) + Words{"--library", "other.so"}), zero) << engine;
  }
}

TEST_F(External, ArtifactsLinkThem) {
  write("load.py", R"(import ctypes, sys
ctypes.CDLL(sys.argv[1], mode=2)  # all symbols at once
)");
  compile_c({"-c", "-fPIC", "kernels.c", "-o", "kernels.o"});
  ASSERT_EQ(
      run({.command = {"/usr/bin/ar", "rcs", "libkernels.a", "kernels.o"}, .folder = path("")}).exit_code, 0);
  const auto loads = [&](const std::string& artifact) {
    return run({.command = {"/usr/bin/python3", "load.py", path(artifact)}, .folder = path("")});
  };
  for (const char* file : {"kernels.c", "kernels.o", "libkernels.a", "kernels.so"}) {
    const Ended made = relay({"compile", "m.relay", "-o", "m.so", "--link", file});
    EXPECT_EQ(made.exit_code, kOk) << file << made.err;
    EXPECT_EQ(made.err.find("must be there when it is loaded") != std::string::npos,
              std::string(file) == "kernels.so");
    EXPECT_EQ(loads("m.so").exit_code, 0) << file;
    EXPECT_NE(read("m.h").find("scale_rows"), std::string::npos);
  }
  // The last one looks for its library beside it, wherever both are.
  std::filesystem::create_directory(path("moved"));
  std::filesystem::rename(path("m.so"), path("moved/m.so"));
  EXPECT_NE(loads("moved/m.so").exit_code, 0);
  std::filesystem::rename(path("kernels.so"), path("moved/kernels.so"));
  EXPECT_EQ(loads("moved/m.so").exit_code, 0);
}

TEST_F(External, AProgramOfItsOwn) {
  works(Words{"compile", "m.relay", "--emit", "exe", "-o", "model", "--link", "kernels.c"});
  works(Words{"run", "m.relay", "--library", "kernels.so", "--fill", "range", "-o", "out/"} + kTwoRows);
  write("inputs.relay",
        "def @main() { (reshape(arange(0f, 8f, 1f, dtype=\"float32\"), newshape=[2, 4]), arange(0f, 4f, 1f, "
        "dtype=\"float32\")) }\n");
  works({"run", "inputs.relay", "-o", "in/"});
  const Ended ended = run(
      {.command = {path("model"), "in/output_0.npy", "in/output_1.npy", "-o", "y.npy"}, .folder = path("")});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(read("y.npy"), read("out/output.npy"));
}

TEST_F(External, APackageCarriesWhatWasLinked) {
  works({"compile", "m.relay", "--emit", "package", "-o", "scaled", "--link", "kernels.c"});
  EXPECT_TRUE(exists("scaled/lib/libscaled.so"));
  EXPECT_NE(read("scaled/include/scaled.h").find("scale_rows"), std::string::npos);
}

// The first and the second box lie on the last one, which is the best.
TEST_F(External, TheExampleDoesWhatItSays) {
  const std::string program = of_checkout("examples/c_functions/suppress.relay"),
                    function = of_checkout("examples/c_functions/suppress.c");
  compile_c({"-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", function,
             "-o", "suppress.so"});
  for (const char* engine : {"interp", "jit", "graph", "aot-cpp"}) {
    const std::string out =
        works({"run", program, "--function", "example", "--engine", engine, "--library", "suppress.so"});
    EXPECT_NE(out.find("[False, False, True, True]"), std::string::npos) << engine << out;
    EXPECT_NE(out.find("[0, 0, 0.25, 0.875]"), std::string::npos) << engine << out;
  }
  works({"compile", program, "--emit", "exe", "-o", "suppress", "--link", function});
  write("inputs.relay",
        "def @main() { (tensor([[0, 0, 2, 2], [0, 0, 2, 2], [5, 5, 6, 6]], float32), tensor([1, 2, 3], "
        "float32), "
        "0.5f, 2f) }\n");
  works({"run", "inputs.relay", "-o", "in/"});
  const auto runs = [&](const std::string& most) {
    return run(
        {.command = {path("suppress"), "in/output_0.npy", "in/output_1.npy", most}, .folder = path("")});
  };
  const Ended ended = runs("in/output_2.npy");
  EXPECT_EQ(ended.exit_code, kOk) << ended.err;
  EXPECT_NE(ended.out.find("0 2 3"), std::string::npos) << ended.out;
  const Ended wrong = runs("in/output_3.npy");
  EXPECT_EQ(wrong.exit_code, kMismatch);
  EXPECT_NE(wrong.err.find("the C function `suppress_boxes` failed with code 1"), std::string::npos)
      << wrong.err;
}

TEST_F(External, WhatCannotBeLinkedIsSaid) {
  refused({"compile", "m.relay", "-o", "m.so"}, kUsage,
          {"kernel @scale_rows", "nothing was given to link with", "--link", "[unresolved-symbol]"});
  write("other.c", "int nothing;\n");
  refused({"compile", "m.relay", "-o", "m.so", "--link", "other.c"}, kUsage,
          {"kernel @scale_rows", "which nothing that was given to link with has", "[unresolved-symbol]"});
  refused({"compile", "m.relay", "-o", "m.so", "--link", "nowhere.a"}, kUsage, {"nowhere.a"});
  refused({"compile", "m.relay", "-o", "m.so", "--link", "m.relay"}, kUsage, {"m.relay", ".so, .a"});
  refused({"compile", "m.relay", "--emit", "cpp", "--link", "kernels.c"}, kUsage,
          {"--link", "links nothing"});
  write("wrong.c", "int f( {\n");
  refused({"compile", "m.relay", "-o", "m.so", "--link", "wrong.c"}, kUnsupported,
          {"wrong.c", "[cannot-compile]"});
}

TEST_F(External, TheSourceDeclaresThem) {
  const std::string source = works({"compile", "m.relay", "--emit", "cpp"});
  EXPECT_NE(source.find("extern \"C\" int32_t relay_external_scale_rows(const float*, const float*, float*, "
                        "int64_t) __asm__(\"scale_rows\");"),
            std::string::npos);
  const Json j = Json::parse(works({"compile", "m.relay", "-o", "m.so", "--link", "kernels.c", "--json"}));
  EXPECT_EQ(j.at("external_functions"), Json({"scale_rows"}));
}

TEST_F(External, NamesThatWouldClash) {
  // A kernel of the program that is called like a C function, or like one of the C library's.
  write("names.c",
        "#include <stdint.h>\n"
        "int32_t report(const float* x, float* y) { *y = *x + 1; return 0; }\n"
        "int32_t parallel(const float* x, float* y) { *y = *x * 3; return 0; }\n");
  write("names.relay", R"(
extern kernel @say(x: float32[]) -> (y: float32[]) symbol "report";
extern kernel @parallel(x: float32[]) -> (y: float32[]) symbol "parallel";
kernel @report(x: float32[]) -> (y: float32[]) { block b { reads x[]; writes y[]; y[] = x[] * 2f; } }
kernel @relay_run(x: float32[]) -> (y: float32[]) { block b { reads x[]; writes y[]; y[] = x[] - 5f; } }
def @main(%x: float32) { @relay_run(@report(@say(@parallel(%x)))) }
)");
  compile_c({"-shared", "-fPIC", "names.c", "-o", "names.so"});
  for (const char* engine : {"interp", "jit", "graph", "aot-cpp"}) {
    const std::string y =
        works({"run", "names.relay", "--engine", engine, "--library", "names.so", "--fill", "ones"});
    EXPECT_TRUE(y.ends_with(" 3\n")) << engine << y;
  }
  works({"compile", "names.relay", "-o", "names_model.so", "--link", "names.c"});
}

}  // namespace
}  // namespace relay::tests
