#include "op/relation.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"

namespace relay::op {
namespace {

using kernel::Proof;

// Of two dims that are equal, the one that says more about the extent.
Dim more_precise(Dim a, Dim b) {
  if (a.is_const()) return a;
  if (b.is_const()) return b;
  return a.is_symbolic() ? a : b;
}

}  // namespace

const TensorType& Relation::tensor(int i) {
  CHECK(known(i), "a relation asked for a type that is not known yet");
  const auto* t = type(i)->as<TensorType>();
  if (!t) fail(i, cat("expected a tensor, found ", relay::show(type(i), 80)), "not-a-tensor");
  return *t;
}

std::vector<const TensorType*> Relation::tensors(int i) {
  CHECK(known(i), "a relation asked for a type that is not known yet");
  const auto* tuple = type(i)->as<TupleType>();
  if (!tuple)
    fail(i, cat("expected a tuple of tensors, found ", relay::show(type(i), 80)), "not-a-tuple-of-tensors");
  std::vector<const TensorType*> out;
  for (size_t f = 0; f < tuple->fields.size(); ++f) {
    const auto* t = tuple->fields[f] ? tuple->fields[f]->as<TensorType>() : nullptr;
    if (!t)
      fail(i, cat("expected a tuple of tensors, field ", f, " is ", relay::show(tuple->fields[f], 80)),
           "not-a-tuple-of-tensors");
    out.push_back(t);
  }
  return out;
}

void Relation::require(bool holds, int arg, std::string_view reason) {
  if (!holds) fail(arg, std::string(reason));
}

void Relation::require_rank(int arg, size_t rank) {
  const size_t found = tensor(arg).rank();
  if (found != rank) fail(arg, cat("expected a tensor of rank ", rank, ", found rank ", found), "wrong-rank");
}

void Relation::require_float(int arg) {
  const DType d = tensor(arg).dtype;
  if (!d.is_float()) fail(arg, cat("expected a floating-point tensor, found ", d.name()), "wrong-dtype");
}

void Relation::require_same_dtype(int arg, int other) {
  const DType a = tensor(arg).dtype, b = tensor(other).dtype;
  if (a != b)
    fail(arg, cat("expected ", b.name(), " as in argument ", other, ", found ", a.name()), other,
         "dtypes-differ");
}

void Relation::require_no_scalar(int arg) {
  if (tensor(arg).rank() == 0) fail(arg, "expected a tensor of rank 1 or more, found a scalar", "wrong-rank");
}

void Relation::fail(int arg, std::string reason) { throw RelationError{arg, std::move(reason)}; }

void Relation::fail(int arg, std::string reason, Slug slug) { fail(arg, std::move(reason), kNoOther, slug); }

void Relation::fail(int arg, std::string reason, int other, Slug slug) {
  throw RelationError{arg, std::move(reason), other, slug};
}

size_t Relation::axis(int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r)
    fail(kAttributes, cat("axis ", axis, " is out of range for rank ", rank), "axis-out-of-range");
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

void Relation::require_fits(Dim d, int arg, std::string_view what) {
  if (d.is_too_large()) fail(arg, cat(what, ": an extent does not fit 64 bits"), "dim-overflow");
}

Dim Relation::same(Dim a, Dim b, int arg, std::string_view what, int other) {
  for (Dim d : {a, b}) require_fits(d, arg, what);
  switch (prove_equal(a, b)) {
    case Proof::kProved: break;
    case Proof::kRefuted:
      fail(arg, cat(what, ": ", relay::show(a), " and ", relay::show(b), " differ"), other, "dims-differ");
    case Proof::kUnknown: checks_.push_back({a, b, arg}); break;
  }
  return more_precise(a, b);
}

void Relation::broadcasts_to(Dim part, Dim whole, int arg, std::string_view what, int other) {
  if (part == Dim(1)) return;
  if (part.is_const()) {
    same(part, whole, arg, what, other);
    return;
  }
  for (Dim d : {part, whole}) require_fits(d, arg, what);
  if (prove_equal(whole, part) != Proof::kProved)
    checks_.push_back({whole, part, arg, DimCheck::Fit::kBroadcastTo});
}

std::vector<Dim> Relation::broadcast(std::span<const Dim> a, std::span<const Dim> b, int arg_a, int arg_b) {
  std::vector<Dim> out(std::max(a.size(), b.size()));
  for (size_t d = 0; d < out.size(); ++d) {  // from the right
    const Dim x = d < a.size() ? a[a.size() - 1 - d] : Dim(1);
    const Dim y = d < b.size() ? b[b.size() - 1 - d] : Dim(1);
    const size_t place = out.size() - 1 - d;
    Dim& result = out[place];
    if (x == Dim(1)) {
      result = y;
    } else if (y == Dim(1)) {
      result = x;
    } else if (prove_equal(x, y) == Proof::kProved) {
      result = x;
    } else if (x.is_const() && y.is_const()) {
      fail(arg_b,
           cat("shapes do not broadcast: dimension ", place, " is ", relay::show(x), " and ", relay::show(y)),
           arg_a, "not-broadcastable");
    } else {
      // Either may turn out to be 1, so that even extents which can never be equal may fit. If
      // they fit, the result is a constant other than 1 where there is one.
      checks_.push_back({x, y, arg_b, DimCheck::Fit::kBroadcast});
      result = x.is_const() ? x : y.is_const() ? y : relay::broadcast(x, y);
    }
  }
  return out;
}

void Relation::assign(int arg, Type type) {
  if (!known(arg)) {
    assigned_.emplace_back(arg, type);
    return;
  }
  const Type have = this->type(arg);
  const auto* found = have->as<TensorType>();
  if (have == type && !found) return;  // two `?` are one type and may be two extents
  const auto* wanted = type->as<TensorType>();
  if (!found || !wanted || found->rank() != wanted->rank() || found->dtype != wanted->dtype) {
    fail(arg, cat("expected ", relay::show(type, 80), ", found ", relay::show(have, 80)),
         "wrong-argument-type");
  }
  for (size_t d = 0; d < found->rank(); ++d) same(found->dims[d], wanted->dims[d], arg, cat("dimension ", d));
}

}  // namespace relay::op
