#include "tools/debug/slice.h"

#include <charconv>

#include "base/cat.h"
#include "base/counted.h"
#include "tools/debug/refused.h"
#include "tools/debug/words.h"

namespace relay::tools::debug {
namespace {

constexpr std::string_view kForm = "a slice is like [0, :, 3:5, ::2]";

int64_t integer(std::string_view text) {
  int64_t out = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (wrong == std::errc::result_out_of_range)
    throw Refused(cat("the slice's `", text, "` is too large for an index"));
  if (wrong != std::errc() || end != text.data() + text.size())
    throw Refused(cat("the slice's `", text, "` is no integer; ", kForm));
  return out;
}

Slice::Axis axis_of(std::string_view text) {
  Slice::Axis out;
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    if (text.empty()) throw Refused(cat("the slice has nothing between two commas; ", kForm));
    out.index = true;
    out.first = integer(text);
    return out;
  }
  const std::string_view first = trimmed(text.substr(0, colon));
  std::string_view last = trimmed(text.substr(colon + 1));
  if (const size_t second = last.find(':'); second != std::string_view::npos) {
    const std::string_view step = trimmed(last.substr(second + 1));
    last = trimmed(last.substr(0, second));
    if (!step.empty()) out.step = integer(step);
    if (out.step < 1) throw Refused(cat("the slice's step ", out.step, " must be at least 1"));
  }
  if (!first.empty()) out.first = integer(first);
  if (!last.empty()) out.last = integer(last);
  return out;
}

// The indices of one dimension, by the first and how many there are.
struct Range {
  int64_t first = 0, count = 0, step = 1;
};

Range range_of(const Slice::Axis& a, size_t dim, int64_t extent) {
  const auto outside = [&](int64_t i) {
    return Refused(extent == 0 ? cat("dimension ", dim, " has no elements, so ", i, " is out of range")
                               : cat(i, " is out of range for dimension ", dim, ", whose extent is ", extent,
                                     ": 0 to ", extent - 1, ", or -", extent, " to -1 from the end"));
  };
  if (a.index) {
    if (*a.first < -extent || *a.first >= extent) throw outside(*a.first);
    return {*a.first < 0 ? *a.first + extent : *a.first, 1, 1};
  }
  const auto bound = [&](std::optional<int64_t> i, int64_t otherwise) {
    if (!i) return otherwise;
    if (*i < -extent || *i > extent) throw outside(*i);
    return *i < 0 ? *i + extent : *i;
  };
  const int64_t first = bound(a.first, 0), last = bound(a.last, extent);
  if (first >= last && extent > 0)
    throw Refused(cat("the slice of dimension ", dim, " is empty: ", first, " is not before ", last));
  return {first, last > first ? (last - first - 1) / a.step + 1 : 0, a.step};
}

}  // namespace

Slice parse_slice(std::string_view text) {
  text = trimmed(text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    throw Refused(cat("the slice `", text, "` does not end with `]`; ", kForm));
  text = text.substr(1, text.size() - 2);
  Slice out;
  for (;;) {
    const size_t comma = text.find(',');
    out.axes.push_back(axis_of(trimmed(text.substr(0, comma))));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

Tensor apply(const Slice& slice, const Tensor& t) {
  if (slice.axes.size() > t.rank())
    throw Refused(cat("the slice has ", counted(slice.axes.size(), "dimension"), ", the tensor of shape ",
                      relay::show(t.shape()), " has ", t.rank()));
  std::vector<Range> ranges;
  Shape shape;
  for (size_t d = 0; d < t.rank(); ++d) {
    const Slice::Axis axis = d < slice.axes.size() ? slice.axes[d] : Slice::Axis{};
    ranges.push_back(range_of(axis, d, t.shape()[d]));
    if (!axis.index) shape.push_back(ranges.back().count);
  }
  Tensor out(t.dtype(), shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t rest = i, from = 0, stride = 1;
    for (size_t d = t.rank(); d-- > 0;) {
      from += (ranges[d].first + rest % ranges[d].count * ranges[d].step) * stride;
      rest /= ranges[d].count;
      stride *= t.shape()[d];
    }
    if (t.dtype().is_float()) {
      out.set(i, t.get(from));
    } else {
      out.set_int(i, t.get_int(from));
    }
  }
  return out;
}

}  // namespace relay::tools::debug
