// `--emit python` and static libraries: what a program of somebody else does with them.
#include <sys/stat.h>

#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

class Deployed : public Cli {
 protected:
  Ended python(const std::string& program) const {
    return run({.command = {"/usr/bin/python3", "-c", program}, .folder = path("")});
  }
  Ended shell(const std::string& command) const {
    return run({.command = {"/bin/bash", "-c", command}, .folder = path("")});
  }
};

TEST_F(Deployed, AModuleTakesAndGivesArrays) {
  ASSERT_EQ(python("import numpy").exit_code, 0) << "apt-get install python3-numpy";
  write("m.relay",
        "def @main(%x: Tensor[(n, 2), float32], %b: Tensor[(2), int64]) {\n"
        "  (add(%x, 1f), less(%b, 3i64), reshape(cast(%b, dtype=\"uint8\"), newshape=[2, 1]))\n"
        "}\n");
  works({"compile", "m.relay", "--emit", "python", "-o", "net.py"});
  for (const std::string file : {"net.py", "libnet.so", "net.h"}) EXPECT_TRUE(exists(file)) << file;
  const Ended ended = python(
      "import net, numpy as np\n"
      "x = np.array([[1, 2], [3, 4], [5, 6]], 'float32')\n"
      "out = net.run(x, b=np.array([2, 4]))\n"
      "print(list(out), *(v.tolist() for v in out.values()), *(v.dtype for v in out.values()))\n"
      "print(net.run(x.T[:, :2].copy(), np.array([1, 1]))['output_0'].shape)\n"
      "print(net.run(np.zeros((0, 2), 'float32'), np.array([1, 1]))['output_0'].shape)\n");
  EXPECT_EQ(ended.out,
            "['output_0', 'output_1', 'output_2'] [[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]] [True, False] [[2], "
            "[4]] float32 bool "
            "uint8\n(2, 2)\n(0, 2)\n")
      << ended.err;
}

TEST_F(Deployed, AModuleSaysWhatIsWrong) {
  ASSERT_EQ(python("import numpy").exit_code, 0) << "apt-get install python3-numpy";
  write("m.relay", "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) { add(%x, %y) }\n");
  works({"compile", "m.relay", "--emit", "python", "-o", "net.py"});
  const auto says = [&](const std::string& call, const std::string& word) {
    const Ended ended = python("import net, numpy as np\nf = np.ones(2, 'float32')\n" + call);
    EXPECT_EQ(ended.exit_code, 1) << call;
    EXPECT_NE(ended.err.find(word), std::string::npos) << call << ": " << ended.err;
  };
  says("net.run(f)", "TypeError: the inputs are x, y");
  says("net.run(f, f, f)", "TypeError: the inputs are x, y");
  says("net.run(f, f, y=f)", "the inputs are x, y");
  says("net.run(f, z=f)", "TypeError: the inputs are x, y");
  says("net.run(f, np.ones(2))", "TypeError: `y` is float32, and float64 was given");
  says("net.run(f, np.ones(3, 'float32'))", "RuntimeError");
  says("net.run(f, np.ones(2, '>f4'))", "TypeError: `y` has the byte order of other machines: give x.astype");
  says("net.Model(threads=-1)", "ValueError: threads=-1 is not from 0 to 1024");
  says("net.Model(threads=1025)", "ValueError: threads=1025 is not from 0 to 1024");
}

// `self` is a name like others, an array may lie anywhere, and one number is a tensor too.
TEST_F(Deployed, AModuleTakesEveryNameRankAndAlignment) {
  ASSERT_EQ(python("import numpy").exit_code, 0) << "apt-get install python3-numpy";
  write("m.relay",
        "def @main(%self: Tensor[(), float32], %y: Tensor[(2), float32]) { multiply(%self, %y) }\n");
  works({"compile", "m.relay", "--emit", "python", "-o", "net.py"});
  const Ended ended = python(
      "import net, numpy as np\n"
      "y = np.frombuffer(b'.' + np.array([1, 2], 'float32').tobytes(), 'float32', 2, 1)\n"
      "assert not y.flags.aligned\n"
      "print(net.run(np.float32(3), y), net.run(self=np.array(3, 'float32'), y=y))\n");
  EXPECT_EQ(ended.out, "[3. 6.] [3. 6.]\n") << ended.err;
}

TEST_F(Deployed, WhatNumPyDoesNotHaveIsRefused) {
  write("list.relay", "type L { C(Tensor[(), float32], L), N }\ndef @main(%l: L) { %l }\n");
  refused({"compile", "list.relay", "--emit", "python", "-o", "list.py"}, kUnsupported,
          {"--emit python", "data types", "--emit so"});
  write("half.relay", "def @main(%x: Tensor[(2), float32]) { cast(%x, dtype=\"bfloat16\") }\n");
  refused({"compile", "half.relay", "--emit", "python", "-o", "half.py"}, kUnsupported,
          {"--emit python", "`output` is bfloat16", "cast it"});
  for (const std::string file : {"list.py", "half.py", "libhalf.so"}) EXPECT_FALSE(exists(file)) << file;
}

