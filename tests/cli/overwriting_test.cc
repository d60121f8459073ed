// Outputs that would replace what they are made from are refused, by whatever path they are named.
#include <filesystem>

#include "frontend/data/inputs.h"
#include "frontend/data/safetensors.h"
#include "frontend/onnx/testing.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;
using frontend::TestModel;

class Overwriting : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_sum("sum.relay");
    write("model.relay", "def @main(%x: Tensor[(3), float32]) { add(%x, const(\"w\")) }\n");
    Diagnostics diagnostics;
    const Tensor w = Tensor::of<float>(kFloat32, {3}, std::vector<float>{1, 2, 3});
    write("model.safetensors", *frontend::data::safetensors_bytes({{{"w", w}}, {}}, diagnostics));
  }
  // x + w, with w in another file.
  void write_external(const std::string& name, const std::string& weights) const {
    TestModel m;
    m.input("x", {3}).floats_in_file("w", {3}, weights).node("Add", {"x", "w"}, {"y"}).output("y");
    write(name, m.bytes());
    write(weights, std::string(12, '\0'));
  }
};

TEST_F(Overwriting, WeightsDoNotReplaceTheSideFileOfTheText) {
  const Words words{"[output-is-input]", "`model.safetensors`", "would replace",
                    "another name or another folder"};
  for (const Words& emit : {Words{"--emit", "exe"}, {"--emit", "so", "-o", "model.so"}, {"--emit", "so"}}) {
    Words command{"compile", "model.relay", "--weights-file"};
    command.insert(command.end(), emit.begin(), emit.end());
    refused(command, kUsage, words);
  }
  refused({"compile", "model.relay", "--weights-file", "--emit", "cpp", "-o", "model.cc"}, kUsage, words);
  refused({"opt", "model.relay", "-o", "model.txt"}, kUsage, words);
}

TEST_F(Overwriting, LinksAndRelativePathsLeadToTheSameFile) {
  fs::create_directory(path("d"));
  fs::create_directory_symlink(".", path("here"));
  fs::create_symlink("model.safetensors", path("link.safetensors"));
  for (const std::string& output : Words{"d/../model", "here/model", "link", path("model")}) {
    refused({"compile", "model.relay", "--emit", "exe", "--weights-file", "-o", output}, kUsage,
            {"[output-is-input]", output + ".safetensors", "`model.safetensors`, which was read"});
  }
}

TEST_F(Overwriting, AnotherNameOrFolderIsFree) {
  fs::create_directory(path("d"));
  works({"compile", "model.relay", "--emit", "exe", "--weights-file", "-o", "d/model"});
  works({"compile", "model.relay", "--emit", "exe", "-o", "model"});  // the weights are inside
  EXPECT_TRUE(exists("d/model.safetensors"));
  works({"check", "model.relay"});
}

// The file beside the text is nothing to a text that names no constant of it.
TEST_F(Overwriting, WeightsReplaceTheirOwnOlderOnes) {
  for (const std::string value : {"1f", "2f"}) {
    write("own.relay", "def @main(%x: Tensor[(3), float32]) { add(%x, " + value + ") }\n");
    works({"compile", "own.relay", "--emit", "exe", "--weights-file", "-o", "own"});
    EXPECT_TRUE(exists("own.safetensors"));
  }
}

TEST_F(Overwriting, NoOutputReplacesTheModel) {
  refused({"compile", "sum.relay", "--emit", "so", "-o", "sum.relay"}, kUsage, {"would be a shared library"});
  for (const std::string emit : {"exe", "header", "cpp"})
    refused({"compile", "sum.relay", "--emit", emit, "-o", "sum.relay"}, kUsage,
            {"[output-is-input]", "`sum.relay`", "a file that was read"});
  refused({"compile", "sum.relay", "--target", "cuda", "--emit", "cuda", "-o", "sum.relay"}, kUsage,
          {"[output-is-input]", "`sum.relay`"});
  works({"compile", "sum.relay", "--emit", "graph", "-o", "g"});
  refused({"compile", "g", "--emit", "graph", "-o", "g"}, kUsage,
          {"[output-is-input]", "`g/graph.json`", "`g/graph.params`"});
  fs::create_directories(path("p/include"));
  fs::create_symlink("../../sum.relay", path("p/include/p.h"));
  refused({"compile", "sum.relay", "--emit", "package", "-o", "p"}, kUsage,
          {"[output-is-input]", "p/include/p.h", "`sum.relay`, which was read"});
}

