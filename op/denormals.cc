#include "op/denormals.h"

#include <algorithm>
#include <iterator>

#include "op/apply.h"
#include "op/ops.h"
#include "op/parts.h"
#include "runtime/flushed.h"

namespace relay::op {
namespace {

// Operators that place elements and no more, which neither fusion nor a view tells.
constexpr const OpDef* kPlacing[] = {
    &kWhere,   &kBroadcastTo,     &kBroadcastToLike, &kStridedSet, &kDynBroadcastTo, &kDynFull,    &kDynPad,
    &kDynTile, &kDynStridedSlice, &kDynOneHot,       &kDynReshape, &kDynExpandDims,  &kDynSqueeze,
};

}  // namespace

bool moves_bits(const OpDef& def) {
  if (def.tolerance.kind != Tolerance::Kind::kExact) return false;
  return def.view || def.fusion == Fusion::kInjective ||
         std::find(std::begin(kPlacing), std::end(kPlacing), &def) != std::end(kPlacing);
}

Value flushed(const Value& v) {
  if (v.is_tensor()) return has_denormals(v.tensor()) ? Value(relay::flushed(v.tensor())) : v;
  if (v.kind() != ValueKind::kTuple) return v;
  const auto is_clean = [](const Value& f) { return f.is_tensor() && !has_denormals(f.tensor()); };
  if (std::all_of(v.fields().begin(), v.fields().end(), is_clean)) return v;
  // Operators take and give tuples of tensors, and no deeper ones.
  std::vector<Value> fields;
  for (const Value& f : v.fields()) fields.push_back(f.is_tensor() ? flushed(f) : f);
  return Value::tuple(std::move(fields));
}

Value evaluate_flushed(Context& context, const OpDef& def, std::span<const Value> args, const Attrs& attrs,
                       Sums sums) {
  if (moves_bits(def)) return evaluate(context, def, args, attrs, sums);
  // Engines flush between the parts of an operator too.
  if (def.expand) {
    return evaluate_by_parts(
        context, def, args, attrs, sums,
        [sums](Context& scratch, const OpDef& part, std::span<const Value> inputs, const Attrs& given) {
          return evaluate_flushed(scratch, part, inputs, given, sums);
        });
  }
  std::vector<Value> taken;
  for (const Value& v : args) taken.push_back(flushed(v));
  return flushed(evaluate(context, def, taken, attrs, sums));
}

}  // namespace relay::op
