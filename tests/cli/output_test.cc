// Results that cannot be written: nothing is left behind, and what was there before is as it was.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>

#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

bool is_device(const std::string& path) {
  struct stat about;
  return stat(path.c_str(), &about) == 0 && S_ISCHR(about.st_mode);
}

class OutputFile : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_sum("m.relay");
  }
  // Every way to write a file, with what follows the option that names it.
  std::vector<std::vector<std::string>> writers() const {
    return {{"compile", "m.relay", "-o"},
            {"compile", "m.relay", "--weights-file", "-o"},
            {"compile", "m.relay", "--emit", "cpp", "-o"},
            {"compile", "m.relay", "--target", "cuda", "--emit", "cuda", "-o"},
            {"compile", "m.relay", "--emit", "header", "-o"},
            {"compile", "m.relay", "--emit", "exe", "-o"},
            {"import", mnist(), "-o"},
            {"opt", mnist(), "-O2", "-o"},
            {"opt", "m.relay", "-O2", "--emit", "kernel", "-o"},
            {"opt", "m.relay", "-O2", "--emit", "llvm", "-o"},
            {"run", "m.relay", "-o"}};
  }
  // Its suffix: `run` tells the form of its results by it.
  static std::string suffix(const std::vector<std::string>& writer) {
    return writer[0] == "run" ? ".npz" : writer[0] == "compile" ? ".so" : ".relay";
  }
  // A kernel of an operator that must be expanded before.
  void write_unlowered(const std::string& name) const {
    write(name,
          "def @main(%x: Tensor[(3), float32]) {\n"
          "  %0 = fn (%y: Tensor[(3), float32], Primitive=1) { nn.leaky_relu(%y) };\n"
          "  %0(%x)\n"
          "}\n");
  }
  // With the file in the place that is wrong.
  void all_refused(const std::string& stem, const Words& words) const {
    for (std::vector<std::string> writer : writers()) {
      const std::string file = stem + suffix(writer);
      writer.push_back(file);
      Words all = words;
      all.push_back(fs::path(file).stem().string());
      refused(writer, kLimit, all);
    }
  }
};

TEST_F(OutputFile, AFolderThatIsNotThereIsNamed) {
  all_refused("none/x", {"cannot write none/x", "there is no folder none"});
  refused({"run", "m.relay", "-o", "m.relay/x.npy"}, kLimit, {"[file-unwritable]", "m.relay/x.npy"});
}

TEST_F(OutputFile, AFileIsNoFolder) { all_refused("m.relay/x", {"m.relay/x", "Not a directory"}); }

TEST_F(OutputFile, AFolderIsNotReplacedByAFile) {
  for (const std::string form : {".so", ".relay", ".npz"}) fs::create_directory(path("d" + form));
  all_refused("d", {"cannot write d", "folder"});
}

TEST_F(OutputFile, AFileSystemThatTakesNothingIsNamed) {
  all_refused("/proc/relay-test", {"/proc/relay-test"});
}

