// image.affine_grid(data)[n, k, y, x] = data[n, k, 0] * x' + data[n, k, 1] * y' + data[n, k, 2]
//
//   where x' = 2 x / (w - 1) - 1 goes from -1 to 1, and is 0 if w = 1; so does y'
//
//   (Tensor[(n, 2, 3), d]) -> Tensor[(n, 2, h, w), d]
//   C1: data has rank 3 and a floating-point dtype.
//   C2: target_shape is two positive extents, or three for a volume, which has a z' as well.
//   C3: a matrix has a row for each axis, and a column more.
#include <array>
#include <cmath>

#include "base/cat.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/nn/window.h"
#include "op/reduce/reduction.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct AffineGridAttrs {
  std::vector<Dim> target_shape = {};
  static constexpr auto kFields =
      fields(field("target_shape", &AffineGridAttrs::target_shape, "the extents of the grid, outermost first")
                 .required());
};

Type relate(Relation& r, const AffineGridAttrs& a) {
  r.require_rank(0, 3);           // C1
  require(r, 0, Domain::kFloat);  // C1
  const TensorType& x = r.tensor(0);
  const size_t axes = a.target_shape.size();
  r.require(axes == 2 || axes == 3, kAttributes,
            cat("target_shape must be 2 or 3 extents, not ", axes));     // C2
  for (const Dim d : a.target_shape) require_extent("target_shape", d);  // C2
  const Dim rows(static_cast<int64_t>(axes));
  r.same(x.dims[1], rows, 0, "number of rows");         // C3
  r.same(x.dims[2], rows + 1, 0, "number of columns");  // C3
  std::vector<Dim> out{x.dims[0], rows};
  out.insert(out.end(), a.target_shape.begin(), a.target_shape.end());
  return r.tensor_of(out, x.dtype);
}

// Calls f(column, axis) for each column of a matrix and the axis of the result that it is for, but
// for the last one, which is for none.
template <class F>
void for_each_column(size_t rank, const F& f) {
  for (size_t column = 0; column + 2 < rank; ++column) f(column, rank - 1 - column);
}

template <class F>
void sum_terms(Args in, Results out, const F& change) {
  const Tensor& x = in[0];
  const Shape& shape = out[0].shape();
  int64_t number = 0;
  for_each_index(shape, [&](const std::vector<int64_t>& i) {
    const auto element = [&](size_t column) {
      const int64_t at[] = {i[0], i[1], static_cast<int64_t>(column)};
      return x.get(offset_of(x.shape(), at));
    };
    double sum = change(element(shape.size() - 2));
    for_each_column(shape.size(), [&](size_t column, size_t axis) {
      const int64_t last = shape[axis] - 1;
      const double place =
          static_cast<double>(2 * i[axis] - last) / static_cast<double>(std::max<int64_t>(last, 1));
      sum += change(element(column) * place);
    });
    out[0].set(number++, sum);
  });
}

void evaluate(const AffineGridAttrs&, Args in, Results out) {
  sum_terms(in, out, [](double term) { return term; });
}

void terms(const Attrs&, std::span<const Tensor> in, std::span<Tensor> out) {
  sum_terms(in, out, [](double term) { return std::fabs(term); });
}

int64_t length(std::span<const Type>, const Attrs&) { return 8; }

std::vector<kernel::Tensor> lower(kernel::Builder& k, const AffineGridAttrs&, const Lowering& c) {
  const kernel::Tensor& x = c.in[0];
  const DType wide = accumulator(c.dtype());
  const std::vector<kernel::Expr> shape = c.shape();
  return {k.compute("affine_grid", c.dtype(), shape, [&](kernel::Indices i) {
    const auto element = [&](size_t column) {
      return cast(wide, x(i[0], i[1], k.index(static_cast<int64_t>(column))));
    };
    kernel::Expr sum = element(shape.size() - 2);
    for_each_column(shape.size(), [&](size_t column, size_t axis) {
      const kernel::Expr last = shape[axis] - 1;
      const kernel::Expr place = cast(wide, i[axis] * 2 - last) / cast(wide, max(last, k.index(1)));
      sum = sum + element(column) * place;
    });
    return cast(c.dtype(), sum);
  })};
}

}  // namespace

const OpDef kAffineGrid = define<AffineGridAttrs>({
    .name = "image.affine_grid",
    .doc = "The places, from -1 to 1, that an affine map gives for a grid of the same range.",
    .params = {{"data", "a matrix for each image: a row for each axis, x first"}},
    .fusion = Fusion::kInjective,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length, .terms = terms},
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
