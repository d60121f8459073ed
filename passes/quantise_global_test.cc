#include <gtest/gtest.h>

#include <cmath>

#include "base/cat.h"
#include "interp/machine.h"
#include "ir/traverse.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/testing.h"
#include "passes/runner.h"

namespace relay::passes {
namespace {

using op::testing::random;

constexpr double kStep = 1.0 / 16;  // of activations with the scale 8

Module quantised(const Module& m, const std::string& pass = "quantise-global") {
  Diagnostics diagnostics;
  const Result<Module> out = run_pipeline(m, pass, {.verify = Verify::kTypes}, diagnostics);
  EXPECT_TRUE(out.ok()) << diagnostics.render(m.context().sources());
  return *out;
}

Tensor result(const Module& m, const Tensor& x) {
  return interp::Machine(m).call("main", {Value(x)}).tensor();
}

double distance(const Tensor& a, const Tensor& b) {
  double most = 0;
  for (int64_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a.get(i) - b.get(i)));
  return most;
}

// Multiples of 1 / 2^exponent, at least -1 and less than 1: a weight of 1 would saturate.
Tensor multiples(const Shape& shape, uint64_t seed, int exponent) {
  const double most = std::ldexp(1.0, exponent);
  Tensor t(kFloat32, shape);
  const Tensor whole = random(kInt32, shape, seed, -most, most - 1);
  for (int64_t i = 0; i < t.size(); ++i)
    t.set(i, std::ldexp(static_cast<double>(whole.get_int(i)), -exponent));
  return t;
}

// The largest sum of |weight| over what one output sees; outputs are the first axis.
double gain(const Tensor& weight) {
  const int64_t outputs = weight.shape()[0], each = weight.size() / outputs;
  double most = 0;
  for (int64_t o = 0; o < outputs; ++o) {
    double sum = 0;
    for (int64_t i = 0; i < each; ++i) sum += std::fabs(weight.get(o * each + i));
    most = std::max(most, sum);
  }
  return most;
}

// @main of one parameter.
class Network {
 public:
  explicit Network(const Shape& input) : b_(m_.context()) {
    x_ = b_.var("x", m_.context().tensor_type(std::vector<Dim>(input.begin(), input.end()), kFloat32));
    e_ = x_;
  }
  Network& then(const op::OpDef& def, const std::vector<AttrArg>& attrs = {}) {
    e_ = b_.call(b_.op(def), {e_}, m_.context().attrs(attrs));
    return *this;
  }
  Network& then(const op::OpDef& def, const Tensor& constant, const std::vector<AttrArg>& attrs = {}) {
    e_ = b_.call(b_.op(def), {e_, b_.constant(constant)}, m_.context().attrs(attrs));
    return *this;
  }
  Module module() {
    m_.set_function("main", b_.fn(std::span(&x_, 1), e_));
    return m_;
  }

