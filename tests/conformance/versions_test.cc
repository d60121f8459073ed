// What operators meant in older versions of ONNX's set, and forms of newer ones, with results
// computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/cat.h"
#include "tests/conformance/run_model.h"

namespace relay::tests {
namespace {

using frontend::TestModel;

int code_of(DType d) {
  if (d == kInt8) return ::onnx::TensorProto::INT8;
  if (d == kUInt8) return ::onnx::TensorProto::UINT8;
  if (d == kInt32) return ::onnx::TensorProto::INT32;
  if (d == kInt64) return ::onnx::TensorProto::INT64;
  if (d == kBool) return ::onnx::TensorProto::BOOL;
  return ::onnx::TensorProto::FLOAT;
}

// A model of one node in a version of the operator set, and what it is run on. Parameters are
// constants of the model.
class Node {
 public:
  Node(int64_t opset, const char* op, const std::vector<Tensor>& inputs,
       const std::vector<std::vector<int64_t>>& parameters = {}, size_t outputs = 1)
      : model_(opset) {
    std::vector<std::string> in, out;
    for (const Tensor& t : inputs) {
      in.push_back(cat("x", in.size()));
      std::vector<frontend::TestDim> dims;
      for (int64_t d : t.shape()) dims.emplace_back(static_cast<int>(d));
      model_.input(in.back(), dims, code_of(t.dtype()));
      args_.push_back(Value(t));
    }
    for (const std::vector<int64_t>& p : parameters) {
      in.push_back(cat("p", in.size()));
      model_.ints(in.back(), p);
    }
    for (size_t i = 0; i < outputs; ++i) out.push_back(cat("y", i));
    model_.node(op, in, out);
    for (const std::string& name : out) model_.output(name);
  }

  template <class T>
  Node& attr(const std::string& name, const T& value) {
    model_.attr(name, value);
    return *this;
  }
  Node& real(const std::string& name, float value) {
    model_.attribute(name, ::onnx::AttributeProto::FLOAT).set_f(value);
    return *this;
  }
  Node& reals(const std::string& name, const std::vector<float>& values) {
    auto& a = model_.attribute(name, ::onnx::AttributeProto::FLOATS);
    for (float v : values) a.add_floats(v);
    return *this;
  }

  // The first result, or the one that is asked for.
  void gives(const Shape& shape, const std::vector<double>& values, size_t output = 0) {
    const std::vector<Tensor> got = run(model_, args_);
    ASSERT_GT(got.size(), output);
    const Tensor& t = got[output];
    ASSERT_EQ(t.shape(), shape);
    for (size_t i = 0; i < values.size(); ++i) {
      const double v = t.get(static_cast<int64_t>(i));
      if (std::isnan(values[i])) {
        EXPECT_TRUE(std::isnan(v)) << "element " << i << " is " << v;
      } else if (v != values[i]) {
        EXPECT_NEAR(v, values[i], 1e-5) << "element " << i;
      }
    }
  }
  void refused(const std::string& why) {
    const frontend::Imported i = frontend::import_model(model_);
    EXPECT_FALSE(i.ok);
    EXPECT_NE(i.messages.find(why), std::string::npos) << i.messages;
  }

