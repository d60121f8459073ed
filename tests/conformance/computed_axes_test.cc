// Axes, scales and regions that only a run tells, on the interpreter and on a compiled engine. The
// results are computed by hand.
#include <gtest/gtest.h>

#include <limits>

#include "tests/conformance/two_inputs.h"

namespace relay::tests {
namespace {

const Given kCube = floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});

TEST(ComputedAxes, OfReductions) {
  EXPECT_EQ(result("ReduceSum", kCube, axes({1})), "(2, 1, 2): 4 6 12 14");
  EXPECT_EQ(result("ReduceSum", kCube, axes({-1, 0})), "(1, 2, 1): 14 22");
  EXPECT_EQ(result("ReduceMax", kCube, axes({0, 2})), "(1, 2, 1): 6 8");
  EXPECT_EQ(result("ReduceMean", kCube, axes({0, 1})), "(1, 1, 2): 4 5");
  EXPECT_EQ(result("ReduceSumSquare", kCube, axes({2, 1})), "(2, 1, 1): 30 174");
  TestModel gone = along("ReduceProd", kCube, axes({2}));
  EXPECT_EQ(result(gone.attr("keepdims", 0), kCube, axes({2})), "(2, 2): 2 12 30 56");
  EXPECT_EQ(result(gone, kCube, axes({0})), "(2, 2): 5 12 21 32");
}

// (0 + 1) / 2 + (1 + 2) / 2 is 0 + 1, of which the half is 0.
TEST(ComputedAxes, OfAMeanOfIntegersIsRoundedOnce) {
  const Given x = floats({2, 2}, {0, 1, 1, 2}, kInt64);
  EXPECT_EQ(result("ReduceMean", x, axes({0, 1})), "(1, 1): 1");
  EXPECT_EQ(result("ReduceMean", x, axes({0, -1})), "(1, 1): 1");
}

// The length of the axes is open: none are all, or nothing.
TEST(ComputedAxes, OfWhichARunTellsHowMany) {
  Given some = axes({1}), none = axes({});
  some.type = none.type = {"k"};
  EXPECT_EQ(result("ReduceSum", kCube, some), "(2, 1, 2): 4 6 12 14");
  EXPECT_EQ(result("ReduceSum", kCube, none), "(1, 1, 1): 36");
  TestModel nothing = along("ReduceSum", kCube, none);
  nothing.attr("noop_with_empty_axes", 1);
  EXPECT_EQ(result(nothing, kCube, none), "(2, 2, 2): 1 2 3 4 5 6 7 8");
  EXPECT_EQ(result(nothing, kCube, some), "(2, 1, 2): 4 6 12 14");
}

TEST(ComputedAxes, OfCumulativeOperators) {
  const Given x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(result("CumSum", x, axes({0})), "(2, 3): 1 2 3 5 7 9");
  EXPECT_EQ(result("CumSum", x, floats({}, {-1}, kInt64)), "(2, 3): 1 3 6 4 9 15");
  TestModel back = along("CumProd", x, axes({1}), 26);
  EXPECT_EQ(result(back.attr("reverse", 1).attr("exclusive", 1), x, axes({1})), "(2, 3): 6 3 1 30 6 1");
}

TEST(ComputedAxes, OfSqueezeAndUnsqueeze) {
  const Given x = floats({1, 2, 1}, {1, 2});
  EXPECT_EQ(result("Squeeze", x, axes({-1})), "(1, 2): 1 2");
  EXPECT_EQ(result("Squeeze", x, axes({2, 0})), "(2): 1 2");
  EXPECT_EQ(result("Unsqueeze", x, axes({-1})), "(1, 2, 1, 1): 1 2");
  EXPECT_EQ(result("Unsqueeze", x, axes({4, 1})), "(1, 1, 2, 1, 1): 1 2");
  EXPECT_EQ(result("Unsqueeze", floats({0, 2}, {}), axes({1})), "(0, 1, 2):");
}

// `other` is an input that nothing reads.
TEST(ComputedAxes, OfSqueezeWithoutAxesAreThoseThatAreKnown) {
  const auto squeezed = [](const Shape& shape, const Numbers& values) {
    const Given x{{"n", 1, "k"}, tensor(kFloat32, shape, values)}, other = axes({0});
    TestModel m = of_two(x, "other", other);
    return result(m.node("Squeeze", {"x"}, {"y"}), x, other);
  };
  EXPECT_EQ(squeezed({2, 1, 3}, {1, 2, 3, 4, 5, 6}), "(2, 3): 1 2 3 4 5 6");
  EXPECT_EQ(squeezed({0, 1, 3}, {}), "(0, 3):");
  EXPECT_EQ(squeezed({1, 1, 2}, {1, 2}), "traps");
  EXPECT_EQ(squeezed({2, 1, 1}, {1, 2}), "traps");
}

