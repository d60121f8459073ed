// What a golden test says and nobody reads is an error of the test.
#include "tests/golden/command.h"

#include <gtest/gtest.h>

namespace relay::tests {
namespace {

std::string misuse_of(const std::string& line,
                      std::vector<std::pair<std::string, std::string>> sections = {}) {
  tools::TestFile file;
  file.command = line;
  file.sections = std::move(sections);
  return misuse(Command(line), file);
}

TEST(Command, KnownWordsAreFine) {
  EXPECT_EQ(misuse_of("opt --passes=fuse --verify=semantics", {{"input", ""}, {"output", ""}}), "");
  EXPECT_EQ(misuse_of("lower -O2", {{"repeated", ""}}), "");
  EXPECT_EQ(misuse_of("read x.npz --names=a,b --tensors=3", {{"files", ""}}), "");
}

TEST(Command, UnknownWordsAreNamed) {
  EXPECT_EQ(misuse_of("optimise"), "there is no command `optimise`");
  EXPECT_EQ(misuse_of("opt --pases=fuse"), "`opt` has no option `pases`");
  EXPECT_EQ(misuse_of("check -O2"), "`check` has no option `O`");
  EXPECT_EQ(misuse_of("opt --verify=sematics"), "the option `verify` has no value `sematics`");
  EXPECT_EQ(misuse_of("opt --broken=breaks"), "the option `broken` has no value `breaks`");
  EXPECT_EQ(misuse_of("lower -O2x"), "the option `O` has no value `2x`");
  EXPECT_EQ(misuse_of("parse --max-bytes=-1"), "the option `max-bytes` has no value `-1`");
  EXPECT_EQ(misuse_of("opt passes=fuse"), "`opt` takes no `passes=fuse`");
  EXPECT_EQ(misuse_of("read a b"), "`read` takes one path");
  EXPECT_EQ(misuse_of("check", {{"imput", ""}}), "`check` has no section `imput`");
}

}  // namespace
}  // namespace relay::tests
