// Runs pipelines of passes on modules.
//
// After every pass the module is type checked; on any failure the runner can leave a reproducer
// whose first line is the rest of the pipeline.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "passes/pipeline.h"
#include "runtime/value.h"

namespace relay::passes {

enum class Verify : uint8_t {
  kNone,
  kTypes,  // also check that the module and its kernels are well formed after every pass
  // Also interpret @main before and after every pass, and name the first pass that changed the
  // answer.
  kSemantics,
};

struct RunnerOptions {
  std::set<std::string> print_after = {};  // names of passes, "all" or "changed"
  bool time = false;                       // a table of times at the end
  std::string dump_dir = {};               // numbered .relay files, one after each pass
  // How a module is written to a file (with its constants beside it); returns what is wrong, or an
  // empty text. Without it, large constants are left out of the files.
  std::function<std::string(const std::string& path, const std::string& head, const Module& m)> save = {};
  Verify verify = Verify::kNone;
  std::vector<Value> sample_inputs = {};  // for Verify::kSemantics
  std::string reproducer = {};            // file to write when a pass fails; empty: none
  target::Target target = target::default_target();
  kernel::schedule::Settings schedule = {};  // of the kernels that `lower` makes
  OnKernel on_kernel = {};                   // see passes/pass.h
  std::function<void(std::string_view)> print =
      {};  // where print_after and time go; must be set if they are used
};

// The file of RunnerOptions::dump_dir for what the first `done` steps made of the module.
std::string dump_path(std::string_view folder, const Pipeline& steps, size_t done);

// Type checks the module, then runs the steps. Errors are in `diagnostics`: those of passes,
// "pass-broke-types", "pass-broke-module" and "pass-changed-answer" of passes that are wrong,
// "cannot-write" of files.
Result<Module> run_pipeline(const Module& m, const Pipeline& pipeline, const RunnerOptions& options,
                            Diagnostics& diagnostics);
// The same for its text.
Result<Module> run_pipeline(const Module& m, std::string_view pipeline, const RunnerOptions& options,
                            Diagnostics& diagnostics);

// A pipeline line at the head of a file: "// relay-pipeline: fuse,lower". Empty if
// the text has none.
std::string pipeline_of_reproducer(std::string_view text);

}  // namespace relay::passes
