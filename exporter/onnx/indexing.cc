// Elements chosen or changed at indices.
#include <algorithm>

#include "base/cat.h"
#include "exporter/onnx/rows.h"

namespace relay::exporter {
namespace {

bool are_between(const std::optional<Tensor>& indices, int64_t least, int64_t end) {
  if (!indices) return false;
  const std::vector<int64_t> all = indices->ints();
  return std::all_of(all.begin(), all.end(), [&](int64_t i) { return least <= i && i < end; });
}

// ONNX takes indices of 32 and 64 bits.
std::string index_of(Site& s) {
  const DType d = s.type(1).dtype;
  return d == kInt32 ? s.arg(1) : s.cast(s.arg(1), d, kInt64);
}

// Indices that are in range by what the mode does with others: ONNX has no word on those.
std::string indices_in_range(Site& s, const std::string& mode, Dim extent) {
  const std::optional<Tensor> known = s.constant(1);
  if (mode == "fast") return index_of(s);  // others trap
  const bool wraps = mode == "wrap";
  if (extent.is_const() && are_between(known, wraps ? -extent.value() : 0, extent.value()))
    return index_of(s);
  const std::string index = s.cast(s.arg(1), s.type(1).dtype, kInt64);
  const Dim dims[] = {extent};
  const std::string count = s.node("Squeeze", {s.extents().vector(dims)});
  if (wraps) return s.node("Mod", {index, count});
  const auto number = [&](int64_t v) { return s.graph().constant(Tensor::scalar_int(kInt64, v)); };
  return s.node("Clip", {index, number(0), s.node("Sub", {count, number(1)})});
}

Names take(Site& s) {
  s.require(s.attrs().integer("batch_dims") == 0,
            "ONNX chooses the same slices for each example (batch_dims=0)");
  const bool flat = s.attrs().is_none("axis");
  const TensorType& data = s.type(0);
  const std::string x = flat ? s.node("Reshape", {s.arg(0), s.graph().ints({-1})}) : s.arg(0);
  const int64_t axis = flat ? 0 : s.axis("axis", data.rank());
  const Dim extent = flat ? product(dims_of(data)) : data.dims[static_cast<size_t>(axis)];
  return {s.node("Gather", {x, indices_in_range(s, s.attrs().text("mode"), extent)}, {{"axis", axis}})};
}

Names gather(Site& s) {
  return {s.node("GatherElements", {s.arg(0), index_of(s)}, {{"axis", s.axis("axis", s.type(0).rank())}})};
}

// Index vectors lie along the first axis here, and along the last one in ONNX.
std::string index_vectors(Site& s) {
  std::vector<int64_t> axes;
  for (size_t a = 1; a < s.type(1).rank(); ++a) axes.push_back(static_cast<int64_t>(a));
  axes.push_back(0);
  return s.transpose(s.cast(s.arg(1), s.type(1).dtype, kInt64), axes);
}

Names gather_nd(Site& s) {
  return {
      s.node("GatherND", {s.arg(0), index_vectors(s)}, {{"batch_dims", s.attrs().integer("batch_dims")}})};
}

std::string reduction(const std::string& mode) { return mode == "update" ? "none" : mode; }

Names scatter_nd(Site& s) {
  return {s.node("ScatterND", {s.arg(0), index_vectors(s), s.arg(2)},
                 {{"reduction", reduction(s.attrs().text("mode"))}})};
}

Names scatter_elements(Site& s) {
  return {s.node(
      "ScatterElements", {s.arg(0), index_of(s), s.arg(2)},
      {{"axis", s.axis("axis", s.type(0).rank())}, {"reduction", reduction(s.attrs().text("reduction"))}})};
}

Names argwhere(Site& s) {
  s.require(s.type(0).rank() > 0, "runtimes differ in what NonZero of a scalar is");
  const std::string places = s.transpose(s.node("NonZero", {s.arg(0)}), {1, 0});
  return {s.cast(places, kInt64, s.result().dtype)};
}

constexpr Row kRows[] = {
    {"argwhere", argwhere},     {"gather", gather},
    {"gather_nd", gather_nd},   {"scatter_elements", scatter_elements},
    {"scatter_nd", scatter_nd}, {"take", take},
};

}  // namespace

std::span<const Row> indexing_rows() { return kRows; }

}  // namespace relay::exporter
