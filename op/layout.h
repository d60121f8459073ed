// Layouts that operators read from their attributes. The type is kernel::Layout.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dim.h"
#include "kernel/layout.h"

namespace relay::op {

using kernel::Layout;

// Read an attribute of a tensor with these axes. They throw a RelationError that blames the
// attribute. An order has no blocks.
Layout read_layout(std::string_view attribute, std::string_view text, std::string_view axes);
Layout read_order(std::string_view attribute, std::string_view text, std::string_view axes);

// Returns what is wrong with a tensor of this shape in the layout; empty if nothing is known to be.
std::string misfit(const Layout& layout, std::span<const Dim> shape);

// The values of the dims of a tensor whose order has four axes, in the order of the axes: of
// (n, h, w, c) in NHWC they are (n, c, h, w).
template <class List>
auto parts(const Layout& order, const List& values) {
  using T = std::decay_t<decltype(values[0])>;
  return std::array<T, 4>{values[order.place(0)], values[order.place(1)], values[order.place(2)],
                          values[order.place(3)]};
}

// What `transpose` takes to bring the axes of a tensor from an order into the plain one, and back.
std::vector<int64_t> axes_to_plain(const Layout& order);
std::vector<int64_t> axes_from_plain(const Layout& order);

}  // namespace relay::op
