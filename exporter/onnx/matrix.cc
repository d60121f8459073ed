// Products of matrices.
#include <numeric>
#include <utility>

#include "exporter/onnx/rows.h"

namespace relay::exporter {
namespace {

// With the last two axes exchanged.
std::string transposed(Site& s, const std::string& x, size_t rank) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[rank - 1], axes[rank - 2]);
  return s.transpose(x, axes);
}

bool is_small_int(DType d) { return d == kInt8 || d == kUInt8; }

// ONNX multiplies floats, and integers of 32 and 64 bits, in their own dtype, and small integers in
// int32.
std::string product(Site& s, bool transpose_a, bool transpose_b) {
  const TensorType &a = s.type(0), &b = s.type(1);
  const DType out = s.result().dtype;
  const bool widens = is_small_int(a.dtype) && is_small_int(b.dtype) && out == kInt32;
  const bool keeps = a.dtype == out && b.dtype == out && (out.is_float() || out.bits >= 32);
  s.require(widens || keeps, "ONNX has no product of these dtypes that gives this one");
  if (keeps && out.is_float() && a.rank() == 2 && b.rank() == 2 && (transpose_a || transpose_b))
    return s.node("Gemm", {s.arg(0), s.arg(1)}, {{"transA", transpose_a}, {"transB", transpose_b}});
  const std::string left = transpose_a ? transposed(s, s.arg(0), a.rank()) : s.arg(0);
  const std::string right = transpose_b ? transposed(s, s.arg(1), b.rank()) : s.arg(1);
  return s.node(widens ? "MatMulInteger" : "MatMul", {left, right});
}

Names matmul(Site& s) { return {product(s, s.attrs().flag("transpose_a"), s.attrs().flag("transpose_b"))}; }
Names dense(Site& s) { return {product(s, false, true)}; }

Names einsum(Site& s) { return {s.node("Einsum", s.fields(0), {{"equation", s.attrs().text("equation")}})}; }

constexpr Row kRows[] = {
    {"einsum", einsum},
    {"nn.batch_matmul", matmul},
    {"nn.dense", dense},
    {"nn.matmul", matmul},
};

}  // namespace

std::span<const Row> matrix_rows() { return kRows; }

}  // namespace relay::exporter
