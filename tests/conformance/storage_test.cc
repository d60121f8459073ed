// Elements of 2 to 8 bits that no dtype of Relay is, through the importer and the interpreter:
// Cast, CastLike, BitCast, QuantizeLinear, DequantizeLinear, and operators that move them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "frontend/data/storage.h"
#include "tests/conformance/run_model.h"

namespace relay::tests {
namespace {

using frontend::TestModel;
using ::onnx::TensorProto;

constexpr int kE4M3FN = 17, kE4M3FNUZ = 18, kE5M2 = 19, kE5M2FNUZ = 20, kUInt4Code = 21, kInt4Code = 22,
              kE2M1 = 23, kE8M0 = 24, kUInt2 = 25, kInt2 = 26, kE2M3 = 27, kE3M2 = 28;
constexpr int kNewest = 28;  // of the versions of ONNX's operator set

Tensor numbers(DType dtype, const std::vector<double>& values) {
  return tensor(dtype, {static_cast<int64_t>(values.size())}, values);
}

// The result of one node with one input.
Tensor result_of(const TestModel& m, const Tensor& x) {
  const std::vector<Tensor> out = run(m, {Value(x)});
  return out.size() == 1 ? out[0] : Tensor();
}

TestModel cast(const Tensor& x, int from, int to, int saturate = 1, const char* round = "up") {
  TestModel m(kNewest);
  m.input("x", {static_cast<int>(x.size())}, from).node("Cast", {"x"}, {"y"}).attr("to", to);
  m.attr("saturate", saturate).attr("round_mode", round).output("y");
  return m;
}

void expect(const Tensor& got, DType dtype, const std::vector<double>& want) {
  ASSERT_EQ(got.dtype(), dtype);
  ASSERT_EQ(got.size(), static_cast<int64_t>(want.size()));
  for (size_t i = 0; i < want.size(); ++i) {
    const double g = got.get(static_cast<int64_t>(i));
    EXPECT_TRUE(g == want[i] || (std::isnan(g) && std::isnan(want[i]))) << i << ": " << g << " " << want[i];
  }
}

TEST(Storage, EveryPatternBecomesItsNumberAndItselfAgain) {
  for (int code : {kE4M3FNUZ, kE5M2FNUZ, kE2M1, kE8M0, kE2M3, kE3M2}) {
    SCOPED_TRACE(code);
    const frontend::data::SmallFloat format = *frontend::data::storage_of_onnx(code)->real;
    std::vector<double> patterns, values;
    for (int p = 0; p < 1 << format.bits; ++p) {
      patterns.push_back(p);
      values.push_back(format.value(static_cast<uint8_t>(p)));
    }
    const Tensor x = numbers(kUInt8, patterns);
    const Tensor y = result_of(cast(x, code, TensorProto::FLOAT), x);
    expect(y, kFloat32, values);
    expect(result_of(cast(y, TensorProto::FLOAT, code), y), kUInt8, patterns);
    expect(result_of(cast(x, code, TensorProto::DOUBLE), x), kFloat64, values);
  }
}

TEST(Storage, CastsSaturateOrNot) {
  const double inf = INFINITY;
  const Tensor x = numbers(kFloat32, {0.0, -0.0, NAN, inf, -inf, 1e6, -1e6, 1e-7, -1e-7, 0.4789});
  const auto floats = [&](int to, int saturate) {
    return result_of(cast(x, TensorProto::FLOAT, to, saturate), x);
  };
  expect(floats(kE4M3FNUZ, 1), kUInt8, {0, 0, 128, 127, 255, 127, 255, 0, 0, 55});
  expect(floats(kE4M3FNUZ, 0), kUInt8, {0, 0, 128, 128, 128, 128, 128, 0, 0, 55});
  expect(floats(kE5M2FNUZ, 1), kUInt8, {0, 0, 128, 127, 255, 127, 255, 0, 0, 60});
  expect(floats(kE2M1, 1), kUInt8, {0, 8, 8, 7, 15, 7, 15, 0, 8, 1});
  expect(floats(kE2M1, 0), kUInt8, {0, 8, 8, 7, 15, 7, 15, 0, 8, 1});
  expect(floats(kE4M3FN, 1), kFloat8E4M3, {0, 0, NAN, 448, -448, 448, -448, 0, 0, 0.46875});
  expect(floats(kE4M3FN, 0), kFloat8E4M3, {0, 0, NAN, NAN, NAN, NAN, NAN, 0, 0, 0.46875});
  expect(floats(kE5M2, 1), kFloat8E5M2, {0, 0, NAN, 57344, -57344, 57344, -57344, 0, 0, 0.5});
  expect(floats(kE5M2, 0), kFloat8E5M2, {0, 0, NAN, inf, -inf, inf, -inf, 0, 0, 0.5});
}

// 17/16 lies halfway between two numbers of float8, and the even one is below. The next double
// above would be 17/16, if it were rounded to float32 on the way.
TEST(Storage, DoublesAreRoundedOnce) {
  const Tensor x = numbers(kFloat64, {0x1.1p0, 0x1.1000000000001p0, 0x1.3p0, 0x1.2ffffffffffffp0});
  expect(result_of(cast(x, TensorProto::DOUBLE, kE4M3FNUZ), x), kUInt8, {64, 65, 66, 65});
}

TEST(Storage, ScalesRoundAsAsked) {
  const Tensor x = numbers(kFloat32, {0.124, 0.25, 1.1, 1.5, 1.9, 0, INFINITY, -1});
  const auto scales = [&](int saturate, const char* round) {
    return result_of(cast(x, TensorProto::FLOAT, kE8M0, saturate, round), x);
  };
  expect(scales(1, "up"), kUInt8, {124, 125, 128, 128, 128, 0, 254, 255});
  expect(scales(1, "down"), kUInt8, {123, 125, 127, 127, 127, 0, 254, 255});
  expect(scales(0, "nearest"), kUInt8, {124, 125, 127, 128, 128, 255, 255, 255});
}

TEST(Storage, SmallIntegersKeepTheirLowBits) {
  const Tensor x = numbers(kFloat32, {-3, -2, -1.9, 0, 1, 2, 3, NAN}), wide = numbers(kInt32, {-5, 200, 7});
  expect(result_of(cast(x, TensorProto::FLOAT, kInt2), x), kInt8, {1, -2, -1, 0, 1, -2, -1, 0});
  expect(result_of(cast(x, TensorProto::FLOAT, kUInt2), x), kUInt8, {1, 2, 3, 0, 1, 2, 3, 0});
  expect(result_of(cast(x, TensorProto::FLOAT, kUInt4Code), x), kUInt4, {13, 14, 15, 0, 1, 2, 3, 0});
  expect(result_of(cast(wide, TensorProto::INT32, kInt2), wide), kInt8, {-1, 0, -1});
  expect(result_of(cast(wide, TensorProto::INT32, kInt4Code), wide), kInt4, {-5, -8, 7});
  const Tensor carrier = numbers(kInt8, {-2, -1, 0, 1});
  expect(result_of(cast(carrier, kInt2, TensorProto::FLOAT), carrier), kFloat32, {-2, -1, 0, 1});
  expect(result_of(cast(carrier, kInt2, kUInt2), carrier), kUInt8, {2, 3, 0, 1});
}

TEST(Storage, OperatorsThatMoveElementsKeepTheirBits) {
  TestModel m(kNewest);
  m.input("x", {2, 2}, kE4M3FNUZ).input("i", {1}, TensorProto::INT64).node("Transpose", {"x"}, {"t"});
  m.node("Concat", {"t", "x"}, {"c"})
      .attr("axis", 0)
      .node("Gather", {"c", "i"}, {"g"})
      .node("Cast", {"g"}, {"y"});
  m.attr("to", TensorProto::FLOAT).output("y").output("c");
  const std::vector<Tensor> out =
      run(m, {Value(tensor(kUInt8, {2, 2}, {64, 72, 128, 193})), Value(tensor(kInt64, {1}, {1}))});
  ASSERT_EQ(out.size(), 2u);
  expect(out[0], kFloat32, {2, -1.125});
  expect(out[1], kUInt8, {64, 128, 72, 193, 64, 72, 128, 193});
}

TEST(Storage, PackedConstants) {
  TestModel m(kNewest);
  m.input("x", {5}).node("CastLike", {"x", "w"}, {"c"}).node("Cast", {"w"}, {"y"});
  m.attr("to", TensorProto::FLOAT).output("y").output("c");
  TensorProto& w = *m.graph->add_initializer();
  w.set_name("w");
  w.set_data_type(kInt2);
  w.add_dims(5);
  w.set_raw_data(std::string("\x1b\x02", 2));  // 3, 2, 1, 0, 2
  const std::vector<Tensor> out = run(m, {Value(numbers(kFloat32, {0, 1, 2, 3, -1}))});
  ASSERT_EQ(out.size(), 2u);
  expect(out[0], kFloat32, {-1, -2, 1, 0, -2});
  expect(out[1], kInt8, {0, 1, -2, -1, -1});
}

TEST(Storage, IsNaNOfSmallFloats) {
  TestModel m(kNewest);
  m.input("x", {3}, kE5M2FNUZ).node("IsNaN", {"x"}, {"y"}).output("y");
  expect(result_of(m, numbers(kUInt8, {0, 128, 255})), kBool, {0, 1, 0});
}

// --- Quantisation --------------------------------------------------------------------------------

TEST(Storage, QuantisesToSmallElements) {
  const auto quantise = [](int type, DType carrier) {
    TestModel m(kNewest);
    m.input("x", {3, 4}).input("s", {3}).input("z", {3}, type).node("QuantizeLinear", {"x", "s", "z"}, {"y"});
    m.attr("axis", 0).output("y");
    return run(m,
               {Value(tensor(kFloat32, {3, 4}, {0, 2.5, 4.8, 8.6, -30, -20, 6, 9, -0.0, -2.5, -4.8, -8.6})),
                Value(numbers(kFloat32, {2, 3, 4})), Value(numbers(carrier, {0, 0, 0}))});
  };
  const auto only = [](const std::vector<Tensor>& out) { return out.size() == 1 ? out[0] : Tensor(); };
  expect(only(quantise(kE2M1, kUInt8)), kUInt8, {0, 2, 4, 6, 15, 15, 4, 5, 0, 9, 10, 12});
  expect(only(quantise(kInt2, kInt8)), kInt8, {0, 1, 1, 1, -2, -2, 1, 1, 0, -1, -1, -2});
  expect(only(quantise(kInt4Code, kInt4)), kInt4, {0, 1, 2, 4, -8, -7, 2, 3, 0, -1, -1, -2});
  expect(only(quantise(kE4M3FN, kFloat8E4M3)), kFloat8E4M3,
         {0, 1.25, 2.5, 4.5, -10, -6.5, 2, 3, 0, -0.625, -1.25, -2.25});
}

TEST(Storage, BlocksHaveScalesOfTheirOwn) {
  TestModel m(kNewest);
  m.input("x", {1, 5}, TensorProto::UINT8).input("s", {1, 2}).input("z", {1, 2}, TensorProto::UINT8);
  m.node("DequantizeLinear", {"x", "s", "z"}, {"y"}).attr("block_size", 3);
  m.node("QuantizeLinear", {"y", "s", "z"}, {"q"}).attr("block_size", 3).output("y").output("q");
  const std::vector<Tensor> out =
      run(m, {Value(tensor(kUInt8, {1, 5}, {0, 7, 10, 11, 255})), Value(tensor(kFloat32, {1, 2}, {2, 0.5})),
              Value(tensor(kUInt8, {1, 2}, {1, 10}))});
  ASSERT_EQ(out.size(), 2u);
  expect(out[0], kFloat32, {-2, 12, 18, 0.5, 122.5});
  expect(out[1], kUInt8, {0, 7, 10, 11, 255});
}

// Scales that are powers of two, as in microscaling formats.
TEST(Storage, DequantisesWithScalesOfEightBits) {
  TestModel m(kNewest);
  m.input("x", {4}, kE2M1).input("s", {2}, kE8M0).node("DequantizeLinear", {"x", "s"}, {"y"});
  m.attr("axis", 0).attr("block_size", 2).attr("output_dtype", TensorProto::FLOAT16).output("y");
  const std::vector<Tensor> out =
      run(m, {Value(numbers(kUInt8, {1, 7, 9, 15})), Value(numbers(kUInt8, {128, 126}))});
  ASSERT_EQ(out.size(), 1u);
  expect(out[0], kFloat16, {1, 12, -0.25, -3});
}

TEST(Storage, DividesInThePrecisionThatIsAsked) {
  const auto quantise = [](int precision) {
    TestModel m(kNewest);
    m.input("x", {1}).input("s", {}).node("QuantizeLinear", {"x", "s"}, {"y"});
    m.attr("precision", precision).attr("output_dtype", TensorProto::INT16).output("y");
    const std::vector<Tensor> out =
        run(m, {Value(numbers(kFloat32, {2049})), Value(tensor(kFloat32, {}, {1}))});
    return out.size() == 1 ? out[0] : Tensor();
  };
  expect(quantise(TensorProto::FLOAT), kInt16, {2049});
  expect(quantise(TensorProto::FLOAT16), kInt16, {2048});  // float16 has no 2049
}

// --- BitCast -------------------------------------------------------------------------------------

TestModel bit_cast(int64_t size, int from, int to) {
  TestModel m(26);
  m.input("x", {static_cast<int>(size)}, from).node("BitCast", {"x"}, {"y"}).attr("to", to).output("y");
  return m;
}

TEST(Storage, BitsOfFloatsAreExact) {
  const std::vector<double> ordinary = {0.0, -0.0, 1, -2.5, 3.75, 0x1p-126, 0x1.fffffep127, 1e-30, -7e22};
  Tensor x = numbers(kFloat32, ordinary);
  Tensor bits(kInt32, {x.size()});
  for (int64_t i = 0; i < x.size(); ++i)
    bits.set_int(i, std::bit_cast<int32_t>(static_cast<float>(ordinary[static_cast<size_t>(i)])));
  EXPECT_TRUE(identical(result_of(bit_cast(x.size(), TensorProto::FLOAT, TensorProto::INT32), x), bits));
  EXPECT_TRUE(identical(result_of(bit_cast(x.size(), TensorProto::INT32, TensorProto::FLOAT), bits), x));

  const double limits[] = {5e-324, 0x1p-1022, -0x1.fffffffffffffp1023, INFINITY, -INFINITY, 0.1, -0.0};
  Tensor doubles(kFloat64, {7}), longs(kInt64, {7});
  for (int64_t i = 0; i < 7; ++i) {
    doubles.set(i, limits[i]);
    longs.set_int(i, std::bit_cast<int64_t>(limits[i]));
  }
  EXPECT_TRUE(identical(result_of(bit_cast(7, TensorProto::DOUBLE, TensorProto::INT64), doubles), longs));
  EXPECT_TRUE(identical(result_of(bit_cast(7, TensorProto::INT64, TensorProto::DOUBLE), longs), doubles));
}

// Every float16: as a bfloat16's bits and as an integer's. NaN is the quiet one.
TEST(Storage, BitsOfEveryHalf) {
  constexpr int64_t kAll = 1 << 16;
  Tensor bits(kUInt16, {kAll}), halves(kFloat16, {kAll});
  for (int64_t i = 0; i < kAll; ++i) {
    bits.set_int(i, i);
    halves.as<uint16_t>()[static_cast<size_t>(i)] = static_cast<uint16_t>(i);
  }
  const Tensor made = result_of(bit_cast(kAll, TensorProto::UINT16, TensorProto::FLOAT16), bits);
  const Tensor back = result_of(bit_cast(kAll, TensorProto::FLOAT16, TensorProto::UINT16), halves);
  ASSERT_EQ(made.dtype(), kFloat16);
  ASSERT_EQ(back.dtype(), kUInt16);
  for (int64_t i = 0; i < kAll; ++i) {
    if (std::isnan(halves.get(i))) {
      EXPECT_TRUE(std::isnan(made.get(i))) << i;
      EXPECT_EQ(back.get_int(i), 0x7e00) << i;
      continue;
    }
    EXPECT_EQ(made.as<uint16_t>()[static_cast<size_t>(i)], i);
    EXPECT_EQ(back.get_int(i), i);
  }
}

TEST(Storage, BitsOfSmallElements) {
  const Tensor bytes = numbers(kUInt8, {0, 64, 128, 255});
  expect(result_of(bit_cast(4, kE4M3FNUZ, TensorProto::INT8), bytes), kInt8, {0, 64, -128, -1});
  expect(result_of(bit_cast(4, TensorProto::UINT8, kE8M0), bytes), kUInt8, {0, 64, 128, 255});
  expect(result_of(bit_cast(4, TensorProto::UINT8, kE4M3FN), bytes), kFloat8E4M3, {0, 2, -0.0, NAN});
  expect(result_of(bit_cast(3, kInt4Code, kE2M1), numbers(kInt4, {0, -8, 7})), kUInt8, {0, 8, 7});
  expect(result_of(bit_cast(3, kE2M1, kInt4Code), numbers(kUInt8, {0, 8, 7})), kInt4, {0, -8, 7});
  expect(result_of(bit_cast(2, kUInt2, kInt2), numbers(kUInt8, {1, 3})), kInt8, {1, -1});
  expect(result_of(bit_cast(2, TensorProto::BOOL, TensorProto::UINT8), numbers(kBool, {0, 1})), kUInt8,
         {0, 1});
}

TEST(Storage, ProductsOfMatrices) {
  const auto product = [](int from, int to, const Tensor& a, const Tensor& b) {
    TestModel m(kNewest);
    auto* set = m.proto.add_opset_import();
    set->set_domain("com.microsoft");
    set->set_version(1);
    m.input("a", {1, 2}, from).input("b", {2, 2}, from).floats("c", {2}, 8).floats("two", {1}, 2);
    m.node("GemmFloat8", {"a", "b", "c", "two", "", "two"}, {"y"}).attr("dtype", to).attr("transB", 1);
    m.attribute("alpha", ::onnx::AttributeProto::FLOAT).set_f(0.5f);
    m.attribute("beta", ::onnx::AttributeProto::FLOAT).set_f(-1);
    m.attr("activation", "Relu").last->set_domain("com.microsoft");
    const std::vector<Tensor> out = run(m.output("y"), {Value(a), Value(b)});
    return out.size() == 1 ? out[0] : Tensor();
  };
  // a b' = (11, 7), and 2 relu(a b' - 8) = (6, 0)
  const auto of = [](DType dtype, const Shape& shape, const std::vector<double>& v) {
    return tensor(dtype, shape, v);
  };
  const Tensor a = of(kFloat8E4M3, {1, 2}, {1, 2}), b = of(kFloat8E4M3, {2, 2}, {3, 4, 1, 3});
  expect(product(kE4M3FN, TensorProto::FLOAT, a, b), kFloat32, {6, 0});
  expect(product(kE4M3FN, kE5M2, a, b), kFloat8E5M2, {6, 0});
  expect(product(TensorProto::FLOAT, TensorProto::FLOAT16, of(kFloat32, {1, 2}, {1, 2}),
                 of(kFloat32, {2, 2}, {3, 4, 1, 3})),
         kFloat16, {6, 0});
  // 1 and 2 are 64 and 72 of FLOAT8E4M3FNUZ, 3 and 4 are 76 and 80.
  expect(product(kE4M3FNUZ, TensorProto::FLOAT, of(kUInt8, {1, 2}, {64, 72}),
                 of(kUInt8, {2, 2}, {76, 80, 64, 76})),
         kFloat32, {6, 0});
}

}  // namespace
}  // namespace relay::tests
