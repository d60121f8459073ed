#include "tests/conformance/node_case.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/cat.h"
#include "base/failure.h"
#include "base/file.h"
#include "driver/model.h"
#include "frontend/data/inputs.h"
#include "frontend/onnx/import.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

constexpr uint64_t kMostDescription = uint64_t{1} << 20;

// What two steps of bfloat16 are, relative to the number: ONNX's own runner allows as much.
constexpr double kBfloat16 = 1.0 / 64;

nlohmann::json description_of(const std::string& folder) {
  std::string text;
  if (const std::string wrong = read_file(folder + "/case.json", kMostDescription, text); !wrong.empty())
    throw std::runtime_error(wrong);
  nlohmann::json out = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!out.is_object()) throw std::runtime_error(cat(folder, "/case.json is no JSON object"));
  return out;
}

std::nullopt_t refuse(const Diagnostics& diagnostics, CaseRefusal& why) {
  for (const Diagnostic& d : diagnostics.all()) {
    if (d.severity() != Severity::kError) continue;
    why = {std::string(d.slug().name()), d.message()};
    break;
  }
  const Fault fault = diagnostics.fault().value_or(Fault::kBug);
  why.blames_model = fault != Fault::kUnsupported && fault != Fault::kLimit;
  return std::nullopt;
}

// The tensor of a file in the case's folder.
Result<Tensor> read_file_of(const std::string& folder, const nlohmann::json& file, Diagnostics& diagnostics) {
  const std::string path = cat(folder, "/", file.get<std::string>());
  return frontend::data::read_tensor(path, "", {}, diagnostics);
}

// Makes the values of parameters.
class Values {
 public:
  Values(const std::string& folder, const Module& module, Diagnostics& diagnostics)
      : folder_(folder), module_(module), diagnostics_(diagnostics) {}

  // Reports why the form that case.json says is no value of this type. Types are not nested deeply,
  // so this recurses.
  Result<Value> of(const nlohmann::json& form, Type type) {
    const auto* tuple = type->as<TupleType>();
    const auto* data = type->as<DataType>();
    if (form.is_string() && type->as<TensorType>()) {
      Result<Tensor> t = read_file_of(folder_, form, diagnostics_);
      if (!t) return kReported;
      return Value(std::move(*t));
    }
    if (form.is_array() && tuple && tuple->fields.size() == form.size()) {
      std::vector<Type> types(tuple->fields.begin(), tuple->fields.end());
      Result<std::vector<Value>> fields = all(form, types);
      if (!fields) return kReported;
      return Value::tuple(std::move(*fields));
    }
    if (form.is_array() && data && data->name.text() == "List") return list(form, data->args[0]);
    if (data && data->name.text() == "Option") return option(form, data->args[0]);
    diagnostics_.error(Span::none(), "unsupported-input", "the test has no value of the parameter's type");
    return kReported;
  }

 private:
  Result<std::vector<Value>> all(const nlohmann::json& forms, const std::vector<Type>& types) {
    std::vector<Value> out;
    for (size_t i = 0; i < forms.size(); ++i) {
      Result<Value> value = of(forms[i], types[i]);
      if (!value) return kReported;
      out.push_back(std::move(*value));
    }
    return out;
  }

  Result<Value> list(const nlohmann::json& forms, Type element) {
    Result<std::vector<Value>> elements = all(forms, std::vector<Type>(forms.size(), element));
    if (!elements) return kReported;
    Value out = Value::data(module_.constructor("Nil"), {});
    for (size_t i = elements->size(); i-- > 0;)
      out = Value::data(module_.constructor("Cons"), {std::move((*elements)[i]), std::move(out)});
    return out;
  }

  Result<Value> option(const nlohmann::json& form, Type type) {
    if (form.is_null()) return Value::data(module_.constructor("None"), {});
    Result<Value> value = of(form, type);
    if (!value) return kReported;
    return Value::data(module_.constructor("Some"), {std::move(*value)});
  }

  const std::string& folder_;
  const Module& module_;
  Diagnostics& diagnostics_;
};

// The tensors of an output, sequences taken apart.
bool append_wanted(const std::string& folder, const nlohmann::json& form, std::vector<Tensor>& out,
                   Diagnostics& diagnostics) {
  if (form.is_null()) return true;
  if (form.is_array()) {
    return std::all_of(form.begin(), form.end(),
                       [&](const auto& f) { return append_wanted(folder, f, out, diagnostics); });
  }
  Result<Tensor> t = read_file_of(folder, form, diagnostics);
  if (t) out.push_back(std::move(*t));
  return t.ok();
}

// What the case and ours allow at element i of `want`: the larger of the two.
Bound joined(const NodeCase& wanted, const Tensor& want, const Bound& ours) {
  double relative = wanted.relative;
  if (want.dtype().code == DTypeCode::kBFloat) relative = std::max(relative, kBfloat16);
  const bool is_float = want.dtype().is_float();
  return [absolute = wanted.absolute, relative, want, ours, is_float](int64_t i) {
    const double theirs = is_float ? absolute + relative * std::fabs(want.get(i)) : 0;
    return std::max(theirs, ours ? ours(i) : 0);
  };
}

}  // namespace

std::optional<NodeCase> load_case(const std::string& folder, const Module& empty, bool is_open,
                                  CaseRefusal& why) {
  const nlohmann::json description = description_of(folder);
  Diagnostics diagnostics;
  const Result<Module> imported =
      frontend::import_onnx(folder + "/model.onnx", empty, frontend::ImportOptions(), diagnostics);
  if (!imported) return refuse(diagnostics, why);
  const Result<Module> checked = typecheck::check(*imported, diagnostics);
  if (!checked) return refuse(diagnostics, why);

  NodeCase out{.module = *checked};
  out.relative = description.at("rtol");
  out.absolute = description.at("atol");
  out.is_random = description.at("random");
  const nlohmann::json& inputs = description.at("inputs");
  const Fn& main = *checked->function("main");
  if (inputs.size() != main.params.size())
    throw std::runtime_error(cat(inputs.size(), " inputs for ", main.params.size(), " parameters"));
  Values values(folder, *checked, diagnostics);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Result<Value> value = values.of(inputs[i], main.params[static_cast<uint32_t>(i)]->type);
    if (!value) return refuse(diagnostics, why);
    out.args.push_back(std::move(*value));
  }
  if (!append_wanted(folder, description.at("outputs"), out.wanted, diagnostics))
    return refuse(diagnostics, why);
  if (is_open) return out;
  const Result<driver::Model> fixed =
      driver::specialise({.module = out.module, .function = "main"}, out.args, diagnostics);
  if (!fixed) return refuse(diagnostics, why);
  out.module = fixed->module;
  return out;
}

std::string wrong_result(const NodeCase& wanted, const std::vector<Tensor>& got,
                         const std::vector<Bound>& ours) {
  if (got.size() != wanted.wanted.size())
    return cat("it gives ", got.size(), " tensors, and ONNX ", wanted.wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const Tensor& want = wanted.wanted[i];
    const bool same_form = got[i].dtype() == want.dtype() && got[i].shape() == want.shape();
    if (wanted.is_random && same_form) continue;
    const Bound bound = joined(wanted, want, i < ours.size() ? ours[i] : Bound());
    if (const Comparison c = compare(got[i], want, bound); !c.ok)
      return cat("tensor ", i, ": ", show(c, want.shape()));
  }
  return "";
}

}  // namespace relay::tests
