#include "aot/cuda/emit.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "aot/cuda/device_library.h"
#include "aot/embedded.h"
#include "aot/kernel_files.h"
#include "aot/ports.h"
#include "aot/weights.h"
#include "base/cat.h"
#include "base/escape.h"
#include "base/json_text.h"
#include "ir/analysis.h"
#include "kernel/print/print.h"
#include "passes/in_place.h"

namespace relay::aot::cuda {
namespace {

using passes::Plan;
using passes::PlanStep;
using passes::PlanValue;
using passes::Storage;

constexpr uint64_t kPieceAlignment = 256;  // of each piece of the device's memory
constexpr uint64_t kMostBlocks = 0x7fffffff;

uint64_t aligned(uint64_t bytes) { return (bytes + kPieceAlignment - 1) / kPieceAlignment * kPieceAlignment; }

uint64_t bytes_of(const TensorType& t) {
  return static_cast<uint64_t>(*element_count(*t.static_shape())) * t.dtype.bytes();
}

constexpr std::string_view kPlanRun = R"(// A run: where things are, and how it went.
struct Run {
  cudaStream_t stream;
  unsigned char *weights, *workspace;
  int32_t* failures;  // a word a step
  const Stop* stop;
  unsigned char *inputs[kInputCount + 1], *outputs[kOutputCount + 1];
  cudaError_t error = cudaSuccess;
  int32_t stopped = 0;  // what `stop` said, if that ended the run
};
)";

// nvcc remarks upon functions of aot/support that a program does not need (177), and upon loops
// over the tables of a model that has none of something, which compare with 0 (186).
constexpr std::string_view kIncludes = R"(#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <new>

#ifdef __NVCC__
#pragma nv_diag_suppress 177, 186
#endif
#define RELAY_EXPORT __attribute__((visibility("default")))

)";

// Functions over values: how many kernels that may fail run before the host looks at what became of
// them, and what the workspace of a context takes, which cuda_values.cc asserts.
constexpr uint64_t kFailureWords = 1024, kWorkspaceBytes = 16384;

class Emitter {
 public:
  Emitter(const Program& program, const target::Target& target, const EmitOptions& options)
      : program_(program),
        plan_(program.plan),
        target_(target),
        options_(options),
        extents_(plan_.inputs, plan_.outputs) {
    for (const kernel::Kernel* k : program.kernels) kernels_.emplace(k->name, k);
    // Equal constants are one; on the device each begins where a thread may load 16 bytes.
    layout_ = lay_out_weights(plan_.constants);
    std::map<uint64_t, uint64_t> places;  // on the device, by that in the file
    for (size_t i = 0; i < plan_.constants.size(); ++i) {
      const uint64_t bytes = plan_.constants[i].bytes();
      if (bytes == 0) {  // it lies in the file where another constant begins
        constants_.push_back(0);
        continue;
      }
      const auto [it, fresh] = places.emplace(layout_.offsets[i], device_weights_);
      constants_.push_back(it->second);
      if (!fresh) continue;
      weights_.push_back({layout_.offsets[i], bytes, device_weights_});
      device_weights_ += aligned(bytes);
    }
    if (has_values()) {
      failures_ = take(kFailureWords * sizeof(int32_t));
      return;
    }
    memory_ = aligned(plan_.workspace_bytes);
    for (const passes::PlanPort& p : plan_.inputs) input_places_.push_back(take(bytes_of(*p.type)));
    for (const passes::PlanPort& p : plan_.outputs) output_places_.push_back(take(bytes_of(*p.type)));
    failures_ = take(plan_.steps.size() * sizeof(int32_t));
  }

  // What no GPU can run; empty if there is no such thing.
  std::string run(Sources& out) {
    KernelNames names;
    passes::SharedParameters shared = passes::shared_parameters(plan_, plan_.in_place);
    for (const auto& [name, kernel] : kernels_) printed_.emplace(name, print(*kernel, names, shared[kernel]));
    for (const auto& [name, p] : printed_) {
      for (const kernel::print::Launch& l : p.launches) {
        const kernel::Expr blocks = l.extents[0];
        if (blocks && blocks->kind == kernel::ExprKind::kInt && extent(l, 0) > kMostBlocks)
          return cat("kernel ", name.text(), " would need a grid of ", extent(l, 0),
                     " blocks, and there are ", kMostBlocks, " at most");
      }
    }
    out.description = description();
    out.kernels = kernels_.size();
    out.weights_bytes = layout_.bytes;
    out.workspace_bytes = has_values() ? kWorkspaceBytes : plan_.workspace_bytes;
    out.workspace_grows = has_values();
    out.header = header();
    out.weights = is_file() ? layout_.file() : layout_.section();
    out.files.push_back({"relay.h", std::string(kRelayHeader)});
    out.files.push_back({"dlpack.h", std::string(kDlpackHeader)});
    out.files.push_back({"kernels.h", kernels_header()});
    add_kernel_sources(out.files);
    out.files.push_back({"model.cu", model_source(out.description)});
    if (!is_file()) out.files.push_back({"weights.cc", embed_weights(kWeightsSource)});
    return {};
  }

