// com.microsoft: products of matrices, distances, inverses.
#include "base/cat.h"
#include "frontend/onnx/activate.h"
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/products.h"
#include "frontend/onnx/repeat.h"
#include "frontend/onnx/stored.h"
#include "op/term.h"

namespace relay::frontend {
namespace {

using namespace op;

// A factor with its rows moved from the first axis to behind the batch, and its last
// two axes exchanged.
Expr factor(Node& n, size_t i, std::string_view transposed, std::string_view batch_transposed) {
  Expr x = n.input(i);
  const auto rank = static_cast<int64_t>(type_of(x).rank());
  const bool exchange = n.integer(transposed, 0) != 0, move = n.integer(batch_transposed, 0) != 0;
  if (rank < 2) return x;
  std::vector<int64_t> order;
  for (int64_t axis = move ? 1 : 0; axis < rank - 1; ++axis) order.push_back(axis);
  if (move) order.push_back(0);
  order.push_back(rank - 1);
  if (exchange) std::swap(order[order.size() - 1], order[order.size() - 2]);
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (order[static_cast<size_t>(axis)] != axis) return n.transpose(x, order);
  }
  return x;
}

Results fused_matrix_product(Node& n) {
  const Expr y =
      multiply_matrices(n, factor(n, 0, "transA", "transBatchA"), factor(n, 1, "transB", "transBatchB"), {});
  const double alpha = n.real("alpha", 1);
  return {alpha == 1 ? y : n.call(kMultiply, {y, n.scalar(type_of(y).dtype, alpha)})};
}

Results fused_gemm(Node& n) {
  const Expr y = n.convert_as("Gemm", 13)[0];
  std::vector<double> parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (n.attribute(name)) parameters.push_back(n.real(name, 0));
  }
  return {activated(n, y, n.text("activation", ""), parameters)};
}

// What the matrix unit of a GPU computes of small floats, here in float32:
//   scaleY * activation(alpha * scaleA * A * scaleB * B + beta * C)
// Each scale is one number, or absent. The result is of the type `dtype`.
Results product_of_small_floats(Node& n) {
  enum Input : size_t { kA, kB, kC, kScaleA, kScaleB, kScaleY };
  n.admit_carriers();
  const auto number = [&](size_t i) { return n.cast(numbers_at(n, i), kFloat32); };
  const auto scaled = [&](Expr e, size_t scale) {
    if (!n.has(scale)) return e;
    const Dim count = product(dims_of(n.input(scale)));
    n.require(count == Dim(1), "its scales must be one number each");
    return n.call(kMultiply, {e, n.reshape(number(scale), {})});
  };
  const auto factor = [&](size_t i, const char* transposed, size_t scale) {
    n.require(type_of(n.carrier(i)).rank() == 2, "its factors must be matrices");
    const Expr e = n.integer(transposed, 0) != 0 ? n.transpose(number(i), {1, 0}) : number(i);
    return scaled(e, scale);
  };
  const Element to = element_of(n, n.integer("dtype", 1));
  n.require(to.is_float(), "its attribute `dtype` is no floating-point type");
  Expr y = multiply_matrices(n, factor(kA, "transA", kScaleA), factor(kB, "transB", kScaleB), {});
  const double alpha = n.real("alpha", 1), beta = n.real("beta", 0);
  if (alpha != 1) y = n.call(kMultiply, {y, n.scalar(kFloat32, alpha)});
  if (n.has(kC) && beta != 0)
    y = n.call(kAdd, {y, n.call(kMultiply, {number(kC), n.scalar(kFloat32, beta)})});
  y = scaled(activated(n, y, n.text("activation", ""), {}), kScaleY);
  store(n, 0, to);
  return {as_elements(n, y, to, {})};
}

// --- CDist, Inverse ------------------------------------------------------------------------------

// The distance of each row of a to each row of b.
Results distances(Node& n) {
  n.require(n.rank(0) == 2 && n.rank(1) == 2, "its inputs must be matrices");
  const std::string metric = n.text("metric", "sqeuclidean");
  n.require(metric == "sqeuclidean" || metric == "euclidean",
            "its attribute `metric` is neither sqeuclidean nor euclidean");
  const Expr d = n.call(kSubtract, {n.expand_dims(n.input(0), 1), n.expand_dims(n.input(1), 0)});
  const Expr sum = n.call(kSum, {n.call(kMultiply, {d, d})}, {{"axis", std::vector<int64_t>{2}}});
  return {metric == "euclidean" ? n.call(kSqrt, {sum}) : sum};
}

