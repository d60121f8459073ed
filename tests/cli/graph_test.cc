// Graphs: written, read back, listed, refused; and looking inside of a run.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "frontend/data/inputs.h"
#include "frontend/data/params.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

class Graphs : public Cli {
 protected:
  // The tensors of a file that `relay` wrote.
  frontend::data::NamedTensors tensors(const std::string& name) const {
    Diagnostics d;
    const Result<frontend::data::NamedTensors> read =
        frontend::data::read_tensors(path(name), frontend::data::Role::kOutput, {}, d);
    EXPECT_TRUE(read.ok()) << d.render({});
    return read ? *read : frontend::data::NamedTensors{};
  }
  // A node that calls a function of a library.
  void write_compiled(const std::string& name) const {
    write(name, R"({"nodes": [{"op": "null", "name": "x", "inputs": []},
      {"op": "tvm_op", "name": "conv1", "attrs": {"flatten_data": "0", "func_name": "fused_nn_conv2d_add",
       "num_inputs": "1", "num_outputs": "1"}, "inputs": [[0, 0, 0]]}],
      "arg_nodes": [0], "heads": [[1, 0, 0]], "node_row_ptr": [0, 1, 2],
      "attrs": {"dltype": ["list_str", ["float32", "float32"]], "shape": ["list_shape", [[4], [4]]],
                "storage_id": ["list_int", [0, 1]]}})");
  }
};

TEST_F(Graphs, GiveTheBitsOfTheModelTheyComeFrom) {
  for (const std::string level : {"-O0", "-O1", "-O2"}) {
    const std::string folder = "g" + level;
    works({"compile", mnist(), "--emit", "graph", level, "-o", folder});
    for (const std::string engine : {"interp", "graph"}) {
      works({"run", mnist(), "--engine", engine, level, "-i", mnist_inputs(), "-o", "a.npz"});
      works({"run", folder, "--engine", engine, level, "-i", mnist_inputs(), "-o", "b.npz"});
      // The interpreter runs the model as it is and the graph as it was optimised.
      if (engine == "graph" || level == "-O0") {
        EXPECT_EQ(read("a.npz"), read("b.npz")) << engine << " " << level;
      }
    }
    works({"compile", folder, "--emit", "graph", level, "-o", "again"});
    EXPECT_EQ(read("again/graph.json"), read(folder + "/graph.json")) << level;
    EXPECT_EQ(read("again/graph.params"), read(folder + "/graph.params")) << level;
  }
}

TEST_F(Graphs, OtherModelsHaveNoNodesToList) {
  write_sum("m.relay");
  for (const std::string& model : {std::string("m.relay"), mnist()})
    refused({"graph", model}, kUsage, {model, "only a graph", "--emit graph", "relay check"});
}

TEST_F(Graphs, AreModelsForEveryCommand) {
  write_sum("m.relay");
  works({"compile", "m.relay", "--emit", "graph", "-o", "g"});
  works({"check", "g"});
  works({"check", "g/graph.json"});
  EXPECT_NE(works({"verify", "g/"}).find("aot-cpp -O2"), std::string::npos);
  works({"import", "g", "-o", "back.relay"});
  works({"run", "g", "-o", "a.npz"});
  works({"run", "m.relay", "-o", "b.npz"});
  EXPECT_EQ(read("a.npz"), read("b.npz")) << "names of inputs and outputs stay";
}

TEST_F(Graphs, WithoutAFolderAreText) {
  write_sum("m.relay");
  const std::string text = works({"compile", "m.relay", "--emit", "graph"});
  const nlohmann::json j = nlohmann::json::parse(text);
  EXPECT_EQ(j["nodes"].back()["attrs"]["func_name"], "fused_add");
  refused({"compile", "m.relay", "--emit", "graph", "--target", "cpu:avx2,cpu:sse2"}, kUsage, {"one target"});
  refused({"compile", "m.relay", "--emit", "graph", "--weights-file"}, kUsage, {"--weights-file"});
  const nlohmann::json said =
      nlohmann::json::parse(works({"compile", "m.relay", "--emit", "graph", "-o", "g", "--json"}));
  EXPECT_EQ(said["graph"], "g/graph.json");
}

