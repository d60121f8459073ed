// Pads, shapes, steps and lengths that only a run tells, of operators that take them as inputs: on
// the interpreter and on a compiled engine. The results are computed by hand.
#include "tests/conformance/two_inputs.h"

namespace relay::tests {
namespace {

const Given kNothing = axes({0});  // for an input that nothing reads

TEST(ComputedNumbers, OfPaddingThatGoesAround) {
  const auto padded = [](const Given& x, const Numbers& by) {
    const Given pads = axes(by);
    TestModel m = of_two(x, "pads", pads, 19);
    return result(m.node("Pad", {"x", "pads"}, {"y"}).attr("mode", "wrap"), x, pads);
  };
  const Given x = floats({3}, {1, 2, 3});
  EXPECT_EQ(padded(x, {1, 2}), "(6): 3 1 2 3 1 2");
  EXPECT_EQ(padded(x, {4, 0}), "(7): 3 1 2 3 1 2 3");
  EXPECT_EQ(padded(x, {-1, 3}), "(5): 2 3 2 3 2");
  EXPECT_EQ(padded(floats({2, 2}, {1, 2, 3, 4}), {1, 0, 0, -1}), "(3, 1): 3 1 3");
  EXPECT_EQ(padded(floats({0}, {}), {0, 0}), "(0):");
  EXPECT_EQ(padded(floats({0}, {}), {1, 0}), "traps");
}

TEST(ComputedNumbers, OfPaddingAroundAnOpenAxis) {
  const auto padded = [](const Given& x) {
    TestModel m = of_two(x, "nothing", kNothing, 19);
    return result(m.ints("pads", {1, 1}).node("Pad", {"x", "pads"}, {"y"}).attr("mode", "wrap"), x, kNothing);
  };
  EXPECT_EQ(padded({{"n"}, tensor(kFloat32, {3}, {1, 2, 3})}), "(5): 3 1 2 3 1");
  EXPECT_EQ(padded({{"n"}, tensor(kFloat32, {1}, {7})}), "(3): 7 7 7");
  EXPECT_EQ(padded({{"n"}, tensor(kFloat32, {0}, {})}), "traps");
}

// A matrix and a vector have no batch and channels, which an image keeps.
TEST(ComputedNumbers, OfResizedSizes) {
  const auto resized = [](const Given& x, const Numbers& to) {
    const Given sizes = axes(to);
    TestModel m = of_two(x, "sizes", sizes);
    return result(m.node("Resize", {"x", "", "", "sizes"}, {"y"}), x, sizes);
  };
  EXPECT_EQ(resized(floats({2, 2}, {1, 2, 3, 4}), {4, 2}), "(4, 2): 1 2 1 2 3 4 3 4");
  EXPECT_EQ(resized(floats({2, 2}, {1, 2, 3, 4}), {1, 2}), "(1, 2): 1 2");
  EXPECT_EQ(resized(floats({3}, {1, 2, 3}), {6}), "(6): 1 1 2 2 3 3");
  EXPECT_EQ(resized(floats({1, 1, 2}, {1, 2}), {1, 1, 4}), "(1, 1, 4): 1 1 2 2");
  EXPECT_EQ(resized(floats({1, 1, 2}, {1, 2}), {1, 2, 4}), "traps");
}

// The size of axis 1 is that of another tensor: an image, if the channels are last.
TEST(ComputedNumbers, OfResizedImagesWithChannelsLast) {
  const auto resized = [](const Given& x, const Given& like, bool channels_last) {
    TestModel m = of_two(x, "like", like);
    m.node("Shape", {"x"}, {"ours"}).attr("start", channels_last ? 3 : 0).attr("end", channels_last ? 4 : 1);
    m.node("Shape", {"like"}, {"theirs"}).ints("one", {1});
    m.node("Concat",
           channels_last ? std::vector<std::string>{"one", "theirs", "ours"}
                         : std::vector<std::string>{"one", "one", "theirs"},
           {"sizes"});
    m.attr("axis", 0).node("Resize", {"x", "", "", "sizes"}, {"y"});
    return result(m, x, like);
  };
  const auto like = [](int64_t h, int64_t w) {
    return Given{{"h", "w"}, tensor(kFloat32, {h, w}, Numbers(static_cast<size_t>(h * w)))};
  };
  const Given last{{1, "i", "j", 2}, tensor(kFloat32, {1, 1, 2, 2}, {1, 2, 3, 4})};
  EXPECT_EQ(resized(last, like(2, 2), true), "(1, 2, 2, 2): 1 2 3 4 1 2 3 4");
  EXPECT_EQ(resized(last, like(1, 4), true), "(1, 1, 4, 2): 1 2 1 2 3 4 3 4");
  const Given first{{1, "c", "i", "j"}, tensor(kFloat32, {1, 1, 1, 2}, {1, 2})};
  EXPECT_EQ(resized(first, like(1, 4), false), "(1, 1, 1, 4): 1 1 2 2");
  const Given two{{1, "c", "i", "j"}, tensor(kFloat32, {1, 2, 1, 1}, {1, 2})};
  EXPECT_EQ(resized(two, like(1, 2), false), "traps");
}

TEST(ComputedNumbers, OfResizedAxesThatAreNamed) {
  const Given x = floats({1, 2, 2}, {1, 2, 3, 4}), sizes = axes({4, 2});
  TestModel m = of_two(x, "sizes", sizes);
  m.node("Resize", {"x", "", "", "sizes"}, {"y"}).attr("axes", std::vector<int64_t>{1, 2});
  EXPECT_EQ(result(m, x, sizes), "(1, 4, 2): 1 2 1 2 3 4 3 4");
}

// Nobody says how many there are: "k" and "l" are lengths.
TEST(ComputedNumbers, OfAnOpenLength) {
  const Given x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto some = [](const Numbers& values) {
    return Given{{"k"}, tensor(kInt64, {static_cast<int64_t>(values.size())}, values)};
  };
  const auto slice = [&](const Numbers& begin) {
    TestModel m = of_two(x, "begin", some(begin));
    m.ints("two", {2}, true)
        .node("Add", {"begin", "two"}, {"end"})
        .node("Slice", {"x", "begin", "end"}, {"y"});
    return result(m, x, some(begin));
  };
  EXPECT_EQ(slice({1}), "(1, 3): 4 5 6");
  EXPECT_EQ(slice({0, 1}), "(2, 2): 2 3 5 6");
  EXPECT_EQ(slice({}), "(2, 3): 1 2 3 4 5 6");
  EXPECT_EQ(slice({0, 0, 0}), "traps");
  const auto last = [&](const Numbers& axes_given) {  // the last element along these axes
    TestModel m = of_two(x, "axes", some(axes_given));
    m.ints("zero", {0}, true).ints("one", {1}, true).node("Mul", {"axes", "zero"}, {"none"});
    m.node("Sub", {"none", "one"}, {"begin"})
        .ints("most", {1 << 20}, true)
        .node("Add", {"none", "most"}, {"end"});
    return result(m.node("Slice", {"x", "begin", "end", "axes"}, {"y"}), x, some(axes_given));
  };
  EXPECT_EQ(last({-1}), "(2, 1): 3 6");
  EXPECT_EQ(last({1, 0}), "(1, 1): 6");
  EXPECT_EQ(last({0, 0}), "traps");
  EXPECT_EQ(last({2}), "traps");
  const auto named = [&](const std::string& op, const Numbers& numbers) {
    TestModel m = of_two(x, "numbers", some(numbers));
    return result(m.node(op, {"x", "numbers"}, {"y"}), x, some(numbers));
  };
  EXPECT_EQ(named("Tile", {1, 2}), "(2, 6): 1 2 3 1 2 3 4 5 6 4 5 6");
  EXPECT_EQ(named("Tile", {2}), "traps");
  EXPECT_EQ(named("Pad", {0, -1, 0, 1}), "(2, 3): 2 3 0 5 6 0");
  EXPECT_EQ(named("Pad", {1, 1}), "traps");
  EXPECT_EQ(named("TopK", {1}), "(2, 1): 3 6");
  EXPECT_EQ(named("TopK", {1, 1}), "traps");
}

TEST(ComputedNumbers, OfImagesOfColumns) {
  const auto image = [](const Given& x, const Numbers& shape, const std::vector<int64_t>& pads) {
    const Given extents = axes(shape);
    TestModel m = of_two(x, "shape", extents);
    m.ints("block", {1, 2}).node("Col2Im", {"x", "shape", "block"}, {"y"});
    if (!pads.empty()) m.attr("pads", pads);
    return result(m, x, extents);
  };
  EXPECT_EQ(image(floats({1, 2, 2}, {1, 3, 2, 4}), {2, 2}, {}), "(1, 1, 2, 2): 1 2 3 4");
  const Given overlapping = floats({1, 2, 2}, {1, 2, 10, 20});
  EXPECT_EQ(image(overlapping, {1, 3}, {}), "(1, 1, 1, 3): 1 12 20");
  EXPECT_EQ(image(overlapping, {1, 1}, {0, 1, 0, 1}), "(1, 1, 1, 1): 12");
  EXPECT_EQ(image(overlapping, {1, 4}, {}), "traps");  // three blocks, and there are two columns
  EXPECT_EQ(image(floats({1, 3, 2}, {1, 2, 3, 4, 5, 6}), {1, 3}, {}), "traps");
  EXPECT_EQ(image(overlapping, {1, -3}, {}), "traps");
}

// Two blocks of one row each, of two images.
TEST(ComputedNumbers, OfImagesOfOpenColumns) {
  const Given x{{"n", "c", "l"}, tensor(kFloat32, {2, 2, 1}, {1, 2, 3, 4})};
  TestModel m = of_two(x, "nothing", kNothing);
  m.ints("shape", {1, 2}).ints("block", {1, 2}).node("Col2Im", {"x", "shape", "block"}, {"y"});
  EXPECT_EQ(result(m, x, kNothing), "(2, 1, 1, 2): 1 2 3 4");
}

TEST(ComputedNumbers, OfFramesOfASignal) {
  const auto frames = [](double length, std::vector<int64_t> step) {
    const Given x = floats({1, 4, 1}, {1, 2, 3, 4}), given = floats({}, {length}, kInt64);
    TestModel m = of_two(x, "length", given);
    m.ints("step", step, true).node("STFT", {"x", "step", "", "length"}, {"y"});
    return result(m, x, given);
  };
  EXPECT_EQ(frames(1, {2}), "(1, 2, 1, 2): 1 0 3 0");
  EXPECT_EQ(frames(2, {2}).substr(0, 17), "(1, 2, 2, 2): 3 0");
  EXPECT_EQ(frames(4, {1}).substr(0, 18), "(1, 1, 3, 2): 10 0");
  EXPECT_EQ(frames(7, {1}), "(1, 0, 4, 2):");
  EXPECT_EQ(frames(-1, {1}), "traps");
}

TEST(ComputedNumbers, OfAWindow) {
  const Given x = floats({1, 3}, {1, 2, 3}), window{{"w"}, tensor(kFloat32, {1}, {10})};
  TestModel m = of_two(x, "window", window);
  m.ints("step", {1}, true).node("STFT", {"x", "step", "window"}, {"y"});
  EXPECT_EQ(result(m, x, window), "(1, 3, 1, 2): 10 0 20 0 30 0");
}

TEST(ComputedNumbers, OfMelFiltersAreThoseOfConstants) {
  const auto filters = [](bool computed, float upper) {
    const Given bands = floats({}, {8}, kInt64);
    TestModel m = of_two(bands, "nothing", kNothing);
    m.ints("bands", {8}, true).ints("length", {64}, true).ints("rate", {8192}, true);
    m.floats("low", {}, 0).floats("high", {}, upper);
    m.node("MelWeightMatrix", {computed ? "x" : "bands", "length", "rate", "low", "high"}, {"y"});
    return result(m, bands, kNothing);
  };
  EXPECT_EQ(filters(true, 4096).substr(0, 8), "(33, 8):");
  EXPECT_EQ(filters(true, 4096), filters(false, 4096));
  EXPECT_EQ(filters(true, 9000), "traps");
}

TEST(ComputedNumbers, OfAnUnpooledShape) {
  const auto unpooled = [](const Numbers& shape) {
    const Given x = floats({1, 1, 1, 2}, {5, 8}), extents = axes(shape);
    TestModel m = of_two(x, "shape", extents);
    m.ints("flat", {1, 2}).ints("dims", {1, 1, 1, 2}).node("Reshape", {"flat", "dims"}, {"places"});
    m.node("MaxUnpool", {"x", "places", "shape"}, {"y"}).attr("kernel_shape", std::vector<int64_t>{1, 2});
    m.attr("strides", std::vector<int64_t>{1, 2});
    return result(m, x, extents);
  };
  EXPECT_EQ(unpooled({1, 1, 1, 4}), "(1, 1, 1, 4): 0 5 8 0");
  EXPECT_EQ(unpooled({1, 1, 2, 5}), "(1, 1, 2, 5): 0 5 8 0 0 0 0 0 0 0");
  EXPECT_EQ(unpooled({1, 1, 1, 3}), "traps");
}

TEST(ComputedNumbers, OfUnpoolingAnOpenShape) {
  const Given x{{1, 1, 1, "w"}, tensor(kFloat32, {1, 1, 1, 2}, {5, 8})};
  const auto unpooled = [&](const Given& places) {
    TestModel m = of_two(x, "places", places);
    m.node("MaxUnpool", {"x", "places"}, {"y"}).attr("kernel_shape", std::vector<int64_t>{1, 2});
    m.attr("strides", std::vector<int64_t>{1, 2});
    return result(m, x, places);
  };
  EXPECT_EQ(unpooled({{1, 1, 1, "k"}, tensor(kInt64, {1, 1, 1, 2}, {1, 2})}), "(1, 1, 1, 4): 0 5 8 0");
  EXPECT_EQ(unpooled({{1, 1, 1, "k"}, tensor(kInt64, {1, 1, 1, 1}, {1})}), "traps");
}

// One key each, so that a head of queries gives the value that it shares.
TEST(ComputedNumbers, OfHeadsOfQueriesForAHeadOfKeys) {
  const auto attended = [](int64_t heads, const Numbers& values) {
    const Given q{{1, "h", 1, 1}, tensor(kFloat32, {1, heads, 1, 1}, Numbers(static_cast<size_t>(heads), 1))};
    const auto shared = static_cast<int64_t>(values.size());
    const Given kv{{1, "g", 1, 1}, tensor(kFloat32, {1, shared, 1, 1}, values)};
    TestModel m = of_two(q, "kv", kv, 23);
    return result(m.node("Attention", {"x", "kv", "kv"}, {"y"}), q, kv);
  };
  EXPECT_EQ(attended(2, {5, 7}), "(1, 2, 1, 1): 5 7");
  EXPECT_EQ(attended(4, {5, 7}), "(1, 4, 1, 1): 5 5 7 7");
  EXPECT_EQ(attended(3, {5, 7}), "traps");
}

TEST(ComputedNumbers, OfWeightsOfARecurrentLayer) {
  const auto layer = [](const Shape& shape) {
    const Given x = floats({1, 1, 1}, {2});
    Tensor weights(kFloat32, shape);
    for (int64_t i = 0; i < weights.size(); ++i) weights.set(i, 0.5);
    const Given w{{"d", "g", "i"}, weights};
    TestModel m = of_two(x, "w", w, 14);
    m.floats("r", {1, 1, 1}, 0).node("RNN", {"x", "w", "r"}, {"y"}).attr("hidden_size", 1);
    m.attribute("activations", ::onnx::AttributeProto::STRINGS).add_strings("Relu");
    return result(m, x, w);
  };
  EXPECT_EQ(layer({1, 1, 1}), "(1, 1, 1, 1): 1");
  EXPECT_EQ(layer({1, 2, 1}), "traps");
  EXPECT_EQ(layer({2, 1, 1}), "traps");
}

TEST(ComputedNumbers, OfWeightsOfAConvolution) {
  const auto convolved = [](const char* op, const Shape& shape, const Numbers& values) {
    const Given x{{1, 1, "s"}, tensor(kFloat32, {1, 1, 3}, {1, 2, 3})};
    const Given w{{"o", "i", "k"}, tensor(kFloat32, shape, values)};
    TestModel m = of_two(x, "w", w);
    m.node(op, {"x", "w"}, {"y"}).attr("kernel_shape", std::vector<int64_t>{2});
    return result(m, x, w);
  };
  EXPECT_EQ(convolved("Conv", {1, 1, 2}, {1, 10}), "(1, 1, 2): 21 32");
  EXPECT_EQ(convolved("ConvTranspose", {1, 1, 2}, {1, 10}), "(1, 1, 4): 1 12 23 30");
  EXPECT_EQ(convolved("Conv", {1, 1, 3}, {1, 10, 100}), "traps");
  EXPECT_EQ(convolved("Conv", {1, 2, 2}, {1, 10, 1, 10}), "traps");
}

TEST(ComputedNumbers, OfPartsOfAnIndex) {
  const auto model = [](const Given& x, const Given& i, const std::string& updates) {
    TestModel m = of_two(x, "i", i);
    m.floats("one", {}, 1).node("ScatterND", {"x", "i", updates}, {"y"});
    return m;
  };
  const auto indices = [](const Shape& shape, const Numbers& values) {
    return Given{{"n", "parts"}, tensor(kInt64, shape, values)};
  };
  const Given line = floats({2}, {5, 6}), one = indices({2, 1}, {-1, 0}), two = indices({2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(result(model(line, one, "x"), line, one), "(2): 6 5");
  EXPECT_EQ(result(model(line, two, "x"), line, two), "traps");
  EXPECT_EQ(result(model(line, indices({2, 1}, {-1, 2}), "x"), line, indices({2, 1}, {-1, 2})), "traps");
  const Given image = floats({2, 2}, {1, 2, 3, 4}), rows = indices({2, 1}, {1, 0});
  EXPECT_EQ(result(model(image, rows, "x"), image, rows), "(2, 2): 3 4 1 2");
  const std::string refused = result(model(line, one, "one"), line, one);
  EXPECT_NE(refused.find("the ranks of its inputs fit no index"), std::string::npos) << refused;
}

TEST(ComputedNumbers, OfTheWindowOfAConvolution) {
  const auto model = [](const char* op, const Given& x, const Given& w) {
    TestModel m = of_two(x, "w", w);
    m.node(op, {"x", "w"}, {"y"});
    return m;
  };
  const Given x{{1, 1, "s"}, tensor(kFloat32, {1, 1, 3}, {1, 2, 3})};
  const auto of = [](const Shape& shape, const Numbers& values) {
    return Given{{"o", "i", "k"}, tensor(kFloat32, shape, values)};
  };
  const Given two = of({1, 1, 2}, {1, 10}), three = of({1, 1, 3}, {1, 10, 100});
  EXPECT_EQ(result(model("Conv", x, two), x, two), "(1, 1, 2): 21 32");
  EXPECT_EQ(result(model("Conv", x, three), x, three), "(1, 1, 1): 321");
  EXPECT_EQ(result(model("ConvTranspose", x, two), x, two), "(1, 1, 4): 1 12 23 30");
  EXPECT_EQ(result(model("ConvTranspose", x, three), x, three), "(1, 1, 5): 1 12 123 230 300");
  const Given four = of({1, 1, 4}, {1, 1, 1, 1}), none = of({1, 1, 0}, {}), wide = of({1, 2, 1}, {1, 1});
  for (const Given& w : {four, none, wide}) EXPECT_EQ(result(model("Conv", x, w), x, w), "traps");
  const std::vector<int64_t> pads{1, 0}, strides{2};
  EXPECT_EQ(result(model("Conv", x, two).attr("pads", pads).attr("strides", strides), x, two),
            "(1, 1, 2): 10 32");
  // What it pads depends on the window.
  EXPECT_EQ(result(model("Conv", x, two).attr("auto_pad", "SAME_UPPER"), x, two), "(1, 1, 3): 21 32 3");
  EXPECT_EQ(result(model("Conv", x, three).attr("auto_pad", "SAME_UPPER"), x, three),
            "(1, 1, 3): 210 321 32");
}

TEST(ComputedNumbers, OfThePadsOfATransposedConvolution) {
  const Given x{{1, 1, "s"}, tensor(kFloat32, {1, 1, 2}, {1, 2})};
  const auto spread = [&](const Given& pads, bool biased) {
    TestModel m = of_two(x, "pads", pads);
    auto* set = m.proto.add_opset_import();
    set->set_domain("com.microsoft");
    set->set_version(1);
    m.floats("w", {1, 1, 3}, 1).floats("bias", {1}, 10);
    m.node("ConvTransposeWithDynamicPads", {"x", "w", "pads"}, {"y"})
        .attr("strides", std::vector<int64_t>{2});
    if (biased) m.last->add_input("bias");
    m.last->set_domain("com.microsoft");
    return result(m, x, pads);
  };
  EXPECT_EQ(spread(axes({1, 0}), false), "(1, 1, 4): 1 3 2 2");  // as ONNX Runtime has it
  EXPECT_EQ(spread(axes({1, 1}), true), "(1, 1, 3): 11 13 12");
  EXPECT_EQ(spread({{"k"}, tensor(kInt64, {2}, {0, 2})}, false), "(1, 1, 3): 1 1 3");
  EXPECT_EQ(spread({{"k"}, tensor(kInt64, {1}, {1})}, false), "traps");
  EXPECT_EQ(spread(axes({-1, 1}), false), "traps");
  EXPECT_EQ(spread(axes({3, 3}), false), "traps");
}

TEST(ComputedNumbers, OfWeightsOfACausalConvolution) {
  const auto convolved = [](const Shape& shape, const Numbers& values) {
    const Given x{{1, 1, "s"}, tensor(kFloat32, {1, 1, 3}, {1, 2, 3})};
    const Given w{{"c", "one", "k"}, tensor(kFloat32, shape, values)};
    TestModel m = of_two(x, "w", w, 27);
    return result(m.node("CausalConvWithState", {"x", "w"}, {"y"}), x, w);
  };
  EXPECT_EQ(convolved({1, 1, 2}, {10, 1}), "(1, 1, 3): 1 12 23");
  EXPECT_EQ(convolved({1, 1, 1}, {10}), "(1, 1, 3): 10 20 30");
  EXPECT_EQ(convolved({2, 1, 1}, {10, 10}), "traps");
  EXPECT_EQ(convolved({1, 2, 1}, {10, 10}), "traps");
}

// The data have no axis 1, so there is one scale.
TEST(ComputedNumbers, OfScalesOfALine) {
  const auto quantised = [](const Numbers& scales) {
    const Given x = floats({2}, {1, 2});
    const Given scale{{"k"}, tensor(kFloat32, {static_cast<int64_t>(scales.size())}, scales)};
    TestModel m = of_two(x, "scale", scale, 21);
    return result(m.node("QuantizeLinear", {"x", "scale"}, {"y"}), x, scale);
  };
  EXPECT_EQ(quantised({0.5}), "(2): 2 4");
  EXPECT_EQ(quantised({0.5, 0.25}), "traps");
}

TEST(ComputedNumbers, OfGroupsOfChannels) {
  const auto normalised = [](const Given& x, int groups, const Numbers& scales, int64_t opset = 21) {
    const Given scale{{"s"}, tensor(kFloat32, {static_cast<int64_t>(scales.size())}, scales)};
    TestModel m = of_two(x, "scale", scale, opset);
    m.node("GroupNormalization", {"x", "scale", "scale"}, {"y"}).attr("num_groups", groups);
    m.attribute("epsilon", ::onnx::AttributeProto::FLOAT).set_f(0);
    return result(m, x, scale);
  };
  const Given x{{1, "c", 1}, tensor(kFloat32, {1, 4, 1}, {1, 3, 5, 1})};
  EXPECT_EQ(normalised(x, 2, {1, 2, 3, 4}), "(1, 4, 1): 0 4 6 0");
  EXPECT_EQ(normalised({{1, "c", 1}, tensor(kFloat32, {1, 3, 1}, {1, 2, 3})}, 2, {1, 1, 1}), "traps");
  // Before version 21 there is one scale a group.
  EXPECT_EQ(normalised(x, 2, {10, 20}, 18), "(1, 4, 1): 0 20 40 0");
  EXPECT_EQ(normalised(x, 2, {1, 2, 3, 4}, 20), "traps");
}

}  // namespace
}  // namespace relay::tests
