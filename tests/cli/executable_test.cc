// `relay compile --emit exe`: a model as a program that reads and writes NumPy's files, and
// what it refuses.
#include <sys/stat.h>

#include <filesystem>
#include <stdexcept>

#include "base/cat.h"
#include "frontend/data/npy.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

class Executable : public Cli {
 protected:
  // Compiled once for all tests that only run them.
  struct Programs : Cli {
    Programs() {
      SetUp();
      write(
          "sum.relay",
          "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) { (add(%x, %y), negative(%y)) }");
      // It runs forever for an %i that is less than 0, and fails for 0.
      write("loop.relay",
            "def @count(%i: int32, %x: Tensor[(n), float32]) -> Tensor[(n), float32] {\n"
            "  if (equal(%i, 1)) { %x } else { @count(subtract(%i, 1), add(%x, %x)) }\n"
            "}\n"
            "def @main(%i: int32, %x: Tensor[(n), float32]) {\n"
            "  (floor_divide(6, %i), @count(%i, %x))\n"
            "}\n");
      works({"compile", "sum.relay", "--emit", "exe", "-o", "sum"});
      works({"compile", "loop.relay", "--emit", "exe", "-o", "loop"});
    }
    void TestBody() override {}
    using Cli::path;
  };
  static const Programs& programs() {
    static const Programs made;
    return made;
  }

  Ended program(const std::string& name, const Words& arguments, Invocation how = {}) const {
    how.command = {name.front() == '/' ? name : programs().path(name)};
    how.command.insert(how.command.end(), arguments.begin(), arguments.end());
    how.folder = path("");
    return run(how);
  }
  std::string prints(const std::string& name, const Words& arguments, const Invocation& how = {}) const {
    const Ended ended = program(name, arguments, how);
    EXPECT_EQ(ended.exit_code, kOk) << ended.err;
    return ended.out;
  }
  void fails(const std::string& name, const Words& arguments, Exit code, const Words& words,
             const Invocation& how = {}) const {
    const auto before = contents();
    const Ended ended = program(name, arguments, how);
    EXPECT_EQ(ended.signal, 0) << ended.err;
    EXPECT_EQ(ended.exit_code, code) << ended.err;
    for (const std::string& word : words)
      EXPECT_NE(ended.err.find(word), std::string::npos) << "no \"" << word << "\" in:\n" << ended.err;
    EXPECT_EQ(contents(), before);
  }

  void write_array(const std::string& name, const Tensor& t) const {
    write(name, frontend::data::npy_bytes(t));
  }
  void write_floats(const std::string& name, Shape shape, const std::vector<float>& values) const {
    write_array(name, Tensor::of<float>(kFloat32, std::move(shape), values));
  }
  Tensor read_array(const std::string& name) const {
    Diagnostics diagnostics;
    const Result<Tensor> t = frontend::data::parse_npy(read(name), name, diagnostics);
    EXPECT_TRUE(t.ok()) << diagnostics.render({});
    return t ? *t : Tensor();
  }
  // A file with this header.
  static std::string npy(const std::string& header, const std::string& elements) {
    return cat("\x93NUMPY\x01", std::string(1, '\0'), static_cast<char>(header.size() % 256),
               static_cast<char>(header.size() / 256), header, elements);
  }

  void SetUp() override {
    Cli::SetUp();
    write_floats("x.npy", {2, 3}, {1, 2, 3, 4, 5, 6.5});
    write_floats("y.npy", {3}, {10, 20, 0.1f});
    write_array("i.npy", Tensor::scalar_int(kInt32, 3));
  }
};

TEST_F(Executable, TakesFilesInOrderOrByNameAndPrintsWhatIsNotWritten) {
  const std::string all = prints("sum", {"x.npy", "y.npy"});
  EXPECT_EQ(all,
            "output_0: float32 (2, 3)\n11 22 3.0999999\n14 25 6.5999999\n"
            "output_1: float32 (3)\n-10 -20 -0.100000001\n");
  EXPECT_EQ(prints("sum", {"y=y.npy", "x.npy"}), all);
  EXPECT_EQ(prints("sum", {"-o", "output_0=a.npy", "y=y.npy", "x=x.npy"}), all.substr(all.find("output_1")));
  EXPECT_EQ(prints("sum", {"x.npy", "y.npy", "--output", "b.npy", "-oc.npy", "--threads", "2"}), "");
  EXPECT_EQ(read_array("a.npy").doubles(), read_array("b.npy").doubles());
  EXPECT_EQ(read_array("b.npy").shape(), (Shape{2, 3}));
  EXPECT_EQ(read_array("b.npy").get(1), 22);
  EXPECT_EQ(read_array("c.npy").doubles(), (std::vector<double>{-10, -20, -0.1f}));
  // What it has written it reads again.
  EXPECT_EQ(prints("sum", {"b.npy", "c.npy", "-o", "d.npy"}).substr(0, 9), "output_1:");
  EXPECT_EQ(read_array("d.npy").get(0), 1);
}

