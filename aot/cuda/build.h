// build: CUDA source to a library, by nvcc, or by the system's C++ compiler with the
// emulation of a GPU.
#pragma once

#include <string>
#include <vector>

#include "aot/build.h"
#include "aot/emit.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "target/target.h"

namespace relay::aot::cuda {

// $RELAY_NVCC, else `nvcc` in PATH, of $CUDA_HOME, or of /usr/local/cuda. Looked for once. Returns
// what to do if there is none, or an empty text.
[[nodiscard]] std::string find_nvcc(std::string& out);

struct CompileOptions {
  int opt_level = 2;        // at 0 and 1 multiplication and addition are not contracted
  std::string soname = {};  // of the library; empty: none
  Weights weights = Weights::kEmbedded;
};

// Compiles and links by nvcc: the library, which needs the C library and the driver.
// Reports "cannot-compile".
Result<CompiledFile> compile(const Sources& sources, const target::Target& target,
                             const CompileOptions& options, Diagnostics& diagnostics);

// Writes NAME.so, NAME.h and, if the weights are a file, NAME.safetensors, for `library` =
// DIR/NAME.so: all whole or none. Returns their paths. Reports "cannot-compile" and
// "file-unwritable".
Result<std::vector<std::string>> build(const Sources& sources, const target::Target& target,
                                       const CompileOptions& options, const std::string& library,
                                       Diagnostics& diagnostics);

// The same text as a library that runs on the CPU, at `library`, for which the folder must exist;
// weights that are a file are the caller's to write. Returns what went wrong, or
// an empty text.
[[nodiscard]] std::string build_emulated(const Sources& sources, const std::string& folder,
                                         const std::string& library);

}  // namespace relay::aot::cuda
