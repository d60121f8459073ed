// Operators that give the same elements in the same order another shape: reshape, reshape_like,
// expand_dims, squeeze.
#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "op/ops.h"
#include "op/tensor/common.h"
#include "op/tensor/reshape.h"

namespace relay::op {

bool ReshapeAttrs::is_extent(size_t i) const {
  return !newshape[i].is_const() ||
         std::find(extents.begin(), extents.end(), static_cast<int64_t>(i)) != extents.end();
}

namespace {

// All of them are evaluated, lowered and differentiated alike.
template <class A>
void evaluate_view(const A&, Args in, Results out) {
  out[0] = in[0].reshaped(out[0].shape());
}

template <class A>
std::vector<kernel::Tensor> lower_view(kernel::Builder& k, const A&, const Lowering& c) {
  const kernel::Tensor x = c.in[0];
  return {k.compute("reshape", c.dtype(), c.shape(), [&](kernel::Indices i) {
    return x.at(reindex(c.pool, c.arg_types[0]->dims, c.out_types[0]->dims, i));
  })};
}

template <class A>
std::vector<Expr> differentiate_view(Builder& b, const A&, const Site& c) {
  return {in_shape_of(b, c.dy, c.args[0])};
}

// --- reshape -------------------------------------------------------------------------------------

// A symbolic extent is an extent whatever it turns out to be.
std::vector<AttrArg> settle_reshape(const ReshapeAttrs& symbolic, const ReshapeAttrs& known) {
  std::vector<int64_t> extents = known.extents;
  for (size_t i = 0; i < known.newshape.size(); ++i) {
    const Dim d = known.newshape[i];
    if (symbolic.newshape[i].is_symbolic() && d.is_const() && d.value() <= 0)
      extents.push_back(static_cast<int64_t>(i));
  }
  if (extents == known.extents) return {};
  return {{"extents", extents}};
}

// Reads the codes from left to right, with the dims of the input beside them.
struct ReshapeReader {
  Relation& r;
  const TensorType& x;
  const ReshapeAttrs& a;
  std::vector<Dim> out = {};
  size_t next = 0;                          // the input dim that the next code is about
  std::optional<size_t> inferred = {};      // the result dim that is -1
  std::vector<Dim> input = {}, given = {};  // dims whose products must agree: what is copied is in neither
  bool empty = false;                       // a dim that is copied is 0: neither tensor has elements

  Dim take() {
    // C2: a code that speaks of a dim of the input finds one.
    if (next >= x.rank())
      r.fail(kAttributes, cat("newshape needs more dims than the ", x.rank(), " of its argument"));
    empty = empty || x.dims[next] == Dim(0);
    return x.dims[next++];
  }

  void put(Dim d) {
    out.push_back(d);
    given.push_back(d);
    if (next < x.rank()) input.push_back(x.dims[next++]);
  }

  // What was symbolic may not turn out to be negative, which would be a code.
  void require_extent(size_t i) {
    const Dim d = a.newshape[i];
    if (a.is_extent(i) && d.is_const() && d.value() < 0)
      r.fail(kAttributes, cat("the extent ", i, " of newshape is ", d.value()));  // C1
  }

  // -4: one dim becomes two.
  size_t split(size_t i) {
    if (i + 2 >= a.newshape.size())
      r.fail(kAttributes, "-4 in newshape must be followed by two extents");  // C1
    const Dim whole = take();
    Dim first = a.newshape[i + 1], second = a.newshape[i + 2];
    require_extent(i + 1);
    require_extent(i + 2);
    if (first == Dim(-1) && second == Dim(-1))
      r.fail(kAttributes, "-4 in newshape can infer one extent, not two");  // C1
    // What is inferred beside a 1 is the whole, whatever that is.
    const bool is_whole = (first == Dim(-1) && second == Dim(1)) || (first == Dim(1) && second == Dim(-1));
    if (first == Dim(-1)) first = floor_div(whole, second);
    if (second == Dim(-1)) second = floor_div(whole, first);
    for (Dim d : {first, second}) {
      if (d.is_const() && d.value() < 0)
        r.fail(kAttributes, "-4 in newshape must be followed by two extents");  // C1
    }
    if (!is_whole) r.same(whole, first * second, 0, "the dimension that -4 splits");  // C3
    out.push_back(first);
    out.push_back(second);
    return i + 2;
  }

