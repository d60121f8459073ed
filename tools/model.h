// Models and tensors, as the command line names them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/model.h"
#include "frontend/data/named_tensors.h"
#include "frontend/onnx/interface.h"
#include "ir/module.h"
#include "ir/text/printer.h"
#include "runtime/denormals.h"
#include "runtime/value.h"
#include "tools/options/options.h"
#include "tools/session.h"

namespace relay::tools {

// --- models --------------------------------------------------------------------------------------

struct ModelOptions {
  std::string path;                       // .onnx, .relay, or a graph: its folder or .json
  std::vector<std::string> input_shapes;  // "x:[1,3,224,224]" or "x:1x3x224x224"; -1, ? and names are dynamic
  std::vector<std::string> fixed_inputs;  // "sr=16000" or "w=[1,2,3]": constants, and no inputs any more
  std::string function = "main";
  bool may_lack_function = false;      // as in driver::LoadOptions
  bool runs = false;                   // its external kernels need their functions
  std::vector<std::string> libraries;  // that have them
  std::string examples = {};           // tensors of --inputs: their extents are those of the inputs
  bool keeps_open = false;             // the extents of examples are for a model that is refused without
  bool chooses_extents = false;        // small ones, for a model that is refused without
  // Is told what an ONNX model that is refused says of itself.
  std::function<void(const frontend::Interface&)> on_refusal = {};
};
// `takes_artifacts`: the command runs compiled models too (tools/artifact_model.h).
void add_model_options(Command sub, ModelOptions& options, bool takes_artifacts = false);
// --library, for commands that run models.
void add_library_option(Command sub, ModelOptions& options);
// --input-shapes and --fix-input: what is known of the inputs.
void add_known_input_options(Command sub, ModelOptions& options);

// What the options say, read. Reports to standard error and sets the exit code where that fails.
std::optional<driver::LoadOptions> load_options(const ModelOptions& options, Session& session);
// The model with the extents of the tensors in options.examples, if there are some and unless it
// can keep what it leaves open.
Result<driver::Model> load_specialised(const ModelOptions& options, Session& session);
// Reports to standard error and sets the exit code where it fails.
Result<driver::Model> load_model(const ModelOptions& options, Session& session);
// The module before the type check: for fmt.
Result<Module> read_module(const ModelOptions& options, Session& session);

// For people: large constants are named only, and that is said.
void print_module(const Module& m, const Session& session);
// Writes the module's text and, if it has large constants, its side file. Returns what is wrong,
// or an empty text.
std::string save_module(const std::string& path, const std::string& head, const Module& m,
                        PrintOptions options = {});

// --- inputs and outputs --------------------------------------------------------------------------

struct InputOptions {
  std::string inputs;           // x.npz, a folder of .npy, test_data_set_0/, ...
  std::string fill = "random";  // random, zeros, ones, range, seed:N
  bool chooses_extents = true;  // of inputs that are made up, where nobody gave any
};
// The options of a model that is to run on these inputs.
ModelOptions with_examples(ModelOptions model, const InputOptions& inputs);
void add_input_options(Command sub, InputOptions& options);

// Arguments for the model's parameters, from the file or filled. Extents that no file and no option
// gives are chosen, which is said.
Result<std::vector<Value>> make_inputs(const driver::Model& model, const InputOptions& options,
                                       Session& session);

// driver::specialise, which reports to standard error.
Result<driver::Model> specialise(const driver::Model& model, const std::vector<Value>& args,
                                 Session& session);

// Prints the command with extents for the inputs that lack some, as an example.
void suggest_shapes(const driver::Model& model, const Session& session);

// --- engines -------------------------------------------------------------------------------------

struct TargetOptions {
  std::string engine = "interp";
  std::string target = "native";
  int opt_level = 2;
  int threads = 1;
  std::string denormals = "flush";
};
void add_target_options(Command sub, TargetOptions& options);
void add_target_option(Command sub, std::string& target);
// --denormals, which says what compiled code does with them.
Option add_denormals_option(Command sub, std::string& denormals);
Denormals denormals_of(const std::string& text);
// -O, with what the levels mean.
Option add_opt_level_option(Command sub, int& level);

}  // namespace relay::tools
