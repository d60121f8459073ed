// emit: a lowered module as CUDA source: kernels, and C++ that launches them one after the
// other on a stream.
//
// Static dataflow only. kernels_*.cu hold the kernels, model.cu the tables, the launches and the C
// interface of relay.h (aot/support/interface.cc); weights.cc refers to weights.bin, unless they
// are a file. The same text runs on the CPU under aot/cuda_emulation.h. Text depends on the plan
// and the options alone: same input, same bytes.
#pragma once

#include <map>
#include <string>

#include "aot/emit.h"
#include "aot/program.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "target/target.h"

namespace relay::aot::cuda {

struct EmitOptions {
  std::string model_name = "model";  // letters, digits, `_`, `-`, `.`
  int opt_level = 2;
  std::string licence = {};  // of the model, kept in the description
  Weights weights = Weights::kEmbedded;
  size_t kernel_files = 2;                     // over how many files the kernels are spread
  std::map<std::string, int64_t> bounds = {};  // the largest values of shape variables, by name
};

// The kernels must be scheduled for GPUs, and a plan be of constant shapes. Reports
// "not-ahead-of-time" for a grid that no GPU has, and for a C function that is called.
Result<Sources> emit(const Program& program, const target::Target& target, const EmitOptions& options,
                     Diagnostics& diagnostics);

}  // namespace relay::aot::cuda
