// Fourier transforms, windows and filters of audio, and steps of training: types, and
// what is refused.
#include <gtest/gtest.h>

#include "frontend/onnx/expect_refused.h"

namespace relay::frontend {
namespace {

constexpr int kInt64Code = ::onnx::TensorProto::INT64;

void expect_type(const TestModel& m, const std::string& type) {
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, type);
}

TestModel dft(const std::vector<TestDim>& dims, const std::vector<std::string>& inputs = {"x"}) {
  TestModel m(20);
  m.input("x", dims).ints("length", {8}, true).ints("axis", {1}, true);
  m.node("DFT", inputs, {"y"}).output("y");
  return m;
}

TEST(Dft, TransformsAnOpenAxis) {
  expect_type(dft({1, "n", 1}), "Tensor[(1, n, 2), float32]");
  expect_type(dft({1, "n", 1}, {"x", "length", "axis"}), "Tensor[(1, 8, 2), float32]");
  TestModel half = dft({1, "n", 1});
  half.attr("onesided", 1);
  expect_type(half, "Tensor[(1, min(n, n // 2 + 1), 2), float32]");
}

TEST(Dft, MakesRealNumbersOfHalfASpectrum) {
  TestModel m = dft({1, 5, 2});
  m.attr("onesided", 1).attr("inverse", 1);
  expect_type(m, "Tensor[(1, 8, 1), float32]");
  TestModel odd = dft({1, 5, 2}, {"x", "length"});
  odd.attr("onesided", 1).attr("inverse", 1);
  odd.graph->mutable_initializer(0)->set_int64_data(0, 9);
  expect_type(odd, "Tensor[(1, 9, 1), float32]");
}

TEST(Dft, RefusesTheAxisOfParts) {
  TestModel m = dft({4, 5, 2}, {"x", "", "axis"});
  m.graph->mutable_initializer(1)->set_int64_data(0, 2);
  expect_refused(m, ImportFailure::kBadModel, "its axis must not be the last one");
}

TEST(Stft, TakesComplexSignals) {
  TestModel m(17);
  m.input("x", {"b", 100, 2}).ints("step", {8}, true).ints("length", {16}, true);
  m.node("STFT", {"x", "step", "", "length"}, {"y"}).attr("onesided", 0).output("y");
  expect_type(m, "Tensor[(b, 11, 16, 2), float32]");
  m.last->mutable_attribute(0)->set_i(1);
  expect_refused(m, ImportFailure::kBadModel, "one side of a transform is all only of real numbers");
}

TEST(Stft, TakesStepsAndLengthsThatARunTells) {
  TestModel m(17);
  m.input("x", {"b", "n"}).input("step", {}, kInt64Code).input("window", {"w"});
  m.node("STFT", {"x", "step", "window"}, {"y"}).output("y");
  expect_type(m, "Tensor[(b, ?, min(w, w // 2 + 1), 2), float32]");
  TestModel other(17);
  other.input("x", {"b", "n"}).ints("step", {8}, true).ints("length", {16}, true).input("window", {15});
  other.node("STFT", {"x", "step", "window", "length"}, {"y"}).output("y");
  expect_refused(other, ImportFailure::kBadModel, "its window must have the length of a frame");
  other.last->mutable_input()->at(2) = "x";
  expect_refused(other, ImportFailure::kBadModel, "its window must have one dimension");
}

TEST(Windows, HaveTheSizeOfAnInput) {
  for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    TestModel m(17);
    m.ints("size", {10}, true).node(op, {"size"}, {"y"}).attr("output_datatype", 11).output("y");
    expect_type(m, "Tensor[(10), float64]");
    TestModel open(17);
    open.input("size", {}, kInt64Code).node(op, {"size"}, {"y"}).attr("periodic", 0).output("y");
    expect_type(open, "Tensor[(?), float32]");
    m.last->mutable_attribute(0)->set_i(8);
    expect_refused(m, ImportFailure::kBadModel, "its attribute `output_datatype` names no dtype of numbers");
  }
}

TestModel filters(float upper) {
  TestModel m(17);
  m.ints("bins", {8}, true).ints("length", {16}, true).ints("rate", {8192}, true);
  m.floats("low", {}, 0).floats("high", {}, upper);
  m.node("MelWeightMatrix", {"bins", "length", "rate", "low", "high"}, {"y"}).output("y");
  return m;
}

TEST(MelWeightMatrix, FollowsFromItsInputs) {
  expect_type(filters(4096), "Tensor[(9, 8), float32]");
  expect_refused(filters(9000), ImportFailure::kBadModel, "its edges lie beyond the spectrum");
  TestModel m(17);
  m.input("bins", {}, kInt64Code).ints("length", {16}, true).ints("rate", {8192}, true);
  m.floats("low", {}, 0).floats("high", {}, 4096);
  m.node("MelWeightMatrix", {"bins", "length", "rate", "low", "high"}, {"y"}).output("y");
  expect_type(m, "Tensor[(9, ?), float32]");
  TestModel two(17);
  two.input("bins", {2}, kInt64Code).ints("length", {16}, true).ints("rate", {8192}, true);
  two.floats("low", {}, 0).floats("high", {}, 4096);
  two.node("MelWeightMatrix", {"bins", "length", "rate", "low", "high"}, {"y"}).output("y");
  expect_refused(two, ImportFailure::kBadModel, "its number of bands (input 0) must be one number");
}

TestModel training(const char* op, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs) {
  TestModel m(17);
  auto* set = m.proto.add_opset_import();
  set->set_domain("ai.onnx.preview.training");
  set->set_version(1);
  m.input("r", {}).input("t", {}, kInt64Code);
  for (size_t i = 2; i < inputs.size(); ++i) m.input(inputs[i], {"n", 3});
  m.node(op, inputs, outputs).last->set_domain("ai.onnx.preview.training");
  for (const std::string& o : outputs) m.output(o);
  return m;
}

TEST(Training, StepsOfSeveralTensors) {
  const std::string tensor = "Tensor[(n, 3), float32]", two = tensor + ", " + tensor;
  expect_type(training("Adagrad", {"r", "t", "x", "g", "h"}, {"y", "k"}), "(" + two + ")");
  expect_type(training("Adam", {"r", "t", "x", "g", "v", "h"}, {"y", "w", "k"}),
              "(" + two + ", " + tensor + ")");
  TestModel m = training("Momentum", {"r", "t", "x", "x2", "g", "g2", "v", "v2"}, {"y", "y2", "w", "w2"});
  m.attr("mode", "nesterov");
  for (const char* name : {"alpha", "beta", "norm_coefficient"})
    m.attribute(name, ::onnx::AttributeProto::FLOAT).set_f(0.5f);
  expect_type(m, "(" + two + ", " + two + ")");
  m.last->mutable_attribute(0)->set_s("fast");
  expect_refused(m, ImportFailure::kBadModel, "its attribute `mode` must be standard or nesterov");
  expect_refused(training("Adam", {"r", "t", "x", "g", "v"}, {"y"}), ImportFailure::kBadModel,
                 "it needs 4 inputs for each tensor");
}

TEST(Refused, OperatorsWithAReason) {
  const TestModel gradient = training("Gradient", {"r", "t", "x"}, {"y"});
  expect_refused(gradient, ImportFailure::kUnsupported, "export the forward model, and let the exporter");
  expect_refused(TestModel(20).input("x", {3}).node("StringConcat", {"x", "x"}, {"y"}).output("y"),
                 ImportFailure::kUnsupported, "prepare texts before the model runs");
}

}  // namespace
}  // namespace relay::frontend
