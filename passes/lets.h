// Lets: values named while an expression is made that uses them, and bound around it in the end.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "ir/builder.h"

namespace relay::passes {

class Lets {
 public:
  // Variables are named by `prefix` and a number.
  Lets(Builder& builder, std::string prefix) : builder_(builder), prefix_(std::move(prefix)) {}

  // A new variable for the value, which has a type.
  const Var* name(Expr value) {
    const std::string text = cat(prefix_, bound_.size());
    const Var* x = builder_.with_type(builder_.var(text, value->type), value->type)->as<Var>();
    bound_.emplace_back(x, value);
    return x;
  }

  // let x0 = value0; let x1 = value1; ... body, in the order in which they were named.
  Expr around(Expr body) const {
    for (size_t i = bound_.size(); i-- > 0;) body = builder_.let(bound_[i].first, bound_[i].second, body);
    return body;
  }

 private:
  Builder& builder_;
  std::string prefix_;
  std::vector<std::pair<const Var*, Expr>> bound_;
};

}  // namespace relay::passes
