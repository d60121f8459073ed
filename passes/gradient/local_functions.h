// Local functions that are only called: they become functions of the module.
//
//   def @main(%x, %y) { let %f = fn (%z) { multiply(exp(%z), %x) }; %f(%y) }      becomes
//   def @main_local(%x, %z) { multiply(exp(%z), %x) }
//   def @main(%x, %y) { @main_local(%x, %y) }
//
// So a program with such functions may be a straight line, whose gradient has no cells.
#pragma once

#include <vector>

#include "passes/gradient/program.h"
#include "passes/pass.h"

namespace relay::passes::gradient {

// The typed module without them, if more of the roots are straight lines then; else the module
// itself.
//
// A function stays if
//   * it is a value elsewhere, calls itself, is generic, or has attributes;
//   * it uses variables that are not made of tensors, or more than 64;
//   * it mentions a shape variable that none of the variables has as an extent;
//   * functions are nested more than 64 deep in it.
Module with_local_functions_lifted(const Module& m, const std::vector<Wanted>& roots,
                                   const PassContext& pass);

}  // namespace relay::passes::gradient
