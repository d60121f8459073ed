#include "kernel/llvm/expressions.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"
#include "kernel/codegen/operations.h"
#include "kernel/llvm/functions.h"
#include "kernel/statements.h"

namespace relay::kernel::llvm {
namespace {

constexpr int kHarmless = 8;  // operations that cost less than a branch

}  // namespace

Expressions::Expressions(Surroundings& around, const std::vector<Expr>& roots)
    : around_(around),
      make_(around.make),
      arithmetic_(around.arithmetic),
      sharing_(around.bounds, around.lanes, roots),
      computed_(1) {}

Value* Expressions::scalar(Expr e) { return value(e.get()); }

// --- What is shared ---

Value* Expressions::known(const ExprNode* n) const {
  for (size_t i = computed_.size(); i-- > 0;) {
    if (auto it = computed_[i].find(n); it != computed_[i].end()) return it->second;
  }
  return nullptr;
}

Value* Expressions::value(const ExprNode* n) {
  if (Value* v = known(n)) return v;
  Value* v = compute(n);
  return computed_.back()[n] = v;
}

Value* Expressions::like(const ExprNode* n, const ExprNode* argument) {
  Value* v = value(argument);
  return is_vector(n) && !is_vector(argument) ? arithmetic_.splat(v, around_.lanes->count) : v;
}

// --- Kinds of expressions ---

bool Expressions::is_harmless(const ExprNode* n, int& budget) {
  if (codegen::is_leaf(n) || known(n)) return true;
  switch (n->kind) {
    case ExprKind::kLoad: return !around_.places.at(n->buffer).variables.empty();
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kTruncDiv:
    case ExprKind::kTruncMod:
    case ExprKind::kMath: return false;
    default: break;
  }
  if (--budget < 0) return false;
  return std::all_of(n->args.begin(), n->args.end(),
                     [&](const ExprNode* a) { return is_harmless(a, budget); });
}

Value* Expressions::compute(const ExprNode* n) {
  switch (n->kind) {
    case ExprKind::kInt: return arithmetic_.constant(n->dtype, n->int_value);
    case ExprKind::kFloat: return arithmetic_.constant(n->dtype, n->float_value);
    case ExprKind::kVar: {
      if (is_vector(n)) {
        std::vector<::llvm::Constant*> lanes;
        for (int i = 0; i < around_.lanes->count; ++i) {
          const auto lane = static_cast<uint64_t>(around_.lanes->base + i);
          lanes.push_back(::llvm::ConstantInt::get(make_.getInt64Ty(), lane));
        }
        return ::llvm::ConstantVector::get(lanes);
      }
      auto it = around_.variables.find(n);
      CHECK(it != around_.variables.end(), cat("variable ", n->name.text(), " of a kernel is not bound"));
      return it->second;
    }
    case ExprKind::kAdd:
    case ExprKind::kMul: return sum_or_product(n);
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kTruncDiv:
    case ExprKind::kTruncMod: return division(n);
    case ExprKind::kMin:
    case ExprKind::kMax: return minimum_or_maximum(n);
    case ExprKind::kNot: return make_.CreateNot(value(n->args[0]));
    case ExprKind::kSelect: return choice(n);
    case ExprKind::kCast:
      return arithmetic_.cast(n->dtype, n->args[0]->dtype, value(n->args[0]),
                              n->dtype.is_int() && codegen::was_clamped_to(n->dtype, n->args[0]));
    case ExprKind::kLoad: return load(n);
    case ExprKind::kMath: return math(n);
    default: return binary(n);
  }
}

// With the vectors of the operands, which may have more lanes than a comparison's result has bits.
Value* Expressions::binary(const ExprNode* n) {
  Value* a = like(n, n->args[0]);
  Value* b = like(n, n->args[1]);
  return arithmetic_.binary(n->kind, n->args[0]->dtype, a, b);
}

// Sums and products of int64 have any number of operands.
Value* Expressions::sum_or_product(const ExprNode* n) {
  const bool index = is_index(n);
  Value* v = like(n, n->args[0]);
  for (size_t i = 1; i < n->args.size(); ++i) {
    Value* a = like(n, n->args[i]);
    if (index) {
      v = n->kind == ExprKind::kAdd ? make_.CreateNSWAdd(v, a) : make_.CreateNSWMul(v, a);
    } else {
      v = arithmetic_.binary(n->kind, n->dtype, v, a);
    }
  }
  return v;
}

Value* Expressions::division(const ExprNode* n) {
  if (!is_index(n) || !codegen::divides_naturals(n, around_.bounds)) return binary(n);
  Value* left = value(n->args[0]);
  Value* right = value(n->args[1]);
  return codegen::is_quotient(n) ? make_.CreateUDiv(left, right) : make_.CreateURem(left, right);
}

Value* Expressions::minimum_or_maximum(const ExprNode* n) {
  const codegen::Number number = codegen::number_operand(n);
  if (number == codegen::Number::kNone) return binary(n);
  Value* a = like(n, n->args[0]);
  Value* b = like(n, n->args[1]);
  return arithmetic_.extreme_of_number(n->kind, number, a, b);
}

Value* Expressions::choice(const ExprNode* n) {
  Value* condition = value(n->args[0]);
  // Where lanes differ both sides are computed; VectorPlan has seen to it that they may be.
  int budget = kHarmless;
  const bool both =
      is_vector(n->args[0]) || (is_harmless(n->args[1], budget) && is_harmless(n->args[2], budget));
  if (!both) return branches(n, condition);
  Value* a = like(n, n->args[1]);
  Value* b = like(n, n->args[2]);
  return make_.CreateSelect(condition, a, b);
}

Value* Expressions::branches(const ExprNode* n, Value* condition) {
  for (const ExprNode* s : sharing_.on_both_sides(n)) value(s);

  ::llvm::Function* function = make_.GetInsertBlock()->getParent();
  auto& context = make_.getContext();
  ::llvm::BasicBlock* sides[2] = {::llvm::BasicBlock::Create(context, "then", function),
                                  ::llvm::BasicBlock::Create(context, "else", function)};
  ::llvm::BasicBlock* after = ::llvm::BasicBlock::Create(context, "after", function);
  make_.CreateCondBr(condition, sides[0], sides[1]);
  Value* results[2];
  for (size_t i = 0; i < 2; ++i) {
    make_.SetInsertPoint(sides[i]);
    computed_.emplace_back();
    results[i] = like(n, n->args[i + 1]);
    computed_.pop_back();
    sides[i] = make_.GetInsertBlock();
    make_.CreateBr(after);
  }
  make_.SetInsertPoint(after);
  ::llvm::PHINode* result = make_.CreatePHI(results[0]->getType(), 2);
  for (size_t i = 0; i < 2; ++i) result->addIncoming(results[i], sides[i]);
  return result;
}

Value* Expressions::math(const ExprNode* n) {
  const DType from = n->args[0]->dtype;
  if (!from.is_float()) {
    if (n->dtype.is_bool() && n->fn >= Math::kIsNan) {
      Value* v = arithmetic_.constant(kBool, int64_t{n->fn == Math::kIsFinite});
      return is_vector(n) ? arithmetic_.splat(v, around_.lanes->count) : v;
    }
    Value* v = value(n->args[0]);
    const bool absolute = n->fn == Math::kAbs && from.is_signed_int();
    return absolute ? arithmetic_.rounded(n->dtype, arithmetic_.absolute(v)) : v;  // integers are whole
  }
  std::vector<Value*> args;
  for (const ExprNode* a : n->args) args.push_back(like(n, a));
  Value* v = call_math(make_, arithmetic_.rules(), n->fn, args);
  return n->dtype.is_float() ? arithmetic_.rounded(n->dtype, v) : v;
}

// --- Memory ---

Value* Expressions::address(const Buffer& buffer, const Place& place, Expr offset) {
  if (place.base == nullptr) {
    CHECK(offset->kind == ExprKind::kInt, "the offset into a buffer that is a set of variables is not known");
    return place.variables.at(offset->int_value);
  }
  Type* element =
      place.as_stored ? arithmetic_.memory_type(buffer.dtype) : arithmetic_.value_type(buffer.dtype);
  return make_.CreateInBoundsGEP(element, place.base, value(offset.get()));
}

template <class Access>
Access* Expressions::marked(Access* access) const {
  if (around_.independent) access->setMetadata(::llvm::LLVMContext::MD_access_group, around_.independent);
  return access;
}

Value* Expressions::load(const ExprNode* n) {
  const Place& place = around_.places.at(n->buffer);
  const DType d = n->dtype;
  Expr offset = sharing_.offset(n);
  const int lanes = is_vector(n) ? around_.lanes->count : 1;
  if (is_vector(n)) offset = codegen::at_first_lane(offset, around_.lanes);
  Type* type = place.as_stored ? arithmetic_.memory_type(d, lanes) : arithmetic_.value_type(d, lanes);
  Value* v =
      marked(make_.CreateAlignedLoad(type, address(*n->buffer, place, offset), ::llvm::Align(d.bytes())));
  return place.as_stored ? arithmetic_.decode(d, v) : v;
}

void Expressions::store(const Buffer& buffer, Expr offset, Expr stored) {
  const Place& place = around_.places.at(&buffer);
  const bool vector = around_.lanes && mentions(offset, around_.lanes->var);
  Value* v = value(stored.get());
  if (vector && !is_vector(stored.get())) v = arithmetic_.splat(v, around_.lanes->count);
  if (place.as_stored) v = arithmetic_.encode(buffer.dtype, v);
  if (vector) offset = codegen::at_first_lane(offset, around_.lanes);
  marked(make_.CreateAlignedStore(v, address(buffer, place, offset), ::llvm::Align(buffer.dtype.bytes())));
}

}  // namespace relay::kernel::llvm
