// relay.PassReport: what passes made of a module.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/module_size.h"
#include "passes/observer.h"
#include "python/work.h"

namespace relay::python {

// Fills itself while passes run, on their thread. Read when they have ended.
class PassReport : public passes::Observer {
 public:
  struct Row {
    std::string pass;
    double seconds;  // with the type check behind it
    bool changed;
    analysis::ModuleSize after;
    std::map<std::string, size_t> rules;  // that it applied, and how often
  };

  // `total`: how many passes there are, of all pipelines that it observes. `say` may be null.
  PassReport(const Module& before, size_t total, Progress::Say say)
      : total_(total), say_(std::move(say)), before_(analysis::size_of(before)) {}

  void ran(const passes::StepReport& report, Diagnostics& d) override;
  // A function of Python's has run, from which `after` is.
  void add(const std::string& function, double seconds, const Module& before, const Module& after);

  const analysis::ModuleSize& before() const { return before_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  void add(Row row, const Module& after);

  size_t total_;
  Progress::Say say_;
  analysis::ModuleSize before_;
  std::vector<Row> rows_;
};

// Tells of passes alone: for engines that run some before they do other things.
class PassProgress : public passes::Observer {
 public:
  explicit PassProgress(Progress::Say say) : say_(std::move(say)) {}
  void ran(const passes::StepReport& report, Diagnostics& d) override;

 private:
  Progress::Say say_;
};

void bind_pass_report(pybind11::module_& m);

}  // namespace relay::python
