#include "toolchain/compiler.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/cat.h"
#include "base/file.h"
#include "toolchain/library.h"
#include "toolchain/subprocess.h"

namespace relay::toolchain {
namespace {

constexpr bool kX86 = target::kHere == target::Isa::kX86_64;

CompileOptions options() { return {}; }

TEST(Toolchain, SourcesBecomeALibraryThatHidesWhatItDoesNotExport) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const std::string path = folder.path() + "/two.so";
  ASSERT_EQ(build_library({{"a.h", "int helper();\n"},
                           {"a.cc",
                            "#include \"a.h\"\nextern \"C\" __attribute__((visibility(\"default\"))) int "
                            "answer() { return helper() + 1; }\n"},
                           {"b.cc", "#include \"a.h\"\nint helper() { return 41; }\n"}},
                          options(), folder.path(), path),
            "");
  Library library;
  ASSERT_EQ(library.open(path), "");
  auto* answer = reinterpret_cast<int (*)()>(library.find("answer"));
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer(), 42);
  EXPECT_EQ(library.find("_Z6helperv"), nullptr);
}

TEST(Toolchain, AssemblySaysWhereItsInstructionsComeFrom) {
  std::vector<std::string> texts{"of before"};
  const std::vector<Source> sources{{"a.h", "#define NAME f\n"},
                                    {"a.cc", "#include \"a.h\"\nint NAME(int x) { return x / 3; }\n"},
                                    {"b.cc", "int g(int x) { return x + 1; }\n"}};
  ASSERT_EQ(assembly_of(sources, options(), texts), "");
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_NE(texts[0].find("_Z1fi:"), std::string::npos) << texts[0];
  EXPECT_NE(texts[0].find(".loc"), std::string::npos);
  EXPECT_NE(texts[1].find("_Z1gi:"), std::string::npos) << texts[1];
}

TEST(Toolchain, ThereIsNoAssemblyOfWhatDoesNotCompile) {
  std::vector<std::string> texts;
  const std::string wrong = assembly_of({{"a.cc", "int f() { return undefined_name; }\n"}}, options(), texts);
  EXPECT_NE(wrong.find("undefined_name"), std::string::npos) << wrong;
  EXPECT_TRUE(texts.empty());
}

TEST(Toolchain, ACompilersFirstErrorIsReported) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const std::string wrong = build_library({{"a.cc", "int f() { return undefined_name; }\n"}}, options(),
                                          folder.path(), folder.path() + "/a.so");
  EXPECT_NE(wrong.find("undefined_name"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("a.cc:1"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("failed"), std::string::npos) << wrong;
}

TEST(Toolchain, ARejectedSourceIsKeptWithItsCommand) {
  TemporaryFolder cache, folder;
  ASSERT_EQ(cache.make() + folder.make(), "");
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string chosen = before ? before : "";
  setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  const std::vector<Source> sources{{"a.h", "#define NAME undefined_name\n"},
                                    {"it's a.cc", "#include \"a.h\"\nint f() { return NAME; }\n"}};
  const auto rejection = [&] {
    return build_library(sources, options(), folder.path(), folder.path() + "/a.so");
  };
  const std::string wrong = rejection(), again = rejection();
  setenv("XDG_CACHE_HOME", chosen.c_str(), 1);
  EXPECT_EQ(wrong, again) << "one failure, one folder";
  const auto after = [&](const std::string& word) {
    const size_t at = wrong.find(word);
    EXPECT_NE(at, std::string::npos) << wrong;
    return at == std::string::npos ? ""
                                   : wrong.substr(at + word.size(), wrong.find('\n', at) - at - word.size());
  };
  const std::string place = after("reproducer: "), command = after("command: ");
  EXPECT_TRUE(place.starts_with(cache.path() + "/relay/rejected/")) << place;
  const Finished repeated = run({"sh", "-c", command}, place, 60);
  EXPECT_NE(repeated.exit_code, 0);
  EXPECT_NE(repeated.output.find("undefined_name"), std::string::npos) << repeated.output;
}

TEST(Toolchain, ThereIsACompilerForEachInstructionSetOrARemedy) {
  Compiler own, same;
  EXPECT_EQ(find_compiler(own), find_compiler(target::kHere, same));
  EXPECT_EQ(own.command, same.command);
  Compiler cross;
  const std::string wrong = find_compiler(kX86 ? target::Isa::kAarch64 : target::Isa::kX86_64, cross);
  EXPECT_EQ(wrong.empty(), !cross.command.empty());
  if (wrong.empty()) return;
  EXPECT_NE(
      wrong.find(kX86 ? "apt-get install g++-aarch64-linux-gnu" : "apt-get install g++-x86-64-linux-gnu"),
      std::string::npos)
      << wrong;
}

TEST(Toolchain, AnotherEnvironmentHasAnotherCompiler) {
  const char* given = std::getenv("RELAY_CXX");
  const std::string before = given ? given : "";
  Compiler own;
  ASSERT_EQ(find_compiler(own), "");
  ::setenv("RELAY_CXX", "/nowhere/c++", 1);
  EXPECT_EQ(find_compiler(own), "RELAY_CXX is /nowhere/c++, which cannot be run");
  given ? ::setenv("RELAY_CXX", before.c_str(), 1) : ::unsetenv("RELAY_CXX");
  EXPECT_EQ(find_compiler(own), "");
}

TEST(Toolchain, OnlyACompilerWithAnAssemblerOfItsOwnTakesAnother) {
  using target::Isa, target::kHere;
  EXPECT_TRUE(
      frugal_assembler(kHere, {.command = {"g++"}, .version = "g++ (Debian 12.2.0-14) 12.2.0"}).empty());
  const Isa other = kHere == Isa::kAarch64 ? Isa::kX86_64 : Isa::kAarch64;
  EXPECT_TRUE(frugal_assembler(other, {.command = {"clang++"}, .version = "clang version 19.1.7"}).empty());
  Compiler own;
  ASSERT_EQ(find_compiler(own), "");
  const std::string source = "extern \"C\" int one() { return 1; }";
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  EXPECT_EQ(build_library({{"a.cc", source, {}, frugal_assembler(kHere, own)}}, {}, folder.path(),
                          folder.path() + "/a.so"),
            "");
}

TEST(Toolchain, WhatIsNotDefinedIsReportedByTheLinker) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const std::string wrong = build_library({{"a.cc", "int elsewhere();\nint f() { return elsewhere(); }\n"}},
                                          options(), folder.path(), folder.path() + "/a.so");
  EXPECT_NE(wrong.find("elsewhere"), std::string::npos) << wrong;
}

TEST(Toolchain, LibrariesThatAreNoneAreRefused) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  ASSERT_EQ(write_file_atomically(folder.path() + "/text.so", "not a library"), "");
  Library library;
  EXPECT_NE(library.open(folder.path() + "/text.so").find("text.so"), std::string::npos);
  EXPECT_NE(library.open(folder.path() + "/missing.so").find("missing.so"), std::string::npos);
}

}  // namespace
}  // namespace relay::toolchain
