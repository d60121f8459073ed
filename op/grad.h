// grad(f): a function from functions to functions, written like an operator.
//
//   grad(f)   : fn (T...) -> (R, (T...))   of f : fn (T...) -> R
//
// It gives the value of f and the gradients of f's parameters. It takes a function and no tensor,
// so it is in no list of operators: no engine has it. The pass `expand-grad` replaces it by the
// function that it stands for, when a program is read.
#pragma once

#include "op/op_def.h"

namespace relay::op {

const OpDef& grad();

}  // namespace relay::op
