#include "aot/alternation.h"

#include <gtest/gtest.h>

#include "aot/testing.h"

namespace relay::aot {
namespace {

// w[i][j] = (i + 2 * j) % 7 - 3 in 512 KiB, so that no two rows or columns can be confused.
constexpr std::string_view kWeights = R"(
  %0 = cumsum(ones(shape=[256, 1], dtype="int32"), axis=0) - 1;
  %1 = cumsum(ones(shape=[1, 512], dtype="int32"), axis=1) - 1;
  %2 = cast(floor_mod(%0 + %1 * 2, 7) - 3, dtype="float32");
)";

// The vector after a product with them, which is normalised.
std::string step(int from) {
  return cat("let %y", from, " = nn.dense(%x", from, ", %2);\n", "let %z", from, " = nn.relu(concatenate((%y",
             from, ", %y", from, "), axis=1));\n", "let %x", from + 1, " = %z", from, " / max(%z", from,
             ");\n");
}
std::string planned(int steps) {
  std::string out = cat("def @main(%x0: Tensor[(1, 512), float32]) {", kWeights);
  for (int i = 0; i < steps; ++i) out += step(i);
  return cat(out, "%x", steps, " }");
}
const std::string kLoop =
    cat("def @go(%n: int32, %x0: Tensor[(1, 512), float32]) -> Tensor[(1, 512), float32] {\n",
        "if (%n == 0) { %x0 } else {", kWeights, step(0), "@go(%n - 1, %x1) } }\n",
        "def @main(%x: Tensor[(1, 512), float32]) { @go(4, %x) }");

std::vector<float> expected(std::vector<float> x) {
  for (int step = 0; step < 4; ++step) {
    std::vector<float> z(512);
    float most = 0;
    for (int i = 0; i < 256; ++i) {
      double sum = 0;
      for (int j = 0; j < 512; ++j)
        sum += static_cast<double>(x[static_cast<size_t>(j)]) * ((i + 2 * j) % 7 - 3);
      z[static_cast<size_t>(i)] = z[static_cast<size_t>(i) + 256] = std::max(0.0f, static_cast<float>(sum));
      most = std::max(most, z[static_cast<size_t>(i)]);
    }
    for (float& v : z) v /= most;
    x = z;
  }
  return x;
}

std::vector<float> input() {
  std::vector<float> x(512);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) / 8;
  return x;
}

std::vector<float> run(const Compiled& compiled, unsigned threads) {
  const Session s(compiled, nullptr, threads);
  EXPECT_EQ(s.status, RELAY_OK);
  std::vector<float> x = input(), y(512);
  int64_t shape[] = {1, 512};
  DLTensor in = {x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0}, out = in;
  out.data = y.data();
  const DLTensor* inputs[] = {&in};
  DLTensor* outputs[] = {&out};
  EXPECT_EQ(s.api->run(s.context, inputs, 1, outputs, 1), RELAY_OK) << s.said();
  return y;
}

std::string source_of(const std::string& program) {
  std::string out;
  for (const SourceFile& f : sources_of(program, {kAnyProcessor}, {}).files) out += f.text;
  return out;
}

size_t count(const std::string& text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Alternation, EverySecondReaderOfLargeWeightsGoesBackwards) {
  const std::string source = source_of(planned(4));
  EXPECT_EQ(count(source, "const relay_parallel backwards = backwards_of(parallel);"), 1u);
  EXPECT_EQ(count(source, "(&backwards"), 2u);
  EXPECT_EQ(count(source_of(kLoop), "(run.device->alternate(0)"), 1u);
}

TEST(Alternation, WeightsThatAreReadOnceOrAreSmallAreReadForwards) {
  EXPECT_EQ(count(source_of(planned(1)), "(&backwards"), 0u);
  const std::string small = R"(
def @main(%x: Tensor[(1, 8), float32]) {
  %2 = full(2f, shape=[8, 8], dtype="float32");
  nn.dense(nn.relu(nn.dense(%x, %2)), %2)
}
)";
  EXPECT_EQ(count(source_of(small), "(&backwards"), 0u);
}

TEST(Alternation, TheResultsAreThoseOfLoopsForwards) {
  const std::vector<float> wanted = expected(input());
  for (const std::string& program : {planned(4), kLoop}) {
    const Compiled compiled(program);
    const std::vector<float> one = run(compiled, 1);
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(one[i], wanted[i], 1e-4) << i;
    for (unsigned threads : {2u, 3u}) EXPECT_EQ(run(compiled, threads), one) << threads;
  }
}

}  // namespace
}  // namespace relay::aot
