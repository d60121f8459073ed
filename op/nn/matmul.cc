// Products of matrices: nn.dense, nn.matmul and nn.batch_matmul.
//
//   nn.dense(data, weight)[.., u] = sum over k of data[.., k] * weight[u, k]
//   nn.matmul(a, b)[.., n] = sum over k of a[.., k] * b[k, n]
//   nn.batch_matmul(a, b)[i, m, n] = sum over k of a[i, m, k] * b[i, k, n]
//
// where transpose_a and transpose_b exchange the last two axes of a and of b. Integers are
// multiplied and summed in the result's dtype, float16 and bfloat16 in float32.
#include "op/nn/matmul.h"

#include "base/cat.h"
#include "op/broadcast.h"
#include "op/domain.h"
#include "op/nn/convolution.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

//   (Tensor[(.., k), d], Tensor[(k, n), e]) -> Tensor[(.., n), out_dtype], with transpositions
//   C1: a is a numeric tensor of rank 1 or more; of rank 2 if it is transposed.
//   C2: out_dtype is floating if a is.
//   C3: b has rank 2 and the dtype of a (or both are integers and out_dtype is given).
//   C4: the lengths of the sums agree.   C5: b has as many columns as `units` says.
template <class A>
Type relate(Relation& r, const A& attrs) {
  const MatmulAttrs a = as_matmul(attrs);
  require(r, 0, Domain::kNumber);  // C1
  const TensorType& x = r.tensor(0);
  if (a.transpose_a) {
    r.require_rank(0, 2);  // C1
  } else {
    r.require_no_scalar(0);  // C1
  }
  const DType result = result_dtype(r, a.out_dtype);  // C2
  const Dim k = x.dims[a.transpose_a ? 0 : x.rank() - 1];
  Dim n;
  if (!r.known(1)) {
    if (!a.units) r.fail(1, "the type of the weight follows only if units is given", "ambiguous-type");
    n = *a.units;
    r.assign(1, r.tensor_of(a.transpose_b ? std::vector<Dim>{n, k} : std::vector<Dim>{k, n}, x.dtype));
  } else {
    r.require_rank(1, 2);                     // C3
    require_weight_dtype(r, a.out_dtype, 1);  // C3
    const TensorType& w = r.tensor(1);
    r.same(w.dims[a.transpose_b ? 1 : 0], k, 1, "the length of the sums", 0);  // C4
    n = w.dims[a.transpose_b ? 0 : 1];
    if (a.units) n = r.same(n, *a.units, 1, "units");  // C5
  }
  std::vector<Dim> out = dims_of(x);
  if (a.transpose_a) out[0] = x.dims[1];
  out.back() = n;
  return r.tensor_of(out, result);
}

//   (Tensor[(i, m, k), d], Tensor[(j, k, n), e]) -> Tensor[(max(i, j), m, n), out_dtype], with transpositions
//   C1: a is a numeric tensor of rank 3.   C2: out_dtype is floating if a is.
//   C3: b has rank 3 and the dtype of a (or both are integers and out_dtype is given).
//   C4: the lengths of the sums agree.   C5: the batches are equal, or one of them is 1.
Type relate_batch(Relation& r, const BatchMatmulAttrs& a) {
  require(r, 0, Domain::kNumber);                     // C1
  r.require_rank(0, 3);                               // C1
  const DType result = result_dtype(r, a.out_dtype);  // C2
  r.require_rank(1, 3);                               // C3
  require_weight_dtype(r, a.out_dtype, 1);            // C3
  const TensorType &x = r.tensor(0), &w = r.tensor(1);
  r.same(w.dims[a.transpose_b ? 2 : 1], x.dims[a.transpose_a ? 1 : 2], 1, "the length of the sums", 0);  // C4
  const std::vector<Dim> batch = r.broadcast(std::span(&x.dims[0], 1), std::span(&w.dims[0], 1), 0, 1);  // C5
  return r.tensor_of({batch[0], x.dims[a.transpose_a ? 2 : 1], w.dims[a.transpose_b ? 1 : 2]}, result);
}

// Both arguments as batches of matrices, for evaluation.
struct Matrices {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool a_repeats = false, b_repeats = false;  // one matrix for the whole batch
};

