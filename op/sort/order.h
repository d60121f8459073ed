// The order that sort, argsort, topk, searchsorted and unique share.
//
// Numbers go up or down. NaN comes last both ways. Equal elements keep their order,
// and -0 equals 0.
//
// Other systems differ on NaN: numpy puts it last, PyTorch counts it as the largest, and the
// original Relay compares with `<` alone, so that its result is anything. Last both ways means
// that no top of numbers ever has a NaN while there is a number.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernel/builder.h"
#include "runtime/tensor.h"

namespace relay::op {

// Does element i of x come before element j of y, which are not equal then? Both have one dtype.
bool comes_before(const Tensor& x, int64_t i, const Tensor& y, int64_t j, bool ascending);
kernel::Expr comes_before(kernel::Expr x, kernel::Expr y, bool ascending);

// For `evaluate`: calls f(line, order) for each line along the axis. line[i] is the number of the
// line's element i in row-major order; order[i] is the place along the axis of the element that
// comes i-th.
using Line = std::vector<int64_t>;
void for_each_order(const Tensor& x, size_t axis, bool ascending,
                    const std::function<void(const Line& line, const Line& order)>& f);

// For `lower`: how many binary digits a number has; 0 for one below 1. At most 40 are counted,
// which is more than any extent has that fits memory.
kernel::Expr digits_of(kernel::Builder& k, kernel::Expr number);

// The places along an axis, in order.
struct Order {
  kernel::Tensor places;
  size_t axis;
  kernel::Expr slot;

  // Where the element stands that comes i[axis]-th; the other indices say in which line.
  kernel::Expr at(kernel::Indices i) const;
};

// Merges runs of 1, 2, 4, ... elements, so that a line of n takes n log2 n comparisons. The work is
// sequential: one thread does it, on a GPU too. It takes three int64 of memory for each element.
Order order_along(kernel::Builder& k, const kernel::Tensor& x, size_t axis, bool ascending);

}  // namespace relay::op
