// What `--emit onnx` writes, read again: the same bits. And what it refuses.
#include <gtest/gtest.h>

#include <onnx/onnx_pb.h>

#include <map>
#include <set>

#include "base/cat.h"
#include "exporter/dot/dot.h"
#include "exporter/onnx/export.h"
#include "frontend/onnx/import.h"
#include "interp/machine.h"
#include "ir/text/parser.h"
#include "op/apply.h"
#include "op/operators.h"
#include "op/testing.h"
#include "passes/runner.h"
#include "runtime/compare.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

// A text, type checked, its functions inlined as `relay compile --emit onnx` does.
struct Program {
  Diagnostics diagnostics;
  Result<Module> module = kReported;

  explicit Program(const std::string& text) {
    const Result<Module> parsed = parse("test.relay", text, diagnostics, op::operators());
    if (parsed) module = passes::run_pipeline(*parsed, exporter::kBeforeExport, {}, diagnostics);
  }
  const Fn& main() const { return *module->function("main"); }
  std::string said() const { return diagnostics.render(module ? module->context().sources() : SourceMap()); }
};

// One argument for each parameter. Shape variables are 3, 4, ... in order of their names, so that
// indices are below every extent.
std::vector<Value> arguments(const Fn& fn) {
  std::map<std::string, int64_t> extents;
  for (const Var* p : fn.params) {
    for (Dim d : p->type->as<TensorType>()->dims) {
      if (d.is_symbolic()) extents.emplace(show(d), 0);
    }
  }
  int64_t next = 3;
  for (auto& [name, extent] : extents) extent = next++;
  std::vector<Value> args;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const auto& type = *fn.params[i]->type->as<TensorType>();
    Shape shape;
    for (Dim d : type.dims) shape.push_back(d.is_const() ? d.value() : extents.at(show(d)));
    const bool real = type.dtype.is_float();
    args.push_back(Value(op::testing::random(type.dtype, shape, i + 1, real ? -2 : 0, real ? 2 : 1)));
  }
  return args;
}

std::vector<Tensor> results(const Module& m, const std::vector<Value>& args) {
  const Value v = interp::Machine(m).call("main", args);
  return op::flatten(std::span<const Value>(&v, 1));
}

Result<Module> import(const std::string& bytes, const Module& empty, Diagnostics& d) {
  const Result<Module> m = frontend::import_onnx(bytes, "m.onnx", nullptr, empty, {}, d);
  return m ? typecheck::check(*m, d) : Result<Module>(kReported);
}

struct Case {
  const char* name;
  const char* text;
  double ulps = 0;  // where ONNX has another formula for what is exact up to units in the last place
};

class RoundTrip : public ::testing::TestWithParam<Case> {};

TEST_P(RoundTrip, GivesTheSameBits) {
  Program p(GetParam().text);
  ASSERT_TRUE(p.module.ok()) << p.said();
  const Result<exporter::OnnxModel> onnx = exporter::export_onnx(*p.module, "main", {}, p.diagnostics);
  ASSERT_TRUE(onnx.ok()) << p.said();
  const Module empty;
  Diagnostics d;
  const Result<Module> again = import(onnx->bytes, empty, d);
  ASSERT_TRUE(again.ok()) << d.render(empty.context().sources());
  const std::vector<Value> args = arguments(p.main());
  const std::vector<Tensor> want = results(*p.module, args), got = results(*again, args);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double ulps = GetParam().ulps;
    const Comparison c = ulps > 0 ? compare_ulps(got[i], want[i], ulps) : compare_exact(got[i], want[i]);
    EXPECT_TRUE(c.ok) << "output " << i << ": " << c.reason << show(c, want[i].shape());
  }
}

