// What operators on quantised integers share. An integer q stands for scale * (q - zero_point).
#pragma once

#include <string>

#include "op/define.h"
#include "op/term.h"

namespace relay::op {

// int8, uint8, int16 or uint16.
bool is_narrow_integer(DType d);
// The least and the largest integer of a dtype of at most 32 bits.
struct IntegerRange {
  int64_t low, high;
};
IntegerRange range_of(DType d);

// Requires one of these four of argument `arg`.
void require_narrow_integer(Relation& r, int arg);
// Requires a floating-point scale of argument `scale`, and an integer of the zero point behind it.
void require_parameters(Relation& r, int scale);
// Requires that both are scalars.
void require_scalars(Relation& r, int scale);
// Requires that a scale or zero point, argument `arg`, is a scalar, or a vector with an element for
// each index of an axis of argument `data`.
void require_fit(Relation& r, int arg, int64_t axis, int data = 0);

// The terms of expansions.

// Field i of a tuple.
Expr field_of(Builder& b, Expr tuple, size_t i);
// A scale or zero point, shaped to broadcast with x along the axis.
Term along(Builder& b, Expr parameter, Expr x, int64_t axis);
// x in the dtype; x itself if it has it.
Term to(DType d, Term x);
// x rounded to a whole number, halves up.
Term half_up(Term x);
// x moved into the range of the dtype, in the dtype.
Term saturated(Term x, DType d);

}  // namespace relay::op
