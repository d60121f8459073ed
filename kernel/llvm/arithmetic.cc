#include "kernel/llvm/arithmetic.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "base/check.h"
#include "kernel/scalar.h"

namespace relay::kernel::llvm {
namespace {

bool is_float8(DType d) { return d.code == DTypeCode::kFloat8E4M3 || d.code == DTypeCode::kFloat8E5M2; }
bool is_small_float(DType d) { return d.is_float() && d.bits < 32; }
unsigned lanes_of(Value* v) {
  auto* t = ::llvm::dyn_cast<::llvm::FixedVectorType>(v->getType());
  return t ? t->getNumElements() : 1;
}

extern "C" {
float relay_jit_float_of_e4m3(uint8_t v) { return ::relay::float_of_bits(kFloat8E4M3, v); }
float relay_jit_float_of_e5m2(uint8_t v) { return ::relay::float_of_bits(kFloat8E5M2, v); }
uint8_t relay_jit_e4m3_of_float(float v) { return static_cast<uint8_t>(bits_of_float(kFloat8E4M3, v)); }
uint8_t relay_jit_e5m2_of_float(float v) { return static_cast<uint8_t>(bits_of_float(kFloat8E5M2, v)); }
}

}  // namespace

const Helper kHelpers[4] = {
    {"relay_jit_float_of_e4m3", reinterpret_cast<void*>(relay_jit_float_of_e4m3)},
    {"relay_jit_float_of_e5m2", reinterpret_cast<void*>(relay_jit_float_of_e5m2)},
    {"relay_jit_e4m3_of_float", reinterpret_cast<void*>(relay_jit_e4m3_of_float)},
    {"relay_jit_e5m2_of_float", reinterpret_cast<void*>(relay_jit_e5m2_of_float)},
};

// --- Types and constants ---

Type* Arithmetic::like(Type* element, Value* shape) const {
  const unsigned lanes = lanes_of(shape);
  return lanes == 1 ? element : ::llvm::FixedVectorType::get(element, lanes);
}
Value* Arithmetic::number(Value* shape, uint64_t v) const {
  return ::llvm::ConstantInt::get(shape->getType(), v);
}
Value* Arithmetic::real(Value* shape, double v) const { return ::llvm::ConstantFP::get(shape->getType(), v); }

Type* Arithmetic::value_type(DType d, int lanes) const {
  Type* t = d.is_bool()    ? make_.getInt1Ty()
            : d.is_float() ? (d.bits == 64 ? make_.getDoubleTy() : make_.getFloatTy())
                           : memory_type(d);
  return lanes == 1 ? t : ::llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes));
}

Type* Arithmetic::memory_type(DType d, int lanes) const {
  Type* t =
      d.is_float() && d.bits >= 32 ? value_type(d) : make_.getIntNTy(static_cast<unsigned>(d.bytes() * 8));
  return lanes == 1 ? t : ::llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes));
}

Value* Arithmetic::constant(DType d, int64_t v) const {
  return ::llvm::ConstantInt::get(value_type(d), static_cast<uint64_t>(v), d.is_signed_int());
}
Value* Arithmetic::constant(DType d, double v) const {
  return ::llvm::ConstantFP::get(value_type(d), scalar::round_to(d, v));
}

// --- Binary operations ---

Value* Arithmetic::binary(ExprKind kind, DType d, Value* a, Value* b) {
  if (d.is_bool()) return boolean_binary(kind, a, b);
  Value* v = d.is_float() ? float_binary(kind, a, b) : integer_binary(kind, d, a, b);
  const bool exact = kind == ExprKind::kMin || kind == ExprKind::kMax || kind >= ExprKind::kEqual;
  return exact ? v : rounded(d, v);
}

