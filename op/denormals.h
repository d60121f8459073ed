// What operators do with denormals where compiled code flushes them
// (docs/semantics.md, "Denormals").
#pragma once

#include <span>

#include "ir/context.h"
#include "op/op_def.h"
#include "runtime/value.h"

namespace relay::op {

// Does each element of the results have the bits of an element of an argument? Then denormals are
// kept in any case. Other operators may take a denormal argument for 0, and give 0 for a denormal.
bool moves_bits(const OpDef& def);

// The value with zeros in the place of denormals, for a tensor or a tuple of them; the same one if
// there are none. Other values stay.
Value flushed(const Value& v);

// `evaluate`, as it is where every denormal is flushed that may be: in the
// arguments and the result of each operator that an expansion consists of.
Value evaluate_flushed(Context& context, const OpDef& def, std::span<const Value> args, const Attrs& attrs,
                       Sums sums = Sums::kDouble);

}  // namespace relay::op