TEST(ComputedAxes, TheTrapOfSqueezeNamesTheNodeAndTheDimension) {
  TestModel m(18);
  m.input("x", {"n", 1, "k"}).node("Squeeze", {"x"}, {"y"}).output("y");
  const frontend::Imported imported = frontend::import_model(m);
  ASSERT_TRUE(imported.ok) << imported.messages;
  Diagnostics diagnostics;
  const Result<Module> checked = typecheck::check(imported.module, diagnostics);
  ASSERT_TRUE(checked.ok());
  for (const char* name : {"interp", "jit"}) {
    const driver::Prepared prepared = driver::find_engine(name)->prepare(*checked, "main", {});
    ASSERT_TRUE(prepared.run) << name << ": " << prepared.skipped;
    const auto said = [&](const Shape& shape) {
      return prepared.run(std::vector<Value>{Value(tensor(kFloat32, shape, {1, 2}))}).message;
    };
    EXPECT_NE(
        said({2, 1, 1}).find("`Squeeze` (node `the_Squeeze`): without axes, dimension 2 of Tensor[(n, 1, k), "
                             "float32] must not be 1"),
        std::string::npos)
        << name << ": " << said({2, 1, 1});
    EXPECT_NE(said({1, 1, 2}).find("dimension 0 of"), std::string::npos) << name << ": " << said({1, 1, 2});
    EXPECT_EQ(said({2, 1, 1}).find("take"), std::string::npos) << name;
  }
}

TEST(ComputedAxes, ThatAreWrongTrap) {
  const Given pair = floats({1, 1}, {1});
  for (const char* op : {"ReduceSum", "ReduceMean", "Squeeze", "Unsqueeze"}) {
    SCOPED_TRACE(op);
    EXPECT_EQ(result(op, pair, axes({4, 0})), "traps");
    EXPECT_EQ(result(op, pair, axes({0, -5})), "traps");
    EXPECT_EQ(result(op, pair, axes({1, 1})), "traps");
  }
  EXPECT_EQ(result("ReduceSum", pair, axes({1, -1})), "traps");
  EXPECT_EQ(result("Unsqueeze", pair, axes({3, -1})), "traps");
  EXPECT_EQ(result("CumSum", kCube, axes({3})), "traps");
  EXPECT_EQ(result("CumSum", kCube, axes({-4})), "traps");
  EXPECT_EQ(result("CumSum", floats({3}, {1, 2, 3}), axes({1})), "traps");
  // An axis of another extent than 1 does not go, be there elements or not.
  EXPECT_EQ(result("Squeeze", kCube, axes({1})), "traps");
  EXPECT_EQ(result("Squeeze", floats({0, 3}, {}), axes({1})), "traps");
}

TEST(ComputedAxes, OfPadSliceAndDft) {
  const Given x = floats({2, 2}, {1, 2, 3, 4});
  const auto pad = [&](const std::vector<int64_t>& pads, const Given& along) {
    TestModel m = of_two(x, "axes", along);
    m.ints("pads", pads).node("Pad", {"x", "pads", "", "axes"}, {"y"});
    return result(m, x, along);
  };
  EXPECT_EQ(pad({1, 0}, axes({-1})), "(2, 3): 0 1 2 0 3 4");
  EXPECT_EQ(pad({1, 0, 0, -1}, axes({1, 0})), "(1, 3): 0 1 2");
  EXPECT_EQ(pad({1, 1, 0, 0}, axes({1, -1})), "traps");
  EXPECT_EQ(pad({1, 0}, axes({2})), "traps");
  const auto slice = [&](const Given& along) {
    TestModel m = of_two(x, "axes", along);
    m.ints("begin", {1, 0}).ints("end", {2, 1}).node("Slice", {"x", "begin", "end", "axes"}, {"y"});
    return result(m, x, along);
  };
  EXPECT_EQ(slice(axes({1, 0})), "(1, 1): 2");
  EXPECT_EQ(slice(axes({1, -1})), "traps");
  EXPECT_EQ(slice(axes({0, -3})), "traps");
  const Given signal = floats({1, 2, 1}, {1, 2});
  const auto transformed = [&](double axis) {
    const Given at = floats({}, {axis}, kInt64);
    TestModel m = of_two(signal, "axis", at, 20);
    return result(m.node("DFT", {"x", "", "axis"}, {"y"}), signal, at);
  };
  EXPECT_EQ(transformed(-2).substr(0, 15), "(1, 2, 2): 3 0 ");
  EXPECT_EQ(transformed(0).substr(0, 13), "(1, 2, 2): 1 ");
  for (const double axis : {-1, 2, 3, -4}) EXPECT_EQ(transformed(axis), "traps") << axis;
}

