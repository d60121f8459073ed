#include "driver/verifier.h"

#include "base/cat.h"
#include "base/failure.h"
#include "base/failure_names.h"
#include "base/parallel.h"
#include "base/stopwatch.h"
#include "driver/nonfinite.h"

namespace relay::driver {
namespace {

std::string output_name(const Model& model, size_t i) {
  return i < model.output_names.size() ? model.output_names[i] : cat("output ", i);
}

// An output of which no element is a number: that engines give the same says nothing of them. Empty
// if there is none.
std::string without_numbers(const passes::Reference& reference, const Model& model) {
  for (size_t i = 0; i < reference.exact.size(); ++i) {
    const Tensor& t = reference.exact[i];
    const NonFinite n = count_nonfinite(t);
    if (n.any() && n.nans + n.infinities == t.size())
      return cat("`", output_name(model, i), "` has no number to compare: its ", t.size(),
                 " elements are NaN or infinite in the reference too; `relay run` says where they come from");
  }
  return {};
}

// What float32 cannot hold and float64 can: no engine agrees there, and none is to blame.
std::string overflow_note(const Tensor& exact, const Tensor& own) {
  const NonFinite wide = count_nonfinite(exact), narrow = count_nonfinite(own);
  const int64_t more = narrow.nans + narrow.infinities - wide.nans - wide.infinities;
  if (more <= 0) return {};
  return cat(more == 1 ? "1 element is a number" : cat(more, " elements are numbers"),
             " in float64 and not in ", own.dtype().name(),
             ": the program leaves the range of its dtype, and `relay run` says where");
}

// The worst output of a run against the reference.
void judge(VerifyRow& row, const std::vector<Tensor>& got, const passes::Reference& reference,
           const Model& model) {
  for (size_t i = 0; i < got.size(); ++i) {
    row.add(reference.compare(i, got[i]), output_name(model, i), got[i].shape());
    if (row.uncapped.empty()) row.uncapped = reference.bounds[i].uncapped();
  }
  if (!row.ok) return;
  row.failed = without_numbers(reference, model);
  row.ok = row.failed.empty();
}

VerifyRow judge_given(const frontend::data::NamedTensors& given, const passes::Reference& reference,
                      const Model& model) {
  VerifyRow row;
  row.engine = kExpected;
  if (given.size() != reference.own.size()) {
    row.ok = false;
    row.failed = cat("there are ", given.size(), " outputs where the model has ", reference.own.size());
    return row;
  }
  std::vector<Tensor> got;
  for (size_t i = 0; i < given.size(); ++i) {
    const Tensor &t = given[i].value, &own = reference.own[i];
    if (t.dtype() != own.dtype() || t.shape() != own.shape()) {
      row.ok = false;
      row.failed = cat(given[i].name, " is ", t.dtype().name(), relay::show(t.shape()),
                       " where the model gives ", own.dtype().name(), relay::show(own.shape()));
      return row;
    }
    got.push_back(t);
  }
  judge(row, got, reference, model);
  return row;
}

}  // namespace

// How an engine did in its last run.
struct Verifier::Run {
  Outcome outcome;
  double seconds = 0;

  void add(const Prepared& prepared, const std::vector<Value>& args) {
    const Stopwatch watch;
    outcome = prepared.run(args);
    seconds = watch.seconds();
  }
};

Verifier::Verifier(const Model& model, const std::vector<EngineAt>& engines, const VerifyOptions& options,
                   OnStep on_step)
    : model_(model),
      at_once_(options.at_once != 0 ? options.at_once : usable_cores()),
      denormals_(options.denormals),
      cancel_(options.cancel),
      on_step_(std::move(on_step)) {
  for (const EngineAt& at : engines) candidates_.push_back({at});
  for_each_at_once(candidates_.size(), at_once_, [&](size_t i) {
    Candidate& c = candidates_[i];
    begin(cat("preparing ", row_of(c.at).label()));
    const Stopwatch watch;
    c.module = compact(model_.module);
    c.prepared = c.at.engine->prepare(c.module, model_.function, options.at(c.at.level));
    c.prepare_seconds = watch.seconds();
  });
}

std::vector<Value> Verifier::args_of(const Candidate& c, const std::vector<Value>& args) {
  std::vector<Value> out;
  for (const Value& v : args) out.push_back(passes::in_module(v, c.module));
  return out;
}

void Verifier::begin(const std::string& step) {
  if (cancel_ && cancel_->load()) throw Exhausted(std::string(kCancelled));
  if (!on_step_) return;
  const std::lock_guard guard(saying_);
  on_step_(step);
}

std::vector<VerifyRow> Verifier::run(const std::vector<Value>& args,
                                     const frontend::data::NamedTensors* given) {
  passes::Reference reference;
  std::vector<Run> runs(candidates_.size());
  for_each_at_once(candidates_.size() + 1, at_once_, [&](size_t i) {
    if (i == 0) {  // it takes the longest, and what it throws comes first
      begin("the reference, and what float32 does to it");
      reference =
          passes::reference_of(model_.module, model_.function, args, {}, denormals_, {.cancel = cancel_});
      return;
    }
    const Candidate& c = candidates_[i - 1];
    if (!c.prepared.run) return;
    begin(row_of(c.at).label());
    runs[i - 1].add(c.prepared, args_of(c, args));
  });
  notes_.clear();
  for (size_t i = 0; i < reference.bounds.size(); ++i) {
    if (const std::string note = reference.bounds[i].note(); !note.empty())
      notes_.push_back(cat(output_name(model_, i), ": ", note));
    if (const std::string note = overflow_note(reference.exact[i], reference.own[i]); !note.empty())
      notes_.push_back(cat(output_name(model_, i), ": ", note));
  }
  std::vector<VerifyRow> rows;
  for (size_t i = 0; i < runs.size(); ++i) {
    rows.push_back(row_for(candidates_[i], args, std::move(runs[i]), reference));
  }
  if (given) rows.push_back(judge_given(*given, reference, model_));
  return rows;
}

VerifyRow Verifier::row_for(const Candidate& c, const std::vector<Value>& args, Run run,
                            const passes::Reference& reference) {
  VerifyRow row = row_of(c.at);
  row.prepare_seconds = c.prepare_seconds;
  row.prepare(c.prepared);
  if (!c.prepared.run) return row;
  // The first run touches its memory, and others are at work: one of seconds does not feel it.
  if (c.at.engine->compiles && run.seconds < 1) {
    begin(row.label());
    run.add(c.prepared, args_of(c, args));
  }
  row.seconds = run.seconds;
  row.interpreted_calls = run.outcome.interpreted_calls;
  if (run.outcome.kind != Outcome::Kind::kValue) {
    row.ok = false;
    row.failed = run.outcome.message;
    return row;
  }
  judge(row, passes::tensors_of(run.outcome.value), reference, model_);
  row.result = run.outcome.value;
  row.context = c.module.shared_context();
  return row;
}

}  // namespace relay::driver
