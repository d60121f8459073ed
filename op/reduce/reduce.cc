// Reductions: y[o] = the combination of all x[i] whose indices agree with o outside of
// the reduced axes.
//
//   (Tensor[s, d]) -> Tensor[s without the reduced axes (or with 1 there, if keepdims), d]
//   C1: d is <domain>.   C2: every axis is in [-rank, rank).   C3: no axis is named twice.
//
// Over no elements a sum is 0, a product 1, a maximum the least value of the dtype
// (runtime/extremes.h), a mean NaN.
#include "op/reduce/reduction.h"

#include <cmath>

#include "op/domain.h"
#include "runtime/extremes.h"

namespace relay::op {
namespace {

// Combines the floating-point elements of one group: in double, or in float where
// sums are taken so.
struct RealRule {
  double (*in_double)(DType d, std::span<const double> x) = nullptr;
  float (*in_float)(DType d, std::span<const float> x) = nullptr;

  RealRule() = default;
  template <class F>
  RealRule(F)  // NOLINT: F takes either span
      : in_double([](DType d, std::span<const double> x) { return F{}(d, x); }),
        in_float([](DType d, std::span<const float> x) { return F{}(d, x); }) {}
  double operator()(DType d, std::span<const double> x) const { return in_double(d, x); }
  float operator()(DType d, std::span<const float> x) const { return in_float(d, x); }
};

struct Reduction {
  std::string name, doc;
  RealRule real = {};
  // Over the elements of one group: integers and booleans as 64-bit integers.
  int64_t (*integer)(DType d, std::span<const int64_t> x) = nullptr;
  kernel::Reducer (*reducer)(kernel::Builder& k, DType d) = nullptr;
  bool sums = false;  // accumulates: narrow floating-point dtypes are computed in float32
  bool mean = false;  // divided by the number of elements at the end
  std::vector<Expr> (*differentiate)(Builder& b, const ReduceAttrs& a, const Site& c) = nullptr;
  Domain domain = Domain::kNumber;
  Tolerance tolerance = {};
  std::string not_differentiable = {};
};

OpDef reduction(const Reduction& f) {
  OpDef d = define<ReduceAttrs>({
      .name = f.name,
      .doc = f.doc,
      .params = {{"data", "the input"}},
      .fusion = Fusion::kReduction,
      .tolerance = f.tolerance,
      .not_differentiable = f.not_differentiable,
      .differentiate = f.differentiate,
  });
  d.relate = [f](Relation& r, const Attrs& attrs) -> Type {
    require(r, 0, f.domain);                                                    // C1
    return reduced_type(r, read_attrs<ReduceAttrs>(attrs), r.tensor(0).dtype);  // C2, C3
  };
  d.by_rows = [](const Attrs& attrs, size_t rank) {
    const ReduceAttrs a = read_attrs<ReduceAttrs>(attrs);
    std::vector<bool> last(rank, false);
    if (rank > 0) last.back() = true;
    return a.keepdims && rank > 0 && reduced_axes(a, rank) == last;
  };
  d.evaluate = [f](const Attrs& attrs, Args in, Results out, Sums sums) {
    const Tensor& x = in[0];
    const Groups g = groups(x.shape(), reduced_axes(read_attrs<ReduceAttrs>(attrs), x.rank()));
    if (x.dtype().is_float()) {
      with_zero(sums, x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        std::vector<T> group(g.step.size());
        for (size_t o = 0; o < g.start.size(); ++o) {
          for (size_t r = 0; r < group.size(); ++r) group[r] = static_cast<T>(x.get(g.start[o] + g.step[r]));
          out[0].set(static_cast<int64_t>(o), f.real(x.dtype(), std::span<const T>(group)));
        }
      });
    } else {
      std::vector<int64_t> group(g.step.size());
      for (size_t o = 0; o < g.start.size(); ++o) {
        for (size_t r = 0; r < group.size(); ++r) group[r] = x.get_int(g.start[o] + g.step[r]);
        out[0].set_int(static_cast<int64_t>(o), f.integer(x.dtype(), group));
      }
    }
  };
  d.lower = [f](kernel::Builder& k, const Attrs& attrs, const Lowering& c) -> std::vector<kernel::Tensor> {
    const ReduceAttrs a = read_attrs<ReduceAttrs>(attrs);
    const kernel::Tensor& x = c.in[0];
    const std::vector<bool> reduced = reduced_axes(a, x.rank());
    const std::vector<kernel::Expr> extents = reduced_extents(x, reduced);
    const DType wide = f.sums ? accumulator(x.dtype()) : x.dtype();
    const kernel::Tensor y = k.reduce(f.name, wide, c.shape(), extents, f.reducer(k, wide),
                                      [&](kernel::Indices i, kernel::Indices r) {
                                        return cast(wide, reduced_at(x, reduced, a.keepdims, i, r));
                                      });
    if (wide == c.dtype() && !f.mean) return {y};
    return {k.compute(f.name + "_end", c.dtype(), c.shape(), [&](kernel::Indices i) {
      kernel::Expr value = y.at(i), n = k.index(1);
      for (const kernel::Expr extent : extents) n = n * extent;
      return cast(c.dtype(), f.mean ? value / cast(wide, n) : value);
    })};
  };
  return d;
}

template <class T, class F>
T fold(std::span<const T> x, T start, const F& f) {
  for (const T& v : x) start = f(start, v);
  return start;
}

template <class T>
T sum(std::span<const T> x) {
  return fold(x, T(0), [](T a, T b) { return a + b; });
}
int64_t wrapping_sum(DType, std::span<const int64_t> x) {
  return fold(x, int64_t{0}, [](int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  });
}
int64_t wrapping_product(DType, std::span<const int64_t> x) {
  return fold(x, int64_t{1}, [](int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  });
}

bool less(DType d, int64_t a, int64_t b) {
  return d.is_signed_int() ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
}
// The ends of the dtype's range; of unsigned 64-bit integers by their bits.
int64_t least(DType d) {
  if (!d.is_signed_int()) return 0;
  return d.bits == 64 ? INT64_MIN : -(int64_t{1} << (d.bits - 1));
}
int64_t greatest(DType d) { return d.is_signed_int() || d.bits < 64 ? ~least(d) & INT64_MAX : -1; }

// dx = dy, wherever it went
std::vector<Expr> differentiate_sum(Builder& b, const ReduceAttrs& a, const Site& c) {
  return {spread(b, a, c.dy, c.args[0])};
}
std::vector<Expr> differentiate_mean(Builder& b, const ReduceAttrs& a, const Site& c) {
  return {spread(b, a, c.dy, c.args[0]) / count(b, a, c.args[0])};
}
// The adjoint goes to the elements that are the extremum, in equal shares.
std::vector<Expr> differentiate_extremum(Builder& b, const ReduceAttrs& a, const Site& c) {
  const Term x(b, c.args[0]), hit = x.apply(kEqual, {x, spread(b, a, c.y, x)});
  const Term share = where(hit, x.number(1), x.number(0));
  const Term shares = spread(b, a, call(b, kSum, {share}, arguments(a)), x);
  return {spread(b, a, c.dy, x) * share / shares};
}
// The product of the others: y / x where nothing is zero, and something else than 0 only for the
// one zero where there is one.
std::vector<Expr> differentiate_product(Builder& b, const ReduceAttrs& a, const Site& c) {
  const Term x(b, c.args[0]), one = x.number(1), none = x.number(0);
  const Term is_zero = x.apply(kEqual, {x, none});
  const Term factor = where(is_zero, one, x), zero = where(is_zero, one, none);
  const Term product = spread(b, a, call(b, kProd, {factor}, arguments(a)), x);
  const Term other_zeros = spread(b, a, call(b, kSum, {zero}, arguments(a)), x) - zero;
  return {spread(b, a, c.dy, x) * where(x.apply(kEqual, {other_zeros, none}), product / factor, none)};
}

constexpr auto kBooleanResult = "the result is boolean";
const Tolerance kSumOfTerms = {.kind = Tolerance::Kind::kReduction, .length = reduced_length<ReduceAttrs>};

}  // namespace

