// reinterpret(x, dtype)[i] = the bits of x[i] as a dtype
//
//   (Tensor[s, d]) -> Tensor[s, dtype]
//   C1: d and dtype are the same, or both are integers.
//   C2: they have equally many bits.
//
// Kernels have no instruction that reads the bits of a floating-point number, so it
// stays what it is.
#include "base/cat.h"
#include "op/math/convert.h"
#include "op/term.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const CastAttrs& a) {
  const TensorType& x = r.tensor(0);
  const bool readable = x.dtype == a.dtype || (x.dtype.is_int() && a.dtype.is_int());
  r.require(readable, kAttributes,
            cat("the bits of ", x.dtype.name(), " cannot be read as ", a.dtype.name(),
                ", only those of integers as integers"));  // C1
  r.require(x.dtype.bits == a.dtype.bits, kAttributes,
            cat(x.dtype.name(), " and ", a.dtype.name(), " have not equally many bits"));  // C2
  return r.tensor_of({x.dims.begin(), x.dims.end()}, a.dtype);
}

// Integers wrap, which keeps their bits.
Expr expand(Builder& b, const CastAttrs& a, const Site& c) {
  return call(b, kCast, {c.args[0]}, {{"dtype", a.dtype}});
}

}  // namespace

const OpDef kReinterpret = define<CastAttrs>({
    .name = "reinterpret",
    .doc = "The bits of the elements as those of another dtype.",
    .params = {{"data", "the input"}},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
