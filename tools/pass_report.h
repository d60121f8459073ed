// What `relay opt --report` prints: the program, what each pass made of it, and what came out.
#pragma once

#include <array>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/features.h"
#include "analysis/module_size.h"
#include "ir/function_graph.h"
#include "passes/observer.h"
#include "tools/session.h"

namespace relay::tools {

class PassReport : public passes::Observer {
 public:
  explicit PassReport(Session& session) : session_(session) {}

  void begins(const passes::Pipeline& steps, const Module& m, Diagnostics& d) override;
  void ran(const passes::StepReport& report, Diagnostics& d) override;

  // Of the module in the end.
  void print(const Module& done) const;

 private:
  struct Line {
    std::string pass;
    double ms;  // with the type check behind it
    analysis::ModuleSize after;
    bool changed;
    std::map<std::string, size_t> rules;  // that it applied, and how often
  };
  // Of all kernels, each counted once.
  struct Work {
    size_t kernels = 0, uncounted = 0;  // uncounted: a run tells their extents, or they are C functions
    double multiply_adds = 0, bytes = 0;
  };

  static Work work_of(const Module& m);
  std::string program_text() const;
  std::string passes_text() const;
  nlohmann::ordered_json json(const Work& work) const;

  Session& session_;
  std::array<size_t, analysis::kFeatures> features_{};
  FunctionGraph calls_;
  analysis::ModuleSize before_;
  std::vector<Line> lines_;
};

}  // namespace relay::tools