TEST_F(Deployed, WhatPythonCannotImportIsRefused) {
  write("m.relay", "def @main(%x: Tensor[(2), float32]) { %x }\n");
  for (const std::string name : {"my-net.py", "2net.py", "class.py"})
    refused({"compile", "m.relay", "--emit", "python", "-o", name}, kUsage, {"Python imports modules"});
  for (const std::string name : {"json.py", "ctypes.py", "numpy.py"})
    refused({"compile", "m.relay", "--emit", "python", "-o", name}, kUsage, {"the module itself imports a"});
  works({"compile", "m.relay", "-o", "net.so"});
  refused({"compile", "m.relay", "--emit", "python", "-o", "net.py"}, kUsage,
          {"Python would import net.so", "another name"});
  works({"compile", "m.relay", "--emit", "python", "-o", "other.py"});
  refused({"compile", "m.relay", "--emit", "python", "-o", "net.so"}, kUsage, {"a name like net.py"});
  refused({"compile", "m.relay", "-o", "other.so"}, kUsage,
          {"Python would import it in the place of other.py", "another name"});
  EXPECT_FALSE(exists("other.so"));
  works({"compile", "m.relay", "-o", "other.a"});
  write("script.py", "print(1)\n");
  works({"compile", "m.relay", "-o", "script.so"});
}

TEST_F(Deployed, AStaticLibraryIsLinkedAndHidesItsNames) {
  write("m.relay", "def @main(%x: Tensor[(4), float32]) { nn.softmax(%x) }\n");
  works({"compile", "m.relay", "-o", "net.a"});
  for (const std::string file : {"net.a", "net.h"}) EXPECT_TRUE(exists(file)) << file;
  EXPECT_FALSE(exists("net.so"));
  // The interface and nothing else.
  const Ended names = shell("nm -g --defined-only net.a | awk '$2 ~ /[A-Z]/ {print $3}' | grep -v '^relay_'");
  EXPECT_EQ(names.out, "");
  write("main.c",
        "#include <stdio.h>\n#include \"net.h\"\n"
        "int main(void) {\n"
        "  relay_model* m;\n"
        "  if (relay_model_open(NULL, &m) != RELAY_OK) return 1;\n"
        "  puts(relay_model_describe(m));\n"
        "  return relay_model_close(m);\n"
        "}\n");
  const Ended linked = shell("gcc main.c net.a -lm -lpthread -ldl -o main && ./main");
  EXPECT_EQ(linked.exit_code, 0) << linked.err;
  EXPECT_NE(linked.out.find("\"float32\""), std::string::npos) << linked.out;
  // The same input, the same bytes.
  ASSERT_EQ(mkdir(path("again").c_str(), 0755), 0);
  works({"compile", "m.relay", "-o", "again/net.a"});
  EXPECT_EQ(read("net.a"), read("again/net.a"));
}

TEST_F(Deployed, WeightsBesideAProgramAreFoundHoweverItIsStarted) {
  write("m.relay", "def @main(%x: Tensor[(4), float32]) { %x + tensor([1, 2, 3, 4], float32) }\n");
  works({"compile", "m.relay", "--weights-file", "-o", "net.a"});
  works({"compile", "m.relay", "--weights-file", "-o", "net.so"});
  write("main.c",
        "#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n#include \"net.h\"\n"
        "int main(void) {\n"
        "  relay_model* m;\n"
        "  char error[512];\n"
        "  relay_open_options o;\n"
        "  memset(&o, 0, sizeof o);\n"
        "  o.struct_size = sizeof o;\n"
        "  o.error = error;\n"
        "  o.error_size = sizeof error;\n"
        "  if (chdir(\"/\") != 0) return 9;\n"
        "  const relay_status status = relay_model_open(&o, &m);\n"
        "  puts(error);\n"
        "  return status == RELAY_OK ? relay_model_close(m) : status;\n"
        "}\n");
  for (const std::string how : {"", "-static "}) {
    const Ended built = shell("gcc " + how + "main.c net.a -lm -lpthread -ldl -o main 2>/dev/null");
    ASSERT_EQ(built.exit_code, 0) << built.err;
    for (const std::string start : {"./main", "PATH=$PWD main", "$PWD/main"}) {
      const Ended ended = shell(start);
      EXPECT_EQ(ended.exit_code, 0) << how << start << ": " << ended.out;
    }
  }
  // A library that was loaded by a relative path is where that was, which nobody knows.
  ASSERT_EQ(shell("gcc main.c ./net.so -o linked").exit_code, 0);
  const Ended lost = shell("./linked");
  EXPECT_EQ(lost.exit_code, 3);
  EXPECT_NE(lost.out.find(
                "./net.safetensors: No such file or directory (the library was loaded by a relative path"),
            std::string::npos)
      << lost.out;
}

TEST_F(Deployed, AStaticLibraryIsForTheCpu) {
  write("m.relay", "def @main(%x: Tensor[(2), float32]) { %x }\n");
  refused({"compile", "m.relay", "-o", "net.a", "--target", "cuda:sm_90"}, kUsage,
          {"net.a", "shared libraries"});
}

}  // namespace
}  // namespace relay::tests
