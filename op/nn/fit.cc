#include "op/nn/fit.h"

#include "base/cat.h"
#include "op/nn/convolution.h"
#include "op/requirements.h"

namespace relay::op {

Dim fitting_windows(Relation& r, const Window& w, size_t axis, Dim extent, Dim kernel, bool ceil) {
  const Dim out = w.count(axis, extent, kernel, ceil);
  require_at_least(
      r, extent + w.before[axis] + w.after[axis], w.covers(axis, kernel), 0,
      cat("the padded data along the ", name_of_axis(axis, w.axes()), " is less than the window"));
  return out;
}

void require_some(Relation& r, const std::string& what, Dim extent, int arg) {
  require_extent(what, extent, arg);
  require_at_least(r, extent, 1, arg, cat(what, " must be positive"));
}

Dim whole_groups(Relation& r, Dim d, int64_t groups, int arg, std::string_view what) {
  const Dim out = per_group(d, groups, arg, what);
  require_multiple(r, d, groups, arg, cat(groups, " groups do not divide the ", what));
  return out;
}

void require_blocks(Relation& r, const Layout& layout, int arg) {
  const TensorType& t = r.tensor(arg);
  for (size_t d = 0; d < t.rank(); ++d) {
    const Layout::Part& part = layout.parts()[d];
    if (part.is_block())
      r.same(t.dims[d], Dim(part.size), arg, cat("the elements of a block, dimension ", d));
  }
}

}  // namespace relay::op
