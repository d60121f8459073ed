// What tests of gradients ask of programs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

// Every parameter of @main: floats from 0.3 to 1.1, shape variables of 3, integers of 2.
inline std::vector<Value> arguments(const Module& m) {
  std::vector<Value> out;
  int count = 0;
  const auto next = [&] { return 0.3 + 0.8 * std::fmod(0.618 * ++count, 1); };
  for (const Var* p : m.function("main")->params) {
    const auto value = [&](auto& self, Type t) -> Value {
      if (const auto* tuple = t->as<TupleType>()) {
        std::vector<Value> fields;
        for (Type f : tuple->fields) fields.push_back(self(self, f));
        return Value::tuple(std::move(fields));
      }
      const auto& tensor = *t->as<TensorType>();
      Shape shape;
      for (Dim d : tensor.dims) shape.push_back(d.is_const() ? d.value() : 3);
      Tensor out(tensor.dtype, shape);
      for (int64_t i = 0; i < out.size(); ++i) out.set(i, tensor.dtype.is_float() ? next() : 2);
      return out;
    };
    out.push_back(value(value, p->type));
  }
  return out;
}

// The arguments with one element of one tensor moved.
inline std::vector<Value> moved(const std::vector<Value>& args, size_t tensor, int64_t element, double by) {
  size_t seen = 0;
  const auto copy = [&](auto& self, const Value& v) -> Value {
    if (v.is_tensor()) {
      if (seen++ != tensor) return v;
      Tensor t = v.tensor().copy();
      t.set(element, t.get(element) + by);
      return Value(t);
    }
    std::vector<Value> fields;
    for (const Value& f : v.fields()) fields.push_back(self(self, f));
    return Value::tuple(std::move(fields));
  };
  std::vector<Value> out;
  for (const Value& v : args) out.push_back(copy(copy, v));
  return out;
}

// The module's gradient, which was compared with differences of the module.
inline Module checked_gradient(const Module& m, double tolerance) {
  const Result<Module> gradient = after(m, "gradient");
  if (!gradient) return m;
  const std::vector<Value> args = arguments(m);
  const Value value = run(m, args), both = run(*gradient, args);
  EXPECT_EQ(sum_of_floats(both.fields()[0]), sum_of_floats(value));
  const std::vector<Tensor> inputs = op::flatten(args), gradients = tensors(both.fields()[1]);
  EXPECT_EQ(gradients.size(), inputs.size());
  double largest = 0;
  for (size_t t = 0; t < std::min(inputs.size(), gradients.size()); ++t) {
    EXPECT_EQ(gradients[t].shape(), inputs[t].shape());
    EXPECT_EQ(gradients[t].dtype(), inputs[t].dtype());
    for (int64_t i = 0; i < inputs[t].size(); ++i) {
      double slope = 0;
      if (inputs[t].dtype().is_float()) {
        const double step = 1e-5;
        slope = (sum_of_floats(run(m, moved(args, t, i, step))) -
                 sum_of_floats(run(m, moved(args, t, i, -step)))) /
                (2 * step);
      }
      EXPECT_NEAR(gradients[t].get(i), slope, tolerance * (1 + std::fabs(slope)))
          << "element " << i << " of tensor " << t;
      largest = std::max(largest, std::fabs(slope));
    }
  }
  EXPECT_GT(largest, 1e-3) << "differences say nothing";
  return *gradient;
}

// All floats of the value and a multiple of those of another one, which is of the same type.
inline Value moved_along(const Value& v, const Value& direction, double by) {
  if (!v.is_tensor()) {
    std::vector<Value> fields;
    for (size_t i = 0; i < v.fields().size(); ++i)
      fields.push_back(moved_along(v.fields()[i], direction.fields()[i], by));
    return Value::tuple(std::move(fields));
  }
  if (!v.tensor().dtype().is_float()) return v;
  Tensor t = v.tensor().copy();
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, t.get(i) + by * direction.tensor().get(i));
  return Value(t);
}

// A direction for each argument.
inline std::vector<Value> directions(const std::vector<Value>& args) {
  std::vector<Value> out;
  int count = 0;
  const auto value = [&](auto& self, const Value& v) -> Value {
    std::vector<Value> fields;
    if (!v.is_tensor()) {
      for (const Value& f : v.fields()) fields.push_back(self(self, f));
      return Value::tuple(std::move(fields));
    }
    if (!v.tensor().dtype().is_float()) return v;
    Tensor t = v.tensor().copy();
    for (int64_t i = 0; i < t.size(); ++i) t.set(i, std::fmod(0.382 * ++count, 1) - 0.4);
    return Value(t);
  };
  for (const Value& v : args) out.push_back(value(value, v));
  return out;
}

inline double product_of_floats(const std::vector<Tensor>& xs, const std::vector<Tensor>& ys) {
  double sum = 0;
  for (size_t t = 0; t < xs.size(); ++t) {
    for (int64_t i = 0; xs[t].dtype().is_float() && i < xs[t].size(); ++i) sum += xs[t].get(i) * ys[t].get(i);
  }
  return sum;
}

// Compares the tangent of the module's result, element by element, with differences, and its sum
// with what the gradient says.
inline void check_tangent(const Module& m, double tolerance) {
  const Result<Module> forward = after(m, "forward-gradient"), gradient = after(m, "gradient");
  ASSERT_TRUE(forward && gradient);
  const std::vector<Value> args = arguments(m), along = directions(args);
  std::vector<Value> both = args, before, behind;
  both.insert(both.end(), along.begin(), along.end());
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < args.size(); ++i) {
    before.push_back(moved_along(args[i], along[i], -kStep));
    behind.push_back(moved_along(args[i], along[i], kStep));
  }
  const Value result = run(*forward, both);
  const std::vector<Tensor> low = tensors(run(m, before)), high = tensors(run(m, behind)),
                            value = tensors(run(m, args)), seen = tensors(result.fields()[0]),
                            tangent = tensors(result.fields()[1]);
  ASSERT_EQ(tangent.size(), low.size());
  for (size_t t = 0; t < tangent.size(); ++t) {
    ASSERT_EQ(tangent[t].shape(), low[t].shape());
    EXPECT_EQ(tangent[t].dtype(), low[t].dtype());
    for (int64_t i = 0; i < tangent[t].size(); ++i) {
      const double slope = low[t].dtype().is_float() ? (high[t].get(i) - low[t].get(i)) / (2 * kStep) : 0;
      EXPECT_NEAR(tangent[t].get(i), slope, tolerance * (1 + std::fabs(slope)))
          << "element " << i << " of tensor " << t;
      EXPECT_EQ(seen[t].get(i), value[t].get(i));
    }
  }
  const Value back = run(*gradient, args).fields()[1];
  const double want = product_of_floats(tensors(back), op::flatten(along)),
               found = sum_of_floats(result.fields()[1]);
  EXPECT_NEAR(found, want, 1e-9 * (1 + std::fabs(want)));
  EXPECT_GT(std::fabs(want), 1e-3) << "the direction says nothing";
}

}  // namespace relay::passes::gradient::testing
