// What becomes a device layer, what it computes, and why the rest stays.
#include "vta/program/partition.h"

#include <algorithm>

#include "passes/runner.h"
#include "vta/program/testing.h"

namespace relay::vta {
namespace {

using namespace testing;

const std::string kQnn = ", 0, 0, 1f, 1f";  // zero points and scales
const std::string kByte = ", multiplier=1, shift=9)";

std::string image(const std::string& body, const std::string& more = "") {
  return cat("def @main(%x: Tensor[(2, 16, 9, 9), int8]", more, ") { ", body, " }");
}

struct Case {
  std::string text;
  std::vector<std::string> layers;
};

std::vector<std::string> names(const Partitioned& p) {
  std::vector<std::string> out;
  for (const DeviceLayer& l : p.layers) out.push_back(l.name.substr(l.name.find(": ") + 2));
  return out;
}

std::string qnn_conv(const std::string& x, const std::string& weight, const std::string& attrs = "") {
  return cat("qnn.conv2d(", x, ", ", weight, kQnn, attrs, ")");
}

std::vector<Case> cases() {
  const std::string w = weights({24, 16, 3, 3});
  const std::string bias = numbers(kInt32, {24}, 3, -20'000, 20'000);
  const std::string planes = numbers(kInt32, {24, 1, 1}, 4, -90'000, 90'000);
  std::vector<Case> out;
  const auto take = [&](std::string text, std::vector<std::string> layers) {
    out.push_back({std::move(text), std::move(layers)});
  };
  take(image(cat("qnn.rescale(nn.relu(nn.bias_add(", qnn_conv("%x", w, ", padding=[1, 1]"), ", ", bias, "))",
                 kByte)),
       {"qnn.conv2d + nn.bias_add + nn.relu + qnn.rescale"});
  take(image(cat("cast(clip(right_shift(", qnn_conv("%x", w, ", strides=[2, 1], dilation=[1, 2]"), " + ",
                 planes, ", 8), a_min=-90f, a_max=101.5f), dtype=\"int8\")")),
       {"qnn.conv2d + add + right_shift + clip + cast"});
  // Sums of int8 wrap, and so do a VTA's.
  take(image(cat("nn.conv2d(%x, ", w, ")")), {"nn.conv2d"});
  take(image(cat("nn.relu(nn.conv2d(%x, ", weights({16, 1, 3, 3}), ", groups=16, out_dtype=\"int16\"))")),
       {});
  take(image(cat("cast(nn.relu(nn.conv2d(%x, ", weights({16, 1, 3, 3}),
                 ", groups=16, out_dtype=\"int16\")), dtype=\"int8\")")),
       {"nn.conv2d + nn.relu + cast"});
  take(image(cat("qnn.rescale(qnn.conv2d_transpose(%x, ", weights({16, 5, 3, 3}), kQnn,
                 ", strides=[2, 2], padding=[1, 1], output_padding=[1, 0])", kByte)),
       {"qnn.conv2d_transpose + qnn.rescale"});
  take(image(cat("qnn.rescale(nn.conv2d_transpose(%x, ", weights({16, 3, 3, 2}),
                 ", groups=4, strides=[1, 2], out_dtype=\"int32\")", kByte)),
       {"nn.conv2d_transpose + qnn.rescale"});
  take("def @main(%x: Tensor[(2, 9, 7, 6), int8]) { " +
           cat("qnn.rescale(qnn.conv2d(%x, ", weights({3, 2, 6, 10}), kQnn,
               ", data_layout=\"NHWC\", kernel_layout=\"HWIO\", padding=[1, 1]) + ",
               numbers(kInt32, {10}, 5, -9'000, 9'000), kByte, " }"),
       {"qnn.conv2d + add + qnn.rescale"});
  take(cat("def @main(%x: Tensor[(3, 40), int8]) { qnn.rescale(qnn.dense(%x, ", weights({33, 40}), kQnn,
           ") + ", numbers(kInt32, {33}, 5, -9'000, 9'000), kByte, " }"),
       {"qnn.dense + add + qnn.rescale"});
  take(cat("def @main(%x: Tensor[(3, 40), int8]) { qnn.rescale(nn.matmul(%x, ", weights({40, 33}),
           ", out_dtype=\"int32\")", kByte, " }"),
       {"nn.matmul + qnn.rescale"});
  take(cat("def @main(%x: Tensor[(40), int8]) { nn.dense(%x, ", weights({5, 40}), ") }"), {"nn.dense"});
  take(image("nn.max_pool2d(%x, pool_size=[3, 2], strides=[2, 2], padding=[1, 0])"), {"nn.max_pool2d"});
  take(image("nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2], ceil_mode=True)"), {"nn.max_pool2d"});
  take("def @main(%x: Tensor[(1, 9, 7, 20), int8]) { nn.max_pool2d(%x, pool_size=[3, 3], layout=\"NHWC\") }",
       {"nn.max_pool2d"});
  take(image("nn.relu(nn.global_max_pool2d(%x))"), {"nn.global_max_pool2d + nn.relu"});
  const std::string mean = ", multiplier=809, shift=16)";  // of 81 numbers
  take(image(cat("qnn.rescale(sum(cast(%x, dtype=\"int32\"), axis=[2, 3], keepdims=True)", mean)),
       {"sum + qnn.rescale"});
  take(image(cat("qnn.rescale(sum(cast(%x, dtype=\"int32\"), axis=[2, 3])", mean)), {"sum + qnn.rescale"});
  take("def @main(%x: Tensor[(2, 9, 9, 5), int8]) { " +
           cat("qnn.rescale(sum(cast(%x, dtype=\"int32\"), axis=[1, 2], keepdims=True)", mean, " }"),
       {"sum + qnn.rescale"});
  // Residual connections.
  const std::string y = ", %y: Tensor[(2, 16, 9, 9), int8]";
  take(image("qnn.rescale(cast(%x, dtype=\"int32\") + cast(%y, dtype=\"int32\"), shift=0)", y),
       {"cast + add + qnn.rescale"});
  take(image("maximum(%x, %y) + %x", y), {});
  take(image(cat("%0 = qnn.rescale(", qnn_conv("%x", weights({16, 16, 3, 3}), ", padding=[1, 1]"), kByte, ";",
                 "nn.relu(qnn.rescale(cast(%0, dtype=\"int32\") + cast(%y, dtype=\"int32\"), shift=0))"),
             y),
       {"qnn.conv2d + qnn.rescale + cast + add + qnn.rescale + nn.relu"});
  // Both are used twice.
  take(image(cat("%0 = qnn.rescale(", qnn_conv("%x", weights({16, 16, 3, 3}), ", padding=[1, 1]"), kByte, ";",
                 "%1 = qnn.rescale(", qnn_conv("%0", weights({16, 16, 1, 1})), kByte, ";",
                 "qnn.rescale(cast(%0, dtype=\"int32\") - cast(%1, dtype=\"int32\"), shift=1)")),
       {"qnn.conv2d + qnn.rescale", "qnn.conv2d + qnn.rescale + cast + subtract + qnn.rescale"});
  take(image("%0 = cast(%x, dtype=\"int32\"); cast(minimum(3 - multiply(%0, 5), left_shift(7, 2)), "
             "dtype=\"int8\")"),
       {});
  take(image("cast(maximum(3 - multiply(cast(%x, dtype=\"int32\"), 5), -7), dtype=\"int8\")"),
       {"cast + multiply + subtract + maximum + cast"});
  take(
      "def @main(%x: Tensor[(5, 6, 7), int8]) { " +
          cat("cast(cast(%x, dtype=\"int16\") * ", numbers(kInt16, {7}, 9, -300, 300), ", dtype=\"int8\") }"),
      {"cast + multiply + cast"});
  take("def @main(%x: int8) { cast(cast(%x, dtype=\"int32\") + 300000, dtype=\"int8\") }",
       {"cast + add + cast"});
  // Longer than a layer may be.
  std::string chain = "cast(%x, dtype=\"int32\")";
  for (int k = 0; k < 40; k++) chain = cat("maximum(", chain, " + 1, -100)");
  take(image(cat("cast(", chain, ", dtype=\"int8\")")), {});
  return out;
}

TEST(Partition, LayersComputeWhatTheirFunctionsDo) {
  const Params whole, batches{.log_batch = 1},
      small{.log_block = 3, .log_inp_buff_size = 13, .log_wgt_buff_size = 15, .log_acc_buff_size = 15};
  for (const Params& params : {whole, batches, small}) {
    const Layout layout = layout_of(params);
    for (const Case& c : cases()) {
      SCOPED_TRACE(c.text.substr(0, 400));
      EXPECT_EQ(names(expect_same(typed(c.text), layout)), c.layers);
    }
  }
}

struct Refusal {
  std::string text, what, why;
};

TEST(Partition, EachRefusalHasAReason) {
  const std::string w = weights({24, 16, 3, 3}), x = "cast(%x, dtype=\"int32\")";
  const std::string sums = qnn_conv("%x", w);
  const std::string reads = " its numbers of int32, and a VTA stores int8";
  const Refusal refusals[] = {
      {image("nn.max_pool2d(cast(%x, dtype=\"float32\"), pool_size=[2, 2])"), "nn.max_pool2d",
       "its input is float32, and a VTA reads int8"},
      {image("nn.conv2d(%x, %w)", ", %w: Tensor[(4, 16, 3, 3), int8]"), "nn.conv2d",
       "its weight is not a constant"},
      {image(cat("nn.relu(qnn.conv2d(%x, ", w, ", 3, 0, 1f, 1f))")), "qnn.conv2d",
       "a zero point is 3, and a VTA has none but 0"},
      {image(cat("qnn.conv2d(%x, ", w, ", 0, 0, %s, 1f)"), ", %s: float32"), "qnn.conv2d",
       "argument 4 is not a constant"},
      {image(cat("nn.relu(", sums, ")")), "qnn.conv2d", cat("the program reads", reads)},
      {image(cat("qnn.dequantize(nn.relu(", sums, "), 1f, 0)")), "qnn.conv2d",
       cat("`qnn.dequantize` reads", reads)},
      {image(cat("%0 = ", sums, "; qnn.rescale(maximum(%0, multiply(%0, 3)))")), "qnn.conv2d",
       cat("2 places of the program read", reads)},
      {image(cat("cast(nn.relu(", sums, "), dtype=\"float32\")")), "qnn.conv2d", cat("`cast` reads", reads)},
      {image(cat("qnn.rescale(", sums, ", shift=20, rounding=\"TOEVEN\")")), "qnn.conv2d",
       "has no exact steps of 32 bits"},
      {image(cat("qnn.rescale(", sums, ", multiplier=1073741825, shift=40)")), "qnn.conv2d",
       "`qnn.rescale`: 1073741825 / 2^40 of numbers from"},
      {image(cat("cast(left_shift(", sums, ", 32), dtype=\"int8\")")), "qnn.conv2d",
       "`left_shift`: a shift by at least the width traps"},
      {image(cat("cast(", sums, " + ", numbers(kInt32, {7}, 1, 0, 9), ", dtype=\"int8\")")), "qnn.conv2d",
       "`add`: a constant operand differs along another axis than that of channels"},
      {image(cat("cast(right_shift(", sums, ", cast(%y, dtype=\"int32\")), dtype=\"int8\")"),
             ", %y: Tensor[(2, 24, 7, 7), int8]"),
       "qnn.conv2d", "`right_shift`: a tensor is no operand of it in a layer"},
      {image(cat("cast(", sums, " + cast(%y, dtype=\"int32\"), dtype=\"int8\")"),
             ", %y: Tensor[(24, 1, 1), int8]"),
       "qnn.conv2d", "`add`: its other operand has another shape than the sums"},
      {image("cast(cast(%x, dtype=\"int32\"), dtype=\"int8\")"), "cast", "nothing is computed"},
      {image(cat("cast(sum(", x, ", axis=[1]), dtype=\"int8\")")), "sum",
       "it does not add up rows and columns of images"},
      {image("nn.avg_pool2d(%x, pool_size=[2, 2])"), "nn.avg_pool2d",
       "its means are rounded toward zero, and a VTA has no exact steps for that"},
      {image(cat("cast(", x, " + ", "cast(1000, dtype=\"int32\")", " * ", x, ", dtype=\"int8\")")), "cast",
       ""},
      {image(cat("nn.conv2d(%x, ", weights({4, 16, 1, 1}), ", padding=[1, 1])")), "nn.conv2d",
       "a window of 1 rows may lie in the padding as a whole"},
      {"def @main(%x: Tensor[(n, 4), int8]) { " + cat("nn.dense(%x, ", weights({3, 4}), ") }"), "nn.dense",
       "its shapes are not all known, or are empty"},
      {image("nn.conv2d(%x, " + w + ", out_dtype=\"int64\")"), "nn.conv2d",
       "its result is int64, and sums are int32, int16 or int8"},
      {image(cat("cast(maximum(", sums, ", expand_dims(%b, axis=1, num_newaxis=2)), dtype=\"int8\")"),
             ", %b: Tensor[(24), int32]"),
       "qnn.conv2d", cat("`maximum` reads", reads)},
  };
  const Layout layout = layout_of({});
  for (const Refusal& r : refusals) {
    SCOPED_TRACE(r.text.substr(r.text.size() > 300 ? r.text.size() - 300 : 0));
    const Module m = typed(r.text);
    const Partitioned p = partition(m, layout, {});
    EXPECT_EQ(names(p), std::vector<std::string>());
    EXPECT_TRUE(p.module.same(m));
    const auto left =
        std::find_if(p.left.begin(), p.left.end(), [&](const auto& l) { return l.what == r.what; });
    ASSERT_NE(left, p.left.end());
    EXPECT_NE(left->why.find(r.why), std::string::npos) << left->why;
    EXPECT_EQ(left->why.find(cat("`", r.what, "`: ")), std::string::npos) << "said by `what`";
    EXPECT_TRUE(left->span.known()) << left->what;
  }
}

TEST(Partition, WhatIsRefusedIsTriedShorter) {
  const std::string conv = cat("qnn.rescale(", qnn_conv("%x", weights({16, 16, 1, 1})), kByte);
  // The second rounding has no steps, and what stands before it is a layer.
  const Module m = typed(
      image(cat("qnn.rescale(cast(", conv, ", dtype=\"int32\") * 100003, shift=12, rounding=\"TOEVEN\")")));
  const Partitioned p = expect_same(m, layout_of({}));
  EXPECT_EQ(names(p), std::vector<std::string>{"qnn.conv2d + qnn.rescale"});
  ASSERT_EQ(p.left.size(), 1u);
  EXPECT_EQ(p.left[0].what, "cast");
}

TEST(Partition, LayersInPrimitiveFunctionsAndTwiceAreLeftAlone) {
  const std::string body = cat("nn.conv2d(%x, ", weights({16, 16, 3, 3}), ")");
  const Module kernel =
      typed(image(cat("fn (%a: Tensor[(2, 16, 9, 9), int8], Primitive=1) { nn.relu(%a) }(%x)")));
  EXPECT_TRUE(partition(kernel, layout_of({}), {}).module.same(kernel));
  const Module inside = typed("def @main(%y: Tensor[(2, 16, 9, 9), int8]) { " +
                              cat("fn (%x: Tensor[(2, 16, 9, 9), int8], Primitive=1) { ", body, " }(%y) }"));
  const Partitioned nothing = partition(inside, layout_of({}), {});
  EXPECT_TRUE(nothing.module.same(inside));
  EXPECT_TRUE(nothing.left.empty());
  // Its own result has the same layers again.
  const Partitioned once = partition(typed(image(body)), layout_of({}), {});
  const Partitioned twice = partition(once.module, layout_of({}), {});
  EXPECT_TRUE(alpha_equal(once.module, twice.module)) << show(twice.module);
  ASSERT_EQ(twice.layers.size(), 1u);
  EXPECT_EQ(twice.layers[0].name, once.layers[0].name);
}

TEST(Partition, AFunctionThatOnlySaysItIsALayerIsNone) {
  const Module m = typed(
      "def @main(%y: Tensor[(4), float32]) { " +
      cat("fn (%x: Tensor[(4), float32], Primitive=1, Device=\"vta\", Layer=5) ", "{ nn.relu(%x) }(%y) }"));
  const Partitioned p = partition(m, layout_of({}), {});
  EXPECT_TRUE(p.layers.empty());
  EXPECT_EQ(show(p.module).find("Device"), std::string::npos) << show(p.module);
}

TEST(Partition, LayersAreNumberedInEvaluationOrder) {
  const std::string w = weights({16, 16, 1, 1});
  const std::string text = cat(
      "def @a(%x: Tensor[(1, 16, 4, 4), int8]) { nn.conv2d(nn.relu(nn.max_pool2d(%x, pool_size=[1, 1])), ", w,
      ") } def @b(%x: Tensor[(1, 16, 4, 4), int8]) { nn.conv2d(%x, ", w, ") }");
  const Partitioned p = partition(typed(text), layout_of({}), {});
  ASSERT_EQ(p.layers.size(), 3u);
  EXPECT_EQ(p.layers[0].name, "layer 0: nn.max_pool2d + nn.relu");
  EXPECT_EQ(p.layers[1].name, "layer 1: nn.conv2d");
  EXPECT_EQ(p.layers[2].name, "layer 2: nn.conv2d");
  EXPECT_EQ(show(p.module), show(partition(typed(text), layout_of({}), {}).module));
}

// A residual block of floats, made integers by the passes that users have.
TEST(Partition, QuantisedNetworks) {
  const auto filter = [](Shape shape, uint64_t seed) {
    return text::show_tensor(op::testing::random(kFloat32, std::move(shape), seed, -0.3, 0.3));
  };
  const std::string text = cat(R"(def @main(%x: Tensor[(1, 3, 12, 12), float32]) {
    %0 = nn.relu(nn.conv2d(%x, )",
                               filter({16, 3, 3, 3}, 1), R"(, padding=[1, 1]));
    %1 = nn.relu(nn.bias_add(nn.conv2d(%0, )",
                               filter({16, 16, 3, 3}, 2), ", padding=[1, 1]), ", filter({16}, 3), R"());
    %2 = nn.conv2d(%1, )",
                               filter({16, 16, 3, 3}, 4), R"(, padding=[1, 1]);
    %3 = nn.relu(%2 + %0);
    %4 = nn.max_pool2d(%3, pool_size=[2, 2], strides=[2, 2]);
    %5 = nn.relu(nn.conv2d(%4, )",
                               filter({16, 1, 3, 3}, 5), R"(, groups=16));
    %6 = nn.max_pool2d(nn.conv2d(%5, )",
                               filter({8, 16, 1, 1}, 6), R"(), pool_size=[2, 2], strides=[2, 2]);
    nn.dense(nn.batch_flatten(%6), )",
                               filter({10, 32}, 7), ") }");
  Diagnostics d;
  const Module floats = typed(text);
  const Result<Module> m = passes::run_pipeline(
      floats, "simplify-inference,inline-lets,fold-constants,quantise-global{scale=32}", {}, d);
  ASSERT_TRUE(m.ok()) << d.render(floats.context().sources());
  for (const int log_batch : {0, 1}) {
    const Partitioned p = expect_same(*m, layout_of({.log_batch = log_batch}));
    EXPECT_EQ(names(p), (std::vector<std::string>{
                            "qnn.conv2d + nn.bias_add + nn.relu + qnn.rescale",
                            "qnn.conv2d + qnn.rescale + cast + add + nn.relu + qnn.rescale",
                            "nn.max_pool2d",
                            "qnn.conv2d + nn.relu + qnn.rescale",
                            "qnn.conv2d + qnn.rescale",
                            "nn.max_pool2d",
                        }))
        << show(p.module);
    ASSERT_EQ(p.left.size(), 2u);
    EXPECT_EQ(p.left[0].why, "its input is float32, and a VTA reads int8");
    EXPECT_EQ(p.left[1].why, "`qnn.dequantize` reads its numbers of int32, and a VTA stores int8");
  }
}

}  // namespace
}  // namespace relay::vta
