#include "driver/input_shapes.h"

#include <algorithm>

#include "base/cat.h"
#include "base/nearest.h"
#include "passes/map_types.h"

namespace relay::driver {
namespace {

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

std::map<std::string, int64_t> given_extents(const Fn& fn, const std::vector<std::string>& names,
                                             const InputShapes& shapes) {
  std::map<std::string, int64_t> out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (const auto it = shapes.find(names[i]); it != shapes.end()) bind(fn.params[i]->type, it->second, out);
  }
  return out;
}

}  // namespace relay::driver