 private:
  struct Weight {
    uint64_t from, bytes, at;  // in the data, and in the device's memory
  };

  // Launches are named after their kernel, with numbers where there are several.
  kernel::print::Printed print(const kernel::Kernel& k, KernelNames& names, const std::set<size_t>& shared) {
    const auto is_free = [&](const kernel::print::Launch& l) { return !launches_.contains(l.function); };
    kernel::print::Printed out;
    do {
      out = kernel::print::print(k, kernel::print::kCudaDialect,
                                 {.function = names.name(k.name), .shared = shared});
    } while (!std::all_of(out.launches.begin(), out.launches.end(), is_free));
    for (const kernel::print::Launch& l : out.launches) launches_.insert(l.function);
    return out;
  }

  uint64_t take(uint64_t bytes) {
    const uint64_t at = memory_;
    memory_ += aligned(bytes);
    return at;
  }

  static uint64_t extent(const kernel::print::Launch& l, size_t index) {
    const kernel::Expr e = l.extents[index];
    return e ? static_cast<uint64_t>(kernel::evaluate(e, {}).value()) : 1;
  }

  std::string description() const {
    nlohmann::ordered_json d = describe_ports(options_.model_name, plan_, plan_.in_place);
    if (has_values()) aot::describe(program_.interface, d);
    if (!options_.bounds.empty()) d["bounds"] = options_.bounds;
    d["workspace_bytes"] = has_values() ? kWorkspaceBytes : plan_.workspace_bytes;
    d["weights_bytes"] = layout_.bytes;
    d["weights"] = is_file() ? options_.model_name + ".safetensors" : "embedded";
    d["kernels"] = kernels_.size();
    d["target"] = target_.text;
    d["features"] = nlohmann::ordered_json::array();
    d["opt_level"] = options_.opt_level;
    d["threads"] = 1;
    d["licence"] = options_.licence;
    return json_text(d);
  }

  std::string header() const {
    return print_header(cat("How to use ", options_.model_name, ", which Relay compiled for ", target_.text),
                        plan_, plan_.in_place,
                        has_values() ? list_types(program_.interface) : std::vector<std::string>());
  }
  bool is_file() const { return options_.weights == Weights::kFile; }
  bool has_values() const { return !program_.functions.empty(); }

  static std::string include_cuda() {
    return "#ifdef RELAY_CUDA_EMULATION\n#include \"cuda_emulation.h\"\n#else\n#include "
           "<cuda_runtime.h>\n#endif\n";
  }

  // Kernels are named by launches: one for each outermost statement.
  std::string kernels_header() const {
    std::string out =
        "// The kernels of the model. Generated by Relay.\n#pragma once\n#include <stdint.h>\n\n" +
        include_cuda() + "\n";
    for (const auto& [name, p] : printed_) {
      const kernel::Kernel& k = *kernels_.at(name);
      std::vector<std::string> types = pointer_types(k);
      types.insert(types.end(), kernel::shape_parameters(k).size(), "int64_t");
      types.push_back("int32_t*");
      for (const kernel::print::Launch& l : p.launches)
        out += cat("extern \"C\" __global__ void ", l.function, "(", join(types, ", "), ");\n");
    }
    return out;
  }

  void add_kernel_sources(std::vector<SourceFile>& files) const {
    std::vector<std::string> texts;
    for (const auto& [name, p] : printed_) texts.push_back(p.text + "\n");
    const std::string prelude =
        "#include \"kernels.h\"\n\n" + kernel::print::prelude(kernel::print::kCudaDialect) + "\n";
    for (size_t i = 0; const std::string& text : spread(std::move(texts), options_.kernel_files)) {
      files.push_back({cat("kernels_", i++, ".cu"), prelude + text});
    }
  }

