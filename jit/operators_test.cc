// Where the engine computes what; that it computes what programs mean is shown by tests/exec.
#include "jit/operators.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "kernel/execute.h"
#include "op/operators.h"
#include "runtime/compare.h"
#include "typecheck/check.h"

namespace relay::jit {
namespace {

class Jit : public ::testing::Test {
 protected:
  Options options() const {
    Options out;
    out.compile.target = target::baseline(target::kHere);
    return out;
  }
  // `lowers`: as for a run; otherwise operators stay as they are, which is what a program becomes
  // that no pass takes.
  void load(const std::string& text, bool lowers = true) {
    Diagnostics diagnostics;
    const Result<Module> parsed = parse("p.relay", text, diagnostics, op::operators(), {});
    const Result<Module> checked =
        parsed ? typecheck::check(*parsed, diagnostics) : Result<Module>(kReported);
    ASSERT_TRUE(checked.ok()) << diagnostics.render({});
    checked_ = *checked;
    prepared_ = lowers ? prepare(checked_, options()).module : checked_;
    auto made = CompiledOperators::create(prepared_, options(), diagnostics);
    ASSERT_TRUE(made.ok()) << diagnostics.render({});
    operators_ = std::move(*made);
  }
  Value run(std::vector<Value> args) {
    interp::Options machine;
    operators_->use_in(machine);
    return interp::Machine(prepared_, machine).call("main", std::move(args));
  }
  void expect_the_meaning(const std::vector<Value>& args) {
    const Value want = interp::Machine(checked_).call("main", args);
    EXPECT_EQ(interp::show(run(args)), interp::show(want));
  }
  static Value numbers(const Shape& shape, DType d = kFloat32) {
    Tensor t(d, shape);
    for (int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>(i % 7));
    return Value(t);
  }
  template <class F>
  static std::string trap_of(F&& f) {
    try {
      f();
    } catch (const Trap& trap) {
      return trap.what();
    }
    return "none";
  }

  Module checked_, prepared_;
  std::unique_ptr<CompiledOperators> operators_;
};

TEST_F(Jit, StaticShapesAreInKernelsBeforeTheRun) {
  load("def @main(%x: Tensor[(2, 4), float32]) { multiply(add(%x, %x), %x) }");
  EXPECT_EQ(prepared_.kernels().size(), 1u);
  expect_the_meaning({numbers({2, 4})});
  EXPECT_EQ(operators_->compiled_calls() + operators_->interpreted_calls(), 0u) << "it is one kernel";
}

TEST_F(Jit, ShapesThatAreNotKnownAreInKernelsToo) {
  load("def @main(%x: Tensor[(?, 4), float32], %y: Tensor[(?, 4), float32]) { multiply(add(%x, %y), %x) }");
  EXPECT_EQ(prepared_.kernels().size(), 1u);
  for (int64_t rows : {3, 1}) expect_the_meaning({numbers({3, 4}), numbers({rows, 4})});
  EXPECT_EQ(operators_->compiled_calls() + operators_->interpreted_calls(), 0u) << "it is one kernel";
  EXPECT_EQ(trap_of([&] { run({numbers({2, 4}), numbers({3, 4})}); }),
            "wrong shape: `add`: d0 and d1 do not broadcast (called with Tensor[(d0, 4), float32], "
            "Tensor[(d1, 4), float32])");
}

TEST_F(Jit, ShapesThatBecomeKnownAreCompiledThen) {
  load("def @main(%x: Tensor[(?, 4), float32]) { multiply(add(%x, %x), %x) }", false);
  for (int64_t rows : {3, 5, 3}) expect_the_meaning({numbers({rows, 4})});
  EXPECT_EQ(operators_->compiled_calls(), 6u);
  EXPECT_EQ(operators_->interpreted_calls(), 0u);
}

TEST_F(Jit, AViewIsNoCode) {
  load("def @main(%x: Tensor[(?, 4), float32]) { reshape(%x, newshape=[-1]) }");
  expect_the_meaning({numbers({3, 4})});
  EXPECT_EQ(operators_->compiled_calls(), 0u);
  EXPECT_EQ(operators_->view_calls(), 1u);
  EXPECT_EQ(operators_->interpreted_calls(), 0u) << "there was nothing to compute";
}

TEST_F(Jit, WhatHasNoCodeIsCounted) {
  load("def @main(%x: Tensor[(2, 3), float32], %b: Tensor[(3), float32]) { nn.bias_add(%x, %b) }", false);
  expect_the_meaning({numbers({2, 3}), numbers({3})});
  EXPECT_EQ(operators_->compiled_calls(), 0u);
  EXPECT_EQ(operators_->interpreted_calls(), 1u);
}

TEST_F(Jit, AttributesAndDtypesTellCallsApart) {
  load(R"(
def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(?, 3), int32]) {
  (concatenate((%x, %x), axis=0), concatenate((%x, %x), axis=1), concatenate((%y, %y), axis=0), subtract(%y, %y))
}
)",
       false);
  expect_the_meaning({numbers({3, 3}), numbers({3, 3}, kInt32)});
  EXPECT_EQ(operators_->compiled_calls(), 4u);
}

