// take, gather, gather_nd, scatter_nd, scatter_elements; iota, arange, one_hot,
// shapes and constants.
#include "base/failure.h"
#include "kernel/execute.h"
#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::vector<AttrArg>;

Tensor indices(Shape shape, const Ints& values, DType dtype = kInt64) {
  return tensor(dtype, std::move(shape), values);
}
Attributes mode(const char* name) { return {{"mode", std::string(name)}}; }

struct Take {
  Shape data;
  Tensor indices;
  Attributes attrs;
};

const std::vector<Take> takes() {
  const std::string wrap = "wrap", fast = "fast";
  return {
      {{5}, indices({3}, {4, 0, 4}), {{"axis", int64_t{0}}}},
      {{4, 3}, indices({2, 2}, {1, -7, 9, 1}), {{"axis", int64_t{0}}}},
      {{4, 3}, indices({2, 2}, {1, -7, 9, 1}, kInt32), {{"axis", int64_t{-1}}, {"mode", wrap}}},
      {{2, 3, 2}, indices({4}, {2, 0, 1, 2}), {{"axis", int64_t{1}}, {"mode", fast}}},
      {{2, 3}, indices({}, {1}), {{"axis", int64_t{1}}}},
      {{2, 3}, indices({2, 1}, {5, 3}), {}},
      {{2, 3}, indices({0}, {}), {{"axis", int64_t{0}}}},
      {{2, 3}, indices({2}, {-1, 7}), mode("wrap")},
  };
}

TEST(Index, TakeIsLoweredAndDifferentiated) {
  for (const Take& c : takes()) {
    SCOPED_TRACE(relay::show(c.data) + relay::show(c.indices.shape()));
    for (const DType d : {kFloat32, kFloat16, kInt8, kBool})
      check_lowering(kTake, {random(d, c.data, 1), c.indices}, c.attrs);
    check_gradient(kTake, {random(kFloat64, c.data, 1), c.indices}, c.attrs);
  }
  const Attributes batched{{"axis", int64_t{1}}, {"batch_dims", int64_t{1}}};
  check_lowering(kTake, {random(kFloat32, {2, 3, 2}, 1), indices({2, 4}, {2, 0, 1, 2, 0, 0, 1, 1})}, batched);
}

TEST(Index, IndicesOutOfRangeTrap) {
  const Tensor x = random(kFloat32, {3, 2}, 1);
  for (const int64_t bad : {int64_t{-1}, int64_t{3}, INT64_MIN, INT64_MAX}) {
    EXPECT_THROW(
        evaluate(kTake, {x, indices({1}, {bad})}, {{"axis", int64_t{0}}, {"mode", std::string("fast")}}),
        Trap);
    EXPECT_THROW(evaluate(kGather, {x, indices({1, 2}, {0, bad})}, {{"axis", int64_t{0}}}), Trap);
    EXPECT_THROW(evaluate(kGatherNd, {x, indices({1, 1}, {bad})}), Trap);
    EXPECT_THROW(evaluate(kScatterNd, {x, indices({1, 1}, {bad}), random(kFloat32, {1, 2}, 2)}), Trap);
    EXPECT_THROW(evaluate(kScatterElements, {x, indices({1, 2}, {0, bad}), random(kFloat32, {1, 2}, 2)}),
                 Trap);
  }
  // Whatever the mode, an empty axis has no element.
  for (const char* m : {"clip", "wrap", "fast"}) {
    EXPECT_THROW(evaluate(kTake, {Tensor(kFloat32, {0, 2}), indices({1}, {0})},
                          {{"axis", int64_t{0}}, {"mode", std::string(m)}}),
                 Trap);
  }
}

// What a lowering does where evaluation traps.
TEST(Index, LoweringsTrapToo) {
  Context context;
  const auto run = [&](const OpDef& op, const std::vector<Value>& args, const Attributes& attrs, Dims dims) {
    std::vector<Type> types;
    for (const Value& v : args) types.push_back(lowered_type(context, v, dims));
    return kernel::execute(lower(context, op, types, context.attrs(attrs)), flatten(args));
  };
  const Tensor x = random(kFloat32, {3, 2}, 1), u = random(kFloat32, {1, 2}, 2);
  for (const Dims dims : {Dims::kConstant, Dims::kSymbolic}) {
    for (const int64_t bad : {int64_t{-1}, int64_t{3}, INT64_MIN}) {
      EXPECT_THROW(
          run(kTake, {x, indices({1}, {bad})}, {{"axis", int64_t{0}}, {"mode", std::string("fast")}}, dims),
          Trap);
      EXPECT_THROW(run(kGather, {x, indices({1, 2}, {0, bad})}, {{"axis", int64_t{0}}}, Dims::kConstant),
                   std::exception);
      EXPECT_THROW(run(kGatherNd, {x, indices({1, 1}, {bad})}, {}, dims), Trap);
      EXPECT_THROW(run(kScatterNd, {x, indices({1, 1}, {bad}), u}, {}, dims), Trap);
    }
  }
}

