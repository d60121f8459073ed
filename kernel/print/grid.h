// What kernels for grids of threads need besides: buffers of one thread that outlive its loops, and
// joins within a warp.
#pragma once

#include <optional>
#include <vector>

#include "kernel/kernel.h"
#include "kernel/simplify.h"
#include "target/machines.h"

namespace relay::kernel::print {

// Local buffers around loops over the threads of a block belong to no thread as they are written.
// One whose first indices are those of the threads in every access has a piece for each: these
// indices are taken away, and each thread declares its own piece. Others may not be written in such
// loops: that is a bug of the schedule.
Stmt give_to_threads(ExprPool& pool, Stmt s);

// Steps of a join, one loop over threads after the other:
//
//   for thread_x t < 16: b[.., t] = f(b[.., t], b[.., t + 16]);  and the same for 8, 4, 2 and 1
//
// A warp does that in registers: each thread's element goes in and out once.
struct WarpJoin {
  const For* rows = nullptr;  // a loop over other threads around each step; null if there is none
  Expr row;                   // its variable
  Expr lane;                  // stands for the thread's index
  const Buffer* buffer = nullptr;
  std::vector<Expr> at;  // of the thread's element, in terms of `row` and `lane`
  Expr mine, other;      // stand for the operands in `joined`
  Expr joined;
};
inline constexpr size_t kWarpSteps = 5;
static_assert(target::kWarpThreads == int64_t{1} << kWarpSteps);

// The join that the statements from `first` on are, if they are one.
std::optional<WarpJoin> find_warp_join(ExprPool& pool, const List<Stmt>& body, size_t first,
                                       const Bounds& bounds);

}  // namespace relay::kernel::print
