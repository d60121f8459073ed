// Numpy broadcasting, as operators need it: to evaluate, to lower and to differentiate. Shapes are
// aligned at the right, and an extent of 1 stands for any.
#pragma once

#include <span>
#include <vector>

#include "ir/builder.h"
#include "kernel/builder.h"
#include "runtime/tensor.h"

namespace relay::op {

// For each element of shape `to`, in row-major order, the number of the element of
// `from` that it sees.
std::vector<int64_t> broadcast_elements(const Shape& from, const Shape& to);

// The element of x that the element `i` of a result of this shape sees. An extent that may or
// may not be 1 is looked at when the kernel runs. That it broadcasts at all is what the
// operator's relation asks.
kernel::Expr broadcast_at(const kernel::Tensor& x, kernel::Indices i, std::span<const kernel::Expr> shape);

// The adjoint of an argument that was broadcast: dy summed down to the shape of `like`; dy
// itself if it has it.
Expr collapse_to(Builder& b, Expr dy, Expr like);

}  // namespace relay::op
