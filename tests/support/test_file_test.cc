#include "tests/support/test_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

namespace relay::tests {
namespace {

// A suite that finds none of its files must not pass.
TEST(TestFiles, AFolderWithoutAnyIsAFailure) {
  EXPECT_THROW(test_files_beneath("no/such/folder"), std::runtime_error);
  const std::filesystem::path empty = std::filesystem::path(testing::TempDir()) / "empty";
  std::filesystem::create_directories(empty);
  EXPECT_THROW(test_files_beneath(empty.string()), std::runtime_error);
}

}  // namespace
}  // namespace relay::tests
