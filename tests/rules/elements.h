// Elements: what an expression has at an index, as a formula.
#pragma once

#include <z3++.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "op/op_def.h"

namespace relay::passes::rules::testing {

// The prover does not know an operator or an attribute.
struct Outside : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Index = std::vector<z3::expr>;

class Elements {
 public:
  explicit Elements(z3::context& z) : z_(z), runs_(z.bool_val(true)) {}

  // Constants of which only a fact is known: that `fact` holds of each element.
  using Fact = std::function<z3::expr(const z3::expr& element, DType d)>;
  void any_constant(Expr constant, std::vector<Fact> facts) { facts_[constant] = std::move(facts); }

  // The element of `e`, which has the type of a tensor.
  z3::expr at(Expr e, const Index& i);
  // Whether everything that was asked for so far is computed without a trap. Asking resets it.
  z3::expr runs();
  // What is known of elements and extents that were met.
  const std::vector<z3::expr>& known() const { return known_; }

  z3::expr extent(Dim d);
  z3::expr number(DType d, const Tensor& t, int64_t i);

 private:
  // Recursion is as deep as a rule.
  z3::expr leaf(Expr e, const z3::expr& at);
  z3::expr call(const Call& c, const op::OpDef& def, const Index& i);
  z3::expr moved(const Call& c, const std::string& name, const Index& i);
  z3::expr elementwise(const Call& c, const op::OpDef& def, const std::function<z3::expr(Expr arg)>& element);
  z3::expr part_of_split(const Call& split, uint32_t part, const Index& i);
  z3::expr joined(const Call& c, const Index& i);
  z3::expr at_position(Expr e, const z3::expr& position);
  z3::expr divided(const std::string& name, DType d, const z3::expr& a, const z3::expr& b);
  z3::expr cast(const z3::expr& x, DType from, DType to);
  z3::expr uninterpreted(const std::string& name, const std::vector<z3::expr>& args, DType result);
  z3::expr position(Expr e, const Index& i);
  Index broadcast(Expr e, const Index& i);
  z3::sort sort(DType d);
  void need(const z3::expr& holds) { runs_ = runs_ && holds; }

  z3::context& z_;
  z3::expr runs_;
  std::map<Expr, std::vector<Fact>> facts_;
  std::vector<z3::expr> known_;
  size_t places_ = 0;  // that were given names
};

}  // namespace relay::passes::rules::testing