 private:
  Module m_;
  Builder b_;
  const Var* x_;
  Expr e_;
};

std::vector<std::string> calls_of(const Module& m) {
  std::vector<std::string> out;
  for (Expr e : post_order(m.function("main"))) {
    if (const op::OpDef* def = op::callee(e)) out.push_back(def->name);
  }
  return out;
}

std::vector<AttrArg> padded() { return {{"padding", std::vector<int64_t>{1, 1}}}; }

// Two convolutions and a product; the first convolution stays in floats.
struct Layers {
  Tensor first, second, bias, last;
  Module module() const {
    return Network({2, 3, 8, 8})
        .then(op::kConv2d, first, padded())
        .then(op::kRelu)
        .then(op::kConv2d, second, padded())
        .then(op::kBiasAdd, bias)
        .then(op::kRelu)
        .then(op::kMaxPool2d,
              {{"pool_size", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}})
        .then(op::kBatchFlatten)
        .then(op::kDense, last)
        .module();
  }
};

TEST(QuantiseGlobal, IsExactWhereIntegersAre) {
  const Tensor weight = multiples({5, 9}, 1, 4), bias = multiples({5}, 2, 8), x = multiples({4, 9}, 3, 4);
  const Module m = Network({4, 9}).then(op::kDense, weight).then(op::kAdd, bias).module();
  const Module q = quantised(m);
  EXPECT_EQ(calls_of(q), (std::vector<std::string>{"qnn.quantize", "qnn.dense", "add", "qnn.dequantize"}));
  EXPECT_TRUE(identical(result(m, x), result(q, x)));
}

TEST(QuantiseGlobal, DepthwiseGroupedAndTransposedConvolutionsAreExactWhereIntegersAre) {
  const Tensor x = multiples({1, 4, 5, 5}, 1, 4);
  const auto same = [&](const op::OpDef& def, const Shape& weight, int64_t groups,
                        const std::string& quantised_op) {
    const Module m =
        Network({1, 4, 5, 5})
            .then(def, multiples(weight, 2, 4), {{"groups", groups}, {"strides", std::vector<int64_t>{2, 2}}})
            .module();
    const Module q = quantised(m, "quantise-global{skip=0}");
    EXPECT_EQ(calls_of(q), (std::vector<std::string>{"qnn.quantize", quantised_op, "qnn.dequantize"}));
    EXPECT_TRUE(identical(result(m, x), result(q, x))) << quantised_op << " in groups: " << groups;
  };
  same(op::kConv2d, {4, 1, 3, 3}, 4, "qnn.conv2d");
  same(op::kConv2d, {6, 2, 3, 3}, 2, "qnn.conv2d");
  same(op::kConv2dTranspose, {4, 3, 3, 3}, 1, "qnn.conv2d_transpose");
  same(op::kConv2dTranspose, {4, 3, 3, 3}, 2, "qnn.conv2d_transpose");
}

TEST(QuantiseGlobal, NothingBetweenProductsIsAFloat) {
  const Layers layers{random(kFloat32, {4, 3, 3, 3}, 1), random(kFloat32, {5, 4, 3, 3}, 2),
                      random(kFloat32, {5}, 3), random(kFloat32, {6, 80}, 4)};
  const Module q = quantised(layers.module());
  EXPECT_EQ(calls_of(q), (std::vector<std::string>{"nn.conv2d", "nn.relu", "qnn.quantize", "qnn.conv2d",
                                                   "nn.bias_add", "nn.relu", "qnn.rescale", "nn.max_pool2d",
                                                   "nn.batch_flatten", "qnn.dense", "qnn.dequantize"}));
  EXPECT_TRUE(quantised(q).same(q)) << "a second run finds nothing more";
}

// Integers are half a step away from an activation, and half a step of the weight from each
// weight: the error of a layer follows, and the next one multiplies it.
TEST(QuantiseGlobal, TheErrorOfANetworkIsThatOfItsRoundings) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Layers layers{random(kFloat32, {4, 3, 3, 3}, seed, -0.12, 0.12),
                        random(kFloat32, {5, 4, 3, 3}, seed + 100, -0.12, 0.12),
                        random(kFloat32, {5}, seed + 200, -0.5, 0.5),
                        random(kFloat32, {6, 80}, seed + 300, -0.1, 0.1)};
    const Tensor x = random(kFloat32, {2, 3, 8, 8}, seed + 400, -1, 1);
    const Module m = layers.module();
    // Numbers between layers, at most: below the 8 at which they saturate.
    const double in_second = gain(layers.first);
    const double in_last = gain(layers.second) * in_second + 0.5;
    ASSERT_LT(in_last, 8);
    const double weight_step = 1.0 / 1024;  // both ranges are 1/8
    const double second = (gain(layers.second) + 36 * weight_step / 2) * kStep / 2 +
                          36 * in_second * weight_step / 2 + kStep * weight_step;  // of the bias
    const double last =
        (gain(layers.last) + 80 * weight_step / 2) * (second + kStep / 2) + 80 * in_last * weight_step / 2;
    const Tensor want = result(m, x), got = result(quantised(m), x);
    EXPECT_LE(distance(want, got), last) << "seed " << seed;
    EXPECT_GT(distance(want, got), 0) << "seed " << seed << ": nothing was rounded";
  }
}

TEST(QuantiseGlobal, ActivationsSaturateAtTheScale) {
  const Module m = Network({1, 1})
                       .then(op::kDense, Tensor::of(kFloat32, {1, 1}, std::span<const double>({0.75})))
                       .module();
  const auto at = [](double v) { return Tensor::of(kFloat32, {1, 1}, std::span<const double>({v})); };
  EXPECT_EQ(result(quantised(m), at(100)).get(0), 0.75 * 127 / 16);
  EXPECT_EQ(result(quantised(m), at(-100)).get(0), -6);
  EXPECT_EQ(result(quantised(m, "quantise-global{scale=128}"), at(100)).get(0), 75);
  EXPECT_EQ(result(quantised(m, "quantise-global{bits=4}"), at(100)).get(0), 5.25);
  EXPECT_EQ(result(quantised(m, "quantise-global{bits=4}"), at(0.4)).get(0), 0);
}

TEST(QuantiseGlobal, FactorsOfChannelsBelongToTheWeight) {
  const Tensor weight = multiples({3, 4, 1, 1}, 1, 3), x = multiples({1, 4, 3, 3}, 2, 4);
  Tensor factors(kFloat32, {3, 1, 1});
  for (int64_t i = 0; i < 3; ++i) factors.set(i, std::ldexp(1.0, static_cast<int>(i) - 1));
  const Module m = Network({1, 4, 3, 3}).then(op::kConv2d, weight).then(op::kMultiply, factors).module();
  const Module q = quantised(m, "quantise-global{skip=0}");
  EXPECT_EQ(calls_of(q), (std::vector<std::string>{"qnn.quantize", "qnn.conv2d", "qnn.dequantize"}));
  EXPECT_TRUE(identical(result(m, x), result(q, x)));
}

