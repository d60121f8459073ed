#include "aot/emit.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "aot/alternation.h"
#include "aot/embedded.h"
#include "aot/kernel_files.h"
#include "aot/ports.h"
#include "aot/program.h"
#include "aot/vta_layers.h"
#include "aot/weights.h"
#include "base/cat.h"
#include "base/check.h"
#include "base/escape.h"
#include "base/json_text.h"
#include "kernel/print/dialect.h"
#include "kernel/print/names.h"
#include "kernel/print/prelude.h"
#include "kernel/print/print.h"
#include "passes/in_place.h"

namespace relay::aot {
namespace {

using passes::Plan;
using passes::PlanStep;
using passes::PlanValue;
using passes::Storage;

// So many kernels compile about as fast as the rest of a model.
constexpr size_t kFewKernels = 3;

// A variant's kernels, and where its constants begin among those of all.
struct Part {
  const Variant* variant;
  std::string prefix;  // of its names; empty if there is only one
  size_t first_constant = 0;
  std::map<Symbol, const kernel::Kernel*> kernels = {};  // that the processor runs
  std::map<Symbol, std::string> names = {};              // of their functions
  const Plan& plan() const { return variant->program->plan; }
  const std::string& name(const kernel::Kernel& k) const { return names.at(k.name); }
};

class Emitter {
 public:
  Emitter(std::span<const Variant> variants, const EmitOptions& options)
      : options_(options), plan_(variants[0].program->plan), extents_(plan_.inputs, plan_.outputs) {
    if (const VtaLayers* vta = variants[0].vta; vta && !vta->layers.empty()) {
      CHECK(variants.size() == 1, "an artifact has one VTA");
      vta_.emplace(*vta);
    }
    // A kernel of the program may be called like a C function that is called from outside.
    KernelNames names;
    for (const Variant& v : variants) {
      for (const kernel::Kernel* k : v.program->kernels) {
        if (k->external) names.take(k->external->symbol.text());
      }
    }
    std::vector<Tensor> constants;
    for (size_t i = 0; i < variants.size(); ++i) {
      Part part{&variants[i], variants.size() == 1 ? "" : cat("v", i, "_"), constants.size()};
      for (const kernel::Kernel* k : part.variant->program->kernels) part.kernels.emplace(k->name, k);
      for (const auto& [symbol, k] : part.kernels)
        part.names.emplace(symbol, names.name(symbol, part.prefix));
      if (vta_)
        std::erase_if(part.kernels, [&](const auto& k) { return vta_->layer_of(*k.second).has_value(); });
      constants.insert(constants.end(), part.plan().constants.begin(), part.plan().constants.end());
      parts_.push_back(std::move(part));
    }
    first_vta_constant_ = constants.size();
    if (vta_) constants.insert(constants.end(), vta_->constants().begin(), vta_->constants().end());
    weights_ = lay_out_weights(constants);
    workspace_ = workspace();
    in_place_ = in_place();
  }

  Sources run() {
    Sources out;
    out.description = description();
    out.kernels = kernel_count();
    out.weights_bytes = weights_.bytes;
    out.workspace_bytes = workspace_.bytes;
    out.workspace_grows = workspace_.grows;
    out.header = header();
    if (const ExternalCode* external = parts_[0].variant->external) {
      for (const ExternalCode::File& f : external->files)
        out.files.push_back({.name = f.name, .text = f.text, .of_others = true});
      out.link_flags = external->link_flags;
      out.needs = external->needs;
    }
    out.weights = options_.weights == Weights::kFile ? weights_.file() : weights_.section();
    out.files.push_back({"relay.h", std::string(kRelayHeader)});
    out.files.push_back({"dlpack.h", std::string(kDlpackHeader)});
    if (vta_) out.files.push_back({"relay_vta.h", std::string(kRelayVtaHeader)});
    out.files.push_back({"kernels.h", kernels_header()});
    std::vector<SourceFile> kernels;
    for (const Part& part : parts_) {
      std::vector<KernelText> texts = kernel_texts(part);
      add_kernel_sources(part, texts, kernels);
      if (&part == &parts_.front()) out.kernel_texts = std::move(texts);
    }
    out.kernels_head = kernels_head();
    if (options_.join_files && kernels.size() == 1) {
      out.files.push_back(
          {std::string(kModelFile), kernels[0].text + model_source(out.description), kernels[0].target});
      return out;
    }
    for (SourceFile& f : kernels) out.files.push_back(std::move(f));
    out.files.push_back({std::string(kModelFile), model_source(out.description)});
    return out;
  }

