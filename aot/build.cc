#include "aot/build.h"

#include <filesystem>

#include "aot/python.h"
#include "base/cat.h"
#include "base/file.h"

namespace relay::aot {
namespace {

// Weights that should not be in a compiler's memory twice.
constexpr uint64_t kLargeBytes = uint64_t{16} << 20;
// What else is in a library has room beside them.
constexpr uint64_t kMostEmbeddedBytes = (uint64_t{1} << 31) - (uint64_t{64} << 20);

// NAME of NAME.so, and of libNAME.so if it is the library of a module of Python.
std::string stem_of(const std::string& artifact, ArtifactKind kind) {
  const std::string name = name_of(artifact);
  return kind.python ? module_of_library(name) : name;
}

// NAME.safetensors and NAME.h beside NAME.so, or beside libNAME.so with NAME.py;
// empty: there is none.
struct Beside {
  std::string weights, header, python;
};
Beside beside(const std::string& artifact, ArtifactKind kind) {
  if (is_stream(artifact)) return {};
  const std::string stem = (std::filesystem::path(artifact).parent_path() / stem_of(artifact, kind)).string();
  return {.weights = kind.weights == Weights::kFile ? stem + ".safetensors" : "",
          .header = kind.program ? "" : stem + ".h",
          .python = kind.python ? stem + ".py" : ""};
}

// For whom the file is readable it shall be a program.
void make_executable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // of a file system that knows no such thing
  const fs::perms is = fs::status(path, ignored).permissions();
  const auto readable_by = [&](fs::perms who) { return (is & who) != fs::perms::none; };
  fs::perms more = fs::perms::owner_exec;
  if (readable_by(fs::perms::group_read)) more |= fs::perms::group_exec;
  if (readable_by(fs::perms::others_read)) more |= fs::perms::others_exec;
  fs::permissions(path, more, fs::perm_options::add, ignored);
}

}  // namespace

std::string too_large_to_embed(uint64_t weights_bytes) {
  if (weights_bytes <= kMostEmbeddedBytes) return {};
  return cat("the weights have ", weights_bytes, " bytes, and a library has room for ", kMostEmbeddedBytes);
}

Result<std::vector<std::string>> paths_of(const std::vector<FileContents>& files, std::string wrong,
                                          Diagnostics& diagnostics) {
  if (!wrong.empty()) {
    diagnostics.error(Span::none(), "file-unwritable", std::move(wrong));
    return kReported;
  }
  std::vector<std::string> paths;
  for (const FileContents& f : files) paths.push_back(f.path);
  return paths;
}

Reported report_uncompiled(std::string wrong, std::string note, Diagnostics& diagnostics) {
  std::string full = cannot_write_temporaries(wrong);
  if (full.empty()) {
    diagnostics.error(Span::none(), "cannot-compile", std::move(wrong)).note(std::move(note));
  } else {
    diagnostics.error(Span::none(), "file-unwritable", std::move(full))
        .note("generated code is compiled there; TMPDIR names another folder");
  }
  return kReported;
}

std::string name_of(const std::string& artifact) {
  const std::string name = std::filesystem::path(artifact).filename().string();
  for (const std::string_view end : {".so", ".a"}) {
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
  }
  return name;
}

std::string write_weights_beside(const std::string& folder, const Sources& sources) {
  const FileContents weights{cat(folder, "/", kWeightsSource), sources.weights.pieces()};
  return write_files_atomically({&weights, 1});
}

Result<CompiledFile> compile(const Sources& sources, Weights weights,
                             const toolchain::CompileOptions& options, Diagnostics& diagnostics) {
  if (std::string wrong = too_large_to_embed(sources.weights_bytes);
      weights == Weights::kEmbedded && !wrong.empty()) {
    diagnostics.error(Span::none(), "cannot-compile", std::move(wrong))
        .note("`relay compile --weights-file` puts them into a file beside the library");
    return kReported;
  }
  CompiledFile out{std::make_unique<TemporaryFolder>(), {}};
  TemporaryFolder& folder = *out.folder;
  const auto uncompiled = [&](std::string wrong) {
    return report_uncompiled(
        std::move(wrong),
        "`relay doctor` says what this machine lacks; the engines `interp`, `jit` and `graph` need no "
        "compiler",
        diagnostics);
  };
  if (std::string wrong = folder.make(); !wrong.empty()) return uncompiled(std::move(wrong));
  if (weights == Weights::kEmbedded) {
    std::string wrong = write_weights_beside(folder.path(), sources);
    if (!wrong.empty()) return uncompiled(std::move(wrong));
  }
  toolchain::Compiler compiler;
  if (std::string wrong = toolchain::find_compiler(options.target.cpu.isa, compiler); !wrong.empty())
    return uncompiled(std::move(wrong));
  std::vector<toolchain::Source> texts;
  for (const SourceFile& f : sources.files) {
    texts.push_back({.name = f.name, .text = f.text, .target = f.target, .of_others = f.of_others});
    // What runs on any processor starts kernels and has none. More than -O2 makes it no faster.
    std::vector<std::string>& flags = texts.back().flags;
    if (!f.target && options.opt_level >= 2) flags.push_back("-O2");
    if (f.name == kModelFile && weights == Weights::kEmbedded && sources.weights_bytes >= kLargeBytes) {
      for (const std::string& flag : toolchain::frugal_assembler(options.target.cpu.isa, compiler))
        flags.push_back(flag);
    }
  }
  out.path = folder.path() + "/model.so";
  toolchain::CompileOptions linked = options;
  // A static library holds no shared ones.
  if (!options.archive)
    linked.link_flags.insert(linked.link_flags.end(), sources.link_flags.begin(), sources.link_flags.end());
  std::string wrong = toolchain::build_library(texts, linked, folder.path(), out.path);
  if (!wrong.empty()) return uncompiled(std::move(wrong));
  return out;
}

std::vector<std::string> files_of(const std::string& artifact, ArtifactKind kind) {
  const Beside to = beside(artifact, kind);
  std::vector<std::string> files{to.weights, to.header, to.python, artifact};
  std::erase(files, "");
  return files;
}

Result<std::vector<std::string>> write_artifact(const std::string& artifact, ArtifactKind kind,
                                                const Sources& sources, const Contents& library,
                                                Diagnostics& diagnostics) {
  const Beside to = beside(artifact, kind);
  std::vector<FileContents> files;
  if (!to.weights.empty()) files.push_back({to.weights, sources.weights.pieces()});
  if (!to.header.empty()) files.push_back({to.header, sources.header});
  const std::string module = kind.python ? python_module(stem_of(artifact, kind)) : "";
  if (!to.python.empty()) files.push_back({to.python, module});
  files.push_back({artifact, library});  // last: where it is, the others are
  // All of them whole, or none, the last one last.
  Result<std::vector<std::string>> written = paths_of(files, write_files_atomically(files), diagnostics);
  if (written && kind.program && !is_stream(artifact)) make_executable(artifact);
  return written;
}

Result<std::vector<std::string>> build(const Sources& sources, Weights weights,
                                       const toolchain::CompileOptions& options, const std::string& artifact,
                                       Diagnostics& diagnostics) {
  const Result<CompiledFile> made = compile(sources, weights, options, diagnostics);
  if (!made) return kReported;
  return write_artifact(artifact, {weights, options.program}, sources, made->contents(), diagnostics);
}

}  // namespace relay::aot
