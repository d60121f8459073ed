// Matrix products.
#include "base/cat.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/products.h"
#include "frontend/onnx/quantised.h"

namespace relay::frontend {
namespace {

using namespace op;

// The shape to which numpy broadcasts two shapes. Extents that only a run tells are named together,
// and the operator looks whether they fit.
std::vector<Dim> broadcast(Node& n, std::vector<Dim> a, std::vector<Dim> b) {
  if (a.size() < b.size()) std::swap(a, b);
  b.insert(b.begin(), a.size() - b.size(), Dim(1));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != Dim(1) && b[i] != Dim(1) && prove_equal(a[i], b[i]) == kernel::Proof::kRefuted) {
      n.invalid(cat("its inputs have the extents ", show(a[i]), " and ", show(b[i]),
                    " where they must be the same"));
    }
    a[i] = relay::broadcast(a[i], b[i]);
  }
  return a;
}

// [batch..., rows, columns] as [batch, rows, columns], with the batch broadcast to `batch`; if
// every extent of its own batch is 1, it stays 1: the operator broadcasts that.
Expr as_batch(Node& n, Expr e, const std::vector<Dim>& batch) {
  std::vector<Dim> dims = dims_of(e);
  const std::vector<Dim> matrix(dims.end() - 2, dims.end());
  std::vector<Dim> own(dims.begin(), dims.end() - 2);
  const bool single = product(own) == Dim(1);
  if (!single && own != batch) {
    std::vector<Dim> shape = batch;
    shape.insert(shape.end(), matrix.begin(), matrix.end());
    e = n.call(kBroadcastTo, {e}, {{"shape", shape}});
  }
  const Dim count = single ? Dim(1) : product(batch);
  return n.reshape(e, {count, matrix[0], matrix[1]});
}

}  // namespace

Expr multiply_matrices(Node& n, Expr a, Expr b, const std::vector<AttrArg>& attrs) {
  const size_t rank_a = type_of(a).rank(), rank_b = type_of(b).rank();
  n.require(rank_a > 0 && rank_b > 0, "its inputs must have at least one dimension");
  if (rank_b == 2) return n.call(kMatmul, {a, b}, attrs);
  if (rank_a == 1) a = n.expand_dims(a, 0);
  if (rank_b == 1) b = n.expand_dims(b, 1);
  Expr y;
  const std::vector<Dim> da = dims_of(a), db = dims_of(b);
  if (db.size() == 2) {
    y = n.call(kMatmul, {a, b}, attrs);
  } else {
    const std::vector<Dim> batch = broadcast(n, {da.begin(), da.end() - 2}, {db.begin(), db.end() - 2});
    std::vector<Dim> shape = batch;
    shape.push_back(da[da.size() - 2]);
    shape.push_back(db.back());
    y = n.reshape(n.call(kBatchMatmul, {as_batch(n, a, batch), as_batch(n, b, batch)}, attrs), shape);
  }
  const auto axis = static_cast<int64_t>(type_of(y).rank());
  if (rank_b == 1) y = n.squeeze(y, {axis - 1});
  if (rank_a == 1) y = n.squeeze(y, {axis - 2});
  return y;
}

