// For tests: typed programs from texts, and device layers on the simulator against the interpreter.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "base/cat.h"
#include "interp/machine.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "ir/text/literal.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "op/operators.h"
#include "op/testing.h"
#include "typecheck/check.h"
#include "vta/isa/testing.h"
#include "vta/program/partition.h"
#include "vta/program/run.h"
#include "vta/simulator_driver.h"

namespace relay::vta::testing {

inline Module typed(const Module& m) {
  Diagnostics d;
  const Result<Module> out = typecheck::check(m, d);
  EXPECT_TRUE(out.ok()) << d.render(m.context().sources());
  return out ? *out : Module();
}
inline Module typed(const std::string& text) {
  Diagnostics d;
  const ParseOptions options;
  const Result<Module> m = relay::parse("program", text, d, op::operators(), options);
  EXPECT_TRUE(m.ok()) << text << "\n" << d.render(options.into.context().sources());
  return m ? typed(*m) : Module();
}

// A constant of random integers, as a text.
inline std::string numbers(DType dtype, Shape shape, uint64_t seed, double low, double high) {
  return text::show_tensor(op::testing::random(dtype, std::move(shape), seed, low, high));
}
inline std::string weights(Shape shape, uint64_t seed = 7) {
  return numbers(kInt8, std::move(shape), seed, -128, 127);
}

inline std::string show(const Module& m) {
  const Operators operators = op::operators();
  return relay::print(m, {.operators = &operators, .header = false});
}

inline const Fn* device_function(Expr e) {
  const auto* call = e->as<Call>();
  const auto* fn = call ? call->callee->as<Fn>() : nullptr;
  return fn && is_device_function(*fn) ? fn : nullptr;
}

// Each device function replaced by its body.
inline Module inlined(const Module& m) {
  return rewrite(m, [](Builder& b, Expr e) -> Expr {
    const Fn* fn = device_function(e);
    if (!fn) return e;
    std::unordered_map<const Var*, Expr> by;
    for (size_t k = 0; k < fn->params.size(); k++) by[fn->params[k]] = e->as<Call>()->args[k];
    return substitute(b.context(), fn->body, by);
  });
}

inline std::vector<Value> random_args(const Fn& fn, uint64_t seed) {
  std::vector<Value> out;
  for (const Var* v : fn.params) {
    const auto& type = *v->type->as<TensorType>();
    const bool real = type.dtype.is_float();
    out.emplace_back(
        op::testing::random(type.dtype, *type.static_shape(), seed++, real ? -8 : -128, real ? 8 : 127));
  }
  return out;
}

// Partitions a module whose @main has tensors as parameters and one as its result. Its result stays
// the same, and so do those of all layers on the simulator, for what the interpreter hands to each
// of them. So the program whose layers run on a VTA gives what it gave.
inline Partitioned expect_same(const Module& m, const Layout& layout, uint64_t seed = 1) {
  Partitioned p = partition(m, layout, {});
  EXPECT_EQ(well_formed(p.module), std::vector<std::string>());
  EXPECT_TRUE(typed(p.module).same(p.module)) << "the result is not typed";
  EXPECT_TRUE(alpha_equal(inlined(p.module), m)) << show(p.module);

  const std::vector<Value> args = random_args(*m.function("main"), seed);
  const Value before = interp::Machine(m).call("main", args);
  std::unordered_map<Expr, Value> seen;
  interp::Options options;
  options.observe = [&](Expr e, const Value& v) { seen.insert_or_assign(e, v); };
  const Fn& main = *p.module.function("main");
  for (size_t k = 0; k < args.size(); k++) seen.emplace(main.params[k], args[k]);
  const Value after = interp::Machine(p.module, options).call("main", args);
  EXPECT_TRUE(identical(before.tensor(), after.tensor()));

  SimulatorDriver driver(layout);
  size_t runs = 0;
  for (Expr e : post_order(&main)) {
    const Fn* fn = device_function(e);
    if (!fn) continue;
    EXPECT_EQ(fn->attrs.find(kLayer)->integer, static_cast<int64_t>(runs));
    const DeviceLayer& layer = p.layers.at(runs++);
    SCOPED_TRACE(layer.name);
    std::vector<Tensor> params;
    for (Expr arg : e->as<Call>()->args) params.push_back(seen.at(arg).tensor());
    Diagnostics d;
    const Result<Tensor> result = vta::run(driver, layer, params, *e->type->as<TensorType>(), d);
    EXPECT_TRUE(result.ok()) << d.render(SourceMap());
    EXPECT_TRUE(result && identical(*result, seen.at(e).tensor())) << show(p.module);
  }
  EXPECT_EQ(runs, p.layers.size());
  return p;
}

}  // namespace relay::vta::testing
