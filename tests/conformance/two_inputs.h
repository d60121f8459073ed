// Models of two inputs in tests, run on the interpreter and on a compiled engine.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/cat.h"
#include "driver/engines.h"
#include "passes/reference.h"
#include "tests/conformance/run_model.h"

namespace relay::tests {

using frontend::TestDim;
using frontend::TestModel;
using Numbers = std::vector<double>;

inline constexpr int kInt64Code = ::onnx::TensorProto::INT64;

struct Given {
  std::vector<TestDim> type;
  Tensor value;
};

inline Given floats(const Shape& shape, const Numbers& values, DType dtype = kFloat32) {
  Given out{{}, tensor(dtype, shape, values)};
  for (int64_t extent : shape) out.type.emplace_back(static_cast<int>(extent));
  return out;
}
inline Given axes(const Numbers& values) {
  return floats({static_cast<int64_t>(values.size())}, values, kInt64);
}

inline int code_of(DType dtype) {
  if (dtype == kFloat32) return ::onnx::TensorProto::FLOAT;
  return dtype.is_bool() ? static_cast<int>(::onnx::TensorProto::BOOL) : kInt64Code;
}

// A model of two inputs, x and `name`.
inline TestModel of_two(const Given& x, const std::string& name, const Given& other, int64_t opset = 18) {
  TestModel m(opset);
  m.input("x", x.type, code_of(x.value.dtype())).input(name, other.type, code_of(other.value.dtype()));
  return m;
}
inline TestModel along(const std::string& op, const Given& x, const Given& axes, int64_t opset = 18) {
  TestModel m = of_two(x, "axes", axes, opset);
  m.node(op, {"x", "axes"}, {"y"});
  return m;
}

// "(2, 3): 1 2 3 4 5 6", or "traps". Both engines must agree.
inline std::string result(TestModel m, const Given& x, const Given& other) {
  const frontend::Imported imported = frontend::import_model(m.output("y"));
  if (!imported.ok) return imported.messages;
  Diagnostics diagnostics;
  const Result<Module> checked = typecheck::check(imported.module, diagnostics);
  if (!checked) return diagnostics.render(imported.module.context().sources());
  std::string first;
  for (const char* name : {"interp", "jit"}) {
    const driver::Prepared prepared = driver::find_engine(name)->prepare(*checked, "main", {});
    if (!prepared.run) return prepared.skipped;
    const driver::Outcome outcome = prepared.run(std::vector<Value>{Value(x.value), Value(other.value)});
    std::string got = "traps";
    if (outcome.kind == driver::Outcome::Kind::kValue) {
      const Tensor y = passes::tensors_of(outcome.value)[0];
      got = cat("(", join(y.shape(), ", ", [](int64_t extent) { return extent; }), "):");
      for (double v : y.doubles()) got += cat(" ", v);
    } else {
      EXPECT_EQ(outcome.kind, driver::Outcome::Kind::kTrap) << outcome.message;
    }
    if (first.empty()) first = got;
    EXPECT_EQ(got, first) << name;
  }
  return first;
}
inline std::string result(const std::string& op, const Given& x, const Given& axes, int64_t opset = 18) {
  return result(along(op, x, axes, opset), x, axes);
}

}  // namespace relay::tests