namespace {

Results matrix_product(Node& n) { return {multiply_matrices(n, n.input(0), n.input(1), {})}; }

// A scale or zero point of the first factor (one, or one a row) or of the second (one, or one a
// column), shaped to broadcast with the factor and with the product.
Expr by_line(Node& n, Expr parameter, bool rows) {
  const std::vector<Dim> dims = dims_of(parameter);
  if (dims.size() >= 2)
    n.require(dims[dims.size() - (rows ? 1 : 2)] == Dim(1), "a scale or zero point varies along its sums");
  return dims.size() == 1 && rows && dims[0] != Dim(1) ? n.expand_dims(parameter, 1) : parameter;
}

Expr without_zero_point(Node& n, Expr value, size_t zero_point, bool rows) {
  const Expr x = n.cast(value, kInt32);
  if (!n.has(zero_point)) return x;
  return n.call(kSubtract, {x, by_line(n, n.cast(n.input(zero_point), kInt32), rows)});
}

Results matrix_product_of_integers(Node& n) {
  const Expr a = without_zero_point(n, n.input(0), 2, true), b = without_zero_point(n, n.input(1), 3, false);
  return {multiply_matrices(n, a, b, {{"out_dtype", kInt32}})};
}

// A tensor of one element as a scalar; any other one as it is.
Expr as_scalar(Node& n, Expr e) {
  return type_of(e).rank() > 0 && product(dims_of(e)) == Dim(1) ? n.reshape(e, {}) : e;
}

// What sums of products of integers stand for, with the scales of both factors.
Expr real_sums(Node& n, Expr sums, Expr a_scale, Expr b_scale) {
  const auto scale = [&](Expr e, bool rows) { return by_line(n, n.cast(e, kFloat32), rows); };
  const Expr scales = as_scalar(n, n.call(kMultiply, {scale(a_scale, true), scale(b_scale, false)}));
  const Expr real = n.call(kMultiply, {n.cast(sums, kFloat32), scales});
  const std::vector<Dim> wanted = dims_of(sums), own = dims_of(real);
  bool fits = own.size() == wanted.size();
  for (size_t i = 0; fits && i < own.size(); ++i)
    fits = prove_equal(own[i], wanted[i]) != kernel::Proof::kRefuted;
  if (!fits) n.unsupported("its scales give the product another shape");
  return n.importer().match_extents(real, wanted, "real");
}

// The same of an input, of which a run compares that it has one element.
Expr one_at(Node& n, size_t i, DType dtype) {
  Expr e = n.cast(n.input(i), dtype);
  const TensorType& t = type_of(e);
  if (t.rank() == 1 && !t.dims[0].is_const()) e = n.importer().match_extents(e, {Dim(1)}, "one");
  return as_scalar(n, e);
}

// Real numbers as integers, with the scale at an input and the zero point behind it.
Expr quantised_result(Node& n, Expr real, size_t scale) {
  const Expr step = one_at(n, scale, kFloat32), zero = one_at(n, scale + 1, kInt32);
  if (type_of(step).rank() > 0 || type_of(zero).rank() > 0)
    n.unsupported("its result must have one scale and one zero point");
  return n.call(kQnnQuantize, {real, step, zero}, {{"axis", int64_t{-1}}, {"out_dtype", n.dtype(scale + 1)}});
}

// The product of integers, each of which stands for scale * (integer - zero point), as such
// integers.
Results quantised_matrix_product(Node& n) {
  const Expr a = without_zero_point(n, n.input(0), 2, true), b = without_zero_point(n, n.input(3), 5, false);
  const Expr sums = multiply_matrices(n, a, b, {{"out_dtype", kInt32}});
  return {quantised_result(n, real_sums(n, sums, n.input(1), n.input(4)), 6)};
}

Expr with_bias(Node& n, Expr y, size_t i) { return n.has(i) ? n.call(kAdd, {y, n.input(i)}) : y; }

// The product of such integers as real numbers.
Results real_matrix_product_of_integers(Node& n) {
  const Expr a = without_zero_point(n, n.input(0), 4, true), b = without_zero_point(n, n.input(1), 5, false);
  const Expr sums = multiply_matrices(n, a, b, {{"out_dtype", kInt32}});
  return {with_bias(n, real_sums(n, sums, n.input(2), n.input(3)), 6)};
}

// The same, but the first factor has real numbers, of which integers are made first.
Results dynamically_quantised_matrix_product(Node& n) {
  n.require(n.dtype(0) == kFloat32, "its input must be float32");
  const DynamicallyQuantised q = quantised_dynamically(n, n.input(0));
  const Expr a = n.call(kSubtract, {n.cast(q.integers, kInt32), n.cast(q.zero_point, kInt32)});
  const Expr b = without_zero_point(n, n.input(1), 3, false);
  const Expr sums = multiply_matrices(n, a, b, {{"out_dtype", kInt32}});
  return {with_bias(n, real_sums(n, sums, q.scale, n.input(2)), 4)};
}

// alpha * a * b + c of such integers, where c has the scale of the product.
Results quantised_gemm(Node& n) {
  n.require(n.rank(0) == 2 && n.rank(3) == 2, "its factors must be matrices");
  const auto factor = [&](size_t i, std::string_view transposed) {
    return n.integer(transposed, 0) != 0 ? n.transpose(n.input(i), {1, 0}) : n.input(i);
  };
  const Expr a = without_zero_point(n, factor(0, "transA"), 2, true),
             b = without_zero_point(n, factor(3, "transB"), 5, false);
  const Expr sums = with_bias(n, n.call(kMatmul, {a, b}, {{"out_dtype", kInt32}}), 6);
  const double alpha = n.real("alpha", 1);
  Expr real = real_sums(n, sums, n.input(1), n.input(4));
  if (alpha != 1) real = n.call(kMultiply, {real, n.scalar(kFloat32, alpha)});
  return {n.has(7) ? quantised_result(n, real, 7) : real};
}

// alpha * a * b + beta * c
Results gemm(Node& n) {
  n.require(n.rank(0) == 2 && n.rank(1) == 2, "its factors must be matrices");
  const DType dtype = n.dtype(0);
  const double alpha = n.real("alpha", 1), beta = n.real("beta", 1);
  Expr y =
      n.call(kMatmul, {n.input(0), n.input(1)},
             {{"transpose_a", n.integer("transA", 0) != 0}, {"transpose_b", n.integer("transB", 0) != 0}});
  if (alpha != 1) y = n.call(kMultiply, {y, n.scalar(dtype, alpha)});
  if (n.opset() < 7 && n.integer("broadcast", 0) == 0)
    n.require(n.rank(2) == 2, "its third input is no matrix, and its attribute `broadcast` is not 1");
  if (n.has(2) && beta != 0) {
    Expr c = n.input(2);
    if (beta != 1) c = n.call(kMultiply, {c, n.scalar(dtype, beta)});
    y = n.call(kAdd, {y, c});
  }
  return {y};
}

Results einsum(Node& n) {
  return {n.call(kEinsum, {n.builder().tuple(n.all_inputs())}, {{"equation", n.text("equation", "")}})};
}

constexpr Row kRows[] = {
    {"Einsum", 12, einsum},
    {"Gemm", 1, gemm},
    {"MatMul", 1, matrix_product},
    {"MatMulInteger", 10, matrix_product_of_integers},
    {"QLinearMatMul", 10, quantised_matrix_product},
    {"com.microsoft.DynamicQuantizeMatMul", 1, dynamically_quantised_matrix_product},
    {"com.microsoft.MatMulIntegerToFloat", 1, real_matrix_product_of_integers},
    {"com.microsoft.QGemm", 1, quantised_gemm},
};

}  // namespace

std::span<const Row> matrix_rows() { return kRows; }

}  // namespace relay::frontend
