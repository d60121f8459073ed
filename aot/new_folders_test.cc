#include "aot/new_folders.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace relay::aot {
namespace {

namespace fs = std::filesystem;

class NewFolders : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(folder_.make(), ""); }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

 private:
  TemporaryFolder folder_;
};

TEST_F(NewFolders, AreMadeForFiles) {
  const FileContents files[] = {{path("a/b/x"), "one"}, {path("a/c/d/y"), "two"}};
  EXPECT_EQ(cannot_write_in_folders(files[1].path), "");
  EXPECT_FALSE(fs::exists(path("a"))) << "asking makes nothing";
  ASSERT_EQ(write_files_in_folders(files), "");
  ASSERT_EQ(write_files_in_folders(files), "") << "what is there is written over";
  std::string text;
  EXPECT_EQ(read_file(path("a/c/d/y"), 10, text), "");
  EXPECT_EQ(text, "two");
}

TEST_F(NewFolders, GoWhereAFileCannotBeWritten) {
  fs::create_directories(path("there/x"));
  const FileContents in_the_way[] = {{path("there/new/y"), "one"}, {path("there/x"), "a folder"}};
  EXPECT_NE(cannot_write_in_folders(path("there/x")), "");
  EXPECT_NE(write_files_in_folders(in_the_way), "");
  EXPECT_TRUE(fs::exists(path("there/x"))) << "what was there stays";
  EXPECT_FALSE(fs::exists(path("there/new")));

  ASSERT_EQ(write_file_atomically(path("file"), "no folder"), "");
  const FileContents beneath[] = {{path("new/y"), "one"}, {path("file/z/x"), "two"}};
  EXPECT_NE(cannot_write_in_folders(path("file/z/x")), "");
  EXPECT_NE(write_files_in_folders(beneath), "");
  EXPECT_FALSE(fs::exists(path("new")));
}

}  // namespace
}  // namespace relay::aot
