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

// The value that a form of case.json says. Forms are not nested deeply, so this recurses.
Result<CaseValue> read_form(const std::string& folder, const nlohmann::json& form, Diagnostics& diagnostics) {
  CaseValue out;
  out.is_absent = form.is_null();
  if (form.is_string()) {
    const std::string path = cat(folder, "/", form.get<std::string>());
    Result<Tensor> t = frontend::data::read_tensor(path, "", {}, diagnostics);
    if (!t) return kReported;
    out.tensor = std::move(*t);
  }
  if (!form.is_array()) return out;
  for (const nlohmann::json& part : form) {
    Result<CaseValue> value = read_form(folder, part, diagnostics);
    if (!value) return kReported;
    out.parts.push_back(std::move(*value));
  }
  return out;
}

Result<CaseData> read_described(const std::string& folder, const nlohmann::json& description,
                                Diagnostics& diagnostics) {
  Result<CaseValue> inputs = read_form(folder, description.at("inputs"), diagnostics);
  if (!inputs) return kReported;
  Result<CaseValue> outputs = read_form(folder, description.at("outputs"), diagnostics);
  if (!outputs) return kReported;
  return CaseData{std::move(inputs->parts), std::move(outputs->parts), description.at("rtol"),
                  description.at("atol"), description.at("random")};
}

// Makes the values of parameters.
class Values {
 public:
  Values(const Module& module, Diagnostics& diagnostics) : module_(module), diagnostics_(diagnostics) {}

  // Reports why what the files have is no value of this type. Types are not nested deeply, so this
  // recurses.
  Result<Value> of(const CaseValue& given, Type type) {
    const auto* tuple = type->as<TupleType>();
    const auto* data = type->as<DataType>();
    if (given.tensor && type->as<TensorType>()) return Value(*given.tensor);
    const bool has_parts = !given.tensor && !given.is_absent;
    if (has_parts && tuple && tuple->fields.size() == given.parts.size()) {
      std::vector<Type> types(tuple->fields.begin(), tuple->fields.end());
      Result<std::vector<Value>> fields = all(given.parts, types);
      if (!fields) return kReported;
      return Value::tuple(std::move(*fields));
    }
    if (has_parts && data && data->name.text() == "List") return list(given.parts, data->args[0]);
    if (data && data->name.text() == "Option") return option(given, data->args[0]);
    diagnostics_.error(Span::none(), "unsupported-input", "the test has no value of the parameter's type");
    return kReported;
  }

 private:
  Result<std::vector<Value>> all(const std::vector<CaseValue>& given, const std::vector<Type>& types) {
    std::vector<Value> out;
    for (size_t i = 0; i < given.size(); ++i) {
      Result<Value> value = of(given[i], types[i]);
      if (!value) return kReported;
      out.push_back(std::move(*value));
    }
    return out;
  }

  Result<Value> list(const std::vector<CaseValue>& given, Type element) {
    Result<std::vector<Value>> elements = all(given, std::vector<Type>(given.size(), element));
    if (!elements) return kReported;
    Value out = Value::data(module_.constructor("Nil"), {});
    for (size_t i = elements->size(); i-- > 0;)
      out = Value::data(module_.constructor("Cons"), {std::move((*elements)[i]), std::move(out)});
    return out;
  }

  Result<Value> option(const CaseValue& given, Type type) {
    if (given.is_absent) return Value::data(module_.constructor("None"), {});
    Result<Value> value = of(given, type);
    if (!value) return kReported;
    return Value::data(module_.constructor("Some"), {std::move(*value)});
  }

  const Module& module_;
  Diagnostics& diagnostics_;
};

void append_tensors(const CaseValue& value, std::vector<Tensor>& out) {
  if (value.tensor) out.push_back(*value.tensor);
  for (const CaseValue& part : value.parts) append_tensors(part, out);
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

std::optional<NodeCase> load_case(const std::string& model, const ReadData& read, const Module& empty,
                                  bool is_open, CaseRefusal& why) {
  Diagnostics diagnostics;
  const Result<Module> imported = frontend::import_onnx(model, empty, frontend::ImportOptions(), diagnostics);
  if (!imported) return refuse(diagnostics, why);
  const Result<Module> checked = typecheck::check(*imported, diagnostics);
  if (!checked) return refuse(diagnostics, why);

  const Fn& main = *checked->function("main");
  std::vector<std::string> parameters;
  for (const Var* p : main.params) parameters.push_back(p->name.str());
  const Result<CaseData> data = read(parameters, diagnostics);
  if (!data) return refuse(diagnostics, why);
  if (data->inputs.size() != parameters.size())
    throw std::runtime_error(cat(data->inputs.size(), " inputs for ", parameters.size(), " parameters"));
  NodeCase out{.module = *checked};
  out.relative = data->relative;
  out.absolute = data->absolute;
  out.is_random = data->is_random;
  Values values(*checked, diagnostics);
  for (size_t i = 0; i < parameters.size(); ++i) {
    Result<Value> value = values.of(data->inputs[i], main.params[static_cast<uint32_t>(i)]->type);
    if (!value) return refuse(diagnostics, why);
    out.args.push_back(std::move(*value));
  }
  for (const CaseValue& output : data->outputs) append_tensors(output, out.wanted);
  if (is_open) return out;
  const Result<driver::Model> fixed =
      driver::specialise({.module = out.module, .function = "main"}, out.args, diagnostics);
  if (!fixed) return refuse(diagnostics, why);
  out.module = fixed->module;
  return out;
}

std::optional<NodeCase> load_case(const std::string& folder, const Module& empty, bool is_open,
                                  CaseRefusal& why) {
  const nlohmann::json description = description_of(folder);
  const auto read = [&](const std::vector<std::string>&, Diagnostics& diagnostics) {
    return read_described(folder, description, diagnostics);
  };
  return load_case(folder + "/model.onnx", read, empty, is_open, why);
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
