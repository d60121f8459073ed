// Models, files and options that are refused, by the kind of failure, and soon enough.
#include <gtest/gtest.h>

#include "base/file.h"
#include "frontend/onnx/expect_refused.h"

namespace relay::frontend {
namespace {

constexpr int kInt64Code = ::onnx::TensorProto::INT64;

TEST(Import, EverythingUnsupportedIsListedAtOnce) {
  const Imported i = import_model(TestModel(17)
                                      .input("x", {1, 4})
                                      .node("Frobnicate", {"x"}, {"a"})
                                      .node("Relu", {"a"}, {"b"})
                                      .node("StringNormalizer", {"b"}, {"c"})
                                      .node("ReduceMeen", {"x"}, {"d"})
                                      .output("c")
                                      .output("d"));
  EXPECT_EQ(i.failure, ImportFailure::kUnsupported);
  EXPECT_NE(i.messages.find("m.onnx:1:1: error: operator `Frobnicate` of version 17 (node `the_Frobnicate`) "
                            "on FLOAT is not supported"),
            std::string::npos)
      << i.messages;
  EXPECT_NE(i.messages.find("m.onnx:3:1"), std::string::npos);
  EXPECT_NE(i.messages.find("did you mean `ReduceMean`?"), std::string::npos) << i.messages;
  EXPECT_EQ(i.messages.find("Relu`"), std::string::npos) << "what only depends on it is not blamed";
}

TEST(Import, TypeErrorsPointAtTheNode) {
  expect_refused(TestModel().input("x", {2, 3}).input("y", {4}).node("Add", {"x", "y"}, {"z"}).output("z"),
                 ImportFailure::kBadModel, "Add \"the_Add\" opset 13 (x, y) -> (z)");
}

TEST(Import, RefusesBadModels) {
  expect_refused(TestModel().input("x", {1}).node("Relu", {"nothing"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "uses `nothing`, which nothing before it defines");
  expect_refused(TestModel().input("x", {1}).node("Relu", {"x"}, {"y"}).output("z"), ImportFailure::kBadModel,
                 "nothing defines the output `z`");
  expect_refused(TestModel().input("x", {1}).node("Relu", {"x"}, {"y"}), ImportFailure::kBadModel,
                 "has no outputs");
  expect_refused(
      TestModel().input("x", {1}).node("Relu", {"x"}, {"y"}).node("Relu", {"x"}, {"y"}).output("y"),
      ImportFailure::kBadModel, "is defined already");
  expect_refused(TestModel().input("x", {1}).input("x", {1}).node("Relu", {"x"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "two inputs are called `x`");
  expect_refused(TestModel().input("", {1}).output("y"), ImportFailure::kBadModel, "an input has no name");
  expect_refused(TestModel().floats("w", {1}).floats("w", {1}).output("w"), ImportFailure::kBadModel,
                 "two initialisers");
  expect_refused(TestModel().input("x", {1}).node("Relu", {}, {"y"}).output("y"), ImportFailure::kBadModel,
                 "its input 0 is missing");
  expect_refused(TestModel()
                     .input("x", {1, 2})
                     .node("Transpose", {"x"}, {"y"})
                     .attr("perm", std::vector<int64_t>{0})
                     .output("y"),
                 ImportFailure::kBadModel, "`perm`");
  expect_refused(TestModel().input("x", {1, 2}).node("Softmax", {"x"}, {"y"}).attr("axis", 5).output("y"),
                 ImportFailure::kBadModel, "axis");
  expect_refused(TestModel().input("x", {1, 2}).node("Softmax", {"x"}, {"y"}).attr("axis", "one").output("y"),
                 ImportFailure::kBadModel, "value of another kind");
  expect_refused(TestModel().input("x", {1, 2}).node("Cast", {"x"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "`to` is missing");
  const auto expect_refused_convolution = [](const std::string& attribute, const auto& value) {
    SCOPED_TRACE(attribute);
    expect_refused(TestModel()
                       .input("x", {1, 1, 8, 8})
                       .floats("w", {1, 1, 3, 3})
                       .node("Conv", {"x", "w"}, {"y"})
                       .attr(attribute, value)
                       .output("y"),
                   ImportFailure::kBadModel, "out of range");
  };
  expect_refused_convolution("strides", std::vector<int64_t>{0, 1});
  expect_refused_convolution("pads", std::vector<int64_t>{INT64_MAX, 1, 1, 1});
  expect_refused_convolution("group", -1);
  expect_refused(TestModel().input("x", {4}).ints("i", {9}).node("Gather", {"x", "i"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "outside of the 4 elements");
  expect_refused(TestModel().input("x", {4}).ints("s", {3}).node("Reshape", {"x", "s"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "");
  expect_refused(
      TestModel().input("x", {4}).ints("s", {-1, -1}).node("Reshape", {"x", "s"}, {"y"}).output("y"),
      ImportFailure::kBadModel, "");
  expect_refused(TestModel().input("x", {4}).ints("s", {-7}).node("Reshape", {"x", "s"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "negative extent");
}

TEST(Import, RefusesWhatIsNotSupported) {
  expect_refused(TestModel(0).input("x", {1}).node("Relu", {"x"}, {"y"}).output("y"),
                 ImportFailure::kUnsupported, "version 0 of ONNX's operator set; 1 to 28");
  expect_refused(TestModel(29).input("x", {1}).node("Relu", {"x"}, {"y"}).output("y"),
                 ImportFailure::kUnsupported, "version 29");
  expect_refused(TestModel().input("x", {1}, ::onnx::TensorProto::STRING).output("x"),
                 ImportFailure::kUnsupported, "type STRING");
  expect_refused(TestModel()
                     .input("x", {1, 1, 4, 4, 4, 4})
                     .floats("w", {1, 1, 3, 3, 3, 3})
                     .node("Conv", {"x", "w"}, {"y"})
                     .output("y"),
                 ImportFailure::kUnsupported, "4 spatial axes");
  expect_refused(TestModel(19)
                     .input("x", {1, "c", 4, 4})
                     .floats("w", {1, 1, 1, 1})
                     .input("o", {1, 2, 4, 4})
                     .floats("b", {1})
                     .input("m", {1, 1, 4, 4})
                     .node("DeformConv", {"x", "w", "o", "b", "m"}, {"y"})
                     .attr("pads", std::vector<int64_t>{0, 0, -1, 0})
                     .output("y"),
                 ImportFailure::kUnsupported, "negative padding is not supported");
  expect_refused(TestModel(19)
                     .input("x", {1, 1, 4})
                     .floats("w", {1, 1, 1})
                     .input("o", {1, 1, 4})
                     .node("DeformConv", {"x", "w", "o"}, {"y"})
                     .output("y"),
                 ImportFailure::kUnsupported, "1 spatial axes; two are supported");
  expect_refused(TestModel().input("x", {1, 1, 4, 4}).node("LRN", {"x"}, {"y"}).attr("size", 2).output("y"),
                 ImportFailure::kUnsupported, "even window");
  expect_refused(TestModel()
                     .input("x", {4})
                     .input("s", {"r"}, kInt64Code)
                     .node("Reshape", {"x", "s"}, {"y"})
                     .output("y"),
                 ImportFailure::kUnsupported,
                 "how many numbers its shape (input 1) has depends on the input");
  TestModel other = relu();
  other.last->set_domain("com.example");
  expect_refused(other, ImportFailure::kUnsupported,
                 "ONNX's own `Relu` is supported; the one of `com.example` is not");
  other.last->set_domain("com.microsoft.nchwc");
  expect_refused(other, ImportFailure::kUnsupported, "give the model that it read");
  TestModel no_shape = relu();
  no_shape.graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  expect_refused(no_shape, ImportFailure::kUnsupported, "does not say what its shape is");
  ImportOptions o;
  o.input_shapes["x"] = {{2, ""}, {-1, "k"}};
  EXPECT_EQ(import_model(no_shape, o).type, "Tensor[(2, k), float32]");
}

TEST(Import, RefusesOptionsThatDoNotFit) {
  const auto with = [](std::string name, std::vector<InputDim> dims) {
    ImportOptions o;
    o.input_shapes[name] = std::move(dims);
    return o;
  };
  expect_refused(relu(), ImportFailure::kBadModel, "no input of `m.onnx`", with("y", {{1, ""}}));
  expect_refused(relu(), ImportFailure::kBadModel, "it has 2 dimensions", with("x", {{1, ""}}));
  expect_refused(relu(), ImportFailure::kBadModel, "its extent 1 is always 4", with("x", {{1, ""}, {5, ""}}));
  ImportOptions value;
  value.input_values["y"] = {{"1"}};
  expect_refused(relu(), ImportFailure::kBadModel, "a value was given for `y`, which is no input", value);
  value.input_values = {{"x", {{"true"}}}};
  expect_refused(relu(), ImportFailure::kBadModel, "`true` is no float32", value);
  value.input_values = {{"x", {{"1", "2"}, true}}};
  expect_refused(relu(), ImportFailure::kBadModel, "it has 4 elements and the list 2", value);
  value.input_values = {{"x", {{"1"}}}};
  expect_refused(TestModel().input("x", {"n"}).node("Relu", {"x"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "whose extents are not known", value);
  value.input_values = {{"w", {{"1"}}}};
  expect_refused(
      TestModel().input("x", {2}).input("w", {2}).floats("w", {2}).node("Add", {"x", "w"}, {"y"}).output("y"),
      ImportFailure::kBadModel, "which is no input", value);
  ImportOptions o = with("x", {{2, ""}});
  o.input_shapes["y"] = {{3, ""}};
  expect_refused(TestModel().input("x", {"n"}).input("y", {"n"}).node("Add", {"x", "y"}, {"z"}).output("z"),
                 ImportFailure::kBadModel, "cannot be both 2 and 3", o);
}

TEST(Import, RefusesWhatIsOverTheLimits) {
  ImportOptions few;
  few.nodes = 1;
  expect_refused(
      TestModel().input("x", {1}).node("Relu", {"x"}, {"y"}).node("Relu", {"y"}, {"z"}).output("z"),
      ImportFailure::kLimit, "more than the limit of 1", few);
  ::onnx::GraphProto inner;
  inner.add_output()->set_name("x");
  for (int i = 0; i < 40; ++i) {
    ::onnx::GraphProto outer;
    auto* n = outer.add_node();
    n->set_op_type("If");
    n->add_input("c");
    n->add_output("y");
    for (const char* name : {"then_branch", "else_branch"}) {
      if (i > 10 && std::string(name) == "else_branch") continue;  // or it would be 2^40 graphs
      auto* a = n->add_attribute();
      a->set_name(name);
      a->set_type(::onnx::AttributeProto::GRAPH);
      *a->mutable_g() = inner;
    }
    outer.add_output()->set_name("y");
    inner = outer;
  }
  TestModel deep;
  deep.input("x", {1}).input("c", {}, ::onnx::TensorProto::BOOL);
  *deep.graph->mutable_node() = inner.node();
  deep.output("y");
  const Imported i = import_model(deep);
  EXPECT_FALSE(i.ok);
}

TEST(Import, NumbersThatGrowWithoutBoundAreComputed) {
  // (n + 1) squared, and squared again: the number of terms doubles each time.
  TestModel m;
  m.input("x", {"n"}).ints("one", {1}).node("Shape", {"x"}, {"s"}).node("Add", {"s", "one"}, {"t0"});
  for (int i = 0; i < 40; ++i) {
    m.node("Mul", {"t" + std::to_string(i), "t" + std::to_string(i)}, {"t" + std::to_string(i + 1)});
  }
  m.node("ConstantOfShape", {"t40"}, {"filled"}).node("Relu", {"filled"}, {"y"}).output("t40").output("y");
  const Imported i = import_model(m);
  EXPECT_EQ(i.type, "(Tensor[(1), int64], Tensor[(?), float32])") << i.messages;
}

TEST(Import, ArithmeticOnConstantsIsBounded) {
  // Each slice asks for a bound that takes a million additions to know.
  TestModel m;
  m.input("x", {4}).floats("one", {1}, 1).ints("shape", {1'000'000}).ints("axes", {0}).ints("end", {4});
  for (int i = 0; i < 2000; ++i) {
    const std::string n = std::to_string(i);
    m.node("Expand", {"one", "shape"}, {"e" + n}).node("ReduceSum", {"e" + n, "axes"}, {"r" + n});
    m.node("Cast", {"r" + n}, {"c" + n})
        .attr("to", kInt64Code)
        .node("Slice", {"x", "c" + n, "end"}, {"y" + n});
  }
  // Where the budget ends, the bounds are left to the program.
  m.output("y1999");
  const Imported i = import_model(m);
  EXPECT_EQ(i.type, "Tensor[(?), float32]") << i.messages;
}

TEST(Import, RefusesFilesThatAreNoModels) {
  EXPECT_NE(import_bytes("").messages.find("it is empty"), std::string::npos);
  EXPECT_NE(import_bytes("version https://git-lfs.github.com/spec/v1\noid sha256:1").messages.find("Git LFS"),
            std::string::npos);
  EXPECT_NE(import_bytes("PK\x03\x04").messages.find("m.onnx"), std::string::npos);
  const std::string good = relu().bytes();
  for (size_t n = 1; n < good.size(); ++n) EXPECT_FALSE(import_bytes(good.substr(0, n)).ok) << n;
  EXPECT_FALSE(import_bytes(std::string(1000, '\x3a')).ok);
  EXPECT_FALSE(import_bytes(std::string(1 << 20, '\xff')).ok);
  std::string nested;
  for (int i = 0; i < 200; ++i)
    nested = "\x3a" + std::string(1, static_cast<char>(std::min<size_t>(nested.size(), 127))) + nested;
  EXPECT_FALSE(import_bytes(nested).ok);
}

TEST(Import, AMillionEmptyNodesAreRefusedByNumber) {
  // Two bytes a node: an amplification that must be seen before the message is parsed.
  std::string graph;
  for (int i = 0; i < 1'000'001; ++i) graph += std::string("\x0a\x00", 2);
  ::onnx::ModelProto rest;
  rest.add_opset_import()->set_version(13);
  std::string bytes = rest.SerializeAsString() + "\x3a";
  for (size_t n = graph.size(); n > 0; n >>= 7) bytes += static_cast<char>((n & 127) | (n > 127 ? 128 : 0));
  const Imported i = import_bytes(bytes + graph);
  EXPECT_EQ(i.failure, ImportFailure::kLimit) << i.messages.substr(0, 300);
}

TEST(Import, ExternalDataIsRefusedWithoutAFolder) {
  TestModel m = relu();
  m.floats_in_file("w", {1}, "../../etc/passwd");
  EXPECT_NE(import_model(m).messages.find("another file"), std::string::npos);
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  ASSERT_EQ(write_file_atomically(folder.path() + "/m.onnx", m.bytes()), "");
  Diagnostics d;
  const Module empty;
  EXPECT_FALSE(import_onnx(folder.path() + "/m.onnx", empty, {}, d).ok());
  EXPECT_NE(d.render(empty.context().sources()).find("contains `..`"), std::string::npos);
}

TEST(Import, AFileThatIsNotThere) {
  Diagnostics d;
  EXPECT_FALSE(import_onnx("/no/such/file.onnx", Module(), {}, d).ok());
  EXPECT_EQ(import_failure(d), ImportFailure::kUnreadable);
}

}  // namespace
}  // namespace relay::frontend
