// Differential testing of the engines on one model (docs/semantics.md, "How far an
// engine may be away").
//
// Engines work at once, each on a copy of the module in a context of its own. Rows, notes and what
// is thrown are the same as if they worked one after another. VerifyOptions::cancel ends it: then
// Exhausted is thrown.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/model.h"
#include "driver/row.h"
#include "passes/reference.h"

namespace relay::driver {

// Is told what begins: "preparing graph -O2". One call at a time, on any thread.
using OnStep = std::function<void(std::string_view)>;

// A model made ready on every engine, to be compared on any number of inputs.
class Verifier {
 public:
  // The model must have constant shapes wherever compiled engines are to run it (see `specialise`).
  Verifier(const Model& model, const VerifyOptions& options, OnStep on_step = {})
      : Verifier(model, engines_at(options), options, std::move(on_step)) {}
  Verifier(const Model& model, const std::vector<EngineAt>& engines, const VerifyOptions& options,
           OnStep on_step = {});

  // A row for each engine and level; with `given`, outputs that another program computed,
  // one more for those.
  std::vector<VerifyRow> run(const std::vector<Value>& args,
                             const frontend::data::NamedTensors* given = nullptr);
  // Of the last run, a sentence for each output that the model's own dtypes cannot compute well.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Candidate {
    EngineAt at;
    Module module = {};  // a copy: one thread writes a context at a time
    Prepared prepared = {};
    double prepare_seconds = 0;
  };
  struct Run;

  void begin(const std::string& step);  // throws Exhausted if it is cancelled
  // The arguments as values of the candidate's module.
  static std::vector<Value> args_of(const Candidate& c, const std::vector<Value>& args);
  VerifyRow row_for(const Candidate& c, const std::vector<Value>& args, Run run,
                    const passes::Reference& reference);

  Model model_;
  size_t at_once_;
  Denormals denormals_;
  const std::atomic<bool>* cancel_;
  std::vector<Candidate> candidates_;
  OnStep on_step_;
  std::mutex saying_;
  std::vector<std::string> notes_;
};

}  // namespace relay::driver
