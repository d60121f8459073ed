// relay doctor: what this machine has for Relay, and what is missing.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aot/cuda/build.h"
#include "base/cat.h"
#include "base/file.h"
#include "base/parallel.h"
#include "kernel/llvm/machine.h"
#include "target/host.h"
#include "target/instructions.h"
#include "toolchain/compiler.h"
#include "toolchain/library.h"
#include "toolchain/object_cache.h"
#include "toolchain/subprocess.h"
#include "tools/options/options.h"
#include "tools/roofs.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

struct Finding {
  std::string what, found;
  bool ok = true;
};

Finding compiler() {
  toolchain::Compiler c;
  const std::string wrong = toolchain::find_compiler(c);
  return wrong.empty() ? Finding{"C++ compiler", cat(join(c.command, " "), ": ", c.version)}
                       : Finding{"C++ compiler", wrong, false};
}

// Not needed for what runs here, so that nothing is wrong without one.
Finding cross_compiler(target::Isa isa, std::string_view name) {
  toolchain::Compiler c;
  const std::string wrong = toolchain::find_compiler(isa, c);
  return {cat("compiler, ", name),
          wrong.empty() ? cat(join(c.command, " "), ": ", c.version) : cat("none: ", wrong)};
}

Finding llvm() { return {"LLVM", std::string(kernel::llvm::code_generator_version())}; }

// Of generated sources, and of kernels.
Finding cache() {
  const std::string folder = toolchain::ObjectCache::folder_of_environment();
  return {"cache", cat("what was compiled is ", folder.empty() ? "not kept" : "kept in " + folder)};
}

Finding features() {
  const std::string needed = join(target::needs(target::target_of("native").cpu), " ");
  return {"processor features", needed.empty() ? "what every such processor has" : needed};
}

// That numbers of another processor are not used is nothing that is missing.
Finding native_target() {
  const std::string wrong = target::measured_numbers().wrong;
  return {"native target", cat(target::target_of("native").text, wrong.empty() ? "" : "; ", wrong)};
}

// Compiling a model goes through a temporary folder and loads what it made: try just that.
Finding compile_and_load() {
  TemporaryFolder folder;
  std::string wrong = folder.make();
  const std::string path = folder.path() + "/probe.so";
  toolchain::CompileOptions options;
  options.target = target::target_of("native");
  const std::string text =
      "extern \"C\" __attribute__((visibility(\"default\"))) int probe() { return 42; }\n";
  if (wrong.empty()) wrong = toolchain::build_library({{"probe.cc", text}}, options, folder.path(), path);
  toolchain::Library library;
  if (wrong.empty()) wrong = library.open(path);
  if (wrong.empty()) {
    auto probe = reinterpret_cast<int (*)()>(library.find("probe"));
    if (!probe || probe() != 42) wrong = "the compiled probe gives a wrong answer";
  }
  return {"compile and load", wrong.empty() ? "works" : wrong, wrong.empty()};
}

Finding cuda() {
  std::string nvcc;
  const std::string wrong = aot::cuda::find_nvcc(nvcc);
  // Only `--target cuda` needs it.
  return {"CUDA compiler", wrong.empty() ? nvcc : wrong};
}

Finding roofs() {
  Roofs measured;
  const std::string wrong = load_roofs(measured);
  // Nothing is broken without them.
  return {"roofs", wrong.empty() ? "measured, in " + roofs_file() : wrong};
}

void measure(Session& session) {
  Roofs measured;
  {
    Progress progress(session, "measuring");
    std::string wrong = measure_roofs(measured, [&](std::string_view what) { progress.step(what); });
    if (!wrong.empty()) {
      // A full disk is not what this machine lacks.
      const std::string full = cannot_write_temporaries(wrong);
      session.fail(full.empty() ? kUnsupported : kLimit, full.empty() ? wrong : full);
      return;
    }
  }
  session.print(session.json ? json_of(measured) + "\n" : show(measured));
  std::string wrong = save_roofs(measured);
  if (wrong.empty()) wrong = target::save_measured(target::numbers_of_system());
  if (!wrong.empty()) {
    session.fail(kLimit, wrong);
    return;
  }
  session.say(cat("kept in ", roofs_file(), "; sizes of caches for --target native in ",
                  target::measured_file(), "\n"));
}

}  // namespace

void add_doctor(Command app, Session& session) {
  Command sub = app.command("doctor", "say what this machine has for Relay and what is missing");
  auto measures = std::make_shared<bool>(false);
  sub.flag("--measure", measures.get(),
           "measure what the processor and its memory can do at best, and keep it for `bench --profile`; and "
           "keep the sizes of caches for `--target native`");
  sub.action([measures, &session] {
    if (*measures) {
      measure(session);
      return;
    }
    std::vector<Finding> findings{{"cores", cat(usable_cores(), " usable")}, compiler()};
    constexpr bool kX86 = target::kHere == target::Isa::kX86_64;
    findings.push_back(kX86 ? cross_compiler(target::Isa::kAarch64, "aarch64")
                            : cross_compiler(target::Isa::kX86_64, "x86-64"));
    for (Finding (*look)() : {llvm, cache, features, native_target, compile_and_load, roofs, cuda})
      findings.push_back(look());
    nlohmann::ordered_json j = nlohmann::ordered_json::object();
    for (const Finding& f : findings) {
      j[f.what] = {{"found", f.found}, {"ok", f.ok}};
      if (!session.json) session.print(fmt::format("{:<20} {} {}\n", f.what, f.ok ? "ok " : "BAD", f.found));
      if (!f.ok) session.exit_code = kUnsupported;
    }
    if (session.json) session.print_json(j);
  });
}

}  // namespace relay::tools
