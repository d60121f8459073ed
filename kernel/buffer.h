// Buffer: a typed, dense, row-major array that a kernel reads or writes.
#pragma once

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
};

}  // namespace relay::kernel
