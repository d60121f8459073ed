// einsum((x_0, ..))[o..] = sum over the letters that o has not, of x_0[..] * x_1[..] * ..
//
// The equation has a letter for each axis of each tensor, and those of the result: "ij,jk->ik" is a
// product of matrices. Axes of one letter go together, so that "ii->i" is the diagonal. Three dots
// stand for all other axes, which broadcast: "...ij->...ji". Without an arrow, the result has the
// axes of the dots, then the letters that occur once, in alphabetic order. An extent
// of 1 is repeated.
//
// One loop nest multiplies all tensors, so its work is the product of the extents of all letters.
// Of more than two tensors, several equations may take less work than one.
//
//   (Tensor[s, d], ..) -> Tensor[extents of the result's letters, d]
//   C1: the equation is one, with a term for each tensor.
//   C2: all tensors have one dtype, a number's.
//   C3: each term has as many axes as its tensor.
//   C4: axes of one letter broadcast.
#include <algorithm>

#include "base/cat.h"
#include "op/domain.h"
#include "op/ops.h"
#include "op/reduce/equation.h"
#include "op/reduce/reduction.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

template <class Tensors>
Equation equation_of(const EinsumAttrs& a, const Tensors& tensors) {
  std::vector<size_t> ranks;
  for (const auto& t : tensors) {
    if constexpr (requires { t->rank(); }) {
      ranks.push_back(t->rank());
    } else {
      ranks.push_back(t.rank());
    }
  }
  return read_equation(a.equation, ranks);
}

Type relate(Relation& r, const EinsumAttrs& a) {
  const std::vector<const TensorType*> xs = r.tensors(0);
  r.require(!xs.empty(), 0, "expected at least one tensor");  // C1
  for (const TensorType* x : xs) {
    r.require(holds(Domain::kNumber, x->dtype) && x->dtype == xs[0]->dtype, 0,
              cat("expected numeric tensors of one dtype, found ", xs[0]->dtype.name(), " and ",
                  x->dtype.name()));  // C2
  }
  const Equation equation = equation_of(a, xs);  // C1, C3
  std::vector<Dim> extents(equation.labels, Dim(1));
  for (size_t n = 0; n < xs.size(); ++n) {
    for (size_t d = 0; d < xs[n]->rank(); ++d) {
      Dim& extent = extents[equation.terms[n][d]];
      extent = r.broadcast(std::span(&extent, 1), std::span(&xs[n]->dims[d], 1), kNoOther, 0)[0];  // C4
    }
  }
  std::vector<Dim> out;
  for (const size_t label : equation.result) out.push_back(extents[label]);
  return r.tensor_of(out, xs[0]->dtype);
}

// How far apart elements of a tensor are along each label; 0 where it has no such axis, or repeats.
std::vector<int64_t> steps_of(const Equation& e, size_t n, const Shape& shape) {
  std::vector<int64_t> out(e.labels, 0);
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1) out[e.terms[n][d]] += step;
    step *= shape[d];
  }
  return out;
}

template <class T, class Get, class Set>
void sum_products(const Equation& e, Args in, const Shape& result, const Get& get, const Set& set) {
  std::vector<int64_t> extents(e.labels, 1);
  std::vector<std::vector<int64_t>> steps;
  for (size_t n = 0; n < in.size(); ++n) {
    steps.push_back(steps_of(e, n, in[n].shape()));
    for (size_t d = 0; d < in[n].rank(); ++d) {
      if (in[n].shape()[d] != 1) extents[e.terms[n][d]] = in[n].shape()[d];
    }
  }
  const std::vector<size_t> summed = e.summed();
  Shape sums;
  for (const size_t label : summed) sums.push_back(extents[label]);
  int64_t to = 0;
  for_each_index(result, [&](const std::vector<int64_t>& i) {
    T sum = 0;
    for_each_index(sums, [&](const std::vector<int64_t>& r) {
      T term = 1;
      for (size_t n = 0; n < in.size(); ++n) {
        int64_t from = 0;
        for (size_t d = 0; d < i.size(); ++d) from += i[d] * steps[n][e.result[d]];
        for (size_t d = 0; d < r.size(); ++d) from += r[d] * steps[n][summed[d]];
        term *= get(in[n], from);
      }
      sum += term;
    });
    set(to++, sum);
  });
}

