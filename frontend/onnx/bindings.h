// Names for extents that only a run tells. Private to this folder.
//
// Two extents `?` say nothing about each other. `match_shape` gives one a name, and what uses the
// value computes with that name. A name is known in the body of its `match_shape` only. So values
// that got names are collected here, and `enclose` writes them around the results that need them.
#pragma once

#include <string_view>
#include <vector>

#include "ir/builder.h"

namespace relay::frontend {

class Bindings {
 public:
  // Returns a variable of the type, which is matched to the value. `variables` are those shape
  // variables of the type that begin here.
  const Var* add(Builder& b, std::string_view name, Expr value, Type type,
                 std::vector<const kernel::ExprNode*> variables);

  // The body within all of them, the first outermost.
  Expr enclose(Builder& b, Expr body) const;
  // What a type is outside: an extent that mentions a name from here is `?` there.
  Type outside(Context& context, Type type) const;
  Dim outside(Dim dim) const;
  bool empty() const { return all_.empty(); }

 private:
  struct Binding {
    const Var* var;
    Expr value;
  };
  std::vector<Binding> all_;
  std::vector<const kernel::ExprNode*> variables_;  // sorted
};

}  // namespace relay::frontend
