// Sequences and optional values: what is known of them, what becomes a list, what is refused. What
// they compute is in tests/conformance/sequences_test.cc.
#include <gtest/gtest.h>

#include "frontend/onnx/expect_refused.h"
#include "frontend/onnx/sequence_models.h"

namespace relay::frontend {
namespace {

constexpr int kInt64Code = ::onnx::TensorProto::INT64;

std::string outputs_of(const Imported& i) {
  return show(*i.module.function("main")->attrs.find("output_names"));
}

// The type of the result.
std::string type_of_result(const TestModel& m, const ImportOptions& options = {}) {
  const Imported i = import_model(m, options);
  EXPECT_TRUE(i.ok) << i.messages;
  return i.ok ? i.type : i.messages;
}

TEST(Sequences, OfKnownLengthLeaveNothingInTheProgram) {
  TestModel m = TestModel(17)
                    .input("x", {2, 3})
                    .input("y", {4})
                    .node("SequenceConstruct", {"x", "y"}, {"s"})
                    .ints("first", {0}, true)
                    .node("SequenceInsert", {"s", "y", "first"}, {"t"})
                    .node("SequenceErase", {"t"}, {"u"})
                    .ints("last", {-1}, true)
                    .node("SequenceAt", {"u", "last"}, {"a"})
                    .node("SequenceLength", {"u"}, {"n"})
                    .output("a")
                    .output("u")
                    .output("n");
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "(Tensor[(2, 3), float32], Tensor[(4), float32], Tensor[(2, 3), float32], int64)");
  EXPECT_EQ(outputs_of(i), R"(["a", "u.0", "u.1", "n"])");
  EXPECT_TRUE(i.module.data_types().empty());
}

TEST(Sequences, SplitsAreElements) {
  const auto split = [](std::vector<int64_t> sizes, bool scalar, std::vector<TestDim> shape, int keeps) {
    TestModel m(11);
    m.input("x", shape);
    if (!sizes.empty()) m.ints("sizes", sizes, scalar);
    m.node("SplitToSequence",
           sizes.empty() ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "sizes"}, {"s"});
    m.attr("axis", 1).attr("keepdims", keeps).output("s");
    return type_of_result(m);
  };
  EXPECT_EQ(split({2}, true, {3, 5}, 1),
            "(Tensor[(3, 2), float32], Tensor[(3, 2), float32], Tensor[(3, 1), float32])");
  EXPECT_EQ(split({2}, true, {3, 5}, 0), split({2}, true, {3, 5}, 1)) << "keepdims is for no sizes only";
  EXPECT_EQ(split({1, 4}, false, {3, 5}, 1), "(Tensor[(3, 1), float32], Tensor[(3, 4), float32])");
  EXPECT_EQ(split({}, false, {3, 2}, 1), "(Tensor[(3, 1), float32], Tensor[(3, 1), float32])");
  EXPECT_EQ(split({}, false, {3, 2}, 0), "(Tensor[(3), float32], Tensor[(3), float32])");
  EXPECT_EQ(split({}, false, {3, "n"}, 0), "List[Tensor[(3), float32]]");
  EXPECT_EQ(split({2}, true, {3, "n"}, 1), "List[Tensor[(3, ?), float32]]");
}

TEST(Sequences, InputsAreListsOrElements) {
  TestModel m(17);
  sequence_input(m, "s", std::vector<TestDim>{"n", 3});
  m.node("ConcatFromSequence", {"s"}, {"y"}).attr("axis", 0).output("y");
  EXPECT_EQ(type_of_result(m), "Tensor[(?, 3), float32]");
  ImportOptions known;
  known.input_shapes["s.0"] = {{2, ""}, {3, ""}};
  known.input_shapes["s.1"] = {{5, ""}, {3, ""}};
  const Imported i = import_model(m, known);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "Tensor[(7, 3), float32]");
  EXPECT_EQ(show(*i.module.function("main")->attrs.find("input_names")), R"(["s.0", "s.1"])");

  // Of a list that is not looked into, the functions of the library are not there.
  TestModel passed(17);
  sequence_input(passed, "s", std::vector<TestDim>{3});
  passed.node("Identity", {"s"}, {"y"}).output("y");
  const Imported list = import_model(passed);
  ASSERT_TRUE(list.ok) << list.messages;
  EXPECT_EQ(list.type, "List[Tensor[(3), float32]]");
  EXPECT_EQ(list.module.functions().size(), 1u);
}

TEST(Sequences, BranchesOfOneLengthAreJoinedByElement) {
  const auto branches = [](int elements_of_yes, int elements_of_no, int longer) {
    TestModel m(17);
    m.input("c", {}, ::onnx::TensorProto::BOOL).input("x", {2}).input("z", {longer});
    const auto branch = [](const std::string& from, int count) {
      ::onnx::GraphProto g;
      ::onnx::NodeProto& n = *g.add_node();
      n.set_op_type(count == 0 ? "SequenceEmpty" : "SequenceConstruct");
      for (int k = 0; k < count; ++k) n.add_input(from);
      n.add_output("s");
      g.add_output()->set_name("s");
      return g;
    };
    m.node("If", {"c"}, {"s"})
        .attr("then_branch", branch("x", elements_of_yes))
        .attr("else_branch", branch("z", elements_of_no))
        .output("s");
    return m;
  };
  EXPECT_EQ(type_of_result(branches(2, 2, 2)), "(Tensor[(2), float32], Tensor[(2), float32])");
  EXPECT_EQ(type_of_result(branches(1, 1, 3)), "Tensor[(?), float32]");
  EXPECT_EQ(type_of_result(branches(1, 2, 3)), "List[Tensor[(?), float32]]");
  EXPECT_EQ(type_of_result(branches(0, 2, 3)), "List[Tensor[(3), float32]]");
}

