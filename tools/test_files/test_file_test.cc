#include "tools/test_files/test_file.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace relay::tools {
namespace {

// A suite that finds none of its files must not pass.
TEST(TestFiles, AFolderWithoutAnyIsAFailure) {
  EXPECT_THROW(test_files_beneath("no/such/folder"), Malformed);
  const std::filesystem::path empty = std::filesystem::path(testing::TempDir()) / "empty";
  std::filesystem::create_directories(empty);
  EXPECT_THROW(test_files_beneath(empty.string()), Malformed);
}

}  // namespace
}  // namespace relay::tools
