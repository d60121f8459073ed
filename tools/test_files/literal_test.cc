// Calls and values that do not hold together are refused with the place, not believed.
#include "tools/test_files/literal.h"

#include <gtest/gtest.h>

namespace relay::tools {
namespace {

// What parse_call says of a line that it must refuse.
std::string refusal(const std::string& line) {
  try {
    parse_call(line);
  } catch (const Malformed& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Literals, ACallNeedsWhatItMustGive) {
  EXPECT_EQ(parse_call("@f([1, 2]) == 3").function, "f");
  EXPECT_NE(refusal("@f([1, 2])").find("expected ==, ~, agrees"), std::string::npos);
  EXPECT_NE(refusal("f(1) == 1").find("expected `@`"), std::string::npos);
  EXPECT_NE(refusal("@f(1) == 1 2").find("unexpected text"), std::string::npos);
  EXPECT_NE(refusal("@f(1) traps \"open").find("closing quote"), std::string::npos);
}

TEST(Literals, NestingHasALimit) {
  const std::string deep(400, '['), too_deep(100000, '[');
  EXPECT_EQ(refusal("@f(" + deep + std::string(400, ']') + ") agrees"), "accepted");
  EXPECT_NE(refusal("@f(" + too_deep).find("nested more than"), std::string::npos);
}

TEST(Literals, AValueThatDoesNotFitItsTypeIsRefused) {
  const Module m;
  const Type vector = m.context().tensor_type(Shape{2}, kFloat32);
  const auto value = [&](const std::string& text, Type type) {
    return value_of(parse_call("@f(" + text + ") agrees").args[0], type, m);
  };
  EXPECT_EQ(value("[1, 2]", vector).tensor().get(1), 2);
  EXPECT_THROW(value("[1, [2]]", vector), Malformed);
  EXPECT_THROW(value("(1, 2)", vector), Malformed);
  EXPECT_THROW(value("[1, x]", vector), Malformed);
  EXPECT_THROW(value("1", m.context().tuple_type(std::vector<Type>{vector})), Malformed);
}

}  // namespace
}  // namespace relay::tools
