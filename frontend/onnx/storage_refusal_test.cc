// Nodes that would compute with elements that no dtype of Relay is.
#include <gtest/gtest.h>

#include "frontend/onnx/expect_refused.h"

namespace relay::frontend {
namespace {

constexpr int kE4M3FNUZ = 18, kE8M0 = 24, kInt2 = 26;
constexpr auto kUnsupported = ImportFailure::kUnsupported;
constexpr auto kBadModel = ImportFailure::kBadModel;

TEST(StorageRefusal, ArithmeticNamesTheTypeAndTheRemedy) {
  TestModel m(21);
  m.input("x", {2}, kE8M0).node("Add", {"x", "x"}, {"y"}).output("y");
  expect_refused(m, kUnsupported,
                 "`Add` (node `the_Add`): elements of type FLOAT8E8M0 have no meaning for it");
  expect_refused(m, kUnsupported, "make them FLOAT before, with Cast or DequantizeLinear");
}

TEST(StorageRefusal, ElementsAreNoIndices) {
  TestModel m(21);
  m.input("x", {2}).input("i", {1}, kInt2).node("Gather", {"x", "i"}, {"y"}).output("y");
  expect_refused(m, kUnsupported, "elements of type INT2 have no meaning for it");
  TestModel both(21);
  both.input("x", {2}, kInt2).input("i", {1}, kInt2).node("Gather", {"x", "i"}, {"y"}).output("y");
  expect_refused(both, kUnsupported, "elements of type INT2 have no meaning for it");
}

TEST(StorageRefusal, ElementsOfSeveralTypesDoNotMix) {
  TestModel m(21);
  m.input("x", {2}, kE4M3FNUZ).input("z", {2}, ::onnx::TensorProto::UINT8);
  m.node("Concat", {"x", "z"}, {"y"}).attr("axis", 0).output("y");
  expect_refused(m, kBadModel, "it mixes elements of type FLOAT8E4M3FNUZ with others");
}

TEST(StorageRefusal, PaddingWithAZeroThatIsNotThere) {
  TestModel m(21);
  m.input("x", {2}, kE8M0).ints("pads", {1, 1}).node("Pad", {"x", "pads"}, {"y"}).output("y");
  expect_refused(m, kUnsupported, "it pads with 0, which no element of type FLOAT8E8M0 is");
}

// Both are carried as int8, and mean other numbers.
TEST(StorageRefusal, BranchesOfOtherElements) {
  TestModel same(21), wider(21);
  same.node("Identity", {"x"}, {"z"}).output("z");
  wider.node("Cast", {"x"}, {"z"}).attr("to", ::onnx::TensorProto::INT8).output("z");
  TestModel m(21);
  m.input("x", {2}, kInt2).input("c", {1}, ::onnx::TensorProto::BOOL).node("If", {"c"}, {"y"});
  m.attr("then_branch", *same.graph).attr("else_branch", *wider.graph).output("y");
  expect_refused(m, kUnsupported,
                 "its branches give Tensor[(2), int8] of INT2 and Tensor[(2), int8], and which one");
}

TEST(StorageRefusal, StatesOfALoopThatChange) {
  TestModel body(21);
  for (const char* name : {"i", "go", "s"}) body.graph->add_input()->set_name(name);
  body.node("Cast", {"s"}, {"z"}).attr("to", ::onnx::TensorProto::INT8).output("go").output("z");
  TestModel m(21);
  m.input("x", {2}, kInt2).input("count", {}, ::onnx::TensorProto::INT64);
  m.node("Loop", {"count", "", "x"}, {"y"}).attr("body", *body.graph).output("y");
  expect_refused(m, kUnsupported, "its state 0 does not keep the type of its elements");
}

TEST(StorageRefusal, ScansAndSequencesOfOpenLength) {
  TestModel body(21);
  body.graph->add_input()->set_name("e");
  body.node("Identity", {"e"}, {"z"}).output("z");
  TestModel scan(21);
  scan.input("x", {2}, kInt2).node("Scan", {"x"}, {"y"}).attr("body", *body.graph).attr("num_scan_inputs", 1);
  expect_refused(scan.output("y"), kUnsupported, "elements of type INT2 have no meaning for it");
  TestModel m(21);
  m.input("x", {2}, kInt2).input("i", {}, ::onnx::TensorProto::INT64);
  m.node("SequenceConstruct", {"x", "x"}, {"s"}).node("SequenceAt", {"s", "i"}, {"y"}).output("y");
  expect_refused(m, kUnsupported, "elements of type INT2 have no meaning for it");
}

TEST(StorageRefusal, CastsInAnUnknownDirection) {
  TestModel m(24);
  m.input("x", {2}).node("Cast", {"x"}, {"y"}).attr("to", kE8M0).attr("round_mode", "sideways").output("y");
  expect_refused(m, kBadModel, "its attribute `round_mode` is none of up, down and nearest");
}

TEST(StorageRefusal, CastsToText) {
  TestModel m(21);
  m.input("x", {2}).node("Cast", {"x"}, {"y"}).attr("to", 8).output("y");
  expect_refused(m, kUnsupported, "elements of type STRING are not supported");
}

TEST(StorageRefusal, QuantisationThatContradictsItself) {
  TestModel types(21);
  types.input("x", {4}).input("s", {}).input("z", {}, kInt2).node("QuantizeLinear", {"x", "s", "z"}, {"y"});
  types.attr("output_dtype", kE4M3FNUZ).output("y");
  expect_refused(types, kBadModel, "its attribute `output_dtype` is not the type of its zero point");

  TestModel blocks(21);
  blocks.input("x", {1, 5}, kInt2).input("s", {1, 3}).node("DequantizeLinear", {"x", "s"}, {"y"});
  blocks.attr("block_size", 4).output("y");
  expect_refused(blocks, kBadModel, "an axis of 5 in blocks of 4 needs 2 scales, not 3");

  TestModel scales(21);
  scales.input("x", {2, 4}, kInt2).input("s", {3}).node("DequantizeLinear", {"x", "s"}, {"y"}).output("y");
  expect_refused(scales, kBadModel, "extent of the quantized axis: 3 and 4 differ");

  TestModel target(21);
  target.input("x", {4}).input("s", {}).node("QuantizeLinear", {"x", "s"}, {"y"});
  target.attr("output_dtype", kE8M0).output("y");
  expect_refused(target, kUnsupported, "quantisation to FLOAT8E8M0 is not supported");
}

TEST(StorageRefusal, BitsOfAnotherWidth) {
  TestModel m(26);
  m.input("x", {2}).node("BitCast", {"x"}, {"y"}).attr("to", ::onnx::TensorProto::INT64).output("y");
  expect_refused(m, kBadModel, "it reads elements of 32 bits as INT64, which has 64");
}

}  // namespace
}  // namespace relay::frontend