void evaluate(const EinsumAttrs& a, Args in, Results out, Sums sums) {
  const Equation e = equation_of(a, in);
  if (out[0].dtype().is_float()) {
    with_zero(sums, out[0].dtype(), [&](auto zero) {
      using T = decltype(zero);
      sum_products<T>(
          e, in, out[0].shape(), [](const Tensor& x, int64_t i) { return static_cast<T>(x.get(i)); },
          [&](int64_t i, T v) { out[0].set(i, v); });
    });
  } else {
    sum_products<uint64_t>(
        e, in, out[0].shape(), [](const Tensor& x, int64_t i) { return static_cast<uint64_t>(x.get_int(i)); },
        [&](int64_t i, uint64_t v) { out[0].set_int(i, static_cast<int64_t>(v)); });
  }
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const EinsumAttrs& a, const Lowering& c) {
  using kernel::Expr;
  const Equation e = equation_of(a, c.in);
  const DType wide = accumulator(c.dtype());
  const Expr zero = k.index(0), one = k.index(1);
  std::vector<Expr> extents(e.labels, one);
  for (size_t n = 0; n < c.in.size(); ++n) {
    for (size_t d = 0; d < c.in[n].rank(); ++d) {
      Expr& extent = extents[e.terms[n][d]];
      const Expr other = c.in[n].dim(d);
      if (!(extent == other)) extent = select(equal(extent, one), other, extent);
    }
  }
  const std::vector<size_t> summed = e.summed();
  std::vector<Expr> sums;
  for (const size_t label : summed) sums.push_back(extents[label]);
  const auto term = [&](kernel::Indices i, kernel::Indices r) {
    std::vector<Expr> at(e.labels, zero);
    for (size_t d = 0; d < i.size(); ++d) at[e.result[d]] = i[d];
    for (size_t d = 0; d < r.size(); ++d) at[summed[d]] = r[d];
    Expr product;
    for (size_t n = 0; n < c.in.size(); ++n) {
      std::vector<Expr> from;
      for (size_t d = 0; d < c.in[n].rank(); ++d) {
        const size_t label = e.terms[n][d];
        const Expr extent = c.in[n].dim(d);
        const bool whole = extent == extents[label];
        from.push_back(whole ? at[label] : select(equal(extent, one), zero, at[label]));
      }
      const Expr factor = cast(wide, c.in[n].at(from));
      product = product ? product * factor : factor;
    }
    return product;
  };
  if (summed.empty()) {
    return {k.compute("einsum", c.dtype(), c.shape(),
                      [&](kernel::Indices i) { return cast(c.dtype(), term(i, {})); })};
  }
  const kernel::Tensor y = k.reduce("einsum", wide, c.shape(), sums, k.sum(wide), term);
  if (wide == c.dtype()) return {y};
  return {
      k.compute("end", c.dtype(), c.shape(), [&](kernel::Indices i) { return cast(c.dtype(), y.at(i)); })};
}

// The gradient of one tensor is the sum of dy times all others, with that tensor's letters as the
// result. Ones in its place have the letters that occur nowhere else.
std::vector<Expr> differentiate(Builder& b, const EinsumAttrs& a, const Site& c) {
  const auto& types = *c.type(0)->as<TupleType>();
  const auto* tuple = c.args[0]->as<Tuple>();
  if (!tensor_type_of(c.y).dtype.is_float()) return {nullptr};
  std::vector<const TensorType*> tensors;
  for (const Type t : types.fields) tensors.push_back(t->as<TensorType>());
  const Equation e = equation_of(a, tensors);
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (e.labels > kLetters.size()) throw RelationError{kAttributes, "is not differentiable with so many axes"};
  const auto text = [&](const std::vector<size_t>& labels) {
    std::string out;
    for (const size_t label : labels) out += kLetters[label];
    return out;
  };
  std::vector<Expr> xs, adjoints;
  for (uint32_t n = 0; n < tensors.size(); ++n) xs.push_back(tuple ? tuple->fields[n] : b.proj(c.args[0], n));
  for (size_t n = 0; n < tensors.size(); ++n) {
    std::vector<size_t> sorted = e.terms[n];
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      throw RelationError{kAttributes, "is not differentiable where a tensor has a letter twice"};
    std::vector<Expr> factors{c.dy};
    std::string equation = text(e.result);
    for (size_t m = 0; m < tensors.size(); ++m) {
      factors.push_back(m == n ? call(b, kOnesLike, {xs[m]}) : xs[m]);
      equation += "," + text(e.terms[m]);
    }
    equation += "->" + text(e.terms[n]);
    const Expr dx = call(b, kEinsum, {b.tuple(factors)}, {{"equation", equation}});
    adjoints.push_back(dx->type == xs[n]->type ? dx : call(b, kCollapseSumLike, {dx, xs[n]}));
  }
  return {b.tuple(adjoints)};
}

// The terms of a sum, and a rounding for each further factor.
int64_t summed_length(std::span<const Type> args, const Attrs& attrs) {
  std::vector<const TensorType*> tensors;
  for (const Type t : args[0]->as<TupleType>()->fields) tensors.push_back(t->as<TensorType>());
  const Equation e = equation_of(read_attrs<EinsumAttrs>(attrs), tensors);
  std::vector<int64_t> extents(e.labels, 1);
  for (size_t n = 0; n < tensors.size(); ++n) {
    for (size_t d = 0; d < tensors[n]->rank(); ++d) {
      if (const Dim extent = tensors[n]->dims[d]; extent.is_const() && extent.value() != 1)
        extents[e.terms[n][d]] = extent.value();
    }
  }
  constexpr double kMost = 1e15;  // no run ends that adds up so many
  const auto factors = static_cast<double>(tensors.size());
  double terms = 1;
  for (const size_t label : e.summed()) terms *= static_cast<double>(extents[label]);
  return static_cast<int64_t>(std::min(terms + factors, kMost));
}

}  // namespace

const OpDef kEinsum = define<EinsumAttrs>({
    .name = "einsum",
    .doc = "Sums of products of tensors, whose axes go together as an equation says.",
    .params = {{"data", "a tuple of tensors"}},
    .fusion = Fusion::kReduction,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = summed_length},
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});

}  // namespace relay::op