Matrices matrices(const MatmulAttrs& a, const Shape& x, const Shape& w, bool batched) {
  Matrices s;
  const size_t r = x.size();
  s.k = a.transpose_a ? x[r - 2] : x[r - 1];
  s.n = a.transpose_b ? w[w.size() - 2] : w[w.size() - 1];
  if (batched) {
    s.m = x[a.transpose_a ? 2 : 1];
    s.batch = x[0] == 1 ? w[0] : x[0];
    s.a_repeats = x[0] == 1, s.b_repeats = w[0] == 1;
  } else {
    s.m = 1;
    for (size_t d = 0; d + 1 < r; ++d) s.m *= x[a.transpose_a ? d + 1 : d];
  }
  return s;
}

template <class T>
std::vector<T> multiply(const Matrices& s, const MatmulAttrs& a, const std::vector<T>& x,
                        const std::vector<T>& w) {
  std::vector<T> y = work_list<T>(s.batch * s.m * s.n);
  for (int64_t i = 0; i < s.batch; ++i) {
    const int64_t from_a = s.a_repeats ? 0 : i * s.m * s.k, from_b = s.b_repeats ? 0 : i * s.k * s.n;
    for (int64_t m = 0; m < s.m; ++m) {
      for (int64_t n = 0; n < s.n; ++n) {
        T sum = 0;
        for (int64_t k = 0; k < s.k; ++k) {
          sum += x[static_cast<size_t>(from_a + (a.transpose_a ? k * s.m + m : m * s.k + k))] *
                 w[static_cast<size_t>(from_b + (a.transpose_b ? n * s.k + k : k * s.n + n))];
        }
        y[static_cast<size_t>((i * s.m + m) * s.n + n)] = sum;
      }
    }
  }
  return y;
}

template <class A>
void evaluate(const A& attrs, Args in, Results out, Sums sums) {
  const MatmulAttrs a = as_matmul(attrs);
  const Matrices s = matrices(a, in[0].shape(), in[1].shape(), std::is_same_v<A, BatchMatmulAttrs>);
  evaluate_products(in, out, sums, [&](const auto& x, const auto& w) { return multiply(s, a, x, w); });
}

Expr of_dtype(Builder& b, Expr x, DType d) {
  return tensor_type_of(x).dtype == d ? x : call(b, kCast, {x}, {{"dtype", d}});
}

// y = a b: da = dy b', db = a' dy, and their transposes where an argument is given transposed.
std::vector<Expr> products(Builder& b, const OpDef& op, const MatmulAttrs& a, Expr x, Expr w, Expr dy) {
  const auto product = [&](Expr p, bool transpose_p, Expr q, bool transpose_q) {
    return call(b, op, {p, q}, {{"transpose_a", transpose_p}, {"transpose_b", transpose_q}});
  };
  return {a.transpose_a ? product(w, a.transpose_b, dy, true) : product(dy, false, w, !a.transpose_b),
          a.transpose_b ? product(dy, true, x, a.transpose_a) : product(x, !a.transpose_a, dy, false)};
}

template <class A>
std::vector<Expr> differentiate(Builder& b, const A& attrs, const Site& s) {
  const MatmulAttrs a = as_matmul(attrs);
  const DType d = s.tensor(0).dtype;
  Expr x = s.args[0], dy = of_dtype(b, s.dy, d);
  const Expr w = of_dtype(b, s.args[1], d);
  if (s.tensor(0).rank() != 2) {  // as matrices
    const auto matrix = [&](Expr e) {
      const std::vector<Dim> dims = dims_of(tensor_type_of(e));
      Dim rows = product(std::span(dims).first(dims.size() - 1));
      if (rows.is_unknown()) rows = Dim(-1);
      if (!dims.back().is_unknown())
        return call(b, kReshape, {e},
                    {{"newshape", std::vector<Dim>{rows, dims.back()}}, {"allowzero", true}});
      // An unknown last extent is copied: -3 merges the first two axes, again and again.
      while (tensor_type_of(e).rank() > 2)
        e = call(b, kReshape, {e}, {{"newshape", std::vector<int64_t>{-3, -2}}});
      return tensor_type_of(e).rank() == 2 ? Expr(e) : call(b, kExpandDims, {e}, {{"axis", int64_t{0}}});
    };
    x = matrix(x), dy = matrix(dy);
  }
  const std::vector<Expr> both = products(b, kMatmul, a, x, w, dy);
  return {in_shape_of(b, both[0], s.args[0]), of_dtype(b, both[1], s.tensor(1).dtype)};
}

