// Calls of an operator that are known to be well typed: those of its exec test.
//
// They are what the sweep's drafts start from. So an operator's exec test is its hint for shapes
// that fit, and no table repeats it.
#pragma once

#include <string>
#include <vector>

#include "op/op_def.h"
#include "runtime/value.h"

namespace relay::sweep {

// An argument's tensor, with the values that the seed has there.
struct Operand {
  DType dtype;
  Shape shape;
  Tensor values;
};

// A tensor, or a tuple of tensors.
struct Argument {
  bool is_tuple = false;
  std::vector<Operand> operands;
};

// One call, without types that a checker would have to agree with.
struct Draft {
  const op::OpDef* op = nullptr;
  std::vector<Argument> args;
  std::vector<Attr> attrs;  // present ones, in the context of whoever holds the draft
};

// A draft that can be moved between contexts.
struct Seed {
  Draft draft;
  std::shared_ptr<const Context> context;  // of the draft's attributes
};

// Attributes of another context as attributes of this one.
std::vector<Attr> attrs_in(Context& context, const std::vector<Attr>& attrs);

// The calls of the operator in `tests/exec/op/NAME.relay`, the small ones, each type and attribute
// list once. Empty if there is no such file.
std::vector<Seed> seeds_of(const op::OpDef& op);

}  // namespace relay::sweep
