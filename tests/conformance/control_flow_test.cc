// Models whose shapes depend on branches and loops, on the engines that run a program for all
// extents. Results are computed by hand.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/cat.h"
#include "driver/engines.h"
#include "tests/conformance/run_model.h"

namespace relay::tests {
namespace {

using frontend::Imported;

std::string model_of(std::string_view graph, int opset = 13) {
  ::onnx::ModelProto model;
  const std::string text = cat("ir_version: 8 opset_import { version: ", opset, " } graph { ", graph, " }");
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model)) << text;
  return model.SerializeAsString();
}

// Inputs of float32 with these dims, a number or a name each; "" is a bool, "i" an
// int64, both of rank 0.
std::string input(std::string_view name, const std::vector<std::string>& dims) {
  std::string shape;
  for (const std::string& d : dims) {
    const bool number = d.find_first_not_of("0123456789") == std::string::npos;
    shape += number ? cat("dim { dim_value: ", d, " } ") : cat("dim { dim_param: \"", d, "\" } ");
  }
  return cat("input { name: \"", name, "\" type { tensor_type { elem_type: 1 shape { ", shape, "} } } } ");
}
std::string scalar(std::string_view name, int code) {
  return cat("input { name: \"", name, "\" type { tensor_type { elem_type: ", code, " shape { } } } } ");
}
constexpr int kBoolCode = 9, kInt64Code = 7;

Value floats(const Shape& shape, const std::vector<double>& values) {
  return Value(tensor(kFloat32, shape, values));
}
Value truth(bool v) { return Value(Tensor::scalar_int(kBool, v ? 1 : 0)); }
Value number(int64_t v) { return Value(Tensor::scalar_int(kInt64, v)); }

class OpenModel {
 public:
  explicit OpenModel(const std::string& bytes) : imported_(frontend::import_bytes(bytes)) {
    EXPECT_TRUE(imported_.ok) << imported_.messages;
    if (!imported_.ok) return;
    Diagnostics diagnostics;
    const Result<Module> checked = typecheck::check(imported_.module, diagnostics);
    EXPECT_TRUE(checked.ok()) << diagnostics.render(imported_.module.context().sources());
    if (!checked) return;
    for (const char* engine : {"interp", "jit"})
      engines_.emplace_back(engine, driver::find_engine(engine)->prepare(*checked, "main", {}));
  }

  // Every engine gives these tensors.
  void expect(const std::vector<Value>& args, const std::vector<Tensor>& wanted) const {
    EXPECT_EQ(engines_.size(), 2u);
    for (const auto& [name, prepared] : engines_) {
      ASSERT_TRUE(prepared.run) << name << ": " << prepared.skipped;
      const driver::Outcome outcome = prepared.run(args);
      ASSERT_EQ(outcome.kind, driver::Outcome::Kind::kValue) << name << ": " << outcome.message;
      const std::vector<Tensor> got = op::flatten(std::span<const Value>(&outcome.value, 1));
      ASSERT_EQ(got.size(), wanted.size()) << name;
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].shape(), wanted[i].shape()) << name << ", output " << i;
        for (int64_t k = 0; k < got[i].size(); ++k)
          EXPECT_NEAR(got[i].get(k), wanted[i].get(k), 1e-5) << name << ", output " << i << ", element " << k;
      }
    }
  }
  // Every engine traps and says this.
  void expect_trap(const std::vector<Value>& args, std::string_view message) const {
    EXPECT_EQ(engines_.size(), 2u);
    for (const auto& [name, prepared] : engines_) {
      ASSERT_TRUE(prepared.run) << name << ": " << prepared.skipped;
      const driver::Outcome outcome = prepared.run(args);
      EXPECT_EQ(outcome.kind, driver::Outcome::Kind::kTrap) << name;
      EXPECT_NE(outcome.message.find(message), std::string::npos) << name << ": " << outcome.message;
    }
  }

 private:
  Imported imported_;
  std::vector<std::pair<std::string, driver::Prepared>> engines_;
};

