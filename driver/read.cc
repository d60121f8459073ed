// Reading models by their form.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/cat.h"
#include "base/file.h"
#include "base/nearest_file.h"
#include "driver/model.h"
#include "frontend/data/inputs.h"
#include "frontend/data/safetensors.h"
#include "frontend/graph/import.h"
#include "frontend/onnx/import.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "typecheck/read.h"

namespace relay::driver {
namespace {

constexpr uint64_t kMostTextBytes = uint64_t{1} << 30;
// What protobuf can hold: larger models keep their weights in other files.
constexpr uint64_t kMostOnnxBytes = (uint64_t{1} << 31) - 1;

// Files of other programs, which these programs can write as ONNX models.
struct ForeignForm {
  std::string_view suffix, remedy;
};
constexpr std::string_view kOfPyTorch =
    "PyTorch writes an ONNX model: `torch.onnx.export(model, inputs, \"model.onnx\")`";
constexpr std::string_view kOfTensorFlow =
    "tf2onnx makes an ONNX model of it: `python3 -m tf2onnx.convert --help` says how";
constexpr ForeignForm kForeignForms[] = {
    {".pt", kOfPyTorch},
    {".pth", kOfPyTorch},
    {".pt2", kOfPyTorch},
    {".pb", kOfTensorFlow},
    {".h5", kOfTensorFlow},
    {".keras", kOfTensorFlow},
    {".tflite", kOfTensorFlow},
    {".safetensors", "it holds weights and no model, which the program that wrote it may export as ONNX"},
};

// --- texts ---------------------------------------------------------------------------------------

Result<Reading> read_text(const std::string& path, const LoadOptions& load, Diagnostics& diagnostics) {
  std::string text;
  std::error_code unknown;
  const uintmax_t size = std::filesystem::file_size(path, unknown);
  if (std::string wrong = read_file(path, kMostTextBytes, text); !wrong.empty()) {
    if (!unknown && size > kMostTextBytes)
      diagnostics.error(Span::none(), "limit-file-size", std::move(wrong));
    else
      suggest_file(diagnostics.error(Span::none(), "file-unreadable", std::move(wrong)), path);
    return kReported;
  }
  ParseOptions options;
  options.into = load.into;
  // Large constants stand in a file beside the text.
  const std::string side = side_file(path);
  std::map<std::string, Tensor> constants;
  if (std::filesystem::exists(side)) {
    Result<frontend::data::Safetensors> read = frontend::data::map_safetensors(side, {}, diagnostics);
    if (!read) return kReported;
    for (frontend::data::NamedTensor& t : read->tensors) constants.emplace(t.name, t.value);
  }
  bool takes_from_side = false;  // a file of that name may be there for another reason
  options.constants = [&](std::string_view name) -> std::optional<Tensor> {
    auto it = constants.find(std::string(name));
    if (it == constants.end()) return std::nullopt;
    takes_from_side = true;
    return it->second;
  };
  Result<Module> m = typecheck::read(path, text, diagnostics, op::operators(), options);
  if (!m) return kReported;
  Reading out{*m, {path}};
  if (takes_from_side) out.files.push_back(side);
  return out;
}

// --- graphs --------------------------------------------------------------------------------------

Result<Reading> read_graph(const std::string& path, const LoadOptions& load, Diagnostics& diagnostics) {
  frontend::GraphImportOptions import;
  for (const auto& [name, dims] : load.known.shapes) {
    for (const frontend::InputDim& d : dims) {
      if (d.extent < 0) {
        diagnostics
            .error(Span::none(), "graph-input-shape",
                   cat("input `", name, "`: the extents of a graph's inputs are numbers"))
            .note(cat("for instance --input-shapes ", name, ":[1,3,224,224]"));
        return kReported;
      }
      import.input_shapes[name].push_back(d.extent);
    }
  }
  const Result<frontend::GraphFiles> found = frontend::graph_files(path, diagnostics);
  Result<Module> m = found ? frontend::import_graph(*found, load.into, import, diagnostics) : kReported;
  if (!m) return kReported;
  Reading out{*m, {found->graph}};
  if (!found->params.empty()) out.files.push_back(found->params);
  return out;
}

// --- ONNX ----------------------------------------------------------------------------------------

// The same where inputs are sequences: of each as many elements as the examples have, with their
// shapes (driver/composite_inputs.h).
std::optional<KnownInputs> lengths_of_examples(const frontend::Interface& interface,
                                               const std::string& examples, KnownInputs known) {
  Diagnostics ignored;
  const Result<frontend::data::NamedTensors> read =
      frontend::data::read_tensors(examples, frontend::data::Role::kInput, {}, ignored);
  if (!read) return std::nullopt;
  for (const frontend::data::NamedTensor& t : *read) {
    const bool meant =
        std::any_of(interface.inputs.begin(), interface.inputs.end(), [&](const frontend::Port& p) {
          return t.name == p.name || (!p.composite.empty() && t.name.starts_with(p.name + "."));
        });
    if (!meant || known.values.contains(t.name) || known.shapes.contains(t.name)) continue;
    std::vector<frontend::InputDim>& dims = known.shapes[t.name];
    for (const int64_t extent : t.value.shape()) dims.push_back({extent, {}});
  }
  return known;
}

// What is known, with the extents of examples for those that the model leaves open; nothing if the
// examples do not fit.
std::optional<KnownInputs> extents_of_examples(const frontend::Interface& interface,
                                               const std::string& examples, KnownInputs known) {
  if (std::any_of(interface.inputs.begin(), interface.inputs.end(),
                  [](const frontend::Port& p) { return !p.composite.empty(); }))
    return lengths_of_examples(interface, examples, std::move(known));
  std::vector<std::string> names;
  for (const frontend::Port& p : interface.inputs) {
    if (!known.values.contains(p.name)) names.push_back(p.name);
  }
  Diagnostics ignored;  // who reads the inputs later reports what is wrong with them
  const Result<frontend::data::NamedTensors> read =
      frontend::data::read_named(examples, names, frontend::data::Role::kInput, {}, ignored);
  if (!read) return std::nullopt;
  for (const frontend::Port& p : interface.inputs) {
    for (const frontend::data::NamedTensor& t : *read) {
      if (t.name != p.name || known.shapes.contains(p.name)) continue;
      std::vector<frontend::InputDim>& dims = known.shapes[p.name];
      for (const int64_t extent : t.value.shape()) dims.push_back({extent, {}});
    }
  }
  return known;
}

class OnnxModel {
 public:
  OnnxModel(const std::string& path, const Module& into, std::set<std::string>& files)
      : path_(path), into_(into) {
    import_.files.file_bytes = kMostOnnxBytes;
    import_.names_file = [&files](const std::string& file) { files.insert(file); };
    import_.tells_interface = [this](frontend::Interface i) { interface_ = std::move(i); };
  }

