#include "driver/input_values.h"

#include <algorithm>

#include "base/cat.h"
#include "base/nearest.h"
#include "frontend/data/inputs.h"
#include "frontend/onnx/fixed_input.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"

namespace relay::driver {
namespace {

// A function that calls the function; null if none does.
const Symbol* caller_of(const Module& m, std::string_view function) {
  for (const auto& [name, fn] : m.functions()) {
    const std::vector<Symbol> mentioned = mentioned_globals(fn);
    if (std::any_of(mentioned.begin(), mentioned.end(), [&](Symbol s) { return s.text() == function; }))
      return &name;
  }
  return nullptr;
}

}  // namespace

bool parse_input_value(const std::string& text, InputValues& out) {
  // Names of inputs may hold equals signs themselves: the last one counts.
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) return false;
  std::optional<frontend::data::WrittenValue> value =
      frontend::data::parse_value(std::string_view(text).substr(equals + 1));
  return value && out.emplace(text.substr(0, equals), std::move(*value)).second;
}

bool read_value_files(InputValues& values, std::vector<std::string>& files, Diagnostics& diagnostics) {
  const size_t errors = diagnostics.errors();
  for (auto& [name, value] : values) {
    if (value.file.empty()) continue;
    Result<Tensor> tensor = frontend::data::read_tensor(value.file, name, {}, diagnostics);
    if (tensor) value.tensor = std::move(*tensor);
    files.push_back(value.file);
  }
  return diagnostics.errors() == errors;
}

Result<FixedInputs> fix_inputs(const Module& m, std::string_view function,
                               const std::vector<std::string>& names, const InputValues& values,
                               Diagnostics& diagnostics) {
  const size_t errors = diagnostics.errors();
  const Fn& fn = *m.function(function);
  for (const auto& [name, value] : values) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    Diagnostic& d = diagnostics.error(Span::none(), "input-unknown",
                                      cat("a value was given for `", name, "`, which is no input"));
    suggest(d, name, names);
    d.note(cat("the inputs: ", join(names, ", ")));
  }
  if (const Symbol* caller = caller_of(m, function)) {
    diagnostics
        .error(fn.span, "input-not-fixed",
               cat("@", caller->text(), " calls @", function, ", with all of its inputs"))
        .note(cat("call @", function,
                  " with the constant in a function that nothing calls, and choose that with --function"));
  }
  FixedInputs out{m, {}};
  Builder b(m.context());
  const SpanScope span(b, fn.span);
  std::vector<const Var*> params;
  std::vector<std::string> left;
  std::unordered_map<const Var*, Expr> constants;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto value = values.find(names[i]);
    if (value == values.end()) {
      params.push_back(fn.params[i]);
      left.push_back(names[i]);
    } else if (std::optional<Tensor> t =
                   frontend::fixed_input(cat("`", names[i], "`"), fn.params[i]->span, fn.params[i]->type,
                                         value->second, diagnostics)) {
      constants.emplace(fn.params[i], b.constant(*t));
      out.values.push_back({names[i], std::move(*t)});
    }
  }
  if (diagnostics.errors() > errors) return kReported;

  std::vector<AttrArg> attrs;
  for (const Attr& a : fn.attrs) {
    if (a.name == "input_names") {
      attrs.push_back({a.name.str(), left});
    } else {
      attrs.push_back({a.name.str(), a.value});
    }
  }
  const Expr body = substitute(m.context(), fn.body, constants);
  out.module.set_function(function,
                          b.fn(params, body, fn.result, m.context().attrs(attrs), fn.type_params, fn.where));
  return out;
}

}  // namespace relay::driver
