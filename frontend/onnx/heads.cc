#include "frontend/onnx/heads.h"

#include <cmath>

#include "base/cat.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/loops.h"
#include "op/tensor/common.h"

namespace relay::frontend {

using namespace op;

namespace {

Expr places(Node& n, Dim count) {
  if (count.is_unknown()) n.unsupported("the number of its queries or keys depends on the data");
  return n.places({count});
}

Expr add(Node& n, Expr a, int64_t number) {
  return number == 0 ? a : n.call(kAdd, {a, n.builder().constant(Tensor::scalar_int(kInt64, number))});
}

// The extents of one attention. Successive heads of queries share a head of keys: to a product of
// matrices they are more rows of one matrix, so keys and values are never repeated.
struct Extents {
  Dim batch, heads, shared, queries, keys;
  Dim matrices, rows;  // batch * shared, and the queries of all heads that share one

  std::vector<Dim> of_scores() const { return {batch, heads, queries, keys}; }
};

// How many heads of queries share a head of keys. A run traps if they cannot.
Dim heads_for_one(Node& n, Dim heads, Dim shared) {
  const std::string wrong =
      cat("its ", show(heads), " heads of queries cannot share ", show(shared), " heads of keys");
  if (heads.is_const() && shared.is_const()) {
    n.require(shared.value() > 0 && heads.value() % shared.value() == 0, wrong);
    return heads.value() / shared.value();
  }
  Importer& importer = n.importer();
  const Expr of_queries = importer.materialise(heads), of_keys = importer.materialise(shared);
  const Expr zero = n.builder().constant(Tensor::scalar_int(kInt64, 0));
  const Expr fits = n.call(kEqual, {n.call(kFloorMod, {of_queries, of_keys}), zero});
  return named_number(n,
                      importer.demand(n.proto(), fits, wrong, n.call(kFloorDivide, {of_queries, of_keys})));
}

Extents extents_of(Node& n, const DotProducts& a) {
  const TensorType &q = type_of(a.q), &k = type_of(a.k), &v = type_of(a.v);
  n.require(q.rank() == 4 && k.rank() == 4 && v.rank() == 4,
            "its queries, keys and values must have batch, heads, steps and size");
  Extents e{q.dims[0], q.dims[1], k.dims[1], q.dims[2], k.dims[2], Dim(1), q.dims[2]};
  for (const Dim d : {e.batch, e.heads, e.shared, e.queries, e.keys, q.dims[3], v.dims[3]}) {
    if (d.is_unknown()) n.unsupported("the shape of its queries, keys or values depends on the data");
  }
  e.matrices = e.batch * e.shared;
  if (e.heads == e.shared) return e;
  e.rows = e.queries * heads_for_one(n, e.heads, e.shared);
  return e;
}

// The scale to the power of `exponent`, also where it follows from a size that only a run tells.
Expr scale_to(Node& n, const DotProducts& a, double exponent) {
  return scale_of(n, a.scale, type_of(a.q).dims[3], type_of(a.q).dtype, exponent);
}

}  // namespace

Expr split_heads(Node& n, Expr x, int64_t heads, std::string_view what) {
  const std::vector<Dim> dims = dims_of(x);
  n.require(dims.size() == 3, cat("its ", what, " must have batch, steps and width"));
  n.require(heads > 0 && heads < (int64_t{1} << 31),
            cat("the number of heads of its ", what, " is out of range"));
  if (dims[2].is_unknown()) n.unsupported(cat("the width of its ", what, " depends on the data"));
  n.require(
      !dims[2].is_const() || dims[2].value() % heads == 0,
      cat("the width of its ", what, ", ", show(dims[2]), ", cannot be divided into ", heads, " heads"));
  const Expr split = n.reshape(x, {dims[0], dims[1], Dim(heads), floor_div(dims[2], Dim(heads))});
  return n.transpose(split, {0, 2, 1, 3});
}

Expr join_heads(Node& n, Expr x) {
  const std::vector<Dim> dims = dims_of(x);
  return n.reshape(n.transpose(x, {0, 2, 1, 3}), {dims[0], dims[2], dims[1] * dims[3]});
}

Expr extent_of(Node& n, Expr x, size_t axis) { return extent(n, x, static_cast<int64_t>(axis)); }

Expr window_mask(Node& n, Dim queries, Dim keys, const KeyWindow& window) {
  if (!window.left && !window.right) return nullptr;
  Expr place = n.expand_dims(places(n, queries), 1);  // (queries, 1)
  if (window.before) {
    Expr before = n.cast(window.before, kInt64);
    if (type_of(before).rank() > 0) before = n.expand_dims(before, 1, 3);  // (batch, 1, 1, 1)
    place = n.call(kAdd, {before, place});
  }
  const Expr key = places(n, keys);
  Expr mask = nullptr;
  if (window.right) mask = n.call(kLessEqual, {key, add(n, place, *window.right)});
  if (window.left) {
    const Expr distance = n.call(kSubtract, {place, key});
    const Expr most = n.builder().constant(Tensor::scalar_int(kInt64, *window.left));
    mask = both_masks(n, mask, n.call(kLessEqual, {distance, most}));
  }
  return mask;
}

Expr length_mask(Node& n, Expr lengths, Dim keys) {
  n.require(type_of(lengths).rank() == 1, "its lengths must have one number for each element of the batch");
  return n.call(kLess, {places(n, keys), n.expand_dims(n.cast(lengths, kInt64), 1, 3)});
}

Expr both_masks(Node& n, Expr a, Expr b) { return a && b ? n.call(kLogicalAnd, {a, b}) : a ? a : b; }

Expr bias_of(Node& n, Expr mask, Expr added, DType dtype) {
  if (!mask) return added;
  return n.call(kWhere, {mask, added ? added : n.scalar(dtype, 0), n.scalar(dtype, kHidden)});
}

Attended attend(Node& n, const DotProducts& a) {
  const Extents e = extents_of(n, a);
  const DType dtype = type_of(a.q).dtype;
  const auto number = [&](double v) { return n.scalar(dtype, v); };
  const auto flat = [&](Expr x, Dim rows, Dim width) { return n.reshape(x, {e.matrices, rows, width}); };
  const Dim size = type_of(a.q).dims[3], width = type_of(a.v).dims[3];

  // Short floats overflow in the sums, so each factor is scaled by the root of it.
  Expr q = a.q, k = a.k;
  const bool early = dtype.bits < 32 && a.scale >= 0;
  if (early) {
    const Expr root = scale_to(n, a, 0.5);
    q = n.call(kMultiply, {q, root}), k = n.call(kMultiply, {k, root});
  }
  Expr scores = n.call(kBatchMatmul, {flat(q, e.rows, size), flat(k, e.keys, size)}, {{"transpose_b", true}});
  if (!early && a.scale != 1) scores = n.call(kMultiply, {scores, scale_to(n, a, 1)});
  Attended out;
  out.scores = scores = n.reshape(scores, e.of_scores());
  if (a.softcap != 0) {
    const Expr cap = number(a.softcap);
    scores = n.call(kMultiply, {n.call(kTanh, {n.call(kDivide, {scores, cap})}), cap});
  }
  out.capped = scores;
  if (a.bias) scores = n.call(kAdd, {scores, a.bias});
  if (a.change_scores) scores = a.change_scores(scores);
  out.biased = scores;
  const Expr wanted = n.cast(scores, a.softmax.value_or(dtype));
  Expr shares = n.cast(n.call(kSoftmax, {wanted}, {{"axis", int64_t{-1}}}), dtype);
  if (a.change_shares) shares = a.change_shares(shares);

  // Values of a wider dtype are summed in theirs.
  const DType wide = type_of(a.v).dtype.bits > dtype.bits ? type_of(a.v).dtype : dtype;
  const Expr weights = flat(n.cast(shares, wide), e.rows, e.keys);
  const Expr sums = n.call(kBatchMatmul, {weights, flat(n.cast(a.v, wide), e.keys, width)});
  const Expr y = n.cast(n.reshape(sums, {e.batch, e.heads, e.queries, width}), dtype);
  out.shares = shares, out.y = y;
  if (!a.bias || !a.can_hide) return out;
  const Expr highest = n.call(kMax, {a.bias}, {{"axis", std::vector<int64_t>{-1}}, {"keepdims", true}});
  const Expr seen = n.call(kNotEqual, {highest, n.scalar(type_of(a.bias).dtype, kHidden)});
  out.shares = n.call(kWhere, {seen, shares, number(0)});
  out.y = n.call(kWhere, {seen, y, number(0)});
  return out;
}

Expr scale_of(Node& n, double given, Dim size, DType dtype, double exponent) {
  const double scale = scale_of_heads(given, size);
  if (scale != 0) return n.scalar(dtype, std::pow(scale, exponent));
  const Expr extent = n.cast(n.importer().materialise(size), kFloat32);
  return n.cast(n.call(kPower, {extent, n.scalar(kFloat32, -exponent / 2)}), dtype);
}

double scale_of_heads(double given, Dim size) {
  return given != 0 || !size.is_const() ? given : 1 / std::sqrt(static_cast<double>(size.value()));
}

Expr rotate(Node& n, Expr x, Expr cosines, Expr sines, bool interleaved) {
  const std::vector<Dim> dims = dims_of(x);
  const size_t last = dims.size() - 1;
  const Dim all = dims[last], angles = type_of(cosines).dims[type_of(cosines).rank() - 1];
  // An open number of angles is that of all pairs.
  const Dim turned = angles.is_const() ? angles : floor_div(all, Dim(2)), both = turned * Dim(2);
  if (all.is_unknown() || angles.is_unknown()) n.unsupported("the size of its heads depends on the data");
  n.require(!all.is_const() || !both.is_const() || both.value() <= all.value(),
            cat("its heads of ", show(all), " elements have no ", show(turned), " pairs to turn"));
  const auto cut = [&](Dim begin, Dim end) {
    return sliced(n.builder(), x, static_cast<int64_t>(last), begin, end);
  };
  const Expr front = both == all ? x : cut(Dim(0), both);
  Expr pairs = nullptr, first, second;
  const auto axis = static_cast<int64_t>(last);
  if (interleaved) {
    std::vector<Dim> paired = dims;
    paired[last] = turned;
    paired.emplace_back(2);
    pairs = n.reshape(front, paired);
    const auto part = [&](int64_t i) { return n.squeeze(n.slice(pairs, last + 1, i, i + 1), {axis + 1}); };
    first = part(0), second = part(1);
  } else {
    first = cut(Dim(0), turned), second = cut(turned, both);
  }
  const auto product = [&](Expr a, Expr b) { return n.call(kMultiply, {a, b}); };
  const Expr real = n.call(kSubtract, {product(cosines, first), product(sines, second)});
  const Expr imaginary = n.call(kAdd, {product(sines, first), product(cosines, second)});
  std::vector<Expr> parts;
  if (interleaved) {
    const Expr stacked = n.call(kStack, {n.builder().tuple({real, imaginary})}, {{"axis", axis + 1}});
    std::vector<Dim> flat = dims_of(real);
    flat[last] = both;
    parts.push_back(n.reshape(stacked, flat));
  } else {
    parts = {real, imaginary};
  }
  if (both != all) parts.push_back(cut(both, all));
  return n.concatenate(parts, axis);
}

}  // namespace relay::frontend
