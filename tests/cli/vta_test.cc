// Layers on a VTA: run and profiled, drawn, listed, and written for another simulator.
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/cat.h"
#include "frontend/data/inputs.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

using frontend::data::NamedTensors;

// A constant of random bytes, the same on every machine.
std::string weights(const std::vector<int64_t>& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int> numbers;
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  for (int64_t i = 0; i < size; ++i) numbers.push_back(static_cast<int8_t>(random()));
  return cat("reshape(tensor([", join(numbers, ", "), "], int8), newshape=[", join(shape, ", "), "])");
}

// 16 positions of 16 channels to 32 and back: 32 micro-ops each.
std::string network() {
  return cat("def @main(%x: Tensor[(1, 16, 4, 4), int8]) {\n  %0 = nn.conv2d(%x, ",
             weights({32, 16, 1, 1}, 1),
             ", out_dtype=\"int32\");\n  %1 = nn.relu(qnn.rescale(%0, shift=3));\n  %2 = nn.conv2d(%1, ",
             weights({16, 32, 1, 1}, 2),
             ", out_dtype=\"int32\");\n  (qnn.rescale(%2, shift=8), nn.conv2d(cast(%x, dtype=\"float32\"), "
             "full(1f, shape=[1, 16, 1, 1], dtype=\"float32\")))\n}\n");
}

class VtaCommands : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write("net.relay", network());
  }
  NamedTensors tensors(const std::string& name) const {
    Diagnostics d;
    const Result<NamedTensors> read =
        frontend::data::read_tensors(path(name), frontend::data::Role::kOutput, {}, d);
    EXPECT_TRUE(read.ok()) << d.render(SourceMap());
    return read ? *read : NamedTensors{};
  }
};

TEST_F(VtaCommands, ARunHasTheResultsOfTheInterpreterAndAProfile) {
  for (const std::string engine : {"interp", "vta"})
    works({"run", "net.relay", "--engine", engine, "--fill", "random", "-o", engine + ".npz"});
  EXPECT_EQ(read("vta.npz"), read("interp.npz"));
  const std::vector<int64_t> numbers = tensors("vta.npz").at(0).value.ints();
  EXPECT_GT(std::set<int64_t>(numbers.begin(), numbers.end()).size(), 64u) << "of 256: they say something";
  const std::string out =
      works({"run", "net.relay", "--engine", "vta", "--target", "vta{host=sse2}", "--profile"});
  for (const std::string word : {"vta{host=sse2}", "GEMM bound", "layer 0: nn.conv2d", "layer 1: nn.conv2d",
                                 "times the GEMM bound", "stays on the CPU:", "`nn.conv2d` at net.relay:5:"})
    EXPECT_NE(out.find(word), std::string::npos) << word << "\n" << out;
}

TEST_F(VtaCommands, AProfileAsJsonAddsUp) {
  const nlohmann::json j =
      nlohmann::json::parse(works({"run", "net.relay", "--engine", "vta", "--profile", "--json"}));
  EXPECT_EQ(j.at("outputs").size(), 2u);
  const nlohmann::json& profile = j.at("profile");
  ASSERT_EQ(profile.at("layers").size(), 2u);
  uint64_t cycles = 0, bytes = 0;
  for (const nlohmann::json& layer : profile.at("layers")) {
    EXPECT_EQ(layer.at("runs"), 1);
    EXPECT_EQ(layer.at("gemm_bound"), 32) << layer;
    EXPECT_GE(layer.at("cycles"), layer.at("gemm_bound"));
    EXPECT_GE(layer.at("cycles"), layer.at("bus_bound"));
    cycles += layer.at("cycles").get<uint64_t>(), bytes += layer.at("bytes").get<uint64_t>();
  }
  EXPECT_EQ(profile.at("total").at("cycles"), cycles);
  EXPECT_EQ(profile.at("total").at("bytes"), bytes);
  ASSERT_FALSE(profile.at("cpu").empty());
  EXPECT_EQ(profile.at("cpu")[0].at("operator"), "nn.conv2d");
}

TEST_F(VtaCommands, ARooflineIsDrawn) {
  works({"run", "net.relay", "--engine", "vta", "--plot", "roof.svg"});
  const std::string svg = read("roof.svg");
  for (const std::string word :
       {"<svg ", "products per byte", "products per cycle", ">layer 0<", ">layer 1<", "</svg>"})
    EXPECT_NE(svg.find(word), std::string::npos) << word << "\n" << svg;
  refused({"run", "net.relay", "--engine", "vta", "--plot", "none/roof.svg"}, kLimit, {"none"});
}

