// The programs of examples/deploy: compiled as they say, against what
// `relay compile` makes, and run.
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

class Deploy : public Cli {
 protected:
  static std::string source(const std::string& name) { return of_checkout("examples/deploy/" + name); }
  static std::string images() { return of_checkout("examples/models/mnist_8/digits/images.npy"); }

  // Warnings are errors: users copy these texts.
  void compiles(Words command, const std::string& library) const {
    command.insert(command.end(),
                   {"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I.", "./" + library, "-o", "program"});
    const Ended made = run({.command = command, .folder = path("")});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  Ended runs(const Words& command) const { return run({.command = command, .folder = path("")}); }
  void prints(const Words& command, const std::string& out) const {
    const Ended ended = runs(command);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.out, out);
  }
  void fails(const Words& command, int code, const std::string& words) const {
    const Ended ended = runs(command);
    EXPECT_EQ(ended.exit_code, code) << ended.err;
    EXPECT_NE(ended.err.find(words), std::string::npos) << ended.err;
  }
};

// Of the images ten show each digit, in order.
TEST_F(Deploy, C) {
  works({"compile", mnist(), "-o", "mnist.so"});
  compiles({"/usr/bin/gcc", "-std=c99", source("deploy.c")}, "mnist.so");
  prints({path("program"), images(), "72"}, "7\n");
  fails({path("program"), images(), "100"}, 3, "no image 100");
  fails({path("program")}, 2, "usage");
}

// The source that `relay` prints is all that the library is made of.
TEST_F(Deploy, FromTheSource) {
  for (const bool in_file : {false, true}) {
    Words command{"compile", mnist(), "--emit", "cpp", "--target", "sse2", "-o", "mnist.cc"};
    if (in_file) command.push_back("--weights-file");
    works(command);
    EXPECT_EQ(exists("mnist.safetensors"), in_file);
    ASSERT_TRUE(exists("mnist.weights"));
    const Ended made = runs({"/usr/bin/g++", "-std=c++17", "-O1", "-msse2", "-Wall", "-Wextra", "-Werror",
                             "-shared", "-fPIC", "mnist.cc", "-o", "mnist.so"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    works({"compile", mnist(), "--emit", "header", "-o", "mnist.h"});
    compiles({"/usr/bin/gcc", "-std=c99", source("deploy.c")}, "mnist.so");
    prints({path("program"), images(), "72"}, "7\n");
  }
  refused({"compile", mnist(), "--emit", "cpp", "--target", "avx2,sse2", "-o", "other.cc"}, kUsage,
          {"--target", "one target"});
}

TEST_F(Deploy, Cpp) {
  works({"compile", mnist(), "-o", "mnist.so", "--weights-file"});
  compiles({"/usr/bin/g++", "-std=c++17", "-pthread", source("deploy.cc")}, "mnist.so");
  prints({path("program"), images(), "0", "31", "99"}, "0\n3\n9\n");
  fails({path("program"), "nowhere.npy", "0"}, 3, "no .npy file");
  fails({path("program")}, 2, "usage");
  write("mnist.safetensors", "cut short");
  fails({path("program"), images(), "0"}, 3, "the weights");
}

TEST_F(Deploy, Python) {
  works({"compile", mnist(), "-o", "mnist.so"});
  const std::string python = "/usr/bin/python3", program = source("deploy.py");
  prints({python, program, "mnist.so", images(), "45"}, "4\n");
  fails({python, program, "mnist.so", images(), "100"}, 1, "no image 100");
  fails({python, program, "nowhere.so", images(), "0"}, 1, "deploy.py: ");
  fails({python, program, "nowhere.so", images(), "0"}, 1, "nowhere.so");
  // A model that takes something else is no crash.
  write_sum("m.relay");
  works({"compile", "m.relay", "-o", "m.so"});
  fails({python, program, "m.so", images(), "0"}, 1, "`x` has 3 elements, 784 were given");
}

TEST_F(Deploy, ListsGoInAndOut) {
  works({"compile", source("sums.relay"), "-o", "sums.so"});
  compiles({"/usr/bin/gcc", "-std=c99", source("sums.c")}, "sums.so");
  prints({path("program"), "1", "2", "3", "10", "20", "30", "100", "200", "300"},
         "1 2 3\n11 22 33\n111 222 333\n");
  prints({path("program")}, "");
  fails({path("program"), "1"}, 2, "usage");
}

}  // namespace
}  // namespace relay::tests