// An If that gives `x` twice or once.
constexpr std::string_view kTwiceOrOnce = R"(
  node { op_type: "If" input: "c" output: "y"
    attribute { name: "then_branch" type: GRAPH g {
      node { op_type: "Concat" input: "x" input: "x" output: "t" attribute { name: "axis" type: INT i: 0 } }
      output { name: "t" } } }
    attribute { name: "else_branch" type: GRAPH g { output { name: "x" } } } } )";

TEST(ControlFlow, BranchesOfOtherExtents) {
  const OpenModel model(model_of(cat(kTwiceOrOnce, R"(
    node { op_type: "Add" input: "y" input: "y" output: "z" }
    node { op_type: "Shape" input: "z" output: "s" } output { name: "z" } output { name: "s" } )",
                                     input("x", {"n"}), scalar("c", kBoolCode))));
  model.expect({floats({2}, {1, 2}), truth(true)},
               {tensor(kFloat32, {4}, {2, 4, 2, 4}), tensor(kInt64, {1}, {4})});
  model.expect({floats({2}, {1, 2}), truth(false)},
               {tensor(kFloat32, {2}, {2, 4}), tensor(kInt64, {1}, {2})});
}

// What adds an axis, or not.
std::string deeper_or_not(std::string_view condition, std::string_view from, std::string_view to) {
  return cat("node { op_type: \"If\" input: \"", condition, "\" output: \"", to, R"("
    attribute { name: "then_branch" type: GRAPH g {
      node { op_type: "Unsqueeze" input: ")",
             from, "\" input: \"axis\" output: \"", to, "_t\" } output { name: \"", to, R"(_t" } } }
    attribute { name: "else_branch" type: GRAPH g { output { name: ")",
             from, R"(" } } } } )");
}
constexpr std::string_view kAxis = R"(initializer { name: "axis" data_type: 7 dims: 1 int64_data: 0 } )";

TEST(ControlFlow, BranchesOfOtherRanksMeetAgain) {
  const OpenModel model(model_of(cat(deeper_or_not("c", "x", "y"), R"(
    node { op_type: "Neg" input: "y" output: "a" }
    node { op_type: "Shape" input: "a" output: "shape" } node { op_type: "Size" input: "shape" output: "rank" }
    node { op_type: "ReduceSum" input: "a" output: "z" attribute { name: "keepdims" type: INT i: 0 } }
    output { name: "z" } output { name: "rank" } )",
                                     kAxis, input("x", {"n"}), scalar("c", kBoolCode))));
  const Tensor sum = tensor(kFloat32, {}, {-3});
  model.expect({floats({2}, {1, 2}), truth(true)}, {sum, tensor(kInt64, {}, {2})});
  model.expect({floats({2}, {1, 2}), truth(false)}, {sum, tensor(kInt64, {}, {1})});
}

TEST(ControlFlow, AConditionThatIsAskedAgainIsKnown) {
  // Squeezing is no error where the first `If` added the axis, and is not done where it did not.
  const OpenModel model(model_of(cat(deeper_or_not("c", "x", "y"), R"(
    node { op_type: "If" input: "c" output: "z"
      attribute { name: "then_branch" type: GRAPH g {
        node { op_type: "Squeeze" input: "y" input: "axis" output: "t" } output { name: "t" } } }
      attribute { name: "else_branch" type: GRAPH g {
        node { op_type: "Neg" input: "y" output: "e" } output { name: "e" } } } }
    output { name: "z" } )",
                                     kAxis, input("x", {"n"}), scalar("c", kBoolCode))));
  model.expect({floats({2}, {1, 2}), truth(true)}, {tensor(kFloat32, {2}, {1, 2})});
  model.expect({floats({2}, {1, 2}), truth(false)}, {tensor(kFloat32, {2}, {-1, -2})});
}

