#include "tools/input_shapes.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/cat.h"
#include "base/nearest.h"
#include "passes/map_types.h"
#include "tools/option_values.h"

namespace relay::tools {
namespace {

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

bool is_name(const std::string& text) {
  for (char c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0]));
}

std::optional<frontend::InputDim> parse_dim(const std::string& text) {
  if (text == "?") return frontend::InputDim{};
  if (is_name(text)) return frontend::InputDim{-1, text};
  if (text == "-1") return frontend::InputDim{-1, {}};
  const std::optional<uint64_t> extent = parse_count(text);
  if (!extent || *extent > INT64_MAX) return std::nullopt;
  return frontend::InputDim{static_cast<int64_t>(*extent), {}};
}

std::string show(const std::vector<frontend::InputDim>& dims) {
  return cat("[",
             join(dims, ", ",
                  [](const frontend::InputDim& d) {
                    return d.extent >= 0 ? std::to_string(d.extent) : d.name.empty() ? "?" : d.name;
                  }),
             "]");
}

// What the wanted extents say about the variables of one input; why they cannot be had,
// or an empty text.
std::string bind(Type type, const std::vector<frontend::InputDim>& wanted,
                 std::map<std::string, int64_t>& values) {
  const auto* tensor = type->as<TensorType>();
  if (!tensor) return cat("it has type ", relay::show(type), " and no shape");
  if (tensor->rank() != wanted.size()) return cat("it has ", tensor->rank(), " dimensions");
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Dim d = tensor->dims[i];
    const int64_t extent = wanted[i].extent;
    if (extent < 0 || (d.is_const() && d.value() == extent)) continue;
    if (d.is_const()) return cat("its extent ", i, " is always ", d.value());
    // An expression gets its extent from the inputs that bind its variables.
    if (!d.is_symbolic() || d.symbolic()->kind != kernel::ExprKind::kVar)
      return cat("its extent ", i, " is `", relay::show(d), "`, which is no shape variable: write ? for it");
    const auto [it, fresh] = values.emplace(d.symbolic()->name.str(), extent);
    if (!fresh && it->second != extent)
      return cat("`", relay::show(d), "` cannot be both ", it->second, " and ", extent);
  }
  return {};
}

}  // namespace

bool parse_input_shape(const std::string& text, InputShapes& out) {
  // Names of inputs may hold colons themselves: the last one counts.
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  std::string dims = trimmed(text.substr(colon + 1));
  const bool brackets = dims.size() >= 2 && dims.front() == '[' && dims.back() == ']';
  if (brackets) dims = dims.substr(1, dims.size() - 2);
  const char separator = brackets || dims.find(',') != std::string::npos ? ',' : 'x';
  std::vector<frontend::InputDim> shape;
  for (size_t begin = 0; begin <= dims.size() && !dims.empty();) {
    const size_t end = std::min(dims.find(separator, begin), dims.size());
    const std::optional<frontend::InputDim> dim = parse_dim(trimmed(dims.substr(begin, end - begin)));
    if (!dim) return false;
    shape.push_back(*dim);
    begin = end + 1;
  }
  return out.emplace(text.substr(0, colon), std::move(shape)).second;
}

Result<Module> bind_input_shapes(const Module& m, std::string_view function,
                                 const std::vector<std::string>& names, const InputShapes& shapes,
                                 Diagnostics& diagnostics) {
  std::map<std::string, int64_t> values;
  const size_t errors = diagnostics.errors();
  for (const auto& [name, wanted] : shapes) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) {
      Diagnostic& d = diagnostics.error(Span::none(), "input-unknown",
                                        cat("a shape was given for `", name, "`, which is no input"));
      suggest(d, name, names);
      d.note(cat("the inputs: ", join(names, ", ")));
      continue;
    }
    const Var* param = m.function(function)->params[static_cast<size_t>(at - names.begin())];
    if (std::string why = bind(param->type, wanted, values); !why.empty()) {
      diagnostics.error(param->span, "input-shape-mismatch",
                        cat("input `", name, "`: the shape ", show(wanted), " was asked for, and ", why));
    }
  }
  if (diagnostics.errors() > errors) return kReported;
  return values.empty() ? m : passes::bind_shape_variables(m, function, values);
}

}  // namespace relay::tools
