#include "aot/kernel_calls.h"

#include "aot/extents.h"
#include "base/cat.h"
#include "base/escape.h"
#include "base/failure.h"
#include "kernel/batched.h"
#include "kernel/execute.h"

namespace relay::aot {
namespace {

bool is_zero(kernel::Expr e) { return e->kind == kernel::ExprKind::kInt && e->int_value == 0; }

// The arguments have the extents that the kernel asks for, or the run ends.
void compare_extents(const kernel::Kernel& k, const std::vector<kernel::Expr>& extents,
                     const std::vector<std::string>& places, const Extents& names, std::string& out) {
  const std::vector<kernel::ExtentRule> rules = kernel::extent_rules(extents);
  const auto trap = [&](const std::string& condition, const std::string& why) {
    out += cat("  if (", condition, ") return run.trap(",
               c_string(cat(kWrongShape, "the arguments of kernel ", k.name.text(), " ", why)), ");\n");
  };
  std::set<size_t> read;  // where a variable stands alone, and has its value from
  for (const kernel::ExtentRule& rule : rules) {
    if (rule.coefficient == 1 && is_zero(rule.rest)) {
      read.insert(rule.extent);
    } else {
      trap(cat(names.at(rule.variable.get()), " < 0"), cat("fit no extent ", show(rule.variable)));
    }
  }
  for (size_t i = 0; i < extents.size(); ++i) {
    if (read.contains(i)) continue;
    const std::string wanted = print_extent(extents[i], [&](kernel::Expr v) { return names.at(v.get()); });
    trap(cat(places[i], " != ", wanted), cat("do not have the extent ", show(extents[i])));
  }
}

// Of what the kernel makes: its outputs, which have none if they are the fields of a value, then
// its temporaries.
size_t first_with_place(const kernel::Kernel& k) { return k.outputs.size() == 1 ? 0 : k.outputs.size(); }

}  // namespace

KernelCalls::KernelCalls(const Program& program, DeviceLibrary& device_library)
    : p_(program), device_library_(device_library) {
  for (const kernel::Kernel* k : p_.kernels) {
    if (!k->batched.empty()) deferrable_.insert(k), deferrable_.insert(p_.module.kernel(k->batched.text()));
  }
}

std::string KernelCalls::print() {
  for (const kernel::Kernel* k : p_.kernels) {
    if (k->batched.empty()) kernel(*k);
  }
  for (const kernel::Kernel* k : p_.kernels) {
    if (!k->batched.empty()) batched(*k, *p_.module.kernel(k->batched.text()));
  }
  return std::move(text_);
}

// Makes what the kernel writes and runs it. Its shape variables are worked out from the extents
// of the arguments.
void KernelCalls::kernel(const kernel::Kernel& k) {
  std::vector<std::string> parameters{"Run& run"}, places, values;
  std::vector<kernel::Expr> extents;
  for (size_t i = 0; i < k.inputs.size(); ++i) {
    values.push_back(cat("x", i));
    parameters.push_back("const Value& " + values.back());
    for (size_t d = 0; d < k.inputs[i]->shape.size(); ++d) {
      extents.push_back(k.inputs[i]->shape[d]);
      places.push_back(cat("extent(x", i, ", ", d, ")"));
    }
  }
  const size_t made_count = k.outputs.size() + k.temporaries.size();
  const size_t first_place = placed_.contains(&k) ? first_with_place(k) : made_count;
  for (size_t i = first_place; i < made_count; ++i)
    parameters.push_back(cat("const Place& place", i, " = {}"));
  std::string out = cat("Value call_", device_library_.name(k), "(", join(parameters, ", "), ") {\n");
  if (!deferrable_.contains(&k)) out += flush("  ");
  Extents names;
  const auto print = [&](kernel::Expr e) {
    return print_extent(e, [&](kernel::Expr v) { return names.at(v.get()); });
  };
  const auto name_extent = [&](kernel::Expr variable) {
    return names[variable.get()] = cat("n", names.size());
  };
  for (const kernel::ExtentRule& rule : kernel::extent_rules(extents)) {
    std::string value = places[rule.extent];
    if (!is_zero(rule.rest)) value = cat("difference_of(", value, ", ", print(rule.rest), ")");
    if (rule.coefficient != 1) value += cat(" / ", rule.coefficient);
    out += cat("  [[maybe_unused]] const int64_t ", name_extent(rule.variable), " = ", value, ";\n");
  }
  if (p_.compared.contains(&k)) compare_extents(k, extents, places, names, out);
  for (const kernel::ReadExtent& r : k.read_extents) {
    const std::string n = name_extent(r.variable);
    out += device_library_.read(n, cat("x", r.input), r.element);
    out += cat("  if (", n, " < 0) return run.trap(", c_string(kernel::no_such_extent(k, r)), ");\n");
  }
  size_t made = 0;
  for (const auto* list : {&k.outputs, &k.temporaries}) {
    for (const kernel::Buffer* b : *list) {
      const std::string place = made >= first_place ? cat(", place", made) : "";
      const std::string y = cat("y", made++);
      std::vector<std::string> shape;
      // Strides are a temporary's own affair, and part of the memory that it takes.
      for (kernel::Expr e : kernel::memory_shape(*b)) shape.push_back(print(e));
      out += print_tensor("  ", y, shape, cat("make_tensor(run, ", b->dtype.bytes(), ", "), place + ")");
      values.push_back(y);
    }
  }
  std::vector<std::string> shape_parameters;
  for (kernel::Expr e : kernel::shape_parameters(k)) shape_parameters.push_back(print(e));
  out += device_library_.run(k, values, shape_parameters);
  if (k.outputs.size() == 1) {
    out += "  return y0;\n}\n";
  } else {
    std::vector<std::string> results{"run", "0"};
    for (size_t i = 0; i < k.outputs.size(); ++i) results.push_back(cat("y", i));
    out += cat("  return make_node(", join(results, ", "), ");\n}\n");
  }
  text_ += out;
}

std::string KernelCalls::flush(const std::string& indent) const {
  return deferrable_.empty() ? "" : cat(indent, "if (!flush(run)) return {};\n");
}

// What a deferred call of the kernel needs.
void KernelCalls::batched(const kernel::Kernel& one, const kernel::Kernel& many) {
  const std::string name = device_library_.name(one);
  std::vector<std::string> inputs, outputs, arguments{"run"}, values;
  const auto bytes = [](const kernel::Buffer& b) {
    return static_cast<size_t>(*kernel::memory_extent(b)) * b.dtype.bytes();
  };
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    inputs.push_back(
        cat("{", bytes(*one.inputs[i]), ", ", kernel::varies(one, many, i) ? "true" : "false", "}"));
    arguments.push_back(cat("x[", i, "]"));
  }
  const bool shares = kernel::share_weights(one, many);
  values.insert(values.end(), arguments.begin() + 1, arguments.end());
  for (size_t i = 0; i < one.outputs.size(); ++i) values.push_back(cat("y[", i, "]"));
  std::string body;
  for (size_t i = 0; i < one.temporaries.size(); ++i) {
    const kernel::Buffer& b = *one.temporaries[i];
    values.push_back(cat("t", i));
    std::vector<std::string> extents;
    for (kernel::Expr e : kernel::memory_shape(b)) extents.push_back(show(e));
    body += print_tensor("  ", values.back(), extents, cat("make_tensor(run, ", b.dtype.bytes(), ", "), ")");
  }
  text_ += cat("Value one_", name, "(Run& run, const Value* x, const Value* y) {\n", body,
               device_library_.run(one, values, {}), "  return y[0];\n}\n");
  text_ += cat("Value many_", name, "(Run& run, const Value* x) {\n  return call_",
               device_library_.name(many), "(", join(arguments, ", "), ");\n}\n");
  for (const kernel::Buffer* b : one.outputs) {
    std::string extents = "nullptr";
    if (!b->shape.empty()) {
      extents = cat(name, "_output_", outputs.size(), "_extents");
      text_ += cat("const int64_t ", extents, "[] = {",
                   join(b->shape, ", ", [](kernel::Expr e) { return show(e); }), "};\n");
    }
    outputs.push_back(cat("{", b->dtype.bytes(), ", ", bytes(*b), ", ", b->shape.size(), ", ", extents, "}"));
  }
  text_ +=
      cat("const Batched::Input ", name, "_inputs[] = {", join(inputs, ", "), "};\n",
          "const Batched::Output ", name, "_outputs[] = {", join(outputs, ", "), "};\n", "const Batched ",
          name, "_calls = {", shares ? "true" : "false", ", ", inputs.size(), ", ", outputs.size(), ", ",
          name, "_inputs, ", name, "_outputs, one_", name, ", many_", name, "};\n");
}

std::string KernelCalls::call(const kernel::Kernel& k, std::vector<std::string> args,
                              std::vector<std::string> places) {
  const std::string name = device_library_.name(k);
  while (!places.empty() && places.back().empty()) places.pop_back();
  if (!places.empty()) placed_.insert(&k);
  for (const std::string& p : places) args.push_back(p.empty() ? "Place()" : p);
  if (!k.batched.empty()) args.insert(args.begin(), name + "_calls");
  args.insert(args.begin(), "run");
  return cat(k.batched.empty() ? "call_" + name : "defer", "(", join(args, ", "), ")");
}

std::string print_tensor(const std::string& indent, const std::string& name,
                         const std::vector<std::string>& extents, const std::string& before,
                         const std::string& after) {
  std::string out;
  std::string list = "nullptr";
  if (!extents.empty()) {
    list = name + "_extents";
    out = cat(indent, "const int64_t ", list, "[] = {", join(extents, ", "), "};\n");
  }
  return out + cat(indent, "Value ", name, " = ", before, extents.size(), ", ", list, after, ";\n", indent,
                   "if (!", name, ") return {};\n");
}

}  // namespace relay::aot
