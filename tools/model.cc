#include "tools/model.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/cat.h"
#include "base/failure.h"
#include "base/file.h"
#include "frontend/data/inputs.h"
#include "frontend/data/safetensors.h"
#include "frontend/onnx/import.h"
#include "interp/machine.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/map_types.h"
#include "tools/tolerance.h"
#include "typecheck/check.h"

namespace relay::tools {
namespace {

constexpr uint64_t kMostTextBytes = uint64_t{1} << 30;

// "x:[1,3,-1]" or "x:1x3xbatch": the name, then extents; -1, ? and names are dynamic.
bool parse_input_shape(const std::string& text, std::map<std::string, std::vector<frontend::InputDim>>& out) {
  // Names of inputs may hold colons themselves: the last one counts.
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  std::string dims = text.substr(colon + 1);
  const bool brackets = dims.size() >= 2 && dims.front() == '[' && dims.back() == ']';
  if (brackets) dims = dims.substr(1, dims.size() - 2);
  const char separator = brackets || dims.find(',') != std::string::npos ? ',' : 'x';
  std::vector<frontend::InputDim> shape;
  for (size_t begin = 0; begin <= dims.size() && !dims.empty();) {
    size_t end = dims.find(separator, begin);
    if (end == std::string::npos) end = dims.size();
    std::string dim = dims.substr(begin, end - begin);
    std::erase(dim, ' ');
    begin = end + 1;
    if (dim.empty()) return false;
    frontend::InputDim d;
    char* stop = nullptr;
    const long long value = std::strtoll(dim.c_str(), &stop, 10);
    if (*stop == '\0') {
      if (value < -1) return false;
      d.extent = value;
    } else if (dim != "?") {
      d.name = dim;
    }
    shape.push_back(d);
  }
  out[text.substr(0, colon)] = std::move(shape);
  return true;
}

int exit_code_of(const Diagnostics& diagnostics) {
  switch (frontend::import_failure(diagnostics)) {
    case frontend::ImportFailure::kUnreadable: return kUsage;
    case frontend::ImportFailure::kUnsupported: return kUnsupported;
    case frontend::ImportFailure::kLimit: return kLimit;
    case frontend::ImportFailure::kBadModel: break;
  }
  return kBadModel;
}

Result<Module> read_text(const std::string& path, Session& session) {
  std::string text;
  if (std::string wrong = read_file(path, kMostTextBytes, text); !wrong.empty()) {
    session.fail(kUsage, wrong);
    return kReported;
  }
  Diagnostics diagnostics;
  ParseOptions options;
  // Large constants stand in a file beside the text.
  const std::string side = std::filesystem::path(path).replace_extension(".safetensors").string();
  std::map<std::string, Tensor> constants;
  if (std::filesystem::exists(side)) {
    Result<data::Safetensors> read = data::map_safetensors(side, {}, diagnostics);
    if (!read) {
      session.fail(kBadModel, diagnostics, options.into.context().sources());
      return kReported;
    }
    for (data::NamedTensor& t : read->tensors) constants.emplace(t.name, t.value);
  }
  options.constants = [&](std::string_view name) -> std::optional<Tensor> {
    auto it = constants.find(std::string(name));
    return it == constants.end() ? std::nullopt : std::optional(it->second);
  };
  Result<Module> m = parse(path, text, diagnostics, op::operators(), options);
  if (!diagnostics.all().empty())
    session.fail(m ? session.exit_code : kBadModel, diagnostics, options.into.context().sources());
  return m;
}

Result<Module> read_onnx(const ModelOptions& options, Session& session) {
  frontend::ImportOptions import;
  for (const std::string& text : options.input_shapes) {
    if (parse_input_shape(text, import.input_shapes)) continue;
    session.fail(kUsage, cat("--input-shapes ", text, ": expected NAME:[1,3,224,224] or NAME:1x3x224x224"));
    return kReported;
  }
  Diagnostics diagnostics;
  const Module empty;
  Result<Module> m = frontend::import_onnx(options.path, empty, import, diagnostics);
  if (!diagnostics.all().empty()) {
    session.fail(m ? session.exit_code : exit_code_of(diagnostics), diagnostics, empty.context().sources());
  }
  return m;
}

bool is_onnx(const std::string& path) { return path.ends_with(".onnx"); }

std::vector<std::string> names_of(const Fn& fn, std::string_view attribute) {
  std::vector<std::string> names;
  const AttrValue* list = fn.attrs.find(attribute);
  if (list && list->kind == AttrKind::kList) {
    for (const AttrValue& v : list->list) names.push_back(v.string.str());
  }
  return names;
}

// splitmix64: http://xoshiro.di.unimi.it/splitmix64.c; the same numbers everywhere.
uint64_t next_random(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void fill(Tensor& t, const std::string& how, uint64_t& state) {
  for (int64_t i = 0; i < t.size(); ++i) {
    if (how == "zeros") continue;
    if (how == "ones") {
      t.set_int(i, 1);
    } else if (how == "range") {
      t.set_int(i, i);
    } else if (t.dtype().is_float()) {
      t.set(i, static_cast<double>(next_random(state) >> 11) * 0x1p-52 - 1);  // [-1, 1)
    } else {
      t.set_int(i, static_cast<int64_t>(next_random(state) &
                                        (t.dtype().is_bool() ? 1 : 3)));  // small: often an index
    }
  }
}

}  // namespace

void add_model_options(CLI::App& sub, ModelOptions& options) {
  sub.add_option("model", options.path, "a model: .onnx or .relay")->required();
  sub.add_option("--input-shapes", options.input_shapes,
                 "NAME:[1,3,224,224] or NAME:1x3x224x224; -1, ? and names are dynamic");
  sub.add_option("--function", options.function, "the function to run")->capture_default_str();
}

void add_input_options(CLI::App& sub, InputOptions& options) {
  sub.add_option("-i,--inputs", options.inputs,
                 "x.npz, x.npy, x.safetensors, a folder of NAME.npy, or test_data_set_0/");
  sub.add_option("--fill", options.fill, "without --inputs: random, zeros, ones, range or seed:N")
      ->capture_default_str();
}

void add_target_options(CLI::App& sub, TargetOptions& options) {
  sub.add_option("--engine", options.engine, "interp, graph or aot-cpp")->capture_default_str();
  sub.add_option("--target", options.target, "processor features: native, cpu:sse2, cpu:avx2, cpu:avx512")
      ->capture_default_str();
  sub.add_option("-O,--opt-level", options.opt_level, "0: as written, 1, 2, 3")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  sub.add_option("--threads", options.threads, "threads of a run")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

Result<Module> read_module(const ModelOptions& options, Session& session) {
  if (is_onnx(options.path)) return read_onnx(options, session);
  if (!options.path.ends_with(".relay")) {
    session.fail(kUsage, cat(options.path, ": a model is a .onnx or a .relay file"));
    return kReported;
  }
  return read_text(options.path, session);
}

Result<Model> load_model(const ModelOptions& options, Session& session) {
  Result<Module> m = read_module(options, session);
  if (!m) return kReported;
  Diagnostics diagnostics;
  Result<Module> checked = typecheck::check(*m, diagnostics);
  if (!diagnostics.all().empty())
    session.fail(checked ? session.exit_code : kBadModel, diagnostics, m->context().sources());
  if (!checked) return kReported;
  Model model{*checked, options.function, {}, {}, is_onnx(options.path)};
  const Fn* fn = checked->function(options.function);
  if (!fn) {
    session.fail(kUsage,
                 cat(options.path, " has no function @", options.function, "; it has ",
                     join(checked->functions(), ", ", [](const auto& f) { return "@" + f.first.str(); })));
    return kReported;
  }
  model.input_names = names_of(*fn, "input_names");
  model.output_names = names_of(*fn, "output_names");
  for (size_t i = model.input_names.size(); i < fn->params.size(); ++i)
    model.input_names.push_back(fn->params[i]->name.str());
  return model;
}

std::string save_module(const std::string& path, const std::string& head, const Module& m) {
  std::map<std::string, Tensor> constants;
  const std::string text = head + op::text_of(m, {.constants = &constants});
  if (!constants.empty()) {
    data::Safetensors side;
    for (const auto& [name, value] : constants) side.tensors.push_back({name, value});
    Diagnostics diagnostics;
    Result<std::string> bytes = data::safetensors_bytes(side, diagnostics);
    if (!bytes) return diagnostics.all().front().message();
    const std::string side_path = std::filesystem::path(path).replace_extension(".safetensors").string();
    if (std::string wrong = write_file_atomically(side_path, *bytes); !wrong.empty()) return wrong;
  }
  return write_file_atomically(path, text);
}

Result<std::vector<Value>> make_inputs(const Model& model, const InputOptions& options, Session& session) {
  const Fn& fn = model.entry();
  std::vector<Value> args;
  if (!options.inputs.empty()) {
    Diagnostics diagnostics;
    Result<data::NamedTensors> read =
        data::read_named(options.inputs, model.input_names, data::Role::kInput, {}, diagnostics);
    if (!read) {
      session.fail(kUsage, diagnostics, model.module.context().sources());
      return kReported;
    }
    std::unordered_map<const kernel::ExprNode*, int64_t> variables;
    for (size_t i = 0; i < read->size(); ++i) {
      args.push_back(Value((*read)[i].value));
      try {
        interp::check_shape(args.back(), fn.params[i]->type, variables, Span::none());
      } catch (const Trap& trap) {
        session.fail(kUsage, cat("input `", model.input_names[i], "`: ", trap.what()));
        return kReported;
      }
    }
    return args;
  }
  uint64_t state = 0;
  std::string how = options.fill;
  if (how.starts_with("seed:")) {
    char* end = nullptr;
    state = std::strtoull(how.c_str() + 5, &end, 10);
    if (how.size() == 5 || *end != '\0') {
      session.fail(kUsage, cat("--fill ", how, ": a seed is a number"));
      return kReported;
    }
    how = "random";
  }
  if (how != "random" && how != "zeros" && how != "ones" && how != "range") {
    session.fail(kUsage, cat("--fill ", how, ": expected random, zeros, ones, range or seed:N"));
    return kReported;
  }
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const auto* tensor = fn.params[i]->type->as<TensorType>();
    const auto shape = tensor ? tensor->static_shape() : std::nullopt;
    if (!shape) {
      session.fail(kUsage, cat("input `", model.input_names[i], "` has type ", show(fn.params[i]->type),
                               tensor ? ": give its extents with --input-shapes, or --inputs"
                                      : ", which cannot be filled: give --inputs"));
      return kReported;
    }
    Tensor t(tensor->dtype, *shape);
    fill(t, how, state);
    args.push_back(Value(t));
  }
  return args;
}

Result<Model> specialise(const Model& model, const std::vector<Value>& args, Session& session) {
  const Fn& fn = model.entry();
  std::unordered_map<const kernel::ExprNode*, int64_t> variables;
  for (size_t i = 0; i < args.size(); ++i)
    interp::check_shape(args[i], fn.params[i]->type, variables, Span::none());
  if (variables.empty()) return model;
  std::map<std::string, int64_t> values;
  for (const auto& [variable, value] : variables) values[variable->name.str()] = value;
  Diagnostics diagnostics;
  Result<Module> checked =
      typecheck::check(passes::bind_shape_variables(model.module, model.function, values), diagnostics);
  if (!checked) {
    session.fail(kBadModel, diagnostics, model.module.context().sources());
    return kReported;
  }
  Model out = model;
  out.module = *checked;
  return out;
}

data::NamedTensors name_outputs(const Model& model, const Value& result) {
  data::NamedTensors out;
  const std::vector<Tensor> tensors = tensors_of(result);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string other = tensors.size() == 1 ? "output" : cat("output_", i);
    out.push_back({i < model.output_names.size() ? model.output_names[i] : other, tensors[i]});
  }
  return out;
}

}  // namespace relay::tools
