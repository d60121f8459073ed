// Det: determinants of matrices, by elimination.
#include "frontend/onnx/loops.h"
#include "op/tensor/common.h"

namespace relay::frontend {
namespace {

using namespace op;

// Each step of the elimination is a dozen operators: those of more rows, or of a number that only a
// run tells, are a loop.
constexpr int64_t kMostUnrolled = 64;

std::vector<AttrArg> along_rows() { return {{"axis", std::vector<int64_t>{1}}, {"keepdims", true}}; }

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
    const Expr best = n.cast(n.call(kArgmax, {n.call(kAbs, {column})}, along_rows()), kInt64);  // (batch, 1)
    const Expr place = n.places({Dim(rows)});
    const Expr chosen = n.call(kEqual, {place, best});  // (batch, rows)
    const auto sum = [&](Expr e) { return n.call(kSum, {e}, along_rows()); };
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

  // The same for column i of (batch, rows, rows) of which i rows and columns are done. It keeps its
  // extents; what is done is not read again.
  Expr step_at(Expr& m, Expr place, Expr i) {
    const Expr column = element(n, m, i, 2);  // (batch, rows)
    const Expr left = choose(n.call(kGreaterEqual, {place, i}), n.call(kAbs, {column}), number(-1));
    const Expr best = n.cast(n.call(kArgmax, {left}, along_rows()), kInt64);  // (batch, 1)
    const Expr chosen = n.call(kEqual, {place, best}), rows = n.expand_dims(chosen, 2);
    const auto sum = [&](Expr e) { return n.call(kSum, {e}, along_rows()); };
    const Expr pivot = sum(choose(chosen, column, number(0)));  // (batch, 1)
    const Expr row = sum(choose(rows, m, number(0)));           // (batch, 1, rows)
    const Expr moved = choose(rows, n.expand_dims(element(n, m, i, 1), 1), m);
    const Expr divisor = choose(n.call(kEqual, {pivot, number(0)}), number(1), pivot);
    const Expr factor =
        choose(n.call(kGreater, {place, i}), n.call(kDivide, {element(n, moved, i, 2), divisor}), number(0));
    m = n.call(kSubtract, {moved, multiply(n.expand_dims(factor, 2), row)});
    return choose(n.call(kEqual, {best, i}), pivot, n.call(kNegative, {pivot}));
  }

  Expr unrolled(Expr m, Expr all, int64_t rows) {
    for (int64_t left = rows; left > 0; --left) all = multiply(all, step(m, left));
    return all;
  }

  Expr looped(Expr m, Expr all, Dim rows) {
    LoopForm form;
    form.name = n.proto().name();
    const Expr place = form.hold(n, n.places({rows}));
    form.trips = form.hold(n, n.importer().materialise(rows));
    form.count = rows;
    form.states = {m, all};
    form.body = [&](Expr i, const std::vector<Expr>& states) -> std::optional<LoopStep> {
      LoopStep out;
      Expr rest = states[0];
      const Expr pivot = step_at(rest, place, i);
      out.states = {rest, multiply(states[1], pivot)};
      return out;
    };
    return (*make_loop(n, form))[1];
  }
};

Results determinant(Node& n) {
  std::vector<Dim> dims = dims_of(n.input(0));
  n.require(dims.size() >= 2, "its input must be matrices");
  const Dim rows = dims[dims.size() - 2];
  if (any_unknown(dims))
    n.unsupported("the shape of its input depends on the data", "fix the dynamic axes with --input-shapes");
  n.require(prove_equal(rows, dims.back()) != kernel::Proof::kRefuted, "its matrices must be square");
  dims.back() = rows;
  const Expr x = n.importer().match_extents(n.input(0), dims, "matrices");
  const std::vector<Dim> batch(dims.begin(), dims.end() - 2);
  const DType dtype = type_of(x).dtype, wide = dtype.bits < 32 ? kFloat32 : dtype;
  Elimination e{n, wide};
  const Expr m = n.reshape(n.cast(x, wide), {product(batch), rows, rows});
  const Expr one = n.call(kOnes, std::span<const Expr>(),
                          {{"shape", std::vector<Dim>{product(batch), Dim(1)}}, {"dtype", wide}});
  const bool is_short = rows.is_const() && rows.value() <= kMostUnrolled;
  const Expr all = is_short ? e.unrolled(m, one, rows.value()) : e.looped(m, one, rows);
  return {n.cast(n.reshape(all, batch), dtype)};
}

constexpr Row kRows[] = {
    {"Det", 11, determinant},
};

}  // namespace

std::span<const Row> determinant_rows() { return kRows; }

}  // namespace relay::frontend
