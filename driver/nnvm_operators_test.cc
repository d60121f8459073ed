// Graphs whose operators are NNVM's, as NNVM saves them.
#include "base/file.h"
#include "driver/graph_testing.h"
#include "frontend/graph/operators.h"

namespace relay::driver {
namespace {

using testing::floats;
using testing::Import;
using testing::import;
using testing::one;
using testing::run;

Tensor computed(const std::string& op, const std::string& attrs, const std::vector<Tensor>& tensors) {
  std::vector<std::string> names;
  frontend::GraphImportOptions options;
  for (size_t i = 0; i < tensors.size(); ++i) {
    names.push_back(cat("x", i));
    options.input_shapes[names.back()] = tensors[i].shape();
  }
  const Import in = import(one(op, names, attrs), {}, options);
  EXPECT_TRUE(in.module.ok()) << op << "\n" << in.said();
  return in.module ? run(*in.module, tensors)[0] : Tensor();
}

TEST(Nnvm, DenseHasABiasUnlessItSaysSo) {
  const Tensor x = floats({1, 2}, {1, 2}), w = floats({2, 2}, {1, 0, 3, 4}), b = floats({2}, {10, 20});
  EXPECT_EQ(computed("dense", "'units': '2'", {x, w, b}).doubles(), (std::vector<double>{11, 31}));
  for (const char* yes : {"True", "true", "1"}) {
    EXPECT_EQ(computed("dense", cat("'units': '2', 'use_bias': '", yes, "'"), {x, w, b}).doubles(),
              (std::vector<double>{11, 31}));
  }
  EXPECT_EQ(computed("dense", "'units': '2', 'use_bias': 'False'", {x, w}).doubles(),
            (std::vector<double>{1, 11}));
}

TEST(Nnvm, ConvolutionsReadTheirTexts) {
  const Tensor x = floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), w = floats({1, 1, 2, 2}, {1, 0, 0, 1});
  EXPECT_EQ(
      computed("conv2d", "'channels': '1', 'kernel_size': '(2, 2)', 'strides': '(1,1)', 'layout': 'NCHW'",
               {x, w, floats({1}, {0.5})})
          .doubles(),
      (std::vector<double>{6.5, 8.5, 12.5, 14.5}));
  EXPECT_EQ(computed("conv2d",
                     "'channels': '1', 'kernel_size': '[2, 2]', 'strides': '[2, 2]', 'use_bias': '0'", {x, w})
                .doubles(),
            (std::vector<double>{6}));
}

TEST(Nnvm, SmallOperatorsMeanWhatTheyMeantThere) {
  const Tensor x = floats({1, 2, 2}, {-1, 2, -3, 4});
  using List = std::vector<double>;
  EXPECT_EQ(computed("relu", "", {x}).doubles(), (List{0, 2, 0, 4}));
  EXPECT_EQ(computed("leaky_relu", "'alpha': '0.5'", {x}).doubles(), (List{-0.5, 2, -1.5, 4}));
  EXPECT_EQ(computed("elemwise_add", "", {x, x}).doubles(), (List{-2, 4, -6, 8}));
  EXPECT_EQ(computed("elemwise_sum", "'num_args': '3'", {x, x, x}).doubles(), (List{-3, 6, -9, 12}));
  EXPECT_EQ(computed("__rsub_scalar__", "'scalar': '1'", {x}).doubles(), (List{2, -1, 4, -3}));
  EXPECT_EQ(computed("__div_scalar__", "'scalar': '2.0'", {x}).doubles(), (List{-0.5, 1, -1.5, 2}));
  EXPECT_EQ(computed("clip", "'a_min': '0', 'a_max': '3'", {x}).doubles(), (List{0, 2, 0, 3}));
  EXPECT_EQ(computed("flatten", "", {x}).shape(), (Shape{1, 4}));
  EXPECT_EQ(computed("reshape", "'shape': '(2, -1)'", {x}).shape(), (Shape{2, 2}));
  EXPECT_EQ(computed("transpose", "", {x}).shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(computed("transpose", "'axes': '(0, 2, 1)'", {x}).doubles(), (List{-1, -3, 2, 4}));
  EXPECT_EQ(computed("concatenate", "", {x, x}).shape(), (Shape{1, 4, 2})) << "along axis 1 there";
  EXPECT_EQ(computed("split", "'indices_or_sections': '2'", {x}).doubles(), (List{-1, 2})) << "likewise";
  EXPECT_EQ(computed("sum", "", {x}).shape(), (Shape{1})) << "no scalars there";
  EXPECT_EQ(computed("max", "'axis': '(1,)', 'keepdims': 'True'", {x}).shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(computed("expand_dims", "'axis': '1', 'num_newaxis': '2'", {x}).shape(), (Shape{1, 1, 1, 2, 2}));
  EXPECT_EQ(computed("squeeze", "", {x}).shape(), (Shape{2, 2}));
  EXPECT_EQ(computed("strided_slice", "'begin': '(0, 0, 1)', 'end': '(1, 2, 2)'", {x}).doubles(),
            (List{2, 4}));
  EXPECT_EQ(computed("pad", "'pad_width': '((0, 0), (0, 0), (1, 0))', 'pad_value': '7'", {x}).doubles(),
            (List{7, -1, 2, 7, -3, 4}));
  EXPECT_EQ(computed("dropout", "'rate': '0.3'", {x}).doubles(), x.doubles());
  EXPECT_EQ(computed("cast", "'dtype': 'int32'", {x}).dtype(), kInt32);
  EXPECT_EQ(computed("batch_norm", "'epsilon': '0', 'momentum': '0.9'",
                     {floats({1, 2}, {3, 8}), floats({2}, {1, 2}), floats({2}, {0, 1}), floats({2}, {1, 2}),
                      floats({2}, {4, 9})})
                .doubles(),
            (List{1, 5}));
  EXPECT_EQ(computed("upsampling", "'scale': '2'", {floats({1, 1, 1, 2}, {1, 2})}).doubles(),
            (List{1, 1, 2, 2, 1, 1, 2, 2}));
  EXPECT_EQ(computed("max_pool2d", "'pool_size': '(2, 2)', 'strides': '(2, 2)', 'ceil_mode': 'False'",
                     {floats({1, 1, 2, 2}, {1, 4, 3, 2})})
                .doubles(),
            (List{4}));
  EXPECT_EQ(computed("nn.softmax", "'axis': '-1'", {floats({1, 2}, {0, 0})}).doubles(), (List{0.5, 0.5}))
      << "operators of ours by their own names";
}

TEST(Nnvm, AttributesAreChecked) {
  const auto refusal = [](const std::string& op, const std::string& attrs, size_t inputs = 1) {
    frontend::GraphImportOptions options;
    std::vector<std::string> names;
    for (size_t i = 0; i < inputs; ++i) {
      names.push_back(cat("x", i));
      options.input_shapes[names.back()] = {1, 4};
    }
    const Import in = import(one(op, names, attrs), {}, options);
    EXPECT_FALSE(in.module.ok()) << op << attrs;
    return in.said();
  };
  const auto said = [&](const std::string& text, const char* words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  said(refusal("relu", "'slope': '1'"), "its attribute `slope` is unknown [graph-attribute]");
  said(refusal("reshape", ""), "its attribute `shape` is missing");
  said(refusal("reshape", "'shape': '(2, x)'"), "`(2, x)` and not a list of integers");
  said(refusal("leaky_relu", "'alpha': 'inf!'"), "and not a number");
  said(refusal("__add_scalar__", "'scalar': 'nan'"), "and not a number");
  said(refusal("dense", "'use_bias': 'maybe'", 3), "and not True or False");
  said(refusal("dense", "'use_bias': 'False'", 3), "it has 3 inputs and needs 2");
  said(refusal("elemwise_add", ""), "it has 1 inputs and needs 2");
  said(refusal("upsampling", "'scale': '2', 'method': 'BILINEAR'"),
       "not BILINEAR [unsupported-operator-form]");
  said(refusal("reshape", "'shape': '(3,)'"), "[graph-type-error]");
  said(refusal("conv9d", ""), "operator `conv9d` is not supported [unsupported-operator]");
}

TEST(Nnvm, EveryOperatorIsDocumented) {
  std::string page;
  ASSERT_EQ(read_file("docs/graphs.md", 1 << 20, page), "");
  for (const std::string& name : frontend::nnvm_operators())
    EXPECT_NE(page.find(cat("`", name, "`")), std::string::npos) << name;
}

}  // namespace
}  // namespace relay::driver
