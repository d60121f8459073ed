// From an ONNX model to a module.
//
// The module has one function, @main: its parameters are the model's inputs in order and by
// name, its result is the model's output, or the tuple of them. The attributes `input_names`
// and `output_names` of @main keep the names. Every expression carries a span into a text that
// lists the model's nodes, one a line, so that whatever is found wrong later points at the
// node it comes from.
//
// Shapes that the model computes are computed here, over symbolic dims: a dynamic axis
// called "batch" becomes the shape variable `batch`, and what is reshaped by its extent has
// a type that says so.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "frontend/data/limits.h"
#include "frontend/data/written_value.h"
#include "frontend/onnx/interface.h"
#include "ir/module.h"

namespace relay::frontend {

struct ImportOptions {
  // By name of the input. Fixing the extent of a named axis fixes it in every input.
  std::map<std::string, std::vector<InputDim>> input_shapes;
  // What inputs always are, by name: the import takes it for granted. Their parameters stay, and
  // nothing uses them.
  std::map<std::string, data::WrittenValue> input_values = {};
  data::Limits files;
  // Is told the path of every file beside the model that one of its tensors lies in, also in
  // branches that are not taken.
  std::function<void(const std::string& path)> names_file = {};
  // Is told what the model says that it takes and gives, before it is imported.
  std::function<void(Interface interface)> tells_interface = {};
  size_t nodes = 1'000'000;  // in all graphs of the model
  size_t graph_depth = 32;   // of graphs within nodes
  // Steps of recurrent layers that are written out, each of which becomes a dozen expressions: of
  // one layer, and of all together. Layers with more are loops.
  int64_t unrolled_steps = 4096;
  int64_t all_unrolled_steps = 32768;
};

// Why an import failed: what the diagnostics amount to.
enum class ImportFailure {
  kUnreadable,   // there is no such file
  kBadModel,     // it is no ONNX model, or contradicts itself or the options
  kUnsupported,  // a sound model that needs what is not there; everything it needs is listed
  kLimit,        // a limit was reached
};
ImportFailure import_failure(const Diagnostics& diagnostics);

// `empty` is a module without contents: the result shares its context, and the diagnostics point
// into its sources whether or not there is a result.
Result<Module> import_onnx(const std::string& path, const Module& empty, const ImportOptions& options,
                           Diagnostics& diagnostics);
// The same for a model in memory. `folder` is where its external data lies; null
// refuses external data.
Result<Module> import_onnx(std::string_view bytes, const std::string& name, const std::string* folder,
                           const Module& empty, const ImportOptions& options, Diagnostics& diagnostics);

// An operator that the importer knows, by its full name: "Conv", "com.microsoft.QLinearAdd".
struct ImportableOperator {
  std::string name;
  int64_t since = 1;     // the oldest version of its operator set
  int64_t until = 0;     // the newest one; 0: any
  std::string refuses;   // forms that are refused, for people; empty if there are none to tell
  bool refused = false;  // in all forms, for a reason that stays, as StringConcat
};
std::vector<ImportableOperator> importable_operators();  // sorted by name

}  // namespace relay::frontend
