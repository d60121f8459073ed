// Gradients that come from kernels: those of the program, and of operators that have no rule.
//
//   kernel @k(x: float32[n]) -> (y: float32[n]) { ... }
//
// A call of it becomes a call of a function with a gradient of its own, which is a kernel, too
// (kernel/adjoint.h):
//
//   def @k_differentiable(%x, Gradient="k_back") { @k(%x) }
//   def @k_back(%x, %dy) { (@k_adjoint(%x, %dy),) }
//
// Forwards, such a function names the function of its tangent, too.
//
// So whatever differentiates a program has nothing to know of kernels. The adjoint's kernel has an
// adjoint of its own when a gradient is differentiated once more.
#pragma once

#include <string>
#include <string_view>

#include "ir/module.h"
#include "op/op_def.h"

namespace relay::passes::gradient {

// Does the gradient of the operator come from its kernel? So it does if it has no rule, no
// expansion into others, and no reason to have none.
bool has_gradient_by_kernel(const op::OpDef& op);

// The typed module with such functions for all kernels and operators that have an adjoint, and that
// take and give floats. What is new has no types yet. `tangents`: they name tangents.
Module with_gradients_of_kernels(const Module& m, bool tangents);

// A function that calls the kernel of this name, and does nothing else.
const Fn* caller_of_kernel(Context& context, std::string_view name, const kernel::Kernel& k);

// Why a kernel of the module has no gradient, as a clause.
std::string why_no_gradient(const Module& m, Symbol kernel);
// The same of a call of an operator whose gradient comes from its kernel.
std::string why_no_gradient(Context& context, const Call& call);

}  // namespace relay::passes::gradient