TEST_F(Jit, TheWholeLanguageIsThere) {
  load(R"(
type Tree { Leaf(Tensor[(2), float32]), Node(Tree, Tree) }
def @fold(%t: Tree, %f: fn (Tensor[(2), float32], Tensor[(2), float32]) -> Tensor[(2), float32])
    -> Tensor[(2), float32] {
  match (%t) { Leaf(%x) => %x, Node(%a, %b) => %f(@fold(%a, %f), @fold(%b, %f)) }
}
def @count(%n: int32, %r: ref(int32)) -> int32 {
  if (equal(%n, 0)) { ref_read(%r) } else {
    let %u = ref_write(%r, add(ref_read(%r), %n));
    @count(subtract(%n, 1), %r)
  }
}
def @main(%x: Tensor[(2), float32]) {
  let %k = multiply(%x, 2f);
  let %f = fn (%a: Tensor[(2), float32], %b: Tensor[(2), float32]) -> Tensor[(2), float32] { add(multiply(%a, %k), %b) };
  (@fold(Node(Node(Leaf(%x), Leaf(%k)), Leaf(%x)), %f), @count(100, ref(0)))
}
)");
  expect_the_meaning({numbers({2})});
  EXPECT_FALSE(prepared_.kernels().empty());
}

TEST_F(Jit, WhatTrapsTrapsWithTheSameWords) {
  load("def @main(%x: Tensor[(?), int32], %y: Tensor[(?), int32]) { divide(%x, %y) }", false);
  const Value x = numbers({2}, kInt32), zeros{Tensor(kInt32, {2})};
  const auto meant = trap_of([&] { interp::Machine(checked_).call("main", {x, zeros}); });
  EXPECT_NE(meant, "none");
  EXPECT_EQ(trap_of([&] { run({x, zeros}); }), meant);
  // A violated constraint is told by the operator's rule, not by code.
  const Value three = numbers({3}, kInt32);
  EXPECT_EQ(trap_of([&] { run({x, three}); }),
            trap_of([&] { interp::Machine(checked_).call("main", {x, three}); }));
}

TEST_F(Jit, KernelsThatRunElsewhereAreNotCompiled) {
  load("def @main(%x: Tensor[(2, 4), float32]) { add(%x, %x) }");
  ASSERT_EQ(prepared_.kernels().size(), 1u);
  const auto& [name, kernel] = *prepared_.kernels().begin();
  Options o = options();
  size_t compiled = 0, runs = 0;
  o.code_generator = [&](auto kernels, const auto&, auto&) {
    compiled += kernels.size();
    return std::string();
  };
  o.elsewhere.emplace(name, [&, k = kernel](std::span<const Tensor> inputs) {
    ++runs;
    return kernel::execute(*k, inputs);
  });
  Diagnostics diagnostics;
  auto made = CompiledOperators::create(prepared_, o, diagnostics);
  ASSERT_TRUE(made.ok()) << diagnostics.render({});
  operators_ = std::move(*made);
  expect_the_meaning({numbers({2, 4})});
  EXPECT_EQ(compiled, 0u);
  EXPECT_EQ(runs, 1u);
}

TEST_F(Jit, OtherCodeGeneratorsFit) {
  load("def @main(%x: Tensor[(2, 4), float32]) { nn.softmax(%x) }");
  Options o = options();
  o.code_generator = [](auto, const auto&, auto&) { return std::string("no machine here"); };
  Diagnostics diagnostics;
  EXPECT_FALSE(CompiledOperators::create(prepared_, o, diagnostics).ok());
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(diagnostics.all()[0].slug().name(), "cannot-compile");
  EXPECT_EQ(diagnostics.all()[0].message(), "no machine here");
}

}  // namespace
}  // namespace relay::jit
