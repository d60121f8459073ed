// examples/embed: the compiler inside of a program, built by Bazel and, from what `./dev cpp`
// copies, by CMake.
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

class Embed : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write("m.relay",
          "def @main(%x: Tensor[(2, 3), float32]) { let %h = nn.relu(%x + 1.5f); (sum(%h), %h) }\n");
    write("traps.relay", "def @main(%x: Tensor[(), int32]) { 7 / %x }\n");
    write("recursive.relay",
          "def @down(%n: int32) -> int32 { if (%n <= 0) { %n } else { @down(%n - 1) } }\n"
          "def @main(%n: int32) { @down(%n) }\n");
  }
  void serves(const std::string& program) const {
    const auto runs = [&](Words arguments) {
      arguments.insert(arguments.begin(), program);
      return run({.command = std::move(arguments), .folder = path("")});
    };
    for (const std::string engine : {"interp", "jit", "graph", "aot-cpp"}) {
      const Ended ended = runs({"m.relay", engine});
      EXPECT_EQ(ended.exit_code, 0) << engine << ": " << ended.err;
      EXPECT_EQ(ended.out.find("output_0 = Tensor[(), float32] 9\n"), 0u) << engine << ": " << ended.out;
    }
    const Ended trapped = runs({"traps.relay"});
    EXPECT_EQ(trapped.exit_code, 1);
    EXPECT_NE(trapped.err.find("division by zero"), std::string::npos) << trapped.err;
    const Ended skipped = runs({"recursive.relay", "graph"});
    EXPECT_EQ(skipped.exit_code, 1);
    EXPECT_NE(skipped.err.find("[not-static-dataflow]"), std::string::npos) << skipped.err;
    EXPECT_NE(runs({"m.relay", "grpah"}).err.find("did you mean `graph`?"), std::string::npos);
    EXPECT_NE(runs({"none.relay"}).err.find("[file-unreadable]"), std::string::npos);
    EXPECT_NE(runs({"m.txt"}).err.find("[model-form-unknown]"), std::string::npos);
  }
};

TEST_F(Embed, ByBazel) { serves(of_checkout("examples/embed/embed")); }

TEST_F(Embed, ByCMake) {
  const auto builds = [&](Words command) {
    const Ended ended = run({.command = std::move(command), .folder = path("")});
    ASSERT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  };
  builds({"/usr/bin/cmake", "-S", of_checkout("examples/embed"), "-B", "build", "-D",
          "CMAKE_PREFIX_PATH=" + of_checkout("driver/cpp")});
  builds({"/usr/bin/cmake", "--build", "build"});
  serves(path("build/embed"));
}

}  // namespace
}  // namespace relay::tests
