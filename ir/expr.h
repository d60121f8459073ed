// Expressions.
//
// An Expr points at an immutable node owned by an arena. The address is the identity: two edges to
// one node denote ONE evaluation (docs/semantics.md, "Sharing"). So nodes are never hash-consed,
// and a rewrite that changes nothing must return the pointer it was given.
//
// The whole language is in this file. Dispatch, children, binders, equality, hashing and
// copying are made of each struct's kFields (ir/fields.h). A form or a field that is left out
// does not compile.
#pragma once

#include <string_view>

#include "base/arena.h"
#include "base/fields.h"
#include "base/source.h"
#include "base/symbol.h"
#include "ir/attrs.h"
#include "ir/type.h"
#include "runtime/tensor.h"

namespace relay {

namespace op {
struct OpDef;                            // what an operator is: op/op_def.h
std::string_view name(const OpDef& op);  // defined in op/: all that programs as data need to know of one
}  // namespace op
struct Constructor;  // of a data type: ir/module.h

enum class ExprKind : uint8_t {
  // Leaves.
  kConstant,
  kVar,
  kGlobal,
  kOpRef,
  kCtorRef,
  // Evaluations.
  kTuple,
  kProj,
  kFn,
  kCall,
  kLet,
  kIf,
  kMatch,
  kRefNew,
  kRefRead,
  kRefWrite,
};

struct ExprNode {
  ExprKind kind;
  uint32_t id;  // dense within the context: gives deterministic order, indexes NodeMap<T>
  Span span;    // where the user wrote it; unknown if the compiler made it
  Type type;    // null before the type check, never after

  template <class T>
  const T* as() const {
    return kind == T::kKind ? static_cast<const T*>(this) : nullptr;
  }
};
using Expr = const ExprNode*;

// A value rather than an evaluation: using one twice shares nothing.
inline bool is_leaf(Expr e) { return e->kind <= ExprKind::kCtorRef; }

// A tensor known when the program is written.
struct Constant : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kConstant;
  const Tensor* value;  // owned by the context
  Symbol name;          // of the entry in the side file that holds it, if it has one
  static constexpr auto kFields = FieldList<&Constant::value, &Constant::name>{};
};

// A local variable. Identity is the node; the name is for people. Bound exactly once in a module.
struct Var : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kVar;
  Symbol name;
  Type annotation;  // what the user wrote; null if nothing
  static constexpr auto kFields = FieldList<&Var::name, &Var::annotation>{};
};

// @name: a function or a kernel of the module.
struct Global : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kGlobal;
  Symbol name;
  static constexpr auto kFields = FieldList<&Global::name>{};
};

// An operator, as a function value.
struct OpRef : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kOpRef;
  const op::OpDef* op;
  static constexpr auto kFields = FieldList<&OpRef::op>{};
};

// A constructor of a data type, as a function value.
struct CtorRef : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kCtorRef;
  const Constructor* ctor;
  static constexpr auto kFields = FieldList<&CtorRef::ctor>{};
};

// (e0, e1, ...)
struct Tuple : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kTuple;
  List<Expr> fields;
  static constexpr auto kFields = FieldList<&Tuple::fields>{};
};

// e.index
struct Proj : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kProj;
  Expr tuple;
  uint32_t index;
  static constexpr auto kFields = FieldList<&Proj::tuple, &Proj::index>{};
};

// fn[type params](params) -> result { body }. Evaluates to a closure over its free variables.
// Known attributes: "Primitive" (a fused function, becomes one kernel), "Inline".
struct Fn : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kFn;
  List<const TypeVar*> type_params;
  List<Type> where;  // each a RelationType: what must hold of the type parameters
  List<const Var*> params;
  Type result;  // what the user wrote; null if nothing
  Expr body;
  Attrs attrs;
  static constexpr auto kFields =
      FieldList<&Fn::type_params, &Fn::where, &Fn::params, &Fn::result, &Fn::body, &Fn::attrs>{};
};

// callee(args), with attributes if the callee is an operator. Calling a global that names a kernel
// runs the kernel: its arguments are the kernel's inputs, its value is the kernel's output (a tuple
// if there are several).
struct Call : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kCall;
  Expr callee;
  List<Expr> args;
  Attrs attrs;
  List<Type> type_args;  // of a generic callee, filled in by the type check
  static constexpr auto kFields = FieldList<&Call::callee, &Call::args, &Call::attrs, &Call::type_args>{};
};

// let x = value; body. If value is a Fn, x is in scope inside it too: this is how programs recur.
struct Let : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kLet;
  const Var* x;
  Expr value, body;
  static constexpr auto kFields = FieldList<&Let::x, &Let::value, &Let::body>{};
};

// if (cond) { then_branch } else { else_branch }; cond is a scalar bool.
struct If : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kIf;
  Expr cond, then_branch, else_branch;
  static constexpr auto kFields = FieldList<&If::cond, &If::then_branch, &If::else_branch>{};
};

// Patterns of match arms.
enum class PatternKind : uint8_t { kWildcard, kVar, kCtor, kTuple };
struct PatternNode {
  PatternKind kind;
  Span span;
  const Var* var = nullptr;           // kVar: binds it
  const Constructor* ctor = nullptr;  // kCtor
  List<const PatternNode*> fields = {};
  static constexpr auto kFields = FieldList<&PatternNode::kind, &PatternNode::span, &PatternNode::var,
                                            &PatternNode::ctor, &PatternNode::fields>{};
};
using Pattern = const PatternNode*;

struct Arm {
  Pattern pattern;
  Expr body;
  static constexpr auto kFields = FieldList<&Arm::pattern, &Arm::body>{};
};

// match (value) { pattern => body, ... }: the first arm that fits. `match?` (total == false) traps
// if none does; for `match` the type check proves that one does.
struct Match : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kMatch;
  Expr value;
  List<Arm> arms;
  bool total;
  static constexpr auto kFields = FieldList<&Match::value, &Match::arms, &Match::total>{};
};

// ref(e): a new cell. Two evaluations give two cells.
struct RefNew : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kRefNew;
  Expr value;
  static constexpr auto kFields = FieldList<&RefNew::value>{};
};

// ref_read(e)
struct RefRead : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kRefRead;
  Expr ref;
  static constexpr auto kFields = FieldList<&RefRead::ref>{};
};

// ref_write(ref, value): evaluates to ().
struct RefWrite : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kRefWrite;
  Expr ref, value;
  static constexpr auto kFields = FieldList<&RefWrite::ref, &RefWrite::value>{};
};

using AllExprs = TypeList<Constant, Var, Global, OpRef, CtorRef, Tuple, Proj, Fn, Call, Let, If, Match,
                          RefNew, RefRead, RefWrite>;

}  // namespace relay
