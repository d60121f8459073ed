// Operators on integers with scales and zero points, of ONNX and of ONNX Runtime's own domain, with
// results of ONNX Runtime 1.31.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/cat.h"
#include "tests/conformance/run_model.h"

namespace relay::tests {
namespace {

using frontend::TestModel;

Tensor real(double v) { return tensor(kFloat32, {}, {v}); }
Tensor u8(double v) { return tensor(kUInt8, {}, {v}); }
Tensor i8(double v) { return tensor(kInt8, {}, {v}); }

int onnx_type(DType d) {
  if (d == kUInt8) return ::onnx::TensorProto::UINT8;
  if (d == kInt8) return ::onnx::TensorProto::INT8;
  if (d == kInt32) return ::onnx::TensorProto::INT32;
  if (d == kBool) return ::onnx::TensorProto::BOOL;
  return ::onnx::TensorProto::FLOAT;
}

constexpr auto kRuntime = "com.microsoft";

// A model of one node, and what it is run on. An input without a tensor is absent.
class Operator {
 public:
  Operator(const char* op, const char* domain, const std::vector<std::optional<Tensor>>& inputs) {
    model_.proto.add_opset_import()->set_domain(kRuntime);
    model_.proto.mutable_opset_import(1)->set_version(1);
    std::vector<std::string> names;
    for (const std::optional<Tensor>& t : inputs) {
      names.push_back(t ? cat("i", names.size()) : "");
      if (!t) continue;
      std::vector<frontend::TestDim> dims;
      for (const int64_t d : t->shape()) dims.emplace_back(static_cast<int>(d));
      model_.input(names.back(), dims, onnx_type(t->dtype()));
      args_.push_back(Value(*t));
    }
    model_.node(op, names, {"y"}).output("y");
    model_.last->set_domain(domain);
  }
  Operator(const char* op, const std::vector<std::optional<Tensor>>& inputs)
      : Operator(op, kRuntime, inputs) {}

  Operator& attr(const std::string& name, double value) {
    model_.attribute(name, ::onnx::AttributeProto::FLOAT).set_f(static_cast<float>(value));
    return *this;
  }
  template <class T>
  Operator& attr(const std::string& name, const T& value) {
    model_.attr(name, value);
    return *this;
  }

  std::vector<Tensor> results() const { return run(model_, args_); }

