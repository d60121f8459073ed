#include "tests/property/run.h"

#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "base/failure.h"
#include "driver/results.h"
#include "interp/machine.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "runtime/compare.h"
#include "typecheck/check.h"

namespace relay::property {
namespace {

constexpr uint64_t kMostSteps = 60000;
// Sums of a dozen products of such numbers are exact in float32.
constexpr double kSmall = 1024;

void look_at(const Tensor& t, Run& run) {
  if (!t.dtype().is_float()) return;
  for (int64_t i = 0; i < t.size(); ++i) {
    const double v = t.get(i), magnitude = std::fabs(v);
    if (!(magnitude <= kSmall) || v != std::floor(v)) run.exact = false;
    run.largest = magnitude > run.largest || std::isnan(v) ? magnitude : run.largest;
  }
}

// Is the value of this type? Dims that are not constants and type parameters are taken on trust.
bool has_type(Context& context, const Module& m, const Value& v, Type t) {
  if (const auto* tensor = t->as<TensorType>()) {
    if (!v.is_tensor() || v.tensor().dtype() != tensor->dtype || v.tensor().rank() != tensor->rank())
      return false;
    for (size_t i = 0; i < tensor->rank(); ++i) {
      const Dim d = tensor->dims[i];
      if (d.is_const() && d.value() != v.tensor().shape()[i]) return false;
    }
    return true;
  }
  const auto fields_have = [&](const List<Type>& types) {
    if (v.fields().size() != types.size()) return false;
    for (size_t i = 0; i < types.size(); ++i) {
      if (!has_type(context, m, v.fields()[i], types[i])) return false;
    }
    return true;
  };
  switch (t->kind) {
    case TypeKind::kTuple: return v.kind() == ValueKind::kTuple && fields_have(t->as<TupleType>()->fields);
    case TypeKind::kFn: return v.kind() == ValueKind::kClosure || v.kind() == ValueKind::kCallable;
    case TypeKind::kRef:
      return v.kind() == ValueKind::kCell && has_type(context, m, v.contents(), t->as<RefType>()->contents);
    case TypeKind::kData: {
      if (v.kind() != ValueKind::kData) return false;
      const auto& ctor = *static_cast<const Constructor*>(v.code());
      const auto* data = t->as<DataType>();
      if (ctor.data_type != data->name || v.fields().size() != ctor.fields.size()) return false;
      const DataTypeDef& def = *m.data_type(data->name.text());
      for (size_t i = 0; i < ctor.fields.size(); ++i) {
        // An argument may itself be a type parameter, of the function around, and have the name
        // of one of these.
        const auto param = std::find(def.params.begin(), def.params.end(), ctor.fields[i]);
        const Type field = param == def.params.end()
                               ? ctor.fields[i]
                               : data->args[static_cast<size_t>(param - def.params.begin())];
        if (!has_type(context, m, v.fields()[i], field)) return false;
      }
      return true;
    }
    default: return true;
  }
}

}  // namespace

Run interpret(const Module& m, const std::vector<Value>& args, bool look_at_types) {
  Run out;
  interp::Options options;
  options.fuel = kMostSteps;
  options.observe = [&](Expr e, const Value& v) {
    if (v.is_tensor()) look_at(v.tensor(), out);
    if (!look_at_types || !out.wrong_type.empty() || !e->type) return;
    if (!has_type(m.context(), m, v, e->type))
      out.wrong_type = cat(interp::show(v), " is not of the type ", show(e->type));
  };
  try {
    out.value = interp::Machine(m, options).call("main", args);
  } catch (const Trap& trap) {
    out.kind = Run::Kind::kTrap;
    out.message = trap.what();
  } catch (const Exhausted& limit) {
    out.kind = Run::Kind::kExhausted;
    out.message = limit.what();
  }
  return out;
}

Run result_of_engine(const Module& m, const std::vector<Value>& args) {
  Run out = interpret(m, args);
  if (out.kind != Run::Kind::kValue) return out;
  try {
    driver::compare_result(m, "main", args, out.value);
  } catch (const Trap& trap) {
    out.kind = Run::Kind::kTrap;
    out.message = trap.what();
  }
  return out;
}

Comparison same_tensors(size_t, const Tensor& got, const Tensor& want) { return compare_exact(got, want); }

std::string difference(const Value& got, const Value& want, const CompareTensors& compare) {
  size_t tensors = 0;
  std::vector<std::pair<const Value*, const Value*>> pending{{&got, &want}};
  while (!pending.empty()) {
    const auto [a, b] = pending.back();
    pending.pop_back();
    if (a->kind() != b->kind()) return "values of different kinds";
    if (a->is_tensor()) {
      const Tensor &x = a->tensor(), &y = b->tensor();
      if (x.dtype() != y.dtype() || x.shape() != y.shape()) return cat(show(x), " instead of ", show(y));
      const Comparison c = compare(tensors++, x, y);
      if (!c.ok) return cat(show(x), " instead of ", show(y), ": ", show(c, y.shape()));
      continue;
    }
    if (a->kind() == ValueKind::kClosure || a->kind() == ValueKind::kCallable) continue;
    if (a->kind() == ValueKind::kData) {
      const Symbol x = static_cast<const Constructor*>(a->code())->name;
      const Symbol y = static_cast<const Constructor*>(b->code())->name;
      if (x != y) return cat("a ", x.text(), " instead of a ", y.text());
    }
    if (a->fields().size() != b->fields().size()) return "different numbers of fields";
    for (size_t i = a->fields().size(); i-- > 0;) pending.emplace_back(&a->fields()[i], &b->fields()[i]);
  }
  return {};
}

std::string difference(const Run& got, const Run& want, const CompareTensors& compare) {
  static constexpr std::string_view kKinds[] = {"a value", "a trap", "too many steps"};
  // A pass may change how many steps there are.
  if (got.kind == Run::Kind::kExhausted || want.kind == Run::Kind::kExhausted) return {};
  if (got.kind != want.kind) {
    return cat(kKinds[static_cast<size_t>(got.kind)], " (", got.message, ") instead of ",
               kKinds[static_cast<size_t>(want.kind)], " (", want.message, ")");
  }
  if (want.kind == Run::Kind::kValue) return difference(got.value, want.value, compare);
  if (reason_of(got.message) == reason_of(want.message)) return {};
  return cat("the trap `", got.message, "` instead of `", want.message, "`");
}

Run run_of(const driver::Outcome& outcome) {
  Run run;
  run.kind = outcome.kind == driver::Outcome::Kind::kTrap ? Run::Kind::kTrap : Run::Kind::kValue;
  run.value = outcome.value;
  run.message = outcome.message;
  return run;
}

Result<Module> checked(const Module& m, std::string& wrong) {
  Diagnostics diagnostics;
  Result<Module> out = typecheck::check(m, diagnostics);
  if (!out) wrong = diagnostics.render(m.context().sources());
  return out;
}

std::string text_of(const Module& m) { return op::text_of(m, {}); }

Result<Module> read_back(const std::string& text, std::string& wrong) {
  Diagnostics diagnostics;
  const ParseOptions options;
  Result<Module> out = parse("printed.relay", text, diagnostics, op::operators(), options);
  if (!out) wrong = diagnostics.render(options.into.context().sources());
  return out;
}

}  // namespace relay::property
