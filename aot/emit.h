// emit: a lowered module as C++ source that needs nothing of ours.
//
// One file holds the plan, the tables and the C interface (aot/support/artifact.cc); the kernels are spread over a few
// more, so that they compile side by side. Text depends on the module and the options alone: same input, same bytes.
#pragma once

#include <string>
#include <vector>

#include "passes/plan_memory.h"

namespace relay::aot {

enum class Weights : uint8_t {
  kEmbedded,  // a section of the library
  kFile,      // a safetensors file beside it, mapped when the model is opened
};

struct EmitOptions {
  std::string model_name = "model";   // of the header and of the weights file; letters, digits, `_`, `-`, `.`
  std::string target = "native";      // as the user gave it, for the description
  std::vector<std::string> features;  // of the processor that the code needs: "avx2", "fma"
  int vector_floats = 4;              // floats in a vector register of the target
  int opt_level = 2;
  int threads = 1;  // that a run uses unless the program that opens the model says otherwise
  Weights weights = Weights::kEmbedded;
  std::string licence;      // of the model, kept in the description
  size_t kernel_files = 2;  // over how many files kernels are spread
};

struct SourceFile {
  std::string name, text;
};

struct Sources {
  std::vector<SourceFile> files;  // *.cc to compile, *.h beside them
  std::string header;             // model.h: all that a program needs to use the artifact
  std::string weights;            // bytes: of the section, or of the whole safetensors file
  std::string description;        // JSON
};

// Kernels of the plan must be scheduled for `features`.
Sources emit(const passes::Plan& plan, const EmitOptions& options);

}  // namespace relay::aot