TEST(Sequences, LoopsOfKnownTripsAreUnrolled) {
  TestModel m = loop_that_inserts(17);
  m.ints("trips", {3}, true);
  EXPECT_EQ(type_of_result(m), "(Tensor[(2), float32], Tensor[(2), float32], Tensor[(2), float32])");
  TestModel open = loop_that_inserts(17);
  open.input("trips", {}, kInt64Code);
  EXPECT_EQ(type_of_result(open), "List[Tensor[(2), float32]]");
}

TEST(Sequences, MapsImportTheirBodyForEachElement) {
  TestModel m(17);
  sequence_input(m, "s", std::vector<TestDim>{"n"});
  m.input("t", {})
      .node("SequenceMap", {"s", "t"}, {"y", "z"})
      .attr("body", map_body())
      .output("y")
      .output("z");
  EXPECT_EQ(type_of_result(m), "(List[Tensor[(?), float32]], List[Tensor[(1), int64]])");
  ImportOptions known;
  known.input_shapes["s.0"] = {{2, ""}};
  known.input_shapes["s.1"] = {{5, ""}};
  EXPECT_EQ(type_of_result(m, known),
            "(Tensor[(2), float32], Tensor[(5), float32], Tensor[(1), int64], Tensor[(1), int64])");
  ImportOptions none;
  none.input_shapes["s"] = {{0, ""}};
  EXPECT_EQ(type_of_result(m, none), "()");
}

TEST(Optionals, AreKnownOrAreOptions) {
  TestModel there = TestModel(18)
                        .input("x", {2})
                        .node("Optional", {"x"}, {"o"})
                        .node("OptionalHasElement", {"o"}, {"has"})
                        .node("OptionalGetElement", {"o"}, {"y"})
                        .output("has")
                        .output("y");
  EXPECT_EQ(type_of_result(there), "(bool, Tensor[(2), float32])");
  TestModel input(18);
  optional_input(input, "o", std::vector<TestDim>{2});
  input.node("OptionalHasElement", {"o"}, {"has"}).node("OptionalGetElement", {"o"}, {"y"});
  input.output("has").output("y").output("o");
  EXPECT_EQ(type_of_result(input), "(bool, Tensor[(2), float32], Option[Tensor[(2), float32]])");
  TestModel missing = TestModel(18).input("x", {1}).node("OptionalHasElement", {}, {"has"}).output("has");
  EXPECT_EQ(type_of_result(missing), "bool");
}

TEST(Sequences, RefusesWhatCannotBe) {
  const auto at = [](int64_t place) {
    return TestModel(17)
        .input("x", {2})
        .node("SequenceConstruct", {"x", "x"}, {"s"})
        .ints("i", {place}, true)
        .node("SequenceAt", {"s", "i"}, {"y"})
        .output("y");
  };
  expect_refused(at(2), ImportFailure::kBadModel, "its position 2 is outside of the 2 elements");
  expect_refused(at(-3), ImportFailure::kBadModel, "its position -3 is outside of the 2 elements");
  expect_refused(TestModel(17).input("x", {2}).node("SequenceLength", {"x"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "its input 0 is not a sequence");
  expect_refused(TestModel(17)
                     .input("x", {2})
                     .node("SequenceConstruct", {"x"}, {"s"})
                     .node("Relu", {"s"}, {"y"})
                     .output("y"),
                 ImportFailure::kUnsupported, "its input 0 is not a tensor");
  expect_refused(TestModel(17)
                     .input("x", {2})
                     .input("z", {2, 2})
                     .input("i", {}, kInt64Code)
                     .node("SequenceConstruct", {"x", "z"}, {"s"})
                     .node("SequenceAt", {"s", "i"}, {"y"})
                     .output("y"),
                 ImportFailure::kUnsupported,
                 "elements of the types Tensor[(2), float32] and Tensor[(2, 2), float32]");
  expect_refused(TestModel(18)
                     .input("x", {2})
                     .node("Optional", {}, {"o"})
                     .node("OptionalGetElement", {"o"}, {"y"})
                     .output("y"),
                 ImportFailure::kBadModel, "its input has no element");
  expect_refused(TestModel(10).input("x", {2}).node("SequenceConstruct", {"x"}, {"s"}).output("s"),
                 ImportFailure::kUnsupported, "`SequenceConstruct` of version 10");
}

TEST(Sequences, RefusesInputsThatSayTooLittle) {
  TestModel shapeless(17);
  sequence_input(shapeless, "s", {});
  shapeless.node("SequenceLength", {"s"}, {"y"}).output("y");
  expect_refused(shapeless, ImportFailure::kUnsupported,
                 "give each its shape, with --input-shapes s.0:[...]");

  TestModel map(17);
  ::onnx::ValueInfoProto& v = *map.graph->add_input();
  v.set_name("m");
  v.mutable_type()->mutable_map_type()->set_key_type(kInt64Code);
  map.node("Identity", {"m"}, {"y"}).output("y");
  expect_refused(map, ImportFailure::kUnsupported, "input `m` of `m.onnx` is a map, which is not supported");

  TestModel text(17);
  sequence_input(text, "s", std::vector<TestDim>{2}, ::onnx::TensorProto::STRING);
  text.node("SequenceLength", {"s"}, {"y"}).output("y");
  expect_refused(text, ImportFailure::kUnsupported, "has elements of type STRING");
}

}  // namespace
}  // namespace relay::frontend