 private:
  TestModel model_;
  std::vector<Value> args_;
};

void expect(const Operator& op, const Tensor& wanted) {
  const std::vector<Tensor> got = op.results();
  ASSERT_EQ(got.size(), 1u);
  ASSERT_EQ(got[0].dtype(), wanted.dtype());
  ASSERT_EQ(got[0].shape(), wanted.shape());
  for (int64_t i = 0; i < wanted.size(); ++i) {
    const double bound = wanted.dtype().is_float() ? 1e-6 * std::max(1.0, std::fabs(wanted.get(i))) : 0;
    EXPECT_NEAR(got[0].get(i), wanted.get(i), bound) << "element " << i;
  }
}

TEST(QuantisedOperators, Arithmetic) {
  const Tensor a = tensor(kUInt8, {2, 4}, {0, 3, 10, 255, 7, 100, 128, 4});
  const Tensor b = tensor(kUInt8, {4}, {1, 2, 30, 250});
  expect(Operator("QLinearAdd", {a, real(0.1), u8(3), b, real(0.05), u8(10), real(0.2), u8(100)}),
         tensor(kUInt8, {2, 4}, {96, 98, 108, 255, 100, 146, 168, 160}));
  expect(Operator("QLinearMul", {a, real(0.1), u8(3), b, real(0.05), u8(10), real(0.2), u8(100)}),
         tensor(kUInt8, {2, 4}, {101, 100, 104, 255, 99, 81, 162, 106}));
  expect(Operator("QLinearConcat", {real(0.2), u8(100), a, real(0.1), u8(3), tensor(kUInt8, {2, 1}, {1, 200}),
                                    real(0.2), u8(100)})
             .attr("axis", 1),
         tensor(kUInt8, {2, 5}, {98, 100, 104, 226, 1, 102, 148, 162, 100, 200}));
  expect(Operator("QLinearWhere", {tensor(kBool, {2, 1}, {1, 0}), a, real(0.1), u8(3), b, real(0.05), u8(10),
                                   real(0.2), u8(100)}),
         tensor(kUInt8, {2, 4}, {98, 100, 104, 226, 98, 98, 105, 160}));
}

TEST(QuantisedOperators, Functions) {
  const Tensor a = tensor(kUInt8, {2, 4}, {0, 3, 10, 255, 7, 100, 128, 4});
  expect(Operator("QLinearSigmoid", {a, real(0.1), u8(100), real(0.00390625), u8(0)}),
         tensor(kUInt8, {2, 4}, {0, 0, 0, 255, 0, 128, 241, 0}));
  expect(Operator("QLinearSigmoid", {tensor(kInt8, {1, 5}, {-128, -3, 0, 5, 127}), real(0.05), std::nullopt,
                                     real(0.00390625), i8(-128)}),
         tensor(kInt8, {1, 5}, {-128, -10, 0, 16, 127}));
  expect(Operator("QLinearLeakyRelu", {a, real(0.1), u8(100), real(0.07), u8(20)}).attr("alpha", 0.2),
         tensor(kUInt8, {2, 4}, {0, 0, 0, 241, 0, 20, 60, 0}));
  expect(Operator("QLinearLeakyRelu", {a, real(0.1), u8(100), real(0.01), u8(20)}),
         tensor(kUInt8, {2, 4}, {10, 10, 11, 255, 11, 20, 255, 10}));
  expect(Operator("QLinearSoftmax", {a, real(0.1), u8(3), real(0.00390625), u8(0)})
             .attr("axis", 0)
             .attr("opset", 13),
         tensor(kUInt8, {2, 4}, {85, 0, 0, 255, 171, 255, 255, 0}));
  expect(Operator("QLinearSoftmax", {a, real(0.02), u8(3), real(0.00390625), u8(0)}).attr("opset", 11),
         tensor(kUInt8, {2, 4}, {2, 2, 2, 251, 13, 84, 147, 12}));
}

TEST(QuantisedOperators, Pooling) {
  expect(
      Operator("QLinearAveragePool",
               {tensor(kUInt8, {1, 1, 5, 5}, {0,   10,  20,  30,  40,  50,  60,  70,  80,  90,  100, 110, 120,
                                              130, 140, 150, 160, 170, 180, 190, 200, 210, 220, 230, 240}),
                real(0.1), u8(3), real(0.07), u8(20)})
          .attr("kernel_shape", std::vector<int64_t>{3, 2})
          .attr("strides", std::vector<int64_t>{2, 2})
          .attr("pads", std::vector<int64_t>{1, 0, 1, 1}),
      tensor(kUInt8, {1, 1, 3, 3}, {59, 87, 109, 166, 194, 216, 255, 255, 255}));
  expect(
      Operator("QLinearAveragePool",
               {tensor(kUInt8, {1, 1, 5, 5}, {0,   10,  20,  30,  40,  50,  60,  70,  80,  90,  100, 110, 120,
                                              130, 140, 150, 160, 170, 180, 190, 200, 210, 220, 230, 240}),
                real(0.1), u8(3), real(0.07), u8(20)})
          .attr("kernel_shape", std::vector<int64_t>{3, 3})
          .attr("auto_pad", "SAME_UPPER")
          .attr("count_include_pad", 1),
      tensor(kUInt8, {1, 1, 5, 5}, {37,  50,  60,  70,  56,  70,  101, 116, 130, 98,  117, 173, 187,
                                    201, 146, 165, 244, 255, 255, 193, 132, 193, 203, 212, 151}));
  expect(Operator("QLinearGlobalAveragePool",
                  {tensor(kUInt8, {1, 2, 3, 4}, {0,   10,  20,  30,  40,  50,  60,  70,  80,  90,  100, 110,
                                                 120, 130, 140, 150, 160, 170, 180, 190, 200, 210, 220, 230}),
                   real(0.1), u8(3), real(0.07), u8(20)}),
         tensor(kUInt8, {1, 2, 1, 1}, {94, 255}));
  expect(Operator("QLinearGlobalAveragePool",
                  {tensor(kUInt8, {1, 3, 4, 2}, {0,   10,  20,  30,  40,  50,  60,  70,  80,  90,  100, 110,
                                                 120, 130, 140, 150, 160, 170, 180, 190, 200, 210, 220, 230}),
                   real(0.1), u8(3), real(0.07), u8(20)})
             .attr("channels_last", 1),
         tensor(kUInt8, {1, 1, 1, 2}, {173, 187}));
}

TEST(QuantisedOperators, Products) {
  const Tensor a = tensor(kUInt8, {2, 4}, {0, 3, 10, 255, 7, 100, 128, 4});
  expect(Operator("MatMulIntegerToFloat", {a, tensor(kInt8, {4, 2}, {1, -2, 3, 4, -5, 6, 7, -128}), real(0.1),
                                           tensor(kFloat32, {2}, {0.05, 0.2}), u8(3),
                                           tensor(kInt8, {2}, {1, -1}), tensor(kFloat32, {2}, {0.5, -0.5})}),
         tensor(kFloat32, {2, 2}, {7.8500004, -639.54004, -2.2500002, 24.080002}));
  expect(Operator("MatMulIntegerToFloat",
                  {a, tensor(kUInt8, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 128}), real(0.1), real(0.2)}),
         tensor(kFloat32, {2, 2}, {36.88, 654.24005, 19.500002, 33.88}));
  expect(Operator("DynamicQuantizeMatMul",
                  {tensor(kFloat32, {2, 4}, {1, 2, -3, 4, 0, 0.5, 6.5, -8}),
                   tensor(kInt8, {4, 2}, {1, -2, 3, 4, -5, 6, 7, -128}), tensor(kFloat32, {2}, {0.05, 0.2}),
                   tensor(kInt8, {2}, {1, -1}), tensor(kFloat32, {2}, {0.5, -0.5})}),
         tensor(kFloat32, {2, 2}, {2.797255, -104.03569, -3.7988238, 212.7353}));
  expect(Operator("DynamicQuantizeMatMul", {tensor(kFloat32, {2, 4}, {1, 2, -3, 4, 0, 0.5, 6.5, -8}),
                                            tensor(kUInt8, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 128}), real(0.2)}),
         tensor(kFloat32, {2, 2}, {3.9576473, 100.28314, -4.435294, -197.06354}));
  expect(Operator("QGemm", {a, real(0.1), u8(3), tensor(kInt8, {2, 4}, {1, 3, -5, 7, -2, 4, 6, -128}),
                            real(0.05), i8(1), tensor(kInt32, {2}, {10, -20}), real(0.5), u8(100)})
             .attr("transB", 1)
             .attr("alpha", 0.5),
         tensor(kUInt8, {2, 2}, {107, 0, 97, 104}));
  expect(Operator("QGemm", {a, real(0.1), u8(3), tensor(kInt8, {4, 2}, {1, -2, 3, 4, -5, 6, 7, -128}),
                            tensor(kFloat32, {2}, {0.05, 0.2}), tensor(kInt8, {2}, {1, -1})}),
         tensor(kFloat32, {2, 2}, {7.3500004, -639.04004, -2.7500002, 24.580002}));
}

