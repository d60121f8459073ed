#include "base/json_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace relay {
namespace {

using Json = nlohmann::ordered_json;

TEST(JsonText, HasTheTextOrSaysThatItCannot) {
  std::string text;
  for (int i = 0; i < 128; ++i) text += static_cast<char>(i);
  EXPECT_EQ(Json::parse(json_text(Json(text))).get<std::string>(), text);
  EXPECT_EQ(*exact_json_text(Json(text)), json_text(Json(text)));
  EXPECT_TRUE(std::ranges::all_of(json_text(Json(text)), [](char c) { return c >= ' ' && c <= '~'; }));
  EXPECT_EQ(Json::parse(json_text(Json("a\xff"))).get<std::string>(), "a\xef\xbf\xbd");
  EXPECT_FALSE(exact_json_text(Json{{"a\xff", 1}}));
}

}  // namespace
}  // namespace relay
