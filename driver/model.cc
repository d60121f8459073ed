#include "driver/model.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "analysis/port_names.h"
#include "base/cat.h"
#include "base/nearest.h"
#include "driver/choices.h"
#include "driver/composite_inputs.h"
#include "driver/libraries.h"
#include "interp/machine.h"
#include "passes/expand_grad.h"
#include "passes/map_types.h"
#include "passes/reference.h"
#include "typecheck/check.h"

namespace relay::driver {
namespace {

// Returns the module with extents, type checked. If only branches are wrong for these, returns
// `open`, the module without extents, with a warning: a run may not take them, and compares.
Result<Module> checked_or_open(const Module& bound, const Module& open, std::string_view function,
                               Diagnostics& diagnostics) {
  Diagnostics found;
  Result<Module> checked = typecheck::check(bound, found);
  if (!checked && may_avoid(open, function, found)) {
    const std::vector<const Diagnostic*> all = found.in_order();
    const Diagnostic& first = **std::find_if(
        all.begin(), all.end(), [](const Diagnostic* d) { return d->severity() == Severity::kError; });
    diagnostics.warning(first.span(), first.slug(), first.message())
        .note("extents stay open: what is wrong for those of the inputs fails only if a run takes it");
    return open;
  }
  diagnostics.add(found);
  return checked;
}

// Shapes are given to a text when it is typed: its shape variables belong to the inputs
// of one function.
Result<Module> with_input_shapes(const Model& model, const InputShapes& shapes, Diagnostics& diagnostics) {
  Result<Module> bound =
      bind_input_shapes(model.module, model.function, model.input_names, shapes, diagnostics);
  return bound ? checked_or_open(*bound, model.module, model.function, diagnostics)
               : Result<Module>(kReported);
}

// The model without inputs that are constants. An importer may have used what they are before.
Result<Model> with_fixed_inputs(Model model, const InputValues& values, Diagnostics& diagnostics) {
  Result<FixedInputs> fixed = fix_inputs(model.module, model.function, model.all_inputs, values, diagnostics);
  Result<Module> typed = fixed ? typecheck::check(fixed->module, diagnostics) : Result<Module>(kReported);
  if (!typed) return kReported;
  model.module = *typed;
  model.fixed = std::move(fixed->values);
  model.input_names = analysis::input_names(model.entry());
  return model;
}

// How many tensors a value of the type has, as far as the type says it; none if that is more
// than anybody names.
size_t tensors_in(Type type) {
  size_t count = 0, parts = 0;
  std::vector<Type> pending{type};
  while (!pending.empty()) {
    if (++parts > passes::kMostParts) return 0;
    const Type t = pending.back();
    pending.pop_back();
    count += t->as<TensorType>() != nullptr;
    if (const auto* tuple = t->as<TupleType>())
      pending.insert(pending.end(), tuple->fields.begin(), tuple->fields.end());
  }
  return count;
}

bool is_onnx(const std::string& path) { return path.ends_with(".onnx"); }

bool is_empty(const Module& m) {
  return m.functions().empty() && m.kernels().empty() && m.data_types().empty();
}

Reported no_such_function(const Module& m, const std::string& path, const std::string& function,
                          Diagnostics& diagnostics) {
  const std::vector<std::string> all = names_of(m.functions(), [](const auto& f) { return f.first.text(); });
  Diagnostic& d =
      diagnostics.error(Span::none(), "no-such-function", cat(path, " has no function @", function));
  suggest(d, function, all);
  d.note(all.empty() ? std::string("it has none")
                     : cat("choose another with --function; there are: ", join(all, ", ")));
  return kReported;
}

}  // namespace

bool is_artifact(const std::string& path) { return is_shared_library(path) || path.ends_with(".a"); }

bool is_graph(const std::string& path) {
  if (is_onnx(path) || path.ends_with(".relay")) return false;
  std::error_code error;
  return path.ends_with(".json") || std::filesystem::is_directory(path, error);
}

std::string side_file(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".safetensors").string();
}

