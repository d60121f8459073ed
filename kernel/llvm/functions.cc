#include "kernel/llvm/functions.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <string>
#include <type_traits>

#include "base/check.h"

namespace relay::kernel::llvm {
namespace {

using ::llvm::Intrinsic::ID;

// --- Values whose operators make instructions ----------------------------------------------------
//
// kernel/codegen/functions.inc is compiled with them.

// Where instructions go while a formula runs. Formulas make zeros out of nothing (`V{}`), so it is
// not passed along.
struct Place {
  Instructions& make;
  Type* type;  // of V: float, or a vector of floats
  const Rules& rules;
};
thread_local const Place* place = nullptr;

struct Mask {
  Value* v;
};

struct Bits {
  Value* v;
};
Value* word(uint32_t c) {
  return ::llvm::ConstantInt::get(place->type->getWithNewType(place->make.getInt32Ty()), c);
}
Bits operator+(Bits a, uint32_t b) { return {place->make.CreateAdd(a.v, word(b))}; }
Bits operator-(Bits a, uint32_t b) { return {place->make.CreateSub(a.v, word(b))}; }
Bits operator-(Bits a, Bits b) { return {place->make.CreateSub(a.v, b.v)}; }
Bits operator&(Bits a, uint32_t b) { return {place->make.CreateAnd(a.v, word(b))}; }
Bits operator|(Bits a, uint32_t b) { return {place->make.CreateOr(a.v, word(b))}; }
Bits operator<<(Bits a, uint32_t b) { return {place->make.CreateShl(a.v, word(b))}; }
Bits operator>>(Bits a, uint32_t b) { return {place->make.CreateLShr(a.v, word(b))}; }

struct Float {
  Value* v = ::llvm::ConstantFP::get(place->type, 0);
  Float() = default;
  Float(Value* value) : v(value) {}
  Float(float c) : v(::llvm::ConstantFP::get(place->type, static_cast<double>(c))) {}