// A layer takes three dimensions: with two of them the model is wrong, but only on that way.
TEST(ControlFlow, AWayThatIsInvalidFailsWhereItIsTaken) {
  const OpenModel model(model_of(cat(deeper_or_not("c", "x", "y"), R"(
    node { op_type: "RNN" name: "layer" input: "y" input: "w" input: "w" output: "z" output: "h" }
    node { op_type: "Add" input: "z" input: "one" output: "r" }
    initializer { name: "w" data_type: 1 dims: 1 dims: 1 dims: 1 float_data: 0 }
    initializer { name: "one" data_type: 1 float_data: 1 }
    output { name: "r" } output { name: "h" } )",
                                     kAxis, input("x", {"n", "1"}), scalar("c", kBoolCode))));
  model.expect({floats({2, 1}, {1, 2}), truth(true)},
               {tensor(kFloat32, {1, 1, 2, 1}, {1, 1}), tensor(kFloat32, {1, 2, 1}, {0, 0})});
  model.expect_trap({floats({2, 1}, {1, 2}), truth(false)},
                    "`RNN` (node `layer`): its input must have three dimensions");
}

TEST(ControlFlow, BranchesInBranchesAndAfterEachOther) {
  const OpenModel model(model_of(
      cat(deeper_or_not("a", "x", "u"), deeper_or_not("b", "u", "v"), deeper_or_not("c", "v", "w"), R"(
    node { op_type: "ReduceMax" input: "w" output: "z" attribute { name: "keepdims" type: INT i: 0 } }
    node { op_type: "Shape" input: "w" output: "s" } node { op_type: "Size" input: "s" output: "rank" }
    output { name: "z" } output { name: "rank" } )",
          kAxis, input("x", {"n"}), scalar("a", kBoolCode), scalar("b", kBoolCode), scalar("c", kBoolCode))));
  for (int bits = 0; bits < 8; ++bits) {
    const int64_t rank = 1 + (bits & 1) + (bits >> 1 & 1) + (bits >> 2);
    model.expect({floats({2}, {1, 2}), truth(bits & 1), truth(bits & 2), truth(bits & 4)},
                 {tensor(kFloat32, {}, {2}), tensor(kInt64, {}, {static_cast<double>(rank)})});
  }
}

// A loop whose state doubles, and which collects its sums.
constexpr std::string_view kDoubles = R"(
  node { name: "grow" op_type: "Loop" input: "count" input: "" input: "x" output: "y" output: "sums"
    attribute { name: "body" type: GRAPH g {
      node { op_type: "Concat" input: "s" input: "s" output: "s2" attribute { name: "axis" type: INT i: 0 } }
      node { op_type: "ReduceSum" input: "s2" output: "row" attribute { name: "keepdims" type: INT i: 0 } }
      input { name: "i" } input { name: "go" } input { name: "s" }
      output { name: "go" } output { name: "s2" } output { name: "row" } } } }
  output { name: "y" } output { name: "sums" } )";

TEST(ControlFlow, StatesOfLoopsGrow) {
  const OpenModel model(model_of(cat(kDoubles, input("x", {"n"}), scalar("count", kInt64Code))));
  model.expect({floats({1}, {3}), number(0)}, {tensor(kFloat32, {1}, {3}), Tensor(kFloat32, {0})});
  model.expect({floats({1}, {3}), number(2)},
               {tensor(kFloat32, {4}, {3, 3, 3, 3}), tensor(kFloat32, {2}, {6, 12})});
  model.expect({floats({1}, {3}), number(-1)}, {tensor(kFloat32, {1}, {3}), Tensor(kFloat32, {0})});
}

// Row i is x + i in each of many steps.
TEST(ControlFlow, ManyRowsOfALoop) {
  const OpenModel model(model_of(cat(R"(
  node { op_type: "Loop" input: "count" input: "" input: "x" output: "y" output: "rows"
    attribute { name: "body" type: GRAPH g {
      node { op_type: "Identity" input: "s" output: "row" }
      node { op_type: "Add" input: "s" input: "one" output: "s2" }
      initializer { name: "one" data_type: 1 float_data: 1 }
      input { name: "i" } input { name: "go" } input { name: "s" }
      output { name: "go" } output { name: "s2" } output { name: "row" } } } }
  output { name: "rows" } )",
                                     input("x", {"n"}), scalar("count", kInt64Code))));
  constexpr int64_t kCount = 1000;
  Tensor rows(kFloat32, {kCount, 2});
  for (int64_t i = 0; i < kCount; ++i) {
    rows.set(2 * i, static_cast<double>(i));
    rows.set(2 * i + 1, static_cast<double>(i + 5));
  }
  model.expect({floats({2}, {0, 5}), number(kCount)}, {rows});
  model.expect({floats({2}, {0, 5}), number(1)}, {tensor(kFloat32, {1, 2}, {0, 5})});
  model.expect({floats({2}, {0, 5}), number(0)}, {Tensor(kFloat32, {0, 2})});
}

