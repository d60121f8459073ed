// What tests of gradients ask of programs.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "interp/machine.h"
#include "ir/traverse.h"
#include "op/apply.h"
#include "passes/runner.h"

namespace relay::passes::gradient::testing {

inline Result<Module> after(const Module& m, std::string_view pipeline) {
  Diagnostics diagnostics;
  RunnerOptions options;
  options.verify = Verify::kTypes;
  Result<Module> out = run_pipeline(m, pipeline, options, diagnostics);
  EXPECT_TRUE(out) << diagnostics.render(m.context().sources());
  return out;
}

inline std::vector<Tensor> tensors(const Value& v) { return op::flatten(std::vector<Value>{v}); }

inline double sum_of_floats(const Value& v) {
  double sum = 0;
  for (const Tensor& t : tensors(v)) {
    for (int64_t i = 0; t.dtype().is_float() && i < t.size(); ++i) sum += t.get(i);
  }
  return sum;
}

inline Value run(const Module& m, const std::vector<Value>& args) {
  return interp::Machine(m).call("main", args);
}

// A function that is called where it stands, as `match_shape` has one, is no closure.
inline bool is_straight(const Module& m) {
  for (const auto& [name, fn] : m.functions()) {
    NodeMap<bool> called;
    for (Expr e : post_order(fn->body)) {
      if (const auto* call = e->as<Call>()) called[call->callee] = true;
    }
    for (Expr e : post_order(fn->body)) {
      if (e->kind == ExprKind::kRefNew || e->kind == ExprKind::kMatch) return false;
      if (e->kind == ExprKind::kFn && !called.get(e)) return false;
    }
  }
  return true;
}

}  // namespace relay::passes::gradient::testing