TEST(Index, WrappingIsExactAtTheEndsOfTheRange) {
  const Tensor x = tensor<double>(kFloat32, {INT8_MAX}, std::vector<double>(INT8_MAX, 0));
  const Tensor row = evaluate(kIota, {}, {{"shape", Ints{7}}});
  const auto at = [&](int64_t i) {
    return evaluate(kTake, {row, indices({1}, {i})}, {{"axis", int64_t{0}}, {"mode", std::string("wrap")}})
        .get_int(0);
  };
  EXPECT_EQ(at(INT64_MAX), INT64_MAX % 7);
  EXPECT_EQ(at(INT64_MIN), 7 + INT64_MIN % 7);
  EXPECT_EQ(at(-7), 0);
}

TEST(Index, GatherAndScatterElements) {
  const Tensor j = indices({2, 3}, {2, 0, 1, 1, 1, 2});
  for (const DType d : {kFloat32, kInt8, kUInt64}) {
    check_lowering(kGather, {random(d, {3, 3}, 1), indices({3, 3}, {2, 0, 1, 1, 1, 2, 0, 0, 0}, kInt32)},
                   {{"axis", int64_t{0}}});
    check_lowering(kGather, {random(d, {2, 5}, 1), j}, {{"axis", int64_t{-1}}});
    for (const char* how : {"update", "add", "mul", "min", "max"}) {
      check_lowering_of(kScatterElements, {random(d, {4, 3}, 1, -9, 9), j, random(d, {2, 3}, 2, -9, 9)},
                        {{"axis", int64_t{0}}, {"reduction", std::string(how)}}, Dims::kConstant);
    }
  }
  check_gradient(kGather, {random(kFloat64, {2, 5}, 1), j}, {{"axis", int64_t{1}}});
  check_gradient(kScatterElements, {random(kFloat64, {2, 4}, 1), j, random(kFloat64, {2, 3}, 2)},
                 {{"axis", int64_t{1}}, {"reduction", std::string("add")}});
  // Distinct places, and fewer rows of updates than of data.
  check_gradient(
      kScatterElements,
      {random(kFloat64, {3, 4}, 1), indices({2, 3}, {2, 0, 1, 3, 1, 2}), random(kFloat64, {2, 3}, 2)},
      {{"axis", int64_t{1}}});
}

TEST(Index, GatherAndScatterByVectors) {
  const Tensor pairs = indices({2, 3}, {0, 1, 1, 2, 0, 2});  // (0, 2), (1, 0), (1, 2)
  const Tensor rows = indices({1, 3}, {1, 0, 1});
  for (const DType d : {kFloat32, kInt16}) {
    check_lowering_of(kGatherNd, {random(d, {2, 3}, 1), pairs}, {}, Dims::kConstant);
    check_lowering(kGatherNd, {random(d, {2, 3, 4}, 1), rows});
    check_lowering_of(kGatherNd, {random(d, {3, 2, 4}, 1), indices({1, 3, 2}, {1, 0, 1, 1, 0, 0})},
                      {{"batch_dims", int64_t{1}}}, Dims::kConstant);
    for (const char* how : {"update", "add", "mul", "min", "max"}) {
      check_lowering_of(kScatterNd, {random(d, {2, 3}, 1, -9, 9), pairs, random(d, {3}, 2, -9, 9)}, mode(how),
                        Dims::kConstant);
      check_lowering(kScatterNd, {random(d, {2, 4}, 1, -9, 9), rows, random(d, {3, 4}, 2, -9, 9)}, mode(how));
    }
  }
  check_gradient(kGatherNd, {random(kFloat64, {2, 3}, 1), pairs});
  check_gradient(kGatherNd, {random(kFloat64, {2, 3}, 1), rows});
  check_gradient(kGatherNd, {random(kFloat64, {3, 2, 2}, 1), indices({1, 3, 2}, {1, 0, 1, 1, 0, 0})},
                 {{"batch_dims", int64_t{1}}});
  check_gradient(kScatterNd, {random(kFloat64, {2, 3}, 1), pairs, random(kFloat64, {3}, 2)});
  check_gradient(kScatterNd, {random(kFloat64, {2, 3}, 1), rows, random(kFloat64, {3, 3}, 2)}, mode("add"));
}