 private:
  TestModel model_;
  std::vector<Value> args_;
};

Tensor floats(const Shape& shape, const std::vector<double>& values) {
  return tensor(kFloat32, shape, values);
}
std::vector<int64_t> list(std::initializer_list<int64_t> values) { return values; }

const Tensor kMatrix = floats({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(Versions, TheSecondOperandIsStretchedByAttributes) {
  Node(6, "Add", {kMatrix, floats({2}, {10, 20})})
      .attr("broadcast", 1)
      .attr("axis", 0)
      .gives({2, 3}, {11, 12, 13, 24, 25, 26});
  Node(1, "Sub", {kMatrix, floats({3}, {1, 2, 3})}).attr("broadcast", 1).gives({2, 3}, {0, 0, 0, 3, 3, 3});
  Node(6, "Mul", {kMatrix, floats({1, 1}, {2})}).attr("broadcast", 1).gives({2, 3}, {2, 4, 6, 8, 10, 12});
  Node(1, "Div", {kMatrix, kMatrix}).attr("consumed_inputs", list({0, 0})).gives({2, 3}, {1, 1, 1, 1, 1, 1});
  Node(1, "Pow", {kMatrix, floats({}, {2})}).attr("broadcast", 1).gives({2, 3}, {1, 4, 9, 16, 25, 36});
  Node(1, "Greater", {kMatrix, floats({2}, {1, 4})})
      .attr("broadcast", 1)
      .attr("axis", -2)
      .gives({2, 3}, {0, 1, 1, 0, 1, 1});
}

TEST(Versions, TheSecondOperandIsNotStretchedByItself) {
  Node(6, "Add", {kMatrix, floats({3}, {1, 2, 3})}).refused("its attribute `broadcast` is not 1");
  Node(6, "Add", {kMatrix, floats({2}, {1, 2})}).attr("broadcast", 1).refused("the extents 3 and 2");
  Node(6, "Add", {kMatrix, floats({2, 3}, {1, 2, 3, 4, 5, 6})})
      .attr("broadcast", 1)
      .attr("axis", 1)
      .refused("reaches beyond the dimensions");
  Node(6, "Add", {floats({3}, {1, 2, 3}), kMatrix}).attr("broadcast", 1).refused("more dimensions");
}

TEST(Versions, CastByName) {
  Node(1, "Cast", {floats({2}, {1.5, -2})}).attr("to", "INT32").gives({2}, {1, -2});
  Node(1, "Cast", {floats({2}, {1.5, -2})}).attr("to", "FLOAT65").refused("names no dtype");
}

TEST(Versions, ClipByAttributes) {
  Node(1, "Clip", {kMatrix}).real("min", 2).real("max", 4).gives({2, 3}, {2, 2, 3, 4, 4, 4});
  Node(6, "Clip", {kMatrix}).real("max", 4).gives({2, 3}, {1, 2, 3, 4, 4, 4});
}

TEST(Versions, ReshapeByAnAttribute) {
  Node(1, "Reshape", {kMatrix}).attr("shape", list({3, -1})).gives({3, 2}, {1, 2, 3, 4, 5, 6});
  Node(1, "Reshape", {kMatrix}).refused("its attribute `shape` is missing");
  Node(1, "Reshape", {kMatrix}).attr("shape", list({-2})).refused("negative extent");
}

TEST(Versions, PadByAttributes) {
  Node(1, "Pad", {floats({2}, {1, 2})}).attr("paddings", list({1, 1})).gives({4}, {0, 1, 2, 0});
  Node(2, "Pad", {floats({2}, {1, 2})}).attr("pads", list({1, 0})).real("value", 7).gives({3}, {7, 1, 2});
}

TEST(Versions, PadAroundTheEnds) {
  Node(19, "Pad", {floats({3}, {1, 2, 3})}, {{4, 1}})
      .attr("mode", "wrap")
      .gives({8}, {3, 1, 2, 3, 1, 2, 3, 1});
  Node(18, "Pad", {floats({3}, {1, 2, 3})}, {{1, 1}}).attr("mode", "wrap").refused("from version 19 on");
}

TEST(Versions, SplitAndConcatWithoutAnAxis) {
  Node(1, "Split", {kMatrix}, {}, 2)
      .attr("axis", 1)
      .attr("split", list({1, 2}))
      .gives({2, 2}, {2, 3, 5, 6}, 1);
  Node(1, "Concat", {kMatrix, kMatrix}).gives({2, 6}, {1, 2, 3, 1, 2, 3});
}

TEST(Versions, TileAlongOneAxis) {
  TestModel m(1);
  m.input("x", {2}).floats("copies", {}, 2).floats("axis", {}, 0);
  m.node("Tile", {"x", "copies", "axis"}, {"y"}).output("y");
  const std::vector<Tensor> got = run(m, {Value(floats({2}, {1, 2}))});
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].doubles(), (std::vector<double>{1, 2, 1, 2}));
}

TEST(Versions, SlopesOfChannels) {
  const Tensor x = floats({1, 2, 2}, {-1, 1, -1, -2});
  Node(6, "PRelu", {x, floats({2}, {2, 3})}).gives({1, 2, 2}, {-2, 1, -3, -6});
  Node(1, "PRelu", {x, floats({1}, {5})}).gives({1, 2, 2}, {-5, 1, -5, -10});
  // From version 7 on the slope broadcasts as in numpy.
  Node(7, "PRelu", {x, floats({2}, {2, 3})}).gives({1, 2, 2}, {-2, 1, -2, -6});
}

TEST(Versions, SeluHadFewerDigits) {
  Node(1, "Selu", {floats({1}, {1})}).gives({1}, {1.0507});
  Node(6, "Selu", {floats({1}, {1})}).gives({1}, {1.05070102});
}

TEST(Versions, GemmStretchesItsThirdInputByAnAttribute) {
  const Tensor a = floats({1, 2}, {1, 2}), b = floats({2, 2}, {1, 0, 0, 1}), c = floats({2}, {10, 20});
  Node(6, "Gemm", {a, b, c}).attr("broadcast", 1).gives({1, 2}, {11, 22});
  Node(6, "Gemm", {a, b, c}).refused("its attribute `broadcast` is not 1");
  Node(7, "Gemm", {a, b, c}).gives({1, 2}, {11, 22});
}

TEST(Versions, BatchNormalizationForInference) {
  const Tensor x = floats({1, 2}, {3, 5}), one = floats({2}, {1, 1}), two = floats({2}, {2, 2});
  const std::vector<Tensor> inputs{x, two, one, one, floats({2}, {4, 4})};
  Node(6, "BatchNormalization", inputs).attr("is_test", 1).real("epsilon", 0).gives({1, 2}, {3, 5});
  Node(6, "BatchNormalization", inputs).refused("training (is_test=0)");
  Node(7, "BatchNormalization", inputs).attr("spatial", 0).real("epsilon", 0).gives({1, 2}, {3, 5});
  Node(9, "BatchNormalization", inputs).attr("spatial", 0).refused("has no attribute `spatial`");
}

TEST(Versions, BatchNormalizationInTraining) {
  const Tensor x = floats({2, 1}, {1, 3}), one = floats({1}, {1}), zero = floats({1}, {0});
  const auto node = [&] {
    return Node(14, "BatchNormalization", {x, one, zero, zero, one}, {}, 3)
        .attr("training_mode", 1)
        .real("epsilon", 0)
        .real("momentum", 0.75f);
  };
  node().gives({2, 1}, {-1, 1});
  node().gives({1}, {0.5}, 1);  // 3/4 of 0 and 1/4 of 2
  node().gives({1}, {1}, 2);    // the variance is 1
}

TEST(Versions, DropoutForInference) {
  Node(6, "Dropout", {kMatrix}).attr("is_test", 1).real("ratio", 0.3f).gives({2, 3}, {1, 2, 3, 4, 5, 6});
  Node(1, "Dropout", {kMatrix}).refused("training (is_test=0)");
  Node(7, "Dropout", {kMatrix}).real("ratio", 0.3f).gives({2, 3}, {1, 2, 3, 4, 5, 6});
}

TEST(Versions, LpPoolOfAFraction) {
  // (1 + 8)^2 for p = 1/2 would be below the least p; 3/2: (1 + 8)^(2/3)
  Node(1, "LpPool", {floats({1, 1, 2}, {1, 4})})
      .attr("kernel_shape", list({2}))
      .real("p", 1.5f)
      .gives({1, 1, 1}, {std::pow(9.0, 2.0 / 3)});
}

TEST(Versions, LpPoolBeyondTheEnd) {
  Node(18, "LpPool", {floats({1, 1, 3}, {3, 4, 5})})
      .attr("kernel_shape", list({2}))
      .attr("strides", list({2}))
      .attr("ceil_mode", 1)
      .gives({1, 1, 2}, {5, 5});
}

TEST(Versions, NegativeIndicesOfOneHot) {
  for (int64_t opset : {9, 11}) {
    TestModel one_hot(opset);
    one_hot.input("i", {2}, ::onnx::TensorProto::INT64).ints("depth", {2}).ints("values", {5, 7});
    one_hot.node("OneHot", {"i", "depth", "values"}, {"y"}).output("y");
    const std::vector<Tensor> got = run(one_hot, {Value(tensor(kInt64, {2}, {-1, 1}))});
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].ints(), (std::vector<int64_t>{5, opset < 11 ? 5 : 7, 5, 7}));
  }
}