// Its number of steps and its condition are optional, also where no state follows them.
TEST(ControlFlow, LoopsOfRowsAlone) {
  const OpenModel model(model_of(cat(R"(
  node { op_type: "Loop" input: "count" input: "" output: "rows"
    attribute { name: "body" type: GRAPH g {
      node { op_type: "Mul" input: "i" input: "i" output: "row" }
      input { name: "i" } input { name: "go" }
      output { name: "go" } output { name: "row" } } } }
  output { name: "rows" } )",
                                     scalar("count", kInt64Code))));
  model.expect({number(3)}, {tensor(kInt64, {3}, {0, 1, 4})});
  model.expect({number(0)}, {Tensor(kInt64, {0})});
}

// The output `to`: how many elements of a and b are the same.
std::string count_equal(std::string_view a, std::string_view b, std::string_view to) {
  return cat("node { op_type: \"Equal\" input: \"", a, "\" input: \"", b, "\" output: \"", to, "_is\" } ",
             "node { op_type: \"Cast\" input: \"", to, "_is\" output: \"", to,
             "_as\" attribute { name: ", "\"to\" type: INT i: 1 } } node { op_type: \"ReduceSum\" input: \"",
             to, "_as\" output: \"", to,
             "\" attribute { name: \"keepdims\" type: INT i: 0 } } output { name: \"", to, "\" } ");
}

// Of two nodes, of two steps of a loop, and of a node and itself.
TEST(ControlFlow, RandomNumbersWithoutASeedDiffer) {
  constexpr std::string_view kGraph = R"(
    node { op_type: "RandomUniformLike" input: "x" output: "a" }
    node { op_type: "RandomUniformLike" input: "x" output: "b" }
    node { op_type: "Constant" output: "first" attribute { name: "value_int" type: INT i: 0 } }
    node { op_type: "Constant" output: "second" attribute { name: "value_int" type: INT i: 1 } }
    node { op_type: "Loop" input: "count" input: "" output: "rows"
      attribute { name: "body" type: GRAPH g {
        node { op_type: "RandomUniform" output: "row" attribute { name: "shape" type: INTS ints: 4 } }
        node { op_type: "Identity" input: "go" output: "on" }
        input { name: "i" type { tensor_type { elem_type: 7 shape { } } } }
        input { name: "go" type { tensor_type { elem_type: 9 shape { } } } }
        output { name: "on" } output { name: "row" } } } }
    node { op_type: "Gather" input: "rows" input: "first" output: "r0" }
    node { op_type: "Gather" input: "rows" input: "second" output: "r1" } )";
  const OpenModel model(
      model_of(cat(kGraph, count_equal("a", "b", "of_nodes"), count_equal("r0", "r1", "of_steps"),
                   count_equal("a", "a", "of_one"), input("x", {"4"}), scalar("count", kInt64Code))));
  const auto count = [](double n) { return Tensor::scalar(kFloat32, n); };
  model.expect({floats({4}, {0, 0, 0, 0}), number(3)}, {count(0), count(0), count(4)});
}