TEST(ComputedScales, OfResize) {
  const Given x = floats({4}, {1, 2, 3, 4});
  const auto scaled = [&](double scale, const char* mode, const char* coordinates, int antialias = 0) {
    const Given scales = floats({1}, {scale});
    TestModel m = of_two(x, "scales", scales);
    m.node("Resize", {"x", "", "scales"}, {"y"}).attr("mode", mode).attr("nearest_mode", "floor");
    m.attr("coordinate_transformation_mode", coordinates).attr("antialias", antialias);
    return result(m, x, scales);
  };
  EXPECT_EQ(scaled(1, "nearest", "asymmetric"), "(4): 1 2 3 4");
  EXPECT_EQ(scaled(2, "nearest", "asymmetric"), "(8): 1 1 2 2 3 3 4 4");
  EXPECT_EQ(scaled(0.5, "nearest", "asymmetric"), "(2): 1 3");
  EXPECT_EQ(scaled(0.6, "nearest", "asymmetric"), "(2): 1 2");  // 2.4 elements, 1 / 0.6 apart
  EXPECT_EQ(scaled(2, "linear", "asymmetric"), "(8): 1 1.5 2 2.5 3 3.5 4 4");
  EXPECT_EQ(scaled(0.5, "linear", "align_corners"), "(2): 1 4");
  EXPECT_EQ(scaled(0.5, "linear", "half_pixel", 1), "(2): 1.625 3.375");
  for (const double scale : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(scaled(scale, "linear", "half_pixel"), "traps") << scale;
}

TEST(ComputedScales, OfRegionsAndAspectRatios) {
  const Given x = floats({4}, {1, 2, 3, 4});
  const auto region = [&](double start, double end) {
    const Given roi = floats({2}, {start, end});
    TestModel m = of_two(x, "roi", roi);
    m.floats("scales", {1}, 1).node("Resize", {"x", "roi", "scales"}, {"y"}).attr("mode", "linear");
    m.attr("coordinate_transformation_mode", "tf_crop_and_resize");
    return result(m, x, roi);
  };
  EXPECT_EQ(region(0, 1), "(4): 1 2 3 4");
  EXPECT_EQ(region(0, 0.5), "(2): 1 2.5");
  EXPECT_EQ(region(1, 0), "traps");
  const Given image = floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), sizes = floats({2}, {1, 3}, kInt64);
  TestModel m = of_two(image, "sizes", sizes);
  m.node("Resize", {"x", "", "", "sizes"}, {"y"}).attr("keep_aspect_ratio_policy", "not_larger");
  m.attr("axes", std::vector<int64_t>{1, 0}).attr("coordinate_transformation_mode", "asymmetric");
  EXPECT_EQ(result(m, image, sizes), "(1, 1): 1");  // a quarter of 4, and 1 of 2
}

TEST(ComputedTraining, OfDropout) {
  const Given x = floats({3}, {1, 2, 3}), on = floats({}, {1}, kBool), off = floats({}, {0}, kBool);
  const auto model = [&](float ratio) {
    TestModel m = of_two(x, "training", on);
    m.floats("ratio", {}, ratio).node("Dropout", {"x", "ratio", "training"}, {"y"}).attr("seed", 1);
    return m;
  };
  EXPECT_EQ(result(model(0.75f), x, off), "(3): 1 2 3");
  EXPECT_EQ(result(model(0), x, on), "(3): 1 2 3");
  EXPECT_EQ(result(model(1), x, on), "(3): 0 0 0");
  TestModel seedless = of_two(x, "training", on);
  seedless.node("Dropout", {"x", "", "training"}, {"y"});
  EXPECT_EQ(result(seedless, x, off), "(3): 1 2 3");
  EXPECT_NE(result(seedless, x, on), "(3): 1 2 3");  // of these numbers, at least one is dropped or grows
}

}  // namespace
}  // namespace relay::tests
