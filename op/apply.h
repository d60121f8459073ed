// Applying operators: to types, to values, and in programs under construction.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "op/op_def.h"
#include "runtime/value.h"

namespace relay::op {

// Asks the operator's relation. Throws a RelationError besides for an extent of the result that is
// negative or does not fit 64 bits. An extent that is too complex to work with is unknown.
Type relate(Relation& r, const OpDef& op, const Attrs& attrs);
// Throws a RelationError for a result with more bytes than 63 bits count. For the type check: a run
// has a limit instead.
void require_countable(Type result);
// The result type of a call with these argument types. Throws RelationError.
Type infer(Context& context, const OpDef& op, std::span<const Type> args, const Attrs& attrs);

// A call that is typed at once if its arguments are. Throws RelationError if they
// are and do not fit.
Expr call(Builder& b, const OpDef& op, std::span<const Expr> args, const std::vector<AttrArg>& attrs = {});
inline Expr call(Builder& b, const OpDef& op, std::initializer_list<Expr> args,
                 const std::vector<AttrArg>& attrs = {}) {
  return call(b, op, std::span<const Expr>(args.begin(), args.size()), attrs);
}
// The attributes of a call, for one like it; without the attribute of that name, if one is given.
std::vector<AttrArg> attr_args(const Attrs& attrs, std::string_view without = {});
// The call written out in other operators; null if the operator has no `expand`.
// Arguments must be typed.
Expr expand(Builder& b, const OpDef& op, std::span<const Expr> args, const Attrs& attrs);

// What the operator computes. Its relation runs on the concrete shapes first: a violated constraint
// is a Trap. Operators that are defined by others (`expand`) are evaluated through those.
Value evaluate(Context& context, const OpDef& op, std::span<const Value> args, const Attrs& attrs,
               Sums sums = Sums::kDouble);

// A call on a constant, evaluated at once however large it is: how passes bring weights
// into other layouts.
Expr packed(Builder& b, const OpDef& op, Expr constant, const std::vector<AttrArg>& attrs);

// What the bound of a reduction is a multiple of (Tolerance::magnitude), for each tensor of the
// results: their absolute values, or the sums of the absolute values of all terms.
std::vector<Tensor> magnitudes(Context& context, const OpDef& op, std::span<const Value> args,
                               const Attrs& attrs, std::span<const Tensor> results);

// Tensors and types in order, tuples taken apart. Types that are not tensors or tuples of
// them give a bug.
std::vector<Tensor> flatten(std::span<const Value> values);
std::vector<const TensorType*> flatten(std::span<const Type> types);

// The type of a value made of tensors and tuples.
Type type_of(Context& context, const Value& v);

}  // namespace relay::op
