// Models that cannot be read or are wrong.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "frontend/onnx/testing.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;
using frontend::TestModel;

const std::vector<std::string> kModelCommands = {"check", "run", "verify", "compile", "opt", "bench"};

class BadModel : public Cli {
 protected:
  // Every command must refuse the model alike.
  void refused_by_all(const std::string& model, Exit code, const Words& words) const {
    for (const std::string& command : kModelCommands) refused({command, model}, code, words);
  }
};

TEST_F(BadModel, AMissingFileIsNamed) {
  refused_by_all("none.relay", kUsage, {"none.relay", "No such file"});
  refused_by_all("none.onnx", kUsage, {"[file-unreadable]", "`none.onnx`", "No such file"});
  refused({"fmt", "none.relay"}, kUsage, {"none.relay", "No such file"});
  refused({"fmt", "-w", "none.relay"}, kUsage, {"none.relay", "No such file"});
  refused({"import", "none.onnx"}, kUsage, {"[file-unreadable]", "`none.onnx`", "No such file"});
}

TEST_F(BadModel, OfOtherProgramsHasTheWayToOnnx) {
  for (const std::string file :
       {"net.pt", "net.pth", "net.pb", "net.h5", "net.keras", "net.tflite", "net.safetensors"})
    write(file, "");
  for (const std::string file : {"net.pt", "net.pth"})
    refused_by_all(file, kUsage, {"[model-form-unknown]", file, "torch.onnx.export(model, inputs"});
  for (const std::string file : {"net.pb", "net.h5", "net.keras", "net.tflite"})
    refused_by_all(file, kUsage, {"[model-form-unknown]", file, "tf2onnx.convert"});
  refused_by_all("net.safetensors", kUsage, {"[model-form-unknown]", "weights and no model"});
}

TEST_F(BadModel, AMisspeltFileIsNamed) {
  write("network.relay", "def @main(%x: float32) { %x }\n");
  refused_by_all("netwrok.relay", kUsage, {"[file-unreadable]", "did you mean `network.relay`?"});
  for (const std::string command : {"check", "run", "compile", "opt", "bench"})
    refused({command, "network"}, kUsage, {"[model-form-unknown]", "did you mean `network.relay`?"});
  write("x.npz", "");
  refused({"run", "network.relay", "-i", "xx.npz"}, kUsage, {"[file-unreadable]", "did you mean `x.npz`?"});
}

// Files of 64 GiB, of which nothing is written: reading one would take minutes.
TEST_F(BadModel, TensorsOfAnotherFormAreRefusedByTheirFirstBytes) {
  write("m.relay", "def @main(%x: float32) { %x }\n");
  for (const std::string file : {"zeros.npy", "zeros.npz", "zeros.params"}) {
    write(file, "");
    fs::resize_file(path(file), uint64_t{1} << 36);
    refused({"run", "m.relay", "-i", file}, kUsage, {file, "invalid]"});
  }
}

TEST_F(BadModel, AFolderIsNoModel) {
  fs::create_directory(path("d.relay"));
  fs::create_directory(path("d.onnx"));
  refused_by_all("d.relay", kUsage, {"d.relay", "folder"});
  refused_by_all("d.onnx", kUsage, {"[file-unreadable]", "`d.onnx`", "folder"});
}

TEST_F(BadModel, WhatIsNoRegularFileIsNotWaitedFor) {
  for (const std::string form : {"relay", "onnx"}) {
    ASSERT_EQ(mkfifo(path("pipe." + form).c_str(), 0600), 0);
    refused({"check", "pipe." + form}, kUsage, {"pipe." + form, "not a regular file"});
    fs::create_symlink("/dev/zero", path("zero." + form));
    refused({"check", "zero." + form}, kUsage, {"zero." + form, "not a regular file"});
    fs::create_symlink("loop." + form, path("loop." + form));
    refused({"check", "loop." + form}, kUsage, {"loop." + form, "symbolic links"});
    refused({"check", std::string(300, 'x') + "." + form}, kUsage, {"File name too long"});
  }
}

