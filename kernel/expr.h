// Scalar expressions: the index arithmetic of loops, the dims of shapes, and the values
// kernels compute.
//
// Interned: within one ExprPool, structurally equal expressions are the same pointer. Integer
// sums and products are kept in a canonical polynomial form, so equal ones meet: `2*n + n` is
// `n*3`. This is why a symbolic dim of a type *is* one of these expressions, and flows into loop
// bounds untranslated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/arena.h"
#include "base/symbol.h"
#include "runtime/dtype.h"

namespace relay::kernel {

enum class ExprKind : uint8_t {
  kInt,    // a constant of a boolean or integer dtype
  kFloat,  // a constant of a floating dtype
  kVar,    // a shape variable or a loop variable
  // Arithmetic. Integers wrap. On int64, kAdd and kMul are n-ary and canonical; elsewhere
  // binary, as written.
  kAdd,
  kMul,
  kSub,       // not on int64, where it is an addition
  kDiv,       // floating point only
  kFloorDiv,  // integers, towards minus infinity; the divisor must not be zero
  kFloorMod,
  kTruncDiv,  // integers, towards zero
  kTruncMod,
  kMin,  // floating point: NaN if either is NaN
  kMax,
  // The extent of two that broadcast: the one that is not 1. On int64 only. It is canonical because
  // the extents are taken to agree, which a check says elsewhere (op/relation.h).
  kBroadcast,
  // Bits of integers; shifts by at least the width are undefined here, the operator checks.
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,  // arithmetic for signed dtypes
  // Booleans.
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kAnd,
  kOr,
  kNot,
  kSelect,  // args: condition, value if true, value if false; only the chosen one is evaluated
  kCast,    // to bool: != 0; floating to integer: see integer_of_real; to a narrower integer wraps
  kLoad,    // buffer[args]
  kMath,    // fn(args)
};

enum class Math : uint8_t {
  kExp,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSqrt,
  kRsqrt,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kFloor,
  kCeil,
  kTrunc,
  kRound /* half to even */,
  kAbs,
  kPow,
  kFmod,
  kAtan2,
  kIsNan,
  kIsInf,
  kIsFinite,
};
std::string_view name(Math fn);  // "exp"

struct Buffer;
class ExprPool;

constexpr uint32_t kMostWeight = 1 << 30;
// A tree of so many nodes is walked as a tree. Of larger ones, what is shared is looked at once.
constexpr uint32_t kSmallWeight = 64;

struct ExprNode {
  ExprKind kind = {};
  DType dtype = {};
  Math fn = {};                 // kMath
  bool shape_variable = false;  // kVar: a dim's variable (known by its name, never negative)
  bool has_load = false;        // it, or something below it, is a kLoad
  bool has_data = false;        // it, or something below it, is a kLoad or a kCast
  bool may_wrap = false;        // see may_wrap in kernel/bounds.h
  bool non_negative = false;    // follows from the form alone: shape variables are never negative
  uint32_t depth = 1;           // of its tree
  uint32_t weight = 1;          // nodes of its tree, shared ones each time; at most kMostWeight
  uint32_t id = 0;              // in order of creation within the pool
  ExprPool* pool = nullptr;
  int64_t int_value = 0;           // kInt
  double float_value = 0;          // kFloat
  Symbol name = {};                // kVar
  const Buffer* buffer = nullptr;  // kLoad
  List<const ExprNode*> args = {};
};

// A handle on an interned expression; null if default-made. C++ operators build
// further expressions.
class Expr {
 public:
  Expr() = default;
  Expr(const ExprNode* node) : node_(node) {}

  const ExprNode* operator->() const { return node_; }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* get() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }
  friend bool operator==(Expr a, Expr b) { return a.node_ == b.node_; }  // identity, which is equality here

  bool is_int(int64_t value) const { return node_->kind == ExprKind::kInt && node_->int_value == value; }
  bool is_const() const { return node_->kind == ExprKind::kInt || node_->kind == ExprKind::kFloat; }

 private:
  const ExprNode* node_ = nullptr;
};

// Makes and owns expressions. One thread at a time.
class ExprPool {
 public:
  ExprPool(Arena& arena, SymbolTable& symbols) : arena_(arena), symbols_(symbols) {}
  ExprPool(const ExprPool&) = delete;

