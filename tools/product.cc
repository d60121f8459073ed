#include "tools/product.h"

#include <filesystem>
#include <map>

#include "aot/listing.h"
#include "aot/python.h"
#include "base/cat.h"
#include "base/file.h"
#include "frontend/data/inputs.h"
#include "tools/graph.h"
#include "tools/overwriting.h"

namespace relay::tools {
namespace {

// The package that is asked for. Fails for a name or a version that none can have.
aot::Package package_of(const CompileRequest& o, const std::string& folder, const std::string& licence,
                        Session& s) {
  aot::Package p;
  p.folder = folder;
  std::error_code ignored;  // the name is empty then
  const std::filesystem::path whole = std::filesystem::absolute(std::filesystem::path(folder) / "", ignored);
  p.name =
      o.package_name.empty() ? whole.lexically_normal().parent_path().filename().string() : o.package_name;
  p.version = o.package_version.empty() ? aot::default_package_version() : o.package_version;
  p.licence = licence;
  p.weights = o.weights_file ? aot::Weights::kFile : aot::Weights::kEmbedded;
  if (!aot::is_package_name(p.name)) {
    s.fail(kUsage,
           cat("--emit package: `", p.name,
               "` is no name for a package, which consists of letters of ASCII, digits and `_`, and begins "
               "with no digit: give another one with --package-name"));
  } else if (!aot::is_package_version(p.version)) {
    s.fail(kUsage,
           cat("--package-version: `", p.version,
               "` is no version, which is one number to four with points between them, such as 1.2.0"));
  }
  return p;
}

// What a path means that names no shared library by its suffix, with what to do; empty
// if it may be one.
std::string no_library(const std::string& path) {
  static const std::map<std::string, std::string> kOthers = {
      {".o", "object files are not made"},
      {".obj", "object files are not made"},
      {".lib", "static libraries are not made"},
      {".dll", "libraries are made for Linux only"},
      {".dylib", "libraries are made for Linux only"},
      {".exe", "--emit exe makes a program, for Linux"},
      {".c", "--emit cpp writes the source"},
      {".cc", "--emit cpp writes the source"},
      {".cpp", "--emit cpp writes the source"},
      {".cu", "--emit cuda writes the source"},
      {".h", "--emit header writes the header"},
      {".relay", "`relay opt` and `relay import` write texts"},
      {".json", "--emit graph writes a graph"},
      {".onnx", "--emit onnx writes an ONNX model"},
      {".dot", "--emit dot writes a picture for Graphviz"},
  };
  const std::filesystem::path p(path);
  const auto other = kOthers.find(p.extension().string());
  if (other == kOthers.end()) return {};
  return cat("-o ", path, ": this would be a shared library, which has a name like ",
             std::filesystem::path(p).replace_extension(".so").string(), "; ", other->second);
}

void refuse_package_options(const CompileRequest& o, Session& s) {
  if (!o.package_name.empty() || !o.package_version.empty())
    s.fail(kUsage, "--package-name and --package-version: only --emit package makes a package");
}

// NAME.py, and libNAME.so beside it.
void product_with_module(const std::string& module, Product& p, Session& s) {
  const std::filesystem::path path(module);
  p.name = path.stem().string();
  p.output = (path.parent_path() / aot::library_of_module(p.name)).string();
  std::error_code ignored;  // what cannot be looked at is not there
  if (path.extension() != ".py") {
    s.fail(kUsage, cat("-o ", module, ": a module of Python has a name like ",
                       std::filesystem::path(path).replace_extension(".py").string(),
                       "; its library stands beside it"));
  } else if (!aot::is_module_name(p.name)) {
    s.fail(kUsage, cat("-o ", module,
                       ": Python imports modules whose names are letters of ASCII, digits and `_`, begin "
                       "with no digit, and are none of its keywords"));
  } else if (aot::is_used_by_module(p.name)) {
    s.fail(kUsage, cat("-o ", module, ": the module itself imports a `", p.name,
                       "`, in whose place it would be: give it another name"));
  } else if (const std::string first = path.parent_path() / (p.name + ".so");
             std::filesystem::exists(first, ignored)) {
    s.fail(kUsage, cat("-o ", module, ": Python would import ", first,
                       ", which stands beside it: remove that, or give the module another name"));
  } else if (const std::string wrong = cannot_write(p.output); !wrong.empty()) {
    s.fail(kLimit, wrong);
  }
}

// The module of `--emit python` that this library would hide: Python imports NAME.so in the
// place of NAME.py. The module's own library, beside it, tells it from other texts. Empty
// if there is none.
std::string hidden_module(const std::string& library) {
  const std::filesystem::path path(library), folder = path.parent_path();
  const std::string name = path.stem().string();
  const std::filesystem::path module = folder / (name + ".py");
  std::error_code ignored;  // what cannot be looked at is not there
  const bool hides = path.extension() == ".so" && std::filesystem::exists(module, ignored) &&
                     std::filesystem::exists(folder / aot::library_of_module(name), ignored);
  return hides ? module.string() : "";
}

}  // namespace

// What the weights of a source stand in that is one text.
std::vector<std::string> files_read(const CompileRequest& o, const driver::Model& model) {
  std::vector<std::string> out = model.files;
  out.insert(out.end(), o.link.begin(), o.link.end());
  if (!o.licence.empty()) out.push_back(o.licence);
  if (!o.model.examples.empty()) {
    for (std::string& file : frontend::data::files_to_read(o.model.examples)) out.push_back(std::move(file));
  }
  return out;
}

void deliver(const std::string& text, const CompileRequest& o, Session& s) {
  if (o.output.empty()) return s.print(text);
  if (std::string wrong = write_file_atomically(o.output, text); !wrong.empty()) {
    s.fail(kLimit, wrong);
  } else {
    s.say(cat("wrote ", o.output, "\n"));
  }
}

std::string weights_source(const CompileRequest& o, const std::string& name) {
  return name + (o.weights_file ? ".safetensors" : ".weights");
}
std::string weights_beside_source(const CompileRequest& o, const std::string& name) {
  return (std::filesystem::path(o.output).parent_path() / weights_source(o, name)).string();
}

bool makes_library(const CompileRequest& o) { return o.emit == "so" || o.emit == "python"; }
bool is_archive(const CompileRequest& o) { return o.emit == "so" && o.output.ends_with(".a"); }

// Fails for what cannot be written: a long compilation should not end in a folder
// that is not there.
Product product_of(const CompileRequest& o, const std::string& licence, Session& s) {
  Product p;
  p.output = !o.output.empty() ? o.output : makes_library(o) ? "model.so" : "model";
  p.kind = {o.weights_file ? aot::Weights::kFile : aot::Weights::kEmbedded, o.emit == "exe",
            o.emit == "python"};
  if (p.kind.python) {
    refuse_package_options(o, s);
    product_with_module(o.output.empty() ? "model.py" : o.output, p, s);
    return p;
  }
  std::string wrong;
  if (o.emit == "package") {
    p.package = package_of(o, p.output, licence, s);
    p.name = p.package->name;
    if (s.exit_code == kOk) wrong = aot::cannot_write(*p.package);
  } else {
    const bool compiles = makes_library(o) || o.emit == "exe";
    p.name = aot::name_of(compiles ? p.output : std::filesystem::path(p.output).stem().string());
    refuse_package_options(o, s);
    if (std::string other = makes_library(o) ? no_library(p.output) : ""; !other.empty())
      s.fail(kUsage, other);
    if (const std::string module = makes_library(o) ? hidden_module(p.output) : ""; !module.empty())
      s.fail(kUsage, cat("-o ", p.output, ": Python would import it in the place of ", module,
                         ", which stands beside it: remove that, or give the library another name"));
    // Without -o, texts are printed.
    if (compiles || !o.output.empty())
      wrong = o.emit == "graph" ? cannot_write_graph(p.output) : cannot_write(p.output);
  }
  if (!wrong.empty()) s.fail(kLimit, wrong);
  return p;
}

// The files that will be written. Empty: the result is printed.
std::vector<std::string> outputs_of(const CompileRequest& o, const Product& p) {
  if (p.package) return aot::files_of(*p.package);
  if (makes_library(o) || o.emit == "exe") return aot::files_of(p.output, p.kind);
  if (o.output.empty()) return {};
  if (o.emit == "graph") return files_of_graph(o.output);
  if (o.emit == "cpp" && !is_stream(o.output)) return {weights_beside_source(o, p.name), o.output};
  return {o.output};
}

void deliver_source(const aot::Sources& sources, const aot::EmitOptions& emit, const CompileRequest& o,
                    Session& s) {
  const std::string text = aot::listing(sources);
  if (sources.weights_bytes == 0 && !o.weights_file) return deliver(text, o, s);
  if (o.output.empty() || is_stream(o.output)) {
    deliver(text, o, s);
    return s.say(cat("relay: the weights are ", sources.weights.size(),
                     " bytes and not printed; -o FILE.cc keeps them in a file beside the text\n"));
  }
  const std::string weights = weights_beside_source(o, emit.model_name);
  const FileContents files[] = {{weights, sources.weights.pieces()}, {o.output, text}};
  if (std::string wrong = write_files_atomically(files); !wrong.empty()) {
    s.fail(kLimit, wrong);
  } else {
    s.say(cat("wrote ", o.output, " and ", weights, "\n"));
  }
}

Result<std::vector<std::string>> write(const Product& product, const aot::Sources& sources,
                                       const Contents& made, Diagnostics& diagnostics) {
  return product.package ? aot::write_package(*product.package, sources, made, diagnostics)
                         : aot::write_artifact(product.output, product.kind, sources, made, diagnostics);
}

}  // namespace relay::tools
