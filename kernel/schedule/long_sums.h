// The order in which a long sum of floats is added up.
//
// One running sum of n terms is off by up to n/2 ULP: each addition rounds, and equal terms round
// the same way for as long as the sum has one exponent. So a long sum is added up in blocks: a
// running sum for each block, and a sum of the blocks' results, which is a long sum again if there
// are many. With blocks of b terms the error grows with b log n / log b.
//
// The order follows from the number of terms and accumulators alone, not from threads or from
// whether the extent is constant. Each rule of the schedules adds up by `add_terms`. Short sums
// keep their plain loops.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernel/schedule/stage.h"
#include "kernel/schedule/writer.h"

namespace relay::kernel::schedule {

// How one sum is ordered. No blocks: in the order in which it was written.
struct SumOrder {
  int64_t block = 0;  // the most terms that are added one after the other; 0: all
  int levels = 0;     // of blocks above each other; the last one is a running sum, however many terms it has

  // Of a loop that adds so many terms to each accumulator in an iteration.
  SumOrder by(int64_t terms) const;
};

// For a reduction that keeps so many vectors of accumulators in registers: many make blocks dear.
SumOrder sum_order(const Stage& stage, int64_t vectors);
// Of a sum that keeps the order in which it was written.
inline constexpr SumOrder kAsWritten = {};

// The accumulators of a reduction, which hold its initial value before the terms.
struct Accumulators {
  std::string name;      // of the stage
  const Buffer* buffer;  // local
  std::vector<Expr> at;  // an element, in terms of the axes that `each` binds
  // A block with this name and body for each of them.
  std::function<Stmt(const std::string& name, Stmt body)> each;
};

// One of the serial loops over the terms.
struct TermLoop {
  TermLoop(Expr extent);  // NOLINT: an extent is a loop
  TermLoop(Expr extent, int64_t most) : extent(extent), most(most) {}
  Expr extent;
  int64_t most = 0;  // iterations; 0: not known
};

std::vector<TermLoop> term_loops(const std::vector<Axis>& reduction);
// A buffer of one element.
Accumulators scalar_sum(Writer& w, const std::string& name, const Buffer* buffer);

// The loops, the first one outermost. body(i, ...) adds one term to each accumulator
// (`SumOrder::by`: several).
Stmt add_terms(Writer& w, SumOrder order, const Accumulators& sums, const std::vector<TermLoop>& loops,
               const std::function<Stmt(const std::vector<Expr>&)>& body);

}  // namespace relay::kernel::schedule