  Expr integer(int64_t value, DType dtype = kInt64);
  Expr real(double value, DType dtype);
  Expr constant(double value, DType dtype);                    // integer() or real(), as the dtype asks
  Expr shape_variable(std::string_view name);                  // the same one for the same name
  Expr variable(std::string_view name, DType dtype = kInt64);  // a fresh one at each call

  // Any expression from its parts, simplified and canonical. Operands must have the dtypes
  // that the kind needs.
  Expr make(ExprKind kind, DType dtype, std::vector<Expr> args);
  Expr math(Math fn, std::vector<Expr> args);
  Expr cast(DType dtype, Expr e);
  Expr load(const Buffer* buffer, std::vector<Expr> indices);

  // The node with other operands, simplified and canonical.
  Expr with_args(const ExprNode& n, const std::vector<Expr>& args);

  // The node as it stands, without simplification: for kernel/polynomial.cc and for tests.
  Expr as_is(ExprKind kind, DType dtype, const std::vector<const ExprNode*>& args);

  Arena& arena() { return arena_; }
  SymbolTable& symbols() { return symbols_; }

 private:
  Expr intern(ExprNode proto, const std::vector<const ExprNode*>& args);

  Arena& arena_;
  SymbolTable& symbols_;
  std::unordered_multimap<uint64_t, const ExprNode*> interned_;
  std::map<std::string, const ExprNode*, std::less<>> shape_variables_;
  uint32_t next_id_ = 0;
};

// Operands must have one dtype and one pool; an int64_t operand takes the dtype of the other side.
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  // floating point only; integers say which division they mean
Expr operator-(Expr a);
Expr operator+(Expr a, int64_t b);
Expr operator-(Expr a, int64_t b);
Expr operator*(Expr a, int64_t b);
Expr floor_div(Expr a, Expr b);
Expr floor_mod(Expr a, Expr b);
Expr floor_div(Expr a, int64_t b);
Expr floor_mod(Expr a, int64_t b);
Expr trunc_div(Expr a, Expr b);
Expr trunc_mod(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr broadcast(Expr a, Expr b);  // of two extents that are equal, or one of which is 1
Expr bit_and(Expr a, Expr b);
Expr bit_or(Expr a, Expr b);
Expr bit_xor(Expr a, Expr b);
Expr shift_left(Expr a, Expr b);
Expr shift_right(Expr a, Expr b);
Expr equal(Expr a, Expr b);
Expr not_equal(Expr a, Expr b);
Expr less(Expr a, Expr b);
Expr less_equal(Expr a, Expr b);
Expr logical_and(Expr a, Expr b);
Expr logical_or(Expr a, Expr b);
Expr logical_not(Expr a);
Expr select(Expr condition, Expr then_value, Expr else_value);
Expr cast(DType dtype, Expr e);
Expr math(Math fn, Expr a);
Expr math(Math fn, Expr a, Expr b);
inline Expr exp(Expr a) { return math(Math::kExp, a); }
inline Expr log(Expr a) { return math(Math::kLog, a); }
inline Expr sqrt(Expr a) { return math(Math::kSqrt, a); }
inline Expr tanh(Expr a) { return math(Math::kTanh, a); }

// Are two int64 expressions equal for every value of their variables (shape variables are
// never negative)?
enum class Proof : uint8_t { kProved, kRefuted, kUnknown };
Proof prove_equal(Expr a, Expr b);

// A total order that depends only on structure (variables that are not shape variables: on
// creation order). Linear in the nodes of both.
int compare(const ExprNode* a, const ExprNode* b);

// The expression with variables replaced. Memoised over shared parts.
Expr substitute(Expr e, const std::unordered_map<const ExprNode*, Expr>& by);

// The variables that occur in it, each once, in order of first occurrence.
std::vector<Expr> variables(Expr e);

// "2*n + 1", with C++-like precedence; a text that the `.relay` parser reads back for dims. Of an
// expression that is beyond kDeepestExpr (kernel/limits.h), or whose text would have more than
// some ten thousand parts, it has the beginning, with `...` for what is left out.
std::string show(Expr e);

// The value of an int64 expression without loads, given values of its variables; nothing if one
// is missing, a sum or product does not fit 64 bits, a division by zero is met, or the expression
// is beyond kDeepestExpr (kernel/limits.h). 0 times what does not fit is 0.
std::optional<int64_t> evaluate(Expr e, const std::unordered_map<const ExprNode*, int64_t>& values);

}  // namespace relay::kernel
