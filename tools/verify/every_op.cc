#include "tools/verify/every_op.h"

#include <fmt/format.h>
#include <algorithm>
#include <span>

#include "analysis/port_names.h"
#include "base/cat.h"
#include "base/stopwatch.h"
#include "driver/tolerance.h"
#include "op/apply.h"
#include "passes/reference.h"
#include "tools/debug/names.h"
#include "tools/verify/batches.h"
#include "tools/verify/recorded_calls.h"

namespace relay::tools {
namespace {

using driver::Wanted;

struct Call {
  RecordedCall recorded;
  std::vector<Wanted> wanted;  // one a run
};

// What each run of a call must give.
std::vector<Wanted> wanted_of_runs(const Module& m, const RecordedCall& call, Denormals denormals) {
  const Module own = module_of(m, {&call});
  std::vector<Wanted> out;
  for (const RecordedCall::Run& run : call.runs) {
    if (call.kernel && call.kernel->external) {  // everybody calls the same C function
      out.push_back(Wanted::exact(run.result));
      continue;
    }
    std::vector<Value> args;
    append_inputs(call, run, args);
    out.push_back(driver::wanted_of(own, "main", args, run.result, denormals));
  }
  return out;
}

void compare_run(driver::VerifyRow& row, const Wanted& wanted, std::span<const Tensor> got, size_t run) {
  for (size_t i = 0; i < wanted.own.size(); ++i) {
    const std::string output = analysis::output_name(i, wanted.own.size());
    row.add(wanted, i, got[i], run == 0 ? output : cat(output, " of evaluation ", run + 1));
  }
}

// Runs a batch, whose k-th call has its row at `rows[k]`. False, and the rows are as before, if
// there is no result and the batch has to be taken apart.
bool run_batch(const driver::Prepared& prepared, std::span<const Call* const> batch,
               std::span<driver::VerifyRow> rows) {
  const bool alone = batch.size() == 1;
  if (!prepared.run) {
    if (alone) rows[0].prepare(prepared);
    return alone;
  }
  // Which of several calls is to blame for a weaker form, is seen when each is alone.
  if (!alone && !prepared.refusal.all().empty()) return false;
  if (alone) rows[0].prepare(prepared);
  size_t runs = 0;
  for (const Call* c : batch) runs = std::max(runs, c->wanted.size());
  for (size_t run = 0; run < runs; ++run) {
    // A call with fewer runs than others repeats its last one.
    const auto run_of = [&](const Call& c) { return std::min(run, c.wanted.size() - 1); };
    std::vector<Value> args;
    for (const Call* c : batch) append_inputs(c->recorded, c->recorded.runs[run_of(*c)], args);
    const driver::Outcome outcome = prepared.run(args);
    if (outcome.kind != driver::Outcome::Kind::kValue) {
      if (!alone) return false;
      rows[0].ok = false;
      rows[0].failed = outcome.message;
      return true;
    }
    if (!alone && outcome.interpreted_calls > 0) return false;
    if (alone) rows[0].interpreted_calls += outcome.interpreted_calls;
    const std::vector<Tensor> got = passes::tensors_of(outcome.value);
    size_t next = 0;
    for (size_t k = 0; k < batch.size(); ++k) {
      const std::vector<Wanted>& wanted = batch[k]->wanted;
      const size_t count = wanted[0].own.size();
      if (run < wanted.size()) compare_run(rows[k], wanted[run], std::span(got).subspan(next, count), run);
      next += count;
    }
  }
  return true;
}

// All calls on one engine.
void run_all(const Module& m, const std::vector<const Call*>& calls, const driver::EngineAt& at,
             const driver::VerifyOptions& options, const std::function<void(size_t done)>& progress,
             std::vector<driver::VerifyRow>& rows) {
  rows.assign(calls.size(), driver::row_of(at));
  if (at.engine->name == "interp") {  // which has given its results already
    for (size_t i = 0; i < calls.size(); ++i) {
      for (size_t run = 0; run < calls[i]->wanted.size(); ++run)
        compare_run(rows[i], calls[i]->wanted[run], passes::tensors_of(calls[i]->recorded.runs[run].result),
                    run);
    }
    return;
  }
  run_in_batches(calls.size(), [&](size_t begin, size_t end) {
    progress(begin);
    const std::span batch(calls.data() + begin, end - begin);
    std::vector<const RecordedCall*> recorded;
    for (const Call* c : batch) recorded.push_back(&c->recorded);
    const Stopwatch watch;
    const driver::Prepared prepared =
        at.engine->prepare(module_of(m, recorded), "main", options.at(at.level));
    const double seconds = watch.seconds() / static_cast<double>(batch.size());
    std::vector<driver::VerifyRow> fresh(batch.size(), driver::row_of(at));
    if (!run_batch(prepared, batch, fresh)) return false;
    for (size_t k = 0; k < fresh.size(); ++k) {
      fresh[k].prepare_seconds = seconds;  // its share
      rows[begin + k] = std::move(fresh[k]);
    }
    return true;
  });
}

OperatorRow describe(const Module& m, const RecordedCall& call, const Names& names, bool is_listed) {
  OperatorRow out;
  Context& context = m.context();
  out.op = call.op ? call.op->name : cat("@", call.kernel->name.text());
  const Span at = call.site->span;
  out.value = names.of(at);
  // The list of nodes is no file of the user's: the name is the place.
  if (!is_listed || out.value.empty()) out.place = context.sources().place(at);
  for (const Value& v : call.runs[0].args) out.arguments.push_back(relay::show(op::type_of(context, v), 80));
  out.result = relay::show(op::type_of(context, call.runs[0].result), 80);
  out.attributes =
      join(call.attrs, ", ", [](const Attr& a) { return cat(a.name.text(), "=", show(a.value)); });
  out.evaluated = call.evaluated;
  out.compared = call.runs.size();
  return out;
}

}  // namespace

bool OperatorRow::ok() const {
  return std::all_of(rows.begin(), rows.end(), [](const driver::VerifyRow& r) { return r.ok; });
}

std::string OperatorRow::name() const {
  return cat("`", op, "`", value.empty() ? "" : cat(" (`", value, "`)"), place.empty() ? "" : " at ", place);
}

std::string OperatorRow::call() const {
  return cat(name(), ": (", join(arguments, ", "), ")", attributes.empty() ? "" : " ", attributes, " -> ",
             result);
}

bool OperatorReport::ok() const {
  return std::all_of(operators.begin(), operators.end(), [](const OperatorRow& o) { return o.ok(); });
}

OperatorReport verify_every_op(const Module& m, std::string_view function, const std::vector<Value>& args,
                               bool is_listed, const std::vector<driver::EngineAt>& engines,
                               const driver::VerifyOptions& options, const Session& session) {
  Progress progress(session, "verify");
  progress.step("the values of every operator");
  Recording recording = record_calls(m, function, args);
  const Names names(m, is_listed);
  OperatorReport report;
  report.evaluated = recording.evaluated;
  report.stopped = recording.stopped;
  std::vector<Call> calls;
  for (RecordedCall& call : recording.calls) {
    progress.step("the reference of every operator", calls.size(), recording.calls.size());
    report.operators.push_back(describe(m, call, names, is_listed));
    std::vector<Wanted> wanted = wanted_of_runs(m, call, options.denormals);
    calls.push_back({std::move(call), std::move(wanted)});
  }
  std::vector<const Call*> all;
  for (const Call& c : calls) all.push_back(&c);
  for (size_t e = 0; e < engines.size(); ++e) {
    std::vector<driver::VerifyRow> rows;
    const std::string what = cat("every operator on ", driver::row_of(engines[e]).label());
    run_all(
        m, all, engines[e], options,
        [&](size_t done) { progress.step(what, e * all.size() + done, engines.size() * all.size()); }, rows);
    for (size_t i = 0; i < rows.size(); ++i) report.operators[i].rows.push_back(std::move(rows[i]));
  }
  return report;
}

std::string show(const OperatorReport& report) {
  std::string out = cat("every operator by itself: ", report.evaluated, " calls, ", report.operators.size(),
                        " that compile differently, against their definitions in float64\n");
  if (!report.stopped.empty()) out += cat("  only up to where the interpreter ended: ", report.stopped, "\n");
  if (report.operators.empty()) return out;
  out += fmt::format("{:<14} {:>7} {:>7} {:>7} {:>7} {:>9}  {}\n", "engine", "agree", "differ", "failed",
                     "skipped", "needed", "by");
  for (size_t e = 0; e < report.operators[0].rows.size(); ++e) {
    size_t count[4] = {};
    const OperatorRow* worst = nullptr;
    for (const OperatorRow& o : report.operators) {
      const driver::VerifyRow& row = o.rows[e];
      ++count[static_cast<size_t>(row.verdict())];
      if (row.verdict() == driver::Verdict::kSkipped) continue;
      if (!worst || row.worst.needed > worst->rows[e].worst.needed) worst = &o;
    }
    const auto counted = [&](driver::Verdict v) { return count[static_cast<size_t>(v)]; };
    out += fmt::format("{:<14} {:>7} {:>7} {:>7} {:>7} {:>9}  {}\n", report.operators[0].rows[e].label(),
                       counted(driver::Verdict::kAgrees), counted(driver::Verdict::kDiffers),
                       counted(driver::Verdict::kFailed), counted(driver::Verdict::kSkipped),
                       worst ? fmt::format("{:.3g}", worst->rows[e].worst.needed) : "",
                       worst && worst->rows[e].worst.needed > 0 ? worst->name() : "");
  }
  for (const OperatorRow& o : report.operators) {
    const auto uncapped = std::find_if(o.rows.begin(), o.rows.end(),
                                       [](const driver::VerifyRow& r) { return !r.uncapped.empty(); });
    if (uncapped != o.rows.end())
      out += cat("the bound of ", o.name(), " is not capped: ", uncapped->uncapped, "\n");
  }
  for (const OperatorRow& o : report.operators) {
    if (o.ok()) continue;
    out += cat("the first to differ: ", o.call(), "\n");
    for (const driver::VerifyRow& row : o.rows) {
      if (!row.ok) out += cat("  ", row.label(), ": ", name(row.verdict()), ": ", row.trouble(), "\n");
    }
    break;
  }
  return out;
}

}  // namespace relay::tools