Result<Model> load(const std::string& path, const LoadOptions& options, Diagnostics& diagnostics) {
  const auto begins = [&](size_t stage, std::string_view what) {
    if (options.on_stage) options.on_stage(stage, what);
  };
  begins(0, "reading");
  Result<Reading> read = driver::read(path, options, diagnostics);
  if (!read) return kReported;
  begins(1, "types");
  const Result<Module> checked = passes::checked(read->module, diagnostics);
  if (!checked) return kReported;
  begins(2, "inputs and outputs");
  std::vector<std::string> files = options.files;
  files.insert(files.end(), read->files.begin(), read->files.end());
  Result<Model> model = model_of(*checked, path, options, std::move(files), diagnostics);
  if (model && read->took_extents) model->took_extents_of = options.examples;
  return model;
}

Result<Model> model_of(const Module& checked, const std::string& path, const LoadOptions& options,
                       std::vector<std::string> files, Diagnostics& diagnostics) {
  const Fn* fn = checked.function(options.function);
  if (!fn && options.may_lack_function && !is_empty(checked))
    return Model{.module = checked, .function = "", .known = options.known, .files = std::move(files)};
  if (!fn) return no_such_function(checked, path, options.function, diagnostics);
  Result<Module> linked = options.runs
                              ? with_libraries(checked, options.function, options.libraries, diagnostics)
                              : Result<Module>(checked);
  if (!linked) return kReported;
  fn = linked->function(options.function);
  Model model{.module = *linked,
              .function = options.function,
              .known = options.known,
              .files = std::move(files),
              .is_onnx = is_onnx(path)};
  model.is_listed = model.is_onnx || is_graph(path);
  model.input_names = model.all_inputs = analysis::input_names(*fn);
  model.output_names = analysis::output_names(*fn, tensors_in(fn->body->type));
  if (!model.is_listed && !model.known.shapes.empty()) {
    Result<Module> bound = with_input_shapes(model, model.known.shapes, diagnostics);
    if (!bound) return kReported;
    model.module = *bound;
  }
  if (options.known.values.empty()) return model;
  return with_fixed_inputs(std::move(model), options.known.values, diagnostics);
}

Result<Model> specialise(const Model& model, std::span<const Value> args, Diagnostics& diagnostics) {
  const Fn& fn = model.entry();
  std::unordered_map<const kernel::ExprNode*, int64_t> variables;
  std::vector<Type> types;
  for (const Var* x : fn.params) types.push_back(x->type);
  interp::check_shapes(args, types, variables, Span::none());
  if (variables.empty()) return model;
  std::map<std::string, int64_t> values;
  for (const auto& [variable, value] : variables) values[variable->name.str()] = value;
  const Result<Module> checked =
      checked_or_open(passes::bind_shape_variables(model.module, model.function, values), model.module,
                      model.function, diagnostics);
  if (!checked) return kReported;
  Model out = model;
  out.module = *checked;
  return out;
}

frontend::data::NamedTensors name_outputs(const Model& model, const Value& result) {
  frontend::data::NamedTensors out;
  // A list has as many tensors as the run gave it, so its type does not count them.
  const Type type = model.module.function(model.function) ? model.entry().body->type : nullptr;
  const auto* tuple = type ? type->as<TupleType>() : nullptr;
  const std::span<const Type> fields =
      tuple ? std::span<const Type>(tuple->fields.begin(), tuple->fields.size())
            : std::span<const Type>(&type, type ? 1 : 0);
  if (std::any_of(fields.begin(), fields.end(), is_composite)) {
    const std::vector<std::string> names = analysis::output_names(model.entry(), fields.size());
    for (size_t i = 0; i < fields.size(); ++i)
      name_tensors(names[i], tuple ? result.fields()[i] : result, out);
    return out;
  }
  const std::vector<Tensor> tensors = passes::tensors_of(result);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool named = i < model.output_names.size();
    out.push_back({named ? model.output_names[i] : analysis::output_name(i, tensors.size()), tensors[i]});
  }
  return out;
}

}  // namespace relay::driver
