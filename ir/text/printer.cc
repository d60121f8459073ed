// The text of modules: their data types, kernels and functions.
#include "ir/text/printer.h"

#include <set>

#include "base/cat.h"
#include "ir/text/library.h"
#include "ir/text/print_kernel.h"
#include "ir/text/printer_impl.h"

namespace relay {
namespace text {

void Printer::function(Symbol name, const Fn& fn) {
  begin(&fn);
  const auto start = static_cast<uint32_t>(out_.size());
  out_ += "def @" + quoted_name(name.text());
  fn_header(fn);
  out_ += " {";
  ++indent_;
  line();
  for (const Var* v : free_vars(&fn)) {
    out_ += "free_var ";
    annotated(v);
    out_ += ";";
    line();
  }
  scope(fn.body, scope_of(&fn));
  run();
  --indent_;
  line();
  out_ += "}\n";
  for (const TypeVar* v : fn.type_params) --type_params_[v->name];
  if (options_.ranges) (*options_.ranges)[&fn] = {1, start, static_cast<uint32_t>(out_.size() - 1)};
}

void Printer::data_type(const DataTypeDef& def) {
  for (const TypeVar* v : def.params) ++type_params_[v->name];
  out_ += cat(def.is_extern ? "extern type " : "type ", quoted_word(def.name.text()));
  if (!def.params.empty()) {
    out_ +=
        cat("[", join(def.params, ", ", [](const TypeVar* v) { return quoted_word(v->name.text()); }), "]");
  }
  if (!def.is_extern) {
    out_ += " {\n";
    for (const Constructor* c : def.ctors) {
      out_ += "  " + ctor_name(*c);
      if (!c->fields.empty()) {
        out_ += "(";
        for (size_t i = 0; i < c->fields.size(); ++i) {
          if (i > 0) out_ += ", ";
          type(c->fields[i]);
        }
        out_ += ")";
      }
      out_ += ",\n";
    }
    out_ += "}";
  }
  out_ += "\n";
  for (const TypeVar* v : def.params) --type_params_[v->name];
}

std::string Printer::module() {
  if (options_.header) out_ += "#[version = \"0.0.5\"]\n";
  bool first = true;
  const auto separate = [&] {
    if (!first) out_ += "\n";
    first = false;
  };
  // The library to import a definition from; empty: it is printed.
  const auto library = [&](Span span) {
    return options_.imports ? library_of(module_->context().sources(), span) : std::string_view();
  };
  std::set<std::string_view> libraries;
  for (const auto& [name, def] : module_->data_types()) libraries.insert(library(def->span));
  for (const auto& [name, fn] : module_->functions()) libraries.insert(library(fn->span));
  libraries.erase(std::string_view());
  if (!libraries.empty()) separate();
  for (std::string_view name : libraries) out_ += cat("import ", quoted_string(name), "\n");
  for (const auto& [name, def] : module_->data_types()) {
    if (!library(def->span).empty()) continue;
    separate();
    data_type(*def);
  }
  for (const auto& [name, kernel] : module_->kernels()) {
    separate();
    out_ += print_kernel(name.text(), *kernel);
  }
  for (const auto& [name, fn] : module_->functions()) {
    if (!library(fn->span).empty()) continue;
    separate();
    function(name, *fn);
  }
  return std::move(out_);
}

}  // namespace text

std::string print(const Module& m, const PrintOptions& options) {
  return text::Printer(options, &m).module();
}
std::string print(Expr e, const PrintOptions& options) {
  return text::Printer(options, nullptr).expression(e);
}

}  // namespace relay