TEST_F(Graphs, AreWrittenWholeOrNotAtAll) {
  write_sum("m.relay");
  write("file", "in the way");
  refused({"compile", "m.relay", "--emit", "graph", "-o", "file"}, kLimit, {"file"});
  refused({"compile", "m.relay", "--emit", "graph", "-o", "file/in/the/way"}, kLimit, {"file"});
  fs::create_directories(path("folder/graph.json"));
  refused({"compile", "m.relay", "--emit", "graph", "-o", "folder"}, kLimit, {"folder/graph.json"});
  fs::create_directories(path("other/graph.params"));
  refused({"compile", "m.relay", "--emit", "graph", "-o", "other"}, kLimit, {"other/graph.params"});
  // That there is no room is known late; what was made until then goes.
  refused({"compile", "m.relay", "--emit", "graph", "-o", "new/folder"}, kLimit, {"File too large"},
          {.file_bytes = 64});
  write("if.relay", "def @main(%x: Tensor[(), bool]) { if (%x) { 1f } else { 2f } }\n");
  refused({"compile", "if.relay", "--emit", "graph", "-o", "g"}, kUnsupported,
          {"if.relay:1:", "`if` is not static dataflow", "`interp`"});
}

TEST_F(Graphs, OfALibraryAreListedAndRefused) {
  write_compiled("old.json");
  const std::string listed = works({"graph", "old.json"});
  EXPECT_NE(listed.find("fused_nn_conv2d_add"), std::string::npos) << listed;
  EXPECT_NE(listed.find("not defined: 1 node,"), std::string::npos) << listed;
  const nlohmann::json j = nlohmann::json::parse(works({"graph", "old.json", "--json"}));
  EXPECT_EQ(j["inputs"], nlohmann::json({"x"}));
  EXPECT_EQ(j["undefined"][0]["function"], "fused_nn_conv2d_add");
  EXPECT_EQ(j["storage_bytes"], 32);
  for (const std::string command : {"check", "run", "verify", "compile", "bench"}) {
    refused({command, "old.json"}, kUnsupported,
            {"[unsupported-function]", "`fused_nn_conv2d_add`: node `conv1`", "--emit graph"});
  }
}

// A parameter without a value would be an input, and be filled with numbers that nobody chose.
TEST_F(Graphs, WithoutTheirParametersAreRefused) {
  works({"compile", mnist(), "--emit", "graph", "-o", "g"});
  works({"run", "g"});
  fs::rename(path("g/graph.params"), path("kept"));
  for (const std::string model : {"g", "g/graph.json"}) {
    for (const std::string command : {"check", "run", "compile", "import"}) {
      Words all{command, model};
      if (command == "import") all.insert(all.end(), {"-o", "x.relay"});
      refused(all, kBadModel, {"[graph-parameter]", "`g/graph.params`", "`p0`"});
    }
  }
  works({"graph", "g"});
  // A file with other parameters lacks them too.
  write_sum("m.relay");
  works({"compile", "m.relay", "--emit", "graph", "-o", "other"});
  fs::copy(path("other/graph.params"), path("g/graph.params"));
  refused({"run", "g"}, kBadModel, {"[graph-parameter]", "`g/graph.params`", "`p0`"});
  // Other programs do not say which nodes are parameters. Their folders have a file of them; a
  // .json file alone is all there is.
  fs::create_directory(path("foreign"));
  write("foreign/net.json", R"({"nodes": [{"op": "null", "name": "x", "inputs": []},
    {"op": "null", "name": "w", "inputs": []},
    {"op": "elemwise_add", "name": "y", "inputs": [[0, 0, 0], [1, 0, 0]]}], "arg_nodes": [0, 1], "heads": [[2, 0, 0]]})");
  const Words shapes{"--input-shapes", "x:[2]", "--input-shapes", "w:[2]"};
  Words folder{"run", "foreign"}, file{"run", "foreign/net.json"};
  for (Words* command : {&folder, &file}) command->insert(command->end(), shapes.begin(), shapes.end());
  refused(folder, kBadModel, {"[graph-parameter]", "`foreign/net.params`", "`x`, `w`", "foreign/net.json"});
  works(file);
}