  std::string place(const PlanValue& v) const {
    switch (v.storage) {
      case Storage::kInput: return cat("r.inputs[", v.at, "]");
      case Storage::kOutput: return cat("r.outputs[", v.at, "]");
      case Storage::kConstant: return cat("r.weights + ", constants_[v.at]);
      case Storage::kWorkspace: return cat("r.workspace + ", v.at);
    }
    return {};
  }

  std::string launches(size_t step, const PlanStep& s) const {
    const kernel::print::Printed& p = printed_.at(s.kernel->name);
    std::string arguments;
    const auto add = [&](const std::vector<uint32_t>& values, const List<const kernel::Buffer*>& buffers,
                         bool writes) {
      for (size_t i = 0; i < values.size(); ++i) {
        const PlanValue& v = plan_.values[values[i]];
        arguments += cat("        {", c_string(buffers[i]->name.text()), ", ", place(v), ", ", v.bytes, ", ",
                         v.type->dtype.bytes(), ", ", writes ? "true" : "false", "},\n");
      }
    };
    add(s.inputs, s.kernel->inputs, false);
    add(s.outputs, s.kernel->outputs, true);
    add(s.temporaries, s.kernel->temporaries, true);
    std::string out = cat("  ", line_comment("//", cat(step, ": ", s.kernel->origin.text())),
                          "\n  {\n    const Argument arguments[] = {\n", arguments, "    };\n");
    for (const kernel::print::Launch& l : p.launches) {
      const auto dims = [&](size_t from) {
        return cat("dim3(", extent(l, from), ", ", extent(l, from + 1), ", ", extent(l, from + 2), ")");
      };
      out += cat("    r.error = launch(r.stream, ", l.function, ", \"", l.function, "\", ", dims(0), ", ",
                 dims(3), ", arguments, nullptr, 0, r.failures + ", step,
                 ");\n    if (r.error != cudaSuccess) return \"", l.function, "\";\n");
    }
    return out + "  }\n";
  }

