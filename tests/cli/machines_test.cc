// `relay compile --target aarch64`: artifacts for another machine than this one, run where there is
// an emulator of it.
#include <unistd.h>

#include "base/cat.h"
#include "frontend/data/npy.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

constexpr const char kCompiler[] = "/usr/bin/aarch64-linux-gnu-g++", kEmulator[] = "/usr/bin/qemu-aarch64",
                     kLibraries[] = "/usr/aarch64-linux-gnu";

class Aarch64 : public Cli {
 protected:
  void SetUp() override {
    for (const std::string file : {kCompiler, kEmulator, kLibraries}) {
      ASSERT_EQ(access(file.c_str(), R_OK), 0) << file << " is not there: ./dev install";
    }
    Cli::SetUp();
    write_sum("m.relay");
  }
  Ended emulated(Words command) const {
    command.insert(command.begin(), {kEmulator, "-L", kLibraries});
    return run({.command = std::move(command), .folder = path("")});
  }
  void write_floats(const std::string& name, Shape shape, const std::vector<float>& values) const {
    write(name, frontend::data::npy_bytes(Tensor::of<float>(kFloat32, std::move(shape), values)));
  }
};

TEST_F(Aarch64, AProgramComputesWhatItDoesHere) {
  // Numbers that no order of the sums can change; a loop, so that values are there;
  // weights in a file.
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
                .find("\"target\":\"aarch64:neon\""),
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

// The programs of examples/deploy, by CMake and by pkg-config, with the cross compiler.
TEST_F(Aarch64, APackageIsBuiltWith) {
  const std::string deploy = of_checkout("examples/deploy"),
                    images = of_checkout("examples/models/mnist_8/digits/images.npy");
  works({"compile", mnist(), "--target", "aarch64", "--emit", "package", "-o", "all", "--package-name",
         "mnist", "--weights-file"});
  works({"compile", deploy + "/sums.relay", "--target", "aarch64", "--emit", "package", "-o", "all",
         "--package-name", "sums"});
  const auto builds = [&](Words command, std::map<std::string, std::string> environment = {}) {
    const Ended ended =
        run({.command = std::move(command), .folder = path(""), .environment = std::move(environment)});
    ASSERT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  };
  const auto prints = [&](const Words& command, const std::string& out) {
    const Ended ended = emulated(command);
    EXPECT_EQ(ended.exit_code, kOk) << ended.err;
    EXPECT_EQ(ended.out, out);
  };
  builds({"/usr/bin/cmake", "-S", deploy, "-B", "build", "-D", "CMAKE_PREFIX_PATH=" + path("all"), "-D",
          "CMAKE_SYSTEM_NAME=Linux", "-D", "CMAKE_SYSTEM_PROCESSOR=aarch64", "-D",
          "CMAKE_C_COMPILER=/usr/bin/aarch64-linux-gnu-gcc", "-D", cat("CMAKE_CXX_COMPILER=", kCompiler)});
  builds({"/usr/bin/cmake", "--build", "build"});
  prints({"build/deploy", images, "72"}, "7\n");
  prints({"build/deploy_threads", images, "0", "31"}, "0\n3\n");
  prints({"build/sums", "1", "2", "3", "10", "20", "30"}, "1 2 3\n11 22 33\n");

  const std::string by_hand = cat("aarch64-linux-gnu-gcc ", deploy,
                                  "/deploy.c $(pkg-config --cflags --libs mnist) "
                                  "-Wl,-rpath,$(pkg-config --variable=libdir mnist) -o by_hand");
  builds({"/bin/sh", "-c", by_hand}, {{"PKG_CONFIG_PATH", path("all/lib/pkgconfig")}});
  prints({"./by_hand", images, "45"}, "4\n");

  // It is no package for this machine: the linker does not take its library.
  const Ended here = run({.command = {"/bin/sh", "-c", by_hand.substr(by_hand.find("gcc"))},
                          .folder = path(""),
                          .environment = {{"PKG_CONFIG_PATH", path("all/lib/pkgconfig")}}});
  EXPECT_NE(here.exit_code, 0);
  EXPECT_NE(here.err.find("libmnist.so"), std::string::npos) << here.err;
}

// --- what needs neither --------------------------------------------------------------------------

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

TEST_F(Machines, BracesOverrideNumbersOfAProcessor) {
  // The weights are 640 KiB: they are packed for all rows at once if the second cache holds them.
  write("net.relay",
        "def @main(%x: Tensor[(64, 400), float32]) { nn.dense(%x, full(1f, shape=[400, 400])) }\n");
  const auto kernels = [&](const std::string& target) {
    return works({"opt", "net.relay", "-O2", "--target", target, "--emit", "kernel"});
  };
  EXPECT_NE(kernels("cpu:avx2{l2=64K}"), kernels("cpu:avx2"));
  EXPECT_EQ(kernels("avx2{l2=1024K}"), kernels("cpu:avx2")) << "as the table has it";
  const std::string json =
      works({"compile", "m.relay", "--target", "avx512,avx2{l2=512K,l1=48K}", "--json", "-o", "x.so"});
  EXPECT_NE(json.find("\"cpu:avx512,cpu:avx2{l1=48K,l2=512K}\""), std::string::npos) << json;
  refused({"compile", "m.relay", "--target", "avx2{l4=1M}", "-o", "x.so"}, kUsage,
          {"no number of a target `l4`", "did you mean `l1`?"});
  refused({"compile", "m.relay", "--target", "avx512,avx2{l1=1}", "-o", "x.so"}, kUsage,
          {"`l1` cannot be `1`", "from 1K"});
  refused({"run", "m.relay", "--engine", "jit", "--target", "cpu:avx2{l1=48K"}, kUsage, {"no closing brace"});
}

TEST_F(Machines, OneLibraryIsOfOneMachine) {
  refused({"compile", "m.relay", "--target", "avx2,aarch64", "-o", "x.so"}, kUsage,
          {"cpu:avx2 and aarch64:neon are of two machines"});
}

// To print is not to run.
TEST_F(Machines, KernelsForAnotherOneArePrinted) {
  const Words opt{"opt", "m.relay", "-O2", "--target", "aarch64", "--emit"};
  const auto printed = [&](const std::string& form) {
    Words all = opt;
    all.push_back(form);
    return works(all);
  };
  EXPECT_NE(printed("kernel").find("kernel k0_"), std::string::npos) << printed("kernel");
  EXPECT_NE(printed("llvm").find("target triple = \"aarch64"), std::string::npos) << printed("llvm");
  refused({"opt", "m.relay", "--target", "z80"}, kUsage, {"no target `z80`", "avx2", "aarch64"});
}

TEST_F(Machines, WhatIsForAnotherOneIsNotRunHere) {
  for (const std::string command : {"run", "bench", "verify"})
    refused({command, "m.relay", "--target", "aarch64"}, kUsage,
            {"--target", "no aarch64 machine", "`relay compile` makes code for it"});
  refused({"compile", "m.relay", "--target", "z80"}, kUsage, {"no target `z80`", "avx2", "aarch64"});
}

}  // namespace
}  // namespace relay::tests