TEST_F(Overwriting, NoOutputReplacesTheExternalDataOfAModel) {
  write_external("a.onnx", "a.safetensors");
  refused({"compile", "a.onnx", "--weights-file", "-o", "a.so"}, kUsage,
          {"[output-is-input]", "a.safetensors"});
  refused({"import", "a.onnx", "-o", "a.relay"}, kUsage, {"[output-is-input]", "a.safetensors"});
  write_external("b.onnx", "b.weights");
  refused({"compile", "b.onnx", "--emit", "cpp", "-o", "b.cc"}, kUsage, {"[output-is-input]", "b.weights"});
}

TEST_F(Overwriting, NoOutputReplacesALicenceOrAnObject) {
  write("LICENCE", "Use it.\n");
  refused({"compile", "sum.relay", "--licence", "LICENCE", "-o", "LICENCE"}, kUsage,
          {"[output-is-input]", "`LICENCE`"});
  write("f.so", "no library, which would be said later");
  refused({"compile", "sum.relay", "--link", "f.so", "-o", "f.so"}, kUsage, {"[output-is-input]", "`f.so`"});
}

TEST_F(Overwriting, ResultsOfARunDoNotReplaceItsInputs) {
  write_sum("sum.relay");
  fs::create_directory(path("in"));
  const Tensor ones = Tensor::of<float>(kFloat32, {3}, std::vector<float>{1, 1, 1});
  const frontend::data::NamedTensors inputs{{"x", ones}, {"y", ones}};
  Diagnostics d;
  for (const std::string to : {"in.npz", "in", "test_data_set_0"})
    ASSERT_TRUE(frontend::data::write_tensors(path(to), inputs, frontend::data::Role::kInput, d).ok())
        << d.render({});
  const Words run{"run", "sum.relay", "--engine", "graph", "-i"};
  const auto with = [&](const Words& more) {
    Words command = run;
    command.insert(command.end(), more.begin(), more.end());
    return command;
  };
  for (const char* option : {"-o", "--dump"}) {
    refused(with({"in.npz", option, "./in.npz"}), kUsage, {"[output-is-input]", "`in.npz`, which was read"});
    works(with({"in.npz", option, "other.npz"}));
  }
  EXPECT_TRUE(exists("other.npz"));
  // A folder may have inputs and results, if these have other names.
  works(with({"in", "-o", "in"}));
  EXPECT_TRUE(exists("in/output.npy"));
  works(with({"test_data_set_0", "-o", "test_data_set_0"}));
  EXPECT_TRUE(exists("test_data_set_0/output_0.pb"));
  write("named.relay", "def @main(%x: Tensor[(3), float32], output_names=[\"x\"]) { add(%x, %x) }\n");
  fs::create_directory(path("x"));
  fs::copy_file(path("in/x.npy"), path("x/x.npy"));
  refused({"run", "named.relay", "-i", "x", "-o", "x"}, kUsage, {"[output-is-input]", "x/x.npy"});
  refused({"run", "model.relay", "-o", "model.safetensors"}, kUsage,
          {"[output-is-input]", "`model.safetensors`", "a file that was read"});
  // The names of steps are known after the run.
  fs::create_symlink("../in.npz", path("x/000_k0_add.npy"));
  refused(with({"in.npz", "--dump", "x"}), kUsage,
          {"[output-is-input]", "`x/000_k0_add.npy` would replace `in.npz`"});
}

TEST_F(Overwriting, FilesOfPassesDoNotReplaceTheModel) {
  works({"opt", "model.relay", "-O1", "--dump-dir", "d"});
  refused({"opt", "d/00-input.relay", "-O1", "--dump-dir", "d"}, kUsage,
          {"[output-is-input]", "`d/00-input.relay`", "`d/00-input.safetensors`"});
  refused({"opt", "d/01-inline-lets.relay", "-O1", "--dump-dir", "./d"}, kUsage,
          {"[output-is-input]", "`d/01-inline-lets.relay`, which was read"});
  works({"opt", "d/01-inline-lets.relay", "--passes", "fuse", "--dump-dir", "d"});
  refused({"opt", "model.relay", "-O1", "--reproducer", "model.relay"}, kUsage,
          {"[output-is-input]", "`model.relay`", "`model.safetensors`"});
  refused({"opt", "model.relay", "-O1", "--reproducer", "model.txt"}, kUsage,
          {"[output-is-input]", "`model.safetensors`"});
  works({"opt", "model.relay", "-O1", "--reproducer", "wrong.relay"});
  EXPECT_FALSE(exists("wrong.relay"));  // nothing went wrong
}

TEST_F(Overwriting, ATextMayBeReplacedByWhatBecomesOfIt) {
  works({"opt", "model.relay", "-O1", "-o", "./model.relay"});
  works({"check", "model.relay"});
}

}  // namespace
}  // namespace relay::tests
