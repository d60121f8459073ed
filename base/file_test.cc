#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace relay {
namespace {

class File : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(folder_.make(), ""); }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  TemporaryFolder folder_;
  std::string text_;
};

TEST_F(File, BytesComeBackAsTheyWere) {
  const std::string bytes("a\0b\n\xff", 5);
  ASSERT_EQ(write_file_atomically(path("x"), bytes), "");
  ASSERT_EQ(read_file(path("x"), 5, text_), "");
  EXPECT_EQ(text_, bytes);
  ASSERT_EQ(write_file_atomically(path("x"), ""), "");
  ASSERT_EQ(read_file(path("x"), 0, text_), "");
  EXPECT_EQ(text_, "");
}

TEST_F(File, ProblemsNameThePathAndTheReason) {
  const std::string missing = read_file(path("missing"), 10, text_);
  EXPECT_NE(missing.find(path("missing")), std::string::npos) << missing;
  EXPECT_NE(missing.find("No such file"), std::string::npos) << missing;
  EXPECT_NE(write_file_atomically(path("no/such/folder"), "x").find("no/such/folder"), std::string::npos);
}

TEST_F(File, TooLargeAndOtherThanRegularFilesAreRefused) {
  ASSERT_EQ(write_file_atomically(path("x"), "123456"), "");
  EXPECT_NE(read_file(path("x"), 5, text_), "");
  EXPECT_NE(read_file(folder_.path(), 1000, text_), "");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_NE(read_file(path("pipe"), 1000, text_), "");  // and does not wait for a writer
  EXPECT_NE(read_file("/dev/zero", 1000, text_), "");
}

TEST_F(File, AWriteThatFailsLeavesTheOldFileAndNothingElse) {
  ASSERT_EQ(mkdir(path("x").c_str(), 0700), 0);  // a folder cannot be replaced by a file
  EXPECT_NE(write_file_atomically(path("x"), "new"), "");
  struct stat s;
  ASSERT_EQ(stat(path("x").c_str(), &s), 0);
  EXPECT_TRUE(S_ISDIR(s.st_mode));
  EXPECT_EQ(rmdir(path("x").c_str()), 0);
  EXPECT_EQ(rmdir(folder_.path().c_str()), 0) << "something is left in the folder";
}

TEST(Folder, IsPrivateAndGoesAwayWithItsFiles) {
  std::string path;
  {
    TemporaryFolder folder;
    ASSERT_EQ(folder.make(), "");
    path = folder.path();
    struct stat s;
    ASSERT_EQ(stat(path.c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777u, 0700u);
    ASSERT_EQ(write_file_atomically(path + "/a", "1"), "");
    ASSERT_EQ(mkdir((path + "/b").c_str(), 0700), 0);
    ASSERT_EQ(write_file_atomically(path + "/b/c", "2"), "");
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace relay
