// Functions of two numbers, element by element, with broadcasting: what their files share.
//
//   (Tensor[s, d], Tensor[t, d]) -> Tensor[broadcast(s, t), d], or of bool if it compares
//   C1: both have the dtype d.   C2: s and t broadcast.   C3: d is <domain>.
#pragma once

#include <optional>
#include <string>

#include "op/define.h"
#include "op/domain.h"
#include "op/term.h"

namespace relay::op {

struct Adjoints {
  std::optional<Term> x, y;  // of the shape of the result; nothing where it is zero
};

struct Binary {
  std::string name, doc;
  double (*real)(DType d, double x, double y) = nullptr;
  // On integers (and booleans, as 0 and 1); an unsigned 64-bit integer comes by its bits.
  // The result wraps.
  int64_t (*integer)(DType d, int64_t x, int64_t y) = nullptr;
  kernel::Expr (*lower)(kernel::Builder& k, kernel::Expr x, kernel::Expr y) = nullptr;
  Adjoints (*adjoints)(Term x, Term y, Term z, Term dz) = nullptr;
  Domain domain = Domain::kNumber;
  bool asks = false;         // the result is boolean
  bool commutative = false;  // see OpDef
  Effects effects = Effects::kNone;
  double ulps = 0;  // 0: exact
  std::string not_differentiable = {};
};

OpDef binary(const Binary& f);

// An integer by its bits, for arithmetic that wraps and for unsigned 64-bit integers.
inline uint64_t bits(int64_t v) { return static_cast<uint64_t>(v); }
inline int64_t of_bits(uint64_t v) { return static_cast<int64_t>(v); }
inline bool integer_less(DType d, int64_t x, int64_t y) {
  return d.is_signed_int() ? x < y : bits(x) < bits(y);
}

// Reasons for Binary::not_differentiable.
inline constexpr auto kBooleanResult = "the result is boolean";
inline constexpr auto kOnIntegers = "defined on integers";

}  // namespace relay::op