Value* Arithmetic::boolean_binary(ExprKind kind, Value* a, Value* b) {
  switch (kind) {
    case ExprKind::kAnd:
    case ExprKind::kBitAnd:
    case ExprKind::kMin:
    case ExprKind::kMul: return make_.CreateAnd(a, b);
    case ExprKind::kOr:
    case ExprKind::kBitOr:
    case ExprKind::kMax:
    case ExprKind::kAdd: return make_.CreateOr(a, b);
    case ExprKind::kBitXor:
    case ExprKind::kSub:
    case ExprKind::kNotEqual: return make_.CreateXor(a, b);
    case ExprKind::kEqual: return make_.CreateNot(make_.CreateXor(a, b));
    case ExprKind::kLess: return make_.CreateAnd(make_.CreateNot(a), b);
    case ExprKind::kLessEqual: return make_.CreateOr(make_.CreateNot(a), b);
    default: break;
  }
  CHECK(false, "there is no such operation on booleans");
  return nullptr;
}

Value* Arithmetic::float_binary(ExprKind kind, Value* a, Value* b) {
  switch (kind) {
    case ExprKind::kAdd: return make_.CreateFAdd(a, b);
    case ExprKind::kSub: return make_.CreateFSub(a, b);
    case ExprKind::kMul: return make_.CreateFMul(a, b);
    case ExprKind::kDiv: return make_.CreateFDiv(a, b);
    case ExprKind::kEqual: return make_.CreateFCmpOEQ(a, b);
    case ExprKind::kNotEqual: return make_.CreateFCmpUNE(a, b);
    case ExprKind::kLess: return make_.CreateFCmpOLT(a, b);
    case ExprKind::kLessEqual: return make_.CreateFCmpOLE(a, b);
    case ExprKind::kMin:
    case ExprKind::kMax: {
      Value* v = extreme_of_number(kind, codegen::Number::kRight, a, b);  // NaN if a is
      return make_.CreateSelect(make_.CreateFCmpUNO(b, b), b, v);
    }
    default: break;
  }
  CHECK(false, "there is no such operation on floating point numbers");
  return nullptr;
}

// Each is one instruction of the processor, which gives its second operand if either is NaN
// or both are zeros.
Value* Arithmetic::extreme_of_number(ExprKind kind, codegen::Number number, Value* a, Value* b) {
  const bool least = kind == ExprKind::kMin;
  if (number == codegen::Number::kRight) {
    return make_.CreateSelect(least ? make_.CreateFCmpOLT(b, a) : make_.CreateFCmpOLT(a, b), b, a);
  }
  return make_.CreateSelect(least ? make_.CreateFCmpOLE(a, b) : make_.CreateFCmpOLE(b, a), a, b);
}

Value* Arithmetic::integer_binary(ExprKind kind, DType d, Value* a, Value* b) {
  const bool is_signed = d.is_signed_int();
  const auto less = [&](Value* x, Value* y) {
    return is_signed ? make_.CreateICmpSLT(x, y) : make_.CreateICmpULT(x, y);
  };
  switch (kind) {
    case ExprKind::kAdd: return make_.CreateAdd(a, b);
    case ExprKind::kSub: return make_.CreateSub(a, b);
    case ExprKind::kMul: return make_.CreateMul(a, b);
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kTruncDiv:
    case ExprKind::kTruncMod: return divide(kind, is_signed, a, b);
    case ExprKind::kMin: return make_.CreateSelect(less(b, a), b, a);
    case ExprKind::kMax: return make_.CreateSelect(less(a, b), b, a);
    case ExprKind::kBroadcast: return make_.CreateSelect(make_.CreateICmpEQ(a, number(a, 1)), b, a);
    case ExprKind::kBitAnd: return make_.CreateAnd(a, b);
    case ExprKind::kBitOr: return make_.CreateOr(a, b);
    case ExprKind::kBitXor: return make_.CreateXor(a, b);
    case ExprKind::kShiftLeft: return make_.CreateShl(a, b);
    case ExprKind::kShiftRight: return is_signed ? make_.CreateAShr(a, b) : make_.CreateLShr(a, b);
    case ExprKind::kEqual: return make_.CreateICmpEQ(a, b);
    case ExprKind::kNotEqual: return make_.CreateICmpNE(a, b);
    case ExprKind::kLess: return less(a, b);
    case ExprKind::kLessEqual: return make_.CreateNot(less(b, a));
    default: break;
  }
  CHECK(false, "there is no such operation on integers");
  return nullptr;
}