  std::string steps() const {
    std::string out =
        "// Puts the steps into the stream. Null, or what could not be put there; `stopped` says whether the "
        "run "
        "was.\n"
        "const char* run_steps(Run& r) {\n";
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const PlanStep& s = plan_.steps[i];
      out += "  if ((r.stopped = r.stop->asked()) != 0) return nullptr;\n";
      if (s.kernel) {
        out += launches(i, s);
      } else if (plan_.values[s.inputs[0]].bytes > 0) {
        const std::string to = place(plan_.values[s.outputs[0]]), from = place(plan_.values[s.inputs[0]]);
        out +=
            cat("  if (", to, " != ", from, ") r.error = cudaMemcpyAsync(", to, ", ", from, ", ",
                plan_.values[s.inputs[0]].bytes,
                ", cudaMemcpyDeviceToDevice, r.stream);\n  if (r.error != cudaSuccess) return \"a copy\";\n");
      }
    }
    return out + (plan_.steps.empty() ? "  (void)r;\n" : "") + "  return nullptr;\n}\n";
  }

  static std::string place_table(std::string_view name, const std::vector<uint64_t>& places) {
    std::string list;
    for (uint64_t at : places) list += cat(at, ", ");
    return cat("const uint64_t ", name, "[] = {", list, "0};\n");
  }

  std::string tables(const std::string& description) const {
    std::string out =
        cat(print_ports(plan_, extents_, plan_.in_place, !has_values() || program_.interface.tensors_only),
            "struct Weight {\n  uint64_t from, bytes, at;\n};\nconst Weight kWeights[] = {\n");
    for (const Weight& w : weights_) out += cat("    {", w.from, ", ", w.bytes, ", ", w.at, "},\n");
    out += "    {0, 0, 0},\n};\n";
    size_t most_extents = 0;
    for (const auto& [name, p] : printed_) {
      most_extents = std::max(most_extents, kernel::shape_parameters(*kernels_.at(name)).size());
      if (p.messages.empty()) continue;
      out +=
          cat("const char* const ", p.function, "_messages[] = {", join(p.messages, ", ", c_string), "};\n");
    }
    out += cat("constexpr size_t kMostExtents = ", most_extents, ";\n");
    out += cat("constexpr size_t kFailureWords = ", has_values() ? kFailureWords : plan_.steps.size(), ";\n");
    out += cat("constexpr size_t kWeightCount = ", weights_.size(), ";\n");
    out += cat("constexpr uint64_t kDeviceWeightsBytes = ", device_weights_, ";\n");
    out += cat("constexpr uint64_t kFailuresAt = ", failures_, ";\n");
    out += cat("constexpr uint64_t kDeviceBytes = ", std::max(memory_, kPieceAlignment), ";\n");
    out += cat("constexpr size_t kWorkspaceBytes = ", has_values() ? kWorkspaceBytes : 0, ";\n");
    out += cat("constexpr int kCapability = ", target_.gpu->capability, ";\n");
    return out + cat("const char kDescription[] = ", c_string(description), ";\n");
  }

  // Of a plan: where ports are put, and what its steps say if they fail.
  std::string plan_tables() const {
    std::string out =
        cat("// Where ports are put in a context's memory, if the caller's is not the device's.\n",
            place_table("kInputPlaces", input_places_), place_table("kOutputPlaces", output_places_),
            "const char* const* const kMessages[] = {\n");
    for (const PlanStep& s : plan_.steps) {
      const kernel::print::Printed* p = s.kernel ? &printed_.at(s.kernel->name) : nullptr;
      out += p && !p->messages.empty() ? cat("    ", p->function, "_messages,\n") : "    nullptr,\n";
    }
    return out + "    nullptr,\n};\n";
  }

  // A program over values.
  std::string functions() const {
    CudaDeviceLibrary device_library(printed_);
    const auto offset = [&](size_t i) { return constants_[i]; };
    return cat("constexpr uint32_t kMostArguments = ", most_arguments(program_),
               ";\nconstexpr unsigned kMemories = 2;\n\n", kValuesSource, "\n", kCudaValuesSource, "\n",
               print_interface(program_.interface), print_functions(program_, "", device_library, offset));
  }

  std::string model_source(const std::string& description) const {
    return cat(line_comment("//", cat(options_.model_name, ", compiled by Relay for ", target_.text, " at -O",
                                      options_.opt_level, ".")),
               "\n#include \"kernels.h\"\n#include \"relay.h\"\n\n", kIncludes,
               is_file() ? print_weights_file(layout_, options_.model_name) : declare_embedded_weights(),
               "\n", kBaseSource, "\nnamespace {\n\n", tables(description), "\n", kStopSource, "\n",
               kNoVtaSource, "\n", has_values() ? kExtentsSource : "", extents_.print(options_.bounds),
               kCudaLaunchSource, "\n",
               has_values() ? functions() : cat(plan_tables(), "\n", kPlanRun, "\n", steps()),
               "\n}  // namespace\n\n", kWeightsFileSource, "\n", kCudaModelSource, "\n", kReportSource, "\n",
               kTensorsSource, "\n",
               has_values() ? cat(kCudaValueRunSource, "\n", kValueRunSource)
                            : cat(kOutputsSource, "\n", kCudaPlanRunSource, "\n", kNoValuesSource),
               "\n", kCudaArtifactSource, "\n", kInterfaceSource);
  }

  const Program& program_;
  const Plan& plan_;
  const target::Target& target_;
  const EmitOptions& options_;
  const PortExtents extents_;
  std::map<Symbol, const kernel::Kernel*> kernels_;
  std::map<Symbol, kernel::print::Printed> printed_;
  std::set<std::string> launches_;
  std::vector<uint64_t> constants_;  // in the device's memory
  std::vector<Weight> weights_;
  WeightsLayout layout_;
  uint64_t device_weights_ = 0, memory_ = 0, failures_ = 0;
  std::vector<uint64_t> input_places_, output_places_;
};

// Where the kernel is called.
Span call_of(const Module& m, Symbol kernel) {
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn)) {
      const auto* call = e->as<Call>();
      const auto* callee = call ? call->callee->as<Global>() : nullptr;
      if (callee && callee->name == kernel) return call->span;
    }
  }
  return Span::none();
}

}  // namespace

Result<Sources> emit(const Program& program, const target::Target& target, const EmitOptions& options,
                     Diagnostics& diagnostics) {
  for (const kernel::Kernel* k : program.kernels) {
    if (!k->external) continue;
    diagnostics.error(call_of(program.module, k->name), "not-ahead-of-time",
                      cat("kernel @", k->name.text(), " is the C function `", k->external->symbol.text(),
                          "`, which runs on the CPU: use `aot-cpp`, `jit` or `graph`"));
    return kReported;
  }
  Sources out;
  const std::string wrong = Emitter(program, target, options).run(out);
  if (wrong.empty()) return out;
  diagnostics.error(Span::none(), "not-ahead-of-time", wrong)
      .note("the engines `jit` and `graph` have no grids");
  return kReported;
}

}  // namespace relay::aot::cuda