TEST(QuantisedOperators, Convolutions) {
  expect(Operator("QLinearConv", "",
                  {tensor(kUInt8, {1, 2, 4, 4},
                          {0,  5,  10, 15, 20,  25,  30,  35,  40,  45,  50,  55,  60,  65,  70,  75,
                           80, 85, 90, 95, 100, 105, 110, 115, 120, 125, 130, 135, 140, 145, 150, 155}),
                   real(0.1), u8(30),
                   tensor(kInt8, {2, 2, 2, 2}, {1, -2, 3, 4, 5, -6, 7, 8, -9, 10, 11, -12, 13, 14, 15, -16}),
                   real(0.05), i8(0), real(0.5), u8(100)}),
         tensor(kUInt8, {1, 2, 3, 3},
                {110, 111, 112, 114, 115, 116, 118, 119, 120, 112, 114, 115, 118, 119, 120, 123, 124, 125}));
  expect(Operator("QLinearConv", "",
                  {tensor(kUInt8, {1, 2, 4, 4},
                          {0,  5,  10, 15, 20,  25,  30,  35,  40,  45,  50,  55,  60,  65,  70,  75,
                           80, 85, 90, 95, 100, 105, 110, 115, 120, 125, 130, 135, 140, 145, 150, 155}),
                   real(0.1), u8(30),
                   tensor(kInt8, {2, 2, 2, 2}, {1, -2, 3, 4, 5, -6, 7, 8, -9, 10, 11, -12, 13, 14, 15, -16}),
                   tensor(kFloat32, {2}, {0.05, 0.02}), tensor(kInt8, {2}, {0, 0}), real(0.5), u8(100),
                   tensor(kInt32, {2}, {10, -200})})
             .attr("pads", std::vector<int64_t>{1, 0, 1, 1})
             .attr("strides", std::vector<int64_t>{2, 1}),
         tensor(kUInt8, {1, 2, 3, 4}, {106, 107, 108, 104, 114, 115, 116, 113, 98,  98,  98,  107,
                                       99,  99,  98,  102, 106, 107, 107, 111, 112, 112, 113, 104}));
  expect(Operator("QLinearConv",
                  {tensor(kUInt8, {1, 4, 4, 2},
                          {0,  80,  5,  85,  10, 90,  15, 95,  20, 100, 25, 105, 30, 110, 35, 115,
                           40, 120, 45, 125, 50, 130, 55, 135, 60, 140, 65, 145, 70, 150, 75, 155}),
                   real(0.1), u8(30),
                   tensor(kInt8, {2, 2, 2, 2}, {1, -2, 3, 4, 5, -6, 7, 8, -9, 10, 11, -12, 13, 14, 15, -16}),
                   real(0.05), i8(0), real(0.5), u8(100)})
             .attr("channels_last", 1),
         tensor(kUInt8, {1, 3, 3, 2},
                {110, 112, 111, 114, 112, 115, 114, 118, 115, 119, 116, 120, 118, 123, 119, 124, 120, 125}));
  expect(Operator("QLinearConv", "",
                  {tensor(kUInt8, {1, 2, 5}, {0, 10, 20, 30, 40, 50, 60, 70, 80, 90}), real(0.1), u8(30),
                   tensor(kInt8, {2, 1, 3}, {-3, -2, -1, 0, 1, 2}), real(0.05), i8(0), real(0.02), u8(100)})
             .attr("group", 2)
             .attr("auto_pad", "SAME_LOWER"),
         tensor(kUInt8, {1, 2, 5}, {120, 135, 120, 105, 95, 120, 128, 135, 143, 115}));
}

