#include "tools/vta_layers.h"

#include <filesystem>
#include <random>

#include "aot/new_folders.h"
#include "base/cat.h"
#include "base/file.h"
#include "tools/model.h"
#include "tools/overwriting.h"
#include "vta/compile/run_layer.h"
#include "vta/compile/stream_files.h"
#include "vta/simulator_driver.h"

namespace relay::tools {
namespace {

const SourceMap& sources_of(const driver::VtaProgram& program) {
  return program.parts.module.context().sources();
}

// The same numbers on every machine.
std::vector<int8_t> made_up(int64_t count, std::mt19937_64& random) {
  std::vector<int8_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<int8_t>(random() & 255));
  return out;
}

// The files of a layer, for an input that is made up.
Result<std::vector<vta::StreamFile>> files_of(const vta::DeviceLayer& layer, const vta::Layout& layout,
                                              Diagnostics& d) {
  std::mt19937_64 random(1);
  const std::vector<int8_t> input = made_up(layer.code.input.size(), random);
  std::vector<std::vector<int8_t>> tensors;
  for (const vta::OperandKind operand : layer.code.operands) {
    const bool reads = operand == vta::OperandKind::kTensor;
    tensors.push_back(made_up(reads ? layer.code.output.size() : 0, random));
  }
  vta::SimulatorDriver driver(layout);
  const Result<std::vector<uint8_t>> result = vta::run_packed(driver, layer.code, input, tensors, d);
  if (!result) return kReported;
  return vta::stream_files(layer.code, input, *result, layout, d);
}

}  // namespace

std::string vta_leftovers(const driver::VtaProgram& program, std::string_view indent) {
  std::string out;
  for (const vta::StaysOnCpu& left : program.parts.left) {
    const std::string place = sources_of(program).place(left.span);
    out += cat(indent, "`", left.what, "`", place.empty() ? "" : " at ", place, ": ", left.why, "\n");
  }
  return out;
}

std::string vta_listing(const driver::VtaProgram& program) {
  std::string out = cat("# ", program.target.text, "\n");
  for (const vta::DeviceLayer& layer : program.parts.layers)
    out += cat("\n# ", layer.name, "\n", vta::listing(layer.code, sources_of(program)));
  const std::string left = vta_leftovers(program, "#   ");
  return left.empty() ? out : cat(out, "\n# stays on the CPU:\n", left);
}

void write_vta_streams(const driver::VtaProgram& program, const std::string& folder,
                       std::span<const std::string> read, Session& s) {
  struct Named {
    std::string path, bytes;
  };
  std::vector<Named> made;
  size_t with_files = 0;
  std::string without;
  for (size_t k = 0; k < program.parts.layers.size(); ++k) {
    const vta::DeviceLayer& layer = program.parts.layers[k];
    Diagnostics d;
    const Result<std::vector<vta::StreamFile>> files = files_of(layer, program.layout, d);
    if (!files) {
      if (d.fault() == Fault::kLimit || d.fault() == Fault::kBug) {
        s.fail(d, sources_of(program));
        return;
      }
      without += cat("relay: ", layer.name, " has no files: ", d.all().front().message(), "\n");
      continue;
    }
    ++with_files;
    for (const vta::StreamFile& file : *files) {
      const std::filesystem::path path = std::filesystem::path(folder) / cat("layer_", k) / file.name;
      made.push_back({path.string(), std::string(file.bytes.begin(), file.bytes.end())});
    }
  }
  s.say(without);
  if (made.empty()) {
    s.fail(kUnsupported, "--emit vta-stream: no layer has files that another simulator reads");
    return;
  }
  std::vector<std::string> written;
  std::vector<FileContents> contents;
  for (const Named& file : made) {
    written.push_back(file.path);
    contents.push_back({file.path, file.bytes});
  }
  if (!spares_inputs(written, read, s)) return;
  if (std::string wrong = aot::write_files_in_folders(contents); !wrong.empty()) {
    s.fail(kLimit, wrong);
    return;
  }
  s.say(cat("wrote ", with_files, with_files == 1 ? " layer" : " layers", " to ", folder, "\n"));
}

namespace {

constexpr std::string_view kStreams = "vta-stream";

// What of the options means nothing for streams; empty if there is no such thing.
std::string wrong_for_layers(const CompileRequest& o, size_t targets) {
  const std::string emit = cat("--emit ", o.emit);
  if (targets > 1) return cat("--target: ", emit, " is for one target");
  if (o.threads != 1) return cat("--threads: ", emit, " has the virtual threads of `vta{threads=2}`");
  const std::pair<std::string_view, bool> without[] = {
      {"--bounds", !o.bounds.empty()},
      {"--link", !o.link.empty()},
      {"--licence", !o.licence.empty()},
      {"--passes", !o.passes.empty()},
      {"--weights-file", o.weights_file},
      {"--time", o.time},
      {"--package-name and --package-version", !o.package_name.empty() || !o.package_version.empty()},
  };
  for (const auto& [name, given] : without) {
    if (given) return cat(name, ": ", emit, " has no place for it");
  }
  if (o.emit == kStreams && o.output.empty()) return cat(emit, ": name the folder with -o");
  return {};
}

std::string cannot_write_layers(const CompileRequest& o) {
  if (o.output.empty()) return {};
  return o.emit == kStreams ? aot::cannot_write_in_folders(o.output + "/layer_0/uop.bin")
                            : cannot_write(o.output);
}

}  // namespace

void compile_to_layers(const CompileRequest& o, const std::vector<target::Target>& targets, Session& s) {
  if (std::string wrong = wrong_for_layers(o, targets.size()); !wrong.empty()) {
    s.fail(kUsage, wrong);
    return;
  }
  if (std::string wrong = cannot_write_layers(o); !wrong.empty()) {
    s.fail(kLimit, wrong);
    return;
  }
  const Result<driver::Model> model = load_specialised(o.model, s);
  if (!model) return;
  const std::vector<std::string> read = files_read(o, *model);
  const std::vector<std::string> text(o.emit == kStreams || o.output.empty() ? 0 : 1, o.output);
  if (!spares_inputs(text, read, s)) return;
  Diagnostics diagnostics;
  const Result<driver::VtaProgram> program = driver::vta_program(
      model->module, model->function,
      {.opt_level = o.opt_level, .target = targets[0], .denormals = denormals_of(o.denormals)}, diagnostics);
  if (!program) {
    s.fail(diagnostics, model->module.context().sources(), kUnsupported);
    return;
  }
  if (std::string nothing = driver::nothing_for_vta(*program); !nothing.empty()) {
    s.fail(kUnsupported, nothing);
    return;
  }
  if (o.emit == kStreams) return write_vta_streams(*program, o.output, read, s);
  deliver(vta_listing(*program), o, s);
}

}  // namespace relay::tools
