// Expressions on vectors: masks, choices between lanes, conversions.
#include <algorithm>

#include "base/check.h"
#include "kernel/print/expressions.h"

namespace relay::kernel::print {
namespace {

int value_bits(DType d) {
  if (d.is_bool()) return 8;
  return d.is_float() && d.bits < 32 ? 32 : d.bits;
}

}  // namespace

// Comparisons give masks with lanes as wide as what they compare.
int Expressions::mask_bits(const ExprNode* n) {
  switch (n->kind) {
    case ExprKind::kLoad: return 8;
    case ExprKind::kCast:
    case ExprKind::kMath: return value_bits(n->args[0]->dtype);
    default: break;
  }
  const bool of_masks = n->args.back()->dtype.is_bool();
  if (!of_masks) return value_bits(n->args[0]->dtype);
  for (const ExprNode* a : n->args) {
    if (is_vector(a)) return mask_bits(a);
  }
  return 8;
}

std::string Expressions::mask(const ExprNode* n, int bits) {
  const std::string lane = cat("int", bits, "_t");
  if (!is_vector(n)) {
    return cat("relay_splat<", context_.lanes->count, ">((", lane, ")-(", lane, ")",
               operand(n, Level::kUnary), ")");
  }
  if (mask_bits(n) == bits) return operand(n);
  return cat("relay_convert<", lane, ">(", operand(n, Level::kChoice), ")");
}

Text Expressions::mask_operation(const ExprNode* n) {
  const int bits = mask_bits(n);
  const bool of_masks = n->args.back()->dtype.is_bool();
  const auto join = [&](std::string_view before, std::string_view sign, std::string_view after = "") {
    const std::string a = mask(n->args[0], bits), b = mask(n->args[1], bits);
    return Text{cat(before, a, " ", sign, " ", b, after), before.empty() ? Level::kBits : Level::kUnary};
  };
  switch (n->kind) {
    case ExprKind::kAnd:
    case ExprKind::kBitAnd:
    case ExprKind::kMin:
    case ExprKind::kMul: return join("", "&");
    case ExprKind::kOr:
    case ExprKind::kBitOr:
    case ExprKind::kMax:
    case ExprKind::kAdd: return join("", "|");
    case ExprKind::kBitXor: return join("", "^");
    case ExprKind::kNot: return {"~" + mask(n->args[0], bits), Level::kUnary};
    case ExprKind::kEqual:
    case ExprKind::kNotEqual:
    case ExprKind::kLess:
    case ExprKind::kLessEqual: {
      if (of_masks) {
        if (n->kind == ExprKind::kEqual) return join("~(", "^", ")");
        if (n->kind == ExprKind::kNotEqual) return join("", "^");
        const std::string a = mask(n->args[0], bits), b = mask(n->args[1], bits);
        return {cat("~", a, n->kind == ExprKind::kLess ? " & " : " | ", b), Level::kBits};
      }
      const char* sign = n->kind == ExprKind::kEqual      ? "=="
                         : n->kind == ExprKind::kNotEqual ? "!="
                         : n->kind == ExprKind::kLess     ? "<"
                                                          : "<=";
      const std::string a = vector_operand(n->args[0], Level::kSum),
                        b = vector_operand(n->args[1], Level::kSum);
      return {cat(a, " ", sign, " ", b), Level::kOrder};
    }
    case ExprKind::kSelect: {
      const std::string c = mask(n->args[0], bits), a = mask(n->args[1], bits), b = mask(n->args[2], bits);
      return {cat("(", c, " & ", a, ") | (~", c, " & ", b, ")"), Level::kBits};
    }
    case ExprKind::kCast:
      return {cat(vector_operand(n->args[0], Level::kSum), " != (", value_type(n->args[0]->dtype), ")0"),
              Level::kEquality};
    case ExprKind::kMath: return math(n);
    default: break;
  }
  CHECK(false, cat("there is no vector of `", show(Expr(n)), "`"));
  return {};
}

// Both sides are computed and each lane takes its own; VectorPlan has seen to it that they may be.
Text Expressions::vector_select(const ExprNode* n) {
  const std::string c = mask(n->args[0], value_bits(n->dtype));
  const std::string a = vector_operand(n->args[1], Level::kOr), b = vector_operand(n->args[2], Level::kOr);
  return {cat(c, " ? ", a, " : ", b), Level::kChoice};
}

Text Expressions::vector_cast(const ExprNode* n) {
  const ExprNode* a = n->args[0];
  const std::string type(value_type(n->dtype));
  if (a->dtype.is_bool()) {  // the mask's lanes are 0 and -1
    return rounded(n, {cat("relay_convert<", type, ">(-", mask(a, mask_bits(a)), ")"), Level::kPrimary});
  }
  if (type == value_type(a->dtype)) return rounded(n, value(a));
  const std::string operand = vector_operand(a, Level::kChoice);
  if (n->dtype.is_int() && a->dtype.is_float()) {
    return {cat(integer_of(n->dtype, a, true), "(", operand, ")"), Level::kPrimary};
  }
  return rounded(n, {cat("relay_convert<", type, ">(", operand, ")"), Level::kPrimary});
}

}  // namespace relay::kernel::print
