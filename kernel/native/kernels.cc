#include "kernel/native/kernels.h"

#include "base/cat.h"
#include "base/failure.h"
#include "base/file.h"
#include "kernel/execute.h"
#include "kernel/in_place.h"
#include "kernel/print/prelude.h"
#include "kernel/print/print.h"
#include "target/host.h"
#include "toolchain/library.h"

namespace relay::kernel::native {
namespace {

// Bytes of kernels in one file: more leave cores idle, fewer make them compile the prelude
// again and again.
constexpr size_t kBytesPerFile = size_t{24} << 10;

// int32_t relay_call_3(const relay_parallel* p, void* const* b, const int64_t* n): a signature that
// any kernel can have.
std::string entry(const Kernel& k, const print::Printed& printed, size_t number) {
  std::vector<std::string> args{"p"};
  size_t at = 0;
  const auto buffers = [&](const List<const Buffer*>& list, std::string_view qualifier) {
    for (const Buffer* b : list)
      args.push_back(cat("(", qualifier, print::memory_type(b->dtype), "*)b[", at++, "]"));
  };
  buffers(k.inputs, "const ");
  buffers(k.outputs, "");
  buffers(k.temporaries, "");
  const size_t dims = shape_parameters(k).size();
  for (size_t i = 0; i < dims; ++i) args.push_back(cat("n[", i, "]"));
  return cat("extern \"C\" __attribute__((visibility(\"default\"))) int32_t relay_call_", number,
             "(const relay_parallel* p, void* const* b, const int64_t* n) {\n  (void)b, (void)n;\n  return ",
             printed.function, "(", join(args, ", "), ");\n}\n\n");
}

}  // namespace

std::string CompiledKernels::compile(std::span<const Kernel* const> kernels,
                                     const toolchain::CompileOptions& options) {
  if (std::string wrong = target::cannot_run(options.target); !wrong.empty()) return wrong;
  std::vector<toolchain::Source> sources;
  const std::string head = print::prelude(print::kCppDialect);
  entries_.clear();
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i]->external) {
      entries_.push_back({nullptr, {}, kernels[i]});
      continue;
    }
    if (std::string wrong = codegen::cannot_compile(*kernels[i]); !wrong.empty()) return wrong;
    if (sources.empty() || sources.back().text.size() > head.size() + kBytesPerFile) {
      sources.push_back({cat("kernels_", sources.size(), ".cc"), head});
    }
    print::PrintOptions printing{.function = cat("kernel_", i),
                                 .vector_bytes = options.target.cpu.vector_bytes};
    if (options.in_place) printing.shared = sharing_parameters(*kernels[i]);
    const print::Printed printed = print::print(*kernels[i], print::kCppDialect, printing);
    sources.back().text += printed.text + "\n" + entry(*kernels[i], printed, i);
    entries_.push_back({nullptr, printed.messages});
  }
  if (sources.empty()) return {};
  TemporaryFolder folder;
  if (std::string wrong = folder.make(); !wrong.empty()) return wrong;
  const std::string path = folder.path() + "/kernels.so";
  if (std::string wrong = toolchain::build_library(sources, options, folder.path(), path); !wrong.empty())
    return wrong;
  auto library = std::make_shared<toolchain::Library>();
  if (std::string wrong = library->open(path); !wrong.empty()) return wrong;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].external) continue;
    entries_[i].function = reinterpret_cast<Function>(library->find(cat("relay_call_", i)));
    if (!entries_[i].function) return cat("the compiled kernels lack relay_call_", i);
  }
  code_ = std::move(library);
  return {};
}

std::string compile_as_cpp(std::span<const Kernel* const> kernels, const toolchain::CompileOptions& options,
                           CompiledKernels& out) {
  return out.compile(kernels, options);
}

std::vector<relay::Tensor> CompiledKernels::run(size_t i, const Kernel& k,
                                                std::span<const relay::Tensor> inputs,
                                                const relay_parallel* parallel) const {
  const auto variables = bind_shapes(k, inputs);
  std::vector<void*> buffers;
  for (const relay::Tensor& t : inputs) buffers.push_back(const_cast<void*>(t.data()));
  std::vector<relay::Tensor> made;
  for (const auto* list : {&k.outputs, &k.temporaries}) {
    for (const Buffer* b : *list) {
      made.emplace_back(b->dtype, shape_at(memory_shape(*b), variables));
      buffers.push_back(made.back().data());
    }
  }
  std::vector<int64_t> dims;
  for (Expr e : shape_parameters(k)) dims.push_back(variables.at(e.get()));
  if (const int32_t status = call(i, parallel, buffers.data(), dims.data())) throw Trap(message(i, status));
  made.resize(k.outputs.size());
  return made;
}

}  // namespace relay::kernel::native
