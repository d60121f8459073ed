// Numbers that only a run tells: shapes, bounds, repetitions and pads that a model computes from
// its data. Private to this folder.
//
// The operators `dyn.*` take them as arguments. How many numbers there are must be known, because
// it is the rank of a result; the extents of the result are `?`.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/onnx/node.h"

namespace relay::frontend {

// Input i as a vector of int64. Refuses one whose length is not known. A scalar is a vector of one.
Expr computed(Node& n, size_t i, std::string_view what);
// The same of `count` numbers: a run compares where the model does not say how many there are.
Expr computed(Node& n, size_t i, std::string_view what, size_t count);
// The length of such a vector.
size_t length_of(Expr vector);

// Axes counted from the front. Refuses one that is given twice.
std::vector<size_t> different_axes(Node& n, const std::vector<int64_t>& axes, size_t rank);

// Input i as extents. What only a run tells has names: those of a tensor without elements that is
// made of the numbers. A run traps if one is negative, or is not what is expected.
std::vector<Dim> named_numbers(Node& n, size_t i, std::string_view what, std::vector<Dim> expected = {});

// Input i as `count` extents: known ones as they are, others with names.
std::vector<Dim> extents_at(Node& n, size_t i, std::string_view what, size_t count);

// A scalar of int64 as an extent, with a name. A run traps if it is negative.
Dim named_number(Node& n, Expr number);

// The extent of a dimension that `Expand` makes of one extent and the one that is asked for;
// unknown if only a run tells which of the two it is.
Dim expanded(Node& n, Dim from, Dim to);

// The results of nodes whose input 1, or 0 of ConstantOfShape, is computed.
Expr reshape_computed(Node& n, bool zero_is_zero);
Expr expand_computed(Node& n);
Expr fill_computed(Node& n, const Tensor& value);
Expr tile_computed(Node& n);
Expr slice_computed(Node& n);  // and whose axes or steps may be
Expr pad_computed(Node& n, std::string_view mode, Expr value);

}  // namespace relay::frontend
