// What is a number on the command line, and what is none.
#include "tools/options/values.h"

#include <gtest/gtest.h>

namespace relay::tools {
namespace {

// What the check leaves of the text, or its refusal.
std::string checked(const Check& check, std::string text) {
  const std::string wrong = check.read(text);
  return wrong.empty() ? text : wrong;
}

TEST(Counts, AreDecimalDigitsInTheirRange) {
  EXPECT_EQ(checked(count(1, 1024), "1"), "1");
  EXPECT_EQ(checked(count(1, 1024), "1024"), "1024");
  for (const char* text :
       {"0", "1025", "-1", "+1", "", " 1", "1 ", "1e3", "0x10", "1.0", "99999999999999999999"})
    EXPECT_EQ(checked(count(1, 1024), text),
              std::string("`") + text + "` is not a whole number from 1 to 1024");
  EXPECT_EQ(checked(count_from(1), "18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(checked(count_from(1), "18446744073709551616"),
            "`18446744073709551616` is not a whole number from 1 on");
  EXPECT_EQ(checked(count_from(1), "-5"), "`-5` is not a whole number from 1 on");
}

TEST(Sizes, HaveUnitsOfPowersOf1024) {
  EXPECT_EQ(parse_size("4096"), 4096u);
  EXPECT_EQ(parse_size("20MB"), 20u << 20);
  EXPECT_EQ(parse_size("20 mib"), 20u << 20);
  EXPECT_EQ(parse_size("3k"), 3072u);
  EXPECT_EQ(parse_size("1.5GB"), 3u << 29);
  EXPECT_EQ(parse_size("7B"), 7u);
  EXPECT_EQ(parse_size("16383PB"), uint64_t{16383} << 50);
  for (const char* text : {"", "MB", "-1", "-1MB", "1e3", "much", "20 M B", "2XB", "20MBs", "1.5.0MB",
                           "16384PB", "99999999999999999999", "nan", "inf", "1.5e9GB"})
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  EXPECT_EQ(checked(size(), "2kb"), "2048");
  EXPECT_EQ(checked(size(), "0"), "`0` is not a size of at least one byte, such as 4096, 300MB or 1.5GB");
}

TEST(Words, AreOneOfSeveral) {
  const Check form = one_of("form", {"so", "package"});
  EXPECT_EQ(checked(form, "package"), "package");
  EXPECT_EQ(checked(form, "pakcage"),
            "there is no form `pakcage`; did you mean `package`? There are: so, package");
  EXPECT_EQ(checked(form, "x"), "there is no form `x`; there are: so, package");
  EXPECT_EQ(form.shown, "{so,package}");
}

TEST(Numbers, AreFinite) {
  EXPECT_EQ(checked(seconds(), "0.5"), "0.5");
  EXPECT_EQ(checked(seconds(), "0"), "0");
  for (const char* text : {"-1", "-0", "nan", "inf", "1e400", "", "1s"})
    EXPECT_EQ(checked(seconds(), text),
              std::string("`") + text + "` is not a number of seconds, 0 or more, such as 0.5");
  EXPECT_EQ(checked(number(0, 100), "99.9"), "99.9");
  EXPECT_EQ(checked(number(0, 100), "101"), "`101` is not a number from 0 to 100");
}

}  // namespace
}  // namespace relay::tools
