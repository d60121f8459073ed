// emit: a lowered module as C++ source that needs nothing of ours.
//
// One file holds the plan, the tables and the C interface (aot/support/interface.cc); the kernels
// are spread over a few more, so that they compile side by side. Text depends on the module and the
// options alone: same input, same bytes.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aot/external/external_code.h"
#include "aot/program.h"
#include "aot/vta_layers.h"
#include "aot/weights.h"
#include "runtime/denormals.h"
#include "target/instructions.h"
#include "target/target.h"
#include "toolchain/compiler.h"

namespace relay::aot {

enum class Weights : uint8_t {
  kEmbedded,  // a section of the library
  kFile,      // a safetensors file beside it, mapped when the model is opened
};

// What sources expect the file of embedded weights to be called, beside them.
inline constexpr std::string_view kWeightsSource = "weights.bin";
// The file of sources that embeds it.
inline constexpr std::string_view kModelFile = "model.cc";

struct EmitOptions {
  std::string model_name = "model";  // of the header and of the weights file; letters, digits, `_`, `-`, `.`
  int opt_level = 2;
  // That a run uses unless the program that opens the model says otherwise; 0: one for each core.
  int threads = 1;
  // Likewise: does a run flush them?
  Denormals denormals = Denormals::kFlush;
  Weights weights = Weights::kEmbedded;
  std::string weights_source = std::string(kWeightsSource);
  std::string licence;  // of the model, kept in the description
  // The largest values of shape variables, by name: larger inputs are refused. Where they say how
  // large the workspace of static dataflow can be, a context takes all of it when it is created.
  std::map<std::string, int64_t> bounds = {};
  size_t kernel_files = 2;  // over how many files the kernels of a variant are spread
  // One file for everything where kernels are few, which compiles sooner: opening the model then
  // needs the same processor as running it, and does not end with an error on another one. For
  // libraries that stay in this process.
  bool join_files = false;
  bool program = false;  // a program of its own (support/main.cc), not a library
};

// The model as one kind of processor runs it. The kernels must be scheduled for the target.
struct Variant {
  const Program* program = nullptr;
  target::Target target = target::baseline();
  // What the processor must have, as __builtin_cpu_supports knows it.
  std::vector<std::string> needs = target::needs(target.cpu);
  // The layers that a VTA runs, of a program of `with_vta_kernels`; null: none. There is one such
  // variant then.
  const VtaLayers* vta = nullptr;
  // The code of kernels of the program that other code generators made; null: none. It is the same
  // for all variants.
  const ExternalCode* external = nullptr;
};

struct SourceFile {
  std::string name, text;
  std::optional<target::Target> target = {};  // none: for any processor
  bool of_others = false;                     // of a code generator: it may include headers of others
};

// A kernel's functions by themselves, as they stand in one of the files.
struct KernelText {
  Symbol kernel;
  std::string text;
};

struct Sources {
  std::vector<SourceFile> files;  // *.cc to compile, *.h beside them
  std::string header;             // model.h: all that a program needs to use the artifact
  WeightBytes weights;            // of the section, or of the whole safetensors file
  std::string description;        // JSON
  size_t kernels = 0;             // how many different ones there are
  uint64_t weights_bytes = 0;     // of all weights
  uint64_t workspace_bytes = 0;   // of a context, from its beginning
  bool workspace_grows = false;   // there may be runs that need more
  // Of the code of other generators: what it is linked with, and what that asks of the machine
  // where the artifact is loaded.
  std::vector<std::string> link_flags = {}, needs = {};

  // Of the first variant, by name; and what stands before the kernels in each of their files.
  std::vector<KernelText> kernel_texts = {};
  std::string kernels_head = {};
};

// An artifact with one variant or several, in the order in which they are preferred: it runs the
// first one whose features the processor has. All are of one program.
Sources emit(std::span<const Variant> variants, const EmitOptions& options);
inline Sources emit(const Variant& variant, const EmitOptions& options) {
  return emit(std::span<const Variant>(&variant, 1), options);
}

}  // namespace relay::aot
