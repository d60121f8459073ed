// Differential testing of the engines on one model (docs/semantics.md, "How far an
// engine may be away").
#pragma once

#include <string>
#include <vector>

#include "tools/model.h"
#include "tools/verify/row.h"

namespace relay::tools {

// A model made ready on every engine, to be compared on any number of inputs.
class Verifier {
 public:
  // The model must have constant shapes wherever compiled engines are to run it (see `specialise`).
  Verifier(const Model& model, const VerifyOptions& options, Session& session)
      : Verifier(model, engines_at(options), options, session) {}
  Verifier(const Model& model, const std::vector<EngineAt>& engines, const VerifyOptions& options,
           Session& session);

  // A row for each engine and level; with `given`, outputs that another program computed,
  // one more for those.
  std::vector<VerifyRow> run(const std::vector<Value>& args, const data::NamedTensors* given = nullptr);
  // Of the last run, a sentence for each output that the model's own dtypes cannot compute well.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Candidate {
    EngineAt at;
    Prepared prepared;
    double prepare_seconds;
  };
  Model model_;
  std::vector<Candidate> candidates_;
  Session& session_;
  std::vector<std::string> notes_;
};

}  // namespace relay::tools