// Steps of the outermost of four loops differ, however many lie inside.
TEST(ControlFlow, RandomNumbersDifferInLoopsOfLoops) {
  std::string nodes =
      R"(node { op_type: "RandomUniform" output: "rows0" attribute { name: "shape" type: INTS ints: 4 } })";
  for (int loop = 1; loop <= 4; ++loop) {
    nodes = cat("node { op_type: \"Loop\" input: \"count\" input: \"\" output: \"rows", loop,
                "\" attribute { name: \"body\" type: GRAPH g { ", nodes,
                " node { op_type: \"Identity\" input: \"go", loop, "\" output: \"on", loop, "\" } ",
                "input { name: \"i", loop, "\" type { tensor_type { elem_type: 7 shape { } } } } ",
                "input { name: \"go", loop, "\" type { tensor_type { elem_type: 9 shape { } } } } ",
                "output { name: \"on", loop, "\" } output { name: \"rows", loop - 1, "\" } } } } ");
  }
  nodes += R"(
    node { op_type: "Constant" output: "first" attribute { name: "value_int" type: INT i: 0 } }
    node { op_type: "Constant" output: "second" attribute { name: "value_int" type: INT i: 1 } }
    node { op_type: "Gather" input: "rows4" input: "first" output: "r0" }
    node { op_type: "Gather" input: "rows4" input: "second" output: "r1" } )";
  const OpenModel model(model_of(cat(nodes, count_equal("r0", "r1", "of_steps"),
                                     count_equal("r0", "r0", "of_one"), scalar("count", kInt64Code))));
  const auto count = [](double n) { return Tensor::scalar(kFloat32, n); };
  model.expect({number(2)}, {count(0), count(32)});
}

TEST(ControlFlow, RowsOfALoopHaveOneShape) {
  // Row i says where x - i is positive.
  const OpenModel model(model_of(cat(R"(
  node { op_type: "Loop" input: "count" input: "" input: "x" output: "" output: "rows"
    attribute { name: "body" type: GRAPH g {
      node { op_type: "Relu" input: "s" output: "positive" }
      node { op_type: "NonZero" input: "positive" output: "row" }
      node { op_type: "Sub" input: "s" input: "one" output: "s2" }
      initializer { name: "one" data_type: 1 float_data: 1 }
      input { name: "i" } input { name: "go" } input { name: "s" }
      output { name: "go" } output { name: "s2" } output { name: "row" } } } }
  output { name: "rows" } )",
                                     input("x", {"n"}), scalar("count", kInt64Code))));
  model.expect({floats({3}, {5, 0, 7}), number(2)}, {tensor(kInt64, {2, 1, 2}, {0, 2, 0, 2})});
  model.expect({floats({3}, {5, 0, 7}), number(0)}, {Tensor(kInt64, {0, 1, 0})});
  model.expect_trap({floats({3}, {1, 0, 7}), number(2)}, "concatenate");
}

TEST(ControlFlow, LoopsWithoutALimit) {
  // Without a number of steps or a condition at the beginning: x doubles until it is 50 or more.
  const OpenModel model(model_of(cat(R"(
  node { op_type: "Loop" input: "" input: "" input: "x" output: "y"
    attribute { name: "body" type: GRAPH g {
      node { op_type: "Add" input: "s" input: "s" output: "s2" }
      node { op_type: "ReduceMax" input: "s2" output: "most" attribute { name: "keepdims" type: INT i: 0 } }
      node { op_type: "Less" input: "most" input: "limit" output: "more" }
      initializer { name: "limit" data_type: 1 float_data: 50 }
      input { name: "i" } input { name: "go" } input { name: "s" }
      output { name: "more" } output { name: "s2" } } } }
  output { name: "y" } )",
                                     input("x", {"n"}))));
  model.expect({floats({2}, {1, 3})}, {tensor(kFloat32, {2}, {32, 96})});
}

constexpr std::string_view kScanBody = R"(
  attribute { name: "body" type: GRAPH g {
    node { op_type: "Add" input: "s" input: "e" output: "t" }
    node { op_type: "Identity" input: "t" output: "row" }
    input { name: "s" } input { name: "e" } output { name: "t" } output { name: "row" } } }
  attribute { name: "num_scan_inputs" type: INT i: 1 } )";

