#include "vta/compile/pack.h"

#include <gtest/gtest.h>

#include "vta/compile/testing.h"
#include "vta/isa/testing.h"

namespace relay::vta {
namespace {

// BLOCK 4, BATCH 2: small enough to write down.
const Params kSmall = {.log_batch = 1, .log_block = 2};

TEST(Pack, APixelIsAVectorOfChannels) {
  // 1 image, 5 channels, 1 x 2 pixels: channel c has 10 c and 10 c + 1.
  const std::vector<int8_t> tensor = {0, 1, 10, 11, 20, 21, 30, 31, 40, 41};
  const std::vector<uint8_t> packed = {0,  10, 20, 30, 0, 0, 0, 0,  // block 0, pixel 0; no second image
                                       1,  11, 21, 31, 0, 0, 0, 0,  // block 0, pixel 1
                                       40, 0,  0,  0,  0, 0, 0, 0,  // block 1
                                       41, 0,  0,  0,  0, 0, 0, 0};
  const TensorShape shape = {1, 5, 1, 2};
  EXPECT_EQ(pack_tensor(shape, tensor, kSmall), packed);
  EXPECT_EQ(unpack_tensor(shape, packed, kSmall), tensor);
}

TEST(Pack, TensorsComeBack) {
  std::mt19937_64 random(1);
  for (const Params& params : testing::usual_params()) {
    for (const TensorShape& shape :
         {TensorShape{1, 1, 1, 1}, TensorShape{3, 70, 2, 5}, TensorShape{4, 64, 3, 1}}) {
      std::vector<int8_t> tensor(static_cast<size_t>(shape.size()));
      for (int8_t& x : tensor) x = static_cast<int8_t>(static_cast<uint8_t>(random()));
      const std::vector<uint8_t> packed = pack_tensor(shape, tensor, params);
      EXPECT_EQ(std::ssize(packed), packed_bytes(shape, params));
      EXPECT_EQ(unpack_tensor(shape, packed, params), tensor);
    }
  }
}

TEST(Pack, WeightsOfGroupsThatShareABlockAreZeroElsewhere) {
  // Depthwise, 6 channels: a bundle of four groups, and one of the other two.
  const Layer l = {.in_channels = 6, .out_channels = 6, .groups = 6};
  const std::vector<int8_t> weights = {1, 2, 3, 4, 5, 6};
  const std::vector<uint8_t> packed = {1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4,
                                       5, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(pack_weights(l, weights, kSmall), packed);
}

TEST(Pack, BothLayoutsOfWeightsMeanTheSame) {
  // OI and IO: output channel o of input channel i has 10 o + i.
  Layer l = {.in_channels = 2, .out_channels = 3};
  const std::vector<uint8_t> packed = {0, 1, 0, 0, 10, 11, 0, 0, 20, 21, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(pack_weights(l, std::vector<int8_t>{0, 1, 10, 11, 20, 21}, kSmall), packed);
  l.kind = LayerKind::kTransposed;
  EXPECT_EQ(pack_weights(l, std::vector<int8_t>{0, 10, 20, 1, 11, 21}, kSmall), packed);
}

TEST(Pack, ChannelsAreThoseOfEachRow) {
  const std::vector<uint8_t> row = {1, 0, 0, 0, 254, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0};
  std::vector<uint8_t> packed = row;
  packed.insert(packed.end(), row.begin(), row.end());
  EXPECT_EQ(pack_channels(std::vector<int32_t>{1, -2}, kSmall), packed);
}

TEST(Blocks, BundlesOfGroups) {
  const auto sections = [](int64_t in, int64_t out, int64_t groups) {
    return in_blocks({.in_channels = in, .out_channels = out, .groups = groups}, {}).sections;
  };
  // Whole blocks: a group is a bundle.
  EXPECT_EQ(sections(64, 32, 2).size(), 1u);
  EXPECT_EQ(sections(64, 32, 2)[0].bundles, 2);
  EXPECT_EQ(sections(64, 32, 2)[0].in_blocks, 2);
  // 24 channels a group: two groups are three blocks, and the fifth group is left.
  const std::vector<Section> odd = sections(120, 120, 5);
  ASSERT_EQ(odd.size(), 2u);
  EXPECT_EQ(odd[0].bundles, 2);
  EXPECT_EQ(odd[0].groups, 2);
  EXPECT_EQ(odd[0].in_blocks, 3);
  EXPECT_EQ(odd[1].first_in, 6);
  EXPECT_EQ(odd[1].groups, 1);
  EXPECT_EQ(odd[1].in_blocks, 2);
  EXPECT_EQ(odd[1].first_weight, 18);
}

}  // namespace
}  // namespace relay::vta
