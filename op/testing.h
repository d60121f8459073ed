// For the tests of operators: gradients against central differences, lowerings against evaluation.
//
//   check_gradient(kTanh, {random(kFloat64, {2, 3}, 1)});
//   check_lowering(kTanh, {random(kFloat32, {2, 3}, 1)});
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "op/apply.h"
#include "op/bounds.h"
#include "op/registry.h"
#include "runtime/compare.h"

namespace relay::op::testing {

// Numbers that look random, the same in every run: floats evenly from [low, high], integers and
// booleans likewise.
Tensor random(DType dtype, Shape shape, uint64_t seed, double low = -2, double high = 2);

template <class T>
Tensor tensor(DType dtype, Shape shape, const std::vector<T>& values) {
  return Tensor::of(dtype, std::move(shape), std::span<const T>(values));
}

// The value of an expression of operator calls, tuples, projections and constants.
Value value_of(Context& context, Expr root, const std::map<const Var*, Value>& vars);

Tensor evaluate(const OpDef& op, const std::vector<Value>& args, const std::vector<AttrArg>& attrs = {});

// The dtype and dims of a call's result, as text; the reason if the relation fails.
std::string infer_text(Context& context, const OpDef& op, const std::vector<Type>& types,
                       const std::vector<AttrArg>& attrs = {});

// A tensor of random weights for each tensor of a result, as the adjoint of it.
Value weights_for(const std::vector<Tensor>& results, bool tuple);

// How the gradient rule of a call compares with central differences.
struct GradientCheck {
  std::string wrong;  // the first difference; empty if there is none
  // Elements. Where two widths of the differences disagree, there is nothing to compare with.
  int64_t compared = 0;
};

// Each argument is a tensor or a tuple of tensors. Compares the gradient of sum(weights * result)
// by every floating-point element with central differences. Use float64, away from kinks.
GradientCheck compare_gradient(Context& context, const OpDef& op, const std::vector<Value>& args,
                               const Attrs& attrs, double tolerance);

void check_gradient(const OpDef& op, const std::vector<Value>& args, const std::vector<AttrArg>& attrs = {},
                    double tolerance = 2e-6);

enum class Dims { kConstant, kSymbolic };

// The type of a value; with kSymbolic every extent but 0 and 1 is a shape variable, the same one
// for the same extent.
Type lowered_type(Context& context, const Value& v, Dims dims);

// The kernel that the operator's lowering gives for arguments of these types.
kernel::Kernel lower(Context& context, const OpDef& op, const std::vector<Type>& types, const Attrs& attrs);

// Runs the lowering on the kernel reference executor and compares with evaluation.
void check_lowering_of(const OpDef& op, const std::vector<Value>& args, const std::vector<AttrArg>& attrs,
                       Dims dims);

void check_lowering(const OpDef& op, const std::vector<Value>& args, const std::vector<AttrArg>& attrs = {});

}  // namespace relay::op::testing
