// Parameters: configuration files, and which choices have instructions.
#include "vta/isa/params.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "vta/isa/fields.h"
#include "vta/isa/testing.h"

namespace relay::vta {
namespace {

std::string refusal(std::string_view json) {
  Diagnostics d;
  const Result<Params> params = read_params(json, d);
  EXPECT_FALSE(params.ok()) << json;
  return d.render(SourceMap());
}

// The configuration that the project of the instruction set publishes, and what follows from it.
TEST(Params, ReadsThePublishedConfiguration) {
  Diagnostics d;
  const Result<Params> params = read_params(R"({
      "TARGET": "sim", "HW_VER": "0.0.2", "LOG_INP_WIDTH": 3, "LOG_WGT_WIDTH": 3, "LOG_ACC_WIDTH": 5,
      "LOG_BATCH": 0, "LOG_BLOCK": 4, "LOG_UOP_BUFF_SIZE": 15, "LOG_INP_BUFF_SIZE": 15,
      "LOG_WGT_BUFF_SIZE": 18, "LOG_ACC_BUFF_SIZE": 17})",
                                            d);
  ASSERT_TRUE(params.ok());
  EXPECT_EQ(*params, Params());
  EXPECT_EQ(params->depth(Memory::kInp), 2048);
  EXPECT_EQ(params->depth(Memory::kWgt), 1024);
  EXPECT_EQ(params->depth(Memory::kAcc), 2048);
  EXPECT_EQ(params->depth(Memory::kUop), 8192);
  EXPECT_EQ(params->dram_bytes(Memory::kInp), 16);
  EXPECT_EQ(params->dram_bytes(Memory::kWgt), 256);
  EXPECT_EQ(params->dram_bytes(Memory::kAcc), 64);
  EXPECT_EQ(params->dram_bytes(Memory::kOut), 16);
  EXPECT_EQ(params->dram_bytes(Memory::kAcc8), 16);
}

TEST(Params, AreReadAsTheyWereWritten) {
  for (Params params : testing::usual_params()) {
    params.target = "a \"board\"";
    Diagnostics d;
    const Result<Params> again = read_params(write_params(params), d);
    ASSERT_TRUE(again.ok()) << write_params(params);
    EXPECT_EQ(*again, params);
  }
}

// What another simulator looks for. Earlier versions of it have no LOG_OUT_WIDTH, and do not look.
TEST(Params, AreWrittenWithThePublishedKeys) {
  EXPECT_EQ(write_params({}), R"({
  "TARGET": "sim",
  "HW_VER": "0.0.2",
  "LOG_INP_WIDTH": 3,
  "LOG_WGT_WIDTH": 3,
  "LOG_ACC_WIDTH": 5,
  "LOG_OUT_WIDTH": 3,
  "LOG_BATCH": 0,
  "LOG_BLOCK": 4,
  "LOG_UOP_BUFF_SIZE": 15,
  "LOG_INP_BUFF_SIZE": 15,
  "LOG_WGT_BUFF_SIZE": 18,
  "LOG_ACC_BUFF_SIZE": 17
}
)");
}

TEST(Params, ResultsAreAsWideAsInputsUnlessTheFileSays) {
  Diagnostics d;
  EXPECT_EQ(read_params(R"({"LOG_INP_WIDTH": 5, "LOG_INP_BUFF_SIZE": 17})", d)->log_out_width, 5);
  EXPECT_EQ(read_params(R"({"LOG_OUT_WIDTH": 5})", d)->log_out_width, 5);
}

TEST(Params, NameTheKeyThatIsWrong) {
  EXPECT_EQ(refusal(R"({"LOG_BLOCK": 9})"),
            "error: `LOG_BLOCK` is 9, and has to be 2 to 6 [vta-parameters]\n");
  EXPECT_EQ(refusal(R"({"LOG_ACC_WIDTH": "5"})"),
            "error: `LOG_ACC_WIDTH` is an integer of 5 to 5, and not `\"5\"` [vta-parameters]\n");
  EXPECT_NE(refusal(R"({"LOG_BLOK": 4})").find("did you mean `LOG_BLOCK`?"), std::string::npos);
  EXPECT_NE(refusal(R"({"LOG_BLOCK": 99999999999999999999})").find("`LOG_BLOCK` is an integer"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"LOG_BLOCK": 4, "LOG_BLOCK": 5})").find("the key `LOG_BLOCK` twice"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"LOG_BLOCK": [4]})").find("none is an object or a list"), std::string::npos);
  EXPECT_NE(refusal("[]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(refusal(R"({"LOG_BLOCK": )").find("it is not JSON"), std::string::npos);
  EXPECT_NE(
      refusal(R"({"LOG_WGT_BUFF_SIZE": 8})")
          .find("`LOG_WGT_BUFF_SIZE` is 8, and one element has 2^8 bytes: the scratchpad needs two elements"),
      std::string::npos);
}

TEST(Params, NestedTextsOfAnyDepthEnd) {
  EXPECT_NE(refusal(std::string(100000, '[')).find("none is an object or a list"), std::string::npos);
}

std::string no_layout(const Params& params) {
  Diagnostics d;
  EXPECT_FALSE(Layout::make(params, d).ok());
  return d.render(SourceMap());
}

TEST(Params, NameTheFieldThatHasNoRoom) {
  // BLOCK 8 with the usual scratchpads: 4 x 12 + 2 x 12 bits of factors.
  const std::string said = no_layout({.log_block = 3});
  EXPECT_NE(said.find("the field `wgt_factor_in` of `gemm` would end at bit 136 of 128"), std::string::npos)
      << said;
  EXPECT_NE(said.find("the field `wgt` of micro-ops would end at bit 36 of 32"), std::string::npos) << said;
  EXPECT_NE(
      no_layout({.log_wgt_width = 5, .log_uop_buff_size = 20}).find("the field `sram_base` has 16 bits"),
      std::string::npos);
  EXPECT_NE(no_layout({.log_block = 7}).find("`LOG_BLOCK` is 7"), std::string::npos);
}

}  // namespace
}  // namespace relay::vta
