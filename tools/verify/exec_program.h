// Exec tests: programs together with calls and the results that these must have (tests/exec),
// on every engine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "driver/row.h"
#include "ir/module.h"
#include "op/operators.h"
#include "tools/test_files/literal.h"

namespace relay::tools {

// One file, parsed and checked once for all of its calls; what an engine has prepared is kept
// for further calls.
class ExecProgram {
 public:
  // Throws Malformed for what is no exec test. That its program is wrong is no reason: calls
  // may say so. `libraries` have the functions of its external kernels. `operators` are those
  // that it may name.
  ExecProgram(const ExecProgram&) = delete;
  ExecProgram& operator=(const ExecProgram&) = delete;
  explicit ExecProgram(const std::string& path, const std::vector<std::string>& libraries = {},
                       const Operators& operators = op::operators());

  const std::string& path() const { return path_; }
  const std::vector<std::string>& calls() const { return calls_; }  // as they are written
  // The checked program; empty if the checker refused it: `problem` says why.
  const Module& module() const { return module_; }
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const std::string& problem() const { return problem_; }
  const SourceMap& sources() const { return context_->sources(); }

  // The values of one round of the call: its random arguments differ from round to round. Throws
  // Malformed for a call that does not fit the program.
  std::vector<Value> arguments(const CallLine& call, uint64_t round) const;
  static uint64_t rounds(const CallLine& call);

  // The options with what the file's RUN line says, which wins: `exec --denormals keep`.
  driver::VerifyOptions as_said(driver::VerifyOptions options) const;

  // A row for the interpreter against what the file says; if that is right, one for each other
  // engine against the interpreter. A call that is rejected has one row, `check`. Throws Malformed.
  std::vector<driver::VerifyRow> run(const CallLine& call, const driver::VerifyOptions& options);

  // Who makes a function ready on an engine, in the place of Engine::prepare.
  using Prepare = std::function<driver::Prepared(const driver::EngineAt& at, const std::string& function,
                                                 const driver::Options& options)>;
  void prepare_by(Prepare prepare) { prepare_ = std::move(prepare); }

 private:
  driver::Prepared& prepared(const driver::EngineAt& at, const std::string& function,
                             const driver::VerifyOptions& options, driver::VerifyRow& row);

  std::string path_, problem_;
  std::vector<std::string> calls_;
  std::shared_ptr<Context> context_;  // of the text, also if it is no module
  Module module_;
  std::optional<Denormals> denormals_;
  Diagnostics diagnostics_;
  Prepare prepare_ = [this](const driver::EngineAt& at, const std::string& function,
                            const driver::Options& options) {
    return at.engine->prepare(module_, function, options);
  };
  std::map<std::pair<std::string, std::string>, driver::Prepared> prepared_;  // engine at its level, function
};

}  // namespace relay::tools
