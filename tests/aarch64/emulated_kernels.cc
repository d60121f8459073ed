#include "tests/aarch64/emulated_kernels.h"

#include <cstring>
#include <unordered_map>

#include "base/cat.h"
#include "base/file.h"
#include "kernel/codegen/requirements.h"
#include "kernel/execute.h"
#include "kernel/llvm/arithmetic.h"
#include "kernel/llvm/machine.h"
#include "tests/support/program.h"

namespace relay::tests {
namespace {

constexpr const char kCompiler[] = "/usr/bin/aarch64-linux-gnu-g++", kEmulator[] = "/usr/bin/qemu-aarch64";

// Reads the calls of the file in its first argument, and writes what they gave to the second.
constexpr std::string_view kProgram = R"(
struct relay_parallel {
  uint32_t struct_size;
  void* self;
  int32_t (*run)(void*, int64_t, int32_t (*)(void*, int64_t, int64_t), void*);
};
static int32_t serial(void*, int64_t extent, int32_t (*body)(void*, int64_t, int64_t), void* closure) {
  return body(closure, 0, extent);
}
static int64_t number(FILE* in) {
  int64_t n = 0;
  if (fread(&n, sizeof n, 1, in) != 1) exit(3);
  return n;
}
int main(int, char** argv) {
  FILE* in = fopen(argv[1], "rb");
  FILE* out = fopen(argv[2], "wb");
  if (!in || !out) return 2;
  const relay_parallel parallel = {sizeof parallel, nullptr, serial};
  for (Kernel kernel : kKernels) {
    std::vector<int64_t> dims(number(in));
    for (int64_t& d : dims) d = number(in);
    const int64_t inputs = number(in), outputs = number(in), temporaries = number(in);
    std::vector<void*> buffers;
    std::vector<int64_t> sizes;
    for (int64_t i = 0; i < inputs + outputs + temporaries; ++i) {
      sizes.push_back(number(in));
      buffers.push_back(aligned_alloc(64, (sizes.back() + 127) / 64 * 64));
      if (i < inputs && sizes[i] > 0 && fread(buffers[i], sizes[i], 1, in) != 1) return 3;
    }
    const int64_t status = kernel(&parallel, buffers.data(), dims.data());
    fwrite(&status, sizeof status, 1, out);
    for (int64_t i = inputs; i < inputs + outputs; ++i) fwrite(buffers[i], 1, sizes[i], out);
    for (void* b : buffers) free(b);
  }
  return fclose(out);
}
)";

void add_number(std::string& bytes, int64_t n) { bytes.append(reinterpret_cast<const char*>(&n), sizeof n); }

std::string ran(std::vector<std::string> command) {
  const Ended ended = run({.command = std::move(command), .folder = "", .seconds = 600});
  return ended.exit_code == 0
             ? std::string()
             : cat("exit code ", ended.exit_code, ", signal ", ended.signal, "\n", ended.err);
}

class Emulation {
 public:
  explicit Emulation(std::span<const EmulatedCall> calls) : calls_(calls) {
    // At this level nothing is contracted, and sums keep their order: results are those of the
    // executor, to the bit, but for formulas.
    options_.target = target::target_of("aarch64:neon");
    options_.opt_level = 1;
  }

  std::string run(std::vector<EmulatedResult>& results) {
    std::string wrong = folder_.make();
    if (wrong.empty()) wrong = compile();
    if (wrong.empty()) wrong = write_file_atomically(path("in"), inputs());
    if (wrong.empty()) wrong = ran({kEmulator, path("run"), path("in"), path("out")});
    std::string bytes;
    if (wrong.empty()) wrong = read_file(path("out"), uint64_t{1} << 32, bytes);
    if (wrong.empty()) wrong = read_results(bytes, results);
    return wrong;
  }

 private:
  std::string path(std::string_view name) const { return cat(folder_.path(), "/", name); }

