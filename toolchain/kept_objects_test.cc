#include "toolchain/kept_objects.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/cat.h"
#include "base/file.h"
#include "toolchain/library.h"

namespace relay::toolchain {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExported = "extern \"C\" __attribute__((visibility(\"default\"))) int answer() ";

class KeptObjectsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cache_.make() + elsewhere_.make(), "");
    setenv("RELAY_CACHE", cache_.path().c_str(), 1);
  }
  void TearDown() override { setenv("RELAY_CACHE", "off", 1); }

  // What the source answers that includes a header of nobody's folder: the keys do not know it, so
  // the answer tells what was compiled from what was kept.
  int answer(int outside, const std::string& beside = "0", CompileOptions options = {}) {
    const std::string header = elsewhere_.path() + "/outside.h";
    EXPECT_EQ(write_file_atomically(header, cat("#define OUTSIDE ", outside, "\n")), "");
    TemporaryFolder folder;
    EXPECT_EQ(folder.make(), "");
    EXPECT_EQ(write_file_atomically(folder.path() + "/number.inc", beside), "");
    const std::string path = folder.path() + "/a.so";
    const std::string text =
        cat("#include \"", header, "\"\n", kExported, "{ return OUTSIDE +\n#include \"number.inc\"\n; }\n");
    EXPECT_EQ(build_library({{.name = "a.cc", .text = text, .of_others = of_others_}}, options, folder.path(),
                            path),
              "");
    Library library;
    EXPECT_EQ(library.open(path), "");
    auto* function = reinterpret_cast<int (*)()>(library.find("answer"));
    return function ? function() : -1;
  }

  size_t kept() const {
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(cache_.path() + "/objects")) ++n;
    return n;
  }

  TemporaryFolder cache_, elsewhere_;
  bool of_others_ = false;
};

TEST_F(KeptObjectsTest, WhatWasCompiledIsTakenAgain) {
  EXPECT_EQ(answer(1), 1);
  EXPECT_EQ(kept(), 1u);
  EXPECT_EQ(answer(2), 1);
  EXPECT_EQ(kept(), 1u);
  setenv("RELAY_CACHE", "off", 1);
  EXPECT_EQ(answer(2), 2);
}

TEST_F(KeptObjectsTest, AFileInTheFolderAndAnOptionMakeItAnother) {
  EXPECT_EQ(answer(1), 1);
  EXPECT_EQ(answer(2, "10"), 12) << "a file beside the source is part of it";
  EXPECT_EQ(answer(3, "10", {.opt_level = 0}), 13);
  EXPECT_EQ(answer(4, "10", {.compile_flags = {"-DNAME"}}), 14);
  EXPECT_EQ(answer(5, "10"), 12);
  EXPECT_EQ(kept(), 4u);
}

TEST_F(KeptObjectsTest, MoreFilesThanAreReadKeepNothing) {
  const std::string large = cat("0 // ", std::string(KeptObjects::kMostBytes, 'x'));
  EXPECT_EQ(answer(1, large), 1);
  EXPECT_EQ(answer(2, large), 2);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(KeptObjectsTest, FilesOfOthersAreCompiledEachTime) {
  const std::string along = elsewhere_.path() + "/along.cc";
  const auto value = [&](int number) {
    EXPECT_EQ(write_file_atomically(along, cat(kExported, "{ return ", number, "; }\n")), "");
    TemporaryFolder folder;
    EXPECT_EQ(folder.make(), "");
    const std::string path = folder.path() + "/a.so";
    EXPECT_EQ(build_library({{"a.cc", "int f() { return 0; }\n"}}, {.along = {along}}, folder.path(), path),
              "");
    Library library;
    EXPECT_EQ(library.open(path), "");
    auto* function = reinterpret_cast<int (*)()>(library.find("answer"));
    return function ? function() : -1;
  };
  EXPECT_EQ(value(1), 1);
  EXPECT_EQ(value(2), 2);
  EXPECT_EQ(kept(), 1u);
}

TEST_F(KeptObjectsTest, ASourceWithHeadersOfOthersIsCompiledEachTime) {
  of_others_ = true;
  EXPECT_EQ(answer(1), 1);
  EXPECT_EQ(answer(2), 2);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(KeptObjectsTest, AVariableThatNamesFoldersOfHeadersMakesItAnother) {
  EXPECT_EQ(answer(1), 1);
  setenv("CPLUS_INCLUDE_PATH", elsewhere_.path().c_str(), 1);
  EXPECT_EQ(answer(2), 2);
  unsetenv("CPLUS_INCLUDE_PATH");
  EXPECT_EQ(answer(3), 1);
}

TEST_F(KeptObjectsTest, WhatFailsIsNotKept) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  EXPECT_NE(build_library({{"a.cc", "int f() { return undefined_name; }\n"}}, {}, folder.path(),
                          folder.path() + "/a.so"),
            "");
  EXPECT_EQ(kept(), 0u);
}

}  // namespace
}  // namespace relay::toolchain