TEST(QuantiseGlobal, OnlyFactorsOfChannelsBelongToTheWeight) {
  const Tensor weight = multiples({3, 4, 1, 1}, 1, 3), x = multiples({1, 4, 3, 3}, 2, 4);
  const auto check = [&](const Tensor& factors, const std::vector<std::string>& calls) {
    const Module m = Network({1, 4, 3, 3}).then(op::kConv2d, weight).then(op::kMultiply, factors).module();
    const Module q = quantised(m, "quantise-global{skip=0}");
    EXPECT_EQ(calls_of(q), calls);
    EXPECT_TRUE(identical(result(m, x), result(q, x)));
  };
  check(Tensor::scalar(kFloat32, 0.5), {"qnn.quantize", "qnn.conv2d", "qnn.dequantize"});
  // There are as many columns as channels.
  Tensor columns(kFloat32, {3});
  for (int64_t i = 0; i < 3; ++i) columns.set(i, std::ldexp(1.0, static_cast<int>(i) - 1));
  check(columns, {"qnn.quantize", "qnn.conv2d", "qnn.dequantize", "multiply"});
}

TEST(QuantiseGlobal, SumsThatMightNotFitStayInFloats) {
  const auto products = [](int64_t length, const std::string& pass) {
    return calls_of(
        quantised(Network({1, length}).then(op::kDense, Tensor(kFloat32, {1, length})).module(), pass));
  };
  const int64_t most = INT32_MAX >> 14;  // of products of two integers of 8 bits
  EXPECT_EQ(products(most, "quantise-global"),
            (std::vector<std::string>{"qnn.quantize", "qnn.dense", "qnn.dequantize"}));
  EXPECT_EQ(products(most + 1, "quantise-global"), (std::vector<std::string>{"nn.dense"}));
  // A bias beyond what is left is added to floats.
  Tensor bias(kFloat32, {1});
  bias.set(0, 0x1p28);
  const Module m = Network({1, 1}).then(op::kDense, multiples({1, 1}, 3, 4)).then(op::kAdd, bias).module();
  EXPECT_EQ(calls_of(quantised(m)),
            (std::vector<std::string>{"qnn.quantize", "qnn.dense", "qnn.dequantize", "add"}));
}

TEST(QuantiseGlobal, AnIntervalFarFromZeroLeavesNoRoomForABias) {
  const auto one = [](double v) { return Tensor::of(kFloat32, {1, 1}, std::span<const double>({v})); };
  const auto clipped = [&](double least, double most) {
    return Network({1, 1})
        .then(op::kDense, one(0.75))
        .then(op::kClip, {{"a_min", least}, {"a_max", most}})
        .then(op::kAdd, one(0x1p19))
        .module();
  };
  // Sums have steps of 2^-11: int32 holds 2^19, and not twice as much.
  const Module far = quantised(clipped(0x1p19, 0x1p20));
  EXPECT_EQ(calls_of(far),
            (std::vector<std::string>{"qnn.quantize", "qnn.dense", "clip", "qnn.dequantize", "add"}));
  EXPECT_EQ(result(far, one(1)).get(0), 0x1p20);
  const Module around = quantised(clipped(-0x1p20, 0x1p20));
  EXPECT_EQ(calls_of(around),
            (std::vector<std::string>{"qnn.quantize", "qnn.dense", "clip", "add", "qnn.dequantize"}));
  EXPECT_EQ(result(around, one(1)).get(0), 0x1p19 + 0.75);
}

// Of 4 bits an activation has at most 7 steps of 1. An int8 has room for 20.
TEST(QuantiseGlobal, AnIntervalBeyondTheScaleSaturatesBeforeTheNextProduct) {
  const auto image = [](double v) {
    return Tensor::of(kFloat32, {1, 1, 1, 1}, std::span<const double>({v}));
  };
  const Module m = Network({1, 1, 1, 1})
                       .then(op::kConv2d, image(0.5))
                       .then(op::kMaxPool2d, {{"pool_size", std::vector<int64_t>{1, 1}}})
                       .then(op::kClip, {{"a_min", 20.0}, {"a_max", 30.0}})
                       .then(op::kConv2d, image(0.5))
                       .module();
  EXPECT_EQ(result(m, image(1)).get(0), 10);
  EXPECT_EQ(result(quantised(m, "quantise-global{bits=4,scale=8,skip=0}"), image(1)).get(0), 3.0625);
}

}  // namespace
}  // namespace relay::passes
