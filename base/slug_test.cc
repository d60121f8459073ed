#include "base/slug.h"

#include <gtest/gtest.h>

namespace relay {
namespace {

// Needs no run: a literal is looked up when the compiler runs.
static_assert(Slug("unknown-variable").name() == "unknown-variable");
static_assert(Slug("unknown-variable") == "unknown-variable");
static_assert(!(Slug("unknown-variable") == "unknown-type"));
static_assert(!Slug::find("unknown-variables") && !Slug::find("") && !Slug::find("zzz"));

TEST(Slug, HasACauseAndARemedy) {
  EXPECT_GT(Slug::all_names().size(), 200u);
  for (std::string_view name : Slug::all_names()) {
    const std::optional<Slug> slug = Slug::find(name);
    ASSERT_TRUE(slug) << name;
    EXPECT_EQ(slug->name(), name);
    EXPECT_TRUE(slug->cause().ends_with(".")) << name;
    EXPECT_TRUE(slug->remedy().ends_with(".")) << name;
    EXPECT_NE(slug->cause(), slug->remedy()) << name;
  }
}

TEST(Slug, KeepsItsTextsInTheOrderOfItsNames) {
  EXPECT_EQ(Slug("missing-dtype").remedy(), "Add the dtype: `Tensor[(2, n), float32]`.");
  EXPECT_EQ(Slug("wrong-value-type").cause(), "A value has another type than the text writes for it.");
}

}  // namespace
}  // namespace relay