  const frontend::Interface& interface() const { return interface_; }

  Result<Module> read(const KnownInputs& known, Diagnostics& diagnostics) {
    import_.input_shapes = known.shapes;
    import_.input_values = known.values;
    return frontend::import_onnx(path_, into_, import_, diagnostics);
  }

 private:
  std::string path_;
  const Module& into_;
  frontend::ImportOptions import_;
  frontend::Interface interface_;
};

Result<Reading> read_onnx(const std::string& path, const LoadOptions& load, Diagnostics& diagnostics) {
  std::set<std::string> files{path};
  OnnxModel model(path, load.into, files);
  Diagnostics refusal;
  Result<Module> m = model.read(load.known, refusal);
  bool took_extents = false;
  if (!m && !load.examples.empty() &&
      frontend::import_failure(refusal) == frontend::ImportFailure::kUnsupported) {
    Diagnostics ignored;  // the first refusal says more
    const auto more = extents_of_examples(model.interface(), load.examples, load.known);
    if (more) m = model.read(*more, ignored);
    took_extents = m.ok();
  }
  if (!took_extents) diagnostics.add(refusal);
  if (!m && load.on_refusal) load.on_refusal(model.interface());
  if (!m) return kReported;
  return Reading{*m, {files.begin(), files.end()}, took_extents};
}

// Is it what a linker made, whatever it is called? To open a pipe would wait for its writer.
bool begins_as_elf(const std::string& path) {
  std::error_code unknown;
  char magic[4] = {};
  return std::filesystem::is_regular_file(path, unknown) &&
         std::ifstream(path, std::ios::binary).read(magic, sizeof magic) &&
         std::string_view(magic, sizeof magic) == "\177ELF";
}

}  // namespace

Result<Reading> read(const std::string& path, const LoadOptions& options, Diagnostics& diagnostics) {
  if (path.ends_with(".onnx")) return read_onnx(path, options, diagnostics);
  if (is_graph(path)) return read_graph(path, options, diagnostics);
  if (path.ends_with(".relay")) return read_text(path, options, diagnostics);
  if (is_artifact(path)) {
    diagnostics.error(Span::none(), "model-form-unknown",
                      cat(path,
                          " is compiled already: `relay run`, `relay bench` and `relay check` take it; "
                          "give this command the model it was made of"));
    return kReported;
  }
  Diagnostic& d =
      diagnostics.error(Span::none(), "model-form-unknown",
                        cat(path, ": a model is a .onnx, .relay or .json file, or a graph folder"));
  suggest_file(d, path);
  std::error_code unknown;
  for (const std::string& whole : {path + ".onnx", path + ".relay", path + ".json"}) {
    if (std::filesystem::exists(whole, unknown)) d.note(cat("did you mean `", whole, "`?"));
  }
  for (const ForeignForm& form : kForeignForms) {
    if (path.ends_with(form.suffix)) d.note(std::string(form.remedy));
  }
  if (begins_as_elf(path))
    d.note("it is a program or a library: one of `--emit exe` runs by itself, an artifact is called X.so");
  return kReported;
}

}  // namespace relay::driver