TEST(QuantisedOperators, Attention) {
  expect(
      Operator("QAttention",
               {tensor(kUInt8, {2, 3, 4},
                       {5, 11, 12, 8, 9, 11, 5, 15, 0, 16, 1, 12, 7, 13, 6, 18, 5, 18, 11, 10, 14, 18, 4, 9}),
                tensor(kInt8, {4, 12}, {8,  -9, 4,  0,  0,  -2, -8, -9, 8,  -1, 4, 6,  1,  -1, -2, -6,
                                        -3, 8,  -6, -5, 8,  2,  3,  7,  4,  0,  6, -9, -5, 6,  -7, -2,
                                        -1, 0,  -6, -2, -5, -4, -3, -1, -9, -7, 1, 6,  6,  -2, 1,  5}),
                tensor(kFloat32, {12}, {-2, 0, -0.25, -0.25, -1.75, -1.75, 1.25, -1.25, -2, 0, 1.25, 1.25}),
                real(0.1), real(0.2), std::nullopt, u8(9), i8(1)})
          .attr("num_heads", 2),
      tensor(kFloat32, {2, 3, 4}, {-1.742187,   0.08625224, 1.308734,   1.4822366,   -1.1547575, -0.14356798,
                                   1.2655306,   1.4506413,  -1.773724,  0.055651177, 1.1607805,  1.3622416,
                                   -0.72614855, -0.2807503, 2.21865,    2.8120656,   -0.8451506, -0.111156255,
                                   2.462772,    3.0101643,  -0.6881776, -0.27827674, 2.1659517,  2.7699792}));
  expect(
      Operator("QAttention",
               {tensor(kUInt8, {2, 3, 4},
                       {5, 11, 12, 8, 9, 11, 5, 15, 0, 16, 1, 12, 7, 13, 6, 18, 5, 18, 11, 10, 14, 18, 4, 9}),
                tensor(kInt8, {4, 12}, {8,  -9, 4,  0,  0,  -2, -8, -9, 8,  -1, 4, 6,  1,  -1, -2, -6,
                                        -3, 8,  -6, -5, 8,  2,  3,  7,  4,  0,  6, -9, -5, 6,  -7, -2,
                                        -1, 0,  -6, -2, -5, -4, -3, -1, -9, -7, 1, 6,  6,  -2, 1,  5}),
                tensor(kFloat32, {12}, {-2, 0, -0.25, -0.25, -1.75, -1.75, 1.25, -1.25, -2, 0, 1.25, 1.25}),
                real(0.1), real(0.2), tensor(kInt32, {2, 3}, {1, 1, 0, 1, 0, 1}), u8(9), i8(0)})
          .attr("num_heads", 1)
          .attr("scale", 0.5),
      tensor(
          kFloat32, {2, 3, 4},
          {-1.8408235, 0.05351636, 1.1989686, 1.4240724, -1.2960985,  -0.06753364,  1.6360937, 1.9149975,
           -1.9095527, 0.06878953, 1.1438156, 1.3621314, -0.33728632, -0.06325038,  2.0819278, 2.7558565,
           0.17913736, 0.18322459, 2.6218252, 3.1783853, -0.2404059,  -0.017011985, 2.1832118, 2.8351223}));
  expect(
      Operator("QAttention",
               {tensor(kUInt8, {2, 3, 4},
                       {5, 11, 12, 8, 9, 11, 5, 15, 0, 16, 1, 12, 7, 13, 6, 18, 5, 18, 11, 10, 14, 18, 4, 9}),
                tensor(kInt8, {4, 12}, {8,  -9, 4,  0,  0,  -2, -8, -9, 8,  -1, 4, 6,  1,  -1, -2, -6,
                                        -3, 8,  -6, -5, 8,  2,  3,  7,  4,  0,  6, -9, -5, 6,  -7, -2,
                                        -1, 0,  -6, -2, -5, -4, -3, -1, -9, -7, 1, 6,  6,  -2, 1,  5}),
                tensor(kFloat32, {12}, {-2, 0, -0.25, -0.25, -1.75, -1.75, 1.25, -1.25, -2, 0, 1.25, 1.25}),
                real(0.1), real(0.2), tensor(kInt32, {2}, {3, 2}), u8(9), i8(0)})
          .attr("num_heads", 2)
          .attr("mask_filter_value", -5.0),
      tensor(
          kFloat32, {2, 3, 4},
          {-1.7678869, 0.10504572, 1.315033,  1.478509,  -1.1920842,  -0.050536823, 1.299673,  1.4712517,
           -1.7268202, 0.07475249, 1.1273823, 1.3232837, -0.590935,   -0.11069349,  1.3796358, 2.1618376,
           -0.794771,  0.08658484, 1.3775934, 2.1575835, -0.57867396, -0.12212464,  1.4249076, 2.2015152}));
}

