// What can be noticed if an evaluation is left out.
//
// Less than what can be noticed if it is moved (effects.h): a read of a cell that nobody uses can
// go, and so can a call of a function that always gives a value.
#pragma once

#include <set>

#include "analysis/user_kernels.h"
#include "ir/module.h"

namespace relay::analysis {

class LeftOut {
 public:
  explicit LeftOut(const Module& m) : module_(m), context_(m.context()), kernels_(m) {}

  // Can the form itself be noticed, its parts not counted? It may trap, write a cell, run without
  // an end, call a function of which nothing is known, or compare extents of arguments with
  // those of parameters. Of a call of a function expression the body is a part. Making a closure
  // is not asked here.
  bool is_noticed(Expr e);

  // Functions whose calls end with a value and write no cell, if the arguments fit. Functions that
  // call themselves are among them if each such call has, as one argument, a part of what that
  // parameter was: data are finite. Functions that call each other in a circle are not.
  const std::set<Symbol, Module::ByName>& total_functions();

 private:
  bool is_noticed(const Call& call);
  bool is_total(Symbol name, const Fn* fn);

  const Module module_;
  Context& context_;
  UserKernels kernels_;
  std::set<Symbol, Module::ByName> total_;
  bool is_begun_ = false;  // are they looked for, or found? Not before somebody asks
};

}  // namespace relay::analysis
