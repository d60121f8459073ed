// relay.Module: a model that was read and type checked.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "driver/engines.h"
#include "driver/model.h"
#include "python/places.h"
#include "python/work.h"

namespace relay::python {

class PassReport;  // python/pass_report.h

struct Program {
  driver::Model model;
  // Of the module's context, in which one thread at a time may make expressions. All modules that
  // passes made of each other share the context, the mutex and the files.
  std::shared_ptr<ContextMutex> context = std::make_shared<ContextMutex>();
  std::shared_ptr<PythonFiles> files = std::make_shared<PythonFiles>();
  std::shared_ptr<PassReport> report = {};  // of the passes that made it

  const SourceMap& sources() const { return model.module.context().sources(); }
};

// The same in a context of its own: for work that goes on while the module is used. Raises
// DiagnosticError if the module has no function to run.
Program copy_to_run(const Program& program);

// The module, type checked, as a model that runs this function: "main", if there is one, unless it
// is said. `name` stands in messages. Raises DiagnosticError.
Program checked_program(const Module& read, const std::string& name,
                        const std::optional<std::string>& function);

// Raises ValueError for a number of threads that no run has.
void check_threads(int threads);
// Raises ValueError for a level that there is not.
void check_level(std::string_view argument, int level);
// Options of engines, of which each keyword argument is one. Raises ValueError for a level, a
// target or a word that there is not.
driver::Options engine_options(int level, int threads, const std::string& target,
                               const std::string& denormals);

}  // namespace relay::python
