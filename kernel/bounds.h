// What is known of the values of index arithmetic: ranges of the variables of loops and shapes, and
// proofs that follow from them.
//
// Sums and products of indices are taken not to wrap: they address memory. Data that was loaded may
// wrap, so nothing is concluded about a sum of loaded 64-bit values. Nothing is known of an
// expression that is deeper than those of kernels (limits.h) but the range of its dtype.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

// A closed interval of integers; an absent end is unbounded.
struct Interval {
  std::optional<int64_t> low = {}, high = {};

  static Interval single(int64_t v) { return {v, v}; }
  bool is_single() const { return low && high && *low == *high; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// What is known about variables. A shape variable that was not mentioned is in [0, infinity).
class Bounds {
 public:
  void set(Expr variable, Interval range);
  // The variable is in [0, extent); the extent may be symbolic.
  void bind(Expr variable, Expr extent);

  // What holds where an expression is used: comparisons `a < b` and `a <= b` of int64, joined by
  // `and`; others are ignored. Only the proofs below make use of it.
  void assume(Expr condition);

  // An interval that holds every value of the integer or boolean expression.
  Interval of(Expr e) const;
  // Comparisons of int64 expressions; true only if proved for all values.
  bool proves_less(Expr a, Expr b) const;
  bool proves_less_equal(Expr a, Expr b) const;
  bool proves_equal(Expr a, Expr b) const;
  bool proves_not_equal(Expr a, Expr b) const;

 private:
  void assume_comparison(Expr condition);
  using Known = std::unordered_map<const ExprNode*, Interval>;
  Interval of(Expr e, Known& known) const;  // `known`: of what is shared
  Interval compute(Expr e, Known& known) const;
  // Replaces each variable that has symbolic upper ends by the end that makes the value largest (or
  // smallest). Of several ends it takes the one of that number, modulo their number. Makes
  // `choices` a multiple of their number, unless there are no more ends than choices already.
  Expr widen(Expr e, bool upwards, size_t choice, size_t& choices) const;
  // Is there an expression that `widen` gives, other than `e`, for which `enough` is true?
  template <class Visit>
  bool any_widened(Expr e, bool upwards, Visit enough) const;
  bool is_at_most(Expr a, Expr b, int64_t most) const;  // a - b
  // The range of a - b.
  Interval difference(Expr a, Expr b) const;

  std::unordered_map<const ExprNode*, Interval> ranges_;
  // Symbolic: values that a variable does not exceed, which mention only variables that were
  // bound before it.
  struct Ends {
    size_t order = 0;
    std::vector<Expr> values = {};
  };
  std::unordered_map<const ExprNode*, Ends> last_;
  size_t bound_ = 0;
  std::vector<std::pair<Expr, Expr>> less_;  // assumed: first < second
};

// May the value be the result of an arithmetic that wrapped: a 64-bit number that was loaded?
bool may_wrap(const ExprNode* n);

}  // namespace relay::kernel
