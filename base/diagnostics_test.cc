#include "base/diagnostics.h"

#include <gtest/gtest.h>

#include "base/cat.h"

namespace relay {
namespace {

TEST(Diagnostics, WhatATerminalWouldObeyIsWritten) {
  SourceMap sources;
  const uint32_t file = sources.add("a\x1b[1m.relay", "x\ty\x1b[2m\n");
  Diagnostics d;
  d.error({file, 2, 3}, "expected-name", "`a\x1b[31mb\r`")
      .label({file, 0, 1}, "\x07")
      .label(Span::none(), "\x08")
      .note("\x7f");
  EXPECT_EQ(d.render(sources),
            "a\\x1b[1m.relay:1:3: error: `a\\x1b[31mb\\x0d` [expected-name]\n"
            "  x y [2m\n"
            "    ^\n"
            "a\\x1b[1m.relay:1:1: here: \\x07\n"
            "  x y [2m\n"
            "  ^\n"
            "  \\x08\n"
            "note: \\x7f\n");
}

TEST(Diagnostics, WarningsNeverDriveOutAnError) {
  Diagnostics d;
  for (size_t i = 0; i < Diagnostics::kMaxKept - 1; ++i) d.warning({}, "missing-comma", "a warning");
  d.error({}, "unknown-variable", "the error");
  d.warning({}, "missing-comma", "one too many").label({}, "label").note("note");
  EXPECT_EQ(d.all().size(), Diagnostics::kMaxKept);
  EXPECT_EQ(&d.last(), &d.all().back());
  const std::string text = d.render({});
  EXPECT_NE(text.find("the error"), std::string::npos);
  EXPECT_EQ(text.find("one too many"), std::string::npos);
  EXPECT_EQ(text.find("more errors"), std::string::npos);
}

TEST(Diagnostics, AnErrorDrivesOutTheLastWarning) {
  Diagnostics d;
  for (size_t i = 0; i < Diagnostics::kMaxKept - 2; ++i)
    d.error({}, "unknown-variable", cat("error ", i, "."));
  d.warning({}, "missing-comma", "the first warning");
  d.warning({}, "missing-comma", "the second warning");
  d.error({}, "unknown-variable", "another error");
  EXPECT_EQ(d.all().size(), Diagnostics::kMaxKept);
  std::string text = d.render({});
  EXPECT_NE(text.find("the first warning"), std::string::npos);
  EXPECT_EQ(text.find("the second warning"), std::string::npos);
  EXPECT_NE(text.find("another error"), std::string::npos);
  EXPECT_EQ(text.find("more errors"), std::string::npos);

  for (int i = 0; i < 3; ++i) d.error({}, "unknown-variable", "one of three");
  d.warning({}, "missing-comma", "the third warning");
  text = d.render({});
  EXPECT_EQ(text.find("warning"), std::string::npos);
  EXPECT_NE(text.find("error 997."), std::string::npos);
  EXPECT_NE(text.find("note: 2 more errors are not shown\n"), std::string::npos);
  EXPECT_EQ(d.errors(), Diagnostics::kMaxKept + 2);
}

}  // namespace
}  // namespace relay
