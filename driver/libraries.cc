#include "driver/libraries.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/cat.h"
#include "base/file.h"
#include "ir/reachable.h"

namespace relay::driver {
namespace {

namespace fs = std::filesystem;

std::string absolute(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

// --- runs ----------------------------------------------------------------------------------------

struct Opened {
  std::string path;
  void* handle;
};

// It is never unloaded: what its functions have given away may be anywhere. A path without a slash
// would be searched for.
std::string open(const std::string& path, Opened& out) {
  out.path = absolute(path);
  // The loader would wait for a pipe's writer.
  if (is_stream(out.path)) return cat("cannot load the library ", path, ": it is not a regular file");
  out.handle = dlopen(out.path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (out.handle) return {};
  const char* why = dlerror();
  return cat("cannot load the library ", path, ": ", why ? why : "unknown reason");
}

// In the library itself: those that it depends on were not named.
void* find(const Opened& library, std::string_view symbol) {
  void* address = dlsym(library.handle, std::string(symbol).c_str());
  link_map* here = nullptr;
  Dl_info info;
  if (address == nullptr || dlinfo(library.handle, RTLD_DI_LINKMAP, &here) != 0 ||
      dladdr(address, &info) == 0)
    return nullptr;
  return std::string_view(info.dli_fname) == here->l_name ? address : nullptr;
}

Diagnostic& unresolved(const kernel::Kernel& k, std::string_view why, Diagnostics& diagnostics) {
  return diagnostics.error(
      Span::none(), "unresolved-symbol",
      cat("kernel @", k.name.text(), " is the C function `", k.external->symbol.text(), "`, ", why));
}

// --- artifacts -----------------------------------------------------------------------------------

// Do GNU's linkers or LLVM's say that nothing has it?
bool is_missed(std::string_view said, std::string_view symbol) {
  for (const std::string& words :
       {cat("`", symbol, "'"), cat("'", symbol, "'"), cat("undefined symbol: ", symbol, "\n")}) {
    if (said.find(words) != std::string_view::npos) return true;
  }
  return false;
}

// By its name alone, so that the artifact looks for that, and not for a path of this machine.
void link_shared(const std::string& path, const std::string& looked_for_in, std::vector<std::string>& flags) {
  const fs::path whole = absolute(path);
  flags.insert(flags.end(), {"-L" + whole.parent_path().string(), "-l:" + whole.filename().string(),
                             "-Xlinker", "-rpath", "-Xlinker", looked_for_in});
}

}  // namespace

bool is_shared_library(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return std::string_view(name).substr(0, name.find_last_not_of("0123456789.") + 1).ends_with(".so");
}

Result<Module> with_libraries(const Module& m, std::string_view function,
                              const std::vector<std::string>& paths, Diagnostics& diagnostics) {
  std::vector<Opened> libraries(paths.size());
  const size_t errors = diagnostics.errors();
  for (size_t i = 0; i < paths.size(); ++i) {
    if (std::string wrong = open(paths[i], libraries[i]); !wrong.empty())
      diagnostics.error(Span::none(), "file-unreadable", std::move(wrong));
  }
  if (diagnostics.errors() > errors) return kReported;
  const std::set<Symbol> reachable = function.empty() ? std::set<Symbol>() : reachable_from(m, function);
  Module out = m;
  for (const auto& [name, k] : m.kernels()) {
    if (!k->external) continue;
    kernel::External external = *k->external;
    for (size_t i = 0; i < libraries.size() && !external.function; ++i) {
      external.function = find(libraries[i], external.symbol.text());
      if (external.function) external.library = m.context().symbol(libraries[i].path);
    }
    if (external.function) {
      kernel::Kernel bound = *k;
      bound.external = m.context().arena().make<kernel::External>(external);
      out.set_kernel(name.text(), m.context().arena().make<kernel::Kernel>(bound));
    } else if (function.empty() || reachable.contains(name)) {
      unresolved(*k,
                 paths.empty()
                     ? std::string("and no library was named")
                     : cat("which ", join(paths, ", "), paths.size() == 1 ? " has not" : " have not"),
                 diagnostics)
          .note("name the shared library that has it with --library");
    }
  }
  if (diagnostics.errors() > errors) return kReported;
  return out;
}

std::string link_here(const aot::Program& program, const std::set<std::string>& defined,
                      toolchain::CompileOptions& options) {
  std::set<std::string> linked;
  for (const kernel::Kernel* k : program.kernels) {
    if (!k->external || defined.contains(k->external->symbol.str())) continue;
    const std::string path = k->external->library.str();
    if (path.empty())
      return cat("no library was given that has the C function `", k->external->symbol.text(), "`");
    if (linked.insert(path).second)
      link_shared(path, fs::path(path).parent_path().string(), options.link_flags);
  }
  return {};
}

std::string link_with(const std::vector<std::string>& paths, toolchain::CompileOptions& options) {
  bool any_archive = false;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return cat("there is no file ", path);
    if (is_shared_library(path)) {
      link_shared(path, "$ORIGIN", options.link_flags);
    } else if (path.ends_with(".c") || path.ends_with(".cc")) {
      options.along.push_back(absolute(path));
    } else if (path.ends_with(".o") || path.ends_with(".a")) {
      options.link_flags.push_back(absolute(path));
      any_archive |= path.ends_with(".a");
    } else {
      return cat(path, " is no .so, .a, .o, .c or .cc");
    }
  }
  // What archives define is no part of the artifact's interface.
  if (any_archive) options.link_flags.insert(options.link_flags.begin(), "-Wl,--exclude-libs,ALL");
  return {};
}

bool report_unresolved(const aot::Program& program, const std::set<std::string>& defined,
                       std::string_view why, Diagnostics& diagnostics) {
  const size_t errors = diagnostics.errors();
  std::set<std::string> said;
  for (const kernel::Kernel* k : program.kernels) {
    if (!k->external || defined.contains(k->external->symbol.str()) ||
        !said.insert(k->external->symbol.str()).second ||
        (!why.empty() && !is_missed(why, k->external->symbol.text())))
      continue;
    unresolved(
        *k,
        why.empty() ? "and nothing was given to link with" : "which nothing that was given to link with has",
        diagnostics)
        .note("name the .a, .o, .so, .c or .cc that has it with --link");
  }
  return diagnostics.errors() > errors;
}

std::vector<std::string> needed_at_run_time(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    if (is_shared_library(path)) out.push_back(fs::path(path).filename().string());
  }
  return out;
}

}  // namespace relay::driver
