#include "passes/unrounded.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <vector>

#include "base/check.h"
#include "op/broadcast.h"
#include "op/ops.h"

namespace relay::passes {
namespace {

// Of a sum in float64. Knuth, The Art of Computer Programming 2, 4.2.2, Theorem B.
bool is_exact_sum(double a, double b, double result) {
  const double sum = a + b, part = sum - a;
  return sum == result && (a - (sum - part)) + (b - part) == 0;
}

struct Operator {
  const op::OpDef* def;
  bool (*is_exact)(double a, double b, double result);
};

// Numbers of every dtype are numbers of float64, so one multiply-add there tells what was rounded.
const Operator kOperators[] = {
    {&op::kAdd, is_exact_sum},
    {&op::kSubtract, [](double a, double b, double r) { return is_exact_sum(a, -b, r); }},
    {&op::kMultiply, [](double a, double b, double r) { return std::fma(a, b, -r) == 0; }},
    {&op::kDivide, [](double a, double b, double r) { return std::fma(r, b, -a) == 0; }},
    {&op::kSqrt, [](double a, double, double r) { return std::fma(r, r, -a) == 0; }},
};

const Operator& operator_of(const op::OpDef& def) {
  const auto it = std::find_if(std::begin(kOperators), std::end(kOperators),
                               [&](const Operator& o) { return o.def == &def; });
  CHECK(it != std::end(kOperators), "an operator that rounds once says when it did not");
  return *it;
}

}  // namespace

std::function<bool(int64_t)> unrounded(const op::OpDef& def, std::span<const Value> args,
                                       const Tensor& result) {
  const auto elements_of = [&](const Value& v) {
    return std::make_shared<std::vector<int64_t>>(op::broadcast_elements(v.tensor().shape(), result.shape()));
  };
  const Value &first = args.front(), &last = args.back();
  return [is_exact = operator_of(def).is_exact, a = first.tensor(), b = last.tensor(),
          of_a = elements_of(first), of_b = elements_of(last), result](int64_t i) {
    const auto k = static_cast<size_t>(i);
    return is_exact(a.get((*of_a)[k]), b.get((*of_b)[k]), result.get(i));
  };
}

}  // namespace relay::passes
