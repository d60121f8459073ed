#include "tools/input_values.h"

#include <algorithm>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"

namespace relay::tools {
namespace {

// The constant that an input becomes; nothing if that is reported.
std::optional<Tensor> constant_of(const Var* input, const std::string& name, const data::WrittenValue& value,
                                  Diagnostics& diagnostics) {
  const auto refuse = [&](std::string_view why) -> Diagnostic& {
    return diagnostics.error(
        input->span, "input-value-mismatch",
        cat("input `", name, "`: the value ", data::show(value), " was asked for, and ", why));
  };
  const auto* tensor = input->type->as<TensorType>();
  if (!tensor) {
    refuse(cat("it has type ", show(input->type), ", which is no tensor"));
    return std::nullopt;
  }
  const std::optional<Shape> shape = tensor->static_shape();
  if (!shape) {
    refuse(cat("it has type ", show(input->type), ", whose extents are not known"))
        .note("give them with --input-shapes");
    return std::nullopt;
  }
  Tensor out;
  if (std::string wrong = data::make_tensor(value, tensor->dtype, *shape, out); !wrong.empty()) {
    refuse(wrong);
    return std::nullopt;
  }
  return out;
}

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
  std::optional<data::WrittenValue> value = data::parse_value(std::string_view(text).substr(equals + 1));
  return value && out.emplace(text.substr(0, equals), std::move(*value)).second;
}

Result<FixedInputs> fix_inputs(const Module& m, std::string_view function,
                               const std::vector<std::string>& names, const InputValues& values,
                               Diagnostics& diagnostics) {
  const size_t errors = diagnostics.errors();
  const Fn& fn = *m.function(function);
  for (const auto& [name, value] : values) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    diagnostics
        .error(Span::none(), "input-unknown", cat("a value was given for `", name, "`, which is no input"))
        .note(cat("the inputs: ", join(names, ", ")));
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
    } else if (std::optional<Tensor> t = constant_of(fn.params[i], names[i], value->second, diagnostics)) {
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

}  // namespace relay::tools
