// Elements found by their index.
#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/importer.h"

namespace relay::frontend {
namespace {

using namespace op;

// Indices that count from the end where they are negative, made to count from the front. `extents`
// has one extent for all of them, or one for each element of their last axis.
Expr from_front(Node& n, size_t i, Expr indices, const std::vector<Dim>& extents) {
  const DType dtype = type_of(indices).dtype;
  if (!dtype.is_int()) n.invalid("its indices are no integers");
  if (!dtype.is_signed_int()) return indices;
  if (const std::optional<Tensor> known = n.known(i)) {
    const std::vector<int64_t> values = known->ints();
    if (std::all_of(values.begin(), values.end(), [](int64_t v) { return v >= 0; })) return indices;
  }
  for (Dim d : extents) {
    if (d.is_unknown())
      n.unsupported("negative indices into an axis whose extent is not known are not supported",
                    "fix the dynamic axis with --input-shapes");
  }
  const auto count = static_cast<int64_t>(extents.size());
  Operand numbers = n.importer().operand({dtype, count == 1 ? Shape{} : Shape{count}, extents});
  const Expr extent = n.importer().materialise(numbers);
  return n.call(kWhere,
                {n.call(kLess, {indices, n.scalar(dtype, 0)}), n.call(kAdd, {indices, extent}), indices});
}

Results gather(Node& n) {
  const TensorType& t = n.tensor(0);
  const size_t axis = n.axis(n.integer("axis", 0), t.rank());
  const Expr indices = n.input(1);
  if (!type_of(indices).dtype.is_int()) n.invalid("its indices are no integers");
  // What is known to be in range needs no care; the rest counts around, which is right for
  // negative indices.
  std::string mode = "wrap";
  if (const std::optional<Tensor> known = n.known(1)) {
    const std::vector<int64_t> values = known->ints();
    const Dim extent = t.dims[axis];
    for (int64_t v : values) {
      if (extent.is_const() && (v < -extent.value() || v >= extent.value())) {
        n.invalid(cat("its index ", v, " is outside of the ", extent.value(), " elements along axis ", axis));
      }
    }
    if (std::all_of(values.begin(), values.end(), [](int64_t v) { return v >= 0; })) mode = "clip";
  }
  return {n.call(kTake, {n.input(0), indices}, {{"axis", static_cast<int64_t>(axis)}, {"mode", mode}})};
}

// Along the other axes, element i of the result is found at place i of the input, which may
// be longer there.
Results gather_elements(Node& n) {
  Expr x = n.input(0);
  const std::vector<Dim> from = dims_of(x), to = dims_of(n.input(1));
  const size_t axis = n.axis(n.integer("axis", 0), from.size());
  std::vector<Dim> begin, end;
  std::vector<int64_t> longer;
  for (size_t i = 0; i < from.size() && from.size() == to.size(); ++i) {
    const bool known = !from[i].is_unknown() && !to[i].is_unknown();
    const bool shorter = from[i].is_const() && to[i].is_const() && from[i].value() < to[i].value();
    if (i == axis || !known || shorter || prove_equal(from[i], to[i]) == kernel::Proof::kProved) continue;
    longer.push_back(static_cast<int64_t>(i));
    begin.emplace_back(0);
    end.push_back(to[i]);
  }
  if (!longer.empty()) x = n.call(kStridedSlice, {x}, {{"begin", begin}, {"end", end}, {"axes", longer}});
  return {n.call(kGather, {x, from_front(n, 1, n.input(1), {from[axis]})},
                 {{"axis", static_cast<int64_t>(axis)}})};
}

// ONNX has the parts of an index along the last axis; the operators have them along the first one.
Expr parts_first(Node& n, Expr indices) {
  const auto rank = static_cast<int64_t>(type_of(indices).rank());
  if (rank < 2) return indices;
  std::vector<int64_t> axes{rank - 1};
  for (int64_t i = 0; i + 1 < rank; ++i) axes.push_back(i);
  return n.transpose(indices, axes);
}

// Input 1, the indices of an operator ...ND, counted from the front and with their parts first. How
// many parts an index has decides a rank. Where the type does not say it, it is `otherwise`.
Expr indices_of_parts(Node& n, size_t batch, std::optional<int64_t> otherwise) {
  const TensorType& t = n.tensor(0);
  Expr indices = n.input(1);
  std::vector<Dim> dims = dims_of(indices);
  n.require(!dims.empty(), "its indices must have at least one dimension");
  const bool is_open = !dims.back().is_const();
  if (is_open && !otherwise)
    n.unsupported("the last extent of its indices must be known", "fix the dynamic axis with --input-shapes");
  const int64_t parts = is_open ? *otherwise : dims.back().value();
  n.require(parts >= 1 && batch + static_cast<size_t>(parts) <= t.rank(),
            is_open ? "the ranks of its inputs fit no index"
                    : "its indices have more parts than its input has dimensions");
  if (is_open) {
    dims.back() = Dim(parts);
    indices = n.importer().match_extents(indices, dims, "indices");
  }
  return parts_first(n, from_front(n, 1, indices, {t.dims.begin() + batch, t.dims.begin() + batch + parts}));
}

Results gather_nd(Node& n) {
  const int64_t batch = n.integer("batch_dims", 0);
  n.require(batch >= 0 && static_cast<size_t>(batch) < n.rank(1),
            "its attribute `batch_dims` is out of range");
  const Expr indices = indices_of_parts(n, static_cast<size_t>(batch), std::nullopt);
  return {n.call(kGatherNd, {n.input(0), indices}, {{"batch_dims", batch}})};
}

std::string reduction_of(Node& n) {
  const std::string name = n.text("reduction", "none");
  if (name == "none") return "update";
  n.require(name == "add" || name == "mul" || name == "min" || name == "max",
            "its attribute `reduction` is unknown");
  return name;
}

Results scatter_nd(Node& n) {
  // The updates have the dimensions of the indices but the last, and those that no part is about.
  const auto rank = [&](size_t i) { return static_cast<int64_t>(n.rank(i)); };
  const Expr indices = indices_of_parts(n, 0, rank(0) + rank(1) - 1 - rank(2));
  return {n.call(kScatterNd, {n.input(0), indices, n.input(2)}, {{"mode", reduction_of(n)}})};
}

Results scatter_elements(Node& n) {
  const TensorType& t = n.tensor(0);
  const size_t axis = n.axis(n.integer("axis", 0), t.rank());
  return {n.call(kScatterElements, {n.input(0), from_front(n, 1, n.input(1), {t.dims[axis]}), n.input(2)},
                 {{"axis", static_cast<int64_t>(axis)}, {"reduction", reduction_of(n)}})};
}

Results one_hot(Node& n) {
  const std::optional<Tensor> known = n.known(1);
  const int64_t extent = known && known->size() == 1 ? known->get_int(0) : 1;
  n.require(!known || known->size() == 1, "its depth must be a single number");
  n.require(extent >= 1 && extent < (int64_t{1} << 40), "its depth is out of range");
  n.require(n.rank(2) == 1, "its values must be the pair of off and on");
  const auto depth = [&](DType dtype) -> Expr {
    if (known) return n.builder().constant(Tensor::scalar_int(dtype, extent));
    return n.cast(n.reshape(n.input(1), {}), dtype);
  };
  const auto value = [&](int64_t i) { return n.reshape(n.slice(n.input(2), 0, i, i + 1), {}); };
  // A negative index counts from the end from version 11 on; one that is out of range sets nothing.
  Expr indices = n.input(0);
  if (!type_of(indices).dtype.is_int()) indices = n.cast(indices, kInt64);
  const DType dtype = type_of(indices).dtype;
  if (dtype.is_signed_int() && n.opset() >= 11) {
    const Expr turned = n.call(kAdd, {indices, depth(dtype)});
    indices = n.call(kWhere, {n.call(kLess, {indices, n.scalar(dtype, 0)}), turned, indices});
  }
  const int64_t axis = n.integer("axis", -1);
  if (known) {
    return {n.call(kOneHot, {indices, value(1), value(0)},
                   {{"depth", extent}, {"axis", axis}, {"dtype", n.dtype(2)}})};
  }
  std::vector<Dim> wanted = dims_of(indices);
  const size_t at = n.axis(axis, wanted.size() + 1);
  wanted.insert(wanted.begin() + static_cast<std::ptrdiff_t>(at), Dim::unknown());
  const Expr e = n.call(kDynOneHot, {indices, value(1), value(0), depth(kInt64)},
                        {{"axis", axis}, {"dtype", n.dtype(2)}});
  return {n.importer().match_extents(e, wanted, n.proto().output(0))};
}

constexpr Row kRows[] = {
    {"Gather", 1, gather},
    {"GatherElements", 11, gather_elements},
    {"GatherND", 11, gather_nd},
    {"OneHot", 9, one_hot},
    {"Scatter", 9, scatter_elements},
    {"ScatterElements", 11, scatter_elements},
    {"ScatterND", 11, scatter_nd},
};

}  // namespace

std::span<const Row> indexing_rows() { return kRows; }

}  // namespace relay::frontend
