// Nodes whose windows, padding, matrices or blocks have extents that only a run tells, and negative
// padding: on the interpreter and on a compiled engine. The results are computed by hand.
#include <functional>

#include "tests/conformance/two_inputs.h"

namespace relay::tests {
namespace {

const Given kNothing = axes({0});  // for an input that nothing reads

Given named(const std::vector<TestDim>& names, const Shape& shape, const Numbers& values,
            DType dtype = kFloat32) {
  return {names, tensor(dtype, shape, values)};
}
// One line of one channel, of open length.
Given line(const Numbers& values) {
  return named({1, 1, "n"}, {1, 1, static_cast<int64_t>(values.size())}, values);
}
Given ones(const std::vector<TestDim>& names, int64_t extent) {
  return named(names, {1, 1, extent}, Numbers(static_cast<size_t>(extent), 1));
}

TEST(OpenExtents, OfPoolingWhosePaddingFollows) {
  const auto image = [](int64_t extent, const Numbers& values) {
    const Given x = named({1, 1, "h", "w"}, {1, 1, extent, extent}, values);
    TestModel m = of_two(x, "nothing", kNothing);
    m.node("MaxPool", {"x"}, {"y"}).attr("kernel_shape", std::vector<int64_t>{2, 2});
    m.attr("strides", std::vector<int64_t>{2, 2}).attr("auto_pad", "SAME_UPPER");
    return result(m, x, kNothing);
  };
  EXPECT_EQ(image(3, {1, 2, 3, 4, 5, 6, 7, 8, 9}), "(1, 1, 2, 2): 5 6 8 9");
  EXPECT_EQ(image(2, {-1, -2, -3, -4}), "(1, 1, 1, 1): -1");
  EXPECT_EQ(image(1, {-7}), "(1, 1, 1, 1): -7");
  const auto mean = [](const Numbers& values, const char* pad, int64_t counts) {
    TestModel m = of_two(line(values), "nothing", kNothing);
    m.node("AveragePool", {"x"}, {"y"}).attr("kernel_shape", std::vector<int64_t>{2});
    m.attr("strides", std::vector<int64_t>{2}).attr("auto_pad", pad).attr("count_include_pad", counts);
    return result(m, line(values), kNothing);
  };
  EXPECT_EQ(mean({1, 2, 3}, "SAME_LOWER", 0), "(1, 1, 2): 1 2.5");
  EXPECT_EQ(mean({1, 2, 3}, "SAME_LOWER", 1), "(1, 1, 2): 0.5 2.5");
  EXPECT_EQ(mean({1, 2, 3}, "SAME_UPPER", 0), "(1, 1, 2): 1.5 3");
  EXPECT_EQ(mean({1, 2, 3, 4}, "SAME_UPPER", 0), "(1, 1, 2): 1.5 3.5");
}

TEST(OpenExtents, OfPlacesOfTheLargest) {
  const auto places = [](const Numbers& values, int64_t ceil, const std::vector<int64_t>& pads) {
    TestModel m = of_two(line(values), "nothing", kNothing);
    m.node("MaxPool", {"x"}, {"largest", "y"}).attr("kernel_shape", std::vector<int64_t>{2});
    m.attr("strides", std::vector<int64_t>{2}).attr("ceil_mode", ceil).attr("pads", pads);
    return result(m, line(values), kNothing);
  };
  EXPECT_EQ(places({1, 3, 2, 5}, 0, {0, 0}), "(1, 1, 2): 1 3");
  EXPECT_EQ(places({1, 3, 2, 5}, 0, {1, 0}), "(1, 1, 2): 0 1");
  EXPECT_EQ(places({1, 3, 2, 5}, 1, {1, 0}), "(1, 1, 3): 0 1 3");
  EXPECT_EQ(places({1, 3, 5}, 1, {0, 0}), "(1, 1, 2): 1 2");
  EXPECT_EQ(places({1, 3, 2, 5}, 0, {-1, 0}), "(1, 1, 1): 1");
  TestModel m = of_two(line({3, 1, 2}), "nothing", kNothing);
  m.node("MaxPool", {"x"}, {"largest", "y"}).attr("kernel_shape", std::vector<int64_t>{2});
  m.attr("strides", std::vector<int64_t>{2}).attr("auto_pad", "SAME_LOWER");
  EXPECT_EQ(result(m, line({3, 1, 2}), kNothing), "(1, 1, 2): 0 2");
}

// The kernel is open too: it is the second input.
TEST(OpenExtents, OfConvolutionsWhosePaddingFollows) {
  const auto sums = [](const Numbers& values, int64_t kernel, int64_t stride, const char* pad) {
    const Given weight = ones({1, 1, "k"}, kernel);
    TestModel m = of_two(line(values), "w", weight);
    m.node("Conv", {"x", "w"}, {"y"}).attr("strides", std::vector<int64_t>{stride}).attr("auto_pad", pad);
    return result(m, line(values), weight);
  };
  EXPECT_EQ(sums({1, 2, 3, 4}, 3, 2, "SAME_UPPER"), "(1, 1, 2): 6 7");
  EXPECT_EQ(sums({1, 2, 3, 4}, 3, 2, "SAME_LOWER"), "(1, 1, 2): 3 9");
  EXPECT_EQ(sums({1, 2, 3}, 3, 2, "SAME_UPPER"), "(1, 1, 2): 3 5");
  EXPECT_EQ(sums({1, 2, 3}, 2, 1, "SAME_UPPER"), "(1, 1, 3): 3 5 3");
  EXPECT_EQ(sums({1, 2, 3, 4}, 1, 3, "SAME_UPPER"), "(1, 1, 2): 1 4");  // no window is padded
  EXPECT_EQ(sums({1, 2, 3, 4, 5}, 1, 3, "SAME_UPPER"), "(1, 1, 2): 1 4");
}

TEST(OpenExtents, OfTransposedConvolutionsThatAreTrimmed) {
  const auto spread = [](const Given& x, const Given& weight, const std::function<void(TestModel&)>& set) {
    TestModel m = of_two(x, "w", weight);
    m.node("ConvTranspose", {"x", "w"}, {"y"}).attr("strides", std::vector<int64_t>{2});
    set(m);
    return result(m, x, weight);
  };
  const auto same = [](const char* pad) { return [pad](TestModel& m) { m.attr("auto_pad", pad); }; };
  const auto shape = [](int64_t extent) {
    return [extent](TestModel& m) { m.attr("output_shape", std::vector<int64_t>{extent}); };
  };
  const auto pads = [](const std::vector<int64_t>& by) { return [by](TestModel& m) { m.attr("pads", by); }; };
  const Given x = line({1, 2}), open = ones({1, 1, "k"}, 3), known = ones({1, 1, 3}, 3);
  EXPECT_EQ(spread(x, open, same("SAME_UPPER")), "(1, 1, 4): 1 1 3 2");
  EXPECT_EQ(spread(x, open, same("SAME_LOWER")), "(1, 1, 4): 1 3 2 2");
  EXPECT_EQ(spread(x, ones({1, 1, "k"}, 1), same("SAME_UPPER")), "(1, 1, 4): 1 0 2 0");
  for (const Given& w : {open, known}) {
    EXPECT_EQ(spread(x, w, shape(3)), "(1, 1, 3): 1 3 2");
    EXPECT_EQ(spread(x, w, shape(7)), "(1, 1, 7): 1 1 3 2 2 0 0");
    EXPECT_EQ(spread(x, w, pads({-1, -1})), "(1, 1, 7): 0 1 1 3 2 2 0");
    EXPECT_EQ(spread(x, w, pads({-1, 2})), "(1, 1, 4): 0 1 1 3");
  }
  EXPECT_EQ(spread(floats({1, 1, 2}, {1, 2}), known, shape(7)), "(1, 1, 7): 1 1 3 2 2 0 0");
  EXPECT_EQ(spread(floats({1, 1, 2}, {1, 2}), known, pads({-1, -1})), "(1, 1, 7): 0 1 1 3 2 2 0");
}

// Negative padding takes elements away before the windows slide.
TEST(OpenExtents, OfNegativePadding) {
  const auto made = [](const Given& x, const char* op, const std::vector<int64_t>& pads) {
    const Given weight = ones({1, 1, 2}, 2);
    TestModel m = of_two(x, "w", weight);
    if (op == std::string("Conv")) {
      m.node(op, {"x", "w"}, {"y"});
    } else {
      m.node(op, {"x"}, {"y"}).attr("kernel_shape", std::vector<int64_t>{2});
    }
    return result(m.attr("pads", pads), x, weight);
  };
  for (const Given& x : {line({1, 2, 3, 4}), floats({1, 1, 4}, {1, 2, 3, 4})}) {
    EXPECT_EQ(made(x, "Conv", {-1, 0}), "(1, 1, 2): 5 7");
    EXPECT_EQ(made(x, "Conv", {-1, 1}), "(1, 1, 3): 5 7 4");
    EXPECT_EQ(made(x, "MaxPool", {0, -1}), "(1, 1, 2): 2 3");
    EXPECT_EQ(made(x, "AveragePool", {1, -1}), "(1, 1, 3): 1 1.5 2.5");
    EXPECT_EQ(made(x, "LpPool", {-2, 0}), "(1, 1, 1): 5");
  }
  EXPECT_EQ(made(line({1, 2}), "Conv", {-1, 0}), "traps");  // the window is larger than what is left
  // More is cut off than there is: an end of -1 would leave all but the last element.
  EXPECT_EQ(made(line({1, 2, 3, 4}), "MaxPool", {2, -5}), "traps");
  EXPECT_EQ(made(line({1, 2, 3, 4}), "Conv", {2, -5}), "traps");
  // An extent that depends on the data.
  const Given x = line({0, 1, 2, 3}), weight = ones({1, 1, 2}, 2);
  TestModel m = of_two(x, "w", weight);
  m.node("NonZero", {"x"}, {"i"}).node("Cast", {"i"}, {"f"}).attr("to", 1).ints("zero", {0});
  m.node("Unsqueeze", {"f", "zero"}, {"p"}).node("Conv", {"p", "c"}, {"y"}).floats("c", {1, 3, 1}, 1);
  EXPECT_EQ(result(m.attr("pads", std::vector<int64_t>{0, -1}), x, weight), "(1, 1, 2): 1 2");
}

TEST(OpenExtents, OfDeterminants) {
  const auto determinant = [](const Shape& shape, const Numbers& values) {
    TestModel m = of_two(named({"n", "m"}, shape, values), "nothing", kNothing);
    return result(m.node("Det", {"x"}, {"y"}), named({"n", "m"}, shape, values), kNothing);
  };
  EXPECT_EQ(determinant({2, 2}, {0, 2, 4, 8}), "(): -8");
  EXPECT_EQ(determinant({3, 3}, {0, 2, 1, 4, 8, 4, 2, 4, 4}), "(): -16");
  EXPECT_EQ(determinant({2, 2}, {2, 4, 1, 2}), "(): 0");
  EXPECT_EQ(determinant({1, 1}, {-3}), "(): -3");
  EXPECT_EQ(determinant({0, 0}, {}), "(): 1");
  EXPECT_EQ(determinant({1, 2}, {1, 2}), "traps");
  const Given batch = named({"b", "n", "n"}, {2, 2, 2}, {2, 0, 0, 3, 0, 1, 1, 0});
  TestModel m = of_two(batch, "nothing", kNothing);
  EXPECT_EQ(result(m.node("Det", {"x"}, {"y"}), batch, kNothing), "(2): 6 -1");
}

TEST(OpenExtents, OfSlicesThatAreUnique) {
  const auto unique = [](const Shape& shape, const Numbers& values, const char* what) {
    const Given x = named({"n", "m"}, shape, values);
    TestModel m = of_two(x, "nothing", kNothing);
    const auto name = [&](const char* output) {
      return std::string(output == std::string(what) ? "y" : output);
    };
    m.node("Unique", {"x"}, {name("values"), name("indices"), name("inverse"), name("counts")})
        .attr("axis", 0);
    return result(m, x, kNothing);
  };
  const Numbers rows{1, 2, 1, 2, 0, 5};
  EXPECT_EQ(unique({3, 2}, rows, "values"), "(2, 2): 0 5 1 2");
  EXPECT_EQ(unique({3, 2}, rows, "indices"), "(2): 2 0");
  EXPECT_EQ(unique({3, 2}, rows, "inverse"), "(3): 1 1 0");
  EXPECT_EQ(unique({3, 2}, rows, "counts"), "(2): 1 2");
  EXPECT_EQ(unique({1, 1}, {7}, "values"), "(1, 1): 7");
}

TEST(OpenExtents, OfBlocksOfAScale) {
  const auto quantised = [](const Numbers& values, const Numbers& scales) {
    const Given x = named({1, "n"}, {1, static_cast<int64_t>(values.size())}, values),
                scale = named({1, "b"}, {1, static_cast<int64_t>(scales.size())}, scales);
    TestModel m = of_two(x, "scale", scale, 21);
    return result(m.node("QuantizeLinear", {"x", "scale"}, {"y"}).attr("block_size", 2), x, scale);
  };
  EXPECT_EQ(quantised({2, 4, 9, 12}, {1, 3}), "(1, 4): 2 4 3 4");
  EXPECT_EQ(quantised({2, 4, 9}, {1, 3}), "(1, 3): 2 4 3");
  EXPECT_EQ(quantised({2, 4, 9}, {1}), "traps");
  EXPECT_EQ(quantised({2, 4, 9}, {1, 3, 5}), "traps");
}

}  // namespace
}  // namespace relay::tests
