// Programs for GPUs as text and as emulated artifacts, for tests.
#pragma once

#include "aot/cuda/build.h"
#include "aot/cuda/emit.h"
#include "aot/testing.h"

namespace relay::aot::cuda {

inline Sources sources_of(std::string_view program, const EmitOptions& options = {}) {
  Diagnostics diagnostics;
  ParseOptions parsing;
  passes::RunnerOptions run;
  run.target = target::target_of("cuda");
  const Result<Module> parsed = parse("test", std::string(program), diagnostics, op::operators(), parsing);
  const Result<Module> lowered =
      parsed ? passes::run_pipeline(*parsed, passes::default_pipeline(2, run.target), run, diagnostics)
             : Result<Module>(kReported);
  const Result<Program> made = lowered
                                   ? make_program(*lowered, "main", diagnostics, passes::Shapes::kConstant)
                                   : Result<Program>(kReported);
  const Result<Sources> out =
      made ? emit(*made, run.target, options, diagnostics) : Result<Sources>(kReported);
  EXPECT_TRUE(out.ok()) << diagnostics.render(parsing.into.context().sources());
  return out ? *out : Sources();
}

// For as long as it lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;

 private:
  const char* name_;
};

// A program that runs under the emulation.
struct Emulated : Compiled {
  explicit Emulated(std::string_view program, const EmitOptions& options = {}) : Compiled(NotYet()) {
    const Sources sources = sources_of(program, options);
    EXPECT_EQ(build_emulated(sources, folder.path(), path), "");
    if (options.weights == Weights::kFile) {
      EXPECT_EQ(write_file_atomically(weights(), sources.weights.text()), "");
    }
    load();
  }
};

}  // namespace relay::aot::cuda
