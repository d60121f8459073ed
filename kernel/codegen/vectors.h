// Which vectorised loops are computed with vectors, and which local buffers can
// live in registers.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kernel/codegen/sharing.h"
#include "kernel/kernel.h"
#include "kernel/simplify.h"

namespace relay::kernel::codegen {

// Part of a vectorised loop: iterations [start, start + lanes) at once.
struct Piece {
  int64_t start;
  int lanes;  // a power of two
};

// Loops of kind kVectorized in an expanded body (expand.h) whose accesses are contiguous
// or the same for all iterations, and whose operations vectors have. The others are
// plain loops.
class VectorPlan {
 public:
  VectorPlan() = default;
  // `most_bytes` of a vector; 0: no loops at all.
  VectorPlan(Stmt body, int most_bytes);

  bool contains(const For* loop) const { return element_bytes_.contains(loop); }
  // Is such a loop in the statement?
  bool reaches(Stmt s) const;
  // The loop cut into vectors, the widest first.
  std::vector<Piece> pieces(const For* loop) const;

 private:
  void visit(Stmt s, Bounds bounds);

  int most_bytes_ = 0;
  std::unordered_map<const For*, int> element_bytes_;  // of the widest element in the loop
};

// Emits the body of a loop of the plan once for each piece: `lanes` are those of the piece
// meanwhile. A piece of one iteration has none, and the loop's variable is a number in it.
void for_each_piece(const VectorPlan& plan, const For& loop, ExprPool& pool, std::optional<Lanes>& lanes,
                    const std::function<void(Stmt)>& emit);

// Which elements of a local buffer are accessed, if each access is to one element or vector that is
// known here and no two vectors overlap: offset -> lanes. Such a buffer is a set of variables,
// which compilers keep in registers.
std::optional<std::map<int64_t, int>> as_variables(const Allocate& a, const VectorPlan& plan, bool threads);

// True if the offset is `rest + var` where `rest` does not depend on the variable.
bool is_contiguous(Expr offset, Expr var);

// flat_offset, and 0 for a scalar.
Expr offset_of(const Buffer& buffer, const List<const ExprNode*>& indices, const Bounds& bounds,
               ExprPool& pool);
Expr offset_of(const Buffer& buffer, const List<Expr>& indices, const Bounds& bounds, ExprPool& pool);

}  // namespace relay::kernel::codegen