  std::vector<Dim> read() {
    for (size_t i = 0; i < a.newshape.size(); ++i) {
      const Dim d = a.newshape[i];
      if (d.is_unknown()) r.fail(kAttributes, "newshape must not contain `?`");  // C1
      require_extent(i);
      if (a.is_extent(i) || d.value() > 0 || (d.value() == 0 && a.allowzero)) {
        put(d);
        continue;
      }
      switch (d.value()) {
        case 0: out.push_back(take()); break;
        case -1:
          if (inferred) r.fail(kAttributes, "newshape can have one -1, not two");  // C1
          inferred = out.size();
          out.push_back(Dim(1));
          if (next < x.rank()) input.push_back(x.dims[next++]);
          break;
        case -2:
          while (next < x.rank()) out.push_back(take());
          break;
        case -3: {
          const Dim first = take();
          out.push_back(first * take());
          break;
        }
        case -4: i = split(i); break;
        default:
          r.fail(kAttributes,
                 cat("newshape holds ", d.value(), ", which is neither an extent nor a code"));  // C1
      }
    }
    while (next < x.rank()) input.push_back(x.dims[next++]);
    const Dim before = product(input), after = product(given);
    if (after.is_unknown())
      r.fail(kAttributes, "the extents of newshape multiply to more than 63 bits");  // C3
    if (inferred) {
      if (after == Dim(0))
        r.fail(kAttributes, "-1 in newshape cannot be inferred: the other extents give 0 elements");  // C1
      const Dim exact = exact_quotient(before, after);
      out[*inferred] = exact.is_unknown() ? floor_div(before, after) : exact;
      if (after != Dim(1)) r.same(before, out[*inferred] * after, 0, "number of elements");  // C3
    } else if (!empty) {
      r.same(before, after, 0, "number of elements");  // C3
    }
    return out;
  }
};

// reshape(x)[i] = x[j], where i and j have one position in row-major order
//
//   (Tensor[s, d]) -> Tensor[newshape, d]
//   C1: newshape holds extents and codes, at most one of them -1; what is symbolic is an extent.
//   C2: codes find the dims they speak of.
//   C3: the number of elements stays the same; it does, whatever the other extents are, where a
//       dim of 0 is kept.
Type relate_reshape(Relation& r, const ReshapeAttrs& a) {
  const TensorType& x = r.tensor(0);
  return r.tensor_of(ReshapeReader{r, x, a}.read(), x.dtype);
}

// --- contrib_reverse_reshape ---------------------------------------------------------------------

// contrib_reverse_reshape(x)[i] = x[j], where i and j have one position in row-major order
//
// The codes of newshape are those of reshape, read from right to left: (10, 5, 4) with (-1, 0)
// becomes (50, 4), and not (40, 5). The code -4 reads what follows it, so it has no place here.
//
//   (Tensor[s, d]) -> Tensor[newshape, d]
//   C1: newshape holds extents and codes but -4, at most one of them -1; what is
//       symbolic is an extent.
//   C2: codes find the dims they speak of.   C3: the number of elements stays the same.
Type relate_reverse_reshape(Relation& r, const ReshapeAttrs& a) {
  const TensorType& x = r.tensor(0);
  const size_t n = a.newshape.size();
  for (size_t i = 0; i < n; ++i) {
    const bool splits = a.newshape[i] == Dim(-4) && !a.is_extent(i);
    r.require(!splits, kAttributes, "newshape must not hold the code -4, which reads to the right");  // C1
  }
  ReshapeAttrs turned = a;
  std::reverse(turned.newshape.begin(), turned.newshape.end());
  for (int64_t& place : turned.extents) place = static_cast<int64_t>(n) - 1 - place;
  std::vector<Dim> dims = dims_of(x);
  std::reverse(dims.begin(), dims.end());
  std::vector<Dim> out = ReshapeReader{r, *r.tensor_of(dims, x.dtype), turned}.read();
  std::reverse(out.begin(), out.end());
  return r.tensor_of(out, x.dtype);
}

// --- reshape_like --------------------------------------------------------------------------------

struct ReshapeLikeAttrs {
  int64_t lhs_begin = 0;
  std::optional<int64_t> lhs_end = {};
  int64_t rhs_begin = 0;
  std::optional<int64_t> rhs_end = {};
  static constexpr auto kFields =
      fields(field("lhs_begin", &ReshapeLikeAttrs::lhs_begin, "first dim of data that is replaced"),
             field("lhs_end", &ReshapeLikeAttrs::lhs_end, "end of the dims of data that are replaced"),
             field("rhs_begin", &ReshapeLikeAttrs::rhs_begin, "first dim of shape_like that replaces them"),
             field("rhs_end", &ReshapeLikeAttrs::rhs_end, "end of the dims of shape_like that replace them"));
};

// reshape_like(x, y)[i] = x[j], where i and j have one position in row-major order
//
//   (Tensor[s, d], Tensor[t, e]) -> Tensor[s with dims of t for a range of its own, d]
//   C1: both ranges of dims lie within their tensors.   C2: the number of elements stays the same.
Type relate_reshape_like(Relation& r, const ReshapeLikeAttrs& a) {
  const TensorType &x = r.tensor(0), &like = r.tensor(1);
  const auto bound = [&](int64_t at, size_t rank) {
    const auto n = static_cast<int64_t>(rank);
    const int64_t counted = at < 0 ? at + n : at;
    if (counted < 0 || counted > n)
      r.fail(kAttributes, cat("dim ", at, " is outside a tensor of rank ", rank));  // C1
    return static_cast<size_t>(counted);
  };
  const size_t l0 = bound(a.lhs_begin, x.rank()), l1 = a.lhs_end ? bound(*a.lhs_end, x.rank()) : x.rank();
  const size_t r0 = bound(a.rhs_begin, like.rank()),
               r1 = a.rhs_end ? bound(*a.rhs_end, like.rank()) : like.rank();
  if (l0 > l1 || r0 > r1) r.fail(kAttributes, "a range of dims ends before it begins");  // C1
  const std::vector<Dim> from = dims_of(x), by = dims_of(like);
  std::vector<Dim> out(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(l0));
  out.insert(out.end(), by.begin() + static_cast<std::ptrdiff_t>(r0),
             by.begin() + static_cast<std::ptrdiff_t>(r1));
  out.insert(out.end(), from.begin() + static_cast<std::ptrdiff_t>(l1), from.end());
  const Dim before = product(std::span(from).subspan(l0, l1 - l0)),
            after = product(std::span(by).subspan(r0, r1 - r0));
  r.same(before, after, 0, "number of elements", 1);  // C2
  return r.tensor_of(out, x.dtype);
}

std::vector<Expr> differentiate_reshape_like(Builder& b, const ReshapeLikeAttrs&, const Site& c) {
  return {in_shape_of(b, c.dy, c.args[0]), nullptr};
}

// --- expand_dims ---------------------------------------------------------------------------------

struct ExpandDimsAttrs {
  int64_t axis = 0;
  int64_t num_newaxis = 1;
  static constexpr auto kFields =
      fields(field("axis", &ExpandDimsAttrs::axis,
                   "where the first new axis stands in the result, or from the end if negative")
                 .required(),
             field("num_newaxis", &ExpandDimsAttrs::num_newaxis, "how many axes are inserted"));
};

// expand_dims(x)[a.., 0, .., 0, c..] = x[a.., c..], with the first 0 at `axis`
//
//   (Tensor[(a.., c..), d]) -> Tensor[(a.., 1, .., 1, c..), d]
//   C1: axis is in [-rank - 1, rank].   C2: num_newaxis is not negative.
Type relate_expand_dims(Relation& r, const ExpandDimsAttrs& a) {
  constexpr int64_t kMost = 1024;  // a shape that no program needs, and that a hostile one cannot grow beyond
  const TensorType& x = r.tensor(0);
  r.require(a.num_newaxis >= 0 && a.num_newaxis <= kMost, kAttributes,
            cat("num_newaxis must be in [0, ", kMost, "]"));  // C2
  const size_t axis = r.axis(a.axis, x.rank() + 1);           // C1
  std::vector<Dim> out = dims_of(x);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<size_t>(a.num_newaxis), Dim(1));
  return r.tensor_of(out, x.dtype);
}

// --- squeeze -------------------------------------------------------------------------------------

struct SqueezeAttrs {
  std::optional<std::vector<int64_t>> axis = {};
  static constexpr auto kFields = fields(
      field("axis", &SqueezeAttrs::axis, "axes to remove, from the end if negative; None: all of extent 1"));
};

// squeeze(x)[i] = x[j], where j is i with 0 at the axes that go
//
//   (Tensor[s, d]) -> Tensor[s without these axes, d]
//   C1: axes are in [-rank, rank) and distinct.
//   C2: each has extent 1.
//   C3: without axes, every extent is a constant.
Type relate_squeeze(Relation& r, const SqueezeAttrs& a) {
  const TensorType& x = r.tensor(0);
  std::vector<size_t> gone;
  if (a.axis) {
    gone = distinct_axes(r, *a.axis, x.rank());                                                     // C1
    for (size_t d : gone) r.same(x.dims[d], Dim(1), 0, cat("the dimension that is removed, ", d));  // C2
  } else {
    for (size_t d = 0; d < x.rank(); ++d) {
      if (!x.dims[d].is_const()) {
        r.fail(kAttributes, cat("axis is needed: dimension ", d, ", ", relay::show(x.dims[d]),
                                ", may or may not be 1"));  // C3
      }
      if (x.dims[d] == Dim(1)) gone.push_back(d);
    }
  }
  std::vector<Dim> out;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (std::find(gone.begin(), gone.end(), d) == gone.end()) out.push_back(x.dims[d]);
  }
  return r.tensor_of(out, x.dtype);
}

}  // namespace

