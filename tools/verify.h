// Differential testing of the engines on one model (docs/semantics.md, "How far an engine may be away").
#pragma once

#include <string>
#include <vector>

#include "runtime/compare.h"
#include "tools/engines.h"
#include "tools/model.h"

namespace relay::tools {

struct VerifyOptions {
  std::vector<std::string> engines = {};  // empty: all
  std::vector<int> levels = {0, 1, 2, 3};
  int threads = 1;
  std::string target = "native";
};

// One engine at one level, or the outputs of another program.
struct VerifyRow {
  std::string engine;   // "graph -O2"; "expected"
  std::string skipped;  // why; empty if it ran
  std::string failed;   // the trap, if it failed
  bool ok = true;
  double prepare_seconds = 0, seconds = 0;  // 0 where nothing ran
  Comparison worst;                         // of the output that used the largest share of its bound
  std::string output;                       // its name
  Shape shape;
  Value result;
};

// A model made ready on every engine, to be compared on any number of inputs.
class Verifier {
 public:
  // The model must have constant shapes wherever compiled engines are to run it (see `specialise`).
  Verifier(const Model& model, const VerifyOptions& options, Session& session);

  // A row for each engine and level; with `given`, outputs that another program computed, one more for those.
  std::vector<VerifyRow> run(const std::vector<Value>& args, const data::NamedTensors* given = nullptr);

 private:
  struct Candidate {
    std::string name;
    const Engine* engine;
    Prepared prepared;
    double prepare_seconds;
  };
  Model model_;
  Module wide_;     // the same in float64
  Prepared plain_;  // the unoptimised run
  std::vector<Candidate> candidates_;
  Session& session_;
};
std::string show(const std::vector<VerifyRow>& rows);  // the table

}  // namespace relay::tools
