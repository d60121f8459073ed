// strided_slice, concatenate, stack, split, broadcast_to, tile, repeat, reverse.
#include "kernel/execute.h"
#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::vector<AttrArg>;

struct Case {
  const OpDef* op;
  Shape shape;
  Attributes attrs;
};

Attributes slice(Ints begin, Ints end, Ints strides = {}, std::optional<Ints> axes = {}) {
  Attributes a{{"begin", std::move(begin)}, {"end", std::move(end)}, {"strides", std::move(strides)}};
  if (axes) a.push_back({"axes", *axes});
  return a;
}

const std::vector<Case> kSlices = {
    {&kStridedSlice, {5, 4}, slice({1}, {4})},
    {&kStridedSlice, {5, 4}, slice({1, 1}, {4, 3})},
    {&kStridedSlice, {5, 4}, slice({-3}, {-1})},
    {&kStridedSlice, {5, 4}, slice({-100}, {100})},
    {&kStridedSlice, {5, 4}, slice({2}, {INT64_MAX})},
    {&kStridedSlice, {5, 4}, slice({0}, {5}, {2})},
    {&kStridedSlice, {7, 4}, slice({1}, {7}, {3})},
    {&kStridedSlice, {5, 4}, slice({-1}, {-INT64_MAX}, {-1}, Ints{1})},
    {&kStridedSlice, {7, 4}, slice({5}, {0}, {-2})},
    {&kStridedSlice, {7, 4}, slice({INT32_MAX, 0}, {-100, 3}, {-3, 2}, Ints{-2, -1})},
    {&kStridedSlice, {5, 4}, slice({3}, {1})},
    {&kStridedSlice, {5, 4}, slice({9}, {12})},
    {&kStridedSlice,
     {5, 4},
     {{"begin", Ints{1, 0}}, {"end", Ints{3, -1}}, {"slice_mode", std::string("size")}}},
    {&kStridedSlice,
     {5, 4},
     {{"begin", Ints{-2, 1}}, {"end", Ints{-1, 2}}, {"slice_mode", std::string("size")}}},
    {&kStridedSlice, {}, slice({}, {})},
    {&kStridedSlice, {0, 3}, slice({0}, {2})},
};

const std::vector<Case> kRepetitions = {
    {&kBroadcastTo, {3}, {{"shape", Ints{2, 3}}}},
    {&kBroadcastTo, {2, 1, 3}, {{"shape", Ints{2, 4, 3}}}},
    {&kBroadcastTo, {}, {{"shape", Ints{2, 2}}}},
    {&kBroadcastTo, {1}, {{"shape", Ints{0}}}},
    {&kTile, {2, 3}, {{"reps", Ints{2}}}},
    {&kTile, {2, 3}, {{"reps", Ints{3, 1, 2}}}},
    {&kTile, {}, {{"reps", Ints{3}}}},
    {&kTile, {0, 2}, {{"reps", Ints{2, 2}}}},
    {&kRepeat, {2, 3}, {{"repeats", int64_t{2}}, {"axis", int64_t{-1}}}},
    {&kRepeat, {2, 3}, {{"repeats", int64_t{3}}, {"axis", int64_t{0}}}},
    {&kRepeat, {2, 3}, {{"repeats", int64_t{2}}}},
    {&kReverse, {2, 3}, {{"axis", int64_t{1}}}},
    {&kReverse, {4, 1}, {{"axis", int64_t{-2}}}},
};

TEST(Movement, GradientsAreTheDerivatives) {
  for (const std::vector<Case>& cases : {kSlices, kRepetitions}) {
    for (const Case& c : cases) check_gradient(*c.op, {random(kFloat64, c.shape, 1)}, c.attrs);
  }
}

TEST(Movement, LoweringsComputeWhatEvaluationDoes) {
  for (const std::vector<Case>& cases : {kSlices, kRepetitions}) {
    for (const Case& c : cases) {
      for (const DType d : {kFloat16, kFloat32, kInt64, kBool}) {
        SCOPED_TRACE(relay::show(c.shape));
        // The shape of a broadcast is an attribute, which names constants.
        check_lowering_of(*c.op, {random(d, c.shape, 1)}, c.attrs, Dims::kConstant);
        if (c.op != &kBroadcastTo)
          check_lowering_of(*c.op, {random(d, c.shape, 1)}, c.attrs, Dims::kSymbolic);
      }
    }
  }
  check_lowering_of(kRepeat, {random(kFloat32, {2, 3}, 1)}, {{"repeats", int64_t{0}}, {"axis", int64_t{0}}},
                    Dims::kConstant);
}

// Against a slice taken one element at a time, by the definition of a range in Python.
TEST(Movement, EverySmallSliceIsThatOfPython) {
  constexpr int64_t kLength = 4;
  const Tensor x = tensor<double>(kFloat32, {kLength}, {0, 1, 2, 3});
  for (int64_t begin = -6; begin <= 6; ++begin) {
    for (int64_t end = -6; end <= 6; ++end) {
      for (const int64_t step : {-3, -2, -1, 1, 2, 3}) {
        std::vector<double> want;
        const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? kLength : kLength - 1;
        const auto place = [&](int64_t at) { return std::clamp(at < 0 ? at + kLength : at, low, high); };
        for (int64_t i = place(begin); step > 0 ? i < place(end) : i > place(end); i += step)
          want.push_back(static_cast<double>(i));
        EXPECT_EQ(evaluate(kStridedSlice, {x}, slice({begin}, {end}, {step})).doubles(), want)
            << begin << ":" << end << ":" << step;
      }
    }
  }
}