TEST(ControlFlow, ScansAlongAxes) {
  const OpenModel model(
      model_of(cat(R"(node { op_type: "Scan" input: "zero" input: "x" output: "" output: "all"
    attribute { name: "scan_input_axes" type: INTS ints: -1 }
    attribute { name: "scan_input_directions" type: INTS ints: 1 }
    attribute { name: "scan_output_directions" type: INTS ints: 1 }
    attribute { name: "scan_output_axes" type: INTS ints: 1 } )",
                   kScanBody, "} output { name: \"all\" } ", input("zero", {"2"}), input("x", {"2", "n"}))));
  model.expect({floats({2}, {0, 0}), floats({2, 3}, {1, 2, 3, 10, 20, 30})},
               {tensor(kFloat32, {2, 3}, {6, 5, 3, 60, 50, 30})});
}

TEST(ControlFlow, ScansOfABatchHaveLengths) {
  const OpenModel model(model_of(
      cat(R"(node { op_type: "Scan" input: "lengths" input: "zero" input: "x" output: "last" output: "all" )",
          kScanBody,
          R"(} output { name: "last" } output { name: "all" }
          input { name: "lengths" type { tensor_type { elem_type: 7 shape { dim { dim_param: "b" } } } } } )",
          input("zero", {"b", "1"}), input("x", {"b", "n", "1"})),
      8));
  model.expect(
      {Value(tensor(kInt64, {2}, {1, 3})), floats({2, 1}, {0, 5}), floats({2, 3, 1}, {1, 2, 3, 4, 5, 6})},
      {tensor(kFloat32, {2, 1}, {1, 20}), tensor(kFloat32, {2, 3, 1}, {1, 0, 0, 9, 14, 20})});
}

// A layer of one unit that adds its input to its state: W, R and the activation are the identity.
std::string sums(std::string_view attributes, std::string_view lengths) {
  std::string weights;
  for (const char* name : {"w", "r"})
    weights += cat("initializer { name: \"", name,
                   "\" data_type: 1 dims: 2 dims: 1 dims: 1 float_data: 1 float_data: 1 } ");
  return cat("node { op_type: \"RNN\" input: \"x\" input: \"w\" input: \"r\" input: \"\" input: \"", lengths,
             R"(" output: "y" output: "h" attribute { name: "hidden_size" type: INT i: 1 }
             attribute { name: "direction" type: STRING s: "bidirectional" }
             attribute { name: "activations" type: STRINGS strings: "Affine" strings: "Affine" } )",
             attributes, "} output { name: \"y\" } output { name: \"h\" } ", weights);
}

TEST(ControlFlow, LayersOfAnyLengthAndBatch) {
  const OpenModel model(model_of(cat(sums("", ""), input("x", {"n", "b", "1"}))));
  model.expect({floats({3, 1, 1}, {1, 2, 3})},
               {tensor(kFloat32, {3, 2, 1, 1}, {1, 6, 3, 5, 6, 3}), tensor(kFloat32, {2, 1, 1}, {6, 6})});
  model.expect({floats({1, 2, 1}, {1, 2})},
               {tensor(kFloat32, {1, 2, 2, 1}, {1, 2, 1, 2}), tensor(kFloat32, {2, 2, 1}, {1, 2, 1, 2})});
  // No step at all: the last state is the first one.
  model.expect({Value(Tensor(kFloat32, {0, 1, 1}))},
               {Tensor(kFloat32, {0, 2, 1, 1}), tensor(kFloat32, {2, 1, 1}, {0, 0})});
}

TEST(ControlFlow, LayersHaveALengthForEachRow) {
  const std::string lengths =
      R"(input { name: "lengths" type { tensor_type { elem_type: 6 shape { dim { dim_value: 2 } } } } } )";
  for (const char* steps : {"n", "3"}) {  // a loop, and steps that are written out
    const OpenModel model(model_of(cat(sums("attribute { name: \"layout\" type: INT i: 1 } ", "lengths"),
                                       input("x", {"2", steps, "1"}), lengths),
                                   14));
    model.expect({floats({2, 3, 1}, {1, 2, 3, 4, 5, 6}), Value(tensor(kInt32, {2}, {3, 1}))},
                 {tensor(kFloat32, {2, 3, 2, 1}, {1, 6, 3, 5, 6, 3, 4, 4, 0, 0, 0, 0}),
                  tensor(kFloat32, {2, 2, 1}, {6, 6, 4, 4})});
  }
}

}  // namespace
}  // namespace relay::tests
