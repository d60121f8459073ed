// Steps as text: what is understood, and where a mistake is.
#include "tests/schedules/common.h"

namespace relay::kernel::schedule::primitives {
namespace {

class Trace : public SchedulePrimitives {};

TEST_F(Trace, EveryPrimitiveHasItsArguments) {
  const std::vector<std::string_view> all = primitives();
  EXPECT_EQ(all.size(), 21u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  for (std::string_view p : all) {
    EXPECT_NE(arguments_of(p), "");
    // Nothing but the name is never enough, and the message says what it takes.
    const Outcome alone = primitives::apply(make().layer(), p);
    ASSERT_FALSE(alone);
    expect_text(alone.reason(), cat("found the end; it is `", p, " ", arguments_of(p), "`"));
  }
  EXPECT_EQ(arguments_of("tilt"), "");
}

TEST_F(Trace, MistakesHaveTheirPlace) {
  const auto wrong = [&](const std::string& step, std::string_view reason) {
    refused(make().layer(), {step}, reason);
  };
  wrong("", "an empty step");
  wrong("split dense 4", "column 7: expected BLOCK.DEPTH, found `dense`; it is `split BLOCK.DEPTH FACTOR`");
  wrong("split dense.0 x", "column 15: expected FACTOR, found `x`; it is `split BLOCK.DEPTH FACTOR`");
  wrong("split  dense.-1 4",
        "column 8: expected BLOCK.DEPTH, found `dense.-1`; it is `split BLOCK.DEPTH FACTOR`");
  wrong("split dense.0", "column 14: expected FACTOR, found the end; it is `split BLOCK.DEPTH FACTOR`");
  wrong("split dense.0 4 5",
        "column 17: expected the end of the step, found `5`; it is `split BLOCK.DEPTH FACTOR`");
  wrong("bind dense.0 warp",
        "column 14: expected block_x to thread_z, found `warp`; it is `bind BLOCK.DEPTH INDEX`");
  wrong("set_scope dense heap",
        "column 17: expected global, shared or local, found `heap`; it is `set_scope BUFFER SCOPE`");
  wrong("transform_layout dense 0 1/",
        "column 26: expected D, D/F or D%F, found `1/`; it is `transform_layout BUFFER D|D/F|D%F...`");
  wrong("split dense.0 99999999999999999999",
        "column 15: expected FACTOR, found `99999999999999999999`; it is `split BLOCK.DEPTH FACTOR`");
  const Outcome unknown = primitives::apply(make().layer(), " tilt dense.0");
  ASSERT_FALSE(unknown);
  expect_text(unknown.reason(), "column 2: there is no primitive `tilt`; there are: bind, blockize, ");
}

TEST_F(Trace, ReplayStopsAtTheLineThatIsRefused) {
  Schedule s(make().layer());
  EXPECT_EQ(s.replay("# tiles\nsplit dense.0 4  # of rows\n\n  split dense.9   1\nsplit dense.0 2\n"),
            "line 4: `split dense.9 1`: block `dense` stands in 4 loops, and loop 9 was asked for");
  EXPECT_EQ(s.trace(), "split dense.0 4\n");
  EXPECT_EQ(s.replay("split dense.0 2\r\nsplit dense"),
            "line 2: `split dense`: column 7: expected BLOCK.DEPTH, found `dense`; it is `split BLOCK.DEPTH "
            "FACTOR`");
}

}  // namespace
}  // namespace relay::kernel::schedule::primitives
