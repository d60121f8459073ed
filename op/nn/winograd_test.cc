// The errors that Winograd's filtering really makes, against the estimate by which
// tiles are chosen.
#include "op/nn/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace relay::op {
namespace {

constexpr size_t kTaps = 3;

template <class T>
std::vector<T> both_ways(const Matrix& matrix, const std::vector<T>& in) {
  const std::function<T(double, const T&)> times = [](double a, const T& x) { return static_cast<T>(a) * x; };
  const size_t rows = matrix.size(), n = matrix[0].size();
  std::vector<T> half(rows * n), out(rows * rows);
  for (size_t c = 0; c < n; ++c) {
    std::vector<T> column(n);
    for (size_t r = 0; r < n; ++r) column[r] = in[r * n + c];
    const std::vector<T> made = transformed(matrix, column, times);
    for (size_t r = 0; r < rows; ++r) half[r * n + c] = made[r];
  }
  for (size_t r = 0; r < rows; ++r) {
    const std::vector<T> row(half.begin() + static_cast<std::ptrdiff_t>(r * n),
                             half.begin() + static_cast<std::ptrdiff_t>((r + 1) * n));
    const std::vector<T> made = transformed(matrix, row, times);
    for (size_t c = 0; c < rows; ++c) out[r * rows + c] = made[c];
  }
  return out;
}

// The root of the mean of the squared errors, over that of the products added up in order, for the
// place where it is largest.
double measured_growth(const Winograd& w, size_t channels, std::mt19937& random) {
  std::normal_distribution<float> normal;
  const auto m = static_cast<size_t>(w.results), n = static_cast<size_t>(w.products);
  std::vector<double> ours(m * m), direct(m * m);
  for (int tile = 0; tile < 300; ++tile) {
    std::vector<float> sums(n * n), in_order(m * m);
    std::vector<double> exact(m * m);
    for (size_t c = 0; c < channels; ++c) {
      std::vector<float> data(n * n), filter(kTaps * kTaps);
      for (float& e : data) e = normal(random);
      for (float& e : filter) e = normal(random);
      const std::vector<float> v = both_ways(w.bt, data);
      const std::vector<double> u = both_ways(w.g, std::vector<double>(filter.begin(), filter.end()));
      for (size_t p = 0; p < n * n; ++p) sums[p] = std::fma(static_cast<float>(u[p]), v[p], sums[p]);
      for (size_t i = 0; i < m * m; ++i) {
        for (size_t t = 0; t < kTaps * kTaps; ++t) {
          const float x = data[(i / m + t / kTaps) * n + i % m + t % kTaps];
          in_order[i] = std::fma(x, filter[t], in_order[i]);
          exact[i] += static_cast<double>(x) * static_cast<double>(filter[t]);
        }
      }
    }
    const std::vector<float> y = both_ways(w.at, sums);
    for (size_t i = 0; i < m * m; ++i) {
      ours[i] += std::pow(static_cast<double>(y[i]) - exact[i], 2);
      direct[i] += std::pow(static_cast<double>(in_order[i]) - exact[i], 2);
    }
  }
  double largest = 0, mean = 0;
  for (size_t i = 0; i < m * m; ++i) {
    largest = std::max(largest, ours[i]);
    mean += direct[i] / static_cast<double>(m * m);
  }
  return std::sqrt(largest / mean);
}

TEST(Winograd, ErrorsGrowAsEstimated) {
  std::mt19937 random(1);
  for (const int64_t results : {2, 4, 6}) {
    for (const int64_t channels : {4, 16, 64}) {
      const Winograd w = winograd(results, kTaps);
      const double estimate = error_growth(w, channels);
      const double measured = measured_growth(w, static_cast<size_t>(channels), random);
      EXPECT_LT(measured, 1.35 * estimate) << results << " of " << channels;
      EXPECT_GT(measured, estimate / 1.35) << results << " of " << channels;
    }
  }
}

}  // namespace
}  // namespace relay::op
