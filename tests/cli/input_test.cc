// Inputs that do not fit the model: names, shapes, dtypes, files.
#include <unistd.h>

#include <filesystem>

#include "base/cat.h"
#include "frontend/data/npy.h"
#include "frontend/data/npz.h"
#include "frontend/data/safetensors.h"
#include "tests/cli/cli.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kReservesMemory = true;  // far more than it uses
#else
constexpr bool kReservesMemory = false;
#endif

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

// Commands that take --inputs.
const std::vector<std::string> kRunCommands = {"run", "verify", "bench"};

Tensor filled(DType dtype, Shape shape) {
  Tensor t(dtype, std::move(shape));
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>(i));
  return t;
}

class Input : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_sum("m.relay");
  }
  void write_npy(const std::string& name, const Tensor& t) const {
    write(name, frontend::data::npy_bytes(t));
  }
  void write_npz(const std::string& name, const frontend::data::NamedTensors& tensors) const {
    Diagnostics diagnostics;
    const Result<std::string> bytes = frontend::data::npz_bytes(tensors, diagnostics);
    ASSERT_TRUE(bytes);
    write(name, *bytes);
  }
  void refused_by_all(const std::string& inputs, Exit code, const Words& words,
                      const std::string& model = "m.relay") const {
    for (const std::string& command : kRunCommands) refused({command, model, "-i", inputs}, code, words);
  }

  const Tensor three_ = filled(kFloat32, {3});
};

TEST_F(Input, SoundInputsAreTakenInEveryForm) {
  const std::string sum = "output: Tensor[(3,), float32] [0, 2, 4]\n";
  write_npz("in.npz", {{"y", three_}, {"x", three_}});
  EXPECT_EQ(works({"run", "m.relay", "-i", "in.npz"}), sum);
  Diagnostics diagnostics;
  write("in.safetensors",
        *frontend::data::safetensors_bytes({{{"x", three_}, {"y", three_}}, {}}, diagnostics));
  EXPECT_EQ(works({"run", "m.relay", "-i", "in.safetensors"}), sum);
  fs::create_directory(path("in"));
  write_npy("in/x.npy", three_);
  write_npy("in/y.npy", three_);
  EXPECT_EQ(works({"run", "m.relay", "-i", "in"}), sum);
}

TEST_F(Input, UnderscoresInFileNamesStandForSlashesAndColons) {
  write("n.relay",
        "def @main(%a: Tensor[(3), float32], %b: Tensor[(3), float32], input_names=[\"a/b:0\", \"a/b/0\"]) { "
        "add(%a, %b) }\n");
  fs::create_directory(path("in"));
  write_npy("in/a_b:0.npy", three_);
  write_npy("in/a%2Fb%2F0.npy", three_);
  EXPECT_EQ(works({"run", "n.relay", "-i", "in"}), "output: Tensor[(3,), float32] [0, 2, 4]\n");
  fs::rename(path("in/a_b:0.npy"), path("in/a_b_0.npy"));
  refused({"run", "n.relay", "-i", "in"}, kUsage,
          {"[tensor-unknown]", "`a_b_0`", "meant for `a/b:0`", "`a%2Fb:0.npy`, `a%2Fb%2F0.npy`"});
}

TEST_F(Input, AMissingFileIsNamed) {
  for (const std::string file : {"none.npz", "none.npy", "none.safetensors"})
    refused_by_all(file, kUsage, {"[file-unreadable]", file, "No such file"});
  refused_by_all("none", kUsage, {"[file-unreadable]", "`none`", "no such file or folder", "x.npz"});
}

TEST_F(Input, AFileOfAnotherKindIsNamedWithTheKindsThereAre) {
  refused_by_all("m.relay", kUsage, {"[tensors-unknown-form]", "`m.relay`", "x.npz", "x.npy"});
}

TEST_F(Input, WrongAndMissingNamesAreAllReported) {
  write_npz("in.npz", {{"x", three_}, {"Y_", three_}, {"z", three_}});
  refused_by_all("in.npz", kUsage,
                 {"[tensor-unknown]", "`Y_`, which is no input", "meant for `y`", "`z`, which is no input"});
  write_npz("in.npz", {});
  refused_by_all("in.npz", kUsage, {"[tensor-missing]", "input `x`", "input `y`"});
  fs::create_directory(path("empty"));
  refused_by_all("empty", kUsage, {"[tensor-missing]", "`empty`", "input `x`", "input `y`"});
}