TEST_F(VtaCommands, AListingNamesOperatorsAndWhatStaysOnTheCpu) {
  const std::vector<std::string> listed{"compile", "net.relay", "--emit",
                                        "vta",     "--target",  "vta{host=sse2}"};
  const std::string out = works(listed);
  for (const std::string word :
       {"# vta{host=sse2}\n", "# layer 0: nn.conv2d", "# tile ", "\ngemm ", "\nfinish",
        "net.relay:2:", "# stays on the CPU:\n#   `nn.conv2d` at net.relay:5:"})
    EXPECT_NE(out.find(word), std::string::npos) << word << "\n" << out;
  EXPECT_EQ(works(listed), out) << "the same bytes";
  std::vector<std::string> to_file = listed;
  to_file.insert(to_file.end(), {"-o", "net.vta"});
  works(to_file);
  EXPECT_EQ(read("net.vta"), out);
  to_file.back() = "net.relay";
  refused(to_file, kUsage, {"output-is-input"});
}

TEST_F(VtaCommands, StreamsAreWrittenForAnotherSimulator) {
  works({"compile", "net.relay", "--emit", "vta-stream", "-o", "streams"});
  for (const std::string layer : {"layer_0", "layer_1"}) {
    for (const std::string file : {"instructions.bin", "uop.bin", "input.bin", "weight.bin",
                                   "accumulator.bin", "expected_out.bin", "vta_config.json"})
      EXPECT_TRUE(exists("streams/" + layer + "/" + file)) << layer << "/" << file;
    EXPECT_EQ(read("streams/" + layer + "/instructions.bin").size() % 16, 0u);
  }
  EXPECT_EQ(read("streams/layer_0/input.bin").size(), 256u);
  EXPECT_EQ(read("streams/layer_0/expected_out.bin").size(), 512u);
  const std::string before = read("streams/layer_1/expected_out.bin");
  works({"compile", "net.relay", "--emit", "vta-stream", "-o", "streams"});
  EXPECT_EQ(read("streams/layer_1/expected_out.bin"), before) << "the same bytes";
}

TEST_F(VtaCommands, LayersWithoutFilesAreNamed) {
  write(
      "pool.relay",
      "def @main(%x: Tensor[(1, 16, 4, 4), int8]) { nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2]) }\n");
  refused({"compile", "pool.relay", "--emit", "vta-stream", "-o", "streams"}, kUnsupported,
          {"layer 0: nn.max_pool2d has no files", "no layer has files"});
}

// Two layers, and an operator of the processor between them; the same layer twice, whose constants
// the VTA has once; in the order NHWC with a tensor.
TEST_F(VtaCommands, AnArtifactRunsItsLayersOnTheSimulator) {
  const auto two = [](const std::string& first, const std::string& second) {
    return cat("def @main(%x: Tensor[(3, 16, 4, 4), int8]) {\n  %0 = nn.conv2d(%x, ", first,
               ", out_dtype=\"int32\");\n  %1 = bitwise_xor(nn.relu(qnn.rescale(%0, shift=3)), 85i8);\n  ",
               "%2 = nn.conv2d(%1, ", second, ", out_dtype=\"int32\");\n  qnn.rescale(%2, shift=8)\n}\n");
  };
  write("two.relay", two(weights({20, 16, 1, 1}, 1), weights({16, 20, 1, 1}, 2)));
  write("same.relay", two(weights({16, 16, 1, 1}, 3), weights({16, 16, 1, 1}, 3)));
  write("nhwc.relay", R"(
def @main(%x: Tensor[(2, 5, 6, 2), int8], %y: Tensor[(2, 5, 6, 3), int8]) {
  %0 = nn.conv2d(%x, tensor([[[[11, 52, 33], [-44, 15, -26]]]], int8), data_layout="NHWC", kernel_layout="HWIO",
                 out_dtype="int32");
  %1 = bitwise_xor(qnn.rescale(add(right_shift(%0, 1), cast(%y, dtype="int32"))), 85i8);
  %2 = nn.conv2d(%1, tensor([[[[11], [42], [-33]]]], int8), data_layout="NHWC", kernel_layout="HWIO",
                 out_dtype="int32");
  qnn.rescale(%2, shift=3)
}
)");
  for (const std::string model : {"two", "same", "nhwc"}) {
    works({"run", model + ".relay", "--engine", "interp", "--fill", "random", "-o", "interp.npz"});
    for (const std::string target : {"vta", "vta{batch=2,host=sse2}"}) {
      if (model == "same" && target != "vta") continue;
      const auto d = nlohmann::json::parse(
          works({"compile", model + ".relay", "--target", target, "-o", model + ".so", "--json"}));
      EXPECT_EQ(d.at("vta").at("layers").size(), 2u) << d;
      EXPECT_EQ(d.at("vta").at("parameters").at("LOG_BATCH"), target == "vta" ? 0 : 1);
      works({"run", model + ".so", "--fill", "random", "-o", "so.npz"});
      EXPECT_EQ(read("so.npz"), read("interp.npz")) << model << " " << target;
    }
  }
  EXPECT_NE(read("two.h").find("relay_vta_driver"), std::string::npos);
  const std::string checked = works({"check", "two.so"});
  for (const std::string words : {"needs     a VTA with ", "LOG_BATCH 1,", "on it     layer 1: nn.conv2d"})
    EXPECT_NE(checked.find(words), std::string::npos) << words << "\n" << checked;
}