TEST_F(Executable, SaysWhatItIs) {
  const std::string help = prints("loop", {"--help"});
  for (const std::string words :
       {"usage: ", "input i: int32 ()\n", "input x: float32 (n)\n", "output output_1: float32 (n)\n"})
    EXPECT_NE(help.find(words), std::string::npos) << words << "\n" << help;
  EXPECT_EQ(help.find("--weights"), std::string::npos) << "they are inside";
  EXPECT_NE(prints("sum", {"--describe"}).find("\"abi_version\""), std::string::npos);
}

TEST_F(Executable, ShapesMayBeVariable) {
  for (int64_t n : {0, 1, 5}) {
    write_floats("v.npy", {n}, std::vector<float>(static_cast<size_t>(n), 1.5f));
    EXPECT_EQ(prints("loop", {"i.npy", "v.npy", "-o", "output_1=o.npy"}), "output_0: int32 ()\n2\n");
    EXPECT_EQ(read_array("o.npy").doubles(), std::vector<double>(static_cast<size_t>(n), 6)) << n;
  }
}

TEST_F(Executable, KnowsEveryTypeThatNumPyHas) {
  const std::vector<std::string> names = {"bool",   "int8",   "int16",  "int32",   "int64",   "uint8",
                                          "uint16", "uint32", "uint64", "float16", "float32", "float64"};
  std::string parameters, results;
  Words files, outputs;
  for (const std::string& name : names) {
    parameters += cat(parameters.empty() ? "" : ", ", "%", name, ": Tensor[(2, 1, 2), ", name, "]");
    results += cat(results.empty() ? "" : ", ", "transpose(%", name, ", axes=[2, 1, 0])");
    Tensor t(*DType::parse(name), {2, 1, 2});
    for (int i = 0; i < 4; ++i) t.set(i, name == "bool" ? i % 2 : name.starts_with("u") ? i : i - 2);
    write_array(name + ".npy", t);
    files.push_back(name + ".npy");
    outputs.insert(outputs.end(), {"-o", "out_" + name + ".npy"});
  }
  write("types.relay", cat("def @main(", parameters, ") { (", results, ") }"));
  works({"compile", "types.relay", "--emit", "exe"});
  const std::string out = prints(path("model"), files);
  EXPECT_NE(out.find("bool (2, 1, 2)\n0 0\n1 1\n"), std::string::npos) << out;
  for (const std::string name : {"int8", "float16", "float64"})
    EXPECT_NE(out.find(name + " (2, 1, 2)\n-2 0\n-1 1\n"), std::string::npos) << name << "\n" << out;
  files.insert(files.end(), outputs.begin(), outputs.end());
  EXPECT_EQ(prints(path("model"), files), "");
  for (const std::string& name : names) {
    const Tensor before = read_array(name + ".npy"), after = read_array("out_" + name + ".npy");
    EXPECT_EQ(after.dtype().name(), name);
    EXPECT_EQ(after.doubles(),
              (std::vector<double>{before.get(0), before.get(2), before.get(1), before.get(3)}))
        << name;
  }
}

TEST_F(Executable, ArgumentsThatAreWrongAreNamed) {
  fails("sum", {}, kUsage, {"no file for input `x`", "--help"});
  fails("sum", {"x.npy"}, kUsage, {"no file for input `y`"});
  fails("sum", {"x.npy", "y.npy", "z.npy"}, kUsage, {"2 inputs", "z.npy"});
  fails("sum", {"x=x.npy", "x=y.npy"}, kUsage, {"input `x` is given twice", "x.npy", "y.npy"});
  fails("sum", {"z=x.npy", "y.npy"}, kUsage, {"cannot read z=x.npy"});
  fails("sum", {"-o", "a", "-o", "b", "-o", "c"}, kUsage, {"2 outputs", "c"});
  fails("sum", {"--weights", "w"}, kUsage, {"--weights", "--help"});
  for (const std::string wrong : {"x", "-1", "1.5", "1025", "nan", ""})
    fails("sum", {"--threads", wrong, "x.npy", "y.npy"}, kUsage, {"--threads: " + wrong});
  for (const std::string wrong : {"x", "-1", "inf", "nan"})
    fails("sum", {"--timeout", wrong, "x.npy", "y.npy"}, kUsage, {"--timeout: " + wrong});
  fails("sum", {"y.npy", "x.npy"}, kUsage, {"input `x` must have shape (2, 3), it has (3)"});
  fails("sum", {"x.npy", "i.npy"}, kUsage, {"input `y` must be float32"});
  fails("sum", {"nowhere.npy", "y.npy"}, kUsage, {"nowhere.npy: No such file"});
}

