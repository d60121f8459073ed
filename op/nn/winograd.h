// Winograd's minimal filtering: m results of a filter of r taps from m + r - 1 products
// instead of m * r.
//
//   y = A^T ((G g) . (B^T d))      for d of m + r - 1 data, g of r taps, y of m results
//
// In two dimensions each transform is applied along both axes. The matrices are those of Toom and
// Cook: polynomials are evaluated at points and interpolated (Winograd, "Arithmetic Complexity of
// Computations", 1980; Lavin and Gray, 2016).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace relay::op {

using Matrix = std::vector<std::vector<double>>;

struct Winograd {
  int64_t results = 0, taps = 0, products = 0;  // m, r, m + r - 1
  Matrix at, g, bt;                             // A^T: m x n, G: n x r, B^T: n x n
};

// There are points for m + r - 1 from 2 to 8; others give matrices of no rows.
Winograd winograd(int64_t results, int64_t taps);

// In two dimensions, summed over `channels`: how much larger errors are than those of the products
// added up in order. The ratio of the standard deviations in floating point, for independent data
// of one size, at the place of a tile where it is largest.
double error_growth(const Winograd& w, int64_t channels);

// matrix * in, for values of any kind that can be added and multiplied by a number. Rows that
// differ in signs only, as those of opposite points do, are computed as the sum and the
// difference of two parts.
template <class T>
std::vector<T> transformed(const Matrix& matrix, const std::vector<T>& in,
                           const std::function<T(double, const T&)>& times) {
  using Terms = std::vector<std::pair<double, size_t>>;
  const auto sum = [&](const Terms& terms) {
    T total = times(terms[0].first, in[terms[0].second]);
    for (size_t i = 1; i < terms.size(); ++i) {
      const auto [factor, at] = terms[i];
      total = factor < 0 ? total - times(-factor, in[at]) : total + times(factor, in[at]);
    }
    return total;
  };
  std::vector<T> out(matrix.size());
  std::vector<bool> done(matrix.size(), false);
  for (size_t p = 0; p < matrix.size(); ++p) {
    if (done[p]) continue;
    Terms all;
    for (size_t k = 0; k < in.size(); ++k) {
      if (matrix[p][k] != 0) all.emplace_back(matrix[p][k], k);
    }
    for (size_t q = p + 1; q < matrix.size() && !done[p]; ++q) {
      Terms same, opposite;
      bool twins = !done[q];
      for (size_t k = 0; k < in.size() && twins; ++k) {
        const double a = matrix[p][k], b = matrix[q][k];
        twins = a == b || a == -b;
        if (a != 0) (a == b ? same : opposite).emplace_back(a, k);
      }
      if (!twins || same.empty() || opposite.empty()) continue;
      const T even = sum(same), odd = sum(opposite);
      out[p] = even + odd;
      out[q] = even - odd;
      done[p] = done[q] = true;
    }
    if (!done[p]) out[p] = sum(all);
    done[p] = true;
  }
  return out;
}

}  // namespace relay::op
