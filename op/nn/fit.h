// What windows, groups and blocks ask of extents, with a run-time check of what only a run knows.
//
// Each is about a known extent too: then it fails as the relation's other facts do.
#pragma once

#include <string>
#include <string_view>

#include "op/layout.h"
#include "op/nn/window.h"
#include "op/relation.h"

namespace relay::op {

// How many windows fit into argument 0 along the axis (Window::count), if its padded data is not
// less than a window.
Dim fitting_windows(Relation& r, const Window& w, size_t axis, Dim extent, Dim kernel, bool ceil = false);
// The extent must be positive, and not absurdly large.
void require_some(Relation& r, const std::string& what, Dim extent, int arg = kAttributes);
// The extent divided by the groups, which must divide it.
Dim whole_groups(Relation& r, Dim d, int64_t groups, int arg, std::string_view what);
// The blocks of a tensor of the layout's rank must have the layout's size.
void require_blocks(Relation& r, const Layout& layout, int arg);

}  // namespace relay::op
