// Products and convolutions that go to oneDNN, as a user sees it: partitioned, compared,
// profiled and compiled.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

using Json = nlohmann::json;

class Dnnl : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write("m.relay", R"(
def @main(%x: Tensor[(1, 3, 10, 10), float32], %w: Tensor[(8, 3, 3, 3), float32], %b: Tensor[(8), float32], %v: Tensor[(5, 8), float32]) {
  %0 = nn.relu(nn.bias_add(nn.conv2d(%x, %w), %b));
  %1 = nn.batch_flatten(nn.global_avg_pool2d(%0));
  nn.softmax(nn.dense(%1, %v))
}
)");
    works({"opt", "m.relay", "--passes", "partition-dnnl", "-o", "p.relay"});
  }
};

TEST_F(Dnnl, EnginesAgree) {
  const Json j = Json::parse(works({"verify", "p.relay", "--levels", "0,2", "--json"}));
  EXPECT_EQ(j.at("verdict"), "agrees");
}

TEST_F(Dnnl, AProfileNamesTheFunctions) {
  const Json j = Json::parse(works({"bench", "p.relay", "--profile", "--repeat", "3", "--json"}));
  std::vector<std::string> kernels;
  for (const Json& k : j.at("kernels")) {
    kernels.push_back(k.at("kernel"));
    if (kernels.back() == "dnnl_0") {
      EXPECT_EQ(k.at("origin"), "nn.conv2d + nn.bias_add + nn.relu");
      EXPECT_GT(k.at("seconds"), 0);
    }
  }
  for (const char* name : {"dnnl_0", "dnnl_1"})
    EXPECT_EQ(std::count(kernels.begin(), kernels.end(), name), 1) << j;
  const std::string table = works({"bench", "p.relay", "--profile", "--repeat", "3"});
  EXPECT_NE(table.find("dnnl_0 1x8x8x8 nn.conv2d + nn.bias_add + nn.relu"), std::string::npos) << table;
}

TEST_F(Dnnl, AnArtifactCallsIt) {
  const Ended made = relay({"compile", "p.relay", "-o", "p.so"});
  ASSERT_EQ(made.exit_code, kOk) << made.err;
  EXPECT_NE(made.err.find("libdnnl.so.2, from Debian's libdnnl2, must be there when it is loaded"),
            std::string::npos)
      << made.err;
  const auto values = [&](const std::string& model) {
    const Json outputs = Json::parse(works({"run", model, "--fill", "random", "--json"}));
    return outputs.at(0).at("values").get<std::vector<double>>();
  };
  const std::vector<double> given = values("p.so"), wanted = values("m.relay");
  ASSERT_EQ(given.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(given[i], wanted[i], 1e-5) << i;
  const std::string source = works({"compile", "p.relay", "--emit", "cpp"});
  for (const char* words : {"relay_dnnl::Convolution{{4, {1, 3, 10, 10}}", "relay_dnnl::Product{{2, {1, 8}}",
                            "int32_t external_dnnl_0(", "install libdnnl-dev"})
    EXPECT_NE(source.find(words), std::string::npos) << words;
}

TEST_F(Dnnl, WhatItRefusesIsSaid) {
  write("other.relay",
        "def @f(%x: Tensor[(2), float32], Compiler=\"tensorrt\") { tanh(%x) }\n"
        "def @main(%x: Tensor[(2), float32]) { @f(%x) }\n");
  for (const char* engine : {"graph", "aot-cpp"}) {
    const Ended ended = relay({"run", "other.relay", "--engine", engine});
    EXPECT_EQ(ended.exit_code, kOk) << ended.err;
    EXPECT_NE(ended.err.find("@f runs by its body: there is no code generator `tensorrt`"), std::string::npos)
        << ended.err;
  }
}

// The first thing that a compiler without the header says is what to install.
TEST_F(Dnnl, AMissingHeaderSaysWhatToInstall) {
  write("source.cc", works({"compile", "p.relay", "--emit", "cpp"}));
  const std::string source = read("source.cc");
  const size_t begin = source.find("#if !__has_include(<dnnl.h>)");
  ASSERT_NE(begin, std::string::npos);
  write("dnnl.cc", source.substr(begin));
  const Ended ended =
      run({.command = {"/usr/bin/g++", "-nostdinc", "-I.", "-Wfatal-errors", "-fsyntax-only", "dnnl.cc"},
           .folder = path("")});
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_NE(ended.err.find("install libdnnl-dev"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace relay::tests
