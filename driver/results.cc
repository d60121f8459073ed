#include "driver/results.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/typed_extents.h"
#include "interp/machine.h"
#include "ir/type_parts.h"

namespace relay::driver {
namespace {

// Does the type promise extents of a tensor that is not inside of something else than tuples?
bool promises_extents(Type root) {
  bool found = false;
  for_each_type_in(root, [&](Type t) {
    if (const auto* tensor = t->as<TensorType>())
      found |= std::any_of(tensor->dims.begin(), tensor->dims.end(), [](Dim d) { return !d.is_unknown(); });
    return !found && t->as<TupleType>() != nullptr;
  });
  return found;
}

}  // namespace

void compare_result(const Module& checked, std::string_view function, std::span<const Value> args,
                    const Value& result) {
  const Fn* fn = checked.function(function);
  if (!fn) return;
  std::vector<Type> types;
  for (const Var* p : fn->params) types.push_back(p->type);
  std::unordered_map<const kernel::ExprNode*, int64_t> extents;
  interp::check_shapes(args, types, extents, fn->span);
  const Type type = fn->type->as<FnType>()->result;
  interp::check_shapes(std::span(&result, 1), std::span(&type, 1), extents, fn->span);
}

std::function<Outcome(const std::vector<Value>&)> with_compared_result(
    const Module& checked, std::string_view function, std::function<Outcome(const std::vector<Value>&)> run) {
  const Fn* fn = checked.function(function);
  if (!run || !fn || !promises_extents(fn->type->as<FnType>()->result)) return run;
  if (!analysis::TypedExtents(checked, *fn).doubted(fn->body)) return run;
  return [m = checked, name = std::string(function), run = std::move(run)](const std::vector<Value>& args) {
    Outcome out = run(args);
    if (out.kind != Outcome::Kind::kValue) return out;
    Outcome compared = outcome_of([&] {
      compare_result(m, name, args, out.value);
      return out.value;
    });
    compared.interpreted_calls = out.interpreted_calls;
    return compared;
  };
}

}  // namespace relay::driver
