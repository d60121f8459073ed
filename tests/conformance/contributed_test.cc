// Operators of com.microsoft and ai.onnx.ml, for which ONNX has no tests. contributed.txt holds
// small models with inputs and with the results of ONNX Runtime; contributed_cases.py writes it.
//
//   case NAME ABSOLUTE RELATIVE
//   model TEXT OF THE MODEL ON ONE LINE
//   input DTYPE EXTENT,EXTENT NUMBER NUMBER ...
//   output DTYPE EXTENT,EXTENT NUMBER NUMBER ...
//   open INPUT AXIS NAME          the test runs the case once more, with all these axes open
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "base/cat.h"
#include "base/failure.h"
#include "tests/conformance/run_model.h"

namespace relay::tests {
namespace {

struct Case {
  std::string name;
  double absolute = 0, relative = 0;
  ::onnx::ModelProto model;
  std::vector<Value> args;
  std::vector<Tensor> want;
  std::optional<::onnx::ModelProto> open;
};

void open_axis(::onnx::ModelProto& model, const std::string& input, int axis, const std::string& name) {
  for (::onnx::ValueInfoProto& v : *model.mutable_graph()->mutable_input()) {
    if (v.name() != input) continue;
    v.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(axis)->set_dim_param(name);
    return;
  }
  ADD_FAILURE() << "no input " << input;
}

DType dtype_of(const std::string& name) {
  for (const DType d : {kFloat32, kFloat64, kInt64, kInt32, kUInt8, kInt8, kBool}) {
    if (d.name() == name) return d;
  }
  ADD_FAILURE() << "no dtype: " << name;
  return kFloat32;
}

Tensor tensor_of(std::istringstream& line) {
  std::string dtype, shape, word;
  line >> dtype >> shape;
  Shape extents;
  std::istringstream dims(shape == "()" ? "" : shape);
  while (std::getline(dims, word, ',')) extents.push_back(std::stoll(word));
  Tensor t(dtype_of(dtype), extents);
  for (int64_t i = 0; i < t.size(); ++i) {
    EXPECT_TRUE(line >> word) << "a tensor is too short";
    if (t.dtype().is_float()) {
      t.set(i, std::stod(word));
    } else {
      t.set_int(i, std::stoll(word));
    }
  }
  return t;
}

std::vector<Case> cases() {
  std::vector<Case> out;
  std::ifstream file("tests/conformance/contributed.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "case") {
      words >> out.emplace_back().name >> out.back().absolute >> out.back().relative;
    } else if (kind == "model") {
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(line.substr(6), &out.back().model))
          << out.back().name;
    } else if (kind == "input") {
      out.back().args.push_back(Value(tensor_of(words)));
    } else if (kind == "output") {
      out.back().want.push_back(tensor_of(words));
    } else if (kind == "open") {
      std::string input, name;
      int axis = 0;
      words >> input >> axis >> name;
      if (!out.back().open) out.back().open = out.back().model;
      open_axis(*out.back().open, input, axis, name);
    }
  }
  return out;
}

void expect_near(const Tensor& got, const Tensor& want, const Case& c) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  for (int64_t i = 0; i < want.size(); ++i) {
    const double a = got.get(i), b = want.get(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double bound = want.dtype().is_float() ? c.absolute + c.relative * std::fabs(b) : 0;
    EXPECT_LE(std::fabs(a - b), bound) << "element " << i << ": " << a << ", not " << b;
  }
}

