#include "tools/onnx_model.h"

#include <set>

#include "base/cat.h"
#include "frontend/data/inputs.h"
#include "frontend/onnx/import.h"
#include "tools/remedy.h"

namespace relay::tools {
namespace {

// What protobuf can hold: larger models keep their weights in other files.
constexpr uint64_t kMostOnnxBytes = (uint64_t{1} << 31) - 1;

// What is known, with the extents of examples for those that the model leaves open; nothing if the
// examples do not fit.
std::optional<KnownInputs> extents_of_examples(const frontend::Interface& interface,
                                               const std::string& examples, KnownInputs known) {
  std::vector<std::string> names;
  for (const frontend::Port& p : interface.inputs) {
    if (!known.values.contains(p.name)) names.push_back(p.name);
  }
  Diagnostics ignored;  // who reads the inputs later reports what is wrong with them
  const Result<data::NamedTensors> read = data::read_named(examples, names, data::Role::kInput, {}, ignored);
  if (!read) return std::nullopt;
  for (const frontend::Port& p : interface.inputs) {
    for (const data::NamedTensor& t : *read) {
      if (t.name != p.name || known.shapes.contains(p.name)) continue;
      std::vector<frontend::InputDim>& dims = known.shapes[p.name];
      for (const int64_t extent : t.value.shape()) dims.push_back({extent, {}});
    }
  }
  return known;
}

class OnnxModel {
 public:
  OnnxModel(const std::string& path, std::set<std::string>& files) : path_(path) {
    import_.files.file_bytes = kMostOnnxBytes;
    import_.names_file = [&files](const std::string& file) { files.insert(file); };
    import_.tells_interface = [this](frontend::Interface i) { interface_ = std::move(i); };
  }

  const frontend::Interface& interface() const { return interface_; }

  Result<Module> read(const KnownInputs& known, const Module& into, Diagnostics& diagnostics) {
    import_.input_shapes = known.shapes;
    import_.input_values = known.values;
    return frontend::import_onnx(path_, into, import_, diagnostics);
  }

 private:
  std::string path_;
  frontend::ImportOptions import_;
  frontend::Interface interface_;
};

}  // namespace

Result<Module> read_onnx(const ModelOptions& options, const KnownInputs& known, Files& files,
                         Session& session) {
  std::set<std::string> named{options.path};
  OnnxModel model(options.path, named);
  Diagnostics diagnostics;
  const Module empty;
  Result<Module> m = model.read(known, empty, diagnostics);
  const bool unsupported =
      !m && frontend::import_failure(diagnostics) == frontend::ImportFailure::kUnsupported;
  if (unsupported && !options.examples.empty()) {
    const auto more = extents_of_examples(model.interface(), options.examples, known);
    Diagnostics of_examples;
    const Module again;
    if (Result<Module> read = more ? model.read(*more, again, of_examples) : kReported) {
      session.say(cat("relay: ", options.path, " is read with the extents of its inputs in ",
                      options.examples, "\n"));
      files.insert(files.end(), named.begin(), named.end());
      return read;
    }
  }
  session.fail(diagnostics, empty.context().sources());
  files.insert(files.end(), named.begin(), named.end());
  if (m) return m;
  const frontend::Interface interface = model.interface();
  if (options.on_refusal) options.on_refusal(interface);
  if (!unsupported) return m;
  const auto lifts = [&](const KnownInputs& tried) {
    Diagnostics ignored;
    return model.read(tried, Module(), ignored).ok();
  };
  if (const auto remedy = find_remedy(interface.inputs, known, lifts))
    session.remedy(
        "the model is read when this is known of its inputs, with your numbers in the place of these:",
        command_with(session.arguments, *remedy));
  return m;
}

}  // namespace relay::tools
