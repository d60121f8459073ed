// A stage as a sum of products, or as another reduction that may join its values in any order.
//
// Rules ask the view, not the form of an expression, so that each recognises the same stages, of
// any dtype.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "kernel/schedule/stage.h"

namespace relay::kernel::schedule {

struct ContractionView {
  const Stage* stage;
  std::vector<Expr> factors;  // of what is joined, in order; itself if it is no product

  bool is_sum() const { return stage->combine->kind == ExprKind::kAdd; }
  // Does every result begin with one constant?
  bool starts_constant() const { return stage->init.is_const(); }
  // May partial results begin with `init` each, and be joined with it once more, without changing
  // the result? A sum may if it begins with 0, a product with 1, a maximum with any constant.
  bool starts_neutral() const;

  // The two operands of the outermost product; nullopt if the value is no product of two. Of
  // (a * b) * c they are a * b and c: other groups of factors would round otherwise.
  std::optional<std::array<Expr, 2>> operands() const;
  // The factors that vary along the axis.
  std::vector<Expr> along(const Axis& axis) const;
  // Does each of the axes have a load that varies along it, and no load vary along both? Then a
  // tile of rows and columns loads each element once.
  bool separates(const Axis& row, const Axis& column) const;
  // Results, factors and all that they load have the dtype.
  bool is_of(DType d) const;
};
// Returns nullopt unless the stage is a reduction over at least one axis that requires nothing and
// may join its values in any order. `spatial` may be empty.
std::optional<ContractionView> contraction_view(const Stage& s);

}  // namespace relay::kernel::schedule
