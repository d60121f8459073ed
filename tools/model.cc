#include "tools/model.h"

#include <map>
#include <optional>

#include "base/cat.h"
#include "base/file.h"
#include "driver/engines.h"
#include "driver/input_shapes.h"
#include "driver/input_values.h"
#include "frontend/data/safetensors.h"
#include "op/operators.h"
#include "tools/chosen_extents.h"
#include "tools/input_shape_text.h"
#include "tools/model_folder.h"
#include "tools/options/options.h"
#include "tools/options/values.h"
#include "tools/remedy.h"
#include "tools/targets.h"
#include "typecheck/check.h"

namespace relay::tools {
namespace {

Result<driver::InputShapes> input_shapes(const ModelOptions& options, Session& session) {
  driver::InputShapes shapes;
  for (const std::string& text : options.input_shapes) {
    if (parse_input_shape(text, shapes)) continue;
    session.fail(kUsage, cat("--input-shapes ", text,
                             ": expected NAME:[1,3,224,224] or NAME:1x3x224x224, once for each input"));
    return kReported;
  }
  return shapes;
}

Result<driver::InputValues> input_values(const ModelOptions& options, std::vector<std::string>& files,
                                         Session& session) {
  driver::InputValues values;
  for (const std::string& text : options.fixed_inputs) {
    if (driver::parse_input_value(text, values)) continue;
    session.fail(kUsage, cat("--fix-input ", text,
                             ": expected NAME=VALUE, once for each input; a value is a number such as 16000, "
                             "true, false, a list of them: [1,2,3], or a file that holds the tensor: w.npy"));
    return kReported;
  }
  Diagnostics diagnostics;
  if (!driver::read_value_files(values, files, diagnostics)) {
    session.fail(diagnostics, {}, kUsage);
    return kReported;
  }
  return values;
}

}  // namespace

void add_known_input_options(Command sub, ModelOptions& options) {
  // One a time: a list would swallow the model that comes after it.
  sub.option("--input-shapes", &options.input_shapes,
             "NAME:[1,3,224,224] or NAME:1x3x224x224; -1, ? and names are dynamic; may be repeated")
      .one_at_a_time();
  sub.option("--fix-input", &options.fixed_inputs,
             "NAME=16000, NAME=[1,2,3] or NAME=x.npy, x.npz, ...: the input is this constant, and no "
             "input any more; may "
             "be repeated")
      .one_at_a_time();
}

void add_model_options(Command sub, ModelOptions& options, bool takes_artifacts) {
  sub.option("model", &options.path,
             takes_artifacts
                 ? "a model: .onnx, .relay, a folder with model.onnx, or a graph: its folder or .json; or "
                   "what it was compiled to: .so, which is run"
                 : "a model: .onnx, .relay, a folder with model.onnx, or a graph: its folder or .json")
      .required()
      .check({find_in_folder});
  add_known_input_options(sub, options);
  sub.option("--function", &options.function, "the function to run").shows_default();
}

void add_library_option(Command sub, ModelOptions& options) {
  options.runs = true;
  sub.option("--library", &options.libraries,
             "a shared library with C functions that the program's external kernels name; may be repeated")
      .one_at_a_time();
}

void add_input_options(Command sub, InputOptions& options) {
  sub.option("-i,--inputs", &options.inputs,
             "x.npz, x.npy, x.safetensors, x.params, a folder of NAME.npy, or test_data_set_0/");
  sub.option("--fill", &options.fill, "without --inputs: random, zeros, ones, range or seed:N")
      .shows_default();
}

void add_target_option(Command sub, std::string& target) {
  sub.option("--target", &target,
             "what the code is for: native, sse2, avx2, avx512, avx512-vnni, avx512-bf16; on an ARM machine "
             "aarch64; or a GPU: cuda:sm_90 and the like")
      .check({wrong_target_here})
      .kind("TARGET")
      .shows_default();
}

Option add_denormals_option(Command sub, std::string& denormals) {
  return sub
      .option("--denormals", &denormals,
              "numbers too small for a normal one, in compiled code: flush takes them for 0, which is fast; "
              "keep computes with them, as the interpreter does")
      .check(one_of("way", {"flush", "keep"}))
      .kind("flush|keep")
      .shows_default();
}

Denormals denormals_of(const std::string& text) {
  return text == "keep" ? Denormals::kKeep : Denormals::kFlush;
}

Option add_opt_level_option(Command sub, int& level) {
  return sub
      .option("-O,--opt-level", &level,
              "0: each operator a kernel, as written; 1: simplified and fused; 2: laid out for the processor "
              "too; 3: recursion over what is known is unrolled, and rules apply that round in another way")
      .check(count(0, 3));
}

void add_target_options(Command sub, TargetOptions& options) {
  sub.option("--engine", &options.engine, "interp, jit, graph, aot-cpp, aot-cuda or vta")
      .check({driver::wrong_engine})
      .kind("ENGINE")
      .shows_default();
  add_target_option(sub, options.target);
  add_opt_level_option(sub, options.opt_level).shows_default();
  sub.option("--threads", &options.threads, "threads of a run").check(count(1, 1024)).shows_default();
  add_denormals_option(sub, options.denormals);
}

std::optional<driver::LoadOptions> load_options(const ModelOptions& o, Session& session) {
  driver::LoadOptions out{.function = o.function,
                          .may_lack_function = o.may_lack_function,
                          .examples = o.examples,
                          .runs = o.runs,
                          .libraries = o.libraries};
  Result<driver::InputValues> values = input_values(o, out.files, session);
  Result<driver::InputShapes> shapes = values ? input_shapes(o, session) : kReported;
  if (!shapes) return std::nullopt;
  out.known = {std::move(*shapes), std::move(*values)};
  return out;
}

namespace {

// Is an ONNX model read, and does it type-check, when this is known of its inputs?
bool reads(const ModelOptions& options, driver::LoadOptions load, const driver::KnownInputs& tried) {
  load.known = tried;
  load.into = Module();
  load.on_refusal = {};
  Diagnostics ignored;
  const Result<driver::Reading> read = driver::read(options.path, load, ignored);
  return read && typecheck::check(read->module, ignored);
}

// The command with which an ONNX model is read that was refused for want of what is
// known of its inputs.
void suggest_known_inputs(const ModelOptions& options, const driver::LoadOptions& load,
                          const frontend::Interface& interface, Session& session) {
  const auto lifts = [&](const driver::KnownInputs& tried) {
    Progress progress(session, "reading");
    progress.step(cat(options.path, " with other inputs known"));
    return reads(options, load, tried);
  };
  if (const auto remedy = find_remedy(interface.inputs, load.known, lifts))
    session.remedy(
        "the model is read when this is known of its inputs, with your numbers in the place of these:",
        command_with(session.arguments, *remedy));
}

// Loads with `load(options, diagnostics)`, and reports what it says.
template <class Loaded, class Load>
Result<Loaded> loaded_by(const ModelOptions& options, Session& session, const Load& load) {
  std::optional<driver::LoadOptions> known = load_options(options, session);
  if (!known) return kReported;
  std::optional<frontend::Interface> refused;
  known->on_refusal = [&](const frontend::Interface& i) { refused = i; };
  Diagnostics diagnostics;
  const auto read = [&] {
    Progress progress(session, "reading");
    progress.step(options.path);
    return load(*known, diagnostics);
  };
  Result<Loaded> out = read();
  if (refused && options.chooses_extents && diagnostics.fault() == Fault::kUnsupported) {
    const auto lifts = [&](const driver::KnownInputs& tried) {
      Progress progress(session, "reading");
      progress.step(cat(options.path, " with other inputs known"));
      return reads(options, *known, tried);
    };
    if (const auto chosen = choose_known(refused->inputs, known->known, lifts, session)) {
      known->known = *chosen;
      known->into = Module();
      refused.reset();
      diagnostics = {};
      out = read();
    }
  }
  session.fail(diagnostics, known->into.context().sources());
  if (!refused) return out;
  if (options.on_refusal) options.on_refusal(*refused);
  if (diagnostics.fault() == Fault::kUnsupported) suggest_known_inputs(options, *known, *refused, session);
  return out;
}

}  // namespace

Result<Module> read_module(const ModelOptions& options, Session& session) {
  const Result<driver::Reading> read = loaded_by<driver::Reading>(
      options, session,
      [&](const driver::LoadOptions& o, Diagnostics& d) { return driver::read(options.path, o, d); });
  if (!read) return kReported;
  return read->module;
}

Result<driver::Model> load_model(const ModelOptions& options, Session& session) {
  Result<driver::Model> model = loaded_by<driver::Model>(
      options, session,
      [&](const driver::LoadOptions& o, Diagnostics& d) { return driver::load(options.path, o, d); });
  if (model && !model->took_extents_of.empty())
    session.say(cat("relay: ", options.path, " is read with the extents of its inputs in ",
                    model->took_extents_of, "\n"));
  return model;
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
  frontend::data::Safetensors side;
  for (const auto& [name, value] : constants) side.tensors.push_back({name, value});
  Diagnostics diagnostics;
  const Result<frontend::data::SafetensorsFile> weights = frontend::data::safetensors_file(side, diagnostics);
  if (!weights) return diagnostics.all().front().message();
  const FileContents files[] = {{driver::side_file(path), weights->pieces()}, {path, text}};
  return write_files_atomically(files);
}

}  // namespace relay::tools
