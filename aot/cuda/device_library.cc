#include "aot/cuda/device_library.h"

#include <span>

#include "aot/extents.h"
#include "base/cat.h"
#include "base/escape.h"

namespace relay::aot::cuda {

std::string CudaDeviceLibrary::run(const kernel::Kernel& k, const std::vector<std::string>& values,
                                   const std::vector<std::string>& extents) {
  const kernel::print::Printed& p = printed_.at(k.name);
  size_t next = 0;
  std::string arguments;
  const auto add = [&](const List<const kernel::Buffer*>& buffers, bool writes) {
    for (const kernel::Buffer* b : buffers)
      arguments += cat("      argument(", c_string(b->name.text()), ", ", values[next++], ", ",
                       b->dtype.bytes(), ", ", writes ? "true" : "false", "),\n");
  };
  add(k.inputs, false);
  add(k.outputs, true);
  add(k.temporaries, true);
  std::string out = cat("  const Argument arguments[] = {\n", arguments, "  };\n");
  if (!extents.empty()) out += cat("  const int64_t parameters[] = {", join(extents, ", "), "};\n");
  const std::string parameters = cat(extents.empty() ? "nullptr" : "parameters", ", ", extents.size());
  out += p.messages.empty() ? "  int32_t* const failure = run.device->failures;  // it does not fail\n"
                            : cat("  int32_t* const failure = failure_word(run, ", p.function,
                                  "_messages);\n  if (failure == nullptr) return {};\n");
  std::map<std::string_view, std::string> names;  // the launches' extents have variables of their own
  const std::vector<kernel::Expr> variables = kernel::shape_parameters(k);
  for (size_t i = 0; i < variables.size(); ++i) names[variables[i]->name.text()] = extents[i];
  const auto extent = [&](kernel::Expr e) {
    return e ? print_extent(e, [&](kernel::Expr v) { return names.at(v->name.text()); }) : "1";
  };
  for (const kernel::print::Launch& l : p.launches) {
    // Arguments of dim3 are unsigned.
    const auto three = [&](size_t from, bool casts) {
      std::vector<std::string> list;
      for (kernel::Expr e : std::span(l.extents).subspan(from, 3)) {
        const bool is_number = !e || e->kind == kernel::ExprKind::kInt;
        list.push_back(casts && !is_number ? cat("static_cast<unsigned>(", extent(e), ")") : extent(e));
      }
      return join(list, ", ");
    };
    out += cat("  if (!put(run, ", l.function, ", \"", l.function, "\", {", three(0, false), "}, dim3(",
               three(3, true), "), arguments, ", parameters, ", failure))\n    return {};\n");
  }
  return out;
}

std::string CudaDeviceLibrary::read(const std::string& name, const std::string& value, size_t element) const {
  return cat("  int64_t ", name, " = 0;\n  if (!read(run, ", value, ", ", element * sizeof(int64_t),
             ", sizeof ", name, ", &", name, ")) return {};\n");
}

std::string CudaDeviceLibrary::truth(const std::string& value, size_t number,
                                     std::vector<std::string>& lines) const {
  const std::string name = cat("is_", number);
  lines.push_back(cat("bool ", name, " = false;"));
  lines.push_back(cat("if (!truth(run, ", value, ", &", name, ")) return {};"));
  return name;
}

}  // namespace relay::aot::cuda
