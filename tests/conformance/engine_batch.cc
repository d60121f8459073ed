#include "tests/conformance/engine_batch.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/cat.h"
#include "base/failure.h"
#include "ir/builder.h"
#include "passes/reference.h"
#include "tools/verify/batches.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

using Batch = std::span<const EngineTest* const>;

bool has_only_main(const Module& m) {
  return m.functions().size() == 1 && m.kernels().empty() && m.data_types().empty();
}

// One program whose @main takes the arguments of all tests, and gives the tensors of all
// results in a row. Returns nullopt if the tests do not check together.
std::optional<Module> joined(Batch tests) {
  if (tests.size() == 1) return tests[0]->module;
  Module out = tests[0]->module;
  Builder b(out.context());
  std::vector<const Var*> params;
  std::vector<const TypeVar*> type_params;
  std::vector<Type> where;
  std::vector<Expr> results;
  for (const EngineTest* t : tests) {
    const Fn& main = *t->module.function("main");
    params.insert(params.end(), main.params.begin(), main.params.end());
    type_params.insert(type_params.end(), main.type_params.begin(), main.type_params.end());
    where.insert(where.end(), main.where.begin(), main.where.end());
    const auto* tuple = main.body->type->as<TupleType>();
    if (!tuple) results.push_back(main.body);
    for (uint32_t i = 0; tuple && i < tuple->fields.size(); ++i) results.push_back(b.proj(main.body, i));
  }
  out.set_function("main", b.fn(params, b.tuple(results), nullptr, {}, type_params, where));
  Diagnostics diagnostics;
  Result<Module> checked = typecheck::check(out, diagnostics);
  if (!checked) return std::nullopt;
  return std::move(*checked);
}

// Runs tests that are compiled as one.
class BatchRun {
 public:
  BatchRun(const driver::Engine& engine, const driver::Options& options, const OnEngineRow& on_row)
      : engine_(engine), options_(options), on_row_(on_row) {}

  // Returns false if the batch has no result and must be taken apart; never for a single test.
  bool run(Batch tests) const {
    const bool alone = tests.size() == 1;
    driver::VerifyRow row = driver::row_of({&engine_, options_.opt_level});
    const auto fail = [&](std::string why) {
      if (!alone) return false;
      row.failed = std::move(why);
      row.ok = false;
      on_row_(*tests[0], row, {});
      return true;
    };
    driver::Outcome outcome;
    try {
      const std::optional<Module> module = joined(tests);
      if (!module) return false;
      const driver::Prepared prepared = engine_.prepare(*module, "main", options_);
      if (!alone && (!prepared.run || !prepared.refusal.all().empty())) return false;
      row.prepare(prepared);
      if (!prepared.run) {
        on_row_(*tests[0], row, {});
        return true;
      }
      std::vector<Value> args;
      for (const EngineTest* t : tests) args.insert(args.end(), t->args.begin(), t->args.end());
      outcome = prepared.run(args);
    } catch (const driver::CannotPrepare& e) {
      return fail(e.what());
    } catch (const Exhausted& e) {
      return fail(e.what());
    }
    if (outcome.kind != driver::Outcome::Kind::kValue) return fail(outcome.message);
    // Of several, nobody knows which of them was interpreted.
    if (!alone && outcome.interpreted_calls > 0) return false;
    row.interpreted_calls = outcome.interpreted_calls;
    return tell(tests, row, passes::tensors_of(outcome.value)) || fail("it gives another number of tensors");
  }

 private:
  // Tells a row for each test. Returns false if the tensors are not as many as the tests want.
  bool tell(Batch tests, const driver::VerifyRow& about, std::span<const Tensor> got) const {
    size_t wanted = 0;
    for (const EngineTest* t : tests) wanted += t->wanted.own.size();
    if (wanted != got.size()) return false;
    for (const EngineTest* t : tests) {
      driver::VerifyRow row = about;
      const std::span<const Tensor> own = got.first(t->wanted.own.size());
      for (size_t i = 0; i < own.size(); ++i) row.add(t->wanted, i, own[i], cat("output ", i));
      on_row_(*t, row, own);
      got = got.subspan(own.size());
    }
    return true;
  }

  const driver::Engine& engine_;
  const driver::Options& options_;
  const OnEngineRow& on_row_;
};

}  // namespace

void run_on_engine(const driver::Engine& engine, const driver::Options& options,
                   std::span<const EngineTest> tests, const OnEngineRow& on_row,
                   const std::function<bool(const EngineTest&)>& alone) {
  const BatchRun run(engine, options, on_row);
  std::vector<const EngineTest*> together;
  for (const EngineTest& t : tests) {
    const EngineTest* test = &t;
    if (has_only_main(t.module) && !(alone && alone(t))) {
      together.push_back(test);
    } else {
      run.run(Batch(&test, 1));
    }
  }
  tools::run_in_batches(together.size(), [&](size_t begin, size_t end) {
    return run.run(Batch(together).subspan(begin, end - begin));
  });
}

}  // namespace relay::tests