// Wherever else a command reads a file: a pipe would be waited for, for ever.
TEST_F(BadModel, APipeIsWaitedForNowhere) {
  write_sum("m.relay");
  write("call.relay",
        "extern kernel @f(x: float32[n]) -> (y: float32[n]) symbol \"f\";\n"
        "def @main(%x: Tensor[(3), float32]) { @f(%x) }\n");
  works({"compile", mnist(), "--emit", "graph", "-o", "g"});
  works({"import", mnist(), "-o", "t.relay"});
  for (const std::string taken : {"g/graph.params", "t.safetensors"}) fs::remove(path(taken));
  for (const std::string pipe : {"p.npz", "p.npy", "p.params", "p.safetensors", "p.so", "p.txt", "p.c",
                                 "p.json", "g/graph.params", "t.safetensors"})
    ASSERT_EQ(mkfifo(path(pipe).c_str(), 0600), 0);
  const std::vector<Words> readers = {{"run", "m.relay", "-i", "p.npz"},
                                      {"run", "m.relay", "-i", "p.npy"},
                                      {"run", "m.relay", "-i", "p.params"},
                                      {"run", "m.relay", "-i", "p.safetensors"},
                                      {"run", "m.relay", "--fix-input", "x=p.npy"},
                                      {"verify", "m.relay", "--expected", "p.npz"},
                                      {"run", "call.relay", "--library", "p.so"},
                                      {"compile", "call.relay", "--link", "p.c", "-o", "x.so"},
                                      {"compile", "m.relay", "--licence", "p.txt", "-o", "x.so"},
                                      {"debug", "m.relay", "--script", "p.txt"},
                                      {"verify", "p.txt"},
                                      {"run", "p.json"},
                                      {"run", "g"},
                                      {"run", "t.relay"}};
  for (const Words& reader : readers) {
    const Ended ended = relay(reader, {.seconds = 20});
    EXPECT_NE(ended.exit_code, kOk) << reader[0] << " " << reader[1];
    EXPECT_NE(ended.err, "") << reader[0] << " " << reader[1];
  }
}

TEST_F(BadModel, AFileThatMayNotBeReadIsNamed) {
  write_sum("m.relay");
  write("m.onnx", "x");
  for (const std::string file : {"m.relay", "m.onnx"}) fs::permissions(path(file), fs::perms::none);
  if (access(path("m.relay").c_str(), R_OK) == 0) GTEST_SKIP() << "permissions do not bind this user";
  // Not `refused`, which would have to read them.
  for (const std::string file : {"m.relay", "m.onnx"}) {
    const Ended ended = relay({"check", file});
    EXPECT_EQ(ended.exit_code, kUsage);
    EXPECT_NE(ended.err.find(file), std::string::npos) << ended.err;
    EXPECT_NE(ended.err.find("Permission denied"), std::string::npos) << ended.err;
  }
}

// --- texts ---------------------------------------------------------------------------------------

TEST_F(BadModel, ATextThatDoesNotParseIsPointedInto) {
  write("m.relay", "def @main(%x: Tensor[(2), float32]) {\n  add(%x, \n}\n");
  refused_by_all("m.relay", kBadModel, {"m.relay:3:1: error", "[expected-expression]", "^"});
  refused({"fmt", "-w", "m.relay"}, kBadModel, {"m.relay:3:1: error", "[expected-expression]"});
  write("m.relay", std::string("\x7f"
                               "ELF\0\0\0",
                               7));
  refused_by_all("m.relay", kBadModel, {"m.relay:1:1: error"});
}

TEST_F(BadModel, ATextThatDoesNotTypeCheckIsPointedInto) {
  write("m.relay", "def @main(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) { add(%x, %y) }");
  refused_by_all("m.relay", kBadModel, {"m.relay:1:65: error", "[not-broadcastable]", "2 and 3", "%y"});
}

