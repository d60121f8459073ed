#include <set>

#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

using Words = std::vector<uint64_t>;

Tensor words(const Words& values) {
  Tensor out(kUInt64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    out.set_int(static_cast<int64_t>(i), static_cast<int64_t>(values[i]));
  return out;
}

constexpr uint64_t kFirstBit = uint64_t{1} << 63, kAll = ~uint64_t{0};

std::vector<AttrArg> shape(std::vector<int64_t> extents) { return {{"out_shape", std::move(extents)}}; }

TEST(Threefry, LoweringsComputeWhatEvaluationDoes) {
  const Words keys[] = {{1, 2, 3, 4, 0, 0, 0, 5, kFirstBit, 0},
                        {1, 2, 3, 4, 5, 6, 0, kAll - 3, 1, 0},
                        {1, 2, 3, 4, 5, 6, 7, kAll - 3, 0, 0},
                        {kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll, 0, 1}};
  for (const Words& key : keys) {
    check_lowering(kThreefrySplit, {words(key)});
    for (const std::vector<int64_t>& extents : {std::vector<int64_t>{}, {0}, {2, 3}, {9}})
      check_lowering(kThreefryGenerate, {words(key)}, shape(extents));
  }
}

// The counter goes on by the number of elements, of which there are more than blocks.
TEST(Threefry, NoNumberIsGivenTwice) {
  Context context;
  std::set<int64_t> seen;
  Tensor key = words({1, 2, 3, 4, 0, 0, 0, 0, kFirstBit, 0});
  for (int call = 0; call < 10; ++call) {
    const Value pair =
        op::evaluate(context, kThreefryGenerate, std::vector<Value>{key}, context.attrs(shape({7})));
    key = pair.fields()[0].tensor();
    for (const int64_t number : pair.fields()[1].tensor().ints()) EXPECT_TRUE(seen.insert(number).second);
  }
}

}  // namespace
}  // namespace relay::op::testing