TEST(Versions, UpsampleBySides) {
  Node(1, "Upsample", {floats({1, 1, 1, 2}, {1, 2})})
      .real("height_scale", 2)
      .real("width_scale", 1)
      .gives({1, 1, 2, 2}, {1, 2, 1, 2});
  Node(7, "Upsample", {floats({1, 2}, {1, 2})}).reals("scales", {1, 2}).gives({1, 4}, {1, 1, 2, 2});
}

TEST(Versions, ScalesThatAreNotWhole) {
  TestModel m(13);
  m.input("x", {1, 1, 2, 4}).floats("s", {4}, 1).node("Resize", {"x", "", "s"}, {"y"}).output("y");
  m.attr("mode", "linear");
  for (int i : {2, 3}) m.graph->mutable_initializer(0)->mutable_float_data()->Set(i, 0.6f);
  const std::vector<Tensor> got = run(m, {Value(floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}))});
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].shape(), (Shape{1, 1, 1, 2}));  // places (1/2)/0.6 - 1/2 = 1/3 and 2
  EXPECT_NEAR(got[0].get(0), 1 + 1.0 / 3 + 4.0 / 3, 1e-5);
  EXPECT_NEAR(got[0].get(1), 3 + 4.0 / 3, 1e-5);
}

TEST(Versions, ResizeOfAnyAxis) {
  Node(18, "Resize", {floats({4}, {1, 2, 3, 4})}).refused("neither scales nor sizes");
  TestModel m(18);
  m.input("x", {4}).ints("n", {2}).node("Resize", {"x", "", "", "n"}, {"y"}).output("y");
  m.attr("mode", "linear").attr("antialias", 1);
  const std::vector<Tensor> got = run(m, {Value(floats({4}, {1, 2, 3, 4}))});
  ASSERT_EQ(got.size(), 1u);
  // Around 1/2 a hat of width 2: 3/4, 3/4, 1/4 and 1/4 of the first element for the one before it.
  EXPECT_NEAR(got[0].get(0), (0.25 * 1 + 0.75 * 1 + 0.75 * 2 + 0.25 * 3) / 2, 1e-5);
  EXPECT_NEAR(got[0].get(1), (0.25 * 2 + 0.75 * 3 + 0.75 * 4 + 0.25 * 4) / 2, 1e-5);
}