TEST(Index, OfSeveralUpdatesTheLastStays) {
  const Tensor x = Tensor(kInt32, {2}), u = tensor<double>(kInt32, {3}, {5, 6, 7});
  EXPECT_EQ(evaluate(kScatterNd, {x, indices({1, 3}, {0, 1, 0}), u}).ints(), (Ints{7, 6}));
  EXPECT_EQ(evaluate(kScatterNd, {x, indices({1, 3}, {0, 1, 0}), u}, mode("add")).ints(), (Ints{12, 6}));
}

TEST(Create, LoweringsComputeWhatEvaluationDoes) {
  for (const DType d : {kFloat32, kFloat16, kInt8, kUInt64, kBool}) {
    check_lowering(kZerosLike, {random(d, {2, 3}, 1)});
    check_lowering(kOnesLike, {random(d, {}, 1)});
    check_lowering(kOneHot,
                   {indices({2, 3}, {0, 3, -1, 1, 2, 7}), Tensor::scalar_int(d, 1), Tensor::scalar_int(d, 0)},
                   {{"depth", int64_t{4}}, {"axis", int64_t{1}}});
    if (!d.is_bool()) check_lowering(kIota, {}, {{"shape", Ints{2, 3}}, {"axis", int64_t{-1}}, {"dtype", d}});
  }
  check_lowering(kShapeOf, {random(kFloat32, {4, 0, 3}, 1)}, {{"dtype", kInt64}});
  check_lowering(kShapeOf, {random(kFloat32, {}, 1)});
  check_lowering(kNdarraySize, {random(kFloat32, {4, 3}, 1)});
}

TEST(Create, Gradients) {
  check_gradient(kOneHot, {indices({2}, {0, 2}), Tensor::scalar(kFloat64, 3), Tensor::scalar(kFloat64, 1)},
                 {{"depth", int64_t{4}}});
  check_gradient(kZerosLike, {random(kFloat64, {2}, 1)});
  // Away from where the number of elements jumps.
  check_gradient(kArange,
                 {Tensor::scalar(kFloat64, 1), Tensor::scalar(kFloat64, 2.9), Tensor::scalar(kFloat64, 0.5)});
}

TEST(Create, Constants) {
  EXPECT_EQ(evaluate(kZeros, {}, {{"shape", Ints{2}}, {"dtype", kInt8}}).dtype(), kInt8);
  EXPECT_EQ(evaluate(kOnes, {}, {{"shape", Ints{2, 0}}}).shape(), (Shape{2, 0}));
  EXPECT_EQ(evaluate(kFull, {Tensor::scalar(kFloat32, 2.5)}, {{"shape", Ints{2}}, {"dtype", kInt32}}).ints(),
            (Ints{2, 2}));
  EXPECT_EQ(evaluate(kFullLike, {random(kInt8, {3}, 1), Tensor::scalar_int(kInt8, 7)}).ints(),
            (Ints{7, 7, 7}));
}

TEST(Create, RangesOfNumbers) {
  const auto range = [](DType d, double start, double stop, double step) {
    return evaluate(kArange, {Tensor::scalar(d, start), Tensor::scalar(d, stop), Tensor::scalar(d, step)})
        .doubles();
  };
  EXPECT_EQ(range(kInt32, 0, 5, 2), (std::vector<double>{0, 2, 4}));
  EXPECT_EQ(range(kInt32, 5, 0, -2), (std::vector<double>{5, 3, 1}));
  EXPECT_EQ(range(kInt32, 5, 0, 1), std::vector<double>());
  EXPECT_EQ(range(kFloat32, 0, 1, 0.25), (std::vector<double>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(range(kFloat64, 0, 1e300, -1e-300), std::vector<double>());  // the quotient is -infinity
  EXPECT_THROW(range(kInt32, 0, 5, 0), Trap);
  EXPECT_THROW(range(kFloat32, 0, std::numeric_limits<double>::infinity(), 1), Trap);
  EXPECT_THROW(range(kFloat64, 0, 1e300, 1), Exhausted);
  EXPECT_THROW(evaluate(kArange, {Tensor::scalar_int(kInt64, INT64_MIN),
                                  Tensor::scalar_int(kInt64, INT64_MAX), Tensor::scalar_int(kInt64, 1)}),
               Exhausted);
}

}  // namespace
}  // namespace relay::op::testing
