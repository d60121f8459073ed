// The tables of docs/vta.md are those of the code. `--update` rewrites them.
#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "tests/support/checkout.h"
#include "vta/isa/page.h"
#include "vta/sim/page.h"

namespace relay::tests {
namespace {

constexpr const char* kPage = "docs/vta.md";
bool update = false;

TEST(VtaPage, ShowsTheTablesOfTheCode) {
  std::string page;
  ASSERT_EQ(read_file(kPage, 1 << 20, page), "");
  std::string wanted = vta::with_part(page, "fields", vta::field_tables());
  wanted = vta::with_part(wanted, "timing", vta::timing_table());
  ASSERT_FALSE(wanted.empty()) << kPage << " has lost a line that stands around its tables";
  if (update) {
    EXPECT_EQ(write_file_atomically(in_checkout(kPage), wanted), "");
  } else {
    EXPECT_EQ(page, wanted) << "run `./dev update` and read the difference";
  }
}

TEST(VtaPage, ALostLineIsNoticed) {
  EXPECT_EQ(vta::with_part("no tables", "x", "text"), "");
  EXPECT_EQ(vta::with_part("<!-- begin x -->\n", "x", "text"), "");
  EXPECT_EQ(vta::with_part("<!-- end x -->\n<!-- begin x -->\n", "x", "text"), "");
  EXPECT_EQ(vta::with_part("a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n", "x", "new\n"),
            "a\n<!-- begin x -->\n\nnew\n\n<!-- end x -->\nb\n");
}

}  // namespace
}  // namespace relay::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  relay::tests::update = relay::tests::wants_update(argc, argv);
  return RUN_ALL_TESTS();
}