// By anything but zero. The most negative number divided by -1 wraps: the processor is
// never asked for it.
Value* Arithmetic::divide(ExprKind kind, bool is_signed, Value* a, Value* b) {
  const bool quotient = kind == ExprKind::kFloorDiv || kind == ExprKind::kTruncDiv;
  if (!is_signed) return quotient ? make_.CreateUDiv(a, b) : make_.CreateURem(a, b);
  Value* minus_one = make_.CreateICmpEQ(b, number(b, ~uint64_t{0}));
  Value* safe = make_.CreateSelect(minus_one, number(b, 1), b);
  Value* zero = number(a, 0);
  Value* r = make_.CreateSelect(minus_one, zero, make_.CreateSRem(a, safe));
  Value* q =
      quotient ? make_.CreateSelect(minus_one, make_.CreateNeg(a), make_.CreateSDiv(a, safe)) : nullptr;
  if (kind == ExprKind::kTruncDiv) return q;
  if (kind == ExprKind::kTruncMod) return r;
  Value* down = make_.CreateAnd(make_.CreateICmpNE(r, zero),
                                make_.CreateXor(make_.CreateICmpSLT(r, zero), make_.CreateICmpSLT(b, zero)));
  if (quotient) return make_.CreateSelect(down, make_.CreateSub(q, number(q, 1)), q);
  return make_.CreateSelect(down, make_.CreateAdd(r, b), r);
}

Value* Arithmetic::absolute(Value* v) {
  return make_.CreateSelect(make_.CreateICmpSLT(v, number(v, 0)), make_.CreateNeg(v), v);
}

// --- Conversions ---

Value* Arithmetic::cast(DType to, DType from, Value* v, bool was_clamped) {
  if (to.is_bool()) {
    if (from.is_bool()) return v;
    return from.is_float() ? make_.CreateFCmpUNE(v, real(v, 0)) : make_.CreateICmpNE(v, number(v, 0));
  }
  if (to.is_float()) {
    Type* type = like(value_type(to), v);
    Value* f = v;
    if (!from.is_float()) {
      // What does not fit a float is rounded once, straight to the small dtype.
      const bool wide = is_small_float(to) && from.is_int() && from.bits > 16;
      Type* first = wide ? like(make_.getDoubleTy(), v) : type;
      if (wide && from.bits == 64) v = odd_in_double(from, v);
      f = from.is_signed_int() ? make_.CreateSIToFP(v, first) : make_.CreateUIToFP(v, first);
      if (wide) f = odd_float_of(f);
    } else if (from == kFloat64) {
      f = to == kFloat64 ? v : is_small_float(to) ? odd_float_of(v) : make_.CreateFPTrunc(v, type);
    } else if (to == kFloat64) {
      f = make_.CreateFPExt(v, type);
    }
    return to == from ? f : rounded(to, f);
  }
  if (from.is_float()) return integer_of(to, v, was_clamped);
  const bool extends_sign = from.is_signed_int();
  Type* type = like(value_type(to), v);
  return rounded(to, extends_sign ? make_.CreateSExtOrTrunc(v, type) : make_.CreateZExtOrTrunc(v, type));
}

// See integer_of_real.
Value* Arithmetic::integer_of(DType to, Value* v, bool was_clamped) {
  Type* type = like(value_type(to), v);
  if (was_clamped) {
    Value* n = make_.CreateSelect(make_.CreateFCmpORD(v, v), v, real(v, 0));
    n = make_.CreateFPToSI(n, like(make_.getInt32Ty(), v));
    return make_.CreateSExtOrTrunc(n, type);
  }
  Type* exact = like(make_.getIntNTy(to.bits), v);
  const bool is_signed = to.is_signed_int();
  Value* n = make_.CreateIntrinsic(is_signed ? ::llvm::Intrinsic::fptosi_sat : ::llvm::Intrinsic::fptoui_sat,
                                   {exact, v->getType()}, {v});
  return is_signed ? make_.CreateSExtOrTrunc(n, type) : make_.CreateZExtOrTrunc(n, type);
}

