#include "op/layout.h"

#include <numeric>

#include "base/cat.h"
#include "op/relation.h"

namespace relay::op {

Layout read_layout(std::string_view attribute, std::string_view text, std::string_view axes) {
  std::string why;
  const std::optional<Layout> out = Layout::parse(text, axes, why);
  if (out) return *out;
  throw RelationError{kAttributes, cat(attribute, " must have each of the letters ", axes,
                                       " once, and blocks like 16c behind them, not `", text, "`: ", why)};
}

Layout read_order(std::string_view attribute, std::string_view text, std::string_view axes) {
  std::string why;
  const std::optional<Layout> out = Layout::parse(text, axes, why);
  if (out && out->rank() == axes.size()) return *out;
  throw RelationError{kAttributes,
                      cat(attribute, " must be an order of the letters of ", axes, ", not `", text, "`")};
}

std::string misfit(const Layout& layout, std::span<const Dim> shape) {
  if (shape.size() != layout.rank())
    return cat("expected a tensor of rank ", layout.rank(), ", found rank ", shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    const Layout::Part& part = layout.parts()[d];
    if (part.is_block() && shape[d].is_const() && shape[d].value() != part.size) {
      return cat("dimension ", d, " holds blocks of ", part.size, " elements, found ", relay::show(shape[d]));
    }
  }
  return {};
}

std::vector<int64_t> axes_to_plain(const Layout& order) {
  std::vector<int64_t> out;
  for (size_t axis = 0; axis < order.axes(); ++axis) out.push_back(static_cast<int64_t>(order.place(axis)));
  return out;
}

std::vector<int64_t> axes_from_plain(const Layout& order) {
  std::vector<int64_t> plain(order.axes());
  std::iota(plain.begin(), plain.end(), 0);
  return order.shape(plain);
}

}  // namespace relay::op
