#include "driver/nonfinite.h"

#include <cmath>

#include "base/cat.h"
#include "base/failure.h"
#include "op/registry.h"
#include "passes/reference.h"

namespace relay::driver {

NonFinite count_all(const Value& v) {
  NonFinite out;
  for (const Tensor& t : passes::tensors_of(v)) {
    const NonFinite one = count_nonfinite(t);
    out.nans += one.nans;
    out.infinities += one.infinities;
  }
  return out;
}

bool holds_tensors_alone(const Value& v) {
  if (v.is_tensor()) return true;
  if (v.kind() != ValueKind::kTuple) return false;
  for (const Value& f : v.fields()) {
    if (!f.is_tensor()) return false;
  }
  return true;
}

void trap_nan(Expr e, const Value& v) {
  if (!e->as<Call>() || !holds_tensors_alone(v)) return;
  if (const NonFinite n = count_all(v); n.nans > 0) {
    const op::OpDef* def = op::callee(e);
    throw Trap(cat(def ? cat("`", def->name, "`") : std::string("a call"), " gives ", n.text()), e->span);
  }
}

std::string NonFinite::text() const {
  const std::string nan = cat(nans, " NaN"),
                    inf = cat(infinities, infinities == 1 ? " infinity" : " infinities");
  return nans == 0 ? inf : infinities == 0 ? nan : cat(nan, " and ", inf);
}

NonFinite count_nonfinite(const Tensor& t) {
  NonFinite out;
  if (!t.dtype().is_float()) return out;
  for (int64_t i = 0; i < t.size(); ++i) {
    const double v = t.get(i);
    out.nans += std::isnan(v);
    out.infinities += std::isinf(v);
  }
  return out;
}

}  // namespace relay::driver