 private:
  std::string description() const {
    nlohmann::ordered_json d = describe_ports(options_.model_name, plan_, in_place_);
    if (has_values()) aot::describe(interface(), d);
    if (!options_.bounds.empty()) d["bounds"] = options_.bounds;
    d["workspace_bytes"] = workspace_.bytes;
    d["weights_bytes"] = weights_.bytes;
    d["weights"] = options_.weights == Weights::kFile ? options_.model_name + ".safetensors" : "embedded";
    d["kernels"] = kernel_count();
    d["target"] = targets();
    d["features"] = parts_.back().variant->needs;
    d["opt_level"] = options_.opt_level;
    d["threads"] = options_.threads;
    d["denormals"] = options_.denormals == Denormals::kKeep ? "keep" : "flush";
    d["licence"] = options_.licence;
    if (const std::vector<std::string> called = external_functions(); !called.empty())
      d["external_functions"] = called;
    if (vta_) vta_->describe(d);
    return json_text(d);
  }

  std::string targets() const {
    return join(parts_, ",", [](const Part& part) { return part.variant->target.text; });
  }
  bool has_values() const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const Part& part) { return !part.variant->program->functions.empty(); });
  }
  const Interface& interface() const { return parts_[0].variant->program->interface; }
  size_t kernel_count() const {
    size_t count = 0;
    for (const Part& part : parts_) count += part.kernels.size();
    return count;
  }
  // The C functions that the artifact calls.
  std::vector<std::string> external_functions() const {
    std::set<std::string> out;
    for (const Part& part : parts_) {
      for (const auto& [symbol, k] : part.kernels) {
        if (k->external) out.insert(k->external->symbol.str());
      }
    }
    return {out.begin(), out.end()};
  }
  // What a context takes at its beginning, of the variant that takes the most.
  struct Workspace {
    uint64_t bytes = 0;
    bool grows = false;
  };
  Workspace workspace() const {
    constexpr uint64_t kHeapBytes = 4096;  // values.cc sees to it that this is enough
    if (has_values()) return {kHeapBytes, true};
    Workspace out;
    const kernel::Bounds ranges = extents_.ranges(options_.bounds);
    for (const Part& part : parts_) {
      const std::optional<uint64_t> most = passes::most_workspace_bytes(part.plan(), ranges);
      out.bytes = std::max(out.bytes, most.value_or(0));
      out.grows = out.grows || !most;
    }
    return out;
  }

  // What all variants allow. The layers of a VTA have memory of their own, so nothing
  // is told of them.
  InPlace in_place() const {
    InPlace out;
    for (const passes::InPlacePair& p : plan_.in_place) {
      const bool everywhere = std::all_of(parts_.begin(), parts_.end(), [&](const Part& part) {
        return std::binary_search(part.plan().in_place.begin(), part.plan().in_place.end(), p);
      });
      if (everywhere && !vta_) out.push_back(p);
    }
    return out;
  }

  std::string header() const {
    std::vector<std::string> more;
    if (has_values()) more = list_types(interface());
    if (const std::vector<std::string> called = external_functions(); !called.empty()) {
      more.insert(
          more.end(),
          {"", cat("It calls these C functions, which come from the libraries that it was linked with: ",
                   join(called, ", "))});
    }
    if (vta_) {
      const std::vector<std::string> list = vta_->list();
      more.insert(more.end(), list.begin(), list.end());
    }
    const std::string title = cat("How to use ", options_.model_name, ", which Relay compiled");
    return print_header(title, plan_, in_place_, more) + (vta_ ? vta_header() : "");
  }

  // Kernels are seen by the plan's file and hidden from everybody else.
  static kernel::print::Dialect dialect() {
    kernel::print::Dialect d = kernel::print::kCppDialect;
    d.function = "extern \"C\" __attribute__((visibility(\"hidden\"))) ";
    return d;
  }

  // The signature of a kernel: its first lines, up to the body.
  static std::string parameters(const kernel::Kernel& k) {
    std::vector<std::string> types = pointer_types(k);
    types.insert(types.begin(), "const relay_parallel*");
    types.insert(types.end(), kernel::shape_parameters(k).size(), "int64_t");
    return join(types, ", ");
  }

  std::string kernels_header() const {
    std::string out =
        "// The kernels of the model. Generated by Relay.\n#ifndef RELAY_KERNELS_H_\n#define "
        "RELAY_KERNELS_H_\n"
        "#include <stdint.h>\n\n#include \"relay.h\"\n\n";
    for (const Part& part : parts_) {
      for (const auto& [symbol, kernel] : part.kernels) {
        const std::string& name = part.name(*kernel);
        out += cat(dialect().function, "int32_t ", name, "(", parameters(*kernel), ");\n");
        if (kernel->external) continue;
        out += cat("extern \"C\" __attribute__((visibility(\"hidden\"))) const char* const ", name,
                   "_messages[];\n");
      }
    }
    return out + "#endif\n";
  }

  static std::string kernels_head() {
    return "#include \"kernels.h\"\n\n" + kernel::print::prelude(kernel::print::kCppDialect) + "\n";
  }

  std::vector<KernelText> kernel_texts(const Part& part) const {
    const kernel::print::Dialect d = dialect();
    const int vector_bytes = part.variant->target.cpu.vector_bytes;
    const passes::SharedParameters shared = passes::shared_parameters(part.plan(), in_place_);
    std::vector<KernelText> texts;
    for (const auto& [symbol, kernel] : part.kernels) {
      const std::string& name = part.name(*kernel);
      kernel::print::PrintOptions options{.function = name, .vector_bytes = vector_bytes};
      if (const auto it = shared.find(kernel); it != shared.end()) options.shared = it->second;
      const kernel::print::Printed printed = kernel::print::print(*kernel, d, options);
      if (kernel->external) {
        texts.push_back({symbol, printed.text + "\n"});
        continue;
      }
      std::string text = printed.text + cat("\nconst char* const ", name, "_messages[] = {");
      for (const std::string& message : printed.messages) text += c_string(message) + ", ";
      texts.push_back({symbol, text + "nullptr};\n\n"});
    }
    return texts;
  }

  void add_kernel_sources(const Part& part, const std::vector<KernelText>& kernels,
                          std::vector<SourceFile>& files) const {
    std::vector<std::string> texts;
    for (const KernelText& k : kernels) texts.push_back(k.text);
    const size_t most_files = texts.size() <= kFewKernels ? 1 : options_.kernel_files;
    for (size_t i = 0; const std::string& text : spread(std::move(texts), most_files)) {
      files.push_back(
          {cat(part.prefix, "kernels_", i++, ".cc"), kernels_head() + text, part.variant->target});
    }
  }

  // Where a value is, as a C++ expression of type `const T*` or `T*`.
  std::string pointer(const Part& part, uint32_t value, bool writes) const {
    const PlanValue& v = part.plan().values[value];
    const std::string type = std::string(kernel::print::memory_type(v.type->dtype));
    const std::string cast = cat("(", writes ? "" : "const ", type, "*)");
    switch (v.storage) {
      case Storage::kInput: return cat(cast, "inputs[", v.at, "]");
      case Storage::kOutput: return cat(cast, "outputs[", v.at, "]");
      case Storage::kConstant:
        return cat(cast, "(weights + ", weights_.offsets[part.first_constant + v.at], ")");
      case Storage::kWorkspace:
        return part.plan().dynamic ? cat(cast, "(workspace + slots[", v.at, "])")
                                   : cat(cast, "(workspace + ", v.at, ")");
    }
    return {};
  }

  static constexpr std::string_view kRunParameters =
      "const relay_parallel* parallel, const void* const* inputs, void* const* outputs,\n"
      "                 const unsigned char* weights, unsigned char* workspace, const int64_t* variables,\n"
      "                 const size_t* slots, VtaContext* vta, Stop* stop, const char** message";

  // A program over values.
  std::string program(const Part& part) const {
    const auto name = [&](const kernel::Kernel& k) { return part.name(k); };
    const target::Cpu& cpu = part.variant->target.cpu;
    const auto offset = [&](size_t i) { return weights_.offsets[part.first_constant + i]; };
    CpuDeviceLibrary on_cpu(name, cpu);
    if (!vta_) return print_functions(*part.variant->program, part.prefix, on_cpu, offset);
    VtaDeviceLibrary on_vta(name, cpu, *vta_);
    return print_functions(*part.variant->program, part.prefix, on_vta, offset);
  }

  std::string extent_text(kernel::Expr e) const {
    return print_extent(e, [&](kernel::Expr v) { return extents_.name(v); });
  }
  std::string extent_text(Dim d) const { return d.is_const() ? cat(d.value()) : extent_text(d.symbolic()); }
  std::string bytes_text(const TensorType& t) const {
    std::string out = cat(t.dtype.bytes());
    for (Dim d : t.dims) out += " * " + extent_text(d);
    return cat("static_cast<size_t>(", out, ")");
  }

  // Where the slots of a workspace lie for some extents; nothing if it is the same for all.
  std::string lay_out(const Part& part) const {
    const Plan& plan = part.plan();
    if (!plan.dynamic) return {};
    std::string out = cat("int32_t ", part.prefix,
                          "lay_out(const int64_t* variables, size_t* slots, size_t* bytes) {\n"
                          "  (void)variables;\n  Layout layout(slots);\n");
    for (const std::vector<uint32_t>& slot : plan.slots) {
      out += "  layout.slot();\n";
      for (uint32_t v : slot) {
        std::vector<std::string> args{cat(plan.values[v].type->dtype.bytes())};
        for (Dim d : plan.values[v].type->dims) args.push_back(extent_text(d));
        out += cat("  layout.holds(", join(args, ", "), ");\n");
      }
    }
    return out + "  return layout.end(bytes);\n}\n";
  }

  std::string run_function(const Part& part) const {
    if (!part.variant->program->functions.empty()) return program(part);
    std::string out = cat("int32_t ", part.prefix, "run_plan(", kRunParameters, ") {\n",
                          "  (void)parallel, (void)inputs, (void)weights, (void)workspace, (void)stop, "
                          "(void)message;\n"
                          "  (void)variables, (void)slots, (void)vta;\n"
                          "  int32_t status = 0;\n");
    const std::vector<bool> backwards = backward_steps(part.plan(), part.variant->target.cpu);
    if (std::find(backwards.begin(), backwards.end(), true) != backwards.end())
      out += "  const relay_parallel backwards = backwards_of(parallel);\n";
    for (size_t i = 0; i < part.plan().steps.size(); ++i) {
      const PlanStep& s = part.plan().steps[i];
      out += "  if ((status = stop->asked()) != 0) return status;\n";
      if (!s.kernel) {
        const passes::PlanValue& from = part.plan().values[s.inputs[0]];
        out += cat("  memmove(", pointer(part, s.outputs[0], true), ", ", pointer(part, s.inputs[0], false),
                   ", ", from.type->is_static() ? cat(from.bytes) : bytes_text(*from.type), ");\n");
        continue;
      }
      if (const std::optional<size_t> layer = vta_ ? vta_->layer_of(*s.kernel) : std::nullopt) {
        std::vector<std::string> inputs;
        for (uint32_t v : s.inputs) inputs.push_back(pointer(part, v, false));
        out += cat("  {\n", VtaTables::call(*layer, "vta", inputs, pointer(part, s.outputs[0], true)),
                   "    if (status != 0) return *message = vta->error, status;\n  }\n");
        continue;
      }
      const std::string& name = part.name(*s.kernel);
      std::vector<std::string> args{backwards[i] ? "&backwards" : "parallel"};
      for (uint32_t v : s.inputs) args.push_back(pointer(part, v, false));
      for (uint32_t v : s.outputs) args.push_back(pointer(part, v, true));
      for (uint32_t v : s.temporaries) args.push_back(pointer(part, v, true));
      for (kernel::Expr e : s.extents) args.push_back(extent_text(e));
      out += cat("  ", line_comment("//", cat(i, ": ", s.kernel->origin.text())), "\n");
      out += cat("  status = ", name, "(", join(args, ",\n      "), ");\n");
      out += s.kernel->external
                 ? cat("  if (status != 0) {\n    *message = ", c_string(name_of_function(*s.kernel)),
                       ";\n    return stop->failed(status);\n  }\n")
                 : cat("  if (status != 0) {\n    *message = ", name,
                       "_messages[status - 1];\n    return status;\n  }\n");
    }
    return out + "  return status;\n}\n";
  }

  // The variants: what each is called, what it lacks here, how it runs.
  std::string variants() const {
    std::string out, table;
    for (const Part& part : parts_) {
      out += lay_out(part) + run_function(part) + cat("const char* ", part.prefix, "missing_feature() {\n");
      for (const std::string& f : part.variant->needs) {
        out += cat("  if (!__builtin_cpu_supports(", c_string(f), ")) return ", c_string(f), ";\n");
      }
      out += "  return nullptr;\n}\n";
      table += cat("    {", c_string(part.variant->target.text), ", ", part.prefix, "missing_feature, ",
                   part.prefix, has_values() ? "run_main" : "run_plan");
      if (!has_values()) table += part.plan().dynamic ? cat(", ", part.prefix, "lay_out") : ", nullptr";
      table += "},\n";
    }
    size_t most_slots = 0;
    for (const Part& part : parts_) most_slots = std::max(most_slots, part.plan().slots.size());
    out += cat("[[maybe_unused]] constexpr size_t kMostSlots = ", most_slots, ";\n");
    const std::string run = has_values() ? "Value (*run_main)(Run& run, Value* args)"
                                         : cat("int32_t (*run_plan)(", kRunParameters,
                                               ");\n  int32_t (*lay_out)(const int64_t* variables, size_t* "
                                               "slots, size_t* bytes)");
    return out + cat("struct Variant {\n  const char* target;\n  const char* (*missing_feature)();\n  ", run,
                     ";\n};\n", "const Variant kVariants[] = {\n", table, "};\n",
                     "constexpr size_t kVariantCount = ", parts_.size(), ";\n");
  }

  std::string tables(const std::string& description) const {
    return cat(print_ports(plan_, extents_, in_place_, !has_values() || interface().tensors_only),
               "constexpr size_t kWorkspaceBytes = ", workspace_.bytes, ";\n",
               "constexpr unsigned kDefaultThreads = ", std::max(options_.threads, 0), ";\n",
               "constexpr relay::Denormals kDefaultDenormals = relay::Denormals::",
               options_.denormals == Denormals::kKeep ? "kKeep" : "kFlush", ";\n",
               "const char kDescription[] = ", c_string(description), ";\n");
  }

  std::string weights_text() const {
    if (options_.weights == Weights::kFile) return print_weights_file(weights_, options_.model_name);
    return embed_weights(weights_.bytes == 0 ? std::string_view() : options_.weights_source) +
           declare_embedded_weights();
  }

  std::string model_source(const std::string& description) const {
    std::string out = line_comment("//", cat(options_.model_name, ", compiled by Relay for ", targets(),
                                             " at -O", options_.opt_level, "."));
    out +=
        "\n#include \"relay.h\"\n#include \"kernels.h\"\n\n#include <dlfcn.h>\n#include <stddef.h>\n#include "
        "<stdint.h>\n#include <pthread.h>\n#include <string.h>\n#include <time.h>\n\n#include <new>\n\n";
    if (vta_) out += "#include \"relay_vta.h\"\n\n";
    out += "#define RELAY_EXPORT __attribute__((visibility(\"default\")))\n\n";
    out += cat(weights_text(), "\n", kDenormalsHeader, "\n", kUsableCoresHeader, "\n", kBaseSource,
               "\nnamespace {\n\n", tables(description), "\n");
    out += cat(kStopSource, "\n", kAlternationSource, "\n", kExtentsSource, "\n", vta_text(), "\n");
    if (has_values()) {
      size_t most = 1, most_batched = 0;
      for (const Part& part : parts_) {
        most = std::max(most, most_arguments(*part.variant->program));
        most_batched = std::max(most_batched, most_operands(*part.variant->program));
      }
      out += cat("constexpr uint32_t kMostArguments = ", most, ";\nconstexpr unsigned kMemories = 1;\n\n",
                 kValuesSource, "\n", kCpuValuesSource, "\n", kArenasSource, "\n");
      if (most_batched > 0)
        out += cat("constexpr uint32_t kMostOperands = ", most_batched, ";\n\n", kBatchesSource, "\n");
      out += print_interface(interface());
    }
    out += extents_.print(options_.bounds) + variants() + "\n}  // namespace\n\n";
    return cat(out, kThreadsSource, "\n", kWeightsFileSource, "\n", kModelSource, "\n", kReportSource, "\n",
               kTensorsSource, "\n", has_values() ? "" : kOutputsSource, "\n",
               has_values() ? cat(kCpuValueRunSource, "\n", kValueRunSource) : std::string(kPlanRunSource),
               "\n", has_values() ? "" : kNoValuesSource, "\n", kArtifactSource, "\n", kInterfaceSource,
               options_.program ? cat("\n", kNpySource, "\n", kMainSource) : "");
  }

  std::string vta_text() const {
    const auto offset = [&](size_t i) { return weights_.offsets[first_vta_constant_ + i]; };
    return vta_ ? cat(kVtaTablesSource, "\n", vta_->print(offset), kVtaSource) : std::string(kNoVtaSource);
  }

  const EmitOptions& options_;
  const Plan& plan_;  // of the first: inputs and outputs are the same for all
  const PortExtents extents_;
  std::vector<Part> parts_;
  std::optional<VtaTables> vta_;
  size_t first_vta_constant_ = 0;
  WeightsLayout weights_;
  Workspace workspace_;
  InPlace in_place_;
};

}  // namespace

Sources emit(std::span<const Variant> variants, const EmitOptions& options) {
  return Emitter(variants, options).run();
}

}  // namespace relay::aot
