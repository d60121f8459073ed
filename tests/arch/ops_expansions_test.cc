// Every operator that is defined by others: where it traps for the shapes of its arguments, so does
// what it is written out in.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/cat.h"
#include "base/failure.h"
#include "driver/engines.h"
#include "interp/machine.h"
#include "op/registry.h"
#include "op/testing.h"
#include "passes/fresh_extents.h"
#include "passes/runner.h"
#include "tools/test_files/test_file.h"
#include "tools/verify/exec_program.h"
#include "tools/verify/recorded_calls.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

constexpr int kCallsEnough = 4;
constexpr int64_t kMostElements = 4096;

// The type of a tensor, or of a tuple of tensors, of which only ranks are known.
Type opened(Context& context, const Value& v) {
  if (!v.is_tensor()) {
    std::vector<Type> fields;
    for (const Value& f : v.fields()) fields.push_back(opened(context, f));
    return context.tuple_type(fields);
  }
  return context.tensor_type(std::vector<Dim>(v.tensor().rank(), Dim::unknown()), v.tensor().dtype());
}

// @main calls the operator with arguments of open extents, which have names or not, but for those
// of the last `known` ones. Nothing if its typing rule wants more known.
std::optional<Module> open_call(const Module& program, const tools::RecordedCall& c,
                                const std::vector<Value>& args, bool named, size_t known) {
  Module m = program;
  for (const auto& [name, fn] : program.functions()) m.remove_function(name.text());
  Builder b(m.context());
  std::vector<const Var*> params;
  passes::FreshExtents fresh(m.context(), {});
  for (const Value& v : args) {
    const bool is_known = params.size() + known >= args.size() && v.is_tensor();
    Type open = opened(m.context(), v);
    if (is_known) {
      const Shape& shape = v.tensor().shape();
      open = m.context().tensor_type(std::vector<Dim>(shape.begin(), shape.end()), v.tensor().dtype());
    }
    params.push_back(b.var(cat("x", params.size()), named ? fresh.name(open) : open));
  }
  const std::vector<Expr> operands(params.begin(), params.end());
  m.set_function("main", b.fn(params, b.call(b.op(*c.op), operands, c.attrs), nullptr));
  Diagnostics diagnostics;
  const Result<Module> checked = typecheck::check(m, diagnostics);
  return checked ? std::optional(*checked) : std::nullopt;
}

// The value with another extent along one axis of one of its tensors, counted over all of them.
Value resized(const Value& v, size_t tensor, size_t axis, int64_t extent, size_t& next) {
  if (!v.is_tensor()) {
    std::vector<Value> fields;
    for (const Value& f : v.fields()) fields.push_back(resized(f, tensor, axis, extent, next));
    return Value::tuple(std::move(fields));
  }
  if (next++ != tensor) return v;
  Shape shape = v.tensor().shape();
  shape[axis] = extent;
  return Value(op::testing::random(v.tensor().dtype(), shape, 1, 0, 1));
}

std::string told(const driver::Outcome& o) {
  return o.kind == driver::Outcome::Kind::kValue ? "a value" : cat("no value: ", reason_of(o.message));
}

// Runs both with each extent of each argument changed.
void compare(const Module& call, const Module& expansion, const std::vector<Value>& args,
             const std::string& where) {
  const auto run = [](const Module& m, const std::vector<Value>& given) {
    return driver::outcome_of([&] { return interp::Machine(m).call("main", given); });
  };
  const std::vector<Tensor> tensors = op::flatten(args);
  for (size_t t = 0; t < tensors.size(); ++t) {
    for (size_t axis = 0; axis < tensors[t].rank(); ++axis) {
      const int64_t is = tensors[t].shape()[axis];
      for (const int64_t extent : std::set<int64_t>{0, 1, is, is + 1}) {
        std::vector<Value> given;
        size_t next = 0;
        for (const Value& v : args) given.push_back(resized(v, t, axis, extent, next));
        EXPECT_EQ(told(run(expansion, given)), told(run(call, given)))
            << where << ", with extent " << extent << " of axis " << axis << " of tensor " << t;
      }
    }
  }
}

TEST(Ops, ExpansionsTrapWhereTheirOperatorsDo) {
  std::map<std::string, int> compared;
  for (const std::string& path : tools::test_files_beneath("tests/exec/op")) {
    const tools::ExecProgram program(path);
    if (!program.problem().empty()) continue;
    for (const std::string& line : program.calls()) {
      const tools::CallLine call = tools::parse_call(line);
      if (call.assertion == "rejected") continue;
      const std::vector<Value> given = program.arguments(call, 0);
      for (const tools::RecordedCall& c : tools::record_calls(program.module(), call.function, given).calls) {
        if (!c.op || !c.op->expand || compared[c.op->name] >= kCallsEnough) continue;
        const std::vector<Value>& args = c.runs[0].args;
        int64_t elements = 0;
        for (const Tensor& t : op::flatten(args)) elements += t.size();
        if (elements > kMostElements) continue;
        for (const bool named : {false, true}) {
          std::optional<Module> open = open_call(program.module(), c, args, named, 0);
          // The last argument may be a shape, whose own extent decides a rank.
          if (!open) open = open_call(program.module(), c, args, named, 1);
          if (!open) continue;
          Diagnostics diagnostics;
          const Result<Module> expanded =
              passes::run_pipeline(*open, "simplify-inference,expand-operators", {}, diagnostics);
          const std::string where =
              cat(path, ": ", line, ": `", c.op->name, named ? "` of named" : "` of unknown", " extents");
          ASSERT_TRUE(expanded.ok()) << where << diagnostics.render(open->context().sources());
          compare(*open, *expanded, args, where);
          ++compared[c.op->name];
        }
      }
    }
  }
  for (const op::OpDef* op : op::all_ops()) {
    if (op->expand) {
      EXPECT_GT(compared[op->name], 0) << op->name;
    }
  }
}

}  // namespace
}  // namespace relay::tests
