// The engines that compile ahead of time, with one library for all functions of a file: a compiler
// takes as long to start, and to read what all artifacts share, as to compile a few kernels.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "tools/verify/exec_program.h"

namespace relay::tests {

class JoinedEngines {
 public:
  // `functions`: those of the program that are going to be called. It must outlive this.
  JoinedEngines(const tools::ExecProgram& program, std::vector<std::string> functions)
      : program_(program), functions_(std::move(functions)) {}

  // What Engine::prepare gives. Other engines are asked themselves, and so is one that has no
  // library for all functions: it says which of them is to blame.
  driver::Prepared prepare(const driver::EngineAt& at, const std::string& function,
                           const driver::Options& options);

 private:
  struct Library {
    TemporaryFolder folder;
    std::map<std::string, driver::Prepared> prepared;  // by function; empty if there is no library
  };
  void build(const driver::EngineAt& at, const driver::Options& options, Library& out) const;

  const tools::ExecProgram& program_;
  std::vector<std::string> functions_;
  std::map<std::pair<std::string_view, int>, Library> libraries_;  // by engine and level
};

}  // namespace relay::tests
