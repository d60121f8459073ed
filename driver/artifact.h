// An artifact as a user's program sees it: loaded, and called through its C interface
// and nothing else. Layers for a VTA run on the simulator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aot/program.h"
#include "driver/engines.h"
#include "runtime/relay.h"
#include "runtime/value.h"
#include "toolchain/compiler.h"
#include "toolchain/library.h"

namespace relay::driver {

class Artifact {
 public:
  Artifact();
  Artifact(const Artifact&) = delete;
  Artifact& operator=(const Artifact&) = delete;
  ~Artifact();

  // What is wrong with it; empty if it can be called. `entry`: the function that gives
  // its interface, where a library has several artifacts. Throws Exhausted without memory
  // or threads for it.
  // Denormals: what `relay compile` said unless it is said here.
  std::string open(const std::string& path, unsigned threads, const std::string& entry = "relay_get_api",
                   std::optional<Denormals> denormals = std::nullopt);
  // What `open` came to: whose fault a refusal is. RELAY_BAD_MODEL where the
  // library is no artifact.
  relay_status opened() const { return opened_; }
  // The JSON of relay_model_describe, once it is open.
  std::string description() const { return api_->model_describe(model_); }

  // One run of the program that it was compiled from. Throws Trap and Exhausted.
  Value run(const aot::Program& program, const std::vector<Value>& args);

  // An output of relay_run. Where its shape is not known before the run, the artifact
  // gives the memory.
  struct Output {
    DType dtype;
    std::optional<Shape> shape;
  };
  // One run of a program that takes and gives tensors. Throws Trap and Exhausted.
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const Output> outputs);
  // The run in progress, or else the next one, throws Exhausted at its next kernel.
  // From any thread.
  void cancel() const { api_->cancel(context_); }

 private:
  Value call(const aot::Interface& interface, const std::vector<Value>& args);
  // A value of the type, to be given to value_free.
  relay_value* make(const aot::Interface& interface, uint32_t type, const Value& value);
  Value look(const aot::Interface& interface, relay_value* value);  // takes it away
  void check(relay_status status) const;

  // A simulator of the VTA that the artifact needs, if it does: what is wrong with it.
  std::string simulate_vta();

  struct SimulatedVta;
  std::unique_ptr<SimulatedVta> vta_;  // outlives the model
  toolchain::Library library_;
  relay_status opened_ = RELAY_BAD_MODEL;
  const relay_api* api_ = nullptr;
  relay_model* model_ = nullptr;
  relay_context* context_ = nullptr;
};

// The program as an engine runs it: `build` writes its library, which is opened.
// Throws CannotPrepare.
using BuildLibrary = std::function<bool(const std::string& library, Diagnostics& diagnostics)>;
// `kept`: a file that the library is taken from, or put into if it is not there; empty: none. Runs
// under `options` hear Options::limits.cancel, and no other limit.
Prepared prepare_artifact(aot::Program program, int threads, const BuildLibrary& build,
                          const std::string& kept, const Options& options);

// The tensors among arguments, those of tuples in their place. Throws Trap for
// values of other kinds.
std::vector<Tensor> tensors_of_args(const std::vector<Value>& args);
// A result of the type, made of these tensors in order.
Value result_of(Type type, const std::vector<Tensor>& tensors);

}  // namespace relay::driver