Value* Arithmetic::odd_in_double(DType from, Value* v) {
  Value* last = number(v, 2047);
  Value* first = make_.CreateAnd(v, make_.CreateNot(last));
  Value* odd = make_.CreateSelect(make_.CreateICmpEQ(first, v), v, make_.CreateOr(first, number(v, 2048)));
  Value* magnitude = from.is_signed_int() ? absolute(v) : v;
  return make_.CreateSelect(make_.CreateICmpULE(magnitude, number(v, uint64_t{1} << 53)), v, odd);
}

Value* Arithmetic::odd_float_of(Value* v) {
  Value* near = make_.CreateFPTrunc(v, like(make_.getFloatTy(), v));
  Value* back = make_.CreateFPExt(near, v->getType());
  // Equal, or NaN: exact.
  Value* exact = make_.CreateFCmpUEQ(back, v);
  Value* n = bits(near);
  const auto magnitude = [&](Value* x) { return make_.CreateUnaryIntrinsic(::llvm::Intrinsic::fabs, x); };
  Value* above = make_.CreateFCmpOLT(magnitude(v), magnitude(back));
  Value* down = make_.CreateSelect(above, make_.CreateSub(n, number(n, 1)), n);
  Value* odd = float_of_bits(make_.CreateOr(down, number(down, 1)));
  return make_.CreateSelect(exact, near, odd);
}

Value* Arithmetic::rounded(DType d, Value* v) {
  if (is_small_float(d)) return small_float_of(d, bits_of_small_float(d, v));
  if (d == kUInt4) return make_.CreateAnd(v, number(v, 15));
  if (d == kInt4) {
    Value* low = make_.CreateXor(make_.CreateAnd(v, number(v, 15)), number(v, 8));
    return make_.CreateSub(low, number(v, 8));
  }
  return v;
}

Value* Arithmetic::decode(DType d, Value* stored) {
  if (d.is_bool()) return make_.CreateICmpNE(stored, number(stored, 0));
  return is_small_float(d) ? small_float_of(d, stored) : stored;
}

Value* Arithmetic::encode(DType d, Value* v) {
  if (d.is_bool()) return make_.CreateZExt(v, like(make_.getInt8Ty(), v));
  return is_small_float(d) ? bits_of_small_float(d, v) : v;
}

Value* Arithmetic::small_float_of(DType d, Value* stored) {
  Value* v = decoded(d, stored);
  bits_of_[{v, d}] = stored;
  return v;
}

// The formulas are those of the prelude, where they are explained.
Value* Arithmetic::decoded(DType d, Value* stored) {
  Type* word = like(make_.getInt32Ty(), stored);
  if (is_float8(d)) {
    return by_helper(d == kFloat8E4M3 ? kHelpers[0].name : kHelpers[1].name, make_.getFloatTy(), stored);
  }
  if (d == kFloat16 && rules_.features.fp16) {
    return make_.CreateFPExt(make_.CreateBitCast(stored, like(make_.getHalfTy(), stored)),
                             like(make_.getFloatTy(), stored));
  }
  Value* h = make_.CreateZExt(stored, word);
  if (d == kBFloat16) return float_of_bits(make_.CreateShl(h, number(h, 16)));
  Value* magnitude = make_.CreateShl(make_.CreateAnd(h, number(h, 0x7fff)), number(h, 13));
  Value* sign = make_.CreateShl(make_.CreateAnd(h, number(h, 0x8000)), number(h, 16));
  Value* normal = make_.CreateAdd(magnitude, number(h, 0x38000000));
  Value* beside = float_of_bits(make_.CreateAdd(magnitude, number(h, 0x38800000)));
  Value* subnormal = bits(make_.CreateFSub(beside, real(beside, 0x1p-14)));
  Value* finite =
      make_.CreateSelect(make_.CreateICmpUGE(magnitude, number(h, 0x00800000)), normal, subnormal);
  Value* large = make_.CreateOr(magnitude, number(h, 0x7f800000));
  Value* result = make_.CreateSelect(make_.CreateICmpUGE(magnitude, number(h, 0x0f800000)), large, finite);
  return float_of_bits(make_.CreateOr(result, sign));
}

