// Sequences, optional values and functions of models, on the interpreter and on a compiled engine.
// The results are computed by hand.
#include "frontend/onnx/sequence_models.h"

#include <gtest/gtest.h>

#include "driver/composite_inputs.h"
#include "driver/engines.h"
#include "passes/reference.h"
#include "tests/conformance/run_model.h"

namespace relay::tests {
namespace {

using frontend::ElementDims;
using frontend::ImportOptions;
using frontend::TestDim;
using frontend::TestModel;
using Numbers = std::vector<double>;

Tensor vector(const Numbers& values, DType dtype = kFloat32) {
  return tensor(dtype, {static_cast<int64_t>(values.size())}, values);
}

// The tensors of what the model gives, each as its numbers; `inputs` are named as the command line
// names them. Both engines must agree.
std::vector<Numbers> run_on_engines(const TestModel& model, const frontend::data::NamedTensors& inputs,
                                    const ImportOptions& options = {}) {
  const frontend::Imported imported = frontend::import_model(model, options);
  EXPECT_TRUE(imported.ok) << imported.messages;
  if (!imported.ok) return {};
  Diagnostics diagnostics;
  const Result<Module> checked = typecheck::check(imported.module, diagnostics);
  EXPECT_TRUE(checked.ok()) << diagnostics.render(imported.module.context().sources());
  if (!checked) return {};
  const Fn& main = *checked->function("main");
  std::vector<Value> args;
  std::span<const frontend::data::NamedTensor> tensors(inputs);
  for (const Var* p : main.params) {
    Result<Value> value = driver::composite_value(*checked, p->name.str(), p->type, tensors, diagnostics);
    EXPECT_TRUE(value.ok());
    if (!value) return {};
    args.push_back(*value);
  }
  std::vector<Numbers> first;
  for (const char* name : {"interp", "jit"}) {
    SCOPED_TRACE(name);
    const driver::Prepared prepared = driver::find_engine(name)->prepare(*checked, "main", {});
    EXPECT_TRUE(prepared.run) << prepared.skipped;
    if (!prepared.run) return {};
    const driver::Outcome outcome = prepared.run(args);
    EXPECT_EQ(outcome.kind, driver::Outcome::Kind::kValue) << outcome.message;
    if (outcome.kind != driver::Outcome::Kind::kValue) return {};
    std::vector<Numbers> numbers;
    for (const Tensor& t : passes::tensors_of(outcome.value)) numbers.push_back(t.doubles());
    if (name == std::string("interp")) first = numbers;
    EXPECT_EQ(numbers, first);
  }
  return first;
}

TEST(Sequences, OfKnownLength) {
  TestModel m(17);
  m.input("x", {3}).ints("one", {1}, true).ints("sizes", {1, 2});
  m.node("SplitToSequence", {"x", "sizes"}, {"s"}).attr("axis", 0);
  m.node("SequenceInsert", {"s", "x", "one"}, {"t"});
  m.node("ConcatFromSequence", {"t"}, {"y"}).attr("axis", 0);
  m.node("SequenceLength", {"t"}, {"n"}).output("y").output("n").output("t");
  EXPECT_EQ(run_on_engines(m, {{"x", vector({1, 2, 3})}}),
            (std::vector<Numbers>{{1, 1, 2, 3, 2, 3}, {3}, {1}, {1, 2, 3}, {2, 3}}));
}

// Only a run knows the sizes. One that is negative must not take elements twice, or none.
TEST(Sequences, SizesThatAreNegativeTrap) {
  TestModel one(17);
  one.input("x", {4}).input("size", {}, ::onnx::TensorProto::INT64);
  one.node("SplitToSequence", {"x", "size"}, {"s"}).node("SequenceLength", {"s"}, {"n"}).output("n");
  const Value x(vector({1, 2, 3, 4}));
  const auto size = [](int64_t v) { return Value(Tensor::scalar_int(kInt64, v)); };
  EXPECT_EQ(run(one, {x, size(3)})[0].get_int(0), 2);
  EXPECT_THROW(run(one, {x, size(0)}), Trap);
  EXPECT_THROW(run(one, {x, size(-2)}), Trap);

  TestModel several(17);
  several.input("x", {4}).input("sizes", {3}, ::onnx::TensorProto::INT64).ints("last", {2}, true);
  several.node("SplitToSequence", {"x", "sizes"}, {"s"}).attr("axis", 0);
  several.node("SequenceAt", {"s", "last"}, {"y"}).output("y");
  EXPECT_EQ(run(several, {x, Value(vector({1, 0, 3}, kInt64))})[0].doubles(), (Numbers{2, 3, 4}));
  for (const Numbers& sizes : {Numbers{3, -1, 2}, Numbers{-1, 3, 2}})
    EXPECT_THROW(run(several, {x, Value(vector(sizes, kInt64))}), Trap);
}

TEST(Sequences, ListsOfInputs) {
  TestModel m(17);
  frontend::sequence_input(m, "s", std::vector<TestDim>{"n"});
  m.input("x", {2}).input("i", {}, ::onnx::TensorProto::INT64);
  m.node("SequenceInsert", {"s", "x", "i"}, {"t"}).node("SequenceInsert", {"t", "x"}, {"u"});
  m.node("SequenceErase", {"u", "i"}, {"v"}).node("SequenceAt", {"v", "i"}, {"at"});
  m.node("SequenceLength", {"u"}, {"n"}).node("ConcatFromSequence", {"u"}, {"all"}).attr("axis", 0);
  m.output("at").output("n").output("all").output("t");
  const auto with = [&](double i) {
    return run_on_engines(m, {{"s.0", vector({1})},
                              {"s.1", vector({2, 3, 4})},
                              {"x", vector({8, 9})},
                              {"i", tensor(kInt64, {}, {i})}});
  };
  EXPECT_EQ(with(0), (std::vector<Numbers>{{1}, {4}, {8, 9, 1, 2, 3, 4, 8, 9}, {8, 9}, {1}, {2, 3, 4}}));
  EXPECT_EQ(with(1),
            (std::vector<Numbers>{{2, 3, 4}, {4}, {1, 8, 9, 2, 3, 4, 8, 9}, {1}, {8, 9}, {2, 3, 4}}));
}

TEST(Sequences, StackedLists) {
  TestModel m(17);
  frontend::sequence_input(m, "s", std::vector<TestDim>{2});
  m.node("ConcatFromSequence", {"s"}, {"y"}).attr("axis", -1).attr("new_axis", 1).output("y");
  EXPECT_EQ(run_on_engines(m, {{"s.0", vector({1, 2})}, {"s.1", vector({3, 4})}, {"s.2", vector({5, 6})}}),
            (std::vector<Numbers>{{1, 3, 5, 2, 4, 6}}));
}

TEST(Sequences, PiecesOfAnOpenAxis) {
  TestModel m(17);
  m.input("x", {"n"}).ints("size", {2}, true);
  m.node("SplitToSequence", {"x", "size"}, {"s"}).node("SplitToSequence", {"x"}, {"t"}).attr("keepdims", 0);
  m.output("s").output("t");
  EXPECT_EQ(run_on_engines(m, {{"x", vector({1, 2, 3})}}),
            (std::vector<Numbers>{{1, 2}, {3}, {1}, {2}, {3}}));
  EXPECT_EQ(run_on_engines(m, {{"x", vector({})}}), std::vector<Numbers>{});
}

TEST(Sequences, LoopsThatInsert) {
  TestModel open = frontend::loop_that_inserts(17);
  open.input("trips", {}, ::onnx::TensorProto::INT64);
  const auto trips = [&](double n) {
    return run_on_engines(open, {{"x", vector({10, 20})}, {"trips", tensor(kInt64, {}, {n})}});
  };
  EXPECT_EQ(trips(2), (std::vector<Numbers>{{10, 20}, {11, 21}}));
  EXPECT_EQ(trips(0), std::vector<Numbers>{});
  TestModel known = frontend::loop_that_inserts(17);
  known.ints("trips", {2}, true);
  EXPECT_EQ(run_on_engines(known, {{"x", vector({10, 20})}}), (std::vector<Numbers>{{10, 20}, {11, 21}}));
}

TEST(Sequences, Maps) {
  TestModel m(17);
  frontend::sequence_input(m, "s", std::vector<TestDim>{"n"});
  m.input("t", {}).node("SequenceMap", {"s", "t"}, {"y", "z"}).attr("body", frontend::map_body());
  m.output("y").output("z");
  const frontend::data::NamedTensors inputs{
      {"s.0", vector({1, 2})}, {"s.1", vector({3})}, {"t", tensor(kFloat32, {}, {10})}};
  const std::vector<Numbers> want{{11, 12}, {13}, {2}, {1}};
  EXPECT_EQ(run_on_engines(m, inputs), want);
  ImportOptions known;
  known.input_shapes["s.0"] = {{2, ""}};
  known.input_shapes["s.1"] = {{1, ""}};
  EXPECT_EQ(run_on_engines(m, inputs, known), want);
}

TEST(Sequences, MapsOverTwoLists) {
  TestModel m(17);
  for (const char* name : {"s", "r"}) frontend::sequence_input(m, name, std::vector<TestDim>{2});
  ::onnx::GraphProto body;
  for (const char* name : {"e", "t"}) body.add_input()->set_name(name);
  frontend::add_node(body, "Sub", {"e", "t"}, {"d"});
  body.add_output()->set_name("d");
  m.node("SequenceMap", {"s", "r"}, {"y"}).attr("body", body).output("y");
  EXPECT_EQ(run_on_engines(m, {{"s.0", vector({1, 2})},
                               {"s.1", vector({3, 4})},
                               {"r.0", vector({10, 10})},
                               {"r.1", vector({1, 0})}}),
            (std::vector<Numbers>{{-9, -8}, {2, 4}}));
}

TEST(Optionals, OfInputs) {
  TestModel m(18);
  frontend::optional_input(m, "o", std::vector<TestDim>{2});
  m.node("OptionalHasElement", {"o"}, {"has"}).output("has").output("o");
  EXPECT_EQ(run_on_engines(m, {{"o.0", vector({1, 2})}}), (std::vector<Numbers>{{1}, {1, 2}}));
  EXPECT_EQ(run_on_engines(m, {{"o", vector({})}}), (std::vector<Numbers>{{0}}));
}

TEST(Functions, WithAnAttributeOfTheCall) {
  TestModel m(13);
  ::onnx::FunctionProto& f = *m.proto.add_functions();
  f.set_name("Leak");
  f.set_domain("com.example");
  f.add_input("a");
  f.add_output("b");
  f.add_attribute("slope");
  f.add_opset_import()->set_version(13);
  ::onnx::NodeProto& n = *f.add_node();
  n.set_op_type("LeakyRelu");
  n.add_input("a");
  n.add_output("b");
  ::onnx::AttributeProto& a = *n.add_attribute();
  a.set_name("alpha");
  a.set_ref_attr_name("slope");
  a.set_type(::onnx::AttributeProto::FLOAT);
  m.input("x", {2}).node("Leak", {"x"}, {"y"}).output("y");
  m.last->set_domain("com.example");
  m.attribute("slope", ::onnx::AttributeProto::FLOAT).set_f(0.5F);
  EXPECT_EQ(run_on_engines(m, {{"x", vector({-2, 4})}}), (std::vector<Numbers>{{-1, 4}}));
}

}  // namespace
}  // namespace relay::tests
