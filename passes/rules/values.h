// Values of the right side of rules: attributes that follow from a match, by name. Each is one row
// of a table.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "passes/rules/conditions.h"

namespace relay::passes::rules {

struct Value {
  std::string_view name, doc;
  // Nothing if there is none: then the rule does not apply.
  std::optional<decltype(AttrArg::value)> (*of)(std::span<const Looked> of);
};

std::span<const Value> all_values();
const Value* find_value(std::string_view name);  // null if there is none

// For each axis of a strided_slice whose extents along the sliced axes are constants: where it
// begins and by how much it goes on. Nothing if that is not known or goes backwards.
struct Range {
  int64_t begin = 0, step = 1;
  Dim count = 0;  // of elements
};
std::optional<std::vector<Range>> ranges_of(Expr slice);
// The axes of a transpose, counted from the front.
std::optional<std::vector<int64_t>> axes_of(Expr transpose);
// Where the slice begins in this part of a concatenation, along each axis. Nothing if it is not
// known to lie in it.
std::optional<std::vector<Range>> part_of_slice(Expr slice, Expr concatenation, size_t part);
// Does the split give back what was put together?
bool cuts_at_parts(Expr split, Expr concatenation);
// The axes that a sum, a mean or the like reduces, counted from the front and in order.
std::optional<std::vector<size_t>> reduced_axes(Expr e);
// The axis of a concatenate, split or the like, counted from the front.
std::optional<size_t> axis_of(Expr e);

}  // namespace relay::passes::rules
