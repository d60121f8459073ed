// unique(x) = (values, first, inverse, count), or (values, first, inverse, count, counts)
//
// where values[g] is an element that x has, each once, in ascending order, or by first occurrence
// if not `sorted`; first[g] is the first place of it in x, inverse[i] the g of x[i], counts[g] how
// often x has it, and count[0] how many there are. Behind these, values, first and counts are 0, so
// that all shapes are known. NaN equals NaN here, as in numpy, and comes last; -0 equals 0.
//
//   (Tensor[(n), d]) -> (Tensor[(n), d], Tensor[(n), int32], Tensor[(n), int32], Tensor[(1), int32], ..)
//   C1: d is numeric.   C2: data has one axis.
#include "op/domain.h"
#include "op/ops.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

struct UniqueAttrs {
  bool sorted = true;
  bool return_counts = false;
  static constexpr auto kFields =
      fields(field("sorted", &UniqueAttrs::sorted, "in ascending order, else by first occurrence"),
             field("return_counts", &UniqueAttrs::return_counts, "the result has counts too"));
};

Type relate(Relation& r, const UniqueAttrs& a) {
  require(r, 0, Domain::kNumber);  // C1
  r.require_rank(0, 1);            // C2
  const TensorType& x = r.tensor(0);
  const Type places = r.tensor_of(dims_of(x), kInt32);
  std::vector<Type> out{&x, places, places, r.tensor_of({Dim(1)}, kInt32)};
  if (a.return_counts) out.push_back(places);
  return r.tuple_of(out);
}

Term as_int32(Term x) { return x.apply(kCast, {x}, {{"dtype", kInt32}}); }
Term picked(Term x, Term places) { return x.apply(kTake, {x, places}, {{"axis", int64_t{0}}}); }
Term put(Term to, Term places, Term updates, const char* how) {
  return to.apply(kScatterElements, {to, places, updates}, {{"reduction", std::string(how)}});
}

// Elements that differ; NaN differs from numbers only.
Term differs(Term x, Term y) {
  const Term unequal = x.apply(kNotEqual, {x, y});
  if (!x.dtype().is_float()) return unequal;
  const auto number = [](Term e) { return e.apply(kEqual, {e, e}); };
  return x.apply(kLogicalAnd, {unequal, x.apply(kLogicalOr, {number(x), number(y)})});
}

Expr expand(Builder& b, const UniqueAttrs& a, const Site& c) {
  const Term x(b, c.args[0]), order = x.apply(kArgsort, {x});
  const Term ones = order.apply(kOnesLike, {order}), zeros = order.apply(kZerosLike, {order});
  const Term place = x.apply(kCumsum, {ones}, {{"exclusive", true}, {"axis", int64_t{0}}});
  // In order, a group of equal elements begins where one differs from the one before.
  const Term in_order = picked(x, order);
  const Term before = picked(in_order, x.apply(kMaximum, {place - 1, zeros}));
  const Term begins = x.apply(kLogicalOr, {x.apply(kEqual, {place, zeros}), differs(in_order, before)});
  const Term group = x.apply(kCumsum, {as_int32(begins)}, {{"axis", int64_t{0}}}) - 1;
  const Term count = x.apply(kSum, {as_int32(begins)}, {{"axis", int64_t{0}}, {"keepdims", true}});

  // Behind the groups, `first` holds a place that comes after all others.
  Term inverse = put(zeros, order, group, "update");
  Term first = put(zeros + 2147483647, group, order, "min");
  Term counts = put(zeros, group, ones, "add");
  if (!a.sorted) {
    const Term by_place = x.apply(kArgsort, {first});
    inverse = picked(put(zeros, by_place, place, "update"), inverse);
    first = picked(first, by_place);
    counts = picked(counts, by_place);
  }
  const Term is_group = less(place, count);
  first = where(is_group, first, zeros);
  const Term values = where(is_group, picked(x, first), x.apply(kZerosLike, {x}));
  std::vector<Expr> out{values, first, inverse, count};
  if (a.return_counts) out.push_back(counts);
  return b.tuple(out);
}

}  // namespace

const OpDef kUnique = define<UniqueAttrs>({
    .name = "unique",
    .doc = "The elements that a vector has, each once, and where they stand.",
    .params = {{"data", "a vector"}},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