TEST(QuantisedOperators, QuantisesAndDequantises) {
  expect(
      Operator("QuantizeLinear", {tensor(kFloat32, {2, 3}, {1, 2.5, -3, 100, 0, -0.25}), real(0.5), u8(10)}),
      tensor(kUInt8, {2, 3}, {12, 15, 4, 210, 10, 10}));
  expect(Operator("DequantizeLinear", {tensor(kUInt8, {2, 3}, {1, 2, 3, 100, 0, 255}), real(0.5), u8(10)}),
         tensor(kFloat32, {2, 3}, {-4.5, -4, -3.5, 45, -5, 122.5}));
}

TEST(QuantisedOperators, AreRefusedByTheirFullNames) {
  TestModel m;
  m.proto.add_opset_import()->set_domain(kRuntime);
  m.proto.mutable_opset_import(1)->set_version(1);
  m.input("x", {2}).node("FusedMystery", {"x"}, {"y"}).output("y");
  m.last->set_domain(kRuntime);
  const frontend::Imported imported = frontend::import_model(m);
  EXPECT_FALSE(imported.ok);
  EXPECT_NE(imported.messages.find("operator `com.microsoft.FusedMystery` of version 1"), std::string::npos)
      << imported.messages;
}

}  // namespace
}  // namespace relay::tests
