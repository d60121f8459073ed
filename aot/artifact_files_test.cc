// The files of artifacts: sources, header, library and weights.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "aot/artifact_testing.h"
#include "base/cat.h"
#include "base/file.h"
#include "toolchain/subprocess.h"

namespace relay::aot {
namespace {

// The same shapes, other weights.
constexpr std::string_view kOtherProgram = R"(
def @main(%x: Tensor[(4, 64), float32], %n: Tensor[(8), int32]) {
  (nn.softmax(add(%x, tensor([[0.25]], float32))), floor_divide(%n, tensor([0, 1, 2, 3, 4, 5, 6, 8], int32) + %n))
}
)";

const Compiled& with_file() {
  static const Compiled c(kProgram, {.weights = Weights::kFile});
  return c;
}

TEST(Artifact, WeightsAreFoundBesideTheLibraryOrWhereTheCallerSays) {
  Opened a(embedded()), b(with_file());
  ASSERT_EQ(b.status, RELAY_OK) << b.error;
  ASSERT_EQ(a.go(), RELAY_OK);
  ASSERT_EQ(b.go(), RELAY_OK);
  EXPECT_EQ(a.y, b.y);
  TemporaryFolder elsewhere;
  ASSERT_EQ(elsewhere.make(), "");
  const std::string copy = elsewhere.path() + "/w";
  std::filesystem::copy_file(with_file().weights(), copy);
  Opened c(with_file(), {.weights_path = copy.c_str()});
  EXPECT_EQ(c.status, RELAY_OK) << c.error;
  Opened d(embedded(), {.weights_path = copy.c_str()});
  EXPECT_EQ(d.status, RELAY_USAGE);
  EXPECT_NE(std::string(d.error).find("inside its library"), std::string::npos) << d.error;
}

TEST(Artifact, MissingCutAndForeignWeightsAreRefused) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const auto refused = [&](const std::string& path, std::string_view why) {
    Opened r(with_file(), {.weights_path = path.c_str()});
    EXPECT_EQ(r.status, RELAY_BAD_MODEL) << path;
    EXPECT_NE(std::string(r.error).find(path), std::string::npos) << r.error;
    EXPECT_NE(std::string(r.error).find(why), std::string::npos) << r.error;
  };
  refused(folder.path() + "/none", "No such file");
  std::string bytes;
  ASSERT_EQ(read_file(with_file().weights(), 1 << 20, bytes), "");
  const std::string cut = folder.path() + "/cut";
  ASSERT_EQ(write_file_atomically(cut, bytes.substr(0, bytes.size() - 1)), "");
  refused(cut, "bytes, this model's have");
  const Sources other = sources_of(kOtherProgram, {kAnyProcessor}, {.weights = Weights::kFile});
  ASSERT_EQ(other.weights.size(), bytes.size()) << "else the size alone tells them apart";
  const std::string foreign = folder.path() + "/foreign";
  ASSERT_EQ(write_file_atomically(foreign, other.weights.text()), "");
  refused(foreign, "belong to another model");
}

// Kernels that are called like each other, or like what else is in the source.
TEST(Artifact, NamesOfKernelsAreNobodyElses) {
  std::string program, call = "%x";
  int count = 0;
  for (const std::string name : {"`odd name`", "odd_name", "odd_name_messages", "Stop", "relay_model",
                                 "memcpy", "kVariants", "exp", "k0_own"}) {
    program += cat("kernel @", name, R"((x: float32[]) -> (y: float32[]) {
  block b { reads x[]; writes y[]; require(x[] >= 0f, "negative"); y[] = x[] + 1f; }
}
)");
    call = cat("@", name, "(", call, ")");
    ++count;
  }
  const Compiled c(cat(program, "def @main(%x: float32) { ", call, " }\n"));
  Session r(c);
  ASSERT_EQ(r.status, RELAY_OK);
  float x = 3, y = 0;
  const DLTensor in = {&x, {kDLCPU, 0}, 0, {kDLFloat, 32, 1}, nullptr, nullptr, 0};
  DLTensor out = in;
  out.data = &y;
  const DLTensor* inputs[] = {&in};
  DLTensor* outputs[] = {&out};
  EXPECT_EQ(r.api->run(r.context, inputs, 1, outputs, 1), RELAY_OK) << r.said();
  EXPECT_EQ(y, static_cast<float>(3 + count));
}