TEST_F(Executable, AFileThatIsNoArrayIsRefused) {
  const std::string good = read("y.npy");
  const std::map<std::string, std::string> wrong = {
      {"", "no .npy file"},
      {"PK\x03\x04 an .npz file", "no .npy file"},
      {npy("[]", ""), "no dictionary"},
      {npy("{'descr': '<f4', 'shape': (3,)}", "123456789012"), "needs `descr`"},
      {npy("{'descr': '<f4', 'descr': '<f4'}", ""), "unknown or there twice"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", ""),
       "unknown or there twice"},
      {npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", ""), "neither True nor False"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': 3}", ""), "no tuple"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", ""), "`shape`"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3", ""), "`shape`"},
      {npy("{'descr': '<f4", ""), "no numbers"},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", ""), "no numbers"},
      {npy("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", ""), "no numbers"},
      {npy("{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", ""), "no booleans, integers or floats"},
      {npy("{'descr': '>f4', 'fortran_order': False, 'shape': (3,)}", ""), "newbyteorder"},
      {npy("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2)}", ""), "ascontiguousarray"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}", ""), "cut short"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", ""),
       "larger than there can be"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", ""),
       "more bytes than there can be"},
      {npy(cat(
               "{'descr': '<f4', 'fortran_order': False, 'shape': (", std::string(130, ' '), "1",
               [] {
                 std::string more;
                 for (int i = 0; i < 64; ++i) more += ",1";
                 return more;
               }(),
               ")}"),
           ""),
       "more than 64 dimensions"},
      {"\x93NUMPY\x04" + good.substr(7), "version"},
      {cat("\x93NUMPY\x02", std::string(1, '\0'), "\xff\xff\xff\xff", good.substr(10)), "longer than 64 KiB"},
      {good + "x", "goes on behind its elements"},
  };
  for (const auto& [bytes, words] : wrong) {
    write("wrong.npy", bytes);
    fails("sum", {"x.npy", "wrong.npy"}, kUsage, {"cannot read wrong.npy", words});
  }
  for (size_t size = 0; size < good.size(); size += 7) {
    write("wrong.npy", good.substr(0, size));
    fails("sum", {"x.npy", "wrong.npy"}, kUsage, {"cannot read wrong.npy"});
  }
  // Where the size cannot be known beforehand, either.
  write("endless.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000,)}", ""));
  fails("sum", {"x.npy", "/dev/stdin"}, kUsage, {"cannot read /dev/stdin"},
        {.input = read("endless.npy"), .memory = uint64_t{256} << 20});
}

TEST_F(Executable, ReadsAPipe) {
  EXPECT_EQ(prints("sum", {"x.npy", "/dev/stdin"}, {.input = read("y.npy")}),
            prints("sum", {"x.npy", "y.npy"}));
}

TEST_F(Executable, ARunThatFailsSaysWhy) {
  write_floats("v.npy", {1}, {1});
  write_array("zero.npy", Tensor::scalar_int(kInt32, 0));
  write_array("less.npy", Tensor::scalar_int(kInt32, -1));
  fails("loop", {"zero.npy", "v.npy"}, kMismatch, {"division by zero"});
  fails("loop", {"less.npy", "v.npy", "--timeout", "0.05"}, kLimit, {"longer than its limit of 50000000 ns"});
  EXPECT_NE(prints("loop", {"i.npy", "v.npy", "--timeout", "60"}), "");
}

