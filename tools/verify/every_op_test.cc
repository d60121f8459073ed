// Engines that are wrong on purpose: the operator that is to blame is named, and
// the others are not.
#include "tools/verify/every_op.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/cat.h"
#include "driver/tolerance.h"
#include "interp/machine.h"
#include "ir/text/parser.h"
#include "ir/traverse.h"
#include "kernel/execute.h"
#include "op/operators.h"
#include "op/registry.h"
#include "typecheck/check.h"

namespace relay::tools {
namespace {

constexpr const char* kProgram = R"(
def @main(%x: Tensor[(4), float32]) {
  %0 = exp(%x);
  %1 = add(%0, 2f);
  %2 = split(%1, indices_or_sections=2);
  tanh(concatenate((%2.0, %2.1, %0)))
}
def @loop(%i: int32, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  if (less(%i, 5)) { @loop(add(%i, 1), negative(%x)) } else { %x }
}
def @symbolic(%x: Tensor[(n, 2), float32]) { reshape(%x, newshape=[2 * n]) }
def @norms(%x: Tensor[(1, 4, 2), float32], %v: Tensor[(4), float32]) {
  %0 = nn.batch_norm(%x, %v, multiply(%v, 0f), negative(%v), multiply(%v, %v)).0;
  (%0, nn.layer_norm(%x, %v, multiply(%v, 0f), axis=1), nn.instance_norm(%x, %v, multiply(%v, 0f)),
   nn.group_norm(%x, %v, multiply(%v, 0f), num_groups=2))
}
kernel @halves(x: float32[2*n]) -> (low: float32[n], high: float32[n]) {
  for i in n {
    block low { spatial v in n = i; reads x[v]; writes low[v]; low[v] = x[v] * 0.1f; }
    block high { spatial v in n = i; reads x[v + n]; writes high[v]; high[v] = x[v + n] * 0.1f + 1f; }
  }
}
kernel @count(x: float32[n]) -> (y: int32[n]) {
  for i in n { block y { spatial v in n = i; reads x[v]; writes y[v]; y[v] = int32(x[v]); } }
}
def @kernels(%x: Tensor[(m), float32]) {
  let %two = @halves(%x);
  let %f = @halves;
  (@count(negative(%two.0)), %f(%x).1, @halves(tensor([1, 2], float32)))
}
def @marked(%x: Tensor[(4), float32]) {
  let %f = annotation.checkpoint(fn (%y: Tensor[(4), float32]) { exp(%y) });
  let %cell = annotation.checkpoint(ref(%x));
  annotation.checkpoint(add(%f(%x), ref_read(%cell)))
}
def @trap(%x: Tensor[(4), int32]) { divide(add(%x, 1), subtract(%x, %x)) }
)";

Module parsed() {
  Diagnostics diagnostics;
  ParseOptions options;
  Result<Module> m = parse("net.relay", kProgram, diagnostics, op::operators(), options);
  Result<Module> checked = m ? typecheck::check(*m, diagnostics) : Result<Module>(kReported);
  EXPECT_TRUE(checked.ok()) << diagnostics.render(options.into.context().sources());
  return *checked;
}

// Does the module call the operator?
bool calls(const Module& m, std::string_view op) {
  for (Expr e : post_order(m.function("main"))) {
    const auto* call = e->as<Call>();
    if (call && op::callee(*call) && op::callee(*call)->name == op) return true;
  }
  return false;
}

int prepared = 0;  // modules, by the engines below

Value run_interp(const Module& m, const std::vector<Value>& args) {
  return interp::Machine(m).call("main", args);
}

// Gives the wrong result of `tanh`, which is one of many results of a batch.
driver::Prepared prepare_wrong(const Module& m, std::string_view, const driver::Options&) {
  ++prepared;
  return {[m](const std::vector<Value>& args) {
    interp::Options options;
    options.run_operator = [](const op::OpDef& op, std::span<const Value> with,
                              const Attrs&) -> std::optional<Value> {
      if (op.name != "tanh") return std::nullopt;
      Tensor wrong = with[0].tensor().copy();
      for (int64_t i = 0; i < wrong.size(); ++i) wrong.set(i, i == 1 ? 0.25 : std::tanh(wrong.get(i)));
      return Value(wrong);
    };
    return driver::outcome_of([&] { return interp::Machine(m, options).call("main", args); });
  }};
}

driver::Prepared prepare_refusing(const Module& m, std::string_view, const driver::Options&) {
  ++prepared;
  if (calls(m, "split")) return {{}, "no split here"};
  return {[m](const std::vector<Value>& args) {
    return driver::outcome_of([&] { return run_interp(m, args); });
  }};
}

driver::Prepared prepare_trapping(const Module& m, std::string_view, const driver::Options&) {
  ++prepared;
  return {[m](const std::vector<Value>& args) {
    if (calls(m, "exp")) return driver::Outcome{driver::Outcome::Kind::kTrap, {}, "exp is broken"};
    return driver::outcome_of([&] { return run_interp(m, args); });
  }};
}

// Gives the wrong first element of what the kernel @halves gives first.
driver::Prepared prepare_wrong_kernel(const Module& m, std::string_view, const driver::Options&) {
  ++prepared;
  return {[m](const std::vector<Value>& args) {
    interp::Options options;
    options.run_kernel = [](const kernel::Kernel& k, std::span<const Tensor> inputs) {
      std::vector<Tensor> out = kernel::execute(k, inputs);
      if (k.name.text() == "halves") out[0].set(0, out[0].get(0) + 1);
      return out;
    };
    return driver::outcome_of([&] { return interp::Machine(m, options).call("main", args); });
  }};
}

constexpr driver::Engine kWrongKernel{"wrong kernel", "", true, prepare_wrong_kernel};
constexpr driver::Engine kWrong{"wrong", "", true, prepare_wrong};
constexpr driver::Engine kRefusing{"refusing", "", false, prepare_refusing};
constexpr driver::Engine kTrapping{"trapping", "", false, prepare_trapping};

Value vector4(DType dtype = kFloat32) {
  Tensor t(dtype, {4});
  for (int64_t i = 0; i < 4; ++i) t.set_int(i, i);
  return Value(t);
}

OperatorReport verify(std::string_view function, const std::vector<Value>& args,
                      const std::vector<driver::EngineAt>& engines) {
  prepared = 0;
  return verify_every_op(parsed(), function, args, /*is_listed=*/false, engines, {}, Session{.quiet = true});
}

std::vector<std::string> names(const OperatorReport& report) {
  std::vector<std::string> out;
  for (const OperatorRow& o : report.operators) out.push_back(o.op);
  return out;
}

const OperatorRow& row(const OperatorReport& report, std::string_view op) {
  for (const OperatorRow& o : report.operators) {
    if (o.op == op) return o;
  }
  ADD_FAILURE() << "no " << op;
  return report.operators.front();
}

TEST(EveryOp, TheOperatorThatDiffersIsNamedAndNoOther) {
  const OperatorReport report = verify("main", {vector4()}, {{&kWrong, 2}});
  EXPECT_EQ(names(report), (std::vector<std::string>{"exp", "add", "split", "concatenate", "tanh"}));
  EXPECT_EQ(prepared, 1);  // all in one batch
  for (const OperatorRow& o : report.operators) EXPECT_EQ(o.ok(), o.op != "tanh") << o.op;
  EXPECT_FALSE(report.ok());
  const driver::VerifyRow& wrong = row(report, "tanh").rows[0];
  EXPECT_EQ(wrong.verdict(), driver::Verdict::kDiffers);
  EXPECT_EQ(wrong.label(), "wrong -O2");
  EXPECT_EQ(wrong.worst.got, 0.25);
  const std::string text = show(report);
  EXPECT_NE(text.find("the first to differ: `tanh` at net.relay:6:3: (Tensor[(8), float32])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("wrong -O2: differs: worst at [1]: got 0.25"), std::string::npos) << text;
}

TEST(EveryOp, WhatAnEngineRefusesIsSkippedAndTheRestCompared) {
  const OperatorReport report = verify("main", {vector4()}, {{&kRefusing}});
  EXPECT_GT(prepared, 3);
  for (const OperatorRow& o : report.operators) {
    EXPECT_EQ(o.rows[0].verdict(), o.op == "split" ? driver::Verdict::kSkipped : driver::Verdict::kAgrees)
        << o.op;
    EXPECT_NE(o.rows[0].output.empty(), o.op != "split");
  }
  EXPECT_EQ(row(report, "split").rows[0].skipped, "no split here");
  EXPECT_TRUE(report.ok());
}

TEST(EveryOp, WhatFailsIsFoundInABatch) {
  const OperatorReport report = verify("main", {vector4()}, {{&kTrapping}});
  for (const OperatorRow& o : report.operators)
    EXPECT_EQ(o.rows[0].verdict(), o.op == "exp" ? driver::Verdict::kFailed : driver::Verdict::kAgrees)
        << o.op;
  EXPECT_EQ(row(report, "exp").rows[0].failed, "exp is broken");
}

TEST(EveryOp, CallsOfALoopAreEvaluatedOftenAndComparedAFewTimes) {
  Tensor zero = Tensor::scalar(kInt32, 0);
  const OperatorReport report = verify("loop", {Value(zero), vector4()},
                                       {{driver::find_engine("interp")}, {driver::find_engine("jit"), 2}});
  EXPECT_EQ(names(report), (std::vector<std::string>{"less", "add", "negative"}));
  EXPECT_EQ(report.evaluated, 6u + 5u + 5u);
  EXPECT_EQ(row(report, "less").evaluated, 6u);
  EXPECT_EQ(row(report, "less").compared, 3u);
  EXPECT_TRUE(report.ok()) << show(report);
}

TEST(EveryOp, ShapeVariablesHaveTheExtentsOfTheRun) {
  const OperatorReport report =
      verify("symbolic", {Value(Tensor(kFloat32, {3, 2}))}, {{driver::find_engine("graph"), 2}});
  ASSERT_EQ(report.operators.size(), 1u);
  EXPECT_EQ(report.operators[0].attributes, "newshape=[6]");
  EXPECT_EQ(report.operators[0].rows[0].verdict(), driver::Verdict::kAgrees) << show(report);
}

// The absolute values of such arguments cancel in the operator itself; the terms that
// it adds up do not.
TEST(EveryOp, TheBoundOfWhatSubtractsIsTheSumOfItsTerms) {
  Tensor x(kFloat32, {1, 4, 2}), v(kFloat32, {4});
  for (int64_t i = 0; i < 4; ++i) {
    v.set(i, 0.7 + 0.3 * static_cast<double>(i));
    for (int64_t k = 0; k < 2; ++k) x.set(2 * i + k, (k == 0 ? 1.0000001 : -1) * v.get(i));
  }
  const OperatorReport report = verify("norms", {Value(x), Value(v)},
                                       {{driver::find_engine("interp")},
                                        {driver::find_engine("graph"), 0},
                                        {driver::find_engine("graph"), 2}});
  EXPECT_TRUE(report.ok()) << show(report);
  for (const OperatorRow& o : report.operators) {
    if (!o.op.ends_with("_norm")) continue;
    EXPECT_GT(o.rows[0].worst.bound, 1e-7) << o.op;
    EXPECT_LT(o.rows[0].worst.bound, 1e-4) << o.op;
  }
}

TEST(EveryOp, CallsOfKernelsAreComparedToo) {
  const std::vector<driver::EngineAt> engines = {{driver::find_engine("interp")},
                                                 {driver::find_engine("jit"), 2},
                                                 {driver::find_engine("graph"), 0},
                                                 {driver::find_engine("graph"), 2}};
  const OperatorReport report = verify("kernels", {vector4()}, engines);
  // That of constants is another program than that of an argument.
  EXPECT_EQ(names(report), (std::vector<std::string>{"@halves", "negative", "@count", "@halves"}));
  EXPECT_EQ(report.evaluated, 5u);
  EXPECT_EQ(row(report, "@halves").evaluated, 2u) << "also as a value";
  EXPECT_EQ(row(report, "@halves").result, "(Tensor[(2), float32], Tensor[(2), float32])");
  EXPECT_TRUE(report.ok()) << show(report);
  for (const driver::VerifyRow& r : row(report, "@halves").rows) {
    EXPECT_EQ(r.verdict(), driver::Verdict::kAgrees);
    EXPECT_GT(r.worst.bound, 0);
    EXPECT_LT(r.worst.bound, 1e-5);
  }
  for (const driver::VerifyRow& r : row(report, "@count").rows)
    EXPECT_EQ(r.worst.bound, 0) << "integers are exact";
}

TEST(EveryOp, TheKernelThatDiffersIsNamedAndNoOther) {
  const OperatorReport report = verify("kernels", {vector4()}, {{&kWrongKernel, 2}});
  for (const OperatorRow& o : report.operators) EXPECT_EQ(o.ok(), o.op != "@halves") << o.op;
  EXPECT_NE(show(report).find("the first to differ: `@halves` (`%two`) at net.relay:"), std::string::npos)
      << show(report);
}

TEST(EveryOp, FunctionsAndCellsAreNotCompared) {
  const OperatorReport report = verify("marked", {vector4()}, {{driver::find_engine("interp")}});
  EXPECT_EQ(names(report), (std::vector<std::string>{"exp", "add", "annotation.checkpoint"}));
  EXPECT_TRUE(report.ok()) << show(report);
}

TEST(EveryOp, ARunThatTrapsIsComparedUpToThere) {
  const OperatorReport report = verify("trap", {vector4(kInt32)}, {{driver::find_engine("graph"), 2}});
  EXPECT_EQ(names(report), (std::vector<std::string>{"add", "subtract"}));
  EXPECT_NE(report.stopped.find("zero"), std::string::npos) << report.stopped;
  EXPECT_TRUE(report.ok());
  EXPECT_NE(show(report).find("only up to where the interpreter ended"), std::string::npos);
}

}  // namespace
}  // namespace relay::tools
