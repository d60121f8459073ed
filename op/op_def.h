// OpDef: everything about one operator.
//
// The directory is the registry: every `const OpDef k...` of op/*/*.cc is in kAllOps
// (op/registry.h). Rules are written against a typed attribute struct and made into an OpDef by
// `define` (op/define.h).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/expr.h"
#include "kernel/builder.h"
#include "op/relation.h"
#include "op/sums.h"
#include "runtime/tensor.h"

namespace relay::op {

enum class Effects : uint8_t {
  kNone,  // a function of its arguments: may be moved, duplicated, dropped, folded
  // May fail on some values (OpDef::traps): may be folded where it does not, never moved out of a
  // branch.
  kTraps,
  kEffect,  // order and number of evaluations matter
};

// How an operator may join a fused group, from the freest to the least.
enum class Fusion : uint8_t {
  kElementwise,  // element i of the result needs element i of each argument
  kBroadcast,    // likewise, after broadcasting
  kInjective,    // each element of the result needs one element of an argument, somewhere
  kReduction,    // an element needs many
  // A reduction with expensive arithmetic (convolution, matrix product): elementwise
  // work may follow.
  kOutputFusable,
  kOpaque,  // joins nothing
};

// How far an engine may be from the interpreter (docs/semantics.md, "Numbers").
struct Tolerance {
  enum class Kind : uint8_t {
    kExact,      // bit for bit
    kUlps,       // units in the last place of the result's dtype
    kReduction,  // 2 (n + 2) u S, where n is `length` and S is what `magnitude` says
  };
  enum class Magnitude : uint8_t {
    kAbsoluteInputs,  // the operator applied to the absolute values of its arguments: sum of |terms|
    kResult,          // the absolute value of the result
  };
  Kind kind = Kind::kExact;
  double ulps = 0;
  std::function<int64_t(std::span<const Type> args, const Attrs& attrs)> length = {};
  Magnitude magnitude = Magnitude::kAbsoluteInputs;
  // Of kAbsoluteInputs, where the operator itself subtracts: computes the sum of
  // |terms| instead of it.
  std::function<void(const Attrs&, std::span<const relay::Tensor> in, std::span<relay::Tensor> out)> terms =
      {};
};

struct Param {
  std::string_view name, doc;
};

// One field of the attribute struct, for docs and messages.
struct AttrField {
  std::string name, type, default_text, doc;
};

// A mistake in the attributes of a call.
struct AttrError {
  std::string name;    // of the attribute
  std::string reason;  // "expected an integer, found a string"
  Slug slug = "bad-attribute";
};

// Tensor arguments, flattened: a tuple argument contributes its fields.
using Args = std::span<const Tensor>;
// Results, flattened likewise, already allocated with the shapes that `relate` gave. Where the data
// tell a shape (see OpDef::extents), the tensor is undefined and `evaluate` makes it.
using Results = std::span<Tensor>;

// One call that is differentiated or expanded. Arguments and their types are as in the program
// (not flattened).
struct Site {
  std::span<const Expr> args;
  Expr y = nullptr;   // the call itself
  Expr dy = nullptr;  // adjoint of y, when differentiating
  Type type(size_t i) const { return args[i]->type; }
  const TensorType& tensor(size_t i) const { return *args[i]->type->as<TensorType>(); }
};

// One call that is lowered.
struct Lowering {
  std::span<const kernel::Tensor> in;            // flattened arguments
  std::span<const TensorType* const> arg_types;  // of `in`
  std::span<const TensorType* const> out_types;  // flattened results
  kernel::ExprPool& pool;
  // The shape of result i as index expressions.
  std::vector<kernel::Expr> shape(size_t i = 0) const {
    std::vector<kernel::Expr> out;
    for (Dim d : out_types[i]->dims) out.push_back(d.expr(pool));
    return out;
  }
  DType dtype(size_t i = 0) const { return out_types[i]->dtype; }
};

struct OpDef {
  std::string name, doc;
  // The family of operators with this very typing rule, as `where` names it; empty if it is
  // the operator's own.
  std::string relation = {};
  std::vector<Param> params;
  std::vector<AttrField> attrs;
  Effects effects = Effects::kNone;
  Fusion fusion = Fusion::kOpaque;
  Tolerance tolerance = {};
  std::vector<int> refines = {};  // arguments whose types the others may determine
  // Two operands, and exchanging them gives the same bits (a NaN is a NaN). So not maximum: of 0
  // and -0 it takes the first.
  bool commutative = false;
  // Of operators that are not elementwise: does each row of the result, along the last axis, need
  // the row of the argument in the same place and nothing else? A row of a result may have one
  // element. Null: no.
  std::function<bool(const Attrs&, size_t rank)> by_rows = {};
  bool view = false;  // the result has the elements of argument 0 in their order: only the shape differs
  std::string not_differentiable = {};  // the reason, for operators that have no gradient

  // Every rule throws RelationError{kAttributes, ...} for attributes it cannot read.
  std::function<Type(Relation&, const Attrs&)> relate = {};
  // Exactly one of `evaluate` and `expand` is set.
  std::function<void(const Attrs&, Args, Results, Sums)> evaluate = {};
  std::function<Expr(Builder&, const Attrs&, const Site&)> expand = {};
  // One adjoint for each argument, of the argument's type; null where it is zero everywhere or
  // there is none, as for an index. The rule itself is null for operators that have no gradient,
  // see above, and for those whose gradient comes from their kernel (passes/gradient/kernels.h).
  std::function<std::vector<Expr>(Builder&, const Attrs&, const Site&)> differentiate = {};
  std::function<std::vector<kernel::Tensor>(kernel::Builder&, const Attrs&, const Lowering&)> lower = {};
  // Of operators whose results have extents that data tell, each a `?` of their types: a vector of
  // int64 with these extents, in order. It traps where there are none, and `lower` is asked for
  // results of these extents. Such an operator is opaque.
  std::function<kernel::Tensor(kernel::Builder&, const Attrs&, const Lowering&)> extents = {};
  // Of operators that read numbers as codes: the attributes `known`, in which symbolic
  // extents of `symbolic` have become numbers, so that these still are extents. Null: numbers
  // mean what they are.
  std::function<Attrs(Context&, const Attrs& symbolic, const Attrs& known)> settle = {};
  std::function<std::vector<AttrError>(const Attrs&)> check_attrs = {};
  // Of Effects::kTraps: could a call with these types of arguments and result fail on some values?
  // Null: every call could.
  std::function<bool(const Attrs&, std::span<const Type> args, Type result)> traps = {};
};

}  // namespace relay::op
