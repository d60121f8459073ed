#include "tests/conformance/models.h"

#include <cmath>

#include "base/cat.h"
#include "base/failure.h"
#include "frontend/data/inputs.h"
#include "interp/machine.h"
#include "op/apply.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

Verdict fail(std::string why) { return {Verdict::Kind::kFail, why.substr(0, why.find('\n')), 0, 0}; }

std::vector<std::string> names_of(const Fn& fn, std::string_view attribute) {
  std::vector<std::string> out;
  if (const AttrValue* names = fn.attrs.find(attribute)) {
    for (const AttrValue& name : names->list) out.push_back(name.string.str());
  }
  return out;
}

void compare(const std::string& name, const Tensor& got, const Tensor& want, const Bounds& bounds,
             Verdict& out) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    out = fail(cat(name, ": is ", got.dtype().name(), show(got.shape()), " and should be ",
                   want.dtype().name(), show(want.shape())));
    return;
  }
  for (int64_t i = 0; i < want.size(); ++i) {
    if (!want.dtype().is_float()) {
      if (got.get_int(i) != want.get_int(i)) {
        out = fail(cat(name, "[", i, "] is ", got.get_int(i), " and should be ", want.get_int(i)));
        return;
      }
      continue;
    }
    const double g = got.get(i), w = want.get(i);
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    const double error = std::abs(g - w), allowed = bounds.absolute + bounds.relative * std::abs(w);
    if (!(error <= allowed)) {
      out = fail(cat(name, "[", i, "] is ", g, " and should be ", w, ", ", error, " apart where ", allowed,
                     " is allowed"));
      return;
    }
    if (error > out.worst) {
      out.worst = error;
      out.bound = allowed;
    }
  }
}

}  // namespace

Verdict run_model(const std::string& model, const std::string& inputs, const std::string& outputs,
                  const frontend::ImportOptions& options, const Bounds& bounds) {
  const Module empty;
  Diagnostics diagnostics;
  const auto said = [&]() {
    return diagnostics.all().empty() ? std::string("nothing") : diagnostics.all().front().message();
  };
  const Result<Module> imported = frontend::import_onnx(model, empty, options, diagnostics);
  if (!imported) {
    if (frontend::import_failure(diagnostics) == frontend::ImportFailure::kUnsupported) {
      return {Verdict::Kind::kSkip, said(), 0, 0};
    }
    return fail(cat("import: ", said()));
  }
  const Result<Module> checked = typecheck::check(*imported, diagnostics);
  if (!checked) return fail(cat("type check: ", said()));

  const Fn& main = *checked->function("main");
  const std::vector<std::string> input_names = names_of(main, "input_names"),
                                 output_names = names_of(main, "output_names");
  const Result<data::NamedTensors> args =
      data::read_named(inputs, input_names, data::Role::kInput, {}, diagnostics);
  const Result<data::NamedTensors> want =
      data::read_named(outputs, output_names, data::Role::kOutput, {}, diagnostics);
  if (!args || !want) return {Verdict::Kind::kSkip, said(), 0, 0};
  std::vector<Value> values;
  for (const data::NamedTensor& t : *args) values.emplace_back(t.value);
  Verdict out;
  try {
    const Value result = interp::Machine(*checked).call("main", values);
    const std::vector<Tensor> got = op::flatten(std::span<const Value>(&result, 1));
    if (got.size() != want->size()) return fail(cat("it gives ", got.size(), " outputs, not ", want->size()));
    for (size_t i = 0; i < got.size() && out.kind == Verdict::Kind::kPass; ++i) {
      compare(output_names[i], got[i], (*want)[i].value, bounds, out);
    }
  } catch (const Trap& trap) {
    return fail(cat("trap: ", trap.what()));
  } catch (const Exhausted& limit) {
    return fail(cat("exhausted: ", limit.what()));
  }
  return out;
}

}  // namespace relay::tests