  std::string compile() {
    std::string table, declared, objects;
    for (size_t i = 0; i < calls_.size(); ++i) {
      kernel::llvm::Emitted code;
      std::string object;
      std::string wrong = code.make(*calls_[i].kernel, cat("kernel_", i), options_);
      if (wrong.empty()) wrong = code.compile(options_, object);
      if (wrong.empty()) wrong = write_file_atomically(path(cat(i, ".o")), object);
      if (!wrong.empty()) return cat(calls_[i].name, ": ", wrong);
      declared +=
          cat("extern \"C\" int32_t kernel_", i, "(const relay_parallel*, void* const*, const int64_t*);\n");
      table += cat("kernel_", i, ", ");
      objects += path(cat(i, ".o")) + "\n";
    }
    // No kernel here has them.
    for (const kernel::llvm::Helper& h : kernel::llvm::kHelpers)
      declared += cat("extern \"C\" void ", h.name, "() { abort(); }\n");
    const std::string text =
        cat("#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <vector>\n",
            "struct relay_parallel;\n", declared,
            "typedef int32_t (*Kernel)(const relay_parallel*, void* const*, const int64_t*);\n",
            "static const Kernel kKernels[] = {", table, "};\n", kProgram);
    std::string wrong = write_file_atomically(path("main.cc"), text);
    if (wrong.empty()) wrong = write_file_atomically(path("objects"), objects);
    if (!wrong.empty()) return wrong;
    return ran({kCompiler, "-std=c++17", "-O1", "-static", path("main.cc"), cat("@", path("objects")), "-o",
                path("run")});
  }

  std::string inputs() {
    std::string out;
    for (const EmulatedCall& c : calls_) {
      const kernel::Kernel& k = *c.kernel;
      const auto variables = kernel::bind_shapes(k, c.inputs);
      const std::vector<kernel::Expr> parameters = kernel::shape_parameters(k);
      add_number(out, static_cast<int64_t>(parameters.size()));
      for (kernel::Expr e : parameters) add_number(out, variables.at(e.get()));
      for (const size_t n : {k.inputs.size(), k.outputs.size(), k.temporaries.size()})
        add_number(out, static_cast<int64_t>(n));
      for (const Tensor& t : c.inputs) {
        add_number(out, static_cast<int64_t>(t.bytes()));
        out.append(static_cast<const char*>(t.data()), t.bytes());
      }
      for (const auto* list : {&k.outputs, &k.temporaries}) {
        for (const kernel::Buffer* b : *list)
          add_number(out, static_cast<int64_t>(made(*b, variables).bytes()));
      }
    }
    return out;
  }

  static Tensor made(const kernel::Buffer& b,
                     const std::unordered_map<const kernel::ExprNode*, int64_t>& at) {
    return {b.dtype, kernel::shape_at(kernel::memory_shape(b), at)};
  }

  std::string read_results(std::string_view bytes, std::vector<EmulatedResult>& results) {
    for (const EmulatedCall& c : calls_) {
      const kernel::Kernel& k = *c.kernel;
      int64_t status = 0;
      if (bytes.size() < sizeof status) return cat(c.name, ": the emulated program gave no result");
      std::memcpy(&status, bytes.data(), sizeof status);
      bytes.remove_prefix(sizeof status);
      EmulatedResult& r = results.emplace_back();
      if (status != 0) r.trap = kernel::codegen::requirements(k).at(static_cast<size_t>(status - 1));
      const auto variables = kernel::bind_shapes(k, c.inputs);
      for (const kernel::Buffer* b : k.outputs) {
        Tensor t = made(*b, variables);
        if (bytes.size() < t.bytes()) return cat(c.name, ": the emulated program gave too little");
        std::memcpy(t.data(), bytes.data(), t.bytes());
        bytes.remove_prefix(t.bytes());
        r.outputs.push_back(std::move(t));
      }
    }
    return {};
  }

  std::span<const EmulatedCall> calls_;
  toolchain::CompileOptions options_;
  TemporaryFolder folder_;
};

}  // namespace

std::string run_emulated(std::span<const EmulatedCall> calls, std::vector<EmulatedResult>& results) {
  return Emulation(calls).run(results);
}

}  // namespace relay::tests
