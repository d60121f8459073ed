// Layout: which expressions of a program get a binding `%n = ...;`, and in which scope.
//
// It depends on the structure of the program only, not on names, so that a text that is read back
// is laid out alike.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/analysis.h"
#include "ir/traverse.h"

namespace relay::text {

class Layout {
 public:
  Layout(Expr root, uint32_t most_inline);

  const Scopes& scoped() const { return scoped_; }

  // The scope whose body is `body` and which lies in `around`, if the body belongs to it (a body
  // that has more uses belongs further out). Leaves belong nowhere.
  std::optional<uint32_t> own_scope(Expr body, uint32_t around) const;

  // Is e, the body of a scope, written as `match_shape %x: T = value;` and a body? It is a call of
  // a literal function whose parameter is a tensor with extents; null if not.
  const Fn* shape_match(Expr e) const;

  // What is bound in a scope, in evaluation order.
  const std::vector<Expr>& bound(uint32_t scope) const { return bound_[scope]; }
  static const std::vector<Expr>& none();

  // The scope has no bindings and its value is small: it can stand on one line.
  bool simple(Expr body, uint32_t around) const;
  // The scope has no bindings and its value is an `if`.
  bool only_if(Expr body, uint32_t around) const;

 private:
  uint32_t most_inline_;
  Scopes scoped_;
  NodeMap<bool> shape_matches_;
  NodeMap<uint32_t> parts_;  // how many parts the text of an expression has, with bindings counted as one
  std::vector<std::vector<Expr>> bound_;
};

}  // namespace relay::text
