// How a product is computed from an operand in panels (product.cc), if it is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/layout.h"
#include "kernel/schedule/stage.h"
#include "target/target.h"

namespace relay::kernel::schedule::cpu {

struct ProductPlan {
  const ExprNode* operand = nullptr;  // the factor that varies along the columns
  int64_t columns = 0;                // of a panel
  bool in_panels = false;             // it lies in panels already
  int64_t few_rows = 0;               // that are not worth to put it there
  bool in_order = false;              // and these lie one after the other, with the rows of each
  std::vector<size_t> outer, rows;    // axes: those along which the operand varies, and the others

  // Of columns and rows of the operand.
  Layout panels() const { return panel_layout(columns); }
};

// Nothing if the stage is no such product or, `only_if_worth_it`, if too few rows would share what
// is put into panels.
std::optional<ProductPlan> find_product_plan(const Stage& s, const target::Cpu& cpu,
                                             bool only_if_worth_it = true);

// Is an epilogue little enough to be written out for every vector of a tile?
bool is_light(Expr e);

}  // namespace relay::kernel::schedule::cpu