TEST_F(BadModel, AnUnknownOperatorOfATextIsNamed) {
  write("m.relay", "def @main(%x: Tensor[(2), float32]) { nn.relux(%x) }");
  refused_by_all("m.relay", kBadModel, {"m.relay:1:39: error", "nn.relux", "nn.relu"});
}

TEST_F(BadModel, AllMistakesAreReportedAtOnce) {
  write("m.relay",
        "def @main(%x: int32) { @one(%x) }\n"
        "def @other(%x: Tensor[(2), float32]) { nn.dense(%x, %x) }\n"
        "def @third(%x: bool) { if (%x) { 1 } else { 1f } }\n");
  refused({"check", "m.relay"}, kBadModel, {"m.relay:1:", "@one"});
  write("m.relay",
        "def @main(%x: Tensor[(2), float32]) { nn.dense(%x, %x) }\n"
        "def @third(%x: bool) { if (%x) { 1 } else { 1f } }\n");
  refused({"check", "m.relay"}, kBadModel, {"m.relay:1:", "m.relay:2:"});
}

TEST_F(BadModel, ATextOfAnotherVersionIsUnsupported) {
  write("m.relay", "#[version = \"9.0.0\"]\ndef @main(%x: int32) { %x }\n");
  refused({"check", "m.relay"}, kUnsupported, {"[unsupported-version]", "9.0.0"});
}

TEST_F(BadModel, NestingBeyondTheLimitIsALimit) {
  write("m.relay", "def @main() { " + std::string(30000, '(') + "1" + std::string(30000, ')') + " }");
  refused({"check", "m.relay"}, kLimit, {"[nesting-too-deep]", "20000"});
}

TEST_F(BadModel, ATextWithoutItsConstantsNamesThem) {
  write("m.relay", "def @main() { const(\"weights\") }\n");
  refused_by_all("m.relay", kBadModel, {"[unknown-constant]", "weights"});
}

TEST_F(BadModel, BrokenConstantsBesideATextAreNamed) {
  write_sum("m.relay");
  write("m.safetensors", "not one");
  refused_by_all("m.relay", kBadModel, {"[safetensors-", "m.safetensors"});
}

TEST_F(BadModel, ATextBeyondTheLimitIsALimit) {
  write("m.relay", "");
  ASSERT_EQ(truncate(path("m.relay").c_str(), off_t{3} << 30), 0);
  refused_by_all("m.relay", kLimit, {"m.relay", "3221225472 bytes", "limit of 1073741824"});
}

TEST_F(BadModel, AnUnknownFunctionIsNamedWithThoseThereAre) {
  write("m.relay", "def @f(%x: int32) { %x }\ndef @g(%x: int32) { %x }\n");
  for (const std::string& command : kModelCommands) {
    if (command != "check")
      refused({command, "m.relay"}, kUsage, {"[no-such-function]", "m.relay", "@main", "--function", "f, g"});
  }
  for (const std::string& command : kModelCommands)
    refused({command, "m.relay", "--function", "h"}, kUsage, {"[no-such-function]", "@h", "f, g"});
  write("m.relay", "");
  refused_by_all("m.relay", kUsage, {"[no-such-function]", "m.relay", "it has none"});
}

TEST_F(BadModel, ATextWithoutMainIsChecked) {
  write("m.relay", "def @f(%x: int32) { add(%x, 1) }\n");
  EXPECT_EQ(works({"check", "m.relay"}), "function f: fn(int32) -> int32\n     1 add\n");
  EXPECT_EQ(works({"check", "m.relay", "--json"}),
            "{\n  \"functions\": {\n    \"f\": \"fn(int32) -> int32\"\n  },\n  \"operators\": {\n    "
            "\"add\": 1\n  }\n}\n");
  write("m.relay", "type Storage { }\n");
  EXPECT_EQ(works({"check", "m.relay"}), "");
  write("m.relay", "def @f(%x: int32) { add(%x, 1f) }\n");
  refused({"check", "m.relay"}, kBadModel, {"[dtypes-differ]"});
}

