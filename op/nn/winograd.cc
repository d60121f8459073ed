#include "op/nn/winograd.h"

#include <algorithm>
#include <cmath>

namespace relay::op {
namespace {

// The coefficients of the product of (x - a) over some points, from the constant one upwards.
std::vector<double> product_of_roots(const std::vector<double>& points, size_t but) {
  std::vector<double> out{1};
  for (size_t i = 0; i < points.size(); ++i) {
    if (i == but) continue;
    std::vector<double> next(out.size() + 1, 0);
    for (size_t k = 0; k < out.size(); ++k) {
      next[k + 1] += out[k];
      next[k] -= points[i] * out[k];
    }
    out = next;
  }
  return out;
}

double power(double a, size_t n) {
  double out = 1;
  for (size_t i = 0; i < n; ++i) out *= a;
  return out;
}

}  // namespace

Winograd winograd(int64_t results, int64_t taps) {
  // Small numbers keep errors small, and each with its negative reciprocal more so than each with
  // its opposite (Barabasz et al., "Error Analysis and Improving the Accuracy of Winograd
  // Convolution", 2020). The last point is infinity.
  static const std::vector<double> kPoints{0, 1, -1, 0.5, -2, 2, -0.5};
  Winograd w{results, taps, results + taps - 1, {}, {}, {}};
  if (results < 1 || taps < 1 || w.products < 2 || w.products > static_cast<int64_t>(kPoints.size()) + 1)
    return w;
  const auto m = static_cast<size_t>(results), r = static_cast<size_t>(taps),
             n = static_cast<size_t>(w.products);
  const std::vector<double> points(kPoints.begin(), kPoints.begin() + static_cast<std::ptrdiff_t>(n - 1));
  w.at.assign(m, std::vector<double>(n, 0));
  w.g.assign(n, std::vector<double>(r, 0));
  w.bt.assign(n, std::vector<double>(n, 0));
  for (size_t j = 0; j + 1 < n; ++j) {
    double scale = 1;
    for (size_t l = 0; l + 1 < n; ++l) scale *= l == j ? 1 : points[j] - points[l];
    for (size_t i = 0; i < m; ++i) w.at[i][j] = power(points[j], i);
    for (size_t k = 0; k < r; ++k) w.g[j][k] = power(points[j], k) / scale;
    const std::vector<double> row = product_of_roots(points, j);
    for (size_t k = 0; k < row.size(); ++k) w.bt[j][k] = row[k];
  }
  w.at[m - 1][n - 1] = 1;
  w.g[n - 1][r - 1] = 1;
  const std::vector<double> last = product_of_roots(points, n);
  for (size_t k = 0; k < n; ++k) w.bt[n - 1][k] = last[k];
  return w;
}

double error_growth(const Winograd& w, int64_t channels) {
  // The sums over channels round what the transforms have enlarged: a product of the transformed
  // data and filter at point j varies with the squares of its rows, and counts in result i with the
  // square of at[i][j].
  double largest = 0;
  for (const std::vector<double>& row : w.at) {
    double variance = 0;
    for (size_t j = 0; j < row.size(); ++j) {
      double data = 0, filter = 0;
      for (double e : w.bt[j]) data += e * e;
      for (double e : w.g[j]) filter += e * e;
      variance += row[j] * row[j] * data * filter;
    }
    largest = std::max(largest, variance);  // along both axes, of which the root is taken
  }
  // Rounding within the transforms weighs as much as this many channels
  // (winograd_test.cc measures it).
  constexpr double kTransforms = 11;
  const double taps = static_cast<double>(w.taps * w.taps);
  return largest / taps * std::sqrt(1 + kTransforms / static_cast<double>(channels));
}

}  // namespace relay::op