// sum(x)[o] = the sum of all x[i] where i agrees with o outside of the reduced axes
const OpDef kSum = reduction({
    .name = "sum",
    .doc = "The sum over some axes.",
    .real = [](DType, auto x) { return sum(x); },
    .integer = wrapping_sum,
    .reducer = [](kernel::Builder& k, DType d) { return k.sum(d); },
    .sums = true,
    .differentiate = differentiate_sum,
    .tolerance = kSumOfTerms,
});

// mean(x)[o] = the sum of all x[i] divided by their number, where i agrees with o outside of the reduced axes
const OpDef kMean = reduction({
    .name = "mean",
    .doc = "The arithmetic mean over some axes.",
    .real = []<class T>(DType, std::span<const T> x) { return sum(x) / static_cast<T>(x.size()); },
    .reducer = [](kernel::Builder& k, DType d) { return k.sum(d); },
    .sums = true,
    .mean = true,
    .differentiate = differentiate_mean,
    .domain = Domain::kFloat,
    .tolerance = kSumOfTerms,
});

// prod(x)[o] = the product of all x[i] where i agrees with o outside of the reduced axes
const OpDef kProd = reduction({
    .name = "prod",
    .doc = "The product over some axes.",
    .real = []<class T>(DType,
                        std::span<const T> x) { return fold(x, T(1), [](T a, T b) { return a * b; }); },
    .integer = wrapping_product,
    .reducer = [](kernel::Builder& k, DType d) { return k.product(d); },
    .sums = true,
    .differentiate = differentiate_product,
    .tolerance = {.kind = Tolerance::Kind::kReduction,
                  .length = reduced_length<ReduceAttrs>,
                  .magnitude = Tolerance::Magnitude::kResult},
});

