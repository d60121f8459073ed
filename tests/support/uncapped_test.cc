// A list of bounds without a cap holds both ways.
#include "tests/support/uncapped.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <fstream>

namespace relay::tests {
namespace {

std::string list_of(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(UncappedList, AnOutputThatIsNotListedFails) {
  static UncappedList list(list_of("unlisted.txt", "# a comment\nquantised a.relay@f: it rounds to steps\n"));
  list.saw("a.relay@f", "quantised");
  list.saw("a.relay@g", "");
  EXPECT_NONFATAL_FAILURE(list.saw("a.relay@g", "ill-conditioned"), "ill-conditioned a.relay@g: ...");
  EXPECT_NONFATAL_FAILURE(list.saw("a.relay@f", "ill-conditioned"), "ill-conditioned a.relay@f: ...");
}

TEST(UncappedList, ALineThatIsNotNeededFails) {
  static UncappedList list(list_of("stale.txt", "quantised a.relay@f: steps\nquantised b.relay@f: steps\n"));
  list.saw("a.relay@f", "");
  EXPECT_NONFATAL_FAILURE(list.finish("a.relay@"), "take the line off");
  list.saw("a.relay@f", "quantised");
  list.finish("a.relay@");
}

TEST(UncappedList, ALineWithoutAReasonFails) {
  static const std::string path = list_of("bare.txt", "quantised a.relay@f\n");
  EXPECT_NONFATAL_FAILURE(UncappedList{path}, "no reason");
}

}  // namespace
}  // namespace relay::tests
