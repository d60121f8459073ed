#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "base/cat.h"

namespace {
int masks_set = 0;
}

// In the place of libc's, for the whole program.
extern "C" mode_t umask(mode_t mask) noexcept {
  ++masks_set;
  return static_cast<mode_t>(syscall(SYS_umask, mask));
}

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

TEST_F(File, APipeIsWrittenToAndNotReplaced) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(write_file_atomically(path("pipe"), "through"), "");
  char buffer[16];
  EXPECT_EQ(read(reader, buffer, sizeof buffer), 7);
  close(reader);
  struct stat s;
  ASSERT_EQ(lstat(path("pipe").c_str(), &s), 0);
  EXPECT_TRUE(S_ISFIFO(s.st_mode));
}

TEST_F(File, ALinkIsFollowedAndNotReplaced) {
  ASSERT_EQ(write_file_atomically(path("x"), "old"), "");
  ASSERT_EQ(symlink("x", path("link").c_str()), 0);
  ASSERT_EQ(write_file_atomically(path("link"), "new"), "");
  ASSERT_EQ(read_file(path("x"), 10, text_), "");
  EXPECT_EQ(text_, "new");
  struct stat s;
  ASSERT_EQ(lstat(path("link").c_str(), &s), 0);
  EXPECT_TRUE(S_ISLNK(s.st_mode));
}

TEST_F(File, FilesThatBelongTogetherAreAllWrittenOrNone) {
  ASSERT_EQ(write_file_atomically(path("old"), "old"), "");
  ASSERT_EQ(mkdir(path("folder").c_str(), 0700), 0);
  const FileContents wrong[] = {{path("old"), "new"}, {path("new"), "new"}, {path("folder"), "new"}};
  const std::string why = write_files_atomically(wrong);
  EXPECT_NE(why.find(path("folder")), std::string::npos) << why;
  EXPECT_NE(why.find("it is a folder"), std::string::npos) << why;
  ASSERT_EQ(read_file(path("old"), 10, text_), "");
  EXPECT_EQ(text_, "old");
  EXPECT_NE(access(path("new").c_str(), F_OK), 0);
  const FileContents right[] = {{path("old"), "new"}, {path("new"), "too"}};
  EXPECT_EQ(write_files_atomically(right), "");
  ASSERT_EQ(read_file(path("old"), 10, text_), "");
  EXPECT_EQ(text_, "new");
  ASSERT_EQ(read_file(path("new"), 10, text_), "");
  EXPECT_EQ(text_, "too");
}

// The mask is the process's: another thread may be making a file meanwhile, or ask for it as well.
TEST_F(File, AWrittenFileFollowsTheMaskWithoutSettingIt) {
  const mode_t before = umask(027);
  const int set = masks_set;
  EXPECT_EQ(write_file_atomically(path("x"), "x"), "");
  EXPECT_EQ(masks_set, set);
  EXPECT_EQ(umask(before), 027u);
  struct stat s;
  ASSERT_EQ(stat(path("x").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0640u);
}

TEST_F(File, NamesOfFilesOnTheirWayThatAreTakenArePassedOver) {
  ASSERT_EQ(write_file_atomically(path("x"), "old"), "");
  // What a process of the same number left behind, under the next names.
  const std::string taken = path(cat("x.", getpid(), "-"));
  for (int i = 0; i < 200; ++i) close(open(cat(taken, i).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  EXPECT_EQ(write_file_atomically(path("x"), "new"), "");
  ASSERT_EQ(read_file(path("x"), 10, text_), "");
  EXPECT_EQ(text_, "new");
}

TEST_F(File, AskingWhetherAFileCanBeWrittenLeavesNothing) {
  EXPECT_EQ(cannot_write(path("x")), "");
  EXPECT_NE(access(path("x").c_str(), F_OK), 0);
  ASSERT_EQ(write_file_atomically(path("x"), "old"), "");
  EXPECT_EQ(cannot_write(path("x")), "");
  ASSERT_EQ(read_file(path("x"), 10, text_), "");
  EXPECT_EQ(text_, "old");
  EXPECT_NE(cannot_write(path("no/such/folder")).find("there is no folder"), std::string::npos);
  EXPECT_NE(cannot_write(path("x/y")), "");
  EXPECT_NE(cannot_write(folder_.path()), "");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(cannot_write(path("pipe")), "");  // and does not wait for a reader
}

TEST(Temporaries, AFullFolderIsToldFromOtherFailures) {
  EXPECT_EQ(cannot_write_temporaries("error: expected `;`"), "");
  const std::string full =
      cannot_write_temporaries("fatal error: cannot write x.o: No space left on device\n");
  EXPECT_EQ(full.find("the folder for temporary files, "), 0u) << full;
  EXPECT_NE(full.find("takes no more: No space left on device"), std::string::npos) << full;
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  setenv("TMPDIR", "/nowhere/tmp", 1);
  const std::string missing = cannot_write_temporaries("");
  before ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
  EXPECT_NE(missing.find("/nowhere/tmp"), std::string::npos) << missing;
  EXPECT_NE(missing.find("(TMPDIR)"), std::string::npos) << missing;
}

TEST_F(File, DevicesAndPipesAreStreams) {
  EXPECT_TRUE(is_stream("/dev/null"));
  EXPECT_FALSE(is_stream("/"));
  EXPECT_FALSE(is_stream("/nowhere/x"));
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

TEST_F(File, TheCacheIsWhereTheUserSaysOrAtHome) {
  const auto before = [](const char* name) {
    return std::string(std::getenv(name) ? std::getenv(name) : "");
  };
  const std::string chosen = before("XDG_CACHE_HOME"), home = before("HOME");
  setenv("XDG_CACHE_HOME", "/chosen", 1);
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(cache_folder(), "/chosen/relay");
  setenv("XDG_CACHE_HOME", "not/absolute", 1);
  EXPECT_EQ(cache_folder(), "/home/somebody/.cache/relay");
  unsetenv("HOME");
  EXPECT_EQ(cache_folder(), "");
  setenv("XDG_CACHE_HOME", chosen.c_str(), 1);
  setenv("HOME", home.c_str(), 1);
  EXPECT_EQ(make_folders(path("a/b/c")), "");
  EXPECT_EQ(make_folders(path("a/b/c")), "");
  ASSERT_EQ(write_file_atomically(path("file"), ""), "");
  EXPECT_NE(make_folders(path("file/a")).find(path("file/a")), std::string::npos);
}

}  // namespace
}  // namespace relay
