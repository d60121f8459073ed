// The tables of docs/vta.md are those of the code. `--update` rewrites them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "vta/isa/page.h"

namespace relay::tests {
namespace {

constexpr const char* kPage = "docs/vta.md";
bool update = false;

TEST(VtaPage, ShowsTheTablesOfTheCode) {
  std::string page;
  ASSERT_EQ(read_file(kPage, 1 << 20, page), "");
  const std::string wanted = vta::page_with_tables(page);
  ASSERT_FALSE(wanted.empty()) << kPage << " has lost a line that stands around its tables";
  if (update) {
    const std::string path = std::string(std::getenv("BUILD_WORKSPACE_DIRECTORY")) + "/" + kPage;
    EXPECT_EQ(write_file_atomically(path, wanted), "");
  } else {
    EXPECT_EQ(page, wanted) << "run `./dev update` and read the difference";
  }
}

TEST(VtaPage, ALostLineIsNoticed) {
  EXPECT_EQ(vta::page_with_tables("no tables"), "");
  EXPECT_EQ(vta::page_with_tables(std::string(vta::kPageEnd) + std::string(vta::kPageBegin)), "");
}

}  // namespace
}  // namespace relay::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // Only under `bazel run` is there a checkout to write to.
  for (int i = 1; i < argc; ++i)
    relay::tests::update |=
        std::string_view(argv[i]) == "--update" && std::getenv("BUILD_WORKSPACE_DIRECTORY") != nullptr;
  return RUN_ALL_TESTS();
}