TEST_F(Input, OneNamelessTensorIsNotEnoughForTwoInputs) {
  write_npy("in.npy", three_);
  refused_by_all("in.npy", kUsage, {"`in.npy`", "without a name", "2 inputs"});
}

TEST_F(Input, AWrongShapeIsNamedWithBothShapes) {
  write_npz("in.npz", {{"x", three_}, {"y", filled(kFloat32, {4})}});
  refused_by_all("in.npz", kUsage,
                 {"input `y`", "Tensor[(3), float32]", "Tensor[(4,), float32]", "dimension 0"});
  write_npz("in.npz", {{"x", filled(kFloat32, {3, 1})}, {"y", three_}});
  refused_by_all("in.npz", kUsage, {"input `x`", "ranks"});
}

TEST_F(Input, AWrongDtypeIsNamedWithBothDtypes) {
  write_npz("in.npz", {{"x", filled(kFloat64, {3})}, {"y", three_}});
  refused_by_all("in.npz", kUsage, {"input `x`", "float32", "float64", "has the dtype"});
}

TEST_F(Input, BrokenFilesAreNamedWithWhatIsWrong) {
  const std::string npy = frontend::data::npy_bytes(filled(kFloat32, {1, 1, 28, 28}));
  for (const size_t length : {size_t{0}, size_t{5}, size_t{40}, size_t{200}, npy.size() - 1}) {
    write("in.npy", npy.substr(0, length));
    refused_by_all("in.npy", kUsage, {"[npy-invalid]", "`in.npy`"}, mnist());
  }
  write_npz("whole.npz", {{"x", three_}, {"y", three_}});
  const std::string npz = read("whole.npz");
  for (const size_t length : {size_t{0}, size_t{30}, npz.size() / 2, npz.size() - 1}) {
    write("in.npz", npz.substr(0, length));
    refused_by_all("in.npz", kUsage, {"[npz-invalid]", "`in.npz`"});
  }
  Diagnostics diagnostics;
  const std::string sound =
      *frontend::data::safetensors_bytes({{{"x", three_}, {"y", three_}}, {}}, diagnostics);
  for (const size_t length : {size_t{0}, size_t{7}, size_t{20}, sound.size() - 1}) {
    write("in.safetensors", sound.substr(0, length));
    refused_by_all("in.safetensors", kUsage, {"[safetensors-", "`in.safetensors`"});
  }
  write("in.safetensors", std::string(100, '\xff'));
  refused_by_all("in.safetensors", kLimit, {"[limit-header]", "`in.safetensors`"});
}

TEST_F(Input, AFileThatMemoryCannotHoldIsALimit) {
  if (kReservesMemory) GTEST_SKIP() << "a sanitizer needs more address space than the limit allows";
  write("in.npy", "");
  ASSERT_EQ(truncate(path("in.npy").c_str(), off_t{8} << 30), 0);
  refused({"run", mnist(), "-i", "in.npy"}, kLimit, {"[limit-memory]", "`in.npy`", "8589934592"},
          {.memory = uint64_t{1} << 30});
}

TEST_F(Input, OnlyTensorsCanBeGiven) {
  write("t.relay", "def @main(%x: (Tensor[(2), float32], Tensor[(2), float32])) { %x.0 }\n");
  write_npy("pair.npy", filled(kFloat32, {2}));
  const Words words{"input `x`", "@main", "Tensor[(2), float32]", "only tensors"};
  refused_by_all("pair.npy", kUsage, words, "t.relay");
  for (const std::string& command : kRunCommands) refused({command, "t.relay"}, kUsage, words);
}

// --- shapes --------------------------------------------------------------------------------------

TEST_F(Input, AShapeForAnUnknownInputIsNamedWithTheInputs) {
  for (const std::string command : {"check", "run", "verify", "bench", "compile", "opt"}) {
    refused({command, mnist(), "--input-shapes", "nope:[1]"}, kUsage,
            {"[input-unknown]", "`nope`", "its inputs: Input3"});
    refused({command, "m.relay", "--input-shapes", "nope:[1]"}, kUsage,
            {"[input-unknown]", "`nope`", "x, y"});
  }
}