TEST_F(Graphs, ThatAreWrongAreRefused) {
  write("bad.json", "{\"nodes\": 3}");
  for (const std::string command : {"check", "run", "graph"})
    refused({command, "bad.json"}, kBadModel, {"bad.json", "[graph-invalid]"});
  fs::create_directory(path("empty"));
  for (const std::string command : {"check", "run", "graph"})
    refused({command, "empty"}, kUsage, {"empty", "[graph-files]", "graph.json"});
  fs::create_directory(path("two"));
  write_compiled("two/graph.json");
  write("two/graph.params", "cut short");
  refused({"check", "two"}, kBadModel, {"two/graph.params", "[params-invalid]"});
  refused({"run", "none.json"}, kUsage, {"none.json", "[file-unreadable]"});
  write("op.json", R"({"nodes": [{"op": "null", "name": "x", "inputs": []},
    {"op": "relu", "name": "y", "inputs": [[0, 0, 0]]}], "arg_nodes": [0], "heads": [[1, 0, 0]]})");
  refused({"run", "op.json"}, kUsage, {"[graph-input-shape]", "--input-shapes x:"});
  refused({"run", "op.json", "--input-shapes", "x:[n]"}, kUsage, {"--input-shapes x", "numbers"});
  works({"run", "op.json", "--input-shapes", "x:[2]"});
}

TEST_F(Graphs, AreDumpedNodeByNode) {
  write("m.relay",
        "def @main(%x: Tensor[(3), float32]) { (nn.softmax(nn.relu(%x)), sum(nn.softmax(negative(%x)))) }\n");
  works({"compile", "m.relay", "--emit", "graph", "-O0", "-o", "g"});
  works({"run", "g", "--engine", "graph", "-O0", "--dump", "all.npz", "-o", "out.npz"});
  const frontend::data::NamedTensors all = tensors("all.npz"), out = tensors("out.npz");
  ASSERT_EQ(all.size(), 5u);
  std::vector<std::string> names;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].name.substr(0, 4), "00" + std::to_string(i) + "_");
    names.push_back(all[i].name.substr(4));
  }
  // Each by itself is what it was among all, and the outputs are there under their names.
  for (size_t i = 0; i < all.size(); ++i) {
    for (const std::string& name : {names[i], std::to_string(i)}) {
      works({"run", "g", "--engine", "graph", "-O0", "--to", name, "-o", "one.npz"});
      EXPECT_TRUE(identical(tensors("one.npz")[0].value, all[i].value)) << name;
    }
    for (const frontend::data::NamedTensor& t : out) {
      if (t.name == names[i]) {
        EXPECT_TRUE(identical(t.value, all[i].value));
      }
    }
  }
  works({"run", "g", "--engine", "graph", "--dump", "folder"});
  EXPECT_FALSE(fs::is_empty(path("folder")));
  works({"run", "g", "--engine", "graph", "--to", names.front(), "-O0", "--dump", "few.params"});
  EXPECT_LT(tensors("few.params").size(), all.size());
  refused({"run", "g", "--engine", "graph", "--to", "nobody"}, kUsage, {"--to nobody", "0 to"});
  refused({"run", "g", "--engine", "interp", "--to", "0"}, kUnsupported, {"interp", "--engine graph"});
  refused({"run", "g", "--engine", "graph", "--dump", "x.csv"}, kUsage, {"--dump x.csv"});
}

TEST_F(Graphs, ConstructsThatAreNotStaticAreNamed) {
  const std::vector<std::pair<std::string, std::string>> programs = {
      {"def @main(%x: Tensor[(), bool]) { if (%x) { 1f } else { 2f } }", "`if` is not static"},
      {"def @main(%x: float32) { ref_read(ref(%x)) }", "a reference is not static"},
      {"def @main(%x: float32) { let %f = fn (%y: float32) { add(%x, %y) }; %f(%f(%x)) }",
       "a function value"},
      {"def @f(%x: float32) -> float32 { if (%x < 1f) { %x } else { @f(%x / 2f) } } "
       "def @main(%x: float32) { @f(%x) }",
       "another function"},
      {"type T { A(float32), B } def @main(%x: float32) { match (ref_read(ref(A(%x)))) { A(%y) => %y, B => "
       "%x } }",
       "`match` is not static"},
  };
  for (const auto& [text, words] : programs) {
    write("m.relay", text + "\n");
    refused({"run", "m.relay", "--engine", "graph"}, kUnsupported,
            {"m.relay:1:", words, "`interp` and `jit` run any program", "engine `graph` cannot run"});
    works({"run", "m.relay", "--engine", "interp"});
  }
}

}  // namespace
}  // namespace relay::tests