std::vector<Expr> differentiate_batch(Builder& b, const BatchMatmulAttrs& a, const Site& s) {
  const DType d = s.tensor(0).dtype;
  const std::vector<Expr> both =
      products(b, kBatchMatmul, as_matmul(a), s.args[0], of_dtype(b, s.args[1], d), of_dtype(b, s.dy, d));
  return {collapse_to(b, both[0], s.args[0]),
          of_dtype(b, collapse_to(b, both[1], s.args[1]), s.tensor(1).dtype)};
}

template <class A>
std::vector<kernel::Tensor> lower(kernel::Builder& k, const A& attrs, const Lowering& l) {
  constexpr bool kBatched = std::is_same_v<A, BatchMatmulAttrs>;
  const MatmulAttrs a = as_matmul(attrs);
  const kernel::Tensor &x = l.in[0], &w = l.in[1];
  const std::vector<kernel::Expr> shape = l.shape();
  const kernel::Expr length = x.dim(a.transpose_a ? x.rank() - 2 : x.rank() - 1);
  const DType sum = sum_dtype(x.dtype(), l.dtype());
  // Where the batch is broadcast, one of the two has a single matrix.
  const auto of_batch = [&](const kernel::Tensor& t, kernel::Expr i) {
    if (t.dim(0) == shape[0]) return i;
    if (t.dim(0).is_int(1)) return k.index(0);
    k.require_shape(logical_or(equal(t.dim(0), k.index(1)), equal(t.dim(0), shape[0])),
                    "shapes do not broadcast");
    return select(equal(t.dim(0), k.index(1)), k.index(0), i);
  };
  const kernel::Tensor y =
      k.reduce("matmul", sum, shape, {length}, k.sum(sum), [&](kernel::Indices i, kernel::Indices r) {
        std::vector<kernel::Expr> at_a(i.begin(), i.end() - 1), at_b{r[0], i.back()};
        at_a.push_back(r[0]);
        if (a.transpose_a) std::swap(at_a[at_a.size() - 2], at_a.back());
        if (a.transpose_b) std::swap(at_b[0], at_b[1]);
        if constexpr (kBatched) {
          at_a[0] = of_batch(x, i[0]);
          at_b.insert(at_b.begin(), of_batch(w, i[0]));
        }
        return cast(sum, x.at(at_a)) * cast(sum, w.at(at_b));
      });
  if (sum == l.dtype()) return {y};
  return {
      k.compute("matmul_end", l.dtype(), shape, [&](kernel::Indices i) { return cast(l.dtype(), y.at(i)); })};
}

template <class A>
int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const auto& dims = args[0]->as<TensorType>()->dims;
  const Dim k = dims[dims.size() - (as_matmul(read_attrs<A>(attrs)).transpose_a ? 2 : 1)];
  return k.is_const() ? k.value() : 1;
}

}  // namespace

const OpDef kDense = define<DenseAttrs>({
    .name = "nn.dense",
    .doc = "Each output is a weighted sum of the inputs: data times the transposed weight.",
    .params = {{"data", "vectors along the last axis"}, {"weight", "(units, inputs)"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length<DenseAttrs>},
    .refines = {1},
    .relate = relate<DenseAttrs>,
    .evaluate = evaluate<DenseAttrs>,
    .differentiate = differentiate<DenseAttrs>,
    .lower = lower<DenseAttrs>,
});

const OpDef kMatmul = define<MatmulAttrs>({
    .name = "nn.matmul",
    .doc = "The product of a tensor's vectors with a matrix.",
    .params = {{"tensor_a", "vectors along the last axis, or a matrix"}, {"tensor_b", "a matrix"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length<MatmulAttrs>},
    .refines = {1},
    .relate = relate<MatmulAttrs>,
    .evaluate = evaluate<MatmulAttrs>,
    .differentiate = differentiate<MatmulAttrs>,
    .lower = lower<MatmulAttrs>,
});

const OpDef kBatchMatmul = define<BatchMatmulAttrs>({
    .name = "nn.batch_matmul",
    .doc = "The products of two batches of matrices.",
    .params = {{"tensor_a", "a batch of matrices"}, {"tensor_b", "a batch of matrices"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length<BatchMatmulAttrs>},
    .relate = relate_batch,
    .evaluate = evaluate<BatchMatmulAttrs>,
    .differentiate = differentiate_batch,
    .lower = lower<BatchMatmulAttrs>,
});

}  // namespace relay::op