#define X "%x: Tensor[(n, 4), float32]"
constexpr Case kCases[] = {
    {"arithmetic",
     "def @main(" X ", %y: Tensor[(1, 4), float32]) { (add(%x, %y), subtract(%x, %y), multiply(%x, %y), "
     "divide(%x, %y), maximum(%x, %y), minimum(%x, %y), mod(%x, %y), power(%x, %y)) }"},
    {"functions",
     "def @main(" X ") { (abs(%x), exp(%x), tanh(%x), sigmoid(%x), erf(%x), floor(%x), ceil(%x), round(%x), "
     "sign(%x), negative(%x), sin(%x), cos(%x), nn.relu(%x), nn.leaky_relu(%x, alpha=0.25), isnan(%x)) }"},
    {"formulas", "def @main(" X ") { let %y = add(abs(%x), 1f); (rsqrt(%y), log2(%y), log10(%y)) }", 4},
    {"comparison",
     "def @main(" X ", %y: Tensor[(4), float32]) { (equal(%x, %y), not_equal(%x, %y), less(%x, %y), "
     "greater_equal(%x, %y), where(less(%x, %y), %x, %y), isfinite(divide(%x, %y))) }"},
    {"logic",
     "def @main(%a: Tensor[(4), bool], %b: Tensor[(4), bool]) { (logical_and(%a, %b), logical_xor(%a, %b), "
     "logical_not(%a), bitwise_and(%a, %b), all(%a), any(%b)) }"},
    {"integers",
     "def @main(%a: Tensor[(4), int32], %b: Tensor[(4), uint8]) { (floor_mod(subtract(%a, 5), 3), "
     "left_shift(%b, 2u8), bitwise_not(%a), clip(%a, a_min=0.5f, a_max=9f), cast(%a, dtype=\"float32\")) }"},
    {"products",
     "def @main(" X ", %w: Tensor[(5, 4), float32], %v: Tensor[(4, 5), float32]) { (nn.dense(%x, %w), "
     "nn.matmul(%x, %v), nn.matmul(%x, %w, transpose_b=True), nn.matmul(%x, %x, transpose_a=True)) }"},
    {"batches",
     "def @main(%a: Tensor[(2, n, 4), float32], %b: Tensor[(2, 5, 4), float32]) { (nn.batch_matmul(%a, %b, "
     "transpose_b=True), einsum((%a, %b), equation=\"bik,bjk->bij\")) }"},
    {"convolution",
     "def @main(%x: Tensor[(n, 4, 8, 7), float32], %w: Tensor[(6, 2, 3, 3), float32], %b: Tensor[(6), "
     "float32])"
     " { nn.bias_add(nn.conv2d(%x, %w, strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2], groups=2), %b) "
     "}"},
    {"layouts",
     "def @main(%x: Tensor[(1, 8, 7, 4), float32], %w: Tensor[(3, 3, 4, 6), float32]) { nn.max_pool2d("
     "nn.conv2d(%x, %w, data_layout=\"NHWC\", kernel_layout=\"HWIO\"), pool_size=[2, 2], layout=\"NHWC\") }"},
    {"transposed",
     "def @main(%x: Tensor[(1, 4, 5, 5), float32], %w: Tensor[(4, 2, 3, 3), float32]) { nn.conv2d_transpose("
     "%x, %w, strides=[2, 2], padding=[1, 1], output_padding=[1, 1], groups=2) }"},
    {"lines",
     "def @main(%x: Tensor[(1, 4, 9), float32], %w: Tensor[(4, 4, 3), float32]) { "
     "nn.avg_pool1d(nn.conv1d(%x, "
     "%w, padding=[1]), pool_size=[3], strides=[2], padding=[1], count_include_pad=True) }"},
    {"pooling",
     "def @main(%x: Tensor[(n, 3, 8, 8), float32]) { (nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], "
     "padding=[1, 1], ceil_mode=True), nn.avg_pool2d(%x, pool_size=[2, 3], padding=[1, 1]), "
     "nn.global_avg_pool2d(%x), nn.global_max_pool2d(%x)) }"},
    {"normalisation",
     "def @main(%x: Tensor[(n, 3, 4), float32], %s: Tensor[(3), float32], %b: Tensor[(3), float32]) { "
     "(nn.batch_norm(%x, %s, %b, %b, abs(%s), epsilon=0.001f).0, nn.softmax(%x, axis=1), nn.log_softmax(%x)) "
     "}"},
    {"reduction",
     "def @main(%x: Tensor[(n, 3, 4), float32]) { (sum(%x, axis=[1], keepdims=True), mean(%x, axis=[0, 2]), "
     "max(%x),"
     " min(%x, axis=[1], exclude=True), prod(%x, axis=[-1]), argmax(%x, axis=[1]), argmin(%x), "
     "cumsum(%x, axis=1, exclusive=True)) }"},
    {"order", "def @main(" X ") { (sort(%x, axis=0), argsort(%x, is_ascend=False), topk(%x, k=2), "
              "topk(%x, k=1, ret_type=\"indices\", dtype=\"int64\")) }"},
    {"shapes",
     "def @main(%x: Tensor[(n, 2, 3), float32]) { (reshape(%x, newshape=[-1, 3]), reshape(%x, newshape=[0, "
     "6]), "
     "reshape(%x, newshape=[-3, 1, 3]), expand_dims(%x, axis=1, num_newaxis=2), nn.batch_flatten(%x), "
     "squeeze(expand_dims(%x, axis=-1), axis=[-1]), transpose(%x), transpose(%x, axes=[0, 2, 1]), "
     "shape_of(%x)) }"},
    {"two_open_axes",
     "def @main(%x: Tensor[(n, m, 4), float32]) { reshape(reshape(%x, newshape=[-3, 2, 2]), newshape=[-1, "
     "2]) }"},
    {"computed_extents",
     "def @main(%x: Tensor[(n, m, 4), float32]) { (reshape(%x, newshape=[1, n, m, 4]), full(2f, shape=[m, n "
     "+ 1, 2*m]),"
     " tile(%x, reps=[m, 1, n])) }"},
    {"pieces",
     "def @main(%x: Tensor[(n, 6), float32]) { (split(%x, indices_or_sections=3, axis=1), split(%x, "
     "indices_or_sections=[1, 4], axis=1), concatenate((%x, %x), axis=0), stack((%x, %x), axis=1)) }"},
    {"slices",
     "def @main(%x: Tensor[(n, 6), float32]) { (strided_slice(%x, begin=[0, 1], end=[2, 5], strides=[1, 2]), "
     "strided_slice(%x, axes=[1], begin=[-1], end=[-7], strides=[-2]), strided_slice(%x, begin=[0, 2], "
     "end=[-1, 3], slice_mode=\"size\"), reverse(%x, axis=1)) }"},
    {"copies",
     "def @main(%x: Tensor[(n, 1, 2), float32]) { (broadcast_to(%x, shape=[n, 3, 2]), tile(%x, reps=[2, 1, "
     "3]), "
     "tile(%x, reps=[2, 1, 1, 1]), repeat(%x, repeats=2, axis=2), repeat(%x, repeats=2), copy(%x)) }"},
    {"padding",
     "def @main(%x: Tensor[(n, 4), float32]) { (nn.pad(%x, 2f, pad_width=[[1, 0], [2, 1]]), nn.pad(%x, 0, "
     "pad_width=[[0, 0], [2, 1]], pad_mode=\"reflect\"), nn.pad(%x, 0, pad_width=[[1, 1], [0, 0]], "
     "pad_mode=\"edge\")) }"},
    {"images",
     "def @main(%x: Tensor[(1, 8, 3, 4), float32]) { (nn.depth_to_space(%x, block_size=2), "
     "nn.depth_to_space(%x, block_size=2, mode=\"CRD\"), image.resize2d(%x, size=[5, 7]), "
     "image.resize2d(%x, size=[6, 8], method=\"nearest_neighbor\", "
     "coordinate_transformation_mode=\"asymmetric\", "
     "rounding_method=\"floor\"), image.resize2d(%x, size=[6, 6], method=\"cubic\", "
     "coordinate_transformation_mode=\"align_corners\")) }"},
    {"creation",
     "def @main(%x: Tensor[(n, 4), float32], %i: Tensor[(3), int32]) { (zeros_like(%x), ones_like(%x), "
     "full(7f, shape=[n, 2]), iota(shape=[2, n], axis=1), one_hot(%i, 1f, 0f, depth=3), trilu(%x, 1i64), "
     "arange(0f, 5f, 2f), zeros(shape=[2, 3], dtype=\"int32\")) }"},
    {"taking",
     "def @main(%x: Tensor[(n, 4), float32], %i: Tensor[(3), int64]) { (take(%x, %i, axis=1, mode=\"wrap\"), "
     "take(%x, subtract(%i, 3i64), axis=0, mode=\"wrap\"), take(%x, add(%i, 9i64), axis=0), "
     "take(%x, %i, mode=\"fast\"), take(%x, 1i64, axis=1)) }"},
    {"indexing",
     "def @main(%x: Tensor[(4, 4), float32], %i: Tensor[(2, 3), int64], %u: Tensor[(3), float32], "
     "%j: Tensor[(4, 2), int32]) { (gather_nd(%x, %i), scatter_nd(%x, %i, %u, mode=\"add\"), "
     "gather(%x, %j, axis=1), argwhere(%x)) }"},
    {"quantised",
     "def @main(%x: Tensor[(n, 3), float32], %w: Tensor[(3), float32]) { let %s = add(abs(%w), 0.125f); "
     "(qnn.dequantize(qnn.quantize(%x, 0.25f, 3), 0.25f, 3), qnn.quantize(%x, %s, tensor([0, 1, 2], int32), "
     "out_dtype=\"uint8\", axis=1)) }"},
    {"written_out",
     "def @main(%x: Tensor[(2, 4, 4, 4), float32]) { (nn.lrn(%x), nn.l2_normalize(%x, eps=0.001f, axis=[1]), "
     "nn.adaptive_avg_pool2d(%x, output_size=[2, 2])) }"},
    {"functions_of_the_program",
     "def @twice(%x: Tensor[(n), float32]) { add(%x, %x) } def @main(%x: Tensor[(m), float32]) { "
     "let %y = @twice(%x); (@twice(%y), %y, %x, %y) }"},
};
#undef X

