#include "kernel/llvm/compile.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/cat.h"
#include "base/escape.h"
#include "base/fields.h"
#include "base/parallel.h"
#include "kernel/codegen/requirements.h"
#include "kernel/codegen/working_copy.h"
#include "kernel/llvm/description.h"
#include "kernel/llvm/generator_stamp.inc"
#include "kernel/llvm/machine.h"
#include "target/host.h"
#include "target/instructions.h"
#include "toolchain/fingerprint.h"
#include "toolchain/object_cache.h"

namespace relay::kernel::llvm {
namespace {

// Kernels that differ in names alone are one piece of code.
struct Job {
  const Kernel* kernel;
  size_t size;  // of the kernel's description: how long it will take, roughly
  std::string key, object, wrong;
};

// Everything but the kernel that decides what the code is.
std::string settings(const toolchain::CompileOptions& options) {
  const target::Cpu& cpu = options.target.cpu;
  const target::LlvmNames names = target::llvm_names(cpu);
  std::string features;
  for_each_field(cpu.features, [&](bool has) { features += has ? '1' : '0'; });
  return cat(kGeneratorStamp, "\n", code_generator_version(), "\n", names.triple, " ", names.processor, " ",
             names.features, " ", names.vector_width, " ", cpu.vector_bytes, " ", features, "\n",
             std::clamp(options.opt_level, 0, 2), options.in_place ? " in place" : "", "\n");
}

std::string entry_of(const std::string& key) { return "relay_kernel_" + key; }

void compile_missing(std::vector<Job*>& jobs, const toolchain::CompileOptions& options,
                     const toolchain::ObjectCache& cache) {
  // The longest first, so that no thread is left alone with one of them.
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job* a, const Job* b) { return a->size > b->size; });
  for_each_at_once(jobs.size(), usable_cores(), [&](size_t i) {
    Job& job = *jobs[i];
    Emitted code;
    job.wrong = code.make(*job.kernel, entry_of(job.key), options);
    if (job.wrong.empty()) job.wrong = code.compile(options, job.object);
    if (job.wrong.empty()) cache.store(job.key, job.object);
  });
}

}  // namespace

std::string compile(std::span<const Kernel* const> kernels, const toolchain::CompileOptions& options,
                    native::CompiledKernels& out) {
  if (std::string wrong = target::cannot_run(options.target); !wrong.empty()) return wrong;
  const std::string same = settings(options);
  const toolchain::ObjectCache cache;
  std::map<std::string, Job> jobs;
  std::vector<Job*> of_kernel, missing;
  for (const Kernel* k : kernels) {
    if (k->external) {  // it is compiled already
      of_kernel.push_back(nullptr);
      continue;
    }
    // Also what describes a kernel recurses over it.
    if (std::string wrong = codegen::cannot_compile(*k); !wrong.empty()) return wrong;
    const std::string description = describe(*k);
    const std::string key = toolchain::fingerprint(same + description);
    const auto [it, fresh] = jobs.try_emplace(key, Job{k, description.size(), key, {}, {}});
    of_kernel.push_back(&it->second);
    if (fresh && !cache.load(key, it->second.object)) missing.push_back(&it->second);
  }
  if (!missing.empty()) {
    compile_missing(missing, options, cache);
    cache.trim();
  }
  auto linked = std::make_shared<Linked>();
  if (std::string wrong = linked->start(); !wrong.empty()) return wrong;
  for (auto& [key, job] : jobs) {
    if (!job.wrong.empty()) return job.wrong;
    if (std::string wrong = linked->add(job.object, key); !wrong.empty()) return wrong;
  }
  std::vector<native::CompiledKernels::Entry> entries;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i]->external) {
      entries.push_back({nullptr, {}, kernels[i]});
      continue;
    }
    void* address = nullptr;
    if (std::string wrong = linked->find(entry_of(of_kernel[i]->key), address); !wrong.empty())
      return cat("kernel ", kernels[i]->name.text(), " cannot be linked: ", wrong);
    entries.push_back(
        {reinterpret_cast<native::CompiledKernels::Function>(address), codegen::requirements(*kernels[i])});
  }
  out = native::CompiledKernels(std::move(entries), std::move(linked));
  return {};
}

std::string show_instructions(const Kernel& k, const toolchain::CompileOptions& options, std::string& out) {
  if (k.external) {
    const std::string_view symbol = k.external->symbol.text();
    out = line_comment(";", cat("kernel ", k.name.text(), " is the C function `", symbol, "`")) + "\n";
    return {};
  }
  Emitted code;
  if (std::string wrong = code.make(k, c_identifier(k.name.text()), options); !wrong.empty()) return wrong;
  out = code.text();
  return {};
}

}  // namespace relay::kernel::llvm
