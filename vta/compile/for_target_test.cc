#include "vta/compile/for_target.h"

#include <gtest/gtest.h>

#include "base/cat.h"

namespace relay::vta {
namespace {

Params params_of_text(std::string_view text) { return params_of(*target::target_of(text).vta); }

TEST(TargetsOfVta, TheUsualOneHasTheUsualParameters) { EXPECT_EQ(params_of_text("vta"), Params()); }

TEST(TargetsOfVta, EveryNumberIsAParameter) {
  EXPECT_EQ(params_of_text("vta{batch=2}").log_batch, 1);
  EXPECT_EQ(params_of_text("vta{block=8}").log_block, 3);
  EXPECT_EQ(params_of_text("vta{uop=1K}").log_uop_buff_size, 10);
  EXPECT_EQ(params_of_text("vta{inp=2K}").log_inp_buff_size, 11);
  EXPECT_EQ(params_of_text("vta{wgt=4K}").log_wgt_buff_size, 12);
  EXPECT_EQ(params_of_text("vta{acc=8K}").log_acc_buff_size, 13);
  EXPECT_EQ(schedule_options_of(*target::target_of("vta{threads=1}").vta).threads, 1);
  EXPECT_EQ(schedule_options_of(*target::target_of("vta").vta).threads, std::nullopt) << "the better one";
}

// What a text may say is what the parameters may be: both ends of each range, and what is beyond.
TEST(TargetsOfVta, RangesAreThoseOfTheParameters) {
  const std::pair<std::string_view, int Params::*> numbers[] = {
      {"batch", &Params::log_batch},       {"block", &Params::log_block},
      {"uop", &Params::log_uop_buff_size}, {"inp", &Params::log_inp_buff_size},
      {"wgt", &Params::log_wgt_buff_size}, {"acc", &Params::log_acc_buff_size},
  };
  for (const auto& [name, member] : numbers) {
    for (const ParamRow& row : param_rows()) {
      if (row.member != member) continue;
      const auto text = [&](int log) { return cat("vta{", name, "=", int64_t{1} << log, "}"); };
      EXPECT_EQ(params_of_text(text(row.least)).*member, row.least);
      EXPECT_EQ(params_of_text(text(row.most)).*member, row.most);
      EXPECT_NE(target::wrong_target(text(row.most + 1)), "") << name;
      if (row.least > 0) {
        EXPECT_NE(target::wrong_target(text(row.least - 1)), "") << name;
      }
    }
  }
}

}  // namespace
}  // namespace relay::vta
