#include "tools/debug/statistics.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "base/cat.h"
#include "base/counted.h"
#include "tools/debug/refused.h"

namespace relay::tools::debug {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kWidestBar = 40;

// FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
struct Hash {
  uint64_t state = 0xcbf29ce484222325ull;
  void add(const void* data, size_t bytes) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < bytes; ++i) state = (state ^ p[i]) * 0x100000001b3ull;
  }
};

// Where v lies between the two, from 0 to 1. If their difference is too large for a double, that of
// their halves is not; if it is very small, that of their halves may be 0.
double between(double v, double least, double most) {
  if (most == least) return 0;
  const double range = most - least;
  return std::isfinite(range) ? (v - least) / range : (v / 2 - least / 2) / (most / 2 - least / 2);
}

// Calls `visit` for each tuple and tensor, in order. It says whether to go on into a tuple.
template <class Visit>
std::vector<const Tensor*> tensors_where(const Value& v, Visit&& visit) {
  std::vector<const Tensor*> out;
  std::vector<const Value*> pending{&v};
  while (!pending.empty()) {
    const Value& x = *pending.back();
    pending.pop_back();
    if (!x || !visit(x)) continue;
    if (x.kind() == ValueKind::kTensor) out.push_back(&x.tensor());
    if (x.kind() != ValueKind::kTuple) continue;
    for (size_t i = x.fields().size(); i-- > 0;) pending.push_back(&x.fields()[i]);
  }
  return out;
}

}  // namespace

Statistics statistics_of(const Tensor& t) {
  Statistics s;
  s.size = t.size();
  s.min = s.max = s.absmax = s.mean = s.std = kNaN;
  int64_t finite = 0;
  double largest = 0;
  for (int64_t i = 0; i < t.size(); ++i) {
    const double v = t.get(i);
    if (std::isnan(v)) {
      ++s.nan;
      continue;
    }
    // A comparison with NaN is false: the first number replaces it.
    if (!(s.min <= v)) s.min = v;
    if (!(s.max >= v)) s.max = v;
    if (!(s.absmax >= std::abs(v))) s.absmax = std::abs(v);
    s.zero += v == 0;
    if (std::isinf(v)) {
      ++s.inf;
      continue;
    }
    ++finite;
    largest = std::max(largest, std::abs(v));
  }
  if (finite == 0) return s;
  // In units of a power of two, which is exact, no sum is too large for a double. What the first
  // mean misses by rounding is made good by the second pass.
  const double unit = largest > 0 ? std::exp2(std::max(std::ilogb(largest), -1000)) : 1;
  const auto count = static_cast<double>(finite);
  const auto each_finite = [&](auto&& f) {
    for (int64_t i = 0; i < t.size(); ++i) {
      if (const double v = t.get(i); std::isfinite(v)) f(v / unit);
    }
  };
  double sum = 0, rest = 0, squares = 0;
  each_finite([&](double v) { sum += v; });
  const double mean = sum / count;
  each_finite([&](double v) {
    rest += v - mean;
    squares += (v - mean) * (v - mean);
  });
  s.mean = (mean + rest / count) * unit;
  s.std = std::sqrt(std::max(0.0, squares - rest * rest / count) / count) * unit;
  return s;
}

std::string show(const Statistics& s) {
  const auto number = [](double v) { return std::isnan(v) ? std::string("none") : fmt::format("{:g}", v); };
  return fmt::format("min {}, max {}, mean {}, std {}; {}: {} nan, {} inf, {} zero", number(s.min),
                     number(s.max), number(s.mean), number(s.std), counted(s.size, "element"), s.nan, s.inf,
                     s.zero);
}

uint64_t checksum(const Tensor& t) {
  Hash h;
  const std::string dtype = t.dtype().name();
  h.add(dtype.data(), dtype.size() + 1);
  const auto rank = static_cast<int64_t>(t.rank());
  h.add(&rank, sizeof rank);
  h.add(t.shape().data(), t.rank() * sizeof(int64_t));
  if (!t.dtype().is_float()) {
    h.add(t.data(), t.bytes());
    return h.state;
  }
  const auto* element = static_cast<const unsigned char*>(t.data());
  for (int64_t i = 0; i < t.size(); ++i, element += t.dtype().bytes()) {
    // What sign and payload a NaN has depends on the processor.
    if (std::isnan(t.get(i))) {
      h.add("nan", 4);
    } else {
      h.add(element, t.dtype().bytes());
    }
  }
  return h.state;
}

std::string histogram(const Tensor& t, int bins) {
  const Statistics s = statistics_of(t);
  double least = kNaN, most = kNaN;
  for (int64_t i = 0; i < t.size(); ++i) {
    const double v = t.get(i);
    if (!std::isfinite(v)) continue;
    if (!(least <= v)) least = v;
    if (!(most >= v)) most = v;
  }
  std::string out;
  if (s.size - s.nan - s.inf > 0) {
    if (least == most) bins = 1;
    std::vector<int64_t> counts(static_cast<size_t>(bins));
    for (int64_t i = 0; i < t.size(); ++i) {
      const double v = t.get(i);
      if (!std::isfinite(v)) continue;
      const int bin = static_cast<int>(between(v, least, most) * bins);
      ++counts[static_cast<size_t>(std::clamp(bin, 0, bins - 1))];
    }
    const int64_t highest = *std::max_element(counts.begin(), counts.end());
    for (int b = 0; b < bins; ++b) {
      const auto edge = [&](int k) { return least * (1 - double(k) / bins) + most * (double(k) / bins); };
      const int64_t count = counts[static_cast<size_t>(b)];
      // What is there at all is seen.
      const auto bar = static_cast<size_t>(std::ceil(double(count) / double(highest) * kWidestBar));
      out += fmt::format("  [{:>12.6g}, {:>12.6g}{} {:>8}{}{}\n", edge(b), edge(b + 1),
                         b == bins - 1 ? "]" : ")", count, bar ? " " : "", std::string(bar, '#'));
    }
  } else {
    out += "  no element is finite\n";
  }
  if (s.nan > 0) out += cat("  nan: ", s.nan, "\n");
  if (s.inf > 0) out += cat("  inf: ", s.inf, "\n");
  return out;
}

std::vector<const Tensor*> tensors_in(const Value& v) {
  size_t parts = 0;
  return tensors_where(v, [&](const Value&) {
    if (++parts > kMostParts) {
      throw Refused(cat("a value has more than ", kMostParts,
                        " parts, counting what is shared each time: that is more than a trace keeps"));
    }
    return true;
  });
}

std::vector<const Tensor*> distinct_tensors_in(const Value& v) {
  std::unordered_set<const void*> seen;  // by their fields, which values that are the same share
  return tensors_where(v, [&](const Value& x) { return seen.insert(&x.fields()).second; });
}

}  // namespace relay::tools::debug
