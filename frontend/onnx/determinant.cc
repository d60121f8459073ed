// Det: determinants of matrices of a known extent, by elimination.
#include "base/cat.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

using namespace op;

// Each step of the elimination is a dozen operators; larger matrices would make large programs.
constexpr int64_t kMostRows = 64;

struct Elimination {
  Node& n;
  DType dtype;

  Expr number(double v) { return n.scalar(dtype, v); }
  Expr choose(Expr condition, Expr yes, Expr no) { return n.call(kWhere, {condition, yes, no}); }
  Expr multiply(Expr a, Expr b) { return n.call(kMultiply, {a, b}); }

  // Takes the row with the largest element of the first column, its pivot, out of (batch, m, m).
  // What is left has the determinant of m divided by the pivot, and one row and one column less.
  Expr step(Expr& m, int64_t rows) {
    const Expr column = n.squeeze(n.slice(m, 2, 0, 1), {2});  // (batch, rows)
    const Expr found =
        n.call(kArgmax, {n.call(kAbs, {column})}, {{"axis", std::vector<int64_t>{1}}, {"keepdims", true}});
    const Expr best = n.cast(found, kInt64);  // (batch, 1)
    const Expr place = n.places({Dim(rows)});
    const Expr chosen = n.call(kEqual, {place, best});  // (batch, rows)
    const auto sum = [&](Expr e) {
      return n.call(kSum, {e}, {{"axis", std::vector<int64_t>{1}}, {"keepdims", true}});
    };
    const Expr pivot = sum(choose(chosen, column, number(0)));             // (batch, 1)
    const Expr row = sum(choose(n.expand_dims(chosen, 2), m, number(0)));  // (batch, 1, rows)
    // The first row stands where the chosen one stood. Exchanging two rows turns the sign.
    const Expr first = n.call(kEqual, {best, n.builder().constant(Tensor::scalar_int(kInt64, 0))});
    const Expr signed_pivot = choose(first, pivot, n.call(kNegative, {pivot}));
    if (rows == 1) return signed_pivot;
    const Expr moved = choose(n.expand_dims(chosen, 2), n.slice(m, 1, 0, 1), m);
    const Expr rest = n.slice(moved, 1, 1, rows);
    const Expr divisor = choose(n.call(kEqual, {pivot, number(0)}), number(1), pivot);  // all are 0 then
    const Expr factor = n.call(kDivide, {n.slice(rest, 2, 0, 1), n.expand_dims(divisor, 2)});
    m = n.call(kSubtract, {n.slice(rest, 2, 1, rows), multiply(factor, n.slice(row, 2, 1, rows))});
    return signed_pivot;
  }
};

Results determinant(Node& n) {
  const Expr x = n.input(0);
  const std::vector<Dim> dims = dims_of(x);
  n.require(dims.size() >= 2, "its input must be matrices");
  const Dim rows = dims[dims.size() - 2];
  if (!rows.is_const() || !dims.back().is_const())
    n.unsupported("the extents of its matrices must be known", "fix the dynamic axes with --input-shapes");
  n.require(rows == dims.back(), "its matrices must be square");
  if (rows.value() > kMostRows)
    n.unsupported(cat("its matrices have ", show(rows), " rows, more than ", kMostRows),
                  "compute the determinant outside of the model");
  const std::vector<Dim> batch(dims.begin(), dims.end() - 2);
  const DType dtype = type_of(x).dtype, wide = dtype.bits < 32 ? kFloat32 : dtype;
  Elimination e{n, wide};
  Expr m = n.reshape(n.cast(x, wide), {product(batch), rows, rows});
  Expr all = n.call(kOnes, std::span<const Expr>(),
                    {{"shape", std::vector<Dim>{product(batch), Dim(1)}}, {"dtype", wide}});
  for (int64_t left = rows.value(); left > 0; --left) all = e.multiply(all, e.step(m, left));
  return {n.cast(n.reshape(all, batch), dtype)};
}

constexpr Row kRows[] = {
    {"Det", 11, determinant, "more than 64 rows, open extents of matrices"},
};

}  // namespace

std::span<const Row> determinant_rows() { return kRows; }

}  // namespace relay::frontend