TEST_F(Executable, AModelMayHaveVeryManyInputs) {
  constexpr int kInputs = 20000;
  std::string text = "def @main(";
  for (int i = 0; i < kInputs; ++i) text += cat(i == 0 ? "" : ", ", "%x", i, ": Tensor[(2), float32]");
  write("many.relay", cat(text, ") { %x0 + %x", kInputs - 1, " }\n"));
  works({"compile", "many.relay", "--emit", "exe", "-o", "many"});
  write_floats("v.npy", {2}, {1, 2});
  fails(path("many"), {}, kUsage, {"there is no file for input `x0`"});
  EXPECT_EQ(prints(path("many"), std::vector<std::string>(kInputs, "v.npy")), "output: float32 (2)\n2 4\n");
}

TEST_F(Executable, ResultsThatAreLostAreErrors) {
  fails("sum", {"x.npy", "y.npy", "-o", "/nowhere/a.npy"}, kLimit, {"/nowhere/a.npy: No such file"});
  fails("sum", {"x.npy", "y.npy", "-o", "/dev/full"}, kLimit,
        {"output `output_0`", "/dev/full: No space left"});
  fails("sum", {"x.npy", "y.npy"}, kLimit, {"standard output: No space left"}, {.output = Output::kFull});
}

TEST_F(Executable, WeightsBesideItAreFoundHoweverItIsStarted) {
  write("w.relay", "def @main(%x: Tensor[(2), float32]) { add(%x, tensor([1, 2], float32)) }");
  works({"compile", "w.relay", "--emit", "exe", "--weights-file", "-o", "model.v1"});
  EXPECT_TRUE(exists("model.v1.safetensors"));
  EXPECT_FALSE(exists("model.h"));
  write_floats("v.npy", {2}, {0, 0});
  const std::string right = "output: float32 (2)\n1 2\n";
  EXPECT_EQ(prints(path("model.v1"), {"v.npy"}), right);
  fs::create_directory(path("bin"));
  fs::create_symlink("../model.v1", path("bin/model"));
  EXPECT_EQ(prints(path("bin/model"), {"v.npy"}), right);
  fs::rename(path("model.v1.safetensors"), path("moved"));
  fails(path("model.v1"), {"v.npy"}, kBadModel, {"cannot open the weights", "model.v1.safetensors"});
  EXPECT_EQ(prints(path("model.v1"), {"v.npy", "--weights", "moved"}), right);
  // Opening a pipe waits for its writer.
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  fails(path("model.v1"), {"v.npy", "--weights", "pipe"}, kBadModel,
        {"the weights pipe", "not a regular file"});
  write("cut", read("moved").substr(1));
  fails(path("model.v1"), {"v.npy", "--weights", "cut"}, kBadModel, {"the weights cut have"});
}

TEST_F(Executable, NeedsTheCLibraryOnly) {
  const Ended head = run({.command = {"/usr/bin/objdump", "-p", programs().path("loop")}});
  ASSERT_EQ(head.exit_code, 0);
  std::istringstream lines(head.out);
  int needed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("NEEDED") == std::string::npos) continue;
    ++needed;
    EXPECT_TRUE(line.find("libc.so") != std::string::npos || line.find("libm.so") != std::string::npos)
        << line;
  }
  EXPECT_GE(needed, 1) << head.out;
}

TEST_F(Executable, AModelThatFilesCannotHoldIsRefused) {
  write("list.relay",
        "type L { C(int32, L), N }\ndef @main(%l: L) { match (%l) { C(%h, _) => %h, N => 0 } }");
  refused({"compile", "list.relay", "--emit", "exe", "-o", "list"}, kUnsupported,
          {"data types", "--emit so"});
  write("half.relay", "def @main(%x: Tensor[(2), bfloat16]) { cast(%x, dtype=\"float32\") }");
  refused({"compile", "half.relay", "--emit", "exe", "-o", "half"}, kUnsupported,
          {"`x` is bfloat16", "cast it in the model"});
}

class Header : public Cli {};

TEST_F(Header, IsThatOfTheLibrary) {
  write_sum("m.relay");
  works({"compile", "m.relay", "-o", "m.so"});
  EXPECT_EQ(works({"compile", "m.relay", "--emit", "header"}).substr(0, 13), "/* How to use");
  works({"compile", "m.relay", "--emit", "header", "-o", "sub.h"});
  EXPECT_NE(read("sub.h").find("input 0: x"), std::string::npos);
  fs::create_directory(path("other"));
  works({"compile", "m.relay", "--emit", "header", "-o", "other/m.h"});
  EXPECT_EQ(read("other/m.h"), read("m.h"));
  EXPECT_FALSE(exists("other/m.so"));
}

}  // namespace
}  // namespace relay::tests