TEST_F(VtaCommands, AnArtifactWithoutLayersSaysSo) {
  write_sum("sum.relay");
  const std::string said = relay({"compile", "sum.relay", "--target", "vta", "-o", "sum.so"}).err;
  EXPECT_NE(said.find("no layer of the model runs on the VTA"), std::string::npos) << said;
}

TEST_F(VtaCommands, AnArtifactIsNotProfiled) {
  works({"compile", "net.relay", "-o", "net.so"});
  refused({"run", "net.so", "--profile"}, kUsage, {"--profile", "--engine vta"});
  refused({"run", "net.so", "--plot", "x.svg"}, kUsage, {"--plot", "--engine vta"});
}

TEST_F(VtaCommands, CheckNamesTheEngineWhereItTakesTheModel) {
  EXPECT_NE(works({"check", "net.relay"}).find("engine vta      takes it\n"), std::string::npos);
  write_sum("sum.relay");
  EXPECT_EQ(works({"check", "sum.relay"}).find("engine vta"), std::string::npos);
}

TEST_F(VtaCommands, VerifyRunsTheEngineWhereItIsAskedTo) {
  EXPECT_NE(works({"verify", "net.relay", "--engines", "vta"}).find("vta -O2"), std::string::npos);
  EXPECT_NE(works({"verify", "net.relay", "--engines", "vta", "--target", "vta{block=8}"}).find("vta -O2"),
            std::string::npos);
}

// Of 360 images that the network has not seen: a processor and a VTA give the same scores, and get
// as many right as floats do, but for half a point.
TEST_F(VtaCommands, TheGlobalSchemeKeepsItsAccuracyOnDigits) {
  const std::string folder = of_checkout("examples/vta/digits");
  const Ended ended =
      run({.command = {"/bin/sh", of_checkout("examples/vta/digits.sh"), of_checkout("tools/relay")},
           .folder = path(""),
           .environment = {{"TMPDIR", temporary()}, {"XDG_CACHE_HOME", cache()}}});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(read("vta.npz"), read("jit.npz"));
  Diagnostics d;
  const Result<NamedTensors> labels =
      frontend::data::read_tensors(folder + "/labels.npy", frontend::data::Role::kOutput, {}, d);
  ASSERT_TRUE(labels.ok()) << d.render(SourceMap());
  const Tensor& wanted = labels->at(0).value;
  ASSERT_EQ(wanted.size(), 360);
  std::map<std::string, double> points;
  for (const std::string run : {"float32", "jit", "vta"}) {
    const Tensor scores = tensors(run + ".npz").at(0).value;
    ASSERT_EQ(scores.shape(), (Shape{360, 10}));
    int right = 0;
    for (int64_t i = 0; i < 360; ++i) {
      const std::span<const float> of_image = scores.as<float>().subspan(static_cast<size_t>(10 * i), 10);
      right += std::ranges::max_element(of_image) - of_image.begin() == wanted.get_int(i);
    }
    points[run] = 100.0 * right / 360;
    EXPECT_NE(ended.out.find(cat(run, ".npz: ", right, " of 360, ")), std::string::npos) << ended.out;
  }
  EXPECT_GT(points["float32"], 97);
  EXPECT_NEAR(points["jit"], points["float32"], 0.5);
  EXPECT_NEAR(points["vta"], points["float32"], 0.5);
}

TEST_F(VtaCommands, TheExampleGoesFromOnnxToCycles) {
  const Ended ended =
      run({.command = {"/bin/sh", of_checkout("examples/vta/mnist.sh"), of_checkout("tools/relay")},
           .folder = path(""),
           .environment = {{"TMPDIR", temporary()}, {"XDG_CACHE_HOME", cache()}}});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (const std::string word : {"Plus214_Output_0", "layer 0: qnn.conv2d", "times the GEMM bound"})
    EXPECT_NE(ended.out.find(word), std::string::npos) << word << "\n" << ended.out;
  EXPECT_NE(read("mnist8.vta").find("# layer 0: qnn.conv2d"), std::string::npos);
  EXPECT_NE(read("roofline.svg").find(">layer 0<"), std::string::npos);
}

}  // namespace
}  // namespace relay::tests
