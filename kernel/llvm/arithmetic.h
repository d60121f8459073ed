// Scalar operations as LLVM instructions, of single values and of vectors alike.
//
// The rules are those of the C++ prelude (kernel/print/prelude.h): the two code generators give the
// same bits. Values of small floating dtypes are floats that are one of the dtype's values;
// booleans are i1; 4-bit integers are i8.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <map>
#include <utility>

#include "kernel/codegen/operations.h"
#include "kernel/expr.h"
#include "target/target.h"

namespace relay::kernel::llvm {

using ::llvm::Type;
using ::llvm::Value;
using Instructions = ::llvm::IRBuilder<>;

// What the processor and the options leave open.
struct Rules {
  target::Features features = {};
  bool scale_instruction = false;  // AVX-512F
};

class Arithmetic {
 public:
  Arithmetic(Instructions& make, const Rules& rules) : make_(make), rules_(rules) {}

  const Rules& rules() const { return rules_; }

  // Types of values in expressions, and of elements in memory; of vectors if there are lanes.
  Type* value_type(DType d, int lanes = 1) const;
  Type* memory_type(DType d, int lanes = 1) const;

  Value* constant(DType d, int64_t v) const;
  Value* constant(DType d, double v) const;
  Value* splat(Value* v, int lanes) const { return make_.CreateVectorSplat(static_cast<unsigned>(lanes), v); }

  // kAdd to kBitXor, shifts and comparisons; `d` is the dtype of the operands. Rounded if
  // it is a small one.
  Value* binary(ExprKind kind, DType d, Value* a, Value* b);
  // The same where one operand of a minimum or maximum is known to be a number.
  Value* extreme_of_number(ExprKind kind, codegen::Number number, Value* a, Value* b);
  // `was_clamped`: a floating value that is NaN or lies within the integer dtype
  // and within 32 bits.
  Value* cast(DType to, DType from, Value* v, bool was_clamped);
  Value* absolute(Value* v);  // of a signed integer

  // Between memory and values.
  Value* decode(DType d, Value* stored);
  Value* encode(DType d, Value* v);
  // The nearest value of the dtype, if that is not every value of the type that holds it.
  Value* rounded(DType d, Value* v);

 private:
  Value* integer_binary(ExprKind kind, DType d, Value* a, Value* b);
  Value* boolean_binary(ExprKind kind, Value* a, Value* b);
  Value* float_binary(ExprKind kind, Value* a, Value* b);
  Value* divide(ExprKind kind, bool is_signed, Value* a, Value* b);
  Value* integer_of(DType to, Value* v, bool was_clamped);
  Value* odd_float_of(Value* v);  // a double rounded "to odd", so that rounding it again is rounding once
  // An integer of 64 bits, rounded "to odd" to one that a double holds.
  Value* odd_in_double(DType from, Value* v);
  Value* small_float_of(DType d, Value* bits);
  Value* decoded(DType d, Value* bits);
  Value* bits_of_small_float(DType d, Value* v);
  Value* by_helper(const char* name, Type* result, Value* v);  // float8: a function of ours, lane by lane

  Type* like(Type* element, Value* shape) const;  // a vector of as many lanes
  Value* number(Value* shape, uint64_t v) const;  // an integer constant of the same type
  Value* real(Value* shape, double v) const;
  Value* bits(Value* v) { return make_.CreateBitCast(v, like(make_.getInt32Ty(), v)); }
  Value* float_of_bits(Value* v) { return make_.CreateBitCast(v, like(make_.getFloatTy(), v)); }

  Instructions& make_;
  const Rules rules_;
  // Values made of these bits: what was just rounded is not rounded again to be stored.
  std::map<std::pair<Value*, DType>, Value*> bits_of_;
};

// The functions that by_helper calls, by name: the linker is told where they are.
struct Helper {
  const char* name;
  void* address;
};
extern const Helper kHelpers[4];

}  // namespace relay::kernel::llvm