TEST(Versions, ShiftsBeyondTheWidth) {
  const Tensor x = tensor(kInt8, {4}, {-8, 8, -8, 64}), by = tensor(kInt8, {4}, {1, 9, -1, 1});
  Node(28, "BitShift", {x, by}).attr("direction", "RIGHT").gives({4}, {-4, 0, -1, 32});
  Node(28, "BitShift", {x, by}).attr("direction", "LEFT").gives({4}, {-16, 0, 0, -128});
  Node(11, "BitShift", {tensor(kUInt8, {2}, {255, 255}), tensor(kUInt8, {2}, {7, 8})})
      .attr("direction", "RIGHT")
      .gives({2}, {1, 0});
}

TEST(Versions, RemaindersOfFloats) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Tensor x = floats({5}, {-3, 5, -3, 3, 1}), y = floats({5}, {2, -3, inf, inf, 0});
  Node(28, "Mod", {x, y}).gives({5}, {1, -1, inf, 3, nan});
  Node(13, "Mod", {x, y}).refused("before version 28");
}

TEST(Versions, BlocksBesideEachOther) {
  // Channel c, block pixel p of value 10 c + p.
  const Tensor x = floats({1, 2, 2, 2}, {0, 1, 2, 3, 10, 11, 12, 13});
  Node(28, "SpaceToDepth", {x})
      .attr("blocksize", 2)
      .attr("mode", "CRD")
      .gives({1, 8, 1, 1}, {0, 1, 2, 3, 10, 11, 12, 13});
  Node(28, "SpaceToDepth", {x}).attr("blocksize", 2).gives({1, 8, 1, 1}, {0, 10, 1, 11, 2, 12, 3, 13});
  Node(13, "SpaceToDepth", {x}).attr("blocksize", 2).attr("mode", "CRD").refused("has no attribute `mode`");
}

