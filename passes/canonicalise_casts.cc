// canonicalise-casts: casts that change nothing go.
//
//   cast(%x : int8, dtype="int8")                  becomes   %x
//   cast(cast(%x : int8, dtype="int32"), "int64")  becomes   cast(%x, dtype="int64")
//
// Of two casts the inner one goes where the outer one gives the same bits without it:
//   - its dtype holds all numbers of the one before, and the outer cast reads both in one way;
//   - or all three dtypes are integers and the one between has at least as many bits as the
//     last: wrapping twice keeps the low bits that wrapping once does.
// Integers that pass through floating point on the way to narrower ones stay: floating point goes
// to the nearest end of a range, and integers wrap.
//
// Before: nothing is asked for. After: no cast is to its argument's dtype, and none can be left out
// between two others by these rules.
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// Bits of the significand, the one before the point included, of dtypes with the usual range of
// exponents; 0 of the others.
int significand(DType d) {
  if (d == kFloat16) return 11;
  if (d == kFloat32) return 24;
  if (d == kFloat64) return 53;
  return d == kBFloat16 ? 8 : 0;
}

// Does `wide` hold each number of `d`?
bool holds(DType wide, DType d) {
  if (wide == d) return true;
  if (d.is_bool()) return significand(wide) > 0 || wide.is_int();
  if (d.is_int()) {
    const int digits = d.bits - (d.is_signed_int() ? 1 : 0);
    if (wide.is_signed_int()) return wide.bits - 1 >= digits;
    if (wide.is_unsigned_int()) return d.is_unsigned_int() && wide.bits >= digits;
    // Of float16 only what is below 2^11 is needed, which is in its range; others reach farther.
    return significand(wide) >= digits;
  }
  if (significand(d) == 0) return false;
  // bfloat16 reaches farther than float16, which has more digits.
  if (wide == kFloat64) return true;
  return wide == kFloat32 && d != kFloat64;
}

// Is a cast from `first` to `last` the same with one to `between` before it?
bool can_skip(DType first, DType between, DType last) {
  const bool wraps = first.is_int() && between.is_int() && last.is_int();
  if (wraps && between.bits >= last.bits) return true;
  if (!holds(between, first)) return false;
  if (!between.is_float() || first.is_float()) return true;
  return last.is_float() || last.is_bool() || holds(last, first);
}

const TensorType* tensor_of(Expr e) { return e->type ? e->type->as<TensorType>() : nullptr; }

Module run(const Module& m, const PassContext&) {
  return rewrite(m, [](relay::Builder& b, Expr e) -> Expr {
    if (op::callee(e) != &op::kCast) return e;
    const TensorType* last = tensor_of(e);
    const Expr argument = e->as<Call>()->args[0];
    Expr from = argument;
    if (!last) return e;
    while (op::callee(from) == &op::kCast) {
      const Expr before = from->as<Call>()->args[0];
      const TensorType *first = tensor_of(before), *between = tensor_of(from);
      if (!first || !between || !can_skip(first->dtype, between->dtype, last->dtype)) break;
      from = before;
    }
    if (from->type == e->type) return from;
    if (from == argument) return e;
    const SpanScope at(b, e->span);
    return op::call(b, op::kCast, {from}, {{"dtype", last->dtype}});
  });
}

}  // namespace

const Pass kCanonicaliseCasts = {
    .name = "canonicalise-casts",
    .doc = "leave out casts that change nothing, alone or between two others",
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
