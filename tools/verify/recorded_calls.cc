#include "tools/verify/recorded_calls.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/cat.h"
#include "base/check.h"
#include "base/failure.h"
#include "driver/engines.h"
#include "interp/machine.h"
#include "ir/builder.h"
#include "kernel/execute.h"
#include "op/apply.h"
#include "typecheck/check.h"

namespace relay::tools {
namespace {

// The constants among the arguments as they stand in the program, one for each tensor.
std::vector<const Tensor*> constants_of(const Call& site, const std::vector<Value>& args) {
  std::vector<const Tensor*> out;
  const auto add = [&](Expr e, const Value& v) {
    const auto* constant = e->as<Constant>();
    const size_t tensors = op::flatten(std::span(&v, 1)).size();
    out.insert(out.end(), tensors, constant ? constant->value : nullptr);
  };
  for (size_t i = 0; i < args.size(); ++i) {
    const auto* tuple = site.args[i]->as<Tuple>();
    if (!tuple) {
      add(site.args[i], args[i]);
      continue;
    }
    for (size_t k = 0; k < tuple->fields.size(); ++k) add(tuple->fields[k], args[i].fields()[k]);
  }
  if (std::find(out.begin(), out.end(), nullptr) == out.end()) std::fill(out.begin(), out.end(), nullptr);
  return out;
}

// What makes two calls compile alike, by the addresses of interned things: only ever looked up.
using Key = std::tuple<const void*, const Attr*, std::vector<const void*>>;

Key key_of(Context& context, const RecordedCall& call, const std::vector<Value>& args) {
  std::vector<const void*> parts(call.constants.begin(), call.constants.end());
  for (const Value& v : args) parts.push_back(op::type_of(context, v));
  const void* callee = call.op;
  if (call.kernel) callee = call.kernel;
  return {callee, call.attrs.empty() ? nullptr : call.attrs.begin(), std::move(parts)};
}

// The argument with parameters in the place of what is not constant. Operators take tuples of
// tensors, no deeper ones.
Expr argument(Builder& b, const Value& v, const RecordedCall& call, size_t& next,
              std::vector<const Var*>& params) {
  const auto leaf = [&](const Value& tensor) -> Expr {
    if (const Tensor* constant = call.constants[next++]) return b.constant(*constant);
    params.push_back(b.var(cat("x", params.size()), op::type_of(b.context(), tensor)));
    return params.back();
  };
  if (v.is_tensor()) return leaf(v);
  std::vector<Expr> fields;
  for (const Value& field : v.fields()) fields.push_back(argument(b, field, call, next, params));
  return b.tuple(fields);
}

bool has_only_tensors(const Value& v) {
  if (v.kind() != ValueKind::kTuple) return v.is_tensor();
  return std::all_of(v.fields().begin(), v.fields().end(), [](const Value& f) { return f.is_tensor(); });
}

}  // namespace

Recording record_calls(const Module& m, std::string_view function, const std::vector<Value>& args) {
  Recording out;
  std::map<Key, size_t> known;
  // The machine applies an operator or a kernel, and then says which call that was.
  struct Applied {
    const op::OpDef* op;
    const kernel::Kernel* kernel;
    std::vector<Value> args;
    Attrs attrs;
  };
  std::optional<Applied> applied;
  interp::Options options;
  options.run_operator = [&](const op::OpDef& op, std::span<const Value> with,
                             const Attrs& attrs) -> std::optional<Value> {
    // Some operators take any value. Functions, cells and data types cannot be compared by element.
    if (std::all_of(with.begin(), with.end(), has_only_tensors))
      applied = Applied{&op, nullptr, {with.begin(), with.end()}, attrs};
    return std::nullopt;
  };
  options.run_kernel = [&](const kernel::Kernel& k, std::span<const Tensor> inputs) {
    applied = Applied{nullptr, &k, {inputs.begin(), inputs.end()}, {}};
    return kernel::execute(k, inputs);
  };
  options.observe = [&](Expr e, const Value& v) {
    if (!applied) return;
    const Applied now = *std::exchange(applied, std::nullopt);
    RecordedCall call{now.op, now.kernel, now.attrs, e->as<Call>(), {}, {}, 0};
    call.constants = constants_of(*call.site, now.args);
    const auto [it, fresh] = known.emplace(key_of(m.context(), call, now.args), out.calls.size());
    if (fresh) out.calls.push_back(std::move(call));
    RecordedCall& kept = out.calls[it->second];
    if (kept.runs.size() < kMostRecordedRuns) kept.runs.push_back({now.args, v});
    ++kept.evaluated;
    ++out.evaluated;
  };
  const driver::Outcome outcome =
      driver::outcome_of([&] { return interp::Machine(m, options).call(function, args); });
  out.stopped = outcome.message;
  return out;
}

Module module_of(const Module& m, const std::vector<const RecordedCall*>& calls) {
  Module out = m;
  for (const auto& [name, fn] : m.functions()) out.remove_function(name.text());
  Builder b(m.context());
  std::vector<const Var*> params;
  std::vector<Expr> results;
  for (const RecordedCall* call : calls) {
    const SpanScope here(b, call->site->span);
    std::vector<Expr> args;
    size_t next = 0;
    for (const Value& v : call->runs[0].args) args.push_back(argument(b, v, *call, next, params));
    const Expr callee = call->op ? Expr(b.op(*call->op)) : b.global(call->kernel->name.text());
    const Expr made = b.call(callee, args, call->attrs);
    const Value& result = call->runs[0].result;
    if (calls.size() == 1 || result.is_tensor()) {
      results.push_back(made);
      continue;
    }
    for (uint32_t i = 0; i < result.fields().size(); ++i) results.push_back(b.proj(made, i));
  }
  out.set_function("main", b.fn(params, results.size() == 1 ? results[0] : b.tuple(results)));
  Diagnostics diagnostics;
  Result<Module> checked = typecheck::check(out, diagnostics);
  CHECK(checked.ok(), cat("a call that was evaluated does not type check: ",
                          diagnostics.all().empty() ? "" : diagnostics.all().front().message()));
  return *checked;
}

void append_inputs(const RecordedCall& call, const RecordedCall::Run& run, std::vector<Value>& out) {
  const std::vector<Tensor> tensors = op::flatten(run.args);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!call.constants[i]) out.push_back(Value(tensors[i]));
  }
}

}  // namespace relay::tools
