#include "passes/sample_inputs.h"

#include <unordered_map>

#include "base/failure.h"
#include "interp/machine.h"

namespace relay::passes {
namespace {

// The sample as a tensor of that type; itself if it cannot be one.
Value converted(const Value& sample, Type type) {
  const auto* wanted = type->as<TensorType>();
  const std::optional<Shape> shape = wanted ? wanted->static_shape() : std::nullopt;
  if (!shape || !sample.is_tensor()) return sample;
  const Tensor& from = sample.tensor();
  const bool is_float = wanted->dtype.is_float();
  if (from.dtype() != wanted->dtype || from.shape() == *shape) return sample;
  Tensor out(wanted->dtype, *shape);
  for (int64_t i = 0; i < out.size() && from.size() > 0; ++i) {
    if (is_float) {
      out.set(i, from.get(i % from.size()));
    } else {
      out.set_int(i, from.get_int(i % from.size()));
    }
  }
  return Value(out);
}

}  // namespace

bool takes(const Fn& fn, const std::vector<Value>& values) {
  if (fn.params.size() != values.size()) return false;
  std::vector<Type> types;
  for (const Var* p : fn.params) types.push_back(p->type);
  std::unordered_map<const kernel::ExprNode*, int64_t> variables;
  try {
    interp::check_shapes(values, types, variables, Span::none());
    return true;
  } catch (const Trap&) {
    return false;
  }
}

std::optional<std::vector<Value>> fitted_inputs(const Fn& fn, const std::vector<Value>& samples) {
  if (takes(fn, samples)) return samples;
  if (samples.empty()) return std::nullopt;
  std::vector<Value> out;
  for (const Var* p : fn.params) out.push_back(converted(samples[out.size() % samples.size()], p->type));
  if (!takes(fn, out)) return std::nullopt;
  return out;
}

}  // namespace relay::passes
