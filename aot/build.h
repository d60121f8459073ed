// build: sources to the files that a user deploys.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aot/emit.h"
#include "base/diagnostics.h"
#include "base/file.h"
#include "base/result.h"
#include "toolchain/compiler.h"

namespace relay::aot {

// Why weights of so many bytes cannot be a part of a library, as a sentence; empty if they can.
// Code reaches everything in its library over distances of 31 bits.
std::string too_large_to_embed(uint64_t weights_bytes);

// The paths of files that were written; where something is `wrong` with that, it is reported as
// "file-unwritable".
Result<std::vector<std::string>> paths_of(const std::vector<FileContents>& files, std::string wrong,
                                          Diagnostics& diagnostics);

// Reports why nothing was compiled: "file-unwritable" if temporary files cannot be written, which a
// compiler takes for an error of its own; else "cannot-compile" with the note.
Reported report_uncompiled(std::string wrong, std::string note, Diagnostics& diagnostics);

// NAME of DIR/NAME.so, DIR/NAME.a, or of a program DIR/NAME: what the files beside it
// are called after.
std::string name_of(const std::string& artifact);

// A library or program that was compiled: a file in a folder that goes with this.
struct CompiledFile {
  std::unique_ptr<TemporaryFolder> folder;
  std::string path;
  Contents contents() const { return Contents::of_file(path); }
};

// Writes what sources expect beside them: the embedded weights. Returns what is wrong, or an empty
// text.
[[nodiscard]] std::string write_weights_beside(const std::string& folder, const Sources& sources);

// Compiles and links the sources: the library, or the program if the options say that it is one.
// Reports "cannot-compile", before anything is compiled if the weights are too large for where they
// are to be.
Result<CompiledFile> compile(const Sources& sources, Weights weights,
                             const toolchain::CompileOptions& options, Diagnostics& diagnostics);

struct ArtifactKind {
  Weights weights = Weights::kEmbedded;
  bool program = false;  // it has no header then
  bool python = false;   // a library with a module of Python beside it
};
// The paths of an artifact's files, in the order in which they are written. A device or a pipe has
// nothing beside it.
std::vector<std::string> files_of(const std::string& artifact, ArtifactKind kind);
// Writes NAME.so, NAME.h, if the weights are a file, NAME.safetensors, and perhaps NAME.py, for
// `artifact` = DIR/NAME.so, which is to hold these: all of them whole, or none. Returns their
// paths. Reports "file-unwritable".
Result<std::vector<std::string>> write_artifact(const std::string& artifact, ArtifactKind kind,
                                                const Sources& sources, const Contents& library,
                                                Diagnostics& diagnostics);

// Compiles an artifact and writes it. A source without a target is compiled for that of the
// options, so leave it at its default: any processor. Reports "cannot-compile" and
// "file-unwritable".
Result<std::vector<std::string>> build(const Sources& sources, Weights weights,
                                       const toolchain::CompileOptions& options, const std::string& artifact,
                                       Diagnostics& diagnostics);

}  // namespace relay::aot