// max(x)[o] = the largest x[i] where i agrees with o outside of the reduced axes
const OpDef kMax = reduction({
    .name = "max",
    .doc = "The largest element along some axes; NaN if any element is.",
    .real =
        []<class T>(DType d, std::span<const T> x) {
          return fold<T>(x, static_cast<T>(least_real(d)), [](T a, T b) -> T {
            return std::isnan(a) || std::isnan(b) ? NAN : a < b ? b : a;
          });
        },
    .integer =
        [](DType d, std::span<const int64_t> x) {
          return fold(x, least(d), [d](int64_t a, int64_t b) { return less(d, a, b) ? b : a; });
        },
    .reducer = [](kernel::Builder& k, DType d) { return k.maximum(d); },
    .differentiate = differentiate_extremum,
});

// min(x)[o] = the smallest x[i] where i agrees with o outside of the reduced axes
const OpDef kMin = reduction({
    .name = "min",
    .doc = "The smallest element along some axes; NaN if any element is.",
    .real =
        []<class T>(DType d, std::span<const T> x) {
          return fold<T>(x, static_cast<T>(greatest_real(d)), [](T a, T b) -> T {
            return std::isnan(a) || std::isnan(b) ? NAN : b < a ? b : a;
          });
        },
    .integer =
        [](DType d, std::span<const int64_t> x) {
          return fold(x, greatest(d), [d](int64_t a, int64_t b) { return less(d, b, a) ? b : a; });
        },
    .reducer = [](kernel::Builder& k, DType d) { return k.minimum(d); },
    .differentiate = differentiate_extremum,
});

// all(x)[o] = whether each x[i] is true where i agrees with o outside of the reduced axes
const OpDef kAll = reduction({
    .name = "all",
    .doc = "Whether every element along some axes is true.",
    .integer =
        [](DType, std::span<const int64_t> x) {
          return fold(x, int64_t{1}, [](int64_t a, int64_t b) -> int64_t { return a && b; });
        },
    .reducer = [](kernel::Builder& k, DType) { return k.all(); },
    .domain = Domain::kBool,
    .not_differentiable = kBooleanResult,
});

// any(x)[o] = whether some x[i] is true where i agrees with o outside of the reduced axes
const OpDef kAny = reduction({
    .name = "any",
    .doc = "Whether at least one element along some axes is true.",
    .integer =
        [](DType, std::span<const int64_t> x) {
          return fold(x, int64_t{0}, [](int64_t a, int64_t b) -> int64_t { return a || b; });
        },
    .reducer = [](kernel::Builder& k, DType) { return k.any(); },
    .domain = Domain::kBool,
    .not_differentiable = kBooleanResult,
});

}  // namespace relay::op