Value* Arithmetic::bits_of_small_float(DType d, Value* v) {
  if (const auto it = bits_of_.find({v, d}); it != bits_of_.end()) return it->second;
  if (is_float8(d)) {
    return by_helper(d == kFloat8E4M3 ? kHelpers[2].name : kHelpers[3].name, make_.getInt8Ty(), v);
  }
  Type* half_word = like(make_.getInt16Ty(), v);
  if (d == kFloat16 && rules_.features.fp16) {
    return make_.CreateBitCast(make_.CreateFPTrunc(v, like(make_.getHalfTy(), v)), half_word);
  }
  Value* b = bits(v);
  const auto shifted = [&](Value* x, uint64_t by) { return make_.CreateLShr(x, number(x, by)); };
  Value* magnitude = make_.CreateAnd(b, number(b, 0x7fffffff));
  Value* nan = make_.CreateICmpUGT(magnitude, number(b, 0x7f800000));
  Value* sign = make_.CreateAnd(shifted(b, 16), number(b, 0x8000));
  if (d == kBFloat16) {
    Value* quiet = make_.CreateOr(sign, number(b, 0x7fc0));
    Value* even = make_.CreateAnd(shifted(b, 16), number(b, 1));
    Value* near = shifted(make_.CreateAdd(make_.CreateAdd(b, number(b, 0x7fff)), even), 16);
    return make_.CreateTrunc(make_.CreateSelect(nan, quiet, near), half_word);
  }
  Value* even = make_.CreateAnd(shifted(magnitude, 13), number(b, 1));
  Value* normal = make_.CreateAdd(make_.CreateAdd(magnitude, number(b, 0xfff)), even);
  normal = shifted(make_.CreateSub(normal, number(b, 0x38000000)), 13);
  Value* f = float_of_bits(magnitude);
  Value* subnormal = make_.CreateSub(bits(make_.CreateFAdd(f, real(f, 0.5))), number(b, 0x3f000000));
  Value* finite =
      make_.CreateSelect(make_.CreateICmpUGE(magnitude, number(b, 0x38800000)), normal, subnormal);
  Value* large = make_.CreateSelect(nan, number(b, 0x7e00), number(b, 0x7c00));
  Value* result = make_.CreateSelect(make_.CreateICmpUGE(magnitude, number(b, 0x477ff000)), large, finite);
  return make_.CreateTrunc(make_.CreateOr(result, sign), half_word);
}

Value* Arithmetic::by_helper(const char* name, Type* result, Value* v) {
  ::llvm::Module& module = *make_.GetInsertBlock()->getModule();
  auto callee = module.getOrInsertFunction(name, result, v->getType()->getScalarType());
  auto* f = ::llvm::cast<::llvm::Function>(callee.getCallee());
  f->setDoesNotThrow();
  f->setDoesNotAccessMemory();
  f->setWillReturn();
  if (result->isIntegerTy(8)) f->addRetAttr(::llvm::Attribute::ZExt);
  if (v->getType()->isIntegerTy(8)) f->addParamAttr(0, ::llvm::Attribute::ZExt);
  CHECK(lanes_of(v) == 1, "small floats of eight bits have no vectors");
  auto* call = make_.CreateCall(callee, {v});
  call->setAttributes(f->getAttributes());
  return call;
}

}  // namespace relay::kernel::llvm
