// Models: read from files with what is known of their inputs, and type checked.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "driver/input_values.h"
#include "frontend/data/named_tensors.h"
#include "frontend/onnx/interface.h"
#include "ir/module.h"
#include "runtime/value.h"

namespace relay::driver {

// A model that was read and type checked.
struct Model {
  Module module;
  std::string function = "main";  // empty: it cannot run, see LoadOptions
  std::vector<std::string> input_names = {}, output_names = {};
  // Those of inputs and of what was fixed, in the model's order.
  std::vector<std::string> all_inputs = {};
  frontend::data::NamedTensors fixed = {};
  // As it was loaded. The module is open in spite of given shapes if a way through it is wrong for
  // them.
  KnownInputs known = {};
  std::vector<std::string> files = {};  // that it was read from
  bool is_onnx = false;
  // Spans point into a list of nodes that an importer made: of an ONNX model or a graph.
  bool is_listed = false;
  // Whose extents an importer took, as it refuses the model without; empty: nobody's.
  std::string took_extents_of = {};

  const Fn& entry() const { return *module.function(function); }
};

struct LoadOptions {
  std::string function = "main";        // the one that is run
  bool may_lack_function = false;       // a module without it is a model that cannot run
  KnownInputs known = {};               // with the tensors of what is in files
  std::vector<std::string> files = {};  // that those were read from
  // A file or folder of inputs: an ONNX model that is refused because too little is known of its
  // inputs is tried again with their extents.
  std::string examples = {};
  bool runs = false;                        // its external kernels need their functions
  std::vector<std::string> libraries = {};  // that have them
  Module into = {};                         // its context gets the sources, which diagnostics point into
  // Is told that a stage of `load` begins: 0 reading, 1 types, 2 inputs and outputs. For progress.
  std::function<void(size_t stage, std::string_view what)> on_stage = {};
  // Is told what an ONNX model that is refused says of itself.
  std::function<void(const frontend::Interface&)> on_refusal = {};
};

// Forms, by the path's name: a graph of the graph runtime; a compiled model, .so or .a.
bool is_graph(const std::string& path);
bool is_artifact(const std::string& path);

// A .onnx, a .relay, or a graph: its folder or .json. What cannot be read or is wrong is reported
// by its reader; "model-form-unknown" if the path names none of these.
Result<Model> load(const std::string& path, const LoadOptions& options, Diagnostics& diagnostics);
// The same without the type check.
struct Reading {
  Module module;
  std::vector<std::string> files = {};  // that it was read from
  bool took_extents = false;            // those of LoadOptions::examples
};
Result<Reading> read(const std::string& path, const LoadOptions& options, Diagnostics& diagnostics);
// A typed module as a model. `files`: what it was read from. Reports "no-such-function" if the
// module has not the function that is run.
Result<Model> model_of(const Module& checked, const std::string& path, const LoadOptions& options,
                       std::vector<std::string> files, Diagnostics& diagnostics);

// The model with every shape variable replaced by the extents of the arguments, type checked again:
// what compiled engines need. The model itself if it has none, or, with a warning, if a branch is
// wrong for these extents (choices.h). Throws Trap if they do not fit it.
Result<Model> specialise(const Model& model, std::span<const Value> args, Diagnostics& diagnostics);

// The result's tensors with the names of the model's outputs.
frontend::data::NamedTensors name_outputs(const Model& model, const Value& result);

// PATH with .safetensors in the place of .relay: where the large constants of a text are.
std::string side_file(const std::string& path);

}  // namespace relay::driver