TEST(Versions, PlacesOfTheLargest) {
  const Tensor x = floats({1, 1, 2, 4}, {1, 9, 3, 3, 5, 6, 2, 3});
  const auto node = [&](int64_t order) {
    return Node(12, "MaxPool", {x}, {}, 2)
        .attr("kernel_shape", list({2, 2}))
        .attr("strides", list({2, 2}))
        .attr("storage_order", order);
  };
  node(0).gives({1, 1, 1, 2}, {9, 3});
  node(0).gives({1, 1, 1, 2}, {1, 2}, 1);  // the first of several
  node(1).gives({1, 1, 1, 2}, {2, 4}, 1);  // column by column
}

TEST(Versions, SlicesThatAreUnique) {
  const Tensor x = floats({3, 2}, {2, 1, 1, 5, 2, 1});
  const auto node = [&](int64_t sorted) {
    return Node(11, "Unique", {x}, {}, 4).attr("axis", 0).attr("sorted", sorted);
  };
  node(1).gives({2, 2}, {1, 5, 2, 1});
  node(1).gives({2}, {1, 0}, 1);
  node(1).gives({3}, {1, 0, 1}, 2);
  node(1).gives({2}, {1, 2}, 3);
  node(0).gives({2, 2}, {2, 1, 1, 5});
  node(0).gives({3}, {0, 1, 0}, 2);
}

TEST(Versions, TheLargestOfWeighedPixels) {
  // One place, half way between pixels of 2 and 8 in both rows: a quarter of 8.
  Node(16, "RoiAlign",
       {floats({1, 1, 2, 2}, {2, 8, 2, 8}), floats({1, 4}, {0, 0, 1, 1}), tensor(kInt64, {1}, {0})})
      .attr("mode", "max")
      .attr("sampling_ratio", 1)
      .attr("coordinate_transformation_mode", "output_half_pixel")
      .gives({1, 1, 1, 1}, {2});
}

TEST(Versions, MasksOfDeformableConvolutions) {
  const Tensor none = floats({1, 2, 1, 2}, {0, 0, 0, 0});
  Node(19, "DeformConv",
       {floats({1, 2, 1, 2}, {1, 2, 3, 4}), floats({1, 2, 1, 1}, {1, 10}), none, floats({1}, {100}),
        floats({1, 1, 1, 2}, {0.5, 2})})
      .gives({1, 1, 1, 2}, {115.5, 184});  // (1 + 30) / 2 and (2 + 40) * 2, and the bias
}

TEST(Versions, RecurrentLayersOfTheFirstVersion) {
  const Tensor one = floats({1, 1, 1}, {1});
  Node(1, "RNN", {one, one, one})
      .attr("hidden_size", 1)
      .attr("output_sequence", 1)
      .gives({1, 1, 1, 1}, {std::tanh(1.0)});
}

TEST(Versions, ExtremesOfBooleans) {
  const Tensor x = tensor(kBool, {2, 2}, {0, 1, 0, 0});
  Node(20, "ReduceMax", {x}, {{1}}).attr("keepdims", 0).gives({2}, {1, 0});
  Node(20, "ReduceMin", {x}, {{1}}).attr("keepdims", 0).gives({2}, {0, 0});
}

}  // namespace
}  // namespace relay::tests
