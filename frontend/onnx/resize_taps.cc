#include "frontend/onnx/resize_taps.h"

#include <algorithm>
#include <cmath>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/repeat.h"
#include "op/term.h"

namespace relay::frontend {
namespace {

using namespace op;

Term floor(Term x) { return x.apply(kFloor, {x}); }
Term ceil(Term x) { return x.apply(kCeil, {x}); }
Term absolute(Term x) { return x.apply(kAbs, {x}); }
Term maximum(Term x, double y) { return x.apply(kMaximum, {x, x.number(y)}); }
Term minimum(Term x, double y) { return x.apply(kMinimum, {x, x.number(y)}); }
Term either(Term x, Term y) { return x.apply(kLogicalOr, {x, y}); }

// One axis, with what all its taps share.
class Resizer {
 public:
  Resizer(Node& n, const ResizeForm& form, const ResizedAxis& axis)
      : n_(n),
        form_(form),
        axis_(axis),
        from_(term(real_extent(n, axis.from))),
        to_(term(real_extent(n, axis.to))),
        scale_(term(axis.scale)),
        narrow_(form.antialias ? minimum(scale_, 1) : scale_.number(1)),
        place_(place()) {}

  Expr resized(Expr x);

 private:
  Term term(Expr e) const { return {n_.builder(), e}; }
  Term place();
  Term nearest() const;
  Term weight(Term at) const;
  Expr tap(Expr x, Term at, Expr weight) const;
  Expr sum_of_taps(Expr x, Term first, int64_t count) const;
  Expr sum_of_taps(Expr x, Term first, Term count) const;
  Expr along(Expr numbers, Expr like) const;