void expect_case(const Case& c, const ::onnx::ModelProto& proto) {
  frontend::TestModel model;
  model.proto = proto;
  std::vector<Tensor> got;
  try {
    got = run(model, c.args);
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
  EXPECT_EQ(got.size(), c.want.size());
  for (size_t i = 0; i < got.size() && i < c.want.size(); ++i) expect_near(got[i], c.want[i], c);
}

TEST(ContributedOperators, AreAsInOnnxRuntime) {
  const std::vector<Case> all = cases();
  EXPECT_GE(all.size(), 100u) << "contributed.txt is not whole";
  for (const Case& c : all) {
    SCOPED_TRACE(c.name);
    expect_case(c, c.model);
  }
}

// Computed by hand: ONNX Runtime has no kernel for them on CPUs.
TEST(ContributedOperators, ConvolutionsOfChannelsLast) {
  const Tensor x = tensor(kFloat32, {1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor w = tensor(kFloat32, {2, 2, 1, 1}, {1, 10, 100, 0});
  const Tensor bias = tensor(kFloat32, {2}, {0.5, 0});
  const Tensor z = tensor(kFloat32, {1, 2, 2, 2}, {-50, 1, -50, 1, -50, 1, -50, 1});
  for (const bool fused : {false, true}) {
    frontend::TestModel model(17);
    model.proto.add_opset_import()->set_domain("com.microsoft");
    model.proto.mutable_opset_import(1)->set_version(1);
    model.input("x", {1, 2, 2, 2}).input("w", {2, 2, 1, 1}).input("b", {2});
    if (fused) model.input("z", {1, 2, 2, 2});
    std::vector<std::string> names{"x", "w", "b"};
    if (fused) names.push_back("z");
    model.node(fused ? "NhwcFusedConv" : "NhwcConv", names, {"y"}).attr("pads", std::vector<int64_t>(4, 0));
    model.last->set_domain("com.microsoft");
    if (fused) model.attr("activation", "Relu");
    model.output("y");
    std::vector<Value> args{Value(x), Value(w), Value(bias)};
    if (fused) args.push_back(Value(z));
    const std::vector<Tensor> got = run(model, args);
    ASSERT_EQ(got.size(), 1u);
    const std::vector<double> plain{21.5, 100, 43.5, 300, 65.5, 500, 87.5, 700};
    const std::vector<double> with_z{0, 101, 0, 301, 15.5, 501, 37.5, 701};
    EXPECT_TRUE(identical(got[0], tensor(kFloat32, {1, 2, 2, 2}, fused ? with_z : plain))) << show(got[0]);
  }
}

// Computed by hand: ONNX Runtime 1.32 ignores packed zero points where there is a g_idx. A row of
// 32 numbers is 1, 2, 1, 2, ...; its blocks have the zero points 3 and 5. The first number is of
// block 1 and the last of block 0: (1 - 5) * 4 + (2 - 3) * 2.
TEST(ContributedOperators, GroupsChoosePackedZeroPoints) {
  frontend::TestModel model(17);
  model.proto.add_opset_import()->set_domain("com.microsoft");
  model.proto.mutable_opset_import(1)->set_version(1);
  constexpr int kU8 = ::onnx::TensorProto::UINT8;
  model.input("a", {1, 32}).input("b", {1, 2, 8}, kU8).input("scales", {1, 2}).input("points", {1, 1}, kU8);
  model.input("g", {32}, ::onnx::TensorProto::INT32);
  model.node("MatMulNBits", {"a", "b", "scales", "points", "g"}, {"y"});
  model.last->set_domain("com.microsoft");
  model.attr("N", 1).attr("K", 32).attr("block_size", 16).output("y");
  std::vector<double> a(32, 0), group(32, 1);
  a[0] = a[31] = 1;
  group[31] = 0;
  const Tensor b = tensor(kUInt8, {1, 2, 8}, std::vector<double>(16, 0x21));
  const auto result = [&](const std::vector<double>& g) {
    return run(model, {Value(tensor(kFloat32, {1, 32}, a)), Value(b), Value(tensor(kFloat32, {1, 2}, {2, 4})),
                       Value(tensor(kUInt8, {1, 1}, {0x53})), Value(tensor(kInt32, {32}, g))});
  };
  const std::vector<Tensor> got = result(group);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].get(0), -18);
  group[7] = 2;
  EXPECT_THROW(result(group), Trap) << "there is no block 2";
}

// Computed by hand: ONNX Runtime 1.32 multiplies by the transposed weight. The weight's rows are
// 2, 1/96, 2, 1/96, ...
TEST(ContributedOperators, BnbWeightsTheOtherWay) {
  frontend::TestModel model(17);
  model.proto.add_opset_import()->set_domain("com.microsoft");
  model.proto.mutable_opset_import(1)->set_version(1);
  model.input("a", {1, 2}).input("b", {8}, ::onnx::TensorProto::UINT8).input("largest", {1});
  model.node("MatMulBnb4", {"a", "b", "largest"}, {"y"});
  model.last->set_domain("com.microsoft");
  model.attr("N", 2).attr("K", 8).attr("block_size", 16).attr("quant_type", 0).attr("transB", 0).output("y");
  const std::vector<Tensor> got = run(
      model, {Value(tensor(kFloat32, {1, 2}, {1, 2})),
              Value(tensor(kUInt8, {8}, std::vector<double>(8, 0x31))), Value(tensor(kFloat32, {1}, {2}))});
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].shape(), (Shape{1, 8}));
  EXPECT_EQ(got[0].get(6), 6);
  EXPECT_NEAR(got[0].get(7), 1.0 / 32, 1e-7);
}

TEST(ContributedOperators, TakeOpenAxes) {
  size_t tried = 0;
  for (const Case& c : cases()) {
    if (!c.open) continue;
    SCOPED_TRACE(c.name);
    expect_case(c, *c.open);
    ++tried;
  }
  EXPECT_GE(tried, 40u) << "contributed.txt is not whole";
}

}  // namespace
}  // namespace relay::tests
