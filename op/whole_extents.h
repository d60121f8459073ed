// The types of calls with extents of any complexity.
//
// A type in a program has `?` for an extent that is too complex (Dim::is_too_complex), because
// proofs and texts of types would take too long. A kernel has to say how large its tensors are, so
// lowering asks here. What it costs grows with the extent, in which shared parts count once.
#pragma once

#include <span>

#include "op/op_def.h"

namespace relay::op {

// As `infer` (op/apply.h), but `?` is only what no expression says.
Type infer_whole(Context& context, const OpDef& op, std::span<const Type> args, const Attrs& attrs);

}  // namespace relay::op