  friend Float operator+(Float a, Float b) { return place->make.CreateFAdd(a.v, b.v); }
  friend Float operator-(Float a, Float b) { return place->make.CreateFSub(a.v, b.v); }
  friend Float operator*(Float a, Float b) { return place->make.CreateFMul(a.v, b.v); }
  friend Float operator/(Float a, Float b) { return place->make.CreateFDiv(a.v, b.v); }
  friend Mask operator<(Float a, Float b) { return {place->make.CreateFCmpOLT(a.v, b.v)}; }
  friend Mask operator>(Float a, Float b) { return {place->make.CreateFCmpOGT(a.v, b.v)}; }
  friend Mask operator!=(Float a, Float b) { return {place->make.CreateFCmpUNE(a.v, b.v)}; }
};

template <class V>
struct relay_traits;
template <>
struct relay_traits<Float> {
  using element = float;
  template <class U>
  using like = Bits;
};

template <class To, class From>
To relay_bits(From from) {
  Type* element = std::is_same_v<To, Float> ? place->make.getFloatTy() : place->make.getInt32Ty();
  return To{place->make.CreateBitCast(from.v, place->type->getWithNewType(element))};
}
Float relay_choose(Mask condition, Float a, Float b) {
  return place->make.CreateSelect(condition.v, a.v, b.v);
}
Float relay_abs(Float a) { return place->make.CreateUnaryIntrinsic(::llvm::Intrinsic::fabs, a.v); }
Float relay_copysign(Float magnitude, Float sign) {
  return place->make.CreateBinaryIntrinsic(::llvm::Intrinsic::copysign, magnitude.v, sign.v);
}

template <class V>
static V relay_scaled_in_steps(V e, V shifted);
Float relay_scaled(Float e, Float n, Float shifted) {
  const auto* vector = ::llvm::dyn_cast<::llvm::FixedVectorType>(place->type);
  if (!place->rules.scale_instruction || !vector || vector->getNumElements() != 16)
    return relay_scaled_in_steps(e, shifted);
  // All lanes, rounded as the processor is set to.
  return place->make.CreateIntrinsic(::llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                     {e.v, n.v, e.v, place->make.getInt16(0xffff), place->make.getInt32(4)});
}

#define RELAY_FUNCTION static
#include "kernel/codegen/functions.inc"
#undef RELAY_FUNCTION

using Formula = Float (*)(Float);
Formula formula_of(Math fn) {
  switch (fn) {
    case Math::kExp: return relay_exp<Float>;
    case Math::kLog: return relay_log<Float>;
    case Math::kTanh: return relay_tanh<Float>;
    case Math::kErf: return relay_erf<Float>;
    default: return nullptr;
  }
}

// --- The rest ------------------------------------------------------------------------------------

ID instruction_of(Math fn) {
  switch (fn) {
    case Math::kSqrt: return ::llvm::Intrinsic::sqrt;
    case Math::kFloor: return ::llvm::Intrinsic::floor;
    case Math::kCeil: return ::llvm::Intrinsic::ceil;
    case Math::kTrunc: return ::llvm::Intrinsic::trunc;
    case Math::kRound: return ::llvm::Intrinsic::rint;
    case Math::kAbs: return ::llvm::Intrinsic::fabs;
    default: return ::llvm::Intrinsic::not_intrinsic;
  }
}

// The C library's function, lane by lane.
Value* call_library(Instructions& make, Math fn, std::span<Value* const> args) {
  Type* type = args[0]->getType();
  Type* element = type->getScalarType();
  const std::string function = std::string(name(fn)) + (element->isFloatTy() ? "f" : "");
  ::llvm::Module& module = *make.GetInsertBlock()->getModule();
  const std::vector<Type*> parameters(args.size(), element);
  auto callee = module.getOrInsertFunction(function, ::llvm::FunctionType::get(element, parameters, false));
  auto* f = ::llvm::cast<::llvm::Function>(callee.getCallee());
  f->setDoesNotThrow();
  f->setDoesNotAccessMemory();
  f->setWillReturn();
  auto* vector = ::llvm::dyn_cast<::llvm::FixedVectorType>(type);
  if (!vector) return make.CreateCall(callee, ::llvm::ArrayRef<Value*>(args.data(), args.size()));
  Value* result = ::llvm::PoisonValue::get(type);
  for (uint64_t lane = 0; lane < vector->getNumElements(); ++lane) {
    std::vector<Value*> single;
    for (Value* a : args) single.push_back(make.CreateExtractElement(a, lane));
    result = make.CreateInsertElement(result, make.CreateCall(callee, single), lane);
  }
  return result;
}

}  // namespace

Value* call_math(Instructions& make, const Rules& rules, Math fn, std::span<Value* const> args) {
  Value* x = args[0];
  const auto real = [&](double v) { return ::llvm::ConstantFP::get(x->getType(), v); };
  if (const Formula formula = formula_of(fn); formula && x->getType()->getScalarType()->isFloatTy()) {
    const Place here{make, x->getType(), rules};
    place = &here;
    Value* result = formula(Float(x)).v;
    place = nullptr;
    return result;
  }
  if (const ID id = instruction_of(fn); id != ::llvm::Intrinsic::not_intrinsic)
    return make.CreateUnaryIntrinsic(id, x);
  const auto magnitude = [&] { return make.CreateUnaryIntrinsic(::llvm::Intrinsic::fabs, x); };
  switch (fn) {
    case Math::kRsqrt: return make.CreateFDiv(real(1), make.CreateUnaryIntrinsic(::llvm::Intrinsic::sqrt, x));
    case Math::kFmod: return make.CreateFRem(x, args[1]);
    case Math::kIsNan: return make.CreateFCmpUNO(x, x);
    case Math::kIsInf: return make.CreateFCmpOEQ(magnitude(), real(INFINITY));
    case Math::kIsFinite: return make.CreateFCmpOLT(magnitude(), real(INFINITY));
    default: return call_library(make, fn, args);
  }
}

}  // namespace relay::kernel::llvm