TEST_F(Input, AShapeThatTheModelContradictsIsNamedWithWhatItSays) {
  for (const std::string command : {"check", "run", "verify", "bench", "compile", "opt"}) {
    refused({command, mnist(), "--input-shapes", "Input3:[1,1,28]"}, kUsage,
            {"[input-shape-mismatch]", "`Input3`", "[1, 1, 28]", "4 dimensions"});
    refused({command, mnist(), "--input-shapes", "Input3:1x1x28x29"}, kUsage,
            {"[input-shape-mismatch]", "`Input3`", "extent 3 is always 28"});
    refused({command, "m.relay", "--input-shapes", "x:[4]"}, kUsage,
            {"[input-shape-mismatch]", "m.relay:1:", "`x`", "extent 0 is always 3"});
    refused({command, "m.relay", "--input-shapes", "x:[3,1]"}, kUsage,
            {"[input-shape-mismatch]", "`x`", "1 dimensions"});
  }
}

// A tuple of tuples that share their fields has more tensors than time allows to look at.
TEST_F(Input, ExtentsOfSharedResultsAreChosenAtOnce) {
  constexpr int kLevels = 64;
  std::string lets = "let %v0 = (%x, %x); ";
  for (int i = 1; i < kLevels; ++i) lets += cat("let %v", i, " = (%v", i - 1, ", %v", i - 1, "); ");
  write("shared.relay", cat("def @main(%x: Tensor[(n), float32]) { ", lets, "%v", kLevels - 1, " }\n"));
  const Ended ended = relay({"run", "shared.relay"});
  EXPECT_EQ(ended.exit_code, kLimit) << ended.err;
  EXPECT_NE(ended.err.find("smallest that type-check: n = 1\n"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("more than is shown or written"), std::string::npos) << ended.err;
}

TEST_F(Input, ShapeVariablesOfATextGetTheirExtents) {
  write("d.relay",
        "def @main(%x: Tensor[(n, 2), float32], %y: Tensor[(n, 2), float32]) { add(%x, %y) }\n"
        "def @twice(%x: Tensor[(2 * n), float32]) { %x }\n");
  for (const std::string command : {"run", "bench", "verify"}) {
    const Ended ended = relay({command, "d.relay"});
    EXPECT_EQ(ended.exit_code, kOk) << ended.err;
    EXPECT_NE(ended.err.find("smallest that type-check: n = 1\n"), std::string::npos) << ended.err;
  }
  works({"compile", "d.relay", "-o", "d.so"});  // once for all extents
  const std::string checked = works({"check", "d.relay", "--input-shapes", "x:[3,2]"});
  EXPECT_NE(checked.find("y: Tensor[(3, 2), float32]"), std::string::npos) << checked;
  for (const std::string engine : {"interp", "graph"}) {
    EXPECT_EQ(works({"run", "d.relay", "--engine", engine, "--input-shapes", "x:1x2", "--fill", "ones"}),
              "output: Tensor[(1, 2), float32] [[2, 2]]\n");
  }
  refused({"run", "d.relay", "--input-shapes", "x:[3,2]", "--input-shapes", "y:[4,2]"}, kUsage,
          {"[input-shape-mismatch]", "`y`", "`n` cannot be both 3 and 4"});
  refused({"run", "d.relay", "--function", "twice", "--input-shapes", "x:[4]"}, kUsage,
          {"[input-shape-mismatch]", "`x`", "no shape variable"});
}

// One of the branches is wrong whatever the extent is: a run takes the other one, or compares.
TEST_F(Input, BranchesOfDifferentExtentsKeepThemOpen) {
  write("m.relay",
        "def @main(%x: Tensor[(n), float32], %c: bool) {\n"
        "  if (%c) { %x } else { concatenate((%x, %x), axis=0) }\n"
        "}\n");
  for (const std::string engine : {"interp", "jit"}) {
    const std::vector<std::string> run{"run", "m.relay", "--engine", engine, "--fill", "ones"};
    EXPECT_EQ(works(run), "output: Tensor[(1,), float32] [1]\n");
    std::vector<std::string> given = run;
    given.insert(given.end(), {"--input-shapes", "x:[3]"});
    const Ended ended = relay(given);
    EXPECT_EQ(ended.out, "output: Tensor[(3,), float32] [1, 1, 1]\n") << ended.err;
    EXPECT_NE(ended.err.find("warning: the `else` branch"), std::string::npos) << ended.err;
    EXPECT_NE(ended.err.find("extents stay open"), std::string::npos) << ended.err;
  }
}

// The extent is wrong for each run here, whatever is chosen elsewhere.
TEST_F(Input, ExtentsThatNoRunCanHaveAreRefused) {
  const std::string add = "add(%x, ones(shape=[3], dtype=\"float32\"))";
  for (const std::string& program : {"def @main(%x: Tensor[(n), float32]) { " + add + " }\n",
                                     "def @other(%c: bool) { if (%c) { 1 } else { 2 } }\n"
                                     "def @main(%x: Tensor[(n), float32]) { " +
                                         add + " }\n",
                                     "def @main(%x: Tensor[(n), float32], %c: bool) {\n"
                                     "  let %y = " +
                                         add +
                                         ";\n"
                                         "  if (%c) { %y } else { exp(%y) }\n"
                                         "}\n"}) {
    write("straight.relay", program);
    refused({"run", "straight.relay", "--input-shapes", "x:[4]"}, kBadModel,
            {"[not-broadcastable]", "4 and 3"});
  }
  // Only a run that takes the branch fails.
  write("branch.relay",
        "def @main(%x: Tensor[(n), float32], %c: bool) { if (%c) { exp(%x) } else { " + add + " } }\n");
  const Ended ended = relay({"run", "branch.relay", "--input-shapes", "x:[4]", "--fill", "ones"});
  EXPECT_EQ(ended.exit_code, kOk) << ended.err;
  EXPECT_NE(ended.err.find("extents stay open"), std::string::npos) << ended.err;
}

TEST_F(Input, InputsThatDisagreeAboutAShapeVariableAreNamed) {
  write("d.relay", "def @main(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) { add(%x, %y) }\n");
  write_npz("in.npz", {{"x", three_}, {"y", filled(kFloat32, {4})}});
  refused_by_all("in.npz", kUsage, {"input `y`", "dimension 0 is 4", "`n` is 3"}, "d.relay");
}

// --- results of others ---------------------------------------------------------------------------

TEST_F(Input, ExpectedResultsAreReadBeforeAnythingRuns) {
  refused({"verify", "m.relay", "--expected", "none.npz"}, kUsage, {"[file-unreadable]", "none.npz"});
  write("in.npy", "broken");
  refused({"verify", "m.relay", "--expected", "in.npy"}, kUsage, {"[npy-invalid]", "in.npy"});
}

TEST_F(Input, ExpectedResultsThatDifferAreAMismatch) {
  write_npz("in.npz", {{"x", three_}, {"y", three_}});
  const auto verify = [&](const Tensor& expected) {
    write_npy("expected.npy", expected);
    return relay({"verify", "m.relay", "-i", "in.npz", "--engines", "interp", "--expected", "expected.npy"});
  };
  Tensor sum = filled(kFloat32, {3});
  for (int64_t i = 0; i < 3; ++i) sum.set(i, static_cast<double>(2 * i));
  EXPECT_EQ(verify(sum).exit_code, kOk);
  sum.set(1, 3);
  const Ended wrong = verify(sum);
  EXPECT_EQ(wrong.exit_code, kMismatch);
  EXPECT_NE(wrong.out.find("DIFFERS"), std::string::npos) << wrong.out;
  EXPECT_EQ(verify(filled(kFloat32, {4})).exit_code, kMismatch);
}

// --- runs that fail ------------------------------------------------------------------------------

TEST_F(Input, ATrapIsAFailureOfTheProgram) {
  write("t.relay", "def @main(%x: Tensor[(3), int32]) { divide(%x, 0) }\n");
  for (const std::string& command : kRunCommands)
    refused({command, "t.relay"}, kMismatch, {"the program failed", "division by zero"});
}

TEST_F(Input, ALimitIsNamedWithTheOptionThatRaisesIt) {
  write("t.relay", "def @main(%x: int32) -> int32 { add(@main(%x), 1) }\n");
  refused({"run", "t.relay", "--fuel", "1000"}, kLimit, {"1000 steps", "--fuel"});
  refused({"run", "t.relay", "--max-depth", "1000"}, kLimit, {"1000 deep", "--max-depth"});
}

TEST_F(Input, AResultWithoutTensorsIsShown) {
  write("t.relay", "def @main(%x: int32) { fn(%y: int32) { add(%x, %y) } }\n");
  EXPECT_EQ(works({"run", "t.relay"}), "<closure>\n");
  refused({"run", "t.relay", "--engine", "graph"}, kUnsupported, {"engine `graph`", "function value"});
}

}  // namespace
}  // namespace relay::tests
