// Relation: the typing rule of an operator, asked about one call.
//
// An operator's `relate` reads as a function from argument types to the result type. The same rule
// runs three times: in the type checker on symbolic shapes, in the interpreter on concrete ones,
// and in a compiled program as its shape function. A conflict is thrown as a RelationError; who
// asks owns spans and rendering.
#pragma once

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/slug.h"
#include "ir/context.h"
#include "ir/type.h"

namespace relay::op {

// Which part of a call is to blame: an argument by its index, or the attributes.
inline constexpr int kAttributes = -1;
inline constexpr int kNoOther = -2;  // no second argument is involved

struct RelationError {
  int arg;               // index of an argument, or kAttributes
  std::string reason;    // lower case, no final period: "expected a floating-point tensor, found int32"
  int other = kNoOther;  // a second argument that is involved
  std::optional<Slug> slug = {};  // of the diagnostic; none: "bad-argument" or "bad-attribute"
};

// Two dims of which neither could be proved nor refuted that they fit: compared when
// the program runs.
struct DimCheck {
  enum class Fit { kEqual, kBroadcast, kBroadcastTo };  // b is a; or one of them is 1; or b is 1
  Dim a, b;
  int arg;  // the argument it is about
  Fit fit = Fit::kEqual;
};

// Is 1 enough for the first, or for the second?
inline bool one_fits_first(const DimCheck& c) { return c.fit == DimCheck::Fit::kBroadcast; }
inline bool one_fits_second(const DimCheck& c) { return c.fit != DimCheck::Fit::kEqual; }
inline std::string_view what_is_wrong(const DimCheck& c) {
  return c.fit == DimCheck::Fit::kBroadcast ? "do not broadcast" : "differ";
}

class Relation {
 public:
  // Types may be null only for arguments that the operator `refines`.
  Relation(Context& context, std::span<const Type> args) : context_(context), args_(args) {}

  Context& context() { return context_; }
  kernel::ExprPool& pool() { return context_.pool(); }

  // Arguments.
  size_t size() const { return args_.size(); }
  bool known(int i) const { return args_[static_cast<size_t>(i)] != nullptr; }
  Type type(int i) const { return args_[static_cast<size_t>(i)]; }
  const TensorType& tensor(int i);                // fails unless it is a tensor
  std::vector<const TensorType*> tensors(int i);  // of a tuple of tensors; fails otherwise

  // Facts that must hold.
  void require(bool holds, int arg, std::string_view reason);
  void require_rank(int arg, size_t rank);
  void require_no_scalar(int arg);
  void require_float(int arg);
  void require_same_dtype(int arg, int other);
  [[noreturn]] void fail(int arg, std::string reason);
  [[noreturn]] void fail(int arg, std::string reason, Slug slug);
  [[noreturn]] void fail(int arg, std::string reason, int other, Slug slug);
  // `axis` counted from the front; fails unless it is in [-rank, rank).
  size_t axis(int64_t axis, size_t rank);
  // The two dims must be equal. Gives the one that says more; unknown ones become run-time checks.
  Dim same(Dim a, Dim b, int arg, std::string_view what, int other = kNoOther);
  // The part must be the whole or 1, as where it is repeated to the whole; unknown ones become
  // run-time checks.
  void broadcasts_to(Dim part, Dim whole, int arg, std::string_view what, int other = kNoOther);
  // Fails for an extent that does not fit 64 bits.
  void require_fits(Dim d, int arg, std::string_view what);
  // Numpy broadcasting of two shapes, aligned at the right.
  std::vector<Dim> broadcast(std::span<const Dim> a, std::span<const Dim> b, int arg_a, int arg_b);

  // An argument that the others determine (it must be named in OpDef::refines). If its type is
  // known it must agree.
  void assign(int arg, Type type);

  // Results.
  const TensorType* tensor_of(const std::vector<Dim>& dims, DType dtype) {
    return context_.tensor_type(dims, dtype);
  }
  const TupleType* tuple_of(const std::vector<Type>& fields) { return context_.tuple_type(fields); }

  // What the caller reads afterwards.
  const std::vector<DimCheck>& checks() const { return checks_; }
  const std::vector<std::pair<int, Type>>& assigned() const { return assigned_; }

 private:
  Context& context_;
  std::span<const Type> args_;
  std::vector<DimCheck> checks_;
  std::vector<std::pair<int, Type>> assigned_;
};

}  // namespace relay::op