// Gauss-Jordan with the largest pivot of each column: (matrix | identity) becomes (identity |
// inverse) in as many steps as the matrix has rows.
class Elimination {
 public:
  Elimination(Node& n, Dim size) : n_(n), size_(size) { rows_ = n.places({size}); }

  Expr identity(DType dtype) { return n_.cast(n_.call(kEqual, {n_.expand_dims(rows_, 1), rows_}), dtype); }

  // m: (batch, size, 2 * size)
  Expr step(Expr k, Expr m) {
    const TensorType& t = type_of(m);
    const auto number = [&](double v) { return n_.scalar(t.dtype, v); };
    const auto take = [&](Expr from, int64_t axis) { return n_.call(kTake, {from, k}, {{"axis", axis}}); };
    // Rows above k have their pivots already. NaN never wins.
    const Expr height =
        n_.call(kWhere, {n_.call(kGreaterEqual, {rows_, k}), n_.call(kAbs, {take(m, 2)}), number(-1)});
    const Expr pivot = n_.cast(n_.call(kArgmax, {height}, {{"axis", std::vector<int64_t>{1}}}), kInt64);
    const Expr at_pivot = n_.expand_dims(pivot, 1, 2);  // (batch, 1, 1)
    const Expr index =
        n_.call(kBroadcastTo, {at_pivot}, {{"shape", std::vector<Dim>{t.dims[0], 1, t.dims[2]}}});
    const Expr chosen = n_.call(kGather, {m, index}, {{"axis", int64_t{1}}});  // (batch, 1, 2 * size)
    const Expr displaced = n_.expand_dims(take(m, 1), 1);
    const Expr row = n_.expand_dims(rows_, 1);  // (size, 1)
    const Expr is_k = n_.call(kEqual, {row, k});
    const Expr swapped = n_.call(kWhere, {n_.call(kEqual, {row, at_pivot}), displaced, m});
    const Expr unit = n_.call(kDivide, {chosen, n_.expand_dims(take(chosen, 2), 2)});
    const Expr factors = n_.expand_dims(take(swapped, 2), 2);
    const Expr reduced = n_.call(kSubtract, {swapped, n_.call(kMultiply, {factors, unit})});
    return n_.call(kWhere, {is_k, unit, reduced});
  }

 private:
  Node& n_;
  Dim size_;
  Expr rows_;
};

Results inverse(Node& n) {
  const Expr x = n.input(0);
  const std::vector<Dim> dims = dims_of(x);
  n.require(dims.size() >= 2, "its input must have at least two dimensions");
  const Dim size = dims.back();
  n.require(prove_equal(size, dims[dims.size() - 2]) != kernel::Proof::kRefuted,
            "its matrices are not square");
  for (const Dim d : dims) {
    if (d.is_unknown()) n.unsupported("the shape of its input depends on the data");
  }
  const Dim batch = product(std::vector<Dim>(dims.begin(), dims.end() - 2));
  const DType own = type_of(x).dtype, dtype = own.bits < 32 ? kFloat32 : own;
  Elimination elimination(n, size);
  const Expr unit =
      n.call(kBroadcastTo, {elimination.identity(dtype)}, {{"shape", std::vector<Dim>{batch, size, size}}});
  const Expr first = n.concatenate({n.reshape(n.cast(x, dtype), {batch, size, size}), unit}, 2);
  const Expr all = n.call(kShapeOf, {x}, {{"dtype", DType(kInt64)}});
  const auto last = static_cast<int64_t>(dims.size()) - 1;
  const Expr count = n.reshape(n.slice(all, 0, last, last + 1), {});
  const Expr done = repeat(n, count, first, [&](Expr k, Expr m) { return elimination.step(k, m); });
  const Expr y = n.call(kStridedSlice, {done},
                        {{"begin", std::vector<Dim>{size}},
                         {"end", std::vector<Dim>{size * Dim(2)}},
                         {"axes", std::vector<int64_t>{2}}});
  return {n.cast(n.reshape(y, dims), own)};
}

constexpr Row kRows[] = {
    {"com.microsoft.CDist", 1, distances},
    {"com.microsoft.FusedGemm", 1, fused_gemm},
    {"com.microsoft.FusedMatMul", 1, fused_matrix_product},
    {"com.microsoft.GemmFloat8", 1, product_of_small_floats},
    {"com.microsoft.Inverse", 1, inverse},
    {"com.microsoft.TransposeMatMul", 1, fused_matrix_product},
};

}  // namespace

std::span<const Row> ms_matrix_rows() { return kRows; }

}  // namespace relay::frontend
