#include "op/bounds.h"

#include <cmath>

#include "op/apply.h"

namespace relay::op {

bool is_rounded_once(const OpDef& op) {
  return op.tolerance.kind == Tolerance::Kind::kUlps && op.tolerance.ulps <= kRoundedOnce;
}

bool gives_either_zero(const OpDef& op) {
  return op.tolerance.kind == Tolerance::Kind::kExact && op.fusion == Fusion::kReduction;
}

std::vector<Bound> bounds(Context& context, const OpDef& op, std::span<const Value> args, const Attrs& attrs,
                          std::span<const Tensor> results) {
  const Bound none = [](int64_t) { return 0.0; };
  std::vector<Bound> out(results.size(), gives_either_zero(op) ? none : Bound::exact());
  if (op.tolerance.kind == Tolerance::Kind::kExact || is_rounded_once(op)) return out;
  if (op.tolerance.kind == Tolerance::Kind::kUlps) {
    for (size_t i = 0; i < results.size(); ++i) {
      const Tensor& t = results[i];
      if (!t.dtype().is_float()) continue;
      out[i] = [t, ulps = op.tolerance.ulps](int64_t k) { return ulps * spacing(t.dtype(), t.get(k)); };
    }
    return out;
  }
  std::vector<Type> types;
  for (const Value& v : args) types.push_back(type_of(context, v));
  const auto n = static_cast<double>(op.tolerance.length(types, attrs));
  const std::vector<Tensor> all = magnitudes(context, op, args, attrs, results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].dtype().is_float()) continue;
    const double factor = 2 * (n + 2) * results[i].dtype().unit_roundoff();
    out[i] = [factor, m = all[i]](int64_t k) { return factor * std::fabs(m.get(k)); };
  }
  return out;
}

}  // namespace relay::op