  Node& n_;
  const ResizeForm& form_;
  const ResizedAxis& axis_;
  Term from_, to_, scale_;
  Term narrow_;  // against aliasing, the filter is as wide as the distance of the places
  Expr outside_ = nullptr;
  Term place_;
};

// Where the elements of the result lie in the input: a vector.
Term Resizer::place() {
  const Expr count =
      n_.call(kIota, std::span<const Expr>(),
              {{"shape", std::vector<Dim>{axis_.to}}, {"axis", int64_t{0}}, {"dtype", kInt64}});
  const Term x = term(n_.cast(count, kFloat64));
  const std::string& form = form_.coordinates;
  if (form == "asymmetric") return x / scale_;
  if (form == "tf_half_pixel_for_nn") return (x + 0.5) / scale_;
  // The extent of the result before it is rounded, as in ONNX's own test cases.
  Term length = scale_ * from_;
  if (form == "align_corners")
    return where(less(length.number(1), length), x * (from_ - 1) / (length - 1), x.number(0));
  if (form == "tf_crop_and_resize") {
    const Term start = term(axis_.start), end = term(axis_.end);
    length = length * (end - start);
    const Term many = start * (from_ - 1) + x * (end - start) * (from_ - 1) / (length - 1);
    const Term e = where(less(to_.number(1), to_), many, 0.5 * (start + end) * (from_ - 1));
    outside_ = folded(n_, either(less(e, e.number(0)), less(from_ - 1, e)));
    return where(term(outside_), e.number(0), e);
  }
  const Term half = (x + 0.5) / scale_ - 0.5;
  if (form == "pytorch_half_pixel") return where(less(to_.number(1), to_), half, x.number(0));
  // What rounding has cut off is cut off at both ends.
  if (form == "half_pixel_symmetric") return from_ / 2 * (1 - to_ / (from_ * scale_)) + half;
  return half;
}

Term Resizer::nearest() const {
  if (form_.nearest == "floor") return floor(place_);
  if (form_.nearest == "ceil") return ceil(place_);
  return form_.nearest == "round_prefer_ceil" ? floor(place_ + 0.5) : ceil(place_ - 0.5);
}

// What the elements at these positions weigh, before their sum becomes 1.
Term Resizer::weight(Term at) const {
  const Term x = absolute((at - place_) * narrow_);
  Term weight = maximum(1 - x, 0);
  if (form_.mode == "cubic") {
    const double a = form_.cubic;
    const Term near = ((a + 2) * x - (a + 3)) * x * x + 1, far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    weight = where(less(x.number(1), x), where(less(x, x.number(2)), far, x.number(0)), near);
  }
  if (!form_.exclude_outside) return weight;
  return where(either(less(at, at.number(0)), less(from_ - 1, at)), weight.number(0), weight);
}

// Numbers along the axis, to broadcast with the tensor.
Expr Resizer::along(Expr numbers, Expr like) const {
  const auto behind = static_cast<int64_t>(type_of(like).rank() - axis_.axis - 1);
  return behind == 0 ? numbers : n_.expand_dims(numbers, 1, behind);
}

// The elements at these positions; times their weights, if there are any.
Expr Resizer::tap(Expr x, Term at, Expr weight) const {
  const Term inside = at.apply(kMinimum, {maximum(at, 0), from_ - 1});
  const Expr part = n_.call(kTake, {x, folded(n_, n_.cast(inside, kInt64))},
                            {{"axis", static_cast<int64_t>(axis_.axis)}, {"mode", std::string("clip")}});
  if (!weight) return part;
  return n_.call(kMultiply, {part, along(folded(n_, n_.cast(weight, type_of(x).dtype)), part)});
}

// The weight as a part of all; nothing weighs anything where all are 0.
Term share(Term weight, Term sum) {
  const Term none = sum.apply(kEqual, {sum, sum.number(0)});
  return where(none, weight.number(0), weight / where(none, sum.number(1), sum));
}

bool is_zero(Expr e) {
  const auto* constant = e->as<Constant>();
  if (!constant) return false;
  const std::vector<double> all = constant->value->doubles();
  return std::all_of(all.begin(), all.end(), [](double v) { return v == 0; });
}

Expr Resizer::sum_of_taps(Expr x, Term first, int64_t count) const {
  std::vector<Term> at, weights;
  for (int64_t t = 0; t < count; ++t) {
    at.push_back(first + static_cast<double>(t));
    weights.push_back(weight(at.back()));
  }
  Term sum = weights[0];
  for (size_t t = 1; t < weights.size(); ++t) sum = sum + weights[t];
  Expr y = nullptr;
  for (size_t t = 0; t < weights.size(); ++t) {
    const Expr part = folded(n_, share(weights[t], sum));
    if (is_zero(part)) continue;
    const Expr next = tap(x, at[t], part);
    y = y ? n_.call(kAdd, {y, next}) : next;
  }
  if (!y) n_.unsupported("none of its weights differs from 0");
  return y;
}

constexpr double kMostRunTaps = 1 << 24;

// The same where only a run tells how many there are.
Expr Resizer::sum_of_taps(Expr x, Term first, Term count) const {
  const auto zeros = [&](const std::vector<Dim>& shape, DType dtype) {
    return n_.call(kFull, {n_.scalar(dtype, 0)}, {{"shape", shape}, {"dtype", dtype}});
  };
  // A run traps where the import refuses: there is no such number, or it is beyond all sense.
  const Term is_right =
      count.apply(kLogicalAnd, {less(count.number(1), count), less(count, count.number(kMostRunTaps))});
  const Expr checked = n_.call(kTake, {n_.ints({0}), n_.cast(n_.call(kLogicalNot, {is_right}), kInt64)},
                               {{"axis", int64_t{0}}, {"mode", std::string("fast")}});
  const Expr steps = n_.call(kAdd, {n_.cast(count, kInt64), checked});
  const auto at = [&](Expr i) { return first + term(n_.cast(i, kFloat64)); };
  const Expr sum = repeat(n_, steps, zeros({axis_.to}, kFloat64),
                          [&](Expr i, Expr state) { return term(state) + weight(at(i)); });
  std::vector<Dim> shape = dims_of(x);
  shape[axis_.axis] = axis_.to;
  return repeat(n_, steps, zeros(shape, type_of(x).dtype), [&](Expr i, Expr state) {
    return n_.call(kAdd, {state, tap(x, at(i), share(weight(at(i)), term(sum)))});
  });
}

Expr Resizer::resized(Expr x) {
  // A region of numbers that are none has no places.
  const Term is_finite = place_.apply(kIsFinite, {place_});
  place_ = maximum(minimum(where(is_finite, place_, place_.number(0)), 0x1p40), -0x1p40);
  Expr y = nullptr;
  if (form_.mode == "nearest") {
    y = tap(x, nearest(), nullptr);
  } else {
    const Term reach = term(folded(n_, ceil((form_.mode == "cubic" ? 2 : 1) / narrow_)));
    const Term first = floor(place_) - reach + 1;
    const std::optional<double> known = number_of(reach);
    // A region from its end to its start, or of numbers that are none, has no such distance.
    if (known && !(*known >= 1 && 2 * *known <= static_cast<double>(kMostTaps)))
      n_.unsupported("such a scale with antialias=1 is not supported", "antialias=0 is");
    y = known ? sum_of_taps(x, first, 2 * static_cast<int64_t>(*known)) : sum_of_taps(x, first, 2 * reach);
  }
  if (!outside_ || is_zero(outside_)) return y;
  return n_.call(kWhere, {along(outside_, y), n_.scalar(type_of(x).dtype, form_.extrapolation), y});
}

}  // namespace

Expr folded(Node& n, Expr e) {
  Operand operand;
  operand.expr = e;
  operand.closed = true;  // what is not cannot be evaluated
  const std::optional<Tensor> value = n.importer().known(operand);
  return value ? n.builder().constant(*value) : e;
}

std::optional<double> number_of(Expr e) {
  const auto* constant = e->as<Constant>();
  if (!constant) return std::nullopt;
  return constant->value->get(0);
}

Expr real_extent(Node& n, Dim d) { return folded(n, n.cast(n.importer().materialise(d), kFloat64)); }

Expr with_taps(Node& n, Expr x, const ResizeForm& form, const ResizedAxis& axis) {
  return Resizer(n, form, axis).resized(x);
}

}  // namespace relay::frontend
