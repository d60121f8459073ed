// Buffer: a typed array in memory that a kernel reads or writes.
#pragma once

#include <optional>
#include <vector>

#include "base/arena.h"
#include "base/symbol.h"
#include "kernel/expr.h"
#include "runtime/dtype.h"

namespace relay::kernel {

// Where a buffer lives. On the CPU, kShared and kGlobal are the same memory.
enum class Scope : uint8_t {
  kGlobal,  // a parameter, or a temporary that the caller allocates (part of the memory plan)
  kShared,  // one per thread block
  kLocal,   // one per thread: registers or stack, small and of constant size
};

struct Buffer {
  uint32_t id;  // dense within its kernel: gives deterministic order
  Symbol name;
  DType dtype;
  List<Expr> shape;  // int64 expressions over shape variables
  Scope scope = Scope::kGlobal;
  // Elements from one index of a dim to the next; none: dense and row-major. Row-major they are in
  // any case, so that no two elements share a place: a stride is at least the stride times the
  // extent of the dim inside. What lies in the gaps is nobody's. Inputs and outputs are dense,
  // because callers know them by their shapes alone.
  List<Expr> strides = {};
};

// Elements from one index of the dim to the next.
Expr stride_of(const Buffer& b, size_t dim);
// A dense shape of as much memory as the buffer takes, gaps included.
std::vector<Expr> memory_shape(const Buffer& b);
// Its elements, where they are a constant of 64 bits: nothing if they are none, or more.
std::optional<int64_t> memory_extent(const Buffer& b);

}  // namespace relay::kernel
