// The table of conditions. tests/rules proves rules under these: a condition on the elements of a
// constant has a row there, too.
#include "passes/rules/conditions.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/type_parts.h"
#include "kernel/simplify.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/rules/values.h"

namespace relay::passes::rules {
namespace {

using Of = std::span<const Looked>;

const DType* dtype_of(Expr e) {
  const TensorType* t = tensor_of(e);
  return t ? &t->dtype : nullptr;
}

// Does `f` hold of each element of a constant? It is given the number of the element.
template <class F>
bool each(Expr e, F&& f) {
  const auto* c = e->as<Constant>();
  if (!c) return false;
  for (int64_t i = 0; i < c->value->size(); ++i) {
    if (!f(*c->value, i)) return false;
  }
  return true;
}

bool is_number(const Tensor& t, int64_t i, double number) {
  if (!t.dtype().is_float()) return static_cast<double>(t.get_int(i)) == number;
  return t.get(i) == number && std::signbit(t.get(i)) == std::signbit(number);
}

// The bits of an integer, as an unsigned number of its width.
uint64_t bits_of(const Tensor& t, int64_t i) {
  const uint64_t all = static_cast<uint64_t>(t.get_int(i));
  return t.dtype().bits >= 64 ? all : all & ((uint64_t{1} << t.dtype().bits) - 1);
}

bool same_dims(Expr a, Expr b) {
  const TensorType *ta = tensor_of(a), *tb = tensor_of(b);
  return ta && tb &&
         std::equal(ta->dims.begin(), ta->dims.end(), tb->dims.begin(), tb->dims.end(),
                    [](Dim x, Dim y) { return prove_equal(x, y) == kernel::Proof::kProved; });
}

size_t width(Expr e) {
  const DType* d = dtype_of(e);
  return d ? d->bits : 0;
}

// The least number of a constant that is not 0, and the greatest, both without their signs.
struct Magnitudes {
  double least = INFINITY, greatest = 0;
};

std::optional<Magnitudes> magnitudes(Expr e) {
  Magnitudes out;
  const bool numbers = each(e, [&](const Tensor& t, int64_t i) {
    const double x = std::abs(t.get(i));
    if (x > 0) out.least = std::min(out.least, x);
    out.greatest = std::max(out.greatest, x);
    return std::isfinite(x);
  });
  return numbers ? std::optional(out) : std::nullopt;
}

// As the dtype of the constant rounds it.
double rounded(Expr like, double number) { return Tensor::scalar(*dtype_of(like), number).get(0); }

constexpr Condition kConditions[] = {
    {"all", "the constant has this number everywhere, of this sign",
     [](Of a) {
       return each(a[0].e, [&](const Tensor& t, int64_t i) { return is_number(t, i, a[1].number); });
     }},
    {"all_bits", "the constant has all bits set everywhere",
     [](Of a) {
       return each(a[0].e, [](const Tensor& t, int64_t i) {
         return t.dtype().is_int() && std::popcount(bits_of(t, i)) == t.dtype().bits;
       });
     }},
    {"along_last", "the constant is the same along all axes but the last one",
     [](Of a) {
       const TensorType* c = tensor_of(a[0].e);
       return c && std::all_of(c->dims.begin(), c->dims.end() - (c->rank() > 0),
                               [](Dim d) { return d == Dim(1); });
     }},
    {"cut_at", "the parts of the split are those of the concatenation",
     [](Of a) { return cuts_at_parts(a[0].e, a[1].e); }},
    {"float", "the elements are floating-point numbers",
     [](Of a) { return dtype_of(a[0].e) && dtype_of(a[0].e)->is_float(); }},
    {"forward", "the slice goes forward, one by one",
     [](Of a) {
       const auto ranges = ranges_of(a[0].e);
       return ranges &&
              std::all_of(ranges->begin(), ranges->end(), [](const Range& r) { return r.step == 1; });
     }},
    {"identity", "the transposition moves no axis",
     [](Of a) {
       const auto axes = axes_of(a[0].e);
       for (size_t i = 0; axes && i < axes->size(); ++i) {
         if ((*axes)[i] != static_cast<int64_t>(i)) return false;
       }
       return axes.has_value();
     }},
    {"integer", "the elements are integers",
     [](Of a) { return dtype_of(a[0].e) && dtype_of(a[0].e)->is_int(); }},
    {"invertible", "each element of the constant and its reciprocal are normal numbers",
     [](Of a) {
       return each(a[0].e, [](const Tensor& t, int64_t i) {
         const int bits = least_exponent(t.dtype()) - 1;
         const double v = std::fabs(t.get(i));
         return v >= std::ldexp(1, -bits) && v <= std::ldexp(1, bits);
       });
     }},
    {"moves_only_ones", "the transposition leaves the order of all axes but those of extent 1",
     [](Of a) {
       const auto axes = axes_of(a[0].e);
       if (!axes) return false;
       const TensorType& from = *tensor_of(a[0].e->as<Call>()->args[0]);
       int64_t last = -1;
       for (int64_t axis : *axes) {
         if (from.dims[static_cast<size_t>(axis)] == Dim(1)) continue;
         if (axis < last) return false;
         last = axis;
       }
       return true;
     }},
    {"narrower", "an element of the first has fewer bits than one of the second",
     [](Of a) { return width(a[0].e) < width(a[1].e); }},
    {"not_constant", "it is no constant", [](Of a) { return !a[0].e->as<Constant>(); }},
    {"not_unsigned", "the elements are no unsigned integers",
     [](Of a) { return dtype_of(a[0].e) && !dtype_of(a[0].e)->is_unsigned_int(); }},
    {"numeric", "the elements are no booleans",
     [](Of a) { return dtype_of(a[0].e) && !dtype_of(a[0].e)->is_bool(); }},
    {"fraction", "the constant is one number above 0 and below 1",
     [](Of a) {
       const auto* c = a[0].e->as<Constant>();
       return c && c->value->size() == 1 && c->value->get(0) > 0 && c->value->get(0) < 1;
     }},
    {"positive", "the constant is one number above 0",
     [](Of a) {
       const auto* c = a[0].e->as<Constant>();
       return c && c->value->size() == 1 && c->value->get(0) > 0;
     }},
    {"per_channel", "the constant has one number for each channel of images in NCHW",
     [](Of a) {
       const TensorType *c = tensor_of(a[0].e), *t = tensor_of(a[1].e);
       if (!c || !t || t->rank() != 4 || c->rank() < 3 || c->rank() > 4) return false;
       const size_t first = c->rank() - 3;
       return c->dims[first] == t->dims[1] && c->dims[first + 1] == Dim(1) && c->dims[first + 2] == Dim(1) &&
              (first == 0 || c->dims[0] == Dim(1));
     }},
    {"in_order", "both constants are one number each, the first at most the second",
     [](Of a) {
       const auto *x = a[0].e->as<Constant>(), *y = a[1].e->as<Constant>();
       return x && y && x->value->size() == 1 && y->value->size() == 1 &&
              x->value->get(0) <= y->value->get(0);
     }},
    {"inverse_count", "the constant is one divided by how many numbers a sum has",
     [](Of a) {
       const auto* c = a[0].e->as<Constant>();
       const auto axes = reduced_axes(a[1].e);
       if (!c || !axes || c->value->size() != 1 || !c->value->dtype().is_float()) return false;
       int64_t count = 1;
       for (size_t axis : *axes) {
         const Dim d = tensor_of(a[1].e->as<Call>()->args[0])->dims[axis];
         if (!d.is_const() || __builtin_mul_overflow(count, d.value(), &count)) return false;
       }
       return count > 0 &&
              Tensor::scalar(c->value->dtype(), 1 / static_cast<double>(count)).get(0) == c->value->get(0);
     }},
    {"plain_dense", "the product says nothing of its units and of its dtype",
     [](Of a) { return a[0].e->as<Call>() && a[0].e->as<Call>()->attrs.empty(); }},
    {"product_fits", "products of the constants' numbers are finite, and 0 or normal",
     [](Of a) {
       const auto x = magnitudes(a[0].e), y = magnitudes(a[1].e);
       return x && y && std::isfinite(rounded(a[0].e, x->greatest * y->greatest)) &&
              x->least * y->least >= std::ldexp(1, -least_exponent(*dtype_of(a[0].e)));
     }},
    {"reduces_last", "only the last axis is reduced",
     [](Of a) {
       const auto axes = reduced_axes(a[0].e);
       return axes && axes->size() == 1 &&
              axes->front() + 1 == tensor_of(a[0].e->as<Call>()->args[0])->rank();
     }},
    {"reverses_axes", "the transposition of a matrix exchanges its axes",
     [](Of a) { return axes_of(a[0].e) == std::vector<int64_t>{1, 0}; }},
    {"same_attribute", "both calls have the same value of this attribute",
     [](Of a) {
       const auto *x = a[0].e->as<Call>(), *y = a[1].e->as<Call>();
       if (!x || !y) return false;
       const AttrValue *v = x->attrs.find(a[2].word), *w = y->attrs.find(a[2].word);
       return v && w ? *v == *w : !v && !w;
     }},
    {"same_axis", "both calls work along the same axis",
     [](Of a) {
       const auto x = axis_of(a[0].e), y = axis_of(a[1].e);
       return x && x == y;
     }},
    {"same_axes", "both transpositions move axes alike",
     [](Of a) {
       const auto x = axes_of(a[0].e), y = axes_of(a[1].e);
       return x && y && *x == *y;
     }},
    {"same_reduced", "both reduce the same axes",
     [](Of a) {
       const auto x = reduced_axes(a[0].e), y = reduced_axes(a[1].e);
       return x && x == y;
     }},
    {"same_shape", "both have provably the same shape", [](Of a) { return same_dims(a[0].e, a[1].e); }},
    {"sum_fits", "sums and differences of the constants' numbers are finite",
     [](Of a) {
       const auto x = magnitudes(a[0].e), y = magnitudes(a[1].e);
       return x && y && std::isfinite(rounded(a[0].e, x->greatest + y->greatest));
     }},
    {"unsigned", "the elements are unsigned integers",
     [](Of a) { return dtype_of(a[0].e) && dtype_of(a[0].e)->is_unsigned_int(); }},
    {"wider", "an element of the first has more bits than one of the second",
     [](Of a) { return width(a[0].e) > width(a[1].e); }},
};

}  // namespace

int least_exponent(DType d) { return d.bits == 8 ? 6 : d == kFloat16 ? 14 : d == kFloat64 ? 1022 : 126; }

bool provably_same(Type a, Type b) {
  if (!a || a != b) return false;
  bool known = true;
  for_each_type_in(a, [&](Type t) {
    if (const auto* tensor = t ? t->as<TensorType>() : nullptr) {
      known = known &&
              std::none_of(tensor->dims.begin(), tensor->dims.end(), [](Dim d) { return d.is_unknown(); });
    }
    return known;
  });
  return known;
}

std::optional<std::vector<Looked>> look_up(const Use& use, const pattern::LocalMatch& m) {
  std::vector<Looked> out;
  for (const Operand& operand : use.operands) {
    const Expr e = operand.part.empty() ? nullptr : m.at(operand.part);
    if (!e && !operand.part.empty()) return std::nullopt;
    out.push_back({e, operand.word, operand.number});
  }
  return out;
}

std::span<const Condition> all_conditions() { return kConditions; }

const Condition* find_condition(std::string_view name) {
  const auto found = std::find_if(std::begin(kConditions), std::end(kConditions),
                                  [&](const Condition& c) { return c.name == name; });
  return found == std::end(kConditions) ? nullptr : found;
}

bool holds(const Use& use, const pattern::LocalMatch& m) {
  const auto operands = look_up(use, m);
  return operands && find_condition(use.name)->holds(*operands);
}

}  // namespace relay::passes::rules