TEST(Artifact, SameProgramSameBytes) {
  const Sources a = sources_of(kProgram, {kAnyProcessor}, {}), b = sources_of(kProgram, {kAnyProcessor}, {});
  ASSERT_EQ(a.files.size(), b.files.size());
  for (size_t i = 0; i < a.files.size(); ++i) EXPECT_EQ(a.files[i].text, b.files[i].text) << a.files[i].name;
  EXPECT_EQ(a.header, b.header);
  EXPECT_EQ(a.weights, b.weights);
}

TEST(Artifact, TheHeaderIsAllThatAProgramNeeds) {
  const Compiled& c = embedded();
  const std::string header = c.folder.path() + "/model.h";
  for (const char* language : {"c", "c++"}) {
    const auto done = toolchain::run({"cc", "-x", language, language[1] ? "-std=c++11" : "-std=c99", "-Wall",
                                      "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", header},
                                     c.folder.path(), 60);
    EXPECT_EQ(done.exit_code, 0) << language << ": " << done.output << done.problem;
  }
}

TEST(Artifact, ExportsTheInterfaceAndNeedsTheCLibraryOnly) {
  const Compiled& c = embedded();
  const auto symbols = toolchain::run({"nm", "-D", "--defined-only", "-P", c.path}, "", 60);
  ASSERT_EQ(symbols.exit_code, 0) << symbols.output << symbols.problem;
  std::istringstream lines(symbols.output);
  int exported = 0;
  for (std::string line; std::getline(lines, line); ++exported)
    EXPECT_EQ(line.substr(0, 6), "relay_") << line;
  EXPECT_EQ(exported, 18) << symbols.output;
  const auto head = toolchain::run({"objdump", "-p", c.path}, "", 60);
  ASSERT_EQ(head.exit_code, 0) << head.output << head.problem;
  std::istringstream needs(head.output);
  int needed = 0;
  for (std::string line; std::getline(needs, line);) {
    if (line.find("NEEDED") == std::string::npos) continue;
    ++needed;
    const bool c_library =
        line.find("libc.so") != std::string::npos || line.find("libm.so") != std::string::npos;
    EXPECT_TRUE(c_library) << line;
  }
  EXPECT_GE(needed, 1) << head.output;
}

TEST(Artifact, WeightsThatNoLibraryHoldsAreRefusedBeforeAnythingIsCompiled) {
  EXPECT_EQ(too_large_to_embed(uint64_t{1900} << 20), "");
  Sources sources = sources_of(kProgram, {kAnyProcessor}, {});
  sources.weights_bytes = uint64_t{1} << 31;
  sources.files.push_back({"model.cc", "#error it was compiled"});
  Diagnostics diagnostics;
  EXPECT_FALSE(compile(sources, Weights::kEmbedded, {}, diagnostics).ok());
  ASSERT_EQ(diagnostics.all().size(), 1);
  EXPECT_NE(diagnostics.all()[0].message().find("the weights have 2147483648 bytes"), std::string::npos)
      << diagnostics.all()[0].message();
  EXPECT_NE(diagnostics.render({}).find("--weights-file"), std::string::npos);
}

TEST(Artifact, ALibraryThatCannotBeWrittenLeavesNothingBehind) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const std::string blocked = folder.path() + "/model.so";
  std::filesystem::create_directories(blocked + "/in the way");
  Diagnostics diagnostics;
  EXPECT_FALSE(build(sources_of(kProgram, {kAnyProcessor}, {.weights = Weights::kFile}), Weights::kFile, {},
                     blocked, diagnostics)
                   .ok());
  ASSERT_EQ(diagnostics.all().size(), 1);
  EXPECT_EQ(diagnostics.all()[0].slug().name(), "file-unwritable");
  EXPECT_NE(diagnostics.all()[0].message().find(blocked), std::string::npos)
      << diagnostics.all()[0].message();
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    left.push_back(entry.path().filename());
  EXPECT_EQ(left, std::vector<std::string>{"model.so"});
}

}  // namespace
}  // namespace relay::aot
