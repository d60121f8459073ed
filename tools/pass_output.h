// What --print-after and --time print of passes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "passes/observer.h"
#include "tools/session.h"

namespace relay::tools {

class PassOutput : public passes::Observer {
 public:
  // `after`: names of passes, "all" or "changed". `time`: a table at the end.
  PassOutput(std::set<std::string> after, bool time, Session& session)
      : after_(std::move(after)), time_(time), session_(session) {}

  void ran(const passes::StepReport& report, Diagnostics& d) override;
  void ended() override;

 private:
  struct Line {
    std::string name;
    double pass_ms, check_ms;
  };

  std::set<std::string> after_;
  bool time_;
  Session& session_;
  std::vector<Line> lines_;
};

}  // namespace relay::tools
