#include "base/diagnostics.h"

#include <gtest/gtest.h>

namespace relay {
namespace {

TEST(Diagnostics, WhatATerminalWouldObeyIsWritten) {
  SourceMap sources;
  const uint32_t file = sources.add("a\x1b[1m.relay", "x\ty\x1b[2m\n");
  Diagnostics d;
  d.error({file, 2, 3}, "bad-name", "`a\x1b[31mb\r`")
      .label({file, 0, 1}, "\x07")
      .label(Span::none(), "\x08")
      .note("\x7f");
  EXPECT_EQ(d.render(sources),
            "a\\x1b[1m.relay:1:3: error: `a\\x1b[31mb\\x0d` [bad-name]\n"
            "  x y [2m\n"
            "    ^\n"
            "a\\x1b[1m.relay:1:1: here: \\x07\n"
            "  x y [2m\n"
            "  ^\n"
            "  \\x08\n"
            "note: \\x7f\n");
}

}  // namespace
}  // namespace relay
