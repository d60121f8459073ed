// What is said of a tensor as a whole: extremes, mean, how many elements are no ordinary numbers,
// how they spread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tensor.h"
#include "runtime/value.h"

namespace relay::tools::debug {

// NaN elements are counted and otherwise left out. Infinite ones count among the extremes; mean and
// standard deviation are of the finite elements. What there is nothing to say about is NaN.
struct Statistics {
  int64_t size = 0, nan = 0, inf = 0, zero = 0;
  double min = 0, max = 0, absmax = 0, mean = 0, std = 0;
};
Statistics statistics_of(const Tensor& t);
std::string show(
    const Statistics& s);  // "min -1, max 2, mean 0.5, std 1.5; 6 elements: 0 nan, 0 inf, 1 zero"

// Of dtype, shape and bits, the same in every run; one NaN is like another.
uint64_t checksum(const Tensor& t);

// The finite elements in `bins` ranges of equal width, a line each; then how many are not finite.
std::string histogram(const Tensor& t, int bins = 10);

// The tensors of a value: itself, or those of a tuple, in order. Data, closures and cells have
// none: a list may be long. Tuples may share parts, and so be larger than any memory. Throws
// Refused if there are more than `kMostParts` parts.
inline constexpr size_t kMostParts = 65536;
std::vector<const Tensor*> tensors_in(const Value& v);
// The same, but what is shared is there once.
std::vector<const Tensor*> distinct_tensors_in(const Value& v);

}  // namespace relay::tools::debug