TEST(Movement, SlicesOfSymbolicDims) {
  Context context;
  const Dim n = context.shape_variable("n");
  const auto sliced = [&](const Attributes& attrs) {
    return infer_text(context, kStridedSlice, {context.tensor_type({n, Dim(4)}, kFloat32)}, attrs);
  };
  const auto rows = [&](Dim d) { return relay::show(context.tensor_type({d, Dim(4)}, kFloat32)); };
  EXPECT_EQ(sliced(slice({0}, {INT64_MAX})), rows(n));
  EXPECT_EQ(sliced(slice({-1}, {INT64_MAX})), rows(min(Dim(1), n)));
  EXPECT_EQ(sliced(slice({1}, {INT64_MAX})), rows(max(n - Dim(1), Dim(0))));
  EXPECT_EQ(sliced({{"begin", std::vector<Dim>{Dim(0)}}, {"end", std::vector<Dim>{n}}}), rows(n));
}

// A bound that is only known to be negative at run time counts from the end, as the constant would.
TEST(Movement, SymbolicBoundsMeanWhatTheirValuesMean) {
  Context context;
  const Dim n = context.shape_variable("n");
  for (const int64_t by : {-4, -1, 0, 2}) {
    for (const int64_t step : {-2, -1, 1, 2}) {
      for (int64_t extent = 0; extent <= 5; ++extent) {
        const Tensor x = random(kFloat32, {extent}, 1);
        const auto attrs = [&](Dim begin, Dim end) {
          return Attributes{
              {"begin", std::vector<Dim>{begin}}, {"end", std::vector<Dim>{end}}, {"strides", Ints{step}}};
        };
        const Dim bound = n + Dim(by);
        const Tensor want[2] = {
            evaluate(kStridedSlice, {x}, attrs(Dim(extent + by), Dim(step > 0 ? 100 : -100))),
            evaluate(kStridedSlice, {x}, attrs(Dim(step > 0 ? 0 : 100), Dim(extent + by)))};
        const Attributes symbolic[2] = {attrs(bound, Dim(step > 0 ? 100 : -100)),
                                        attrs(Dim(step > 0 ? 0 : 100), bound)};
        for (int i = 0; i < 2; ++i) {
          const kernel::Kernel k =
              lower(context, kStridedSlice, {context.tensor_type(std::vector<Dim>{n}, kFloat32)},
                    context.attrs(symbolic[i]));
          const std::vector<Tensor> got = kernel::execute(k, std::vector<Tensor>{x});
          EXPECT_TRUE(identical(got[0], want[i]))
              << by << " step " << step << " extent " << extent << " case " << i;
        }
      }
    }
  }
}

TEST(Movement, TensorsSideBySide) {
  for (const DType d : {kFloat64, kInt8, kBool}) {
    const Value three = Value::tuple({random(d, {2, 3}, 1), random(d, {2, 1}, 2), random(d, {2, 4}, 3)});
    check_lowering(kConcatenate, {three}, {{"axis", int64_t{1}}});
    const Value empty = Value::tuple({random(d, {0, 3}, 1), random(d, {2, 3}, 2), random(d, {0, 3}, 3)});
    check_lowering_of(kConcatenate, {empty}, {{"axis", int64_t{-2}}}, Dims::kConstant);
    check_lowering(kConcatenate, {Value::tuple({random(d, {4}, 1)})});
    check_lowering(kSplit, {random(d, {6, 4}, 1)}, {{"indices_or_sections", Ints{1, 1, 4}}});
    check_lowering_of(kSplit, {random(d, {6, 4}, 1)}, {{"indices_or_sections", int64_t{3}}}, Dims::kConstant);
    check_lowering(kSplit, {random(d, {3, 4}, 1)}, {{"indices_or_sections", Ints{}}, {"axis", int64_t{-1}}});
  }
  check_gradient(kConcatenate, {Value::tuple({random(kFloat64, {2, 3}, 1), random(kFloat64, {2, 1}, 2)})},
                 {{"axis", int64_t{-1}}});
  check_gradient(kSplit, {random(kFloat64, {6, 2}, 1)}, {{"indices_or_sections", Ints{1, 4}}});
  check_gradient(kSplit, {random(kFloat64, {2, 6}, 1)},
                 {{"indices_or_sections", int64_t{3}}, {"axis", int64_t{1}}});
}

TEST(Movement, StackIsConcatenationOfRows) {
  const Tensor a = tensor<double>(kFloat32, {2}, {1, 2}), b = tensor<double>(kFloat32, {2}, {3, 4});
  EXPECT_EQ(evaluate(kStack, {Value::tuple({a, b})}).doubles(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(evaluate(kStack, {Value::tuple({a, b})}, {{"axis", int64_t{-1}}}).doubles(),
            (std::vector<double>{1, 3, 2, 4}));
}

TEST(Movement, SymbolicPartsAddUp) {
  Context context;
  const Dim n = context.shape_variable("n");
  const auto rows = [&](Dim d) { return context.tensor_type({d, Dim(3)}, kFloat32); };
  EXPECT_EQ(infer_text(context, kConcatenate,
                       {context.tuple_type(std::vector<Type>{rows(n), rows(n), rows(Dim(2))})}),
            relay::show(rows(n * Dim(2) + Dim(2))));
  EXPECT_EQ(infer_text(context, kSplit, {rows(n * Dim(2))}, {{"indices_or_sections", int64_t{2}}}),
            relay::show(context.tuple_type(std::vector<Type>{rows(n), rows(n)})));
  EXPECT_EQ(infer_text(context, kTile, {rows(n)}, {{"reps", Ints{2, 1}}}), relay::show(rows(n * Dim(2))));
}

}  // namespace
}  // namespace relay::op::testing
