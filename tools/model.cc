#include "tools/model.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/cat.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/nearest.h"
#include "frontend/data/inputs.h"
#include "frontend/data/safetensors.h"
#include "frontend/onnx/import.h"
#include "graph_runtime/graph_import.h"
#include "interp/machine.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/map_types.h"
#include "passes/port_names.h"
#include "passes/reference.h"
#include "tools/engines.h"
#include "tools/input_shapes.h"
#include "tools/input_values.h"
#include "tools/libraries.h"
#include "tools/onnx_model.h"
#include "tools/option_values.h"
#include "tools/targets.h"
#include "typecheck/check.h"

namespace relay::tools {
namespace {

constexpr uint64_t kMostTextBytes = uint64_t{1} << 30;

Result<Module> read_text(const std::string& path, Files& files, Session& session) {
  std::string text;
  std::error_code unknown;
  const uintmax_t size = std::filesystem::file_size(path, unknown);
  if (std::string wrong = read_file(path, kMostTextBytes, text); !wrong.empty()) {
    session.fail(!unknown && size > kMostTextBytes ? kLimit : kUsage, wrong);
    return kReported;
  }
  files.push_back(path);
  Diagnostics diagnostics;
  ParseOptions options;
  // Large constants stand in a file beside the text.
  const std::string side = side_file(path);
  std::map<std::string, Tensor> constants;
  if (std::filesystem::exists(side)) {
    Result<data::Safetensors> read = data::map_safetensors(side, {}, diagnostics);
    if (!read) {
      session.fail(diagnostics, options.into.context().sources());
      return kReported;
    }
    for (data::NamedTensor& t : read->tensors) constants.emplace(t.name, t.value);
  }
  bool takes_from_side = false;  // a file of that name may be there for another reason
  options.constants = [&](std::string_view name) -> std::optional<Tensor> {
    auto it = constants.find(std::string(name));
    if (it == constants.end()) return std::nullopt;
    takes_from_side = true;
    return it->second;
  };
  Result<Module> m = parse(path, text, diagnostics, op::operators(), options);
  if (takes_from_side) files.push_back(side);
  session.fail(diagnostics, options.into.context().sources());
  return m;
}

Result<Module> read_graph(const std::string& path, const InputShapes& shapes, Files& files,
                          Session& session) {
  graph_runtime::GraphImportOptions import;
  for (const auto& [name, dims] : shapes) {
    for (const frontend::InputDim& d : dims) {
      if (d.extent < 0) {
        session.fail(kUsage, cat("--input-shapes ", name, ": the extents of a graph's inputs are numbers"));
        return kReported;
      }
      import.input_shapes[name].push_back(d.extent);
    }
  }
  Diagnostics diagnostics;
  const Module empty;
  const Result<graph_runtime::GraphFiles> found = graph_runtime::graph_files(path, diagnostics);
  Result<Module> m = found ? graph_runtime::import_graph(*found, empty, import, diagnostics) : kReported;
  session.fail(diagnostics, empty.context().sources());
  if (!m) return kReported;
  files.push_back(found->graph);
  if (!found->params.empty()) files.push_back(found->params);
  return m;
}

Result<InputShapes> input_shapes(const ModelOptions& options, Session& session) {
  InputShapes shapes;
  for (const std::string& text : options.input_shapes) {
    if (parse_input_shape(text, shapes)) continue;
    session.fail(kUsage, cat("--input-shapes ", text,
                             ": expected NAME:[1,3,224,224] or NAME:1x3x224x224, once for each input"));
    return kReported;
  }
  return shapes;
}

Result<InputValues> input_values(const ModelOptions& options, Files& files, Session& session) {
  InputValues values;
  for (const std::string& text : options.fixed_inputs) {
    if (parse_input_value(text, values)) continue;
    session.fail(kUsage, cat("--fix-input ", text,
                             ": expected NAME=VALUE, once for each input; a value is a number such as 16000, "
                             "true, false, a list of them: [1,2,3], or a file that holds the tensor: w.npy"));
    return kReported;
  }
  Diagnostics diagnostics;
  if (!read_value_files(values, files, diagnostics)) {
    session.fail(diagnostics, {}, kUsage);
    return kReported;
  }
  return values;
}

// Shapes are given to a text when it is typed: its shape variables belong to the inputs
// of one function.
Result<Module> with_input_shapes(const Model& model, const InputShapes& shapes, Session& session) {
  Diagnostics diagnostics;
  Result<Module> bound =
      bind_input_shapes(model.module, model.function, model.input_names, shapes, diagnostics);
  Result<Module> typed = bound ? typecheck::check(*bound, diagnostics) : Result<Module>(kReported);
  if (!typed) session.fail(diagnostics, model.module.context().sources());
  return typed;
}

// The model without inputs that are constants. An importer may have used what they are before.
Result<Model> with_fixed_inputs(Model model, const InputValues& values, Session& session) {
  Diagnostics diagnostics;
  Result<FixedInputs> fixed = fix_inputs(model.module, model.function, model.all_inputs, values, diagnostics);
  Result<Module> typed = fixed ? typecheck::check(fixed->module, diagnostics) : Result<Module>(kReported);
  if (!typed) {
    session.fail(diagnostics, model.module.context().sources());
    return kReported;
  }
  model.module = *typed;
  model.fixed = std::move(fixed->values);
  model.input_names = passes::input_names(model.entry());
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

// A folder that has a model beside its inputs/ and outputs/ stands for that; a graph is
// a folder itself.
std::string find_in_folder(std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (!fs::is_directory(path, none)) return {};
  for (const char* name : {"model.onnx", "model.relay"}) {
    if (const fs::path model = fs::path(path) / name; fs::is_regular_file(model, none)) {
      path = model.string();
      break;
    }
  }
  return {};
}

bool is_onnx(const std::string& path) { return path.ends_with(".onnx"); }

}  // namespace

bool is_artifact(const std::string& path) { return path.ends_with(".so") || path.ends_with(".a"); }

bool is_graph(const std::string& path) {
  if (is_onnx(path) || path.ends_with(".relay")) return false;
  std::error_code error;
  return path.ends_with(".json") || std::filesystem::is_directory(path, error);
}

void add_known_input_options(CLI::App& sub, ModelOptions& options) {
  // One a time: a list would swallow the model that comes after it.
  sub.add_option("--input-shapes", options.input_shapes,
                 "NAME:[1,3,224,224] or NAME:1x3x224x224; -1, ? and names are dynamic; may be repeated")
      ->allow_extra_args(false);
  sub.add_option("--fix-input", options.fixed_inputs,
                 "NAME=16000, NAME=[1,2,3] or NAME=x.npy, x.npz, ...: the input is this constant, and no "
                 "input any more; may "
                 "be repeated")
      ->allow_extra_args(false);
}

void add_model_options(CLI::App& sub, ModelOptions& options, bool takes_artifacts) {
  sub.add_option(
         "model", options.path,
         takes_artifacts
             ? "a model: .onnx, .relay, a folder with model.onnx, or a graph: its folder or .json; or "
               "what it was compiled to: .so, which is run"
             : "a model: .onnx, .relay, a folder with model.onnx, or a graph: its folder or .json")
      ->required()
      ->transform(CLI::Validator(find_in_folder, ""));
  add_known_input_options(sub, options);
  sub.add_option("--function", options.function, "the function to run")->capture_default_str();
}

void add_library_option(CLI::App& sub, ModelOptions& options) {
  options.runs = true;
  sub.add_option(
         "--library", options.libraries,
         "a shared library with C functions that the program's external kernels name; may be repeated")
      ->allow_extra_args(false);
}

void add_input_options(CLI::App& sub, InputOptions& options) {
  sub.add_option("-i,--inputs", options.inputs,
                 "x.npz, x.npy, x.safetensors, x.params, a folder of NAME.npy, or test_data_set_0/");
  sub.add_option("--fill", options.fill, "without --inputs: random, zeros, ones, range or seed:N")
      ->capture_default_str();
}

void add_target_option(CLI::App& sub, std::string& target) {
  sub.add_option("--target", target,
                 "what the code is for: native, cpu:sse2, cpu:avx2, cpu:avx512, cpu:avx512-vnni, "
                 "cpu:avx512-bf16; or a GPU: "
                 "cuda:sm_90 and the like")
      ->check(wrong_target_here)
      ->type_name("TARGET")
      ->capture_default_str();
}

CLI::Option* add_opt_level_option(CLI::App& sub, int& level) {
  return sub
      .add_option(
          "-O,--opt-level", level,
          "0: each operator a kernel, as written; 1: simplified and fused; 2: laid out for the processor "
          "too; 3: the same as 2")
      ->transform(count(0, 3));
}

void add_target_options(CLI::App& sub, TargetOptions& options) {
  sub.add_option("--engine", options.engine, "interp, jit, graph, aot-cpp or aot-cuda")
      ->check(wrong_engine)
      ->type_name("ENGINE")
      ->capture_default_str();
  add_target_option(sub, options.target);
  add_opt_level_option(sub, options.opt_level)->capture_default_str();
  sub.add_option("--threads", options.threads, "threads of a run")
      ->transform(count(1, 1024))
      ->capture_default_str();
}

namespace {

Result<Module> read(const ModelOptions& options, const InputValues& values, Files& files, Session& session) {
  Result<InputShapes> shapes = input_shapes(options, session);
  if (!shapes) return kReported;
  if (is_onnx(options.path)) return read_onnx(options, {*shapes, values}, files, session);
  if (is_graph(options.path)) return read_graph(options.path, *shapes, files, session);
  if (!options.path.ends_with(".relay")) {
    session.fail(kUsage,
                 is_artifact(options.path)
                     ? cat(options.path,
                           " is compiled already: `relay run`, `relay bench` and `relay "
                           "check` take it; give this command the model it was made of")
                     : cat(options.path, ": a model is a .onnx, .relay or .json file, or a graph folder"));
    return kReported;
  }
  return read_text(options.path, files, session);
}

}  // namespace

Result<Module> read_module(const ModelOptions& options, Session& session) {
  Files files;
  Result<InputValues> values = input_values(options, files, session);
  return values ? read(options, *values, files, session) : kReported;
}

Result<Model> load_model(const ModelOptions& options, Session& session) {
  Files files;
  Result<InputValues> values = input_values(options, files, session);
  Result<Module> m = values ? read(options, *values, files, session) : kReported;
  if (!m) return kReported;
  Diagnostics diagnostics;
  Result<Module> checked = typecheck::check(*m, diagnostics);
  const Fn* fn = checked ? checked->function(options.function) : nullptr;
  if (checked && !fn) {
    const std::vector<std::string> all =
        names_of(checked->functions(), [](const auto& f) { return f.first.text(); });
    Diagnostic& d = diagnostics.error(Span::none(), "no-such-function",
                                      cat(options.path, " has no function @", options.function));
    suggest(d, options.function, all);
    d.note(all.empty() ? std::string("it has none")
                       : cat("choose another with --function; there are: ", join(all, ", ")));
  }
  session.fail(diagnostics, m->context().sources());
  if (!fn) return kReported;
  if (options.runs) {
    diagnostics = Diagnostics();
    checked = with_libraries(*checked, options.function, options.libraries, diagnostics);
    session.fail(diagnostics, m->context().sources());
    if (!checked) return kReported;
  }
  return model_of(*checked, options, *values, std::move(files), session);
}

Result<Model> model_of(const Module& checked, const ModelOptions& options, const InputValues& values,
                       std::vector<std::string> files, Session& session) {
  const Fn* fn = checked.function(options.function);
  Result<InputShapes> shapes = input_shapes(options, session);
  if (!shapes) return kReported;
  Model model{.module = checked,
              .function = options.function,
              .files = std::move(files),
              .is_onnx = is_onnx(options.path)};
  model.known = {*shapes, values};
  model.is_listed = model.is_onnx || is_graph(options.path);
  model.input_names = model.all_inputs = passes::input_names(*fn);
  model.output_names = passes::output_names(*fn, tensors_in(fn->body->type));
  if (!model.is_listed && !options.input_shapes.empty()) {
    Result<Module> bound = with_input_shapes(model, model.known.shapes, session);
    if (!bound) return kReported;
    model.module = *bound;
  }
  if (values.empty()) return model;
  return with_fixed_inputs(std::move(model), values, session);
}

std::string side_file(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".safetensors").string();
}

void print_module(const Module& m, const Session& session) {
  std::map<std::string, Tensor> constants;
  session.print(op::text_of(m, {.constants = &constants}));
  if (constants.empty()) return;
  session.say(
      cat("relay: ", constants.size(),
          " large constants are only named here; -o FILE.relay keeps them in a file beside the text\n"));
}

std::string save_module(const std::string& path, const std::string& head, const Module& m,
                        PrintOptions options) {
  std::map<std::string, Tensor> constants;
  options.constants = &constants;
  const std::string text = head + op::text_of(m, options);
  if (constants.empty() || is_stream(path)) return write_file_atomically(path, text);
  data::Safetensors side;
  for (const auto& [name, value] : constants) side.tensors.push_back({name, value});
  Diagnostics diagnostics;
  Result<std::string> bytes = data::safetensors_bytes(side, diagnostics);
  if (!bytes) return diagnostics.all().front().message();
  const FileContents files[] = {{side_file(path), *bytes}, {path, text}};
  return write_files_atomically(files);
}

}  // namespace relay::tools
