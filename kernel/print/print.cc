#include "kernel/print/print.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"
#include "base/escape.h"
#include "kernel/codegen/working_copy.h"
#include "kernel/external.h"
#include "kernel/print/expressions.h"
#include "kernel/print/statements.h"
#include "kernel/statements.h"

namespace relay::kernel::print {
namespace {

constexpr size_t kLongestTitle = 200;  // of a kernel: fused operators have long ones

std::string function_name(const Kernel& k, const PrintOptions& options) {
  return options.function.empty() ? c_identifier(k.name.text()) : options.function;
}

// Names the parameters and says where their elements are.
std::vector<Parameter> parameters(const Kernel& k, Context& context, const PrintOptions& options) {
  std::vector<Parameter> out;
  const auto array = [&](const Buffer* b, std::string_view access) {
    const std::string name = context.names.unique(b->name.text()),
                      type = cat(access, memory_type(b->dtype), "*");
    context.places[b] = {.name = name};
    const bool shared = options.shared.contains(out.size());
    out.push_back({cat(type, " ", shared ? "" : context.dialect.restricted), type, name});
  };
  for (const Buffer* b : k.inputs) array(b, "const ");
  for (const Buffer* b : k.outputs) array(b, "");
  for (const Buffer* b : k.temporaries) array(b, "");
  for (Expr v : shape_parameters(k)) {
    const std::string name = context.names.unique(v->name.text());
    context.variables[v.get()] = name;
    out.push_back({"int64_t ", "int64_t", name});
  }
  return out;
}

std::string head(const std::string& function, const std::vector<Parameter>& parameters,
                 const Dialect& dialect, const PrintOptions& options) {
  std::string out =
      cat(options.is_static ? "static " : "", dialect.function, dialect.result, " ", function, "(");
  if (dialect.parallel) out += "const relay_parallel* parallel";
  for (const Parameter& p : parameters) out += cat(out.back() == '(' ? "" : ", ", p.declared, p.name);
  if (dialect.has_grid()) out += cat(out.back() == '(' ? "" : ", ", "int32_t* failure");
  return out + ")";
}

std::string one_function(const std::string& function, const std::vector<Parameter>& parameters,
                         const Context& context, const PrintOptions& options, const std::string& body,
                         std::string_view result = "0") {
  Writer out;
  out.open(head(function, parameters, context.dialect, options), " {");
  std::vector<std::string> names;
  if (context.dialect.parallel) names.push_back("parallel");
  if (context.dialect.has_grid()) names.push_back("failure");
  for (const Parameter& p : parameters) names.push_back(p.name);
  for (const std::string& name : names) {
    if (!has_word(body, name) && !has_word(result, name)) out.line("(void)", name, ";");
  }
  out.raw(body);
  if (!context.dialect.has_grid()) out.line("return ", result, ";");
  out.close();
  return out.text();
}

// int32_t scale(const relay_parallel* parallel, const float* x, float* y, int64_t n) {
//   return relay_external_c_name(x, y, n);
// }
// By that name nothing of C, C++ or ours can be meant; the linker looks for the other one.
std::string external_call(const Kernel& k, const std::string& function,
                          const std::vector<Parameter>& parameters, Context& context,
                          const PrintOptions& options) {
  CHECK(wrong_symbol(k.external->symbol.text()).empty(), "a C function's name was not validated");
  const std::string callee = cat("relay_external_", k.external->symbol.text());
  const size_t pointers = k.inputs.size() + k.outputs.size();
  std::vector<std::string> types, args;
  for (size_t i = 0; i < pointers; ++i) {
    types.push_back(parameters[i].type);
    args.push_back(parameters[i].name);
  }
  Expressions extents(context, {k.external->extents.begin(), k.external->extents.end()});
  for (Expr e : k.external->extents) {
    types.push_back("int64_t");
    args.push_back(extents.scalar(e));
  }
  const std::string result = cat(callee, "(", join(args, ", "), ")");
  return cat("extern \"C\" int32_t ", callee, "(", join(types, ", "), ") __asm__(",
             c_string(k.external->symbol.text()), ");\n",
             one_function(function, parameters, context, options, context.out.text(), result));
}

}  // namespace

Printed print(const Kernel& k, const Dialect& dialect, const PrintOptions& options) {
  Printed result;
  result.function = function_name(k, options);
  Context context{.dialect = dialect};
  const std::string_view title = (k.origin.empty() ? k.name : k.origin).text();
  result.text = line_comment("//", title.substr(0, kLongestTitle)) + "\n";
  if (k.external) {
    CHECK(!dialect.has_grid(), "C functions run on the CPU");
    const std::vector<Parameter> all = parameters(k, context, options);
    result.text += external_call(k, result.function, all, context, options);
    return result;
  }
  const auto code = std::make_shared<codegen::WorkingCopy>(k);
  const std::vector<Parameter> all = parameters(code->kernel(), context, options);
  Statements statements(context, *code, result.function, all, options);
  if (!dialect.has_grid()) {
    statements.print(code->body());
    result.text += statements.before.text();
    result.text += one_function(result.function, all, context, options, context.out.text());
  } else {
    // One launch after the other is the only order between blocks.
    std::vector<Stmt> stages{code->body()};
    if (const auto* seq = code->body()->as<Seq>()) stages.assign(seq->body.begin(), seq->body.end());
    for (size_t i = 0; i < stages.size(); ++i) {
      const std::string function = stages.size() == 1 ? result.function : cat(result.function, "_", i);
      context.out = Writer(1);
      // A launch may count on what an earlier one has asked for.
      if (statements.may_fail()) context.out.line("if (relay_failed(failure)) return;");
      statements.print(stages[i]);
      result.text += one_function(function, all, context, options, context.out.text());
      Launch launch{function, statements.launch_extents};
      for (Expr& e : launch.extents) {
        if (!e) e = code->pool().integer(1);
      }
      result.launches.push_back(std::move(launch));
    }
    result.code = code;
  }
  result.messages = code->messages();
  return result;
}

std::string declaration(const Kernel& k, const Dialect& dialect, const PrintOptions& options) {
  Context context{.dialect = dialect};
  const std::vector<Parameter> all = parameters(k, context, options);
  return head(function_name(k, options), all, dialect, options);
}

}  // namespace relay::kernel::print