TEST_F(OutputFile, AReadOnlyFolderIsNamed) {
  fs::create_directory(path("locked"));
  fs::permissions(path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
  if (access(path("locked").c_str(), W_OK) == 0) GTEST_SKIP() << "permissions do not bind this user";
  all_refused("locked/x", {"locked/x", "Permission denied"});
}

// A limit on the size of files stands in for a full disk: writing fails in the middle.
TEST_F(OutputFile, ADiskThatFillsUpLeavesNothing) {
  const Invocation small{.file_bytes = 4096};
  refused({"import", mnist(), "-o", "x.relay"}, kLimit, {"x.safetensors", "File too large"}, small);
  refused({"opt", mnist(), "-O2", "-o", "x.relay"}, kLimit, {"x.safetensors", "File too large"}, small);
  refused({"compile", "m.relay", "--emit", "cpp", "-o", "x.cc"}, kLimit, {"x.cc", "File too large"}, small);
  refused({"run", "m.relay", "-o", "x.npz"}, kLimit, {"[file-unwritable]", "x.npz", "File too large"},
          {.file_bytes = 16});
  // The library cannot even be linked: the folder in which that happens is named.
  const Words words{"[file-unwritable]", "temporary files, " + temporary(), "File too large", "TMPDIR"};
  refused({"compile", "m.relay", "-o", "x.so"}, kLimit, words, small);
  refused({"compile", "m.relay", "--emit", "exe", "-o", "x"}, kLimit, words, small);
  refused({"compile", "m.relay", "--emit", "package", "-o", "x"}, kLimit, words, small);
  refused({"run", "m.relay", "--engine", "aot-cpp"}, kLimit, words, small);
}

TEST_F(OutputFile, AFolderForTemporaryFilesThatIsNotThereIsNamed) {
  const Invocation nowhere{.environment = {{"TMPDIR", "/nowhere/tmp"}}};
  for (const std::vector<std::string>& command :
       {Words{"compile", "m.relay", "-o", "x.so"}, Words{"run", "m.relay", "--engine", "aot-cpp"}})
    refused(command, kLimit, {"[file-unwritable]", "/nowhere/tmp", "TMPDIR"}, nowhere);
}

TEST_F(OutputFile, ADiskThatFillsUpKeepsWhatWasThere) {
  for (const std::string file : {"x.relay", "x.safetensors", "x.npz", "x.so", "x.h", "x.cc"})
    write(file, "what was there\n");
  const Invocation small{.file_bytes = 4096};
  refused({"import", mnist(), "-o", "x.relay"}, kLimit, {"File too large"}, small);
  refused({"compile", "m.relay", "--emit", "cpp", "-o", "x.cc"}, kLimit, {"File too large"}, small);
  refused({"compile", "m.relay", "-o", "x.so"}, kLimit, {"[file-unwritable]"}, small);
  refused({"run", "m.relay", "-o", "x.npz"}, kLimit, {"File too large"}, {.file_bytes = 16});
  write("m.relay", "def  @main( %x :int32 ){ %x }");
  refused({"fmt", "-w", "m.relay"}, kLimit, {"m.relay", "File too large"}, {.file_bytes = 16});
}

TEST_F(OutputFile, AModelThatIsRefusedKeepsWhatWasThere) {
  write("bad.relay", "def @main(%x: int32) {");
  write("closure.relay", "def @main(%x: int32) { fn(%y: int32) { %y } }");
  for (const std::string file : {"x.so", "x.h", "x.relay", "x.npz"}) write(file, "what was there\n");
  refused({"compile", "bad.relay", "-o", "x.so"}, kBadModel, {"bad.relay:1:"});
  refused({"compile", "closure.relay", "-o", "x.so"}, kUnsupported, {"[not-ahead-of-time]", "interp"});
  refused({"opt", "bad.relay", "-o", "x.relay"}, kBadModel, {"bad.relay:1:"});
  refused({"run", "bad.relay", "-o", "x.npz"}, kBadModel, {"bad.relay:1:"});
  refused({"fmt", "-w", "bad.relay"}, kBadModel, {"bad.relay:1:"});
}

// A folder in the place of one of the files: the others must not appear without it.
TEST_F(OutputFile, FilesThatBelongTogetherAppearTogether) {
  fs::create_directory(path("x.so"));
  refused({"compile", "m.relay", "-o", "x.so"}, kLimit, {"x.so", "folder"});
  fs::create_directory(path("y.h"));
  refused({"compile", "m.relay", "-o", "y.so"}, kLimit, {"[file-unwritable]", "y.h", "folder"});
  fs::create_directory(path("z.relay"));
  refused({"import", mnist(), "-o", "z.relay"}, kLimit, {"z.relay", "folder"});
}

TEST_F(OutputFile, DumpsAndReproducersThatCannotBeWrittenAreErrors) {
  refused({"opt", "m.relay", "-O2", "--dump-dir", "m.relay/dumps"}, kLimit,
          {"[cannot-write]", "m.relay/dumps/00-input.relay"});
  write_unlowered("cannot.relay");
  refused({"opt", "cannot.relay", "--passes", "dead-code,lower", "--reproducer", "none/r.relay"}, kLimit,
          {"[cannot-lower]", "nn.leaky_relu", "[cannot-write]", "none/r.relay"});
}

TEST_F(OutputFile, AReproducerRunsAgain) {
  write_unlowered("cannot.relay");
  const Words words{"[cannot-lower]", "nn.leaky_relu", "expand-operators"};
  const Ended ended =
      relay({"opt", "cannot.relay", "--passes", "dead-code,lower,dead-code", "--reproducer", "r.relay"});
  EXPECT_EQ(ended.exit_code, kUnsupported) << ended.err;
  EXPECT_NE(ended.err.find("wrote r.relay"), std::string::npos) << ended.err;
  EXPECT_TRUE(read("r.relay").starts_with("// relay-pipeline: lower,dead-code\n#[version"))
      << read("r.relay");
  refused({"opt", "r.relay"}, kUnsupported, words);
}

// --- what is no regular file ---------------------------------------------------------------------

// A program that replaces devices must not meet those of the machine: a user who may write to their
// folder gets one of the test's own, if there may be one.
TEST_F(OutputFile, ADeviceIsWrittenToAndNotReplaced) {
  std::string full = "/dev/full";
  if (access("/dev", W_OK) == 0) {
    full = path("full");
    const bool made = mknod(full.c_str(), S_IFCHR | 0666, makedev(1, 7)) == 0;
    const int opened = made ? open(full.c_str(), O_WRONLY | O_CLOEXEC) : -1;
    if (opened < 0) GTEST_SKIP() << "there may be no devices in the folder of the test";
    close(opened);
  }
  refused({"opt", "m.relay", "-o", full}, kLimit, {full, "No space left"});
  refused({"compile", "m.relay", "--emit", "cpp", "-o", full}, kLimit, {full, "No space left"});
  EXPECT_TRUE(is_device(full));
}

// A device of the test's own, which takes everything.
// `relay check x.onnx` would say of a text that it is no ONNX model.
TEST_F(OutputFile, ATextIsNoOnnxModelByItsName) {
  refused({"import", mnist(), "-o", "x.onnx"}, kUsage, {"-o x.onnx", "a text", "x.relay"});
  refused({"opt", "m.relay", "-O1", "-o", "x.so"}, kUsage, {"-o x.so", "a text", "x.relay"});
  refused({"compile", "m.relay", "--emit", "onnx", "-o", "x.relay"}, kUsage, {"an ONNX model", "x.onnx"});
  works({"opt", "m.relay", "-O1", "-o", "x.opt"});
  works({"opt", "m.relay", "-O1", "--emit", "kernel", "-o", "kernels.json"});
  works({"compile", "m.relay", "--emit", "onnx", "-o", "x"});
}

TEST_F(OutputFile, NothingStandsBesideADevice) {
  if (mknod(path("null").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0)
    GTEST_SKIP() << "there may be no devices in the folder of the test";
  const auto before = contents();
  works({"compile", "m.relay", "-o", "null"});
  works({"compile", mnist(), "--weights-file", "-o", "null"});
  works({"compile", mnist(), "--emit", "cpp", "-o", "null"});
  works({"compile", "m.relay", "--emit", "exe", "-o", "null"});
  works({"import", mnist(), "-o", "null"});
  works({"opt", mnist(), "-O2", "-o", "null"});
  EXPECT_EQ(contents(), before);
  EXPECT_TRUE(is_device(path("null")));
}

TEST_F(OutputFile, WhatIsNoSharedLibraryIsRefused) {
  for (const std::string name : {"x.o", "x.lib", "x.dll", "x.dylib", "x.exe", "x.c", "x.cc", "x.cu", "x.h"})
    refused({"compile", "m.relay", "-o", name}, kUsage, {"-o " + name, "like x.so"});
  refused({"compile", "m.relay", "-o", "x.cc"}, kUsage, {"--emit cpp"});
  refused({"compile", "m.relay", "-o", "x.exe"}, kUsage, {"--emit exe"});
}

TEST_F(OutputFile, APipeIsWrittenToAndNotReplaced) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  works({"opt", "m.relay", "-o", "pipe"});
  char buffer[4096];
  const ssize_t length = ::read(reader, buffer, sizeof buffer);
  close(reader);
  ASSERT_GT(length, 0) << "nothing went through the pipe";
  EXPECT_EQ(std::string(buffer, static_cast<size_t>(length)), works({"opt", "m.relay"}));
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(OutputFile, ALinkIsFollowedAndNotReplaced) {
  write("target.relay", "old");
  fs::create_symlink("target.relay", path("link.relay"));
  works({"opt", "m.relay", "-o", "link.relay"});
  EXPECT_TRUE(fs::is_symlink(path("link.relay")));
  EXPECT_NE(read("target.relay").find("@main"), std::string::npos) << read("target.relay");
}

TEST_F(OutputFile, ANamedStandardOutputIsStandardOutput) {
  EXPECT_EQ(works({"opt", "m.relay", "-o", "/proc/self/fd/1"}), works({"opt", "m.relay"}));
}

TEST_F(OutputFile, CodeIsPrintedUnlessAFileIsNamed) {
  const auto before = contents();
  const std::string code = works({"compile", "m.relay", "--emit", "cpp"});
  EXPECT_NE(code.find("relay_get_api"), std::string::npos);
  EXPECT_NE(works({"compile", "m.relay", "--target", "cuda", "--emit", "cuda"}).find("__global__"),
            std::string::npos);
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(relay({"compile", "m.relay", "--emit", "cpp", "-o", "code.cc"}).err, "wrote code.cc\n");
  EXPECT_EQ(relay({"compile", mnist(), "--emit", "cpp", "-o", "digits.cc"}).err,
            "wrote digits.cc and digits.weights\n");
  EXPECT_EQ(read("code.cc").find("#include \"relay.h\""), std::string::npos);
  EXPECT_FALSE(exists("code.weights")) << "there are none";
  const Ended printed = relay({"compile", mnist(), "--emit", "cpp"});
  EXPECT_EQ(printed.exit_code, kOk);
  EXPECT_NE(printed.err.find("-o FILE.cc keeps them"), std::string::npos) << printed.err;
}

// --- standard streams ----------------------------------------------------------------------------

class Streams : public OutputFile {
 protected:
  const std::vector<std::vector<std::string>> printers_ = {
      {"ops"},
      {"explain"},
      {"--help"},
      {"run", "--help"},
      {"check", "m.relay"},
      {"fmt", "m.relay"},
      {"opt", "m.relay"},
      {"run", "m.relay", "--fill", "ones"},
      {"verify", "m.relay", "--engines", "interp", "--json"}};
};

TEST_F(Streams, AFullStandardOutputIsAnError) {
  for (const auto& printer : printers_)
    refused(printer, kLimit, {"standard output", "No space left"}, {.output = Output::kFull});
}

TEST_F(Streams, AClosedStandardOutputIsAnError) {
  for (const auto& printer : printers_)
    refused(printer, kLimit, {"standard output", "Bad file descriptor"}, {.output = Output::kClosed});
}

TEST_F(Streams, AReaderThatGoesAwayIsNone) {
  for (const auto& printer : printers_) {
    const Ended ended = relay(printer, {.output = Output::kGone});
    EXPECT_EQ(ended.signal, 0);
    EXPECT_EQ(ended.exit_code, kOk);
    EXPECT_EQ(ended.err, "");
  }
}

// The first file that is opened gets the number of the stream that is missing.
TEST_F(Streams, FilesDoNotTakeThePlaceOfAClosedStream) {
  works({"opt", mnist(), "-o", "x.relay"});
  const Ended closed =
      relay({"opt", mnist(), "-o", "y.relay"}, {.output = Output::kClosed, .no_input = true});
  EXPECT_EQ(closed.exit_code, kOk) << closed.err;
  EXPECT_EQ(read("y.relay"), read("x.relay"));
  EXPECT_EQ(read("y.safetensors"), read("x.safetensors"));
  works({"run", "m.relay", "-o", "x.npz"});
  relay({"run", "m.relay", "-o", "y.npz"}, {.output = Output::kClosed, .no_input = true});
  EXPECT_EQ(read("y.npz"), read("x.npz"));
}

TEST_F(Streams, NothingWaitsForInput) {
  for (const auto& printer : printers_) works(printer, {.no_input = true});
  works({"run", "m.relay", "--engine", "aot-cpp"}, {.no_input = true});
}

// Who forgot the inputs is told, and who chose other numbers is not.
TEST_F(Streams, RandomInputsAreSaidToBe) {
  const auto said = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command{"run", "m.relay"};
    command.insert(command.end(), more.begin(), more.end());
    return relay(command).err;
  };
  EXPECT_EQ(said({}), "relay: the inputs are random numbers; --inputs gives yours\n");
  EXPECT_EQ(said({"--quiet"}), "");
  EXPECT_EQ(said({"--fill", "seed:3"}), "");
}

TEST_F(Streams, QuietKeepsResultsOnly) {
  const Ended loud = relay({"compile", "m.relay", "-o", "x.so"});
  EXPECT_EQ(loud.out, "");
  EXPECT_NE(loud.err.find("wrote x.h, x.so"), std::string::npos) << loud.err;
  const Ended quiet = relay({"compile", "m.relay", "-o", "x.so", "--quiet"});
  EXPECT_EQ(quiet.exit_code, kOk);
  EXPECT_EQ(quiet.out + quiet.err, "");
}

}  // namespace
}  // namespace relay::tests
