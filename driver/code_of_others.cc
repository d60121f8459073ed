#include "driver/code_of_others.h"

#include <algorithm>
#include <vector>

#include "analysis/external_functions.h"
#include "aot/build.h"
#include "base/file.h"
#include "driver/libraries.h"
#include "passes/expand_grad.h"
#include "toolchain/compiler.h"

namespace relay::driver {
namespace {

// The code as a library of this process. It stays until the process ends, so its file may go.
Result<Module> loaded(const Module& m, std::string_view function, const aot::ExternalCode& code,
                      const Options& options, Diagnostics& diagnostics) {
  TemporaryFolder folder;
  const auto refuse = [&](std::string wrong) {
    return aot::report_uncompiled(
        std::move(wrong), "the engines `interp` and `jit` run the functions by their bodies", diagnostics);
  };
  if (std::string wrong = folder.make(); !wrong.empty()) return refuse(std::move(wrong));
  const std::string library = folder.path() + "/others.so";
  std::vector<toolchain::Source> sources;
  for (const aot::ExternalCode::File& f : code.files)
    sources.push_back({.name = f.name, .text = f.text, .of_others = true});
  toolchain::CompileOptions compile;
  compile.opt_level = options.opt_level;
  compile.compile_flags = {"-fvisibility=default"};  // the functions are looked up by their names
  compile.link_flags = code.link_flags;
  if (std::string wrong = toolchain::build_library(sources, compile, folder.path(), library); !wrong.empty())
    return refuse(std::move(wrong));
  return with_libraries(m, function, {library}, diagnostics);
}

}  // namespace

Module with_code_of_others(Module checked, std::string_view function, aot::ExternalCode& code,
                           Diagnostics& kept) {
  const auto asks = [](const auto& f) { return f.second->attrs.find(analysis::kCompiler) != nullptr; };
  if (std::none_of(checked.functions().begin(), checked.functions().end(), asks)) return checked;
  // A body has a gradient, and what a generator makes of it has none. What cannot be differentiated
  // is reported where the passes run.
  Diagnostics ignored;
  const Result<Module> known = passes::without_grad(checked, ignored);
  return known ? aot::with_external_code(*known, function, code, kept) : checked;
}

Result<Module> with_loaded_code(const Module& checked, std::string_view function, const Options& options,
                                Diagnostics& kept, Diagnostics& diagnostics) {
  aot::ExternalCode code;
  const Module m = with_code_of_others(checked, function, code, kept);
  return code.empty() ? m : loaded(m, function, code, options, diagnostics);
}

}  // namespace relay::driver
