// Stages: a kernel as Builder wrote it, taken apart into what it computes, one tensor
// after the other.
//
// The rules for a target look at stages, not at loops: a stage says that t[i...] is f(i), or the
// combination of f(i, r) over r, and the rules then write the loops that suit the target.
#pragma once

#include <optional>
#include <vector>

#include "kernel/kernel.h"
#include "kernel/simplify.h"

namespace relay::kernel::schedule {

enum class StageKind {
  kCompute,     // t[i] = value
  kReduce,      // t[i] = init, then t[i] = value for each r in row-major order, where value loads t[i]
  kSequential,  // anything else: runs as it is written
};

struct Axis {
  Expr var, extent;
};

// How a reduction joins two values, where it may do so in any order (but for rounding).
struct Combination {
  ExprKind kind = ExprKind::kAdd;
  bool skips_nan = false;  // a maximum or minimum of what are numbers

  Expr of(ExprPool& pool, Expr so_far, Expr next) const;
};

struct Stage {
  StageKind kind = StageKind::kSequential;
  std::string name;
  const Buffer* buffer = nullptr;
  std::vector<Axis> spatial, reduction;
  Bounds bounds;  // of the axes
  Expr init = {};
  Expr value = {};
  // For kReduce, if the value joins t[i] and `next` so.
  std::optional<Combination> combine = {};
  Expr next = {};
  std::vector<Stmt> requirements = {};  // run before each store
  Stmt statement = nullptr;             // as it was written
};

// The stages in order. A kernel that is already scheduled is one sequential stage for each
// top-level statement.
std::vector<Stage> stages_of(const Kernel& k);

}  // namespace relay::kernel::schedule