const OpDef kReshape = define<ReshapeAttrs>({
    .name = "reshape",
    .doc = "The same elements, in the same order, in another shape.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kInjective,
    .view = true,
    .relate = relate_reshape,
    .evaluate = evaluate_view,
    .differentiate = differentiate_view,
    .lower = lower_view,
    .settle = settle_reshape,
});

const OpDef kContribReverseReshape = define<ReshapeAttrs>({
    .name = "contrib_reverse_reshape",
    .doc = "The same as reshape, with a new shape that is read from right to left.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kInjective,
    .view = true,
    .relate = relate_reverse_reshape,
    .evaluate = evaluate_view,
    .differentiate = differentiate_view,
    .lower = lower_view,
    .settle = settle_reshape,
});

const OpDef kReshapeLike = define<ReshapeLikeAttrs>({
    .name = "reshape_like",
    .doc = "The elements of one tensor in the shape of another, or in a part of it.",
    .params = {{"data", "any tensor"}, {"shape_like", "only its shape matters"}},
    .fusion = Fusion::kInjective,
    .view = true,
    .relate = relate_reshape_like,
    .evaluate = evaluate_view,
    .differentiate = differentiate_reshape_like,
    .lower = lower_view,
});

const OpDef kExpandDims = define<ExpandDimsAttrs>({
    .name = "expand_dims",
    .doc = "Insert axes of extent 1.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kBroadcast,
    .view = true,
    .relate = relate_expand_dims,
    .evaluate = evaluate_view,
    .differentiate = differentiate_view,
    .lower = lower_view,
});

const OpDef kSqueeze = define<SqueezeAttrs>({
    .name = "squeeze",
    .doc = "Remove axes of extent 1.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kInjective,
    .view = true,
    .relate = relate_squeeze,
    .evaluate = evaluate_view,
    .differentiate = differentiate_view,
    .lower = lower_view,
});

}  // namespace relay::op
