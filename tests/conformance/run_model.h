// Running small ONNX models in tests.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "frontend/onnx/testing.h"
#include "interp/machine.h"
#include "op/apply.h"
#include "typecheck/check.h"

namespace relay::tests {

inline Tensor tensor(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor t(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) t.set(static_cast<int64_t>(i), values[i]);
  return t;
}

// The outputs of the model, or why there are none.
inline std::vector<Tensor> run(const frontend::TestModel& model, const std::vector<Value>& args) {
  const frontend::Imported imported = frontend::import_model(model);
  EXPECT_TRUE(imported.ok) << imported.messages;
  if (!imported.ok) return {};
  Diagnostics diagnostics;
  const Result<Module> checked = typecheck::check(imported.module, diagnostics);
  EXPECT_TRUE(checked.ok()) << diagnostics.render(imported.module.context().sources());
  if (!checked) return {};
  const Value result = interp::Machine(*checked).call("main", args);
  return op::flatten(std::span<const Value>(&result, 1));
}

}  // namespace relay::tests
