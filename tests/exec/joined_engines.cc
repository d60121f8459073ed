#include "tests/exec/joined_engines.h"

#include <gtest/gtest.h>

#include <memory>

#include "aot/cuda/build.h"
#include "aot/emit.h"
#include "base/cat.h"
#include "driver/artifact.h"
#include "driver/emitted.h"
#include "driver/results.h"
#include "tests/support/joined_artifacts.h"
#include "toolchain/compiler.h"

namespace relay::tests {
namespace {

// A function whose library is made.
struct Item {
  std::string function;
  driver::Emitted emitted;
};

bool is_gpu(const driver::EngineAt& at) { return at.engine->name == "aot-cuda"; }

// Returns what is wrong, or an empty text.
std::string build_library(const std::vector<Item>& items, bool gpu, const std::string& folder,
                          const std::string& library) {
  std::vector<const aot::Sources*> sources;
  for (const Item& item : items) sources.push_back(&item.emitted.sources);
  const aot::Sources all = joined(sources, gpu ? kernel::print::kCudaDialect : kernel::print::kCppDialect);
  if (gpu) return aot::cuda::build_emulated(all, folder, library);
  if (std::string wrong = aot::write_weights_beside(folder, all); !wrong.empty()) return wrong;
  toolchain::CompileOptions compile = items.front().emitted.compile;
  for (const Item& item : items) {
    const auto& flags = item.emitted.compile.link_flags;
    if (&item != &items.front())
      compile.link_flags.insert(compile.link_flags.end(), flags.begin(), flags.end());
  }
  // What runs a few times needs no optimisation. Kernels do: they call a function for each
  // operation otherwise, and some have many. exec_levels has the options of artifacts.
  compile.compile_flags = {"-w"};
  std::vector<toolchain::Source> texts;
  for (const aot::SourceFile& f : all.files)
    texts.push_back({f.name, f.text, f.target, {f.name.starts_with("kernels_") ? "-O2" : "-O0"}});
  return toolchain::build_library(texts, compile, folder, library);
}

driver::Prepared opened(const Module& m, const std::string& library, size_t number, Item item, int threads) {
  const auto artifact = std::make_shared<driver::Artifact>();
  if (std::string wrong = artifact->open(library, static_cast<unsigned>(threads), joined_entry(number));
      !wrong.empty())
    return {{}, std::move(wrong)};
  const auto program = std::make_shared<aot::Program>(std::move(*item.emitted.program));
  return {driver::with_compared_result(m, item.function, [artifact, program](const std::vector<Value>& args) {
    return driver::outcome_of([&] { return artifact->run(*program, args); });
  })};
}

}  // namespace

void JoinedEngines::build(const driver::EngineAt& at, const driver::Options& options, Library& out) const {
  std::vector<Item> items;
  std::map<std::string, driver::Prepared> prepared;
  for (const std::string& function : functions_) {
    auto emit = is_gpu(at) ? driver::emit_aot_cuda : driver::emit_aot;
    driver::Emitted emitted = emit(program_.module(), function, options);
    if (emitted.program)
      items.push_back({function, std::move(emitted)});
    else
      prepared.emplace(function, driver::Prepared{{}, emitted.skipped, emitted.refusal});
  }
  const std::string library = out.folder.path() + "/model.so";
  if (std::string wrong; !items.empty()) {
    wrong = build_library(items, is_gpu(at), out.folder.path(), library);
    if (!wrong.empty()) {
      ADD_FAILURE() << program_.path() << ": no library of all functions for " << at.engine->name << ": "
                    << wrong;
      return;
    }
  }
  const int threads = is_gpu(at) ? 1 : options.threads;
  for (size_t i = 0; i < items.size(); ++i)
    prepared.emplace(items[i].function, opened(program_.module(), library, i, items[i], threads));
  out.prepared = std::move(prepared);
}

driver::Prepared JoinedEngines::prepare(const driver::EngineAt& at, const std::string& function,
                                        const driver::Options& options) {
  if (at.engine->name.starts_with("aot-") && functions_.size() > 1) {
    const auto [it, fresh] = libraries_.try_emplace({at.engine->name, at.level});
    Library& library = it->second;
    if (fresh && library.folder.make().empty()) build(at, options, library);
    if (const auto found = library.prepared.find(function); found != library.prepared.end())
      return found->second;
  }
  return at.engine->prepare(program_.module(), function, options);
}

}  // namespace relay::tests