INSTANTIATE_TEST_SUITE_P(Families, RoundTrip, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

onnx::ModelProto exported(const std::string& text, const exporter::OnnxNames& names = {}) {
  Program p(text);
  EXPECT_TRUE(p.module.ok()) << p.said();
  onnx::ModelProto proto;
  if (!p.module) return proto;
  const Result<exporter::OnnxModel> onnx = exporter::export_onnx(*p.module, "main", names, p.diagnostics);
  EXPECT_TRUE(onnx.ok()) << p.said();
  EXPECT_TRUE(onnx && proto.ParseFromString(onnx->bytes));
  return proto;
}

TEST(ExportTest, KeepsNamesAndSymbolicExtents) {
  const onnx::ModelProto m = exported("def @main(%x: Tensor[(batch, 4), float32]) { (nn.softmax(%x), %x) }",
                                      {{"Softmax"}, {"Identity", "same"}});
  const onnx::GraphProto& g = m.graph();
  ASSERT_EQ(g.input_size(), 1);
  EXPECT_EQ(g.input(0).name(), "Softmax");
  EXPECT_EQ(g.input(0).type().tensor_type().shape().dim(0).dim_param(), "batch");
  EXPECT_EQ(g.input(0).type().tensor_type().shape().dim(1).dim_value(), 4);
  ASSERT_EQ(g.output_size(), 2);
  EXPECT_EQ(g.output(0).name(), "Identity");
  EXPECT_EQ(g.output(1).name(), "same");
  std::set<std::string> names;
  for (const auto& n : g.node()) {
    for (const auto& out : n.output()) EXPECT_TRUE(names.insert(out).second) << out;
  }
  EXPECT_FALSE(names.contains("Softmax"));  // the input's
}

TEST(ExportTest, WeightsAreRawInitialisersAndNoCopies) {
  const onnx::ModelProto m = exported(
      "def @main(%x: Tensor[(2), float32]) { let %w = tensor([1.5, -2], float32); (add(%x, %w), multiply(%x, "
      "%w)) }");
  ASSERT_EQ(m.graph().initializer_size(), 1);
  EXPECT_EQ(m.graph().initializer(0).raw_data().size(), 8u);
}

// All at once, each with its place.
TEST(ExportTest, NamesEveryOperatorWithoutAForm) {
  Program p(
      "def @main(%x: Tensor[(4), float32]) {\n  let %y = log1p(%x);\n"
      "  (%y, left_shift(cast(%x, dtype=\"int32\"), 1), floor_divide(%x, %x)) }");
  ASSERT_TRUE(p.module.ok()) << p.said();
  EXPECT_FALSE(exporter::export_onnx(*p.module, "main", {}, p.diagnostics).ok());
  EXPECT_EQ(p.diagnostics.errors(), 3u);
  const std::string said = p.said();
  EXPECT_NE(said.find("test.relay:2:"), std::string::npos) << said;
  for (const char* op : {"`log1p`", "`left_shift`", "`floor_divide`"})
    EXPECT_NE(said.find(op), std::string::npos) << said;
  EXPECT_NE(said.find("ONNX shifts unsigned integers only"), std::string::npos) << said;
}

TEST(ExportTest, RefusesControlFlow) {
  Program p("def @main(%c: bool, %x: float32) { if (%c) { %x } else { negative(%x) } }");
  ASSERT_TRUE(p.module.ok()) << p.said();
  EXPECT_FALSE(exporter::export_onnx(*p.module, "main", {}, p.diagnostics).ok());
  EXPECT_NE(p.said().find("not-static-dataflow"), std::string::npos) << p.said();
}

TEST(ExportTest, RefusesAnExtentThatNoInputHas) {
  Program p("def @main(%x: Tensor[(2*n, 3), float32]) { full(1f, shape=[n]) }");
  ASSERT_TRUE(p.module.ok()) << p.said();
  EXPECT_FALSE(exporter::export_onnx(*p.module, "main", {}, p.diagnostics).ok());
  EXPECT_NE(p.said().find("the shape variable `n` is the extent of no input by itself"), std::string::npos)
      << p.said();
}

TEST(DotTest, DrawsASmallFunction) {
  Program p("def @main(%x: Tensor[(n, 2), float32]) { add(nn.softmax(%x, axis=-1), 1f) }");
  ASSERT_TRUE(p.module.ok()) << p.said();
  const Result<std::string> text = exporter::dot_text(p.main(), "a \"name\"\\", p.diagnostics);
  ASSERT_TRUE(text.ok()) << p.said();
  EXPECT_EQ(*text, R"(digraph "a \"name\"\\" {
  node [shape=box, fontname="monospace"];
  n0 [label="%x\nTensor[(n, 2), float32]", shape=ellipse];
  n1 [label="nn.softmax\naxis=-1\nTensor[(n, 2), float32]"];
  n2 [label="Tensor[(), float32] 1\nfloat32", style=dashed];
  n3 [label="add\nTensor[(n, 2), float32]"];
  n0 -> n1;
  n1 -> n3 [label=0];
  n2 -> n3 [label=1];
  result [shape=plaintext];
  n3 -> result;
}
)");
}

TEST(DotTest, RefusesALargeFunction) {
  std::string body = "%x";
  for (size_t i = 0; i < exporter::kMostDrawn; ++i) body = cat("nn.relu(", body, ")");
  Program p(cat("def @main(%x: Tensor[(2), float32]) { ", body, " }"));
  ASSERT_TRUE(p.module.ok()) << p.said();
  EXPECT_FALSE(exporter::dot_text(p.main(), "main", p.diagnostics).ok());
  EXPECT_NE(p.said().find("@main has 501 expressions, and a picture has at most 500"), std::string::npos)
      << p.said();
  EXPECT_NE(p.said().find("--emit onnx"), std::string::npos) << p.said();
}

}  // namespace
}  // namespace relay::tests
