// widen-floats: every float32 of the program becomes a float64.
//
// The program that results is what the original means without the roundings of float32:
// the reference that whole networks are measured against (docs/semantics.md, "How far an
// engine may be away").
//
// Before: nothing is asked for. After: no type has a float32.
#include "passes/map_types.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

Module run(const Module& m, const PassContext&) {
  return map_types(m, {.dim = {}, .dtype = [](DType d) { return d == kFloat32 ? kFloat64 : d; }});
}

}  // namespace

const Pass kWidenFloats = {
    .name = "widen-floats",
    .doc = "compute in float64 what the program computes in float32",
    .run = run,
};

}  // namespace relay::passes
