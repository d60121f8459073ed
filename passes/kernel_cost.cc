#include "passes/kernel_cost.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "op/apply.h"
#include "op/registry.h"
#include "passes/convolution_cost.h"

namespace relay::passes {
namespace {

// A call of a kernel: arguments, a loop's ends, the memory of a result.
constexpr double kCallCycles = 200;
// Vector instructions of a function of four units in the last place, as exp (kernel/codegen).
constexpr double kFunctionSteps = 12;

struct Size {
  double elements = 0, bytes = 0;
};

std::optional<Size> size_of(Type type) {
  Size out;
  for (const TensorType* t : op::flatten(std::vector<Type>{type})) {
    double elements = 1;
    for (Dim d : t->dims) {
      if (!d.is_const()) return std::nullopt;
      elements *= static_cast<double>(d.value());
    }
    out.elements += elements;
    out.bytes += elements * static_cast<double>(t->dtype.bytes());
  }
  return out;
}

// What one element of the result takes, in vector instructions by lane.
double steps_of(const op::OpDef& op) {
  if (op.view) return 0;
  const bool function = op.tolerance.kind == op::Tolerance::Kind::kUlps && op.tolerance.ulps > 2;
  return function ? kFunctionSteps : 1;
}

}  // namespace

std::optional<double> kernel_cycles(std::span<const Call* const> calls, const target::Cpu& cpu) {
  const std::unordered_set<Expr> inside(calls.begin(), calls.end());
  std::unordered_set<Expr> taken;
  double steps = 0, bytes = 0;
  const auto take = [&](Expr e) {
    if (inside.contains(e) || !taken.insert(e).second || !e->type) return true;
    const auto size = size_of(e->type);
    if (size) bytes += size->bytes;
    return size.has_value();
  };
  for (const Call* call : calls) {
    const op::OpDef* def = op::callee(*call);
    const auto result = def && call->type ? size_of(call->type) : std::nullopt;
    if (!result) return std::nullopt;
    double elements = result->elements;
    for (Expr arg : call->args) {
      const auto* tuple = arg->as<Tuple>();
      for (size_t i = 0; i < (tuple ? tuple->fields.size() : 1); ++i) {
        const Expr e = tuple ? tuple->fields[i] : arg;
        const auto size = e->type ? size_of(e->type) : std::nullopt;
        if (!size || !take(e)) return std::nullopt;
        elements = std::max(elements, size->elements);  // a reduction looks at each
      }
    }
    steps += elements * steps_of(*def);
  }
  bytes += size_of(calls.back()->type)->bytes;
  return kCallCycles + std::max(cost::products(steps, cpu), cost::transfer(bytes, cpu));
}

}  // namespace relay::passes
