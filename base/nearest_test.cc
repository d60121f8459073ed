#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace relay {
namespace {

TEST(EditDistance, CountsWhatIsChanged) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("relu", "relu"), 0u);
  EXPECT_EQ(edit_distance("", "relu"), 4u);
  EXPECT_EQ(edit_distance("relu", "rel"), 1u);
  EXPECT_EQ(edit_distance("relu", "relux"), 1u);
  EXPECT_EQ(edit_distance("relu", "rexu"), 1u);
  EXPECT_EQ(edit_distance("relu", "rleu"), 1u);  // a swap of neighbours is one change
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Nearest, TheOneWithTheFewestChanges) {
  const std::vector<std::string> names = {"run", "bench", "verify", "compile", "check"};
  EXPECT_EQ(nearest("complie", names), "compile");
  EXPECT_EQ(nearest("verfy", names), "verify");
  EXPECT_EQ(nearest("chek", names), "check");
  EXPECT_EQ(nearest("ru", names), "run");
}
TEST(Nearest, NothingWhereNoneIsNear) {
  const std::vector<std::string> names = {"run", "bench", "verify"};
  EXPECT_EQ(nearest("transmogrify", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("run", {}), "");
}
TEST(Nearest, LongNamesCostNothing) {
  const std::vector<std::string> names = {std::string(65, 'a'), std::string(100'000, 'a'),
                                          std::string(63, 'a')};
  EXPECT_EQ(nearest(std::string(64, 'a'), names), std::string(63, 'a'));
  EXPECT_EQ(nearest(std::string(1'000'000, 'a'), names), "");
}
TEST(Nearest, OfManyTheLast) {
  std::vector<std::string> names(3000, "far away");
  names[0] = "first";
  names[2500] = "last";
  EXPECT_EQ(nearest("firsd", names), "");
  EXPECT_EQ(nearest("lasd", names), "last");
}

TEST(DidYouMean, AsksWithThePrefix) {
  const std::vector<std::string> names = {"x", "weight"};
  EXPECT_EQ(did_you_mean("wieght", names, "%"), "did you mean `%weight`?");
  EXPECT_EQ(did_you_mean("unrelated", names, "%"), "");
}

TEST(NoSuch, NamesAllAndTheNearest) {
  const std::vector<std::string> names = {"jit", "graph"};
  EXPECT_EQ(no_such("engine", "grpah", names),
            "there is no engine `grpah`; did you mean `graph`? There are: jit, graph");
  EXPECT_EQ(no_such("engine", "gpu", names), "there is no engine `gpu`; there are: jit, graph");
  EXPECT_EQ(choices("n", {}), "there are: none");
}

}  // namespace
}  // namespace relay
