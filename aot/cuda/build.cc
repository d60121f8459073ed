#include "aot/cuda/build.h"

#include <cstdlib>

#include "aot/build.h"
#include "aot/embedded.h"
#include "base/cat.h"
#include "base/file.h"
#include "base/parallel.h"
#include "toolchain/compiler.h"
#include "toolchain/subprocess.h"

namespace relay::aot::cuda {
namespace {

constexpr int kMostSeconds = 1800;  // of one run of nvcc

// Compiles the sources side by side, then links. An empty text, or what failed.
std::string compile_in(const std::string& folder, const Sources& sources, const target::Target& target,
                       const CompileOptions& options, const std::string& library) {
  std::string nvcc;
  if (std::string wrong = find_nvcc(nvcc); !wrong.empty()) return wrong;
  // Code for the device, and what later ones translate.
  const std::string arch = cat("arch=compute_", target.gpu->capability, ",code=[sm_", target.gpu->capability,
                               ",compute_", target.gpu->capability, "]");
  std::vector<std::string> flags{
      nvcc, "-std=c++17", "-gencode", arch, "-I.", "-Xcompiler", "-fPIC,-fvisibility=hidden,-fno-exceptions",
      "-O3"};
  if (options.opt_level < 2) flags.push_back("-fmad=false");
  std::vector<std::vector<std::string>> commands;
  std::vector<std::string> link{nvcc, "-shared", "-cudart", "static", "-gencode", arch, "-o", library};
  for (const SourceFile& f : sources.files) {
    if (std::string wrong = write_file_atomically(cat(folder, "/", f.name), f.text); !wrong.empty())
      return wrong;
    if (f.name.ends_with(".h")) continue;
    std::vector<std::string> command = flags;
    command.insert(command.end(), {"-c", f.name, "-o", f.name + ".o"});
    commands.push_back(std::move(command));
    link.push_back(f.name + ".o");
  }
  const auto done = toolchain::run_all(commands, folder, kMostSeconds, usable_cores());
  for (size_t i = 0; i < done.size(); ++i) {
    if (std::string wrong = toolchain::failure(commands[i], done[i]); !wrong.empty()) return wrong;
  }
  if (!options.soname.empty()) link.insert(link.end(), {"-Xlinker", "-soname=" + options.soname});
  link.insert(link.end(), {"-Xlinker", "--as-needed", "-Xlinker", "--no-undefined", "-Xlinker",
                           "--build-id=none", "-lpthread", "-ldl", "-lrt"});
  if (std::string wrong = toolchain::failure(link, toolchain::run(link, folder, kMostSeconds));
      !wrong.empty())
    return wrong;
  return toolchain::made_nothing(link, library);
}

}  // namespace

std::string find_nvcc(std::string& out) {
  static const std::pair<std::string, std::string> found = [] {
    const char* given = std::getenv("RELAY_NVCC");
    const char* home = std::getenv("CUDA_HOME");
    std::vector<std::string> candidates{"nvcc"};
    if (home && *home) candidates.push_back(cat(home, "/bin/nvcc"));
    candidates.push_back("/usr/local/cuda/bin/nvcc");
    if (given && *given) candidates = {given};
    for (const std::string& program : candidates) {
      if (toolchain::run({program, "--version"}, "", 60).exit_code == 0)
        return std::pair(std::string(), program);
    }
    return std::pair(given && *given
                         ? cat("RELAY_NVCC is ", given, ", which cannot be run")
                         : std::string("there is no nvcc: install the CUDA Toolkit, or say where it is "
                                       "by RELAY_NVCC or CUDA_HOME"),
                     std::string());
  }();
  out = found.second;
  return found.first;
}

Result<CompiledFile> compile(const Sources& sources, const target::Target& target,
                             const CompileOptions& options, Diagnostics& diagnostics) {
  const bool embeds = options.weights == Weights::kEmbedded;
  if (std::string wrong = too_large_to_embed(sources.weights_bytes); embeds && !wrong.empty()) {
    diagnostics.error(Span::none(), "cannot-compile", std::move(wrong))
        .note("`relay compile --weights-file` puts them into a file beside the library");
    return kReported;
  }
  CompiledFile out{std::make_unique<TemporaryFolder>(), {}};
  std::string wrong = out.folder->make();
  const std::string& folder = out.folder->path();
  if (wrong.empty() && embeds) wrong = write_weights_beside(folder, sources);
  out.path = folder + "/model.so";
  if (wrong.empty()) wrong = compile_in(folder, sources, target, options, out.path);
  if (wrong.empty()) return out;
  return report_uncompiled(
      std::move(wrong), "`--emit cuda` prints the source without compiling it; the other engines need no GPU",
      diagnostics);
}

Result<std::vector<std::string>> build(const Sources& sources, const target::Target& target,
                                       const CompileOptions& options, const std::string& library,
                                       Diagnostics& diagnostics) {
  const Result<CompiledFile> made = compile(sources, target, options, diagnostics);
  if (!made) return kReported;
  return write_artifact(library, {options.weights}, sources, made->contents(), diagnostics);
}

namespace {

// The emulated GPU is the same for all programs: compiled once in this process.
struct EmulatedGpu {
  TemporaryFolder folder;
  std::string object, wrong;

  EmulatedGpu() {
    wrong = folder.make();
    toolchain::Compiler compiler;
    if (wrong.empty()) wrong = toolchain::find_compiler(compiler);
    const auto put = [&](const char* name, std::string_view text) {
      if (wrong.empty()) wrong = write_file_atomically(cat(folder.path(), "/", name), text);
    };
    put("cuda_emulation.h", kCudaEmulationHeader);
    put("machine.cc", kCudaMachineSource);
    if (!wrong.empty()) return;
    std::vector<std::string> command = compiler.command;
    command.insert(command.end(),
                   {"-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti",
                    "-DRELAY_CUDA_EMULATION", "-c", "machine.cc", "-o", "machine.o"});
    wrong = toolchain::failure(command, toolchain::run(command, folder.path(), 300));
    object = folder.path() + "/machine.o";
  }
};

}  // namespace

std::string build_emulated(const Sources& sources, const std::string& folder, const std::string& library) {
  static const EmulatedGpu gpu;
  if (!gpu.wrong.empty()) return gpu.wrong;
  if (std::string wrong = write_weights_beside(folder, sources); !wrong.empty()) return wrong;
  // What runs once needs no optimisation, which takes longer; and starting a compiler takes as long
  // as compiling a small kernel.
  const std::string host = "-O0", watched = "-fsanitize=thread";
  std::vector<toolchain::Source> texts{{"cuda_emulation.h", std::string(kCudaEmulationHeader)}};
  std::string model;
  for (const SourceFile& f : sources.files) {
    if (f.name.ends_with(".h")) {
      texts.push_back({f.name, f.text});
    } else if (f.name.starts_with("kernels")) {
      texts.push_back({f.name.substr(0, f.name.size() - 3) + ".cc", f.text, {}, {watched}});
    } else {
      model += f.text;
    }
  }
  texts.push_back({"model.cc", model, {}, {host}});
  toolchain::CompileOptions options;
  options.opt_level = 0;  // what takes time is what is watched
  options.compile_flags = {"-DRELAY_CUDA_EMULATION"};
  options.link_flags = {gpu.object};
  return toolchain::build_library(texts, options, folder, library);
}

}  // namespace relay::aot::cuda