TEST_F(BadModel, ALoneExpressionIsMain) {
  write("m.relay", "free_var %x: int32; free_var %y: int32; subtract(%x, 1) * %y\n");
  EXPECT_EQ(works({"run", "m.relay", "--fill", "zeros"}), "output: Tensor[(), int32] 0\n");
  write("m.relay", "fn (%x: int32) { %x + 2 }\n");
  EXPECT_EQ(works({"run", "m.relay", "--fill", "ones"}), "output: Tensor[(), int32] 3\n");
}

TEST_F(BadModel, AnyFunctionMayBeChosen) {
  write("m.relay", "def @f(%x: int32) { add(@g(%x), 1) }\ndef @g(%x: int32) { multiply(%x, 2) }\n");
  EXPECT_EQ(works({"run", "m.relay", "--function", "f", "--fill", "ones"}), "output: Tensor[(), int32] 3\n");
  const std::string optimised = works({"opt", "m.relay", "--function", "g"});
  EXPECT_NE(optimised.find("@main"), std::string::npos) << optimised;
  EXPECT_EQ(optimised.find("@f"), std::string::npos) << optimised;
}

// --- ONNX ----------------------------------------------------------------------------------------

TEST_F(BadModel, AnEmptyModelIsSaidToBeEmpty) {
  write("m.onnx", "");
  refused_by_all("m.onnx", kBadModel, {"[onnx-empty]", "`m.onnx`", "empty"});
}

TEST_F(BadModel, ATruncatedModelIsSaidToBeCutShort) {
  fs::copy_file(mnist(), path("whole.onnx"));
  const std::string whole = read("whole.onnx");
  for (size_t part = 1; part < 8; ++part) {
    write("m.onnx", whole.substr(0, whole.size() * part / 8));
    refused({"check", "m.onnx"}, kBadModel, {"[onnx-malformed]", "`m.onnx`", "cut short"});
  }
  write("m.onnx", whole.substr(0, whole.size() / 2));
  refused_by_all("m.onnx", kBadModel, {"[onnx-malformed]", "`m.onnx`"});
  refused({"import", "m.onnx", "-o", "m.relay"}, kBadModel, {"[onnx-malformed]", "`m.onnx`"});
}

TEST_F(BadModel, OtherFilesThatAreCalledOnnxAreRefused) {
  write("m.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  refused({"check", "m.onnx"}, kBadModel, {"[onnx-git-lfs]", "git lfs pull"});
  write("m.onnx", "just a text\n");
  refused({"check", "m.onnx"}, kBadModel, {"[onnx-malformed]", "`m.onnx`"});
}

TEST_F(BadModel, AModelLargerThanTheFormatAllowsIsNotRead) {
  write("m.onnx", "");
  ASSERT_EQ(truncate(path("m.onnx").c_str(), off_t{60} << 30), 0);
  refused_by_all("m.onnx", kLimit, {"[limit-file-size]", "`m.onnx`", "64424509440 bytes", "2147483647"});
}

TEST_F(BadModel, EverythingThatIsUnsupportedIsListedAtOnce) {
  TestModel m;
  m.input("x", {2}).node("Nonsense", {"x"}, {"a"}).node("Gibberish", {"a"}, {"b"}).output("b");
  write("m.onnx", m.bytes());
  refused_by_all("m.onnx", kUnsupported, {"[unsupported-operator]", "`Nonsense`", "`Gibberish`"});
}

TEST_F(BadModel, AResultLargerThanAnyMemoryIsALimit) {
  TestModel m;
  m.ints("shape", {int64_t{1} << 40, 1024}).node("ConstantOfShape", {"shape"}, {"y"}).output("y");
  write("m.onnx", m.bytes());
  refused({"run", "m.onnx"}, kLimit, {"--max-memory", "Tensor[(1099511627776, 1024), float32]"});
}

}  // namespace
}  // namespace relay::tests
