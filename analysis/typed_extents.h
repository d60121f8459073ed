// Values that surely have the extents which their types say.
//
// A type with `?` fits one that says more, also inside of data types, references and functions,
// where no run compares extents: a List[Tensor[(?), float32]] may be given where a List[Tensor[(3),
// float32]] is asked for. What comes out of these is as long as it was made, so what reads memory
// by its type compares it first, and so does who gives it as a result (driver/results.h).
#pragma once

#include "ir/module.h"
#include "ir/traverse.h"

namespace relay::analysis {

class TypedExtents {
 public:
  // Of the expressions in the function's body, also of those in functions within it. Parameters
  // that are tensors or tuples of them have been compared.
  TypedExtents(const Module& m, const Fn& fn);

  // May the expression have other extents than its type says?
  bool doubted(Expr e) const { return doubted_.get(e); }

 private:
  NodeMap<bool> doubted_;
};

}  // namespace relay::analysis
