#include "op/bounds.h"

#include <cmath>

#include "op/apply.h"

namespace relay::op {

std::vector<Bound> bounds(Context& context, const OpDef& op, std::span<const Value> args, const Attrs& attrs,
                          std::span<const Tensor> results) {
  std::vector<Bound> out;
  if (op.tolerance.kind != Tolerance::Kind::kReduction) {
    const double ulps = op.tolerance.kind == Tolerance::Kind::kUlps ? op.tolerance.ulps : 0;
    for (const Tensor& t : results) {
      out.push_back([t, ulps](int64_t i) {
        return ulps == 0 || !t.dtype().is_float() ? 0 : ulps * spacing(t.dtype(), t.get(i));
      });
    }
    return out;
  }
  std::vector<Type> types;
  for (const Value& v : args) types.push_back(type_of(context, v));
  const auto n = static_cast<double>(op.tolerance.length(types, attrs));
  const std::vector<Tensor> all = magnitudes(context, op, args, attrs, results);
  for (size_t i = 0; i < results.size(); ++i) {
    const double factor = 2 * (n + 2) * results[i].dtype().unit_roundoff();
    out.push_back([factor, m = all[i]](int64_t k) { return factor * std::fabs(m.get(k)); });
  }
  return out;
}

}  // namespace relay::op
