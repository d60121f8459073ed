// The engine `jit` and denormals: compiled code flushes them, definitions keep them, and the
// caller's control word is left as it was.
#include <gtest/gtest.h>

#include "base/failure.h"
#include "ir/text/parser.h"
#include "jit/operators.h"
#include "op/operators.h"
#include "typecheck/check.h"

namespace relay::jit {
namespace {

constexpr double kTiny = 0x1p-140;

Module checked(const std::string& text) {
  Diagnostics diagnostics;
  const Result<Module> parsed = parse("p.relay", text, diagnostics, op::operators(), {});
  const Result<Module> out = parsed ? typecheck::check(*parsed, diagnostics) : Result<Module>(kReported);
  EXPECT_TRUE(out.ok()) << diagnostics.render({});
  return *out;
}

// @main of the program on these, compiled: as a kernel of the module if it is lowered, else
// operator by operator.
Value run(const Module& m, Denormals denormals, bool lowers, std::vector<Value> args) {
  Options options;
  options.compile.target = target::baseline(target::kHere);
  options.denormals = denormals;
  const Module prepared = lowers ? prepare(m, options).module : m;
  Diagnostics diagnostics;
  auto operators = CompiledOperators::create(prepared, options, diagnostics);
  EXPECT_TRUE(operators.ok()) << diagnostics.render({});
  interp::Options machine;
  (*operators)->use_in(machine);
  return interp::Machine(prepared, machine).call("main", std::move(args));
}

TEST(JitDenormals, AreFlushedUnlessKept) {
  const Module m = checked("def @main(%x: Tensor[(), float32]) { add(%x, %x) }");
  const Value tiny(Tensor::scalar(kFloat32, kTiny));
  for (const bool lowers : {false, true}) {
    EXPECT_EQ(run(m, Denormals::kFlush, lowers, {tiny}).tensor().get(0), 0);
    EXPECT_EQ(run(m, Denormals::kKeep, lowers, {tiny}).tensor().get(0), 2 * kTiny);
  }
}

TEST(JitDenormals, TheControlWordIsTheCallersAgain) {
  const Module m = checked("def @main(%x: Tensor[(), int32]) { divide(6, %x) }");
  for (const Denormals caller : {Denormals::kFlush, Denormals::kKeep}) {
    const DenormalsScope around(caller);
    const uint64_t before = control_word();
    for (const Denormals said : {Denormals::kFlush, Denormals::kKeep}) {
      for (const bool lowers : {false, true}) {
        EXPECT_EQ(run(m, said, lowers, {Value(Tensor::scalar_int(kInt32, 2))}).tensor().get_int(0), 3);
        EXPECT_EQ(control_word(), before);
        EXPECT_THROW(run(m, said, lowers, {Value(Tensor::scalar_int(kInt32, 0))}), Trap);
        EXPECT_EQ(control_word(), before) << "after a trap";
      }
    }
  }
}

}  // namespace
}  // namespace relay::jit
