// A lowered function as tasks, and as a function again in the order that recomputation chose.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/module.h"
#include "passes/in_place.h"
#include "passes/plan_memory.h"
#include "passes/rematerialise/tasks.h"

namespace relay::passes::rematerialise {

class PlanTasks {
 public:
  // The function that `plan` is of. Task i is the plan's step i; copies at its end are none.
  PlanTasks(const Module& m, const Fn* fn, const Plan& plan);

  const Tasks& tasks() const { return tasks_; }
  const Call* call(uint32_t task) const { return calls_[task]; }
  // The function as lets in this order, to be planned in place. A task that comes again is a call
  // again, and those after it read the new one.
  const Fn* with_order(const Order& order) const;

 private:
  using Parts = std::vector<uint32_t>;  // the values of tasks that are the tensors of an expression
  void read_body(const Plan& plan);
  void add_task(const Plan& plan, const PlanStep& step);
  void add_replacements(const PlanStep& step, Task& task);
  Parts parts_of(Expr e) const;
  Expr source_of(Expr e, std::vector<uint32_t>& path) const;
  class Rebuilding;

  const Module& module_;
  const Fn* fn_;
  Tasks tasks_;
  std::vector<DType> dtypes_;    // of the tasks' values
  std::vector<uint64_t> bytes_;  // of their elements
  Replacements replacements_;
  std::vector<const Call*> calls_;
  std::unordered_map<Expr, uint32_t> task_of_;
  std::unordered_map<Expr, Parts> parts_;
  std::unordered_map<Expr, Expr> bound_;  // variable of a let -> its value
};

}  // namespace relay::passes::rematerialise
