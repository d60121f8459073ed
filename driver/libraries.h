// Where the C functions of external kernels come from: libraries for runs in this process, and
// files that artifacts are linked with.
//
// Only files that the caller names are ever loaded, run or linked.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "aot/program.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/module.h"
#include "toolchain/compiler.h"

namespace relay::driver {

// --- runs ----------------------------------------------------------------------------------------

// The module with the functions for its external kernels, from the shared libraries of these paths:
// the first that has it. Libraries stay in this process until it ends. Reports "file-unreadable",
// and "unresolved-symbol" for each function of a kernel that @function reaches (of any kernel, if
// that is empty) and no library has.
Result<Module> with_libraries(const Module& m, std::string_view function,
                              const std::vector<std::string>& paths, Diagnostics& diagnostics);

// How a library that is opened in this process is linked with those that the program's kernels have
// their functions from. Returns what is wrong, or an empty text: a kernel has none. The library
// itself has the functions that are `defined`.
[[nodiscard]] std::string link_here(const aot::Program& program, const std::set<std::string>& defined,
                                    toolchain::CompileOptions& options);

// By the path's name: X.so, or X.so.1 with a version.
bool is_shared_library(const std::string& path);

// --- artifacts -----------------------------------------------------------------------------------

// Objects and archives become part of the artifact, and so does what C and C++ files are
// compiled to; shared libraries are looked for beside it. Returns what is wrong with a path,
// or an empty text.
[[nodiscard]] std::string link_with(const std::vector<std::string>& paths,
                                    toolchain::CompileOptions& options);

// Reports "unresolved-symbol" for an artifact that could not be linked, or will not be: nothing to
// link with was given. False if `why` (what the linker said) names no function of the program's.
// The artifact itself has the functions that are `defined`.
bool report_unresolved(const aot::Program& program, const std::set<std::string>& defined,
                       std::string_view why, Diagnostics& diagnostics);

// The shared libraries among the paths, by their names: what must be there when the
// artifact is loaded.
std::vector<std::string> needed_at_run_time(const std::vector<std::string>& paths);

}  // namespace relay::driver
