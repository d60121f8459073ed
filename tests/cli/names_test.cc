// A value has one name: what one command shows, the others take.
#include <nlohmann/json.hpp>

#include "frontend/data/inputs.h"
#include "frontend/onnx/testing.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

using Json = nlohmann::json;

class Names : public Cli {
 protected:
  frontend::data::NamedTensors tensors(const std::string& name) const {
    Diagnostics diagnostics;
    Result<frontend::data::NamedTensors> out =
        frontend::data::read_tensors(path(name), frontend::data::Role::kOutput, {}, diagnostics);
    EXPECT_TRUE(out) << name;
    return out ? *out : frontend::data::NamedTensors();
  }
  // Every command that takes a name of a value takes this one.
  void expect_taken(const std::string& model, const std::string& name, const Words& inputs) const {
    const auto with = [&](Words words) {
      words.insert(words.end(), inputs.begin(), inputs.end());
      return words;
    };
    works(with({"run", model, "--engine", "graph", "-O0", "--to", name, "-o", "one.npz"}));
    works(with({"debug", model, "--break", name}), {.input = "continue\nfinish\nquit\n"});
    works(with({"debug", model, "--break", name + " if absmax >= 0"}),
          {.input = "continue\nstep\nprint " + name + "\nquit\n"});
    works(with({"verify", model, "--engines", "interp", "--expected", "one.npz"}));
  }
};

TEST_F(Names, OfAnOnnxModelAreItsTensors) {
  const std::string model = mnist();
  const Words inputs{"-i", mnist_inputs()};
  const auto json = [&](Words words) {
    words.insert(words.end(), inputs.begin(), inputs.end());
    words.push_back("--json");
    return Json::parse(works(words));
  };
  // What each shows:
  works({"run", model, "-i", mnist_inputs(), "--engine", "graph", "-O0", "--dump", "all.npz"});
  std::vector<std::string> dumped;
  for (const frontend::data::NamedTensor& t : tensors("all.npz")) dumped.push_back(t.name.substr(4));
  const auto shows = [&](const std::string& name) {
    return std::find(dumped.begin(), dumped.end(), name) != dumped.end();
  };
  EXPECT_TRUE(shows("Pooling66_Output_0") && shows("Plus214_Output_0"));
  size_t rows = 0;
  const Json profile = json({"bench", model, "--profile", "-O0", "--repeat", "1", "--warmup", "0"});
  for (const Json& k : profile.at("kernels")) {
    EXPECT_TRUE(shows(k.at("name"))) << k;
    ++rows;
  }
  EXPECT_GT(rows, 4u);
  const Json verified = json({"verify", model, "--every-op", "--engines", "graph", "--levels", "0"});
  for (const Json& o : verified.at("programs").at(0).at("operators").at("list")) {
    // A view has no kernel, so that a dump lacks it.
    EXPECT_TRUE(shows(o.at("name")) || o.at("operator") == "reshape") << o;
    EXPECT_EQ(o.at("at"), o.at("name"));
  }
  works({"bench", model, "-i", mnist_inputs(), "--trace", "t.json", "-O0", "--repeat", "1", "--warmup", "0"});
  const Json trace = Json::parse(read("t.json"));
  for (const Json& e : trace.at("traceEvents")) {
    if (e.at("cat") == "kernel") {
      EXPECT_TRUE(shows(e.at("name"))) << e;
    }
  }
  // And what each takes: the tensor, its node, and what a dump calls it.
  expect_taken(model, "Pooling66_Output_0", inputs);
  expect_taken(model, "Plus30", inputs);
  expect_taken(model, "%Plus30_Output_0", inputs);
  // A dump is what another program computed.
  works({"verify", model, "-i", mnist_inputs(), "--engines", "interp", "--expected", "all.npz"});
}

TEST_F(Names, OfATextAreThoseThatItBinds) {
  write("m.relay",
        "def @main(%x: Tensor[(2, 3), float32]) {\n"
        "  let %soft = nn.softmax(%x);\n"
        "  %0 = exp(%soft);\n"
        "  multiply(%0, add(%soft, %0))\n"
        "}\n");
  for (const std::string name : {"%soft", "soft", "%0"}) expect_taken("m.relay", name, {});
  works({"run", "m.relay", "--engine", "graph", "-O0", "--dump", "all.npz"});
  EXPECT_EQ(tensors("all.npz")[0].name, "000_soft");
  EXPECT_EQ(tensors("all.npz")[1].name, "001_0");
}

TEST_F(Names, AnUnknownOneGetsTheNearest) {
  const std::string model = mnist();
  refused({"run", model, "--engine", "graph", "--to", "Plus30_Output_1"}, kUsage,
          {"did you mean `Plus30_Output_0`?"});
  refused({"debug", model, "--break", "Plus31_Output_0"}, kUsage, {"did you mean", "_Output_0"});
  refused({"debug", model, "--break", "%Pluss30"}, kUsage, {"did you mean `Plus30`?"});
  // One that is not called so because it is fused away.
  refused({"run", model, "--engine", "graph", "--to", "Convolution28"}, kUsage, {"-O0"});
  // Digits are a line in a text, and with `%` a tensor.
  const frontend::TestModel numbered = frontend::TestModel()
                                           .input("1", {2})
                                           .node("Neg", {"1"}, {"2"})
                                           .node("Exp", {"2"}, {"exp"})
                                           .output("exp");
  write("m.onnx", numbered.proto.SerializeAsString());
  const std::string by_number = works({"debug", "m.onnx", "--break", "%2"}, {.input = "continue\nquit\n"});
  EXPECT_NE(by_number.find("before `negative`"), std::string::npos) << by_number;
}

}  // namespace
}  // namespace relay::tests
