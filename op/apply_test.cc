#include "op/apply.h"

#include <gtest/gtest.h>

#include "base/failure.h"
#include "op/document.h"
#include "op/ops.h"
#include "op/registry.h"

namespace relay::op {
namespace {

TEST(Registry, FindsByName) {
  EXPECT_EQ(find("add"), &kAdd);
  EXPECT_EQ(find("no_such_operator"), nullptr);
  EXPECT_EQ(name(kAdd), "add");
  for (size_t i = 1; i < all_ops().size(); ++i) EXPECT_LT(all_ops()[i - 1]->name, all_ops()[i]->name);
}

TEST(Registry, SuggestsWhatIsNear) {
  EXPECT_EQ(nearest("mutliply").at(0), "multiply");
  EXPECT_EQ(nearest("quantize").at(0), "qnn.quantize");
  EXPECT_TRUE(nearest("completely_different_thing").empty());
  EXPECT_TRUE(nearest(std::string(100000, 'x')).empty());
}

TEST(Apply, CallsAreTypedIfTheirArgumentsAre) {
  Context c;
  Builder b(c);
  const Expr x = b.var("x", c.tensor_type({c.shape_variable("n"), Dim(2)}, kFloat32));
  const Expr y = call(b, kSum, {x}, {{"axis", std::vector<int64_t>{0}}});
  EXPECT_EQ(show(y->type), "Tensor[(2), float32]");
  EXPECT_EQ(call(b, kExp, {b.var("y")})->type, nullptr);
  EXPECT_THROW(call(b, kLogicalNot, {x}), RelationError);
}

TEST(Apply, EvaluatesOperatorsThatAreWrittenInOthers) {
  Context c;
  const std::vector<Value> args{Tensor::scalar(kFloat32, 2.75), Tensor::scalar_int(kInt8, 0)};
  const uint32_t before = c.node_count();
  const Value v = evaluate(c, kCastLike, args, {});
  EXPECT_EQ(v.tensor().dtype(), kInt8);
  EXPECT_EQ(v.tensor().get(0), 2);
  EXPECT_EQ(c.node_count(), before) << "evaluating in a loop must leave nothing behind";
}

TEST(Apply, ViolatedConstraintsTrap) {
  Context c;
  const std::vector<Value> args{Tensor(kFloat32, {2, 3}), Tensor(kFloat32, {4})};
  try {
    evaluate(c, kAdd, args, {});
    FAIL();
  } catch (const Trap& trap) {
    EXPECT_STREQ(trap.what(),
                 "wrong shape: `add`: shapes do not broadcast: dimension 1 is 3 and 4 (called with "
                 "Tensor[(2, 3), float32], "
                 "Tensor[(4), float32])");
  }
  EXPECT_THROW(evaluate(c, kExp, std::vector<Value>{Value::cell(Tensor(kFloat32, {}))}, {}), Trap);
  EXPECT_THROW(evaluate(c, kExp, {}, {}), Trap);
}

TEST(Apply, ResultsWhoseExtentsNobodyKnowsTrap) {
  Context c;
  const std::vector<Value> args{Tensor(kFloat32, {4})};
  const Attrs unbound = c.attrs({{"reps", std::vector<Dim>{c.shape_variable("n")}}});
  EXPECT_THROW(evaluate(c, kTile, args, unbound), Trap);
}

TEST(Apply, ResultsThatFitNoMemoryAreALimit) {
  Context c;
  const int64_t large = int64_t{1} << 28;
  const Attrs attrs = c.attrs({{"shape", std::vector<int64_t>{large, large}}});
  EXPECT_THROW(evaluate(c, kBroadcastTo, std::vector<Value>{Tensor::scalar(kFloat64, 1)}, attrs), Exhausted);
  // Of no elements, other extents take no memory.
  const std::vector<Value> args{Tensor(kFloat64, {large, 1, 1, 0}), Tensor(kFloat64, {large, large, 0})};
  EXPECT_EQ(evaluate(c, kAdd, args, {}).tensor().size(), 0);
}

// Each would take as many steps as there are pixels or rows.
TEST(Apply, NothingCostsNothing) {
  Context c;
  const int64_t large = int64_t{1} << 45;
  const std::vector<Value> images{Tensor(kFloat32, {0, 1, large, 2})}, rows{Tensor(kFloat32, {large, 0})};
  const Attrs size = c.attrs({{"size", std::vector<int64_t>{2147483647, 2}}});
  EXPECT_EQ(evaluate(c, kResize2d, images, size).tensor().shape(), (Shape{0, 1, 2147483647, 2}));
  for (const OpDef* op : {&kSoftmax, &kLogSoftmax, &kExp})
    EXPECT_EQ(evaluate(c, *op, rows, {}).tensor().shape(), (Shape{large, 0}));
}

TEST(Apply, FlattensNestedTuplesOfAnyDepth) {
  Context c;
  Value v = Tensor::scalar_int(kInt32, 7);
  for (int i = 0; i < 100000; ++i) v = Value::tuple({v});
  const std::vector<Value> roots{v};
  EXPECT_EQ(flatten(roots).size(), 1u);
  const std::vector<Type> types{type_of(c, v)};
  EXPECT_EQ(flatten(types).size(), 1u);
  const Value pair = Value::tuple({Tensor(kInt8, {2}), Value::tuple({}), Tensor(kBool, {})});
  EXPECT_EQ(show(type_of(c, pair)), "(Tensor[(2), int8], (), bool)");
}

TEST(Document, HasEveryOperator) {
  const std::string text =
      markdown([](std::string_view op) { return op == "nn.relu" ? "the example of relu\n" : ""; });
  for (const OpDef* op : all_ops())
    EXPECT_NE(text.find("### `" + op->name + "`"), std::string::npos) << op->name;
  EXPECT_NE(
      text.find("```\nnn.relu(x) = max(x, 0)\n(Tensor[s, d]) -> Tensor[s, d]\n```\n\n* C1: d is numeric.\n"),
      std::string::npos);
  EXPECT_NE(text.find("\n```\nthe example of relu\n```\n"), std::string::npos);
}

}  // namespace
}  // namespace relay::op
