// Lists of micro-ops: which are in the scratchpad when an instruction needs them.
//
// A VTA has no other way to say which accumulators an instruction works on, so each slot of the
// scratchpads has lists of its own. If all lists of a stream fit, one LOAD brings them at its
// begin. Else a list is loaded when it is needed and not there; where there is no room left, the
// scratchpad is filled from its begin again.
#pragma once

#include <map>
#include <vector>

#include "vta/compile/code.h"

namespace relay::vta {

class MicroOpLists {
 public:
  static constexpr int kNone = -1;

  // The number of the list; equal ones have one.
  int add(std::vector<MicroOp> list);

  // Sets `uop_bgn` and `uop_end` of each instruction that has a list, inserts LOADs, and sets the
  // code's micro-ops. `lists` has a number for each instruction. False: `too_long` has more
  // micro-ops than the scratchpad.
  bool place(LayerCode& code, const std::vector<int>& lists, int64_t room, int64_t& too_long) const;

 private:
  struct Less {
    bool operator()(const std::vector<MicroOp>& a, const std::vector<MicroOp>& b) const;
  };
  std::map<std::vector<MicroOp>, int, Less> numbers_;
  std::vector<std::map<std::vector<MicroOp>, int, Less>::const_iterator> lists_;
};

}  // namespace relay::vta
