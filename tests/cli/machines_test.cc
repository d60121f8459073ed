// `relay compile --target aarch64`: artifacts for another machine than this one, run where there is an emulator of it.
#include <unistd.h>

#include "base/cat.h"
#include "frontend/data/npy.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

constexpr const char kCompiler[] = "/usr/bin/aarch64-linux-gnu-g++", kEmulator[] = "/usr/bin/qemu-aarch64",
                     kLibraries[] = "/usr/aarch64-linux-gnu";

// What a test needs that `./dev` does not install, because it takes 400 MB on a disk.
class Aarch64 : public Cli {
 protected:
  void SetUp() override {
    for (const std::string file : {kCompiler, kEmulator, kLibraries}) {
      if (access(file.c_str(), R_OK) != 0)
        GTEST_SKIP() << file << " is not there: apt-get install g++-aarch64-linux-gnu qemu-user";
    }
    Cli::SetUp();
    write_sum("m.relay");
  }
  Ended emulated(Words command) const {
    command.insert(command.begin(), {kEmulator, "-L", kLibraries});
    return run({.command = std::move(command), .folder = path("")});
  }
  void write_floats(const std::string& name, Shape shape, const std::vector<float>& values) const {
    write(name, data::npy_bytes(Tensor::of<float>(kFloat32, std::move(shape), values)));
  }
};

TEST_F(Aarch64, AProgramComputesWhatItDoesHere) {
  // Numbers that no order of the sums can change; a loop, so that values are there; weights in a file.
  write("net.relay",
        "def @again(%x: Tensor[(n, 8), float32], %i: int32) -> Tensor[(n, 8), float32] {\n"
        "  if (equal(%i, 0)) { %x } else { @again(nn.relu(subtract(%x, 3f)), subtract(%i, 1)) }\n"
        "}\n"
        "def @main(%x: Tensor[(n, 8), float32]) {\n"
        "  (@again(%x, 2), nn.dense(%x, tensor([[1, 2, 3, 4, 5, 6, 7, 8]], float32)), cast(%x, "
        "dtype=\"float16\"))\n"
        "}\n");
  std::vector<float> x(40);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 23);
  write_floats("x.npy", {5, 8}, x);
  const std::vector<std::string> arguments{"compile", "net.relay", "--emit", "exe", "--weights-file", "-o"};
  const auto compile = [&](const std::string& name, const std::string& target) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {name, "--target", target});
    works(all);
  };
  compile("here", "sse2");
  compile("there", "aarch64");
  const Ended here = run({.command = {path("here"), "x.npy"}, .folder = path("")});
  const Ended there = emulated({path("there"), "x.npy", "--weights", "there.safetensors"});
  ASSERT_EQ(here.exit_code, kOk) << here.err;
  ASSERT_EQ(there.exit_code, kOk) << there.err;
  EXPECT_EQ(there.out, here.out);
  EXPECT_EQ(emulated({path("there"), "x.npy", "--weights", "nowhere"}).exit_code, kBadModel);
}

TEST_F(Aarch64, ALibraryIsLinkedToAProgramOfThatMachine) {
  works({"compile", mnist(), "--target", "cpu:aarch64", "-o", "mnist.so"});
  EXPECT_NE(works({"compile", mnist(), "--target", "aarch64", "--json", "-o", "m.so"})
                .find("\"target\":\"aarch64\""),
            std::string::npos);
  const Ended made = run({.command = {kCompiler, "-x", "c++", "-I.", of_checkout("examples/deploy/deploy.c"),
                                      "-x", "none", "./mnist.so", "-o", "deploy"},
                          .folder = path("")});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  // Ten images of each digit.
  for (const char digit : {'3', '7'}) {
    const Ended ran = emulated(
        {"./deploy", of_checkout("examples/models/mnist_8/digits/images.npy"), std::string(1, digit) + "0"});
    EXPECT_EQ(ran.exit_code, kOk) << ran.err;
    EXPECT_EQ(ran.out, std::string(1, digit) + "\n");
  }
}

// --- what needs neither ---------------------------------------------------------------------------------------------

class Machines : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_sum("m.relay");
  }
};

TEST_F(Machines, WithoutItsCompilerTheRemedyIsNamed) {
  refused({"compile", "m.relay", "--target", "aarch64", "-o", "x.so"}, kUnsupported,
          {"[cannot-compile]", "RELAY_CXX_AARCH64", "/nowhere/g++"},
          {.environment = {{"RELAY_CXX_AARCH64", "/nowhere/g++"}}});
  refused({"compile", "m.relay", "--target", "aarch64", "-o", "x.so"}, kUnsupported,
          {"[cannot-compile]", "apt-get install g++-aarch64-linux-gnu"},
          {.environment = {{"PATH", path("")}, {"RELAY_CXX_AARCH64", ""}}});
}

TEST_F(Machines, OneLibraryIsOfOneMachine) {
  refused({"compile", "m.relay", "--target", "avx2,aarch64", "-o", "x.so"}, kUsage,
          {"avx2 and aarch64 are of two machines"});
}

TEST_F(Machines, WhatIsForAnotherOneIsNotRunHere) {
  for (const std::string command : {"run", "bench", "verify"})
    refused({command, "m.relay", "--target", "aarch64"}, kUsage, {"--target", "no target `aarch64`"});
  refused({"compile", "m.relay", "--target", "z80"}, kUsage, {"no target `z80`", "avx2", "aarch64"});
}

}  // namespace
}  // namespace relay::tests
