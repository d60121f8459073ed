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

std::optional<ModelTest> load_test(const std::string& model, const std::string& inputs,
                                   const std::string& outputs, const Module& empty,
                                   const frontend::ImportOptions& options, Verdict& why) {
  Diagnostics diagnostics;
  const auto said = [&]() {
    return diagnostics.all().empty() ? std::string("nothing") : diagnostics.all().front().message();
  };
  const Result<Module> imported = frontend::import_onnx(model, empty, options, diagnostics);
  if (!imported) {
    const bool unsupported = frontend::import_failure(diagnostics) == frontend::ImportFailure::kUnsupported;
    why = unsupported ? Verdict{Verdict::Kind::kSkip, said(), 0, 0} : fail(cat("import: ", said()));
    return std::nullopt;
  }
  const Result<Module> checked = typecheck::check(*imported, diagnostics);
  if (!checked) {
    why = fail(cat("type check: ", said()));
    return std::nullopt;
  }
  const Fn& main = *checked->function("main");
  const Result<frontend::data::NamedTensors> args = frontend::data::read_named(
      inputs, names_of(main, "input_names"), frontend::data::Role::kInput, {}, diagnostics);
  Result<frontend::data::NamedTensors> want = frontend::data::read_named(
      outputs, names_of(main, "output_names"), frontend::data::Role::kOutput, {}, diagnostics);
  if (!args || !want) {
    why = {Verdict::Kind::kSkip, said(), 0, 0};
    return std::nullopt;
  }
  ModelTest out{*checked, {}, std::move(*want)};
  for (const frontend::data::NamedTensor& t : *args) out.args.emplace_back(t.value);
  return out;
}

Verdict run_model(const std::string& model, const std::string& inputs, const std::string& outputs,
                  const frontend::ImportOptions& options, const Bounds& bounds) {
  Verdict out;
  const std::optional<ModelTest> test = load_test(model, inputs, outputs, Module(), options, out);
  if (!test) return out;
  try {
    const Value result = interp::Machine(test->module).call("main", test->args);
    const std::vector<Tensor> got = op::flatten(std::span<const Value>(&result, 1));
    if (got.size() != test->want.size())
      return fail(cat("it gives ", got.size(), " outputs, not ", test->want.size()));
    for (size_t i = 0; i < got.size() && out.kind == Verdict::Kind::kPass; ++i) {
      compare(test->want[i].name, got[i], test->want[i].value, bounds, out);
    }
  } catch (const Trap& trap) {
    return fail(cat("trap: ", trap.what()));
  } catch (const Exhausted& limit) {
    return fail(cat("exhausted: ", limit.what()));
  }
  return out;
}

}  // namespace relay::tests
