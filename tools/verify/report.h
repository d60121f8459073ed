// What `relay verify` found, of one program and of all: tables for people, and one JSON object
// (docs/verifying.md).
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "driver/row.h"
#include "tools/verify/every_op.h"
#include "tools/verify/tensors.h"

namespace relay::tools {

// A model with its inputs, or one call of an exec test.
struct ProgramReport {
  std::string program;  // as the user knows it: a file, or the folder of a model
  std::string call;     // of an exec test: the line
  int not_run = 0;      // the exit code of what kept it from running; 0 if it ran
  std::vector<driver::VerifyRow> rows = {};
  std::vector<std::string> notes = {};  // sentences about the program itself
  std::optional<OperatorReport> operators = {};
  std::vector<TensorRow> tensors = {};  // of another program, by name

  bool ok() const;  // nothing differs; also if it did not run
};

class VerifyReport {
 public:
  void add(ProgramReport program) { programs_.push_back(std::move(program)); }
  const std::vector<ProgramReport>& programs() const { return programs_; }

  bool ok() const;
  bool ran() const;  // anything at all

  // A single model in full; of several a line for each file, with what differs, and the summary.
  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  // How often an engine at a level came to which verdict.
  struct Tally {
    size_t agreed = 0, differed = 0, failed = 0, skipped = 0;
    void add(driver::Verdict verdict);
  };
  struct Reason {
    std::string slug = {};
    size_t count = 0;
    std::map<std::string, size_t> engines = {};  // without levels
  };
  struct Summary {
    std::vector<std::pair<std::string, Tally>> engines;  // in the order of the rows
    std::map<std::string, Reason> reasons;               // why programs were skipped
    size_t not_run = 0;
  };
  Summary summary() const;
  std::string text_of_file(size_t begin, size_t end) const;
  static std::string show(const Summary& summary, size_t programs);

  std::vector<ProgramReport> programs_;
};

}  // namespace relay::tools
